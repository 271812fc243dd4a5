# gpu_forms.sh - on a GPU, every form and reach of the predictor, and every preconditioner in both types of vectors.
. "${abs_top_srcdir:-.}/tests/gfnn-wave/lib.sh" || exit 1
find_gpu_rungs long

gpu_rungs=$(gpu_rungs_of predictor) at_once=3 each ladder <<<"--elements 37x18x23 --only predictor --precond {gf8,gfm4,gfm8}"
for reach in 4 5 6; do
    for form in gf8 gfm2 gfm4 gfm8; do
        resized "$samples/$form-dt20us.gfnn" $reach $form-$reach.gfnn
        echo "--reach $reach --weights $form-$reach.gfnn --precond $form --elements 37x18x9 --only predictor"
    done
done >reach.list
gpu_rungs="direct unrolled tiled" at_once=4 each ladder <reach.list
single reach-solve solve-cuda --elements 21x18x23 --steps 2 --reach 6 --precision fp32
refused 2 "exceed shared memory; use --precision fp32" "$program" --elements 21x18x23 --reach 6 --precision fp16 \
    --rung solve-cuda
at_once=4 each single <<END
$(any_of $(gpu_rungs_of solve)) --elements 21x18x23 --steps 2 --precond {bj,cheb3,gf8,gfm4,gfm8,gfm --precision fp32} --vectors {fp64,fp32}
END

exit $failed
