# quickstart.sh - what ./quickstart does and shows, with stand-ins for packages, configure, make and the programs: the
# order of its steps, its exit status, and the end of the log when a step fails.
app=quickstart
here=$(cd "${abs_top_srcdir:-.}" && pwd)
. "$here/tests/common/lib.sh" || exit 1
[ -r /proc/meminfo ] || skip "no /proc/meminfo"

cp "$here/quickstart" .
mkdir -p bin apps/nekbone tools
# stand_in FILE LINES: a program that notes its name and arguments in `did`, then runs the lines.
stand_in() { printf '#!/bin/sh\ncase "$*" in *" -n") exit ;; esac\necho "${0##*/} $*" >>did\n%s\n' "$2" >"$1" && chmod +x "$1"; }
stand_in bin/dpkg-query 'printf installed'
stand_in bin/apt-get ''
stand_in bootstrap ''
stand_in configure 'echo "$*" >configured; echo "#define RT_CUDA_ARCHS \"80,90\"" >config.h; echo "  BLAS  no: it is a test"; exit ${BAD_CONFIGURE:-0}'
stand_in bin/make 'echo "  CC  x.o"'
stand_in apps/nekbone/nekbone 'echo THE TABLE; exit ${BAD_TABLE:-0}'
stand_in tools/rooftop ''
# starts STATUS ARGUMENT...: runs it; its output is in `out`.
starts() {
    rm -f did config.h
    PATH=$PWD/bin:$PATH ./quickstart "${@:2}" >out 2>err </dev/null
    local got=$?
    [ $got = "$1" ] || fail "quickstart ${*:2}: ended with $got, not $1: $(cat out err)"
    did=$(grep -v dpkg did 2>/dev/null | sed 's/ -j[0-9]*//; s/ [^ ]*rooftop-results.*//; s/ --.*//; s/ *$//' | tr '\n' ',')
}
starts 0 --yes -- --with-cuda
[ ! -s err ] || fail "it complains: $(cat err)"
[ "$did" = "bootstrap,configure,make apps/nekbone/nekbone,nekbone,make,rooftop run,rooftop report," ] || fail "it did: $did"
[ "$(cat configured)" = "--without-kokkos --with-cuda" ] || fail "configure got: $(cat configured)"
for n in 1 2 3 4 5 6 7 8; do grep -q "^\[$n/8\] .* (about [0-9][0-9]* \(s\|min\))" out || fail "step $n: $(cat out)"; done
sed -n '/^THE TABLE/,$p' out | grep -q '^\[6/8\] Compile the other apps' || fail "the table is not shown first: $(cat out)"
grep -q 'without BLAS: it is a test' out || fail "it does not say what was left out: $(cat out)"
grep -q 'CC' out && fail "the compiler's lines are shown: $(cat out)"
BAD_TABLE=1 starts 1 --yes
case $did in *"rooftop report,") ;; *) fail "no report of an INVALID result: $did" ;; esac
BAD_CONFIGURE=1 starts 1 --yes
grep -q 'BLAS  no: it is a test' out && grep -q "quickstart.log$" err || fail "a failure without the end of the log: $(cat out err)"
starts 0 check --yes
[ "$did" = "bootstrap,configure,make check TESTS=,make check," ] || fail "check did: $did"
[ "$(cat configured)" = "" ] || fail "the tests are without: $(cat configured)"
starts 2 chekc
# A folder that make would misread is refused before anything is written.
for name in "it's" 'a$b' 'a\b' $'a\tb' 'a"b' 'a:b' 'a=b' 'a#b'; do
    mkdir "$name" && cp quickstart "$name"
    refused 3 "make or the shell would misread the path" "$name/quickstart" --yes
    [ "$(ls -A "$name")" = quickstart ] || fail "in $name it leaves $(ls -A "$name")"
done
exit $failed
