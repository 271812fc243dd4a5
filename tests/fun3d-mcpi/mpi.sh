# mpi.sh - fun3d-mcpi on 1 and 3 ranks, long on up to 8: the same dQ, bit by bit; every rung that can run on a CPU verified with ghosts in play.
. "${abs_top_srcdir:-.}/tests/fun3d-mcpi/lib.sh" || exit 1
why=$(have_mpi) || skip "$why"
export OMP_NUM_THREADS=1
run="--device cpu --seconds 0"
double="--offdiagonal fp64 --dq fp64 --accumulate fp64"

long=${RT_CHECK_LONG:-0}
each=$([ "$long" = 0 ] && echo "1 3" || echo "1 2 3 4 5 8")
# of walls, whose faces parts may cut: the drag
drag()
{
    sed -n 's/.*"drag": \(-*[0-9.]\{10\}\).*/\1/p' flow.json
}
flow="--rung flow-simd --steps 12 --flow-reynolds 500 --tolerance 1e-12 --courant 1000" # takes steps back
for n in $each; do
    on=$([ $n = 1 ] || echo $mpirun -n $n)
    valid ladder-$n $on "$program" $run $small --ladder
    valid double-$n $on "$program" $run $small $double --rung cpu-simd --json double-$n.json
    grep -o '"dq_left": "[0-9a-f]*"' double-$n.json >left-$n && cmp -s left-1 left-$n ||
        fail "a solve on $n ranks leaves $(cat left-$n), on one $(cat left-1)"
    $on "$program" $run $body $flow --json flow.json >flow.out 2>&1 # not converged after 12 steps
    grep -o '"residual": [^,}]*' flow.json | tail -n +2 >flow-$n.list # the first is a time
    drag >drag-$n
    [ -s drag-1 ] && cmp -s drag-1 drag-$n || fail "the drag on $n ranks is $(cat drag-$n), on one $(cat drag-1)"
done
for n in ${each#1 }; do
    for kind in ladder double; do
        [ -n "$(fingerprint $kind-1)" ] && [ "$(fingerprint $kind-$n)" = "$(fingerprint $kind-1)" ] ||
            fail "$kind: dQ on $n ranks is '$(fingerprint $kind-$n)', on one '$(fingerprint $kind-1)'"
    done
done
# A flow's residuals differ by the rounding of their norms, which the Courant number follows in steps.
for n in ${each#1 }; do
    paste flow-1.list flow-$n.list | awk '{ d = $2 / $4 - 1; if (d * d > 1e-8) bad = 1 } END { exit bad || NR < 12 }' ||
        fail "residuals of a flow on $n ranks: $(paste flow-1.list flow-$n.list | tail -n 2)"
done
# What ranks make by parts is the whole cut in parts.
for n in ${each#1 }; do
    $mpirun -n $n "$abs_top_builddir/tests/fun3d-mcpi/test_piece" >piece.out 2>&1 || fail "on $n ranks: $(tail -n 3 piece.out)"
done
[ "$(fingerprint ladder-1)" != "$(fingerprint double-1)" ] || fail "the fingerprint says nothing"

# Memory per rank, the most of all, does not grow with the number of ranks: bytes per block of a rank, since larger wings
# have a few more blocks per row, within a tenth of one rank's.
bytes_per_block()
{
    valid memory $([ $1 = 1 ] || echo $mpirun -n $1) "$program" $run --surface $2 --layers $3 --sweeps 2 --rung cpu-simd --json memory.json
    sed -n 's/^.*"high_water": \([1-9][0-9.]*\).*$/bytes \1/p; s/^.*"off_diagonal_blocks": \([0-9]*\).*$/blocks \1/p' memory.json |
        awk -v ranks=$1 '{ is[$1] = $2 } END { print is["bytes"] * ranks / is["blocks"] }'
}
if [ "$long" != 0 ]; then
    one=$(bytes_per_block 1 14 12)
    for size in "8 29 24" "16 41 24"; do
        many=$(bytes_per_block $size)
        echo "$one $many" | awk '{ exit !($1 > 0 && $2 > 0.9 * $1 && $2 < 1.1 * $1) }' ||
            fail "ranks, surface, layers $size: $many bytes per block, on one rank $one"
    done
fi

for file in $([ "$long" = 0 ] && echo mixed.lb8.ugrid || (cd "$samples" && ls mixed*)); do
    valid file-1 "$program" $run --mesh "$samples/$file" --rung cpu-simd
    valid file-3 $mpirun -n 3 "$program" $run --mesh "$samples/$file" --rung cpu-simd
    [ -n "$(fingerprint file-1)" ] && [ "$(fingerprint file-3)" = "$(fingerprint file-1)" ] ||
        fail "$file: dQ on 3 ranks is '$(fingerprint file-3)', on one '$(fingerprint file-1)'"
done
same_inputs "$program" --device cpu $small
[ "$long" = 0 ] || valid tiny $mpirun -n 2 "$program" $run --size tiny --rung cpu-simd

$mpirun -n 3 "$top/tests/fun3d-mcpi/test_near" >near.out 2>&1 || fail "test_near on 3 ranks: $(cat near.out)"

fan fan.msh 3
refused 2 "fewer than the 6 ranks" $mpirun -n 6 "$program" $run --mesh fan.msh --walls none
# one for each place where ranks detect a fault
bad_files
rows $mpirun -n 2 "$program" $run <<END
2|missing.msh|--mesh missing.msh
2|none has the tag 7|$small --walls 7
2|the file is empty|--mesh empty.msh --json bad.json
2|tetrahedron 0 is inverted|--mesh inverted.msh --json bad.json
END

cut_off --surface 5 --layers 6

exit $failed
