# gpu_lost.sh - a GPU that is lost at any moment: the app says so in one line, leaves no result, and all ranks end soon, also
# where GPUs write into each other's memory and wait for each other's kernels; so they do when a rank is killed. `rooftop run`
# counts none of it, and continues when the GPU is back. Runs alone and last: other programs of that GPU notice its loss.
app=nekbone
here=$(cd "${abs_top_srcdir:-.}" && pwd)
. "$here/tests/common/lib.sh" || exit 1
# The ceilings are measured in no time, and one window is longer than any test.
long="--seconds 0.01 --window 60 --no-tuning --json result.json"

# none_left WHAT: checks that no process of it is left, or that the last one ends within 10 s.
none_left()
{
    for _ in $(seq 100); do
        left=$(find /proc -maxdepth 2 -path '/proc/[0-9]*/exe' -lname "$lost" 2>/dev/null)
        [ -n "$left" ] || return 0
        sleep 0.1
    done
    fail "$*: processes are left: $left"
    kill -9 $(echo "$left" | cut -d/ -f3)
}

# lost AFTER RANK COMMAND...: the GPU of RANK is lost after AFTER seconds. Checks that the command ends with 3 within 60 s,
# prints one line of its own (Kokkos may print more before) with CUDA's error, and leaves no file. Catches a call whose
# error is ignored, a wait without an end, and a result of half a run.
lost()
{
    after=$1 who=$2
    shift 2
    began=$SECONDS
    RT_LOSE_AFTER=$after RT_LOSE_RANK=$who timeout -k 5 60 "$@" </dev/null >lost.out 2>lost.err
    got=$?
    [ $got = 3 ] || fail "$*, lost after $after s: ended with $got, not 3: $(tail -n 5 lost.out lost.err)"
    grep -q '^lost: after' lost.err || fail "$*: was not lost: $(cat lost.err)"
    grep -q "^$app: " lost.err && grep -q cudaError lost.err || fail "$*: no reason: $(cat lost.err)"
    case $1 in
    *mpirun*) ;; # a rank that loses a neighbour may report that too
    *)
        read_messages lost.err
        [ "$(printf '%s\n' "${lines[@]}" | grep -c "^$app: ")" = 1 ] || fail "$*: not one line: $(cat lost.err)" ;;
    esac
    left=$(find . -name '*result*' -o -name '.part-*')
    [ -z "$left" ] || fail "$*, lost after $after s: leaves $left"
    none_left "$*, lost after $after s"
    echo "lost after $after s: gone in $((SECONDS - began)) s: $(grep "^$app: .*cudaError" lost.err | head -n 1)"
    rm -f result.*
}

# killed SECONDS OPTION...: the second of two ranks is killed amid the kernels of both GPUs, and mpirun learns of it only after
# that number of seconds. All must then be gone at once; and if they are more than a kernel waits, the first rank's must have failed.
killed()
{
    late=$1
    shift
    $mpirun -n 2 "$lost" "$@" --transport peer >killed.out 2>&1 &
    job=$!
    sleep 10
    second=$(find /proc -maxdepth 2 -path '/proc/[0-9]*/exe' -lname "$lost" 2>/dev/null | cut -d/ -f3 | sort -n | tail -n 1)
    kill -STOP $job
    kill -KILL $second || fail "no rank to kill: $(tail -n 5 killed.out)"
    sleep $late
    kill -CONT $job
    none_left "the second rank was killed $late s ago"
    wait $job && fail "the second rank was killed, and the run ended well: $(tail -n 5 killed.out)"
    [ $late -le 30 ] || grep -q cudaError killed.out || fail "a kernel waits for ever: $(tail -n 5 killed.out)"
    echo "a rank killed, and mpirun late by $late s: $(grep "^$app: " killed.out | head -n 1)"
    rm -f result.*
}

# can_run APP RUNG: sets app, program and lost; true if the rung can run here.
can_run()
{
    app=$1 program=$top/apps/$1/$1 lost=$top/tests/$1/lost
    reason=$("$program" --list --rung $2 | grep -A 3 "^$2 " | sed -n 's/^ *absent: //p')
    [ -z "$reason" ]
}

can_run nekbone onepass || skip "$reason"
is_long || skip "it is long: make gpu-record runs it"
transports=
! mpi=$(have_mpi) || find_transports
[ -z "$mpi" ] || echo "not on two ranks: $mpi"

# Without a loss the program is nekbone.
valid whole "$lost" --elements 4x4x4 --degree 7 --rung onepass --seconds 0
# The GPU is lost while the program starts Kokkos, sets up, measures ceilings, verifies and times. The rungs are one whose
# iterations are one graph, one whose whole solve is a kernel, and one that reads its sums in each iteration.
run="--elements 8x8x8 --degree 7 --seconds 20 --json result.json"
for after in 0 0.1 0.3 1; do
    lost $after 0 "$lost" $run --rung onepass
done
for rung in global resident $(! can_run nekbone kokkos || echo kokkos); do
    lost 2 0 "$lost" $run --rung $rung
done
lost 2 0 "$lost" $run --ladder
# The first rank, and one whose loss only the other rank can notice.
for who in $([ -n "$mpi" ] || echo 0 1); do
    lost 2 $who $mpirun -n 2 "$lost" $run --rung onepass --device 0 --share-device --transport staged
done
for transport in $transports; do
    for after in 1 2 4; do # also while the transport is tried out, where the other rank waits for this one
        lost $after 1 $mpirun -n 2 "$lost" $run --rung onepass --transport $transport
    done
done

# The suite leaves no result, and the same command continues.
can_run nekbone onepass
mkdir bin
ln -s "$lost" bin/nekbone
rooftop="${PYTHON:-python3} $here/tools/rooftop run --into suite"
RT_LOSE_AFTER=2 $rooftop --bindir "$work/bin" --apps nekbone --size tiny --seconds 4 --no-ladders >suite.out 2>&1
got=$?
[ $got = 3 ] && grep -q 'lost: after' suite/nekbone.out || fail "rooftop run ended with $got: $(cat suite.out)"
[ ! -e suite/nekbone.json ] || fail "rooftop run: a result of a lost GPU"
$rooftop >suite.out 2>&1 || fail "rooftop run does not continue: $(cat suite.out)"
grep -q '^nekbone .* VALID' suite.out && [ -s suite/nekbone.json ] || fail "rooftop run: $(cat suite.out)"

# The other GPU's kernel waits for this one's, and the host for a residual: all sweeps are one kernel, a solve is a graph.
while read -r name rung options; do
    can_run $name $rung || { echo "$name: $reason"; continue; }
    lost 2 0 "$lost" $long --rung $rung $options
    case $transports in *peer*) ;; *) continue ;; esac
    for after in 2 3 4; do
        lost $after 1 $mpirun -n 2 "$lost" $long --rung $rung $options --transport peer
    done
done <<'END'
gfnn-wave solve-cuda --elements 32x32x32 --precond gfm
gfnn-wave solve-cuda --elements 32x32x32 --precond bj
fun3d-mcpi staged --surface 8 --layers 8
END
case $transports in
*peer*)
    [ "${RT_CHECK_LONG:-0}" = 0 ] || { can_run gfnn-wave solve-cuda && killed 59 $long --rung solve-cuda --elements 32x32x32; }
    can_run fun3d-mcpi staged # of 500 sweeps, so that kernels are most of the time
    for late in 0 $([ "${RT_CHECK_LONG:-0}" = 0 ] || echo 40); do
        killed $late $long --rung staged --surface 8 --layers 8 --sweeps 500
    done ;;
*) echo "no second GPU that this one can write to" ;;
esac
exit $failed
