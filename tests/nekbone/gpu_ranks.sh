# gpu_ranks.sh - tests the rungs that run on a GPU on two ranks: on one GPU, and on two by every transport.
. "${abs_top_srcdir:-.}/tests/nekbone/lib.sh" || exit 1
find_gpu_rungs
why=$(have_mpi) || skip "not on two ranks: $why"

# Two ranks, one GPU: the same history as one rank.
problem="--elements 4x4x4 --degree 7 --deform 0.2 --iterations 40 --seconds 0"
two_ranks=${gpu_rungs/trilinear/} # the mesh is bent
for rung in ${two_ranks/resident/}; do # runs on one rank only
    valid one-$rung "$nekbone" $problem --rung $rung --json one.json
    for transport in staged auto; do
        name=two-$rung-$transport
        valid $name $mpirun -n 2 "$nekbone" $problem --rung $rung --device 0 --share-device \
            --transport $transport --json two.json &&
            same_history one.json two.json $((64 * 512)) 8
    done
done
refused 3 "share-device" $mpirun -n 2 "$nekbone" --device 0 --elements 4x4x4
# Blocks take elements from a list: first those that touch the other rank, then the others.
large="--elements 14x7x7 --degree 13 --deform 0.2 --iterations 20 --seconds 0 --rung onepass"
valid one-turns "$nekbone" $large --json one.json
valid two-turns $mpirun -n 2 "$nekbone" $large --ranks 2x1x1 --device 0 --share-device --transport staged \
    --json two.json && same_history one.json two.json $((14 * 49 * 2744)) 14

# Two GPUs: the same history as one, with every transport and division; more iterations than a graph holds.
find_transports
if have_nccl; then
    refused 3 "use the same GPU" $mpirun -n 2 "$nekbone" --device 0 --share-device \
        --transport nccl --rung onepass --elements 4x4x4
fi
refused 3 "transport peer: ranks 0 and 1 use the same GPU" $mpirun -n 2 "$nekbone" --device 0 --share-device \
    --transport peer --rung onepass --elements 4x4x4
if [ -n "$transports" ]; then
    transports="$transports auto"
    for rung in layered packed fused onepass; do
        valid one-$rung "$nekbone" $problem --rung $rung --json one.json
        for transport in $transports; do
            for box in 2x1x1 1x1x2; do
                name=gpus-$rung-$transport-$box
                valid $name $mpirun -n 2 "$nekbone" $problem --rung $rung --ranks $box \
                    --transport $transport --json two.json &&
                    same_history one.json two.json $((64 * 512)) 8
                [ $transport != nccl ] || grep -q '"transport": "nccl"' two.json || fail "$name: not by nccl"
                [ $transport != peer ] || grep -q '"transport": "peer"' two.json || fail "$name: not by peer"
            done
        done
    done
    for transport in $transports; do
        valid gpus-long-$transport $mpirun -n 2 "$nekbone" --rung onepass --transport $transport \
            --elements 2x2x2 --degree 2 --iterations 1100 --seconds 0
        valid gpus-trilinear-$transport $mpirun -n 2 "$nekbone" --rung trilinear --transport $transport \
            --elements 4x4x4 --degree 9 --seconds 0
        valid gpus-solve-$transport $mpirun -n 2 "$nekbone" --rung solve-cuda --transport $transport --elements 4x4x6 \
            --degree 7 --lambda 0 --seconds 0
    done
    valid gpus-bulk $mpirun -n 2 "$nekbone" --rung fused --choose factors=bulk --elements 4x4x4 --degree 4 --seconds 0
fi
exit $failed
