# mpi.sh - tests that 1, 2 and 4 ranks in several boxes give the same residual history.
. "${abs_top_srcdir:-.}/tests/nekbone/lib.sh" || exit 1
why=$(have_mpi) || skip "$why"
export OMP_NUM_THREADS=1

problem="--device cpu --elements 4x4x2 --degree 5 --deform 0.2 --iterations 40 --seconds 0"
points=$((32 * 6 * 6 * 6))

# ranks COUNT BOX RUNG [EPS]: compares that box of ranks with one rank.
ranks()
{
    name=$3-$2
    valid "$name" $mpirun -n "$1" "$program" $problem --ranks "$2" --rung "$3" \
        --json "$name.json" || return
    grep -q "ranks $2," "$name.out" || fail "$name: not on $2 ranks"
    same_history one.json "$name.json" $points 6 "${4:-}"
}

valid one "$program" $problem --rung jammed --json one.json
ranks 2 1x1x2 jammed
ranks 4 2x2x1 jammed
ranks 4 1x4x1 jammed
grep -A 1 '^kokkos ' <("$program" --list --rung kokkos --device cpu) | grep -q 'absent:' || ranks 4 1x2x2 kokkos
ranks 2 1x2x1 reference

same_inputs "$program" $problem

ranks 2 1x2x1 vector

# The ladder solve: grids with rings of the neighbours' points, and every rank has all of degree 1. 6e-8: that of FP32.
problem="--device cpu --elements 4x4x2 --degree 5 --ripple 0.2 --lambda 0 --seconds 0"
valid one-solve "$program" $problem --rung solve-reference --json one.json
ranks 2 2x1x1 solve-reference
ranks 4 1x2x2 solve-cpu 6e-8
ranks 2 1x1x2 solve-cpu 6e-8

rows $mpirun -n 2 "$program" --device cpu <<END
2|these rank counts fit: 1, 3|--elements 3x3x3 --degree 2
2|--ranks 3x1x1 is not a box of the 2 ranks|--ranks 3x1x1
2|cannot write 'nowhere/a.json'|--json nowhere/a.json
END

# Files that rank 0 alone sees: the others get what it read, and do not look for folders of theirs.
mkdir a b
echo 'degree = 3' >a/only.case
small="--case only.case --device cpu --elements 2x2x2 --iterations 5 --seconds 0 --rung jammed --quiet"
valid own-folder $mpirun -n 1 -wdir "$PWD/a" "$program" $small --json ../a/a.json : -n 1 -wdir "$PWD/b" "$program" $small --json ../a/a.json
[ -s a/a.json ] || fail "rank 0 wrote no a.json"
refused 2 "--case only.case: No such file" $mpirun -n 1 -wdir "$PWD/b" "$program" $small : -n 1 -wdir "$PWD/a" "$program" $small

cut_off --only iteration --elements 4x4x2 --degree 3
cut_off --only solve --elements 4x4x2 --degree 3

exit $failed
