# gpu_lost.sh - tests a GPU that is lost, and a rank that is killed, while all sweeps of two GPUs are one kernel:
# the other GPU's kernel must not wait for ever. tests/nekbone/gpu_lost.sh has the rest: set-up, ladders, the suite.
. "${abs_top_srcdir:-.}/tests/fun3d-mcpi/lib.sh" || exit 1
. "${abs_top_srcdir:-.}/tests/common/lost.sh" || exit 1
"$mcpi" --list --rung staged >list.out
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

# orphan SECONDS: the second rank is killed amid the sweeps: kernels of 500 are most of the time. mpirun learns of it only after
# so many seconds. All must then be gone at once; and if they are more than a kernel waits, the first rank's must have failed.
orphan()
{
    $mpirun -n 2 "$lost" $run --sweeps 500 --transport peer >orphan.out 2>&1 &
    job=$!
    sleep 10
    second=$(find /proc -maxdepth 2 -path '/proc/[0-9]*/exe' -lname "$lost" 2>/dev/null | cut -d/ -f3 | sort -n | tail -n 1)
    kill -STOP $job
    kill -KILL $second || fail "no rank to kill: $(tail -n 5 orphan.out)"
    sleep $1
    kill -CONT $job
    none_left "the second rank was killed $1 s ago"
    wait $job && fail "the second rank was killed, and the run ended well: $(tail -n 5 orphan.out)"
    [ $1 -le 30 ] || grep -q cudaErrorLaunchFailure orphan.out || fail "a kernel waits for ever: $(tail -n 5 orphan.out)"
    echo "a rank killed, and mpirun late by $1 s: $(grep "^$app: " orphan.out | head -n 1)"
    rm -f result.*
}

orphan 0
[ "${RT_CHECK_LONG:-0}" = 0 ] || orphan 40
exit $failed
