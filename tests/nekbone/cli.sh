# cli.sh - tests nekbone's output and exit status: every kind of bad input, help, JSON, case files.
. "${abs_top_srcdir:-.}/tests/nekbone/lib.sh" || exit 1
export OMP_NUM_THREADS=1

# A refusal after 10 s: what was said in between on how far it is does not count.
refused 2 "no such thing" bash -c 'printf "nekbone: %s\n" "10 s: making the problem" "20 s, rung 2 of 5: timing scalar; about 9 s left" \
    "no such thing" >&2; exit 2'

# --- senseless sizes and options: status 2, before anything is allocated ---
echo 'degree = 2' >in.case
ln -s nothing link
rows "$program" <<'END'
2|1e+24 points per rank|--elements 10000000x10000000x10000000
2|a rank can hold 2147483647|--elements 900x900x900 --degree 1
2|no point inside|--elements 4x1x4 --degree 1
2|--degree 0: out of range; give 1 to 23|--degree 0
2|--deform 50 folds the mesh|--elements 2x2x2 --degree 3 --deform 50
2|--ranks 2x1x1 is not a box of the 1 ranks|--ranks 2x1x1
2|--threads 65536: out of range|--threads 65536
2|--precond ilu|--precond ilu
2|--stretch 0.5: out of range|--stretch 0.5
2|--stretch 4: one layer|--stretch 4 --elements 2x2x1
2|FP64 does not reach --tolerance 1e-15|--rung solve-cpu --tolerance 1e-15
2|no system to solve|--rung solve-cpu --no-communication
2|of the ladder solve: use solve-cpu|--rung jammed --precond schwarz
2|--power: nowhere.csv: No such file|--power nowhere.csv
2|--power: ./in.case: line 1: "degree" is not a number|--power ./in.case
2|--power needs timed windows|--power in.case --seconds 0
3|--rung layered cannot run here: |--rung layered --device cpu
2|--json ./in.case: the same file as --case|--case in.case --json ./in.case
2|it is a link to a file that is not there|--json link
END
rm -f ./*.case link
refused 2 "--nonce: nothing but blanks" "$program" --nonce ' '
[ ! -w /dev/full ] || refused 2 "cannot write '/dev/null/a.json'" "$program" --json /dev/null/a.json
grep -q 'RT_HAVE_NCCL 1' "$top/config.h" ||
    refused 3 "nccl: not in this build" "$program" --transport nccl --elements 2x2x2 --degree 2
grep -q 'RT_HAVE_CUDA 1' "$top/config.h" ||
    refused 3 "peer: not in this build" "$program" --transport peer --elements 2x2x2 --degree 2
if [ "$(ls -d /proc/driver/nvidia/gpus/* 2>/dev/null | wc -l)" -le 7 ]; then
    refused 3 "--device 7: " "$program" --device 7
fi
# An old file stays unchanged, whatever is refused.
echo old >a.json
refused 2 "--ranks 2x1x1" "$program" --device cpu --json a.json --ranks 2x1x1
[ "$(cat a.json)" = old ] || fail "a refused run changes the file of --json"
rm -f a.json

# --- what needs no run ---
COLUMNS=80 "$program" --help >help.out 2>help.err || fail "--help ends with $?"
[ -s help.err ] && fail "--help writes to stderr"
COLUMNS= "$program" --list >list.out
[ "$(awk 'length > 80' help.out list.out | grep -vc '^  nekbone')" = 0 ] || fail "--help or --list has lines of more than 80 columns"
"$program" --list --device cpu | grep -q '^absent .*layered.*:' || fail "--list does not say that layered is absent"

[ -z "$("$program" --ladder --device cpu --dry-run | sed -n 's/^not run  *[^:]*: //p' | sort | uniq -d)" ] || fail "--ladder repeats a reason"

# --- --roofline: a line per rung, none above 102 %, as beside other work ---
valid roofline "$program" --roofline --device cpu --elements 3x3x2 --seconds 0.005 --json roofline.json
[ "$(grep -c '^[a-z-]* .* %.* \(VALID\|UNSTEADY\)$' roofline.out)" -ge 2 ] && ! grep -oE '[0-9]+\.[0-9] %' roofline.out | awk '$1 > 102' | grep . ||
    fail "--roofline: $(cat roofline.out)"
[ "$(grep -c '"roofline_seconds": [0-9]' roofline.json)" = "$(grep -c '^[a-z-]* .* %.* \(VALID\|UNSTEADY\)$' roofline.out)" ] ||
    fail "--roofline --json lacks what is printed"
refused 3 "--rung global cannot run here" "$program" --roofline --rung global --device cpu

# --- a case file; the command line wins ---
cat >small.case <<'CASE'
# a small case

elements = 2x3x2   # in x, y, z
degree = 5
lambda = 0
communication = yes
CASE
valid case "$program" --device cpu --case small.case --degree 4 --seconds 0
grep -q '2x3x2 elements' case.out || fail "the case file's elements were not used"
grep -q 'degree 4 ' case.out || fail "the command line's degree does not win"
grep -q ' + 0 u' case.out || fail "the case file's lambda was not used"
for file in "${abs_top_srcdir:-.}"/inputs/nekbone/*.case; do # those that ship with the program
    [ -e "$file" ] || continue
    valid input "$program" --device cpu --case "$file" --elements 2x2x2 --seconds 0 --iterations 10
done

# --- the ladder solve: what is refused, in one line, and what a run says ---
# Too few iterations for any program: that is no wrong answer, and has a verdict of its own.
"$program" --rung solve-cpu --elements 3x3x2 --degree 4 --max-iterations 3 --seconds 0 --json few.json >few.out
[ $? = 1 ] && [ "$(tail -n 1 few.out)" = "nekbone: NOT CONVERGED" ] && ! grep -q FAILED few.out && grep -q '"verdict": "NOT CONVERGED"' few.json ||
    fail "too few iterations: $(tail -n 3 few.out)"
valid solve "$program" --device cpu --elements 3x3x4 --degree 6 --precond schwarz --stretch 4 --seconds 0.01 --threads 1 \
    --json solve.json
grep -q '^default  *solve-cpu' solve.out || fail "--precond schwarz: solve-cpu is not the default"
grep -q '^solve  .* iterations; preconditioner schwarz 6-2-1, chebyshev of order 8; .* iterations without' solve.out ||
    fail "the line of the solve: $(grep '^solve' solve.out)"
python3 - solve.json solve.out <<'END' || fail "the figures in solve.json"
import json, sys
rung = json.load(open(sys.argv[1]))['rungs'][0]
assert rung['preconditioner'] == 'schwarz' and rung['unit'] == 'solve', rung
assert 0 < rung['iterations'][0] < rung['iterations_plain'], rung
assert len(rung['residual_history']) == rung['iterations'][0] + 1
row = [line.split() for line in open(sys.argv[2]) if line.startswith('solve-cpu ')][-1]
foms = [rung.get(name + '_flop_per_s', 0) * 1e-9 for name in ('fom', 'fom_1_solve', 'fom_100_solves')]
shown = [*(f'{fom:.2f}' for fom in foms), f"{rung['setup_seconds']:.3g}"]
assert rung['verdict'] != 'VALID' or row[row.index('%') + 1:][:4] == shown, (row, shown)
END

# --- what the default is, and its result ---
valid default "$program" --device cpu --elements 3x3x2 --degree 4 --deform 0.3 --seconds 0 --no-tuning
grep -q '^default  *cpu-fused for 2250 points per rank: ' default.out || fail "cpu-fused is not the default, or no reason is printed"

# --- JSON ---
valid json "$program" --device cpu --elements 3x2x2 --degree 4 --iterations 20 --seconds 0.01 \
    --json a.json --rung jammed
# The memory that a run will need is printed before anything is allocated, so before anything is verified.
predicted=$(grep -n '^memory  *jammed will need: host .* of .* free' json.out | cut -d: -f1)
verified=$(grep -n -m 1 ' held$' json.out | cut -d: -f1)
[ "${predicted:-9999}" -lt "${verified:-0}" ] || fail "the memory is not predicted before the run"
python3 - <<'PY' || fail "a.json lacks what a report needs"
import json
r = json.load(open("a.json"))
rung = r["rungs"][0]
assert rung["name"] == "jammed" and rung["verdict"] == r["verdict"]
assert len(rung["residual_history"]) == 21
assert 0 < rung["memory_bytes"]["host"]["high_water"] <= rung["memory_bytes"]["host"]["predicted"]
assert ("fom_flop_per_s" in rung) == (r["verdict"] == "VALID") == (not rung["disturbed"])
assert r["ceilings_cpu"]["copy_bytes_per_s"] > 0 and rung["clocks"]["host_s"] > 0.99 * rung["timed_seconds"]
PY
[ -z "$(ls -A | grep rooftop)" ] || fail "a half-written file is left: $(ls -A)"

# --- outputs: what cannot be written is said, and ends with 3 ---
small="--device cpu --elements 2x2x2 --degree 2 --iterations 3 --seconds 0 --quiet --no-tuning"
if [ -w /dev/full ]; then
    for what in "$small" --help --list --version; do
        "$program" $what >/dev/full 2>full.err
        got=$?
        read_messages full.err
        [ $got = 3 ] && [ ${#lines[@]} = 1 ] && [[ ${lines[0]} = "nekbone: standard output"* ]] ||
            fail "$what >/dev/full: $(cat full.err)"
    done
fi
"$program" $small --json closed.json >&- 2>closed.err
[ $? = 3 ] && head -c 1 closed.json | grep -q '{' || fail "standard output closed: $(cat closed.err closed.json)"
XDG_CACHE_HOME=/dev/null "$program" --device cpu --elements 2x2x2 --degree 2 --rung jammed --seconds 0.01 --tune-seconds 0.05 \
    --json tune.json >tune.out 2>tune.err
[ $? = 3 ] && grep -q "cannot write '/dev/null/rooftop/nekbone.tuning'" tune.err || fail "no tuning file: $(cat tune.err)"
tail -n 1 tune.out | grep -q 'nekbone: INVALID' && fail "no tuning file: $(tail -n 1 tune.out)"

# --- threads and stacks that there are not: 3 before OpenMP ends the program with a status of its own ---
for settings in "OMP_NUM_THREADS=99999999999" "OMP_NUM_THREADS=100000" "OMP_STACKSIZE=99999G" "OMP_STACKSIZE=64k"; do
    refused 3 "thread" env OMP_NUM_THREADS=2 $settings OMP_THREAD_LIMIT=2000000000 "$program" $small
done
(ulimit -v 2000000; refused 3 "1000 threads per rank: only" "$program" $small --threads 1000; exit $failed) || failed=1
(ulimit -s 900; refused 3 "the limit of the stack is 900 KiB" "$program" $small; exit $failed) || failed=1
(ulimit -s 1024; valid stack "$program" $small --threads 2 --degree 23 --ladder; exit $failed) || failed=1

# --- what the environment says to Kokkos is nothing that could end a run ---
for settings in KOKKOS_NUM_THREADS=3 KOKKOS_NUM_THREADS=abc KOKKOS_DEVICE_ID=x; do
    valid kokkos-$settings env $settings "$program" $small --rung jammed
done

exit $failed
