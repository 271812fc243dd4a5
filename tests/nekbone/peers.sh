# peers.sh - hypre's BoomerAMG as the preconditioner of the same solve: it converges, in as many
# iterations as a V-cycle on the matrix of the cells should take.
. "${abs_top_srcdir:-.}/tests/nekbone/lib.sh" || exit 1
grep -q '^#define RT_HAVE_HYPRE 1' "$top/config.h" || skip "no peer is in this build (configure --with-hypre)"
solve="$program --device cpu --elements 4x3x3 --degree 4 --lambda 0 --ladder --only solve --seconds 0.02 --windows 2"

# row NAME: the peer's row in NAME.out says that it converged, in at most 30 iterations.
row()
{
    grep '^hypre BoomerAMG' "$1.out" >row || fail "$1: no row of hypre"
    grep -q ' converged$' row || fail "$1: $(cat row)"
    iterations=$(awk '{ print $3 }' row)
    [ "$iterations" -ge 8 ] && [ "$iterations" -le 30 ] || fail "$1: $iterations iterations: $(cat row)"
}

why=$(have_mpi) || skip "$why"
for mesh in "--deform 0" "--stretch 8" "--ripple 0.3" "--deform 0.3 --lambda 0.1"; do
    valid mesh $mpirun -n 1 $solve $mesh && row mesh
done
for run in "$mpirun -n 1 $solve --precond none" "$solve" "$mpirun -n 2 $solve"; do
    valid refused $run
    grep -q '^peers: not run, they are for mpirun -n 1, --precond schwarz' refused.out || fail "$run: $(grep '^peers' refused.out)"
done
valid iteration $mpirun -n 1 "$program" --device cpu --elements 2x2x2 --degree 3 --ladder --only cpu --seconds 0.01 --windows 1
! grep -q '^hypre' iteration.out || fail "a peer beside the ladder iteration"

exit $failed
