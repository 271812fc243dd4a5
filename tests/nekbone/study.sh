# study.sh - tests that rooftop study runs a tiny study and resumes where it was stopped. tests/suite/unit/test_study.py checks its
# figures and its verdict on known numbers.
. "${abs_top_srcdir:-.}/tests/nekbone/lib.sh" || exit 1
python=$(command -v "${PYTHON:-python3}") || skip "no python3"
python=$("$python" -c 'import sys; print(sys.executable if sys.version_info >= (3, 9) else "")')
[ -n "$python" ] || skip "no Python 3.9 or later"
source=$(cd "${OLDPWD:-.}" && cd "${abs_top_srcdir:-.}" && pwd)
study="$python -S $source/tools/rooftop study"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
small="--bindir ${nekbone%/*} --device cpu --threads 1 --seconds 0.005 --tune-seconds 0.02 --repeats 1 --iterations 5"

# studied TEXT OPTION...: checks that a study ends with a report and prints TEXT. Status 1 is allowed: in runs this
# short, tuned may be slower by more than the noise.
studied()
{
    text=$1
    shift
    $study "$@" >out 2>err
    got=$?
    grep -q SLOWER out && want=1 || want=0
    [ $got = $want ] && grep -q '^report: ' out || fail "$*: ended with $got: $(tail -n 1 out) $(cat err)"
    grep -qF -e "$text" out || fail "$*: does not print '$text' but: $(cat out)"
}

# --- bad options ---
mkdir wrong && ln -s "$(type -P true)" wrong/nekbone
"$python" -S "$source/tests/suite/refusals.py" "$source/tools" <<END || failed=1
2|invalid list of 2 .. 24 value: '8,25'|study --into a --orders 8,25
2|invalid count from 1 value: '0'|study --into a --threads 0
2|invalid number from 0 value: 'nan'|study --into a --seconds nan
2|unrecognized arguments: --order|study --into a --order 8
2|invalid choice: 'all'|study --into a --only all
2|there is no such rung; known: reference, scalar|study --into a --bindir ${nekbone%/*} --rungs fast
3|no program nekbone in nowhere|study --into a --bindir nowhere
3|is this a program of the suite?|study --into a --bindir wrong
3|no results|study --into a --report
2|--threads|study $small --threads 100000 --into d
END
[ -e a ] && fail "a refusal leaves a folder"

# --- a study with all its parts ---
studied "8 runs made, 0 were there" $small --into a --orders 4,6 --elements 8,12 --only default-tuned --rungs jammed
for point in n04-e0008 n04-e0012 n06-e0008 n06-e0012; do
    [ -s a/runs/cpu-jammed-$point-tuned-0.json ] || fail "no run jammed-$point-tuned"
done
grep -q '"3x2x2"' a/runs/cpu-jammed-n04-e0012-own-0.json || fail "12 elements are not 3x2x2"
studied "" $small --into all --orders 4 --elements 8 --only default-tuned
[ -s all/runs/cpu-vector-n04-e0008-own-0.json ] && ! ls all/runs | grep solve || fail "not the ladder iteration: $(ls all/runs)"
studied "" $small --into a --orders 4 --elements 8 --rungs scalar,vector
for variant in dgemm isolated set-rows set-tiles-n; do
    [ -s a/runs/cpu-scalar-n04-e0008-$variant-0.json ] || fail "no run $variant"
done
for version in dgemm set-rows; do
    [ "$(grep -c "\"mxm[123]\": \"${version#set-}\"" a/runs/cpu-scalar-n04-e0008-$version-0.json)" = 3 ] ||
        fail "$version: another choice"
done
grep -q '"isolated": true' a/runs/cpu-scalar-n04-e0008-isolated-0.json || fail "isolated was not tuned alone"
grep -q '"isolated": false' a/runs/cpu-scalar-n04-e0008-tuned-0.json || fail "tuned was not tuned inside"
for title in "Figure 3:" "Figure 12:" "Figures 17 and 18:" "vector, mean of the cases (CPU): the fastest" "tuned alone" "n known when compiled" "fastest version"; do
    grep -qF "$title" a/report.md || fail "the report has nothing on '$title'"
done
[ -z "$(find a -name '*part*')" ] || fail "a part of a file is left: $(ls -A a a/runs)"

# --- again: runs only what is incomplete, and more repeats ---
all=$(ls a/runs | wc -l)
cksum a/runs/* >before
half=a/runs/cpu-scalar-n04-e0008-own-0.json
head -c 200 $half >part && mv part $half
studied "" $small --into a --orders 4 --elements 8 --rungs scalar,vector
grep -q '^1 runs made' out || fail "not the one half-written run is made but: $(cat out)"
cksum a/runs/* | diff before - | grep '^>' | cut -d' ' -f4 | grep -qx $half || fail "$half has not changed, or more has"
[ "$(cksum a/runs/* | diff before - | grep -c '^>')" = 1 ] || fail "results that were there have changed"
studied "" $small --into a --orders 4 --elements 8 --rungs jammed --only default-tuned --repeats 2
[ "$(ls a/runs | wc -l)" = $((all + 2)) ] || fail "not 2 runs more by --repeats but: $(ls a/runs)"
$study $small --into a --iterations 6 >out 2>err
[ $? = 2 ] && grep -qF "a has runs with --iterations 5" err || fail "other iterations are not refused: $(cat out err)"

# --- stopped: status 143, no partial files ---
$study $small --tune-seconds 60 --into b --orders 4 --elements 8 --rungs scalar >out 2>err &
job=$!
for _ in $(seq 100); do
    sleep 0.05
    grep -q tuned out && break
done
kill -TERM $job
wait $job
got=$?
[ $got = 143 ] && grep -q "the same command continues" err || fail "stopped: $got, $(cat err)"
[ -z "$(find b -name '*part*')" ] || fail "stopped: a part is left"

exit $failed
