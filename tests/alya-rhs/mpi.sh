# mpi.sh - alya-rhs on 2, 3 and 4 ranks: every rung that can run on a CPU is verified against the
# reference with shared nodes in play, for meshes that are made, read and periodic.
app=alya-rhs
. "${abs_top_srcdir:-.}/tests/common/lib.sh" || exit 1
why=$(have_mpi) || skip "$why"

export OMP_NUM_THREADS=1
for n in 2 4; do
    launch="$mpirun -n $n" each on_cpu <<END
$([ $n = 4 ] && echo --rung cpu-RSP || echo --ladder --only assembly) --cells 6x5x4
--rung step-cpu-RSP --cells 6x5x4 --json step-$n.json
--rung step-cpu-closed --mesh box --cells 4x4x4 --steps 2
--rung reference --mesh box --cells 4x4x4 --jitter 0.1
--rung cpu-closed --mesh $samples/cube-4.1.msh
END
done
# A step is the same on any number of ranks, as far as the pressure is solved for.
on_cpu step --rung step-cpu-RSP --cells 6x5x4 --json step-1.json
for key in dt divergence; do
    rm -f same.out
    for n in 1 2 4; do printf '%.5g\n' "$(number step-$n.json $key)" >>same.out; done
    [ "$(sort -u same.out | wc -l)" = 1 ] || fail "$key depends on the ranks: $(tr '\n' ' ' <same.out)"
done
launch="$mpirun -n 3" on_cpu random --cells 6x5x4 --order random-all --rung cpu-closed

same_inputs "$program" --device cpu --cells 6x5x4 --order random-all

# Memory as it is said beforehand.
$mpirun -n 3 "$top/tests/alya-rhs/test_mesh" >mesh.out 2>&1 ||
    fail "test_mesh on three ranks: $(cat mesh.out)"

refused 2 "is too few cells for the 2 ranks" $mpirun -n 2 "$program" --device cpu --cells 1x1x1
refused 2 "missing.msh" $mpirun -n 2 "$program" --device cpu --mesh missing.msh

cut_off --cells 6x5x4 --only assembly

exit $failed
