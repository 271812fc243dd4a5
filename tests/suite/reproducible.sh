# reproducible.sh - a program has the same bytes whatever the folders are that its source and its build are in: one is
# built in its source, by a relative path, the other outside, by an absolute path. Takes two builds of one app.
app=gfnn-wave
. "${abs_top_srcdir:-.}/tests/common/lib.sh" || exit 1
[ -n "${RT_CHECK_LONG:-}" ] || skip "two builds: make check-long"

# build SOURCE BUILD CONFIGURE
build()
{
    mkdir -p "$2"
    copy_source "$1"
    (cd "$2" && "$3" --disable-native --without-cuda --without-kokkos --without-mpi &&
        make apps/gfnn-wave/gfnn-wave) >"$2/build.log" 2>&1 || fail "$2: $(tail -n 5 "$2/build.log")"
}
build one one ./configure
build "two/longer" two/build "$work/two/longer/configure"
cmp one/apps/gfnn-wave/gfnn-wave two/build/apps/gfnn-wave/gfnn-wave || fail "gfnn-wave differs"
! grep -qa "$work" one/apps/gfnn-wave/gfnn-wave || fail "gfnn-wave has the name of its folder in it"
# each finds the network of its own source, and a copy elsewhere does not
valid network two/build/apps/gfnn-wave/gfnn-wave --device cpu --precond gfm --elements 6x6x6 --steps 1 --seconds 0
cp one/apps/gfnn-wave/gfnn-wave .
! ./gfnn-wave --device cpu --precond gfm --elements 6x6x6 --steps 1 --seconds 0 >out 2>&1 || fail "a copy elsewhere finds a network"

exit $failed
