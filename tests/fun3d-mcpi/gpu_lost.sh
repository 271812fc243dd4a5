# gpu_lost.sh - tests a GPU that is lost, and a rank that is killed or stopped, while all sweeps of two GPUs are one kernel:
# the other GPU's kernel must not wait for ever. tests/nekbone/gpu_lost.sh has the rest: set-up, ladders, the suite.
. "${abs_top_srcdir:-.}/tests/fun3d-mcpi/lib.sh" || exit 1
. "${abs_top_srcdir:-.}/tests/common/lost.sh" || exit 1
"$mcpi" --list >list.out
reason=$(grep -A 3 '^staged ' list.out | sed -n 's/^ *absent: //p')
[ -z "$reason" ] || skip "$reason"
run="--surface 8 --layers 8 --seconds 20 --no-tuning --json result.json --rung staged"

lost 2 0 "$lost" $run
why=$(have_mpi) || skip "$why"
find_transports
case $transports in *peer*) ;; *) echo "no second GPU that this one can write to"; exit $failed ;; esac
for after in 2 3 4; do
    lost $after 1 $mpirun -n 2 "$lost" $run --transport peer
done

# orphan LIMIT WHOM: the second rank is killed amid the sweeps, of which one kernel makes many. All must be gone within
# LIMIT seconds; if mpirun was stopped before, and cannot end the other rank, its kernel does.
orphan()
{
    began=$SECONDS
    $mpirun -n 2 "$lost" $run --sweeps 5000 --transport peer >orphan.out 2>&1 &
    job=$!
    sleep 6
    ranks=$(find /proc -maxdepth 2 -path '/proc/[0-9]*/exe' -lname "$lost" 2>/dev/null | cut -d/ -f3 | sort -n)
    [ "$2" != alone ] || kill -STOP $job
    kill -KILL $(echo "$ranks" | tail -n 1) || fail "no rank to kill: $(tail -n 5 orphan.out)"
    while kill -0 $(echo "$ranks" | head -n 1) 2>/dev/null && [ $((SECONDS - began)) -lt $1 ]; do
        sleep 0.5
    done
    [ $((SECONDS - began)) -lt $1 ] || fail "a rank that was left $2 is still there after $1 s"
    echo "left $2: gone in $((SECONDS - began)) s: $(grep "^$app: " orphan.out | head -n 1)"
    [ "$2" != alone ] || grep -q cudaErrorLaunchFailure orphan.out || fail "left alone: no reason: $(tail -n 5 orphan.out)"
    kill -KILL $job 2>/dev/null
    wait $job
    none_left "left $2"
    rm -f result.*
}

orphan 20 "to mpirun"
[ "${RT_CHECK_LONG:-0}" = 0 ] || orphan 60 alone
exit $failed
