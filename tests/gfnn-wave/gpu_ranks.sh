# gpu_ranks.sh - the rungs that run on a GPU on two ranks: on one GPU, and on two by every transport.
. "${abs_top_srcdir:-.}/tests/gfnn-wave/lib.sh" || exit 1
find_gpu_rungs
why=$(have_mpi) || skip "not on two ranks: $why"

# Two GPUs: ghosts before the whole box, or during the work on its interior (staged); FP64, FP32 and 16 bits.
find_transports
for transport in $transports; do
    two="$mpirun -n 2 $gfnn --transport $transport --elements 30x22x18 --steps 2 --seconds 0"
    for rung in parity node tiled tensor solve-cuda; do
        valid gpus-$transport-$rung $two --rung $rung
    done
    # Scalars of several GPUs, by the way of each transport: as many iterations as on one.
    for precond in bj gfm "gfm --precision fp32" "bj --vectors fp64" "gfm --vectors fp64"; do
        run="--rung solve-cuda --elements 30x22x18 --steps 3 --seconds 0 --precond $precond"
        valid solve-1 "$gfnn" $run --device 0 --json solve-1.json
        valid solve-2 $mpirun -n 2 "$gfnn" $run --transport $transport --json solve-2.json
        [ -n "$(iterations solve-1.json)" ] && [ "$(iterations solve-1.json)" = "$(iterations solve-2.json)" ] ||
            fail "$transport, $precond: iterations '$(iterations solve-2.json)', on one GPU '$(iterations solve-1.json)'"
    done
    valid gpus-$transport-cheb $two --rung solve-cuda --precond cheb3 --faces free
done
# One GPU: interior and boundary in regions of their own, halos 1 and 3 deep.
gfnn="$mpirun -n 2 $gfnn --device 0 --share-device"
ladder two "$all" --elements 30x22x18 --steps 2
ladder two-free "$all" --elements 30x22x18 --steps 2 --faces free
ladder two-vectors "$solves" --elements 30x22x18 --steps 2 --only solve --vectors fp64

exit $failed
