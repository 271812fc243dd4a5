# gpu.sh - every rung that runs on a GPU: orders, forms, files, tiny meshes, steps; two ranks on one GPU;
# with RT_SANITIZE=1 also compute-sanitizer.
. "${abs_top_srcdir:-.}/tests/alya-rhs/lib.sh" || exit 1
"$alya" --list --ladder >list.out
reason=$(grep -A 2 '^patch ' list.out | sed -n 's/^ *absent: //p')
[ -z "$reason" ] || skip "$reason"

gpu_rungs="B P RS RSP RSPR closed coalesced patch mixed"
grep -A 2 '^kokkos ' list.out | grep -q 'absent:' || gpu_rungs="$gpu_rungs kokkos"

if sanitizing; then
    for rung in $gpu_rungs; do
        sanitized $rung "$alya" --device 0 --rung $rung --cells 10x7x5 --seconds 0
    done
    [ $RT_SANITIZE != only ] || exit $failed
fi

for cells in 1x1x1 2x1x1 8x7x5 24x20x14; do
    valid cells-$cells "$alya" --cells $cells --ladder --seconds 0 && ran cells-$cells $gpu_rungs
done
for order in hilbert random-elements random-all; do
    valid $order "$alya" --cells 16x16x8 --order $order --reorder no --ladder --seconds 0
done
for form in conv skew cons emac; do
    valid $form "$alya" --cells 8x7x5 --form $form --filter-width 1.5 --force-x 0.1 --ladder --seconds 0
done
for file in "$inputs"/cube-4.1.msh; do
    valid file "$alya" --mesh "$file" --ladder --seconds 0
done
# Threads per block, also where the last block of the mesh is not full.
for rung in P RS RSP RSPR closed coalesced; do
    for threads in 64 256; do
        valid $rung-$threads "$alya" --cells 11x7x5 --rung $rung --choose threads=$threads --seconds 0
    done
done
for rung in P RS RSP closed; do
    valid $rung-512 "$alya" --cells 11x7x5 --rung $rung --choose threads=512 --seconds 0
done
refused 2 "there is no such value; coalesced has 64, 128, 256" "$alya" --rung coalesced --choose threads=512
valid box "$alya" --mesh box --cells 8x8x8 --jitter 0.1 --ladder --seconds 0
valid steps "$alya" --cells 12x8x6 --steps 5 --ladder --seconds 0
valid ladder "$alya" --cells 48x40x28 --ladder --seconds 0.1
tail -n 40 ladder.out

if why=$(have_mpi); then
    for rung in RSPR patch coalesced; do
        valid two-$rung $mpirun -n 2 "$alya" --cells 16x16x8 --rung $rung --device 0 \
            --share-device --seconds 0
    done
    find_transports
    for transport in $transports; do
        valid gpus-$transport $mpirun -n 2 "$alya" --cells 16x16x8 --rung mixed --transport $transport --seconds 0
    done
else
    echo "not on two ranks: $why"
fi

exit $failed
