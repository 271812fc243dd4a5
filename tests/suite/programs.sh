# programs.sh - the programs through the suite: a result of every rung of every ladder (gpu.sh: on a GPU), and each command that
# docs/papers.md names.
. "${abs_top_srcdir:-.}/tests/suite/lib.sh" || exit 1
export OMP_NUM_THREADS=1

ladders results --device cpu
for rung in nekbone,single,scalar nekbone,single,solve-cpu alya-rhs,single,cpu-closed fun3d-mcpi,single,cpu-simd \
    fun3d-mcpi,single,flow-simd gfnn-wave,single,cpu-simd gfnn-wave,single,predict-simd gfnn-wave,single,solve-simd; do
    grep -q ",$rung," table.csv || fail "no row of $rung: $(cut -d , -f 10-12 table.csv)"
done
# what the ladders print, and the tables that three of them are
grep -q '"elements"' results/ladder-alya-rhs.json || fail "alya-rhs --json does not say how many elements"
for ladder in operator predictor solve; do
    grep -A 1 "^Ladder $ladder\$" ladder-gfnn-wave.out | grep -q '^One unit is one' || fail "gfnn-wave --ladder has no table of $ladder"
done
grep -q '^solve .* iterations per step to' ladder-gfnn-wave.out || fail "gfnn-wave --ladder says nothing on iterations"

# a power meter that writes twice per second while a solve is timed, and then no more
for i in {1..200}; do
    echo "$(date -u +%FT%T.%NZ), 150"
    sleep 0.5
done >meter.csv &
meter=$!
sleep 0.2
app=nekbone
run="$top/apps/nekbone/nekbone --device cpu --threads 1 --rung solve-cpu --elements 2x2x2 --degree 3 --power meter.csv --json meter.json"
valid meter $run --window 1 --windows 3
app=rooftop
metered="run --force --bindir $top --apps nekbone --device cpu --threads 1 --no-ladders --size tiny --seconds 2 --power meter.csv"
$rooftop $metered --into metered >metered.out 2>&1 # with 3 where the machine is disturbed
grep -q '"meter_joules"' metered/nekbone.json || fail "rooftop run --power: no energy: $(cat metered.out)"
ends 0 $rooftop verify metered/nekbone.json # not run.json: its source may be newer than the build
$rooftop $metered --into metered >metered.out 2>&1
grep -q '"attempts": 1' metered/run.json || fail "a metered run that is whole was not resumed: $(cat metered.out)"
refuses 2 "nekbone: --power: nofile: No such file" run --bindir "$top" --size tiny --power nofile
kill $meter
wait $meter 2>/dev/null
grep -q '^energy  *solve-cpu: .* 150 W (meter)$' meter.out || fail "no energy in $(cat meter.out)"
ends 0 $rooftop verify meter.json
ends 0 $rooftop table meter.json --csv meter-table.csv
"$python" - <<'END' || failed=1
import csv, sys
row = next(csv.DictReader(open('meter-table.csv')))
joules, watts, rate = (float(row[name]) for name in ('joules_per_unit', 'watts', 'power_samples_per_s'))
held = abs(watts - 150) < 1e-3 and abs(joules / float(row['seconds_per_unit']) - 150) < 1e-3 and 0.9 < rate < 2.5
sys.exit(0 if held and (row['energy_source'], row['idle_watts']) == ('meter', '') else f'wrong: {row}')
END
ends 3 $run --seconds 0.1
grep -q '^nekbone: --power: meter.csv covers 0.0 of .*: solve-cpu has no energy of the meter$' err || fail "a meter that ended: $(cat err)"
! grep meter_ meter.json || fail "a meter that ended is in the result"

# every paper at tiny size; one run that is lost is made again, and no other
tiny="reproduce --size tiny --force --into tiny --bindir $top"
ends 0 $rooftop $tiny all
says "alya: "
grep -q '^| B: loads and stores per element | 6,055, Xeon 8360Y | 9,424 | 1.56 |' tiny/alya.md || fail "no row in $(cat tiny/alya.md)"
grep -q '| CPU node | .* GFlop/s' tiny/karp.md || fail "no CPU node in $(cat tiny/karp.md)"
rm tiny/karp-cpu-448.json
ends 0 $rooftop $tiny --minutes 0 karp
says "1 runs are missing: karp-cpu-448; the same command continues"
grep -q '| CPU node | .* not here: not run yet' tiny/karp.md || fail "a lost run is still in $(cat tiny/karp.md)"
ends 0 $rooftop $tiny karp
[ "$(grep -c '"attempts": 2' tiny/run.json)" = 1 ] && [ -s tiny/karp-cpu-448.json ] || fail "not one run made again"
ends 0 $rooftop compare tiny tiny
says "karp-cpu-448 cpu-fused"
sed -i 's/--degree 9 --iterations 5/--degree 9 --iterations 6/' tiny/run.json
ends 2 $rooftop $tiny karp
says "tiny has karp-cpu-448 with other options: give another --into"
ends 2 $rooftop reproduce none
ends 2 $rooftop $tiny karp --size long

mkdir papers && ln -s "$here/inputs" papers/inputs
(cd papers && "$python" "$here/tests/suite/papers.py" "$here" "$top") || fail "docs/papers.md"

exit $failed
