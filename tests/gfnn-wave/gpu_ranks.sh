# gpu_ranks.sh - the rungs that run on a GPU on two ranks: on one GPU, and on two by every transport.
. "${abs_top_srcdir:-.}/tests/gfnn-wave/lib.sh" || exit 1
find_gpu_rungs long
why=$(have_mpi) || skip "not on two ranks: $why"

# One GPU: halos 1 and 3 deep.
launch="$mpirun -n 2"
each ladder <<<"--device 0 --share-device --elements 30x22x18 --steps 2 {,--faces free,--vectors fp64}"

# Two GPUs: FP64, FP32 and 16 bits.
find_transports
[ -z "$transports" ] || each single <<END
{parity,node,tiled,tensor,solve-cuda} --transport $(any_of $transports) --elements 30x22x18 --steps 2
solve-cuda --transport $(any_of $transports) --elements 30x22x18 --steps 2 --precond cheb3 --faces free
END
# Scalars of several GPUs, by the way of each transport: as many iterations as on one.
for precond in bj gfm "gfm --precision fp32" "bj --vectors fp64" "gfm --vectors fp64"; do
    [ -n "$transports" ] || break
    run="solve-cuda --elements 30x22x18 --steps 3 --precond $precond"
    launch= single one $run --device 0 --json one.json
    for transport in $transports; do
        single two $run --transport $transport --json two.json
        [ -n "$(iterations one.json)" ] && [ "$(iterations one.json)" = "$(iterations two.json)" ] ||
            fail "$transport, $precond: iterations '$(iterations two.json)', on one GPU '$(iterations one.json)'"
    done
done

exit $failed
