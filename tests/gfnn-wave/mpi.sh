# mpi.sh - gfnn-wave on 1, 2 and 4 ranks: the same iterations, the same displacements to rounding, every
# CPU rung verified with ghosts of other ranks in play, and the same materials in the picture.
. "${abs_top_srcdir:-.}/tests/gfnn-wave/lib.sh" || exit 1
why=$(have_mpi) || skip "$why"
export OMP_NUM_THREADS=1
box="--elements 10x9x8 --steps 2"

long=${RT_CHECK_LONG:-0}
counts=$([ "$long" = 0 ] || echo "2 3 4 5 8")
# Short: each kind of face with one preconditioner, the boundary's ghosts with both.
for faces in periodic free; do
    for precond in bj gfm "gfm --vectors fp64"; do
        case $long-$faces-$precond in 0-periodic-bj | 0-free-*64) continue ;; esac
        on_cpu one $box --faces $faces --precond $precond --rung solve-simd --json one.json --picture one.vti
        some=4
        [ "$precond" = gfm ] || some=2
        for n in ${counts:-$some}; do
            launch="$mpirun -n $n" on_cpu many $box --faces $faces --precond $precond --rung solve-simd --json many.json --picture many.vti
            what="$faces faces, $precond, $n ranks"
            [ -n "$(iterations one.json)" ] && [ "$(iterations many.json)" = "$(iterations one.json)" ] ||
                fail "$what: iterations '$(iterations many.json)', on one rank '$(iterations one.json)'"
            [ "$(number many.json iterations_cgbj)" = "$(number one.json iterations_cgbj)" ] ||
                fail "$what: other iterations of the oracle"
            for norm in norm_du norm_u; do # the oracle's, which the rung was compared with
                close "$(number many.json $norm)" "$(number one.json $norm)" 1e-9 ||
                    fail "$what: $norm is '$(number many.json $norm)', on one rank '$(number one.json $norm)'"
            done
            # materials are the last 720 bytes before the end (28 bytes)
            cmp <(tail -c $((720 + 28)) one.vti) <(tail -c $((720 + 28)) many.vti) ||
                fail "$what: the materials of the picture depend on the ranks"
        done
    done
done
for n in ${counts:-2}; do
    launch="$mpirun -n $n" on_cpu ladder $box --ladder
done
same_inputs "$program" --device cpu --elements 14x12x10 --faces free
# Boxes of one's own choice; thinner than the predictor's reach, down to one node; a halo that is deeper than the boxes.
launch="$mpirun -n 4" each on_cpu <<END
--elements 8x7x9 --steps 2 --ranks 1x1x4 --rung solve-simd --precond bj --faces free --tolerance 1e-12
--elements 3x5x4 --ranks 4x1x1 --faces free --ladder --only operator
--elements 9x8x7 --steps 1 --ranks {1x4x1,1x2x2 --reach 6} --rung solve-simd --precond gf8
END
launch="$mpirun -n 3" on_cpu voxels --model "$samples/ball.voxels" --precond bj --rung solve-simd

for n in 1 4; do # of a node on a face: the same errors
    launch="$mpirun -n $n" on_cpu green$n --elements 8x7x9 --green 0x6x4 --precond gf8
    grep -e '^[0-6] ' -e '^all' green$n.out | sed 's/..$//' >green$n.list
done
cmp green1.list green4.list && [ $(wc -l <green4.list) = 6 ] || fail "--green depends on the ranks: $(cat green?.list)"

refused 2 "4 ranks along x cannot share 3 nodes" $mpirun -n 4 "$program" $box --elements 3x9x9 --ranks 4x1x1
refused 2 "3 ranks cannot share a box of 2x2x2 nodes" $mpirun -n 3 "$program" --elements 1x1x1 --faces free
rows $mpirun -n 2 "$program" $box --device cpu <<END
2|--ranks 3x1x1 is 3 boxes|--ranks 3x1x1
2|missing.gfnn|--weights missing.gfnn
2|missing.voxels|--model missing.voxels
END
for only in operator predictor solve; do # all at once would be with a network, and take six times as long
    cut_off --only $only --elements 8x8x8 --steps 1
done

exit $failed
