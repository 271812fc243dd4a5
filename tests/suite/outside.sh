# outside.sh - an app outside this tree: the runtime is installed into a folder, pkg-config gives the flags, a program
# is built with it and run. Catches a header that is not installed, and a library that rooftop.pc forgets.
app=outside
. "${abs_top_srcdir:-.}/tests/common/lib.sh" || exit 1
command -v pkg-config >/dev/null || skip "no pkg-config"
# The flags of this build: a library with --coverage or a sanitizer needs them in the program that links it.
built_with() { sed -n "s/^$1 = //p" "$top/Makefile" | sed 1q; }
cflags=${CFLAGS-$(built_with CFLAGS)} ldflags=${LDFLAGS-$(built_with LDFLAGS)}

# -o: everything is built, and other tests run.
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL ${MAKE:-make} -s -C "$top" -o version.h -o common/librooftop.a DESTDIR="$work/stage" \
    install-libLIBRARIES install-data-local install-pkgconfigDATA >install.out 2>&1 ||
    { cat install.out; fail "make install"; exit 1; }
pc=$(find stage -name rooftop.pc)
[ -n "$pc" ] || { fail "no rooftop.pc is installed"; exit 1; }
export PKG_CONFIG_PATH=$PWD/${pc%/*}
ask() { pkg-config --define-variable=libdir="$work/stage$libdir" --define-variable=includedir="$work/stage$includedir" "$@" rooftop; }
libdir=$(pkg-config --variable=libdir rooftop) includedir=$(pkg-config --variable=includedir rooftop)

cat >outside.c <<'END'
#include <rt.h>
#include <io/vtk.h>
#include <io/inputs.h>
#include <mesh/mesh.h>
#include <io/scan.h>
#include <base/sort.h>

static const rt_app_t outside = {.name = "outside", .purpose = "an app of its own folder"};

int main(int argc, char **argv)
{
    return rt_app_main(&outside, argc, argv);
}
END
$(ask --variable=linker) $cflags $(ask --cflags) outside.c $ldflags $(ask --libs --static) -o outside ||
    fail "a program does not compile and link with: $(ask --cflags --libs --static)"
./outside --version >version.out || fail "ended with $?"
grep -q '^outside (Rooftop) [0-9]' version.out || fail "it is no app of Rooftop: $(cat version.out)"
rm -f outside.c outside

# Every header needs installed headers only; machine/cuda.h is nvcc's.
for header in $(cd "stage$includedir/rooftop" && ls ./*.h ./*/*.h); do
    echo "#include \"$header\""
done | grep -v machine/cuda.h >all.c
$(ask --variable=linker) -std=c11 -D_POSIX_C_SOURCE=200809L -fsyntax-only $(ask --cflags) all.c || fail "an installed header needs one that is not"
exit $failed
