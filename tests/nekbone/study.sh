# study.sh - tests that rooftop study runs a tiny table and resumes where it was stopped. tests/suite/unit/test_study.py checks
# its tables, figures and verdicts on known numbers.
. "${abs_top_srcdir:-.}/tests/nekbone/lib.sh" || exit 1
find_python
source=${inputs%/inputs}
study="$python -S $source/tools/rooftop study --bindir ${program%/*}"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
cat >tiny.study <<'END'
RUN = --device cpu --threads 1 --iterations 5 --seconds 0.005 --elements 2x2x2 --degree {3,5}
jammed: nekbone --rung jammed --no-tuning $RUN
tuned / jammed: nekbone --rung jammed --tune-seconds 0.02 $RUN
alone / tuned: nekbone --rung jammed --tune-seconds 0.02 --isolated $RUN
END

# studied TEXT OPTION...: checks that a study ends with a report and prints TEXT. Status 1 is allowed: in runs this
# short, tuned may be slower by more than the noise.
studied()
{
    text=$1
    shift
    $study tiny.study "$@" >out 2>err
    got=$?
    grep -q 'slower at [^0]' out && want=1 || want=0
    [ $got = $want ] && grep -q '^report: ' out || fail "$*: ended with $got: $(tail -n 1 out) $(cat err)"
    grep -qF -e "$text" out || fail "$*: does not print '$text' but: $(cat out)"
}

# --- bad options and tables ---
mkdir wrong && ln -s "$(type -P true)" wrong/nekbone
echo 'jammed: nekbone --threads 100000' >threads.study
echo 'fast: fast --rung x' >app.study
"$python" -S "$source/tests/suite/refusals.py" "$source/tools" <<END || failed=1
2|invalid count from 1 value: '0'|study tiny.study --into a --ranks 0
2|unrecognized arguments: --order|study tiny.study --into a --order 8
2|none.study: No such file|study none.study --into a
2|wrong: Is a directory|study wrong --into a
2|there is no app 'fast'|study app.study --into a
3|no program nekbone in nowhere|study tiny.study --into a --bindir nowhere
3|is this a program of the suite?|study tiny.study --into a --bindir wrong
3|no results|study tiny.study --into a --report
2|--threads|study threads.study --bindir ${program%/*} --into d
END
[ -e a ] && fail "a refusal leaves a folder"

# --- a study, again with more repeats, and after half a file ---
studied "6 runs made, 0 were there" --into a --repeats 1
for run in jammed-3 tuned-5 alone-5; do
    [ -s a/runs/$run-0.json ] || fail "no run $run: $(ls a/runs)"
done
grep -q '"isolated": true' a/runs/alone-3-0.json || fail "alone was not tuned alone"
grep -q '"isolated": false' a/runs/tuned-3-0.json || fail "tuned was not tuned inside"
[ "$(grep -c '^| [35] |' a/report.md)" = 2 ] || fail "not a row per point: $(cat a/report.md)"
[ -z "$(find a -name '*part*')" ] || fail "a part of a file is left: $(ls -A a a/runs)"
cksum a/runs/* >before
half=a/runs/jammed-5-0.json
head -c 200 $half >part && mv part $half
studied "1 runs made, 5 were there" --into a --repeats 1
cksum a/runs/* | diff before - | grep '^>' | cut -d' ' -f4 | grep -qx $half || fail "$half has not changed, or more has"
[ "$(cksum a/runs/* | diff before - | grep -c '^>')" = 1 ] || fail "results that were there have changed"
studied "6 runs made, 6 were there" --into a --repeats 2
sed 's/{3,5}/{3,4}/' tiny.study >other.study
$study other.study --into a >out 2>err
[ $? = 2 ] && grep -qF "a has runs of another table" err || fail "another table is not refused: $(cat out err)"

# --- stopped: status 143, no partial files ---
sed 's/0\.02/60/' tiny.study >long.study
$study long.study --into b >out 2>err &
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
