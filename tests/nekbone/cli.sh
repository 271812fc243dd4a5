# cli.sh - what nekbone says to good and to bad input: one line, the right exit status, nothing left
# behind, and every refusal before the run that it spares.
set -u
# Threads that wait asleep: where others want the cores too, spinning ones take several times as long.
export OMP_WAIT_POLICY=passive
nekbone=${abs_top_builddir:-$PWD}/apps/nekbone/nekbone
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
mkdir work && cd work || exit 1
failed=0 made=0
tiny="--elements 2x2x2 --degree 2 --seconds 0 --device cpu"

fail()
{
    echo "failed: $*"
    failed=1
}

# expect STATUS TEXT ARGUMENT...: 0: TEXT on stdout, nothing on stderr; else one line on stderr, of
# nekbone, with TEXT in it, and no file more or less than before. A hang ends with status 124.
# Catches: another status, a second line, a message that lost its cause, a temporary file that stays.
expect()
{
    local status=$1 text=$2 before got
    shift 2
    made=$((made + 1))
    before=$(ls -A)
    timeout 60 "$nekbone" "$@" >../out 2>../err </dev/null
    got=$?
    [ $got = "$status" ] || fail "nekbone $*: status $got, not $status: $(cat ../err)"
    if [ "$status" = 0 ]; then
        [ -s ../err ] && fail "nekbone $*: says on stderr: $(cat ../err)"
        grep -qF -- "$text" ../out || fail "nekbone $*: stdout lacks '$text'"
        return
    fi
    [ "$(wc -l <../err)" = 1 ] || fail "nekbone $*: not one line on stderr: $(cat ../err)"
    grep -q '^nekbone: ' ../err || fail "nekbone $*: not of nekbone: $(cat ../err)"
    grep -qF -- "$text" ../err || fail "nekbone $*: stderr lacks '$text': $(cat ../err)"
    grep -q 'VALID' ../out && fail "nekbone $*: gives a verdict on what it refused"
    [ "$(ls -A)" = "$before" ] || fail "nekbone $*: leaves $(ls -A)"
}

# --- what it can tell about itself: catches an option that left the table, a rung that --list hides
expect 0 "--elements EXxEYxEZ" --help
tr -s ' \n' ' ' <../out | grep -q '\[1 to 23; default 9\]' || fail "--help hides the range of --degree"
expect 0 "nekbone (Rooftop)" --version
expect 0 "Listing 1 as it stands" --list
for rung in reference jammed global shared layered kokkos; do
    grep -q "^$rung " ../out || fail "--list hides $rung"
done
expect 0 "absent: " --list --device cpu

# --- numbers: catches a lost range, a parser that stops at the first digit, an overflow
expect 2 "--elements 0: out of range" --elements 0
expect 2 "out of range" --elements 8x0x8
expect 2 "--elements -1: out of range" --elements -1
expect 2 "--elements abc: not a whole number" --elements abc
expect 2 "--elements 8x8" --elements 8x8
expect 2 "not a whole number" --elements 8x8x8z
expect 2 "1e+24 points a rank" --elements 10000000x10000000x10000000
expect 2 "--elements 99999999999999999999: out of range" --elements 99999999999999999999
expect 2 "--degree 0: out of range; give 1 to 23" --degree 0
expect 2 "--degree 40: out of range; give 1 to 23" --degree 40
expect 2 "no point inside" --elements 1 --degree 1
expect 2 "--iterations 0: out of range" --iterations 0
expect 2 "--lambda nan: not a finite number" --lambda nan
expect 2 "--lambda -1: out of range" --lambda -1
expect 2 "folds the mesh" $tiny --deform 1000
expect 2 "--threads 0: out of range" --threads 0
expect 2 "--seconds -1: out of range" --seconds -1
expect 2 "--windows 65: out of range" --windows 65

# --- names: catches a silent fall back to another rung, size or option
expect 2 "known: reference, jammed, global, shared, layered, kokkos" --rung fastest
expect 2 "exclude each other" --rung jammed --ladder
expect 2 "the nearest is --elements" --elemnts 8
expect 2 "its value is missing" --degree
expect 2 "is not an option" 8x8x8
expect 2 "use tiny, small, medium, large or full" --size huge
expect 2 "there are auto, staged" $tiny --transport pigeon
expect 2 "neither auto, nor cpu, nor numbers" --device gpu
expect 2 "nekbone has no picture" --picture picture.png

# --- the machine: catches a run on something else than what was asked for
expect 3 "--device 99: " --device 99
if grep -q "no NVIDIA driver\|no CUDA" ../err; then
    expect 3 "--device 7: " --device 7
    expect 3 "--rung layered cannot run here" --rung layered $tiny
fi
expect 3 "--rung global cannot run here: " --rung global --elements 2 --device cpu

# n above 10 for `shared`: 2 and the reason where it could run, 3 where no GPU is; gpu.sh has more.
timeout 60 "$nekbone" --rung shared --degree 10 --elements 2 --seconds 0 >../out 2>../err
case $?:$(cat ../err) in
    2:"nekbone: --rung shared cannot run this problem: "*) ;;
    3:"nekbone: --rung shared cannot run here: "*) ;;
    *) fail "--rung shared --degree 10: $(cat ../err)" ;;
esac

# --- rank counts: catches a box that leaves elements to nobody
expect 2 "--ranks 2x1x1 is not a box of the 1 ranks" --elements 2 --ranks 2x1x1
expect 2 "--ranks 3x3x0" --elements 2 --ranks 3x3x0

# --- memory: refused with both figures before anything is allocated, so at once. Catches a
# prediction that is not asked, or asked after the mesh was made.
room=$(awk '/^MemTotal/ {print int($2 / 1048576)}' /proc/meminfo)
if [ "$room" -lt 200 ]; then
    large="--elements 120x120x120 --degree 9 --device cpu"
    SECONDS=0
    expect 4 "needs more memory a rank than there is: host 2" $large
    grep -q 'host [0-9.]* GiB of [0-9.]* [KMG]iB free' ../err || fail "no figures: $(cat ../err)"
    expect 4 "jammed needs more memory" $large --rung jammed
    expect 4 "no rung can run this problem here" $large --ladder
    grep -q '^not run  *jammed: .*host [0-9.]* GiB of' ../out || fail "--ladder: no figures"
    [ $SECONDS -lt 10 ] || fail "too much memory is refused after $SECONDS s"
else
    echo "not tested: $room GiB of memory hold the largest problem that there is"
fi

# --- case files: catches a comment read as a value, a file that beats the command line, a fault
# without its line
printf '# a case\n\nelements = 3x2x2 # of few\n  degree=4\nseconds = 0\ndevice = cpu\n' >ok.case
expect 0 "3x2x2 elements" --case ok.case
grep -q "degree 4 (n = 5)" ../out || fail "the degree of the case file is lost"
expect 0 "degree 3 (n = 4)" --case ok.case --degree 3
expect 0 "degree 3 (n = 4)" --degree 3 --case ok.case
expect 2 "--case missing.case: " --case missing.case
printf 'elements = 2\ndegre = 4\n' >unknown.case
expect 2 "unknown.case:2: no such key: degre; the nearest is degree" --case unknown.case
printf 'elements = 2\n\ndegree = 40\n' >range.case
expect 2 "range.case:3: degree = 40: out of range" --case range.case
printf 'elements 2\n' >form.case
expect 2 "form.case:1: " --case form.case
printf '# nothing\n' >empty.case
expect 2 "--case empty.case: sets nothing" --case empty.case
: >empty.case
expect 2 "--case empty.case: sets nothing" --case empty.case
head -c 4096 "$nekbone" >binary.case
expect 2 "--case binary.case: a binary file" --case binary.case
expect 2 "--case .: " --case .

# --- --json: refused before the run, not after it (an hour of timing); an old file stays as it is
SECONDS=0
expect 2 "cannot write 'missing/a.json'" --json missing/a.json --device cpu --seconds 3600
expect 2 "cannot write '.'" --json . --device cpu --seconds 3600
expect 2 "cannot write 'ok.case/a.json'" --json ok.case/a.json --device cpu --seconds 3600
[ $SECONDS -lt 10 ] || fail "--json is refused after $SECONDS s"
echo old >a.json
expect 2 "--ranks 2x1x1" --json a.json --elements 2 --ranks 2x1x1 --device cpu
[ "$(cat a.json)" = old ] || fail "a refused run changed a.json"

# --- a run: verdict last, prediction first, and JSON that says the same
expect 0 "nekbone: VALID" $tiny --rung jammed --seconds 0.01 --json a.json
[ "$(tail -n 1 ../out)" = "nekbone: VALID" ] || fail "the verdict is not the last line"
predicted=$(grep -n 'jammed will need: host' ../out | cut -d: -f1)
verified=$(grep -n -m 1 ' held$' ../out | cut -d: -f1)
[ "${predicted:-9999}" -lt "${verified:-0}" ] || fail "the prediction does not come first"
[ "$(ls -A | grep -c rooftop)" = 0 ] || fail "a temporary file is left: $(ls -A)"
grep -q '"verdict": "VALID"' a.json || fail "a.json has no verdict"
if python3 -m json.tool </dev/null 2>&1 | grep -q 'Expecting value'; then
    python3 -m json.tool a.json >../tool || fail "a.json is not JSON"
    python3 - a.json <<'PYTHON' || fail "a.json: the line above does not hold"
import json, sys
run = json.load(open(sys.argv[1]))
assert run["program"] == "nekbone" and run["verdict"] == "VALID"
assert run["options"]["elements"] == "2x2x2" and run["options"]["degree"] == "2"
assert run["ranks"] == 1 and run["threads"] >= 1 and run["gpu"] == ""
(rung,) = run["rungs"]
assert rung["name"] == "jammed" and rung["valid"] is True
assert len(rung["checks"]) >= 8 and all(c["held"] for c in rung["checks"])
assert all(0 <= c["value"] <= c["bound"] for c in rung["checks"])
assert len(rung["residual_history"]) == int(run["options"]["iterations"]) + 1
assert rung["seconds_per_unit"] > 0 and rung["fom_flop_per_s"] > 0
assert rung["windows"] == 5 and rung["solves"] >= 5
assert 0 < rung["memory_bytes"]["host"]["high_water"] <= 1.05 * rung["memory_bytes"]["host"]["predicted"]
assert run["ceilings_cpu_before"]["triad_bytes_per_s"] > 0
PYTHON
else
    echo "not tested: the content of the JSON file, for there is no python3"
fi

# --quiet: the verdict and no more. Catches a line that forgot to ask.
expect 0 "nekbone: VALID" $tiny --quiet
[ "$(grep -c . ../out)" = 1 ] || fail "--quiet says more than the verdict: $(cat ../out)"

echo "$made command lines"
exit $failed
