# cli.sh - jacobi: every rung is right on one rank and on two, with the same inputs; what it refuses.
app=jacobi
. "${abs_top_srcdir:-.}/tests/common/lib.sh" || exit 1
valid one "$program" --ladder --n 13 --iterations 7 --seconds 0.01 --json one.json
valid two $mpirun -n 2 "$program" --device cpu --ladder --n 13 --iterations 8 --seconds 0
refused 2 "the nearest is --iterations" "$program" --iteratons 3
exit $failed
