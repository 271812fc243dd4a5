# gpu_ranks.sh - tests the rungs that run on a GPU on two ranks: on one GPU, and on two by every transport.
. "${abs_top_srcdir:-.}/tests/nekbone/lib.sh" || exit 1
find_gpu_rungs long
why=$(have_mpi) || skip "not on two ranks: $why"

# same REFERENCE POINTS N NAME RUNG OPTION...: two ranks have the history of one rank, which is in REFERENCE.json.
same()
{
    launch="$mpirun -n 2" single $4 "${@:5}" --json $4.json && same_history $1.json $4.json $2 $3
}

# Two ranks, one GPU; the larger mesh has more elements than blocks, which take several in turn.
problem="--elements 4x4x4 --degree 7 --deform 0.2 --iterations 40"
points=$((64 * 512))
for rung in $(gpu_rungs_of iteration | sed 's/trilinear//; s/mixed//; s/resident//'); do # the mesh is bent; on one rank only
    single one-$rung $rung $problem --json one-$rung.json
    each same one-$rung $points 8 <<<"$rung $problem --device 0 --share-device --transport {staged,auto}"
done
refused 2 "messages between ranks FP64" $mpirun -n 2 "$program" --rung mixed --elements 4x4x4 --device 0 --share-device
large="onepass --elements 14x7x7 --degree 13 --deform 0.2 --iterations 20"
single one $large --json one.json
same one $((14 * 49 * 2744)) 14 two $large --ranks 2x1x1 --device 0 --share-device --transport staged
refused 3 "share-device" $mpirun -n 2 "$program" --device 0 --elements 4x4x4
for transport in peer $(! have_nccl || echo nccl); do
    refused 3 "use the same GPU" $mpirun -n 2 "$program" --device 0 --share-device \
        --transport $transport --rung onepass --elements 4x4x4
done

# Two GPUs: the same history as one, with every transport and division; more iterations than a graph holds.
find_transports
[ -n "$transports" ] || exit $failed
for transport in $transports auto; do
    for rung in layered packed fused onepass; do
        each same one-$rung $points 8 <<<"$rung $problem --ranks {2x1x1,1x1x2} --transport $transport"
        case $transport in peer | nccl) grep -q "\"transport\": \"$transport\"" row-1.json || fail "$rung: not by $transport" ;; esac
    done
    launch="$mpirun -n 2" each single <<END
onepass --transport $transport --elements 2x2x2 --degree 2 --iterations 1100
trilinear --transport $transport --elements 4x4x4 --degree 9
{solve-cuda,solve-mixed} --transport $transport --elements 4x4x6 --degree 7 --lambda 0
END
done
launch="$mpirun -n 2" single bulk fused --choose factors=bulk --elements 4x4x4 --degree 4
exit $failed
