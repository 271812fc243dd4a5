# gpu.sh - every rung that runs on a GPU: orders, forms, files, tiny meshes; two ranks on one GPU;
# with RT_SANITIZE=1 also compute-sanitizer.
app=alya-rhs
. "${abs_top_srcdir:-.}/tests/common/lib.sh" || exit 1
find_gpu_rungs

if sanitizing; then
    for rung in $gpu_rungs; do
        sanitized $rung --device 0 --rung $rung --cells 10x7x5
    done
    [ $RT_SANITIZE != only ] || exit $failed
fi

at_once=4 each ladder <<END
--cells {1x1x1,2x1x1,8x7x5}
--cells 16x16x8 --order {hilbert,random-all} --reorder no
--cells 8x7x5 --form {conv,skew,cons,emac} --filter-width 1.5 --force-x 0.1
--mesh $samples/cube-4.1.msh
--mesh box --cells 8x8x8 --jitter 0.1
END
# Threads per block, also where the last block of the mesh is not full.
at_once=4 each single <<END
{P,RS,RSP,RSPR,closed,coalesced} --cells 11x7x5 --choose threads={64,256}
{P,RS,RSP,closed} --cells 11x7x5 --choose threads=512
END
refused 2 "there is no such value; coalesced has 64, 128, 256" "$program" --rung coalesced --choose threads=512
each single <<<"{step-RSPR,step-patch} --cells 8x7x5 --steps 3 --form {skew,emac}"
ladder timed --cells 48x40x28 --seconds 0.02
tail -n 40 timed.out

if why=$(have_mpi); then
    launch="$mpirun -n 2"
    each single <<<"{RSPR,patch,coalesced,step-patch} --cells 16x16x8 --device 0 --share-device"
    find_transports
    for transport in $transports; do
        single gpus-$transport mixed --cells 16x16x8 --transport $transport
    done
else
    echo "not on two ranks: $why"
fi

exit $failed
