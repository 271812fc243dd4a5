# gpu_lost.sh - tests a GPU that is lost, and a rank that is killed, while the GPUs write into each other's vectors: the other
# GPU's kernels must not wait for ever, nor the host for a residual. tests/nekbone/gpu_lost.sh has the rest.
. "${abs_top_srcdir:-.}/tests/gfnn-wave/lib.sh" || exit 1
. "${abs_top_srcdir:-.}/tests/common/lost.sh" || exit 1
"$gfnn" --list --rung solve-cuda >list.out
reason=$(grep -A 2 '^solve-cuda ' list.out | sed -n 's/^ *absent: //p')
[ -z "$reason" ] || skip "$reason"
run="--elements 32x32x32 --seconds 20 --no-tuning --json result.json --rung solve-cuda"

lost 3 0 "$lost" $run
why=$(have_mpi) || skip "$why"
find_transports
case $transports in *peer*) ;; *) echo "no second GPU that this one can write to"; exit $failed ;; esac
for precond in gfm bj; do
    for after in 2 3 4; do
        lost $after 1 $mpirun -n 2 "$lost" $run --precond $precond --transport peer
    done
done

# The second rank is killed amid a solve, and mpirun learns of it so late that the first rank must end by itself.
if [ "${RT_CHECK_LONG:-0}" != 0 ]; then
    $mpirun -n 2 "$lost" $run --seconds 60 --transport peer >orphan.out 2>&1 &
    job=$!
    sleep 10
    second=$(find /proc -maxdepth 2 -path '/proc/[0-9]*/exe' -lname "$lost" 2>/dev/null | cut -d/ -f3 | sort -n | tail -n 1)
    kill -STOP $job
    kill -KILL $second || fail "no rank to kill: $(tail -n 5 orphan.out)"
    sleep 59
    kill -CONT $job
    none_left "the second rank was killed 59 s ago"
    wait $job && fail "the second rank was killed, and the run ended well: $(tail -n 5 orphan.out)"
    grep -q cudaError orphan.out || fail "a kernel waits for ever: $(tail -n 5 orphan.out)"
    rm -f result.*
fi
exit $failed
