# mpi.sh - alya-rhs on 1, 2 and 4 ranks: every rung that can run on a CPU is verified against the
# reference with shared nodes in play, for meshes that are made, read, periodic, and stepped in time.
. "${abs_top_srcdir:-.}/tests/alya-rhs/lib.sh" || exit 1
why=$(have_mpi) || skip "$why"

for n in 2 4; do
    valid hill-$n $mpirun -n $n "$alya" --device cpu --threads 1 --cells 6x5x4 --ladder --seconds 0
    valid box-$n $mpirun -n $n "$alya" --device cpu --threads 1 --mesh box --cells 4x4x4 \
        --jitter 0.1 --rung reference --seconds 0
    valid file-$n $mpirun -n $n "$alya" --device cpu --threads 1 --mesh "$inputs/cube-4.1.msh" \
        --rung cpu-closed --seconds 0
done
valid random-3 $mpirun -n 3 "$alya" --device cpu --threads 1 --cells 6x5x4 --order random-all \
    --rung cpu-closed --seconds 0
valid steps-2 $mpirun -n 2 "$alya" --device cpu --threads 1 --cells 6x5x4 --steps 4 \
    --rung cpu-RSP --seconds 0

same_inputs "$alya" --device cpu --cells 6x5x4 --order random-all

# Memory as it is said beforehand.
OMP_NUM_THREADS=1 $mpirun -n 3 "$top/tests/alya-rhs/test_mesh" >mesh.out 2>&1 ||
    fail "test_mesh on three ranks: $(cat mesh.out)"

refused 2 "is too few cells for the 2 ranks" $mpirun -n 2 "$alya" --device cpu --cells 1x1x1
refused 2 "missing.msh" $mpirun -n 2 "$alya" --device cpu --mesh missing.msh

cut_off "" "$alya" --cells 6x5x4

exit $failed
