# outside.sh - an app outside this tree: the runtime is installed into a folder, `rooftop new-app` writes an app, which its
# Makefile builds by pkg-config alone; the suite verifies and shows its result. Catches a header that is not installed, a
# library that rooftop.pc forgets, and a list of apps in the suite. Long: the suite runs, compares and reports it too.
# make installcheck does so with what is installed.
app=rooftop
. "${abs_top_srcdir:-.}/tests/suite/lib.sh" || exit 1
export OMP_NUM_THREADS=1
# The flags of this build: a library with --coverage or a sanitizer needs them in the program that links it.
built_with() { sed -n "s/^$1 = //p" "$top/Makefile" | sed 1q; }
build() { env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL ${MAKE:-make} -s "$@"; }

if [ -n "${RT_BINDIR:-}" ]; then
    root=${DESTDIR:-} pc=$root$RT_PKGCONFIGDIR/rooftop.pc rooftop="$python -S $root$RT_BINDIR/rooftop"
    for app in $RT_PROGRAMS rooftop; do
        [ $app = rooftop ] || valid $app "$root$RT_BINDIR/$app" --size tiny --seconds 0
        [ -z "$RT_MANDIR" ] || [ -s "$root$RT_MANDIR/man1/$app.1" ] || fail "no man page of $app in $root$RT_MANDIR/man1"
    done
    $rooftop doctor >doctor.out 2>&1 # ends with 3 where something of this machine is to be mended
    grep -q "all four, version .*, $root$RT_BINDIR\$" doctor.out || fail "rooftop doctor finds other programs: $(cat doctor.out)"
else
    # -o: everything is built, and other tests run.
    build -C "$top" -o build.h -o common/librooftop.a DESTDIR="$work/stage" install-libLIBRARIES install-data-local \
        install-pkgconfigDATA >install.out 2>&1 || { cat install.out; fail "make install"; exit 1; }
    root=$work/stage pc=$(find stage -name rooftop.pc)
fi
command -v pkg-config >/dev/null || skip "no pkg-config"
mkdir pc
sed "s,^prefix=,prefix=$root," "$pc" >pc/rooftop.pc || { fail "no rooftop.pc is installed"; exit 1; }
export PKG_CONFIG_PATH=$PWD/pc

ends 0 $rooftop new-app tiny-app --into tiny
refuses 2 "is there already" new-app tiny-app --into tiny
refuses 2 "small letters" new-app Tiny --into other
parts=$([ -n "${RT_CHECK_LONG:-}" ] || echo cuda=0) # nvcc takes longer than all the rest
build -C tiny $parts CFLAGS="${CFLAGS-$(built_with CFLAGS)} -O0" LDFLAGS="${LDFLAGS-$(built_with LDFLAGS)}" tiny-app >build.out 2>&1 ||
    { cat build.out; fail "an app outside the tree is not built"; exit 1; }
grep warning build.out && fail "an app outside the tree has warnings"
tiny/tiny-app --version | grep -q '^tiny-app (Rooftop) [0-9]' || fail "it is no app of Rooftop"
app=tiny-app
valid one tiny/tiny-app --device cpu --n 13 --iterations 8 --seconds 0.01 --windows 2 --json result.json
app=rooftop
ends 0 $rooftop verify result.json
ends 0 $rooftop table result.json
says tiny-app
if [ -n "${RT_CHECK_LONG:-}" ]; then
    app=tiny-app
    valid two $mpirun -n 2 tiny/tiny-app --device cpu --n 13 --iterations 8 --seconds 0
    app=rooftop
    timeout 300 $rooftop run --bindir tiny --apps tiny-app --size tiny --seconds 0.1 --ladder-seconds 0.01 --into result >run.out 2>&1
    case $? in 0 | 3) ;; *) fail "rooftop run: $(cat run.out)" ;; esac # 3: on a disturbed machine there is no figure of merit
    ends 0 $rooftop verify result/tiny-app.json
    ends 0 $rooftop table result
    ends 0 $rooftop compare result result
    says tiny-app
    [ -z "$pages" ] || ends 0 $pages report result
fi

# Every header needs installed headers only; machine/cuda.h is nvcc's.
for header in version.h $(cd "$(pkg-config --variable=includedir rooftop)/rooftop" && ls ./*.h ./*/*.h); do
    echo "#include \"$header\""
done | grep -v machine/cuda.h >all.c
$(pkg-config --variable=linker rooftop) -std=c11 -D_POSIX_C_SOURCE=200809L -fsyntax-only $(pkg-config --cflags rooftop) all.c ||
    fail "an installed header needs one that is not"
exit $failed
