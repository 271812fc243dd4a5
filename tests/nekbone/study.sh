# study.sh - tools/nek-study runs a tiny study, goes on where it was stopped, and judges results by known numbers.
. "${abs_top_srcdir:-.}/tests/nekbone/lib.sh" || exit 1
python=$(command -v "${PYTHON:-python3}") || skip "no python3"
study=$(cd "${OLDPWD:-.}" && cd "${abs_top_srcdir:-.}" && pwd)/tools/nek-study
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
small="--program $nekbone --device cpu --threads 1 --seconds 0.005 --tune-seconds 0.02 --repeats 1 --iterations 5"

# studied TEXT OPTION...: ends with a report (1: so short runs may well be slower by more than their noise), and
# says TEXT.
studied()
{
    text=$1
    shift
    "$python" "$study" "$@" >out 2>err
    got=$?
    grep -q SLOWER out && want=1 || want=0
    [ $got = $want ] && grep -q '^report: ' out || fail "$*: ended with $got: $(tail -n 1 out) $(cat err)"
    grep -qF -e "$text" out || fail "$*: does not say '$text' but: $(cat out)"
}

# refuses STATUS TEXT OPTION...: one line that says so.
refuses()
{
    status=$1 text=$2
    shift 2
    "$python" "$study" "$@" >out 2>err
    got=$?
    [ $got = "$status" ] && [ "$(wc -l <err)" = 1 ] && grep -qF -e "$text" err || fail "$*: $got, $(cat err)"
}

# --- bad options ---
refuses 2 "exclude each other" --report --force
refuses 2 "invalid list of 2 .. 24 value: '8,25'" --out a --orders 8,25
refuses 2 "invalid count from 1 value: '0'" --out a --threads 0
refuses 2 "invalid number above 0 value: 'nan'" --out a --seconds nan
refuses 2 "unrecognized arguments: --order" --out a --order 8
refuses 2 "invalid choice: 'all'" --out a --only all
refuses 2 "there is no such rung; known: reference, scalar" --out a --program "$nekbone" --rungs fast
refuses 3 "nowhere: no such program" --out a --program nowhere
refuses 3 "is this nekbone?" --out a --program "$(type -P true)"
refuses 3 "no results" --out a --report
[ -e a ] && fail "a refusal leaves a folder"
refuses 2 "--threads" $small --threads 100000 --out d

# --- a study, all of whose parts are there ---
studied "8 runs made, 0 were there" $small --out a --orders 4,6 --elements 8,12 --only default-tuned --rungs jammed
for point in n04-e0008 n04-e0012 n06-e0008 n06-e0012; do
    [ -s a/runs/cpu-jammed-$point-tuned-0.json ] || fail "no run jammed-$point-tuned"
done
grep -q '"3x2x2"' a/runs/cpu-jammed-n04-e0012-own-0.json || fail "12 elements are not 3x2x2"
studied "" $small --out a --orders 4 --elements 8 --rungs scalar,vector
for variant in dgemm isolated set-rows set-tiles-n; do
    [ -s a/runs/cpu-scalar-n04-e0008-$variant-0.json ] || fail "no run $variant"
done
for version in dgemm set-rows; do
    chosen=mxm1=VERSION,mxm2=VERSION,mxm3=VERSION
    grep -qF "\"${chosen//VERSION/${version#set-}}\"" a/runs/cpu-scalar-n04-e0008-$version-0.json ||
        fail "$version: another choice"
done
grep -q '"isolated": true' a/runs/cpu-scalar-n04-e0008-isolated-0.json || fail "isolated was not tuned alone"
grep -q '"isolated": false' a/runs/cpu-scalar-n04-e0008-tuned-0.json || fail "tuned was not tuned inside"
for title in "Figure 3:" "Figure 12:" "Figures 17 and 18:" "tuned alone" "n known when compiled" "fastest version"; do
    grep -qF "$title" a/report.md || fail "the report has nothing of '$title'"
done
[ -z "$(find a -name '*part*')" ] || fail "a part of a file is left: $(ls -A a a/runs)"

# --- again: nothing is run but what is not whole, and repeats ---
all=$(ls a/runs | wc -l)
cksum a/runs/* >before
half=a/runs/cpu-scalar-n04-e0008-own-0.json
head -c 200 $half >part && mv part $half
studied "" $small --out a --orders 4 --elements 8 --rungs scalar,vector
grep -q '^1 runs made' out || fail "not the one half-written run is made but: $(cat out)"
cksum a/runs/* | diff before - | grep '^>' | cut -d' ' -f4 | grep -qx $half || fail "$half has not changed, or more has"
[ "$(cksum a/runs/* | diff before - | grep -c '^>')" = 1 ] || fail "results that were there have changed"
studied "" $small --out a --orders 4 --elements 8 --rungs jammed --only default-tuned --repeats 2
[ "$(ls a/runs | wc -l)" = $((all + 2)) ] || fail "not 2 runs more by --repeats but: $(ls a/runs)"
refuses 2 "a has runs with --iterations 5" $small --out a --iterations 6

# --- stopped: status 130, nothing half-written, and no process left ---
"$python" "$study" $small --tune-seconds 60 --out b --orders 4 --elements 8 --rungs scalar >out 2>err &
job=$!
for _ in $(seq 50); do
    sleep 0.05
    grep -q tuned out && break
done
kill -TERM $job
wait $job
got=$?
[ $got = 130 ] && grep -q "goes on from here" err || fail "stopped: $got, $(cat err)"
[ -z "$(find b -name '*part*')" ] || fail "stopped: a part is left"

# --- sizes passed against known on a GPU: a program that says it has one, and is twice as fast if they are known ---
cat >gpu-nekbone <<'END'
#!/bin/sh
if [ "$1" = --list ]; then
    printf 'compiled cuda idea\n   sizes: compile (default), argument; x\n   column: auto (default), shared; x\n'
    exit
fi
seconds=1
while [ $# -gt 0 ]; do
    case $1 in --json) file=$2 ;; --choose) chosen=$2 ;; esac
    shift
done
[ $chosen != sizes=argument ] || seconds=2
echo "{\"verdict\": \"VALID\", \"rungs\": [{\"seconds_per_unit\": $seconds, \"spread\": 0,
    \"fom_flop_per_s\": 1, \"choice\": {\"all\": \"$chosen\"}}]}" >$file
END
chmod +x gpu-nekbone
studied "3 runs made" --program ./gpu-nekbone --out g --device gpu --only compile-time --orders 10 --elements 8 --repeats 1
grep -qF '"sizes=compile,column=shared,rows=shared,unroll=1"' g/runs/gpu-compiled-n10-e0008-set-compile-same-0.json ||
    fail "sizes known: not the loops that they are compared with"
[ "$(grep -c '^### compiled: compile.* against argument, .* (GPU)$' g/report.md)" = 2 ] &&
    grep -q '+100.0 % (N = 10' g/report.md || fail "the report does not compare sizes known and passed on a GPU"

# --- known numbers: gains 2, 1.5 and 1 / 1.05 ---
# made SPREAD SAME: both sides have that spread; at five more points their choice is the same, with
# times apart by SAME, once by 8 times that.
made()
{
    rm -rf c
    mkdir -p c/runs
    "$python" - "$@" <<'END'
import json, sys
spread, apart = map(float, sys.argv[1:])
points = [(8, 2, 1, 'lines'), (10, 3, 2, 'lines'), (12, 1, 1.05, 'lines')]
points += [(n, 1, 1 + apart * (8 if n == 22 else 1), 'tiles') for n in range(14, 24, 2) if apart]
for n, default, tuned, choice in points:
    for variant, seconds, loops in (('own', default, 'tiles'), ('tuned', tuned, choice)):
        result = dict(seconds_per_unit=seconds, spread=spread, fom_flop_per_s=1e9 / seconds)
        json.dump(dict(format=1, device='cpu', rung='jammed', n=n, elements=32, variant=variant, repeat=0, valid=True,
                       rung_result=result, choice={'loops': loops}),
                  open(f'c/runs/cpu-jammed-n{n:02d}-e0032-{variant}-0.json', 'w'))
END
}
gains="tuned over own: median gain 1.500x, largest 2.000x (N = 8, nel = 32), worst 1.050 (N = 12, nel = 32; noise"
made 0.06 0
studied "$gains 0.060)" --report --out c
grep -q SLOWER out && fail "within the noise of its windows, and yet SLOWER"
grep -qF '| 32 | jammed 1.0 | jammed 0.5 | jammed 1.0 |' c/report.md || fail "the table of the fastest is wrong"
made 0.04 0
studied "SLOWER: cpu jammed at N = 12, nel = 32" --report --out c
made 0.001 0.01 # what is the same differs by 1 %: two standard deviations are 3 %
studied "SLOWER: cpu jammed at N = 12, nel = 32" --report --out c
grep -c SLOWER out | grep -qx 1 || fail "the same choice is said to be slower: $(cat out)"
made 0.001 0.02
studied "worst 1.050 (N = 12, nel = 32; noise 0.059)" --report --out c
grep -q SLOWER out && fail "within what chance does, and yet SLOWER"
grep -qF "5 pairs: they differ by 2.0 % in the median" c/report.md || fail "the report does not say what chance does"
run=c/runs/cpu-jammed-n12-e0032-tuned-0.json
sed 's/"valid": true/"valid": false/' $run >x && mv x $run
"$python" "$study" --report --out c >out 2>err && fail "INVALID, and yet status 0"
grep -q '^INVALID: cpu jammed at N = 12' out || fail "nothing is said of INVALID: $(cat out)"

exit $failed
