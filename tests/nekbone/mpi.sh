# mpi.sh - nekbone on 1, 2 and 4 ranks, in several boxes: VALID, and the residual history of one rank.
#
# Ranks only change the order in which inner products are summed, so two histories agree to rounding,
# which CG magnifies as it goes: 1e-10 is asked for where |r_k| > 1e-8 |r_0|. Catches a face that is
# not exchanged, or twice; an edge or corner shared by four ranks that only two of them sum; points
# counted twice in an inner product; ranks that each solve the whole problem by themselves.
set -u
# Threads that wait asleep: where others want the cores too, spinning ones take several times as long.
export OMP_WAIT_POLICY=passive OMP_NUM_THREADS=1
nekbone=${abs_top_builddir:-$PWD}/apps/nekbone/nekbone
mpirun=${MPIRUN:-mpirun}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0
same="--elements 4x4x4 --degree 5 --deform 0.3 --device cpu --seconds 0"

fail()
{
    echo "failed: $*"
    failed=1
}

if ! command -v "${mpirun%% *}" >/dev/null; then
    echo "skipped: no $mpirun"
    exit 77
fi
if "$nekbone" --version | grep -q "^MPI .*this build has no MPI"; then
    echo "skipped: this build has no MPI"
    exit 77
fi

# run RANKS NAME ARGUMENT...: ends with 0 and VALID; the result in NAME.json.
run()
{
    local ranks=$1 name=$2
    shift 2
    timeout 120 $mpirun -n "$ranks" "$nekbone" $same "$@" --json "$name.json" >out 2>err ||
        fail "$ranks ranks, $*: status $?: $(cat err)"
    [ "$(tail -n 1 out)" = "nekbone: VALID" ] || fail "$ranks ranks, $*: $(tail -n 1 out)"
    [ "$(grep -c '^rank [0-9]*: ' out)" = "$ranks" ] || fail "$ranks ranks, $*: not $ranks ran"
}

# refused RANKS TEXT ARGUMENT...: status 2, and one line of nekbone's on stderr, not one a rank.
refused()
{
    local ranks=$1 text=$2 status
    shift 2
    timeout 120 $mpirun -n "$ranks" "$nekbone" "$@" --device cpu >out 2>err
    status=$?
    [ $status = 2 ] || fail "$ranks ranks, $*: status $status, not 2: $(cat err)"
    [ "$(grep -c '^nekbone: ' err)" = 1 ] || fail "$ranks ranks, $*: not one line: $(cat err)"
    grep '^nekbone: ' err | grep -qF -- "$text" || fail "$ranks ranks, $*: lacks '$text': $(cat err)"
}

# Every rung that runs here, on 1, 2 and 4 ranks; then the last of the CPU in other boxes.
for ranks in 1 2 4; do
    run $ranks $ranks --ladder
done
for box in 1x1x2 1x2x1 2x1x1; do
    run 2 $box --rung jammed --ranks $box
    grep -q "ranks $box," out || fail "--ranks $box: $(grep ' ranks ' out)"
done
for box in 1x1x4 4x1x1 2x1x2 1x2x2; do
    run 4 $box --rung jammed --ranks $box
done

if python3 -m json.tool </dev/null 2>&1 | grep -q 'Expecting value'; then
    python3 - [1-9]*.json <<'PYTHON' || fail "the residual histories: see above"
import json, sys
runs = {name: json.load(open(name)) for name in sys.argv[1:]}
one = runs["1.json"]
assert one["ranks"] == 1 and len(runs) == 10, list(runs)
oracle = {rung["name"]: rung["residual_history"] for rung in one["rungs"]}
assert {"reference", "jammed"} <= set(oracle), list(oracle)
want = oracle["reference"]
assert len(want) == 101 and want[0] > 0
worst, compared = 0, 0
for name, run in runs.items():
    assert run["ranks"] == eval(name[:-5].replace("x", "*")), name
    for rung in run["rungs"]:
        history = rung["residual_history"]
        assert len(history) == len(want), (name, rung["name"])
        for k, (a, b) in enumerate(zip(history, want)):
            if b <= 1e-8 * want[0]:
                break
            assert abs(a - b) <= 1e-10 * b, (name, rung["name"], k, a, b)
            worst, compared = max(worst, abs(a - b) / b), compared + 1
assert compared > 50 * len(runs), compared
print(f"{len(runs)} runs, {compared} residuals: the farthest is {worst:.1e} from one rank's")
PYTHON
else
    echo "no python3: histories are compared by the verification of every run alone"
fi

# Ranks that leave elements to nobody: refused, with the counts that fit.
refused 2 "these rank counts fit: 1, 3" --elements 3x3x3
refused 4 "these rank counts fit: 1, 2, 3, 6, 9" --elements 3x3x2
refused 2 "--ranks 2x2x1 is not a box of the 2 ranks" --elements 4 --ranks 2x2x1
refused 2 "these rank counts fit: 1, 2, 4" --elements 1x4x1 --degree 2 --ranks 2x1x1
refused 2 "cannot write 'missing/a.json'" --elements 4 --json missing/a.json
[ ! -e missing ] && [ "$(ls -A | grep -c rooftop)" = 0 ] || fail "left behind: $(ls -A)"

exit $failed
