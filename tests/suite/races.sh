# races.sh - the CPU rungs under ThreadSanitizer: no race in any, and three that are put in are found. Takes clang with its
# OpenMP runtime, which tells the sanitizer of barriers (libarcher); gcc's runtime would look like nothing but races.
# Debian: clang, libomp-dev. The sanitizer does not watch vectors of more than 16 bytes, in which cpu-closed adds its rows; what runs
# them is in lanes.h for cpu-B as well, which adds values one by one.
app=races
. "${abs_top_srcdir:-.}/tests/common/lib.sh" || exit 1
[ "${RT_CHECK_LONG:-0}" != 0 ] || skip "a build by another compiler: make check-long"
command -v clang >/dev/null || skip "no clang"
export OMP_NUM_THREADS=4 OMP_TOOL_VERBOSE_INIT=stdout TSAN_OPTIONS=ignore_noninstrumented_modules=1:exitcode=66
flags="-O1 -g -fsanitize=thread"
printf 'int main(void)\n{\n    int n = 0;\n    for (int i = 0; i < 300; i++)\n#pragma omp parallel reduction(+ : n)\n        n++;\n    return n != 1200;\n}\n' >try.c
clang $flags -fopenmp try.c -o try 2>/dev/null || skip "clang -fsanitize=thread -fopenmp makes no program"
for i in {1..8}; do
    ./try >try.out 2>&1 || skip "clang's OpenMP runtime has races of its own on this machine: $(grep -m 1 ^SUMMARY try.out)"
done
grep -q archer try.out || skip "no libarcher beside clang's OpenMP runtime"
unset OMP_TOOL_VERBOSE_INIT

copy_source source
cd source || exit 1
programs="apps/nekbone/nekbone apps/alya-rhs/alya-rhs apps/fun3d-mcpi/fun3d-mcpi apps/gfnn-wave/gfnn-wave"
(./configure CC=clang CXX=clang++ CFLAGS="$flags" CXXFLAGS="$flags" --without-mpi --without-cuda --without-kokkos && make -j2 $programs) >build.log 2>&1 ||
    { fail "build: $(tail -n 20 build.log)"; exit 1; }

# races APP ARGUMENT...: runs the rungs; the number of races that were seen, in `races`.
races()
{
    program=apps/$1/$1
    shift
    for i in 1 2 3; do # where other programs use the cores, clang's runtime crashes now and then
        timeout 300 "$program" "$@" --device cpu --threads 4 --seconds 0 >out 2>&1
        got=$?
        [ $got = 139 ] || break
    done
    races=$(grep -c 'WARNING: ThreadSanitizer: data race' out)
}

# clean APP LADDER ARGUMENT...
clean()
{
    races "$1" --ladder --only "$2" "${@:3}"
    [ $got = 0 ] && [ "$races" = 0 ] || fail "$*: ended with $got, $races races: $(grep -m 3 -e FAILED -e ^SUMMARY -e "^$1:" out)"
}

# found APP RUNG FILE SED ARGUMENT...: the race that sed puts into the file is seen.
found()
{
    cp "$3" kept
    sed -i "$4" "$3"
    ! cmp -s "$3" kept || fail "$3: '$4' changes nothing"
    make "apps/$1/$1" >build.log 2>&1 || fail "$3: $(tail -n 5 build.log)"
    races "$1" --rung "$2" "${@:5}"
    [ "$races" -gt 0 ] || fail "$2 with '$4': no race was seen"
    mv kept "$3"
    touch "$3"
}

clean nekbone iteration --elements 4x4x2 --degree 3
clean nekbone solve --elements 4x4x2 --degree 3
clean alya-rhs cpu --cells 12x12x12
clean fun3d-mcpi sweeps --surface 5 --layers 6
clean fun3d-mcpi flow --surface 5 --layers 6
clean gfnn-wave operator --elements 9x7x6 --steps 1
clean gfnn-wave predictor --elements 9x7x6 --steps 1
clean gfnn-wave solve --elements 9x7x6 --steps 1
found gfnn-wave cpu-atomic apps/gfnn-wave/cpu/strain_rows.h '/pragma omp atomic/d' --elements 9x7x6 --steps 1
found alya-rhs cpu-B apps/alya-rhs/cpu/lanes.h 's/pragma omp for schedule(dynamic, 1)/& nowait/' --cells 12x12x12
found fun3d-mcpi flow-simd apps/fun3d-mcpi/cpu/flow_simd.c 's/ reduction(+ : scaled)//' --surface 5 --layers 6
exit $failed
