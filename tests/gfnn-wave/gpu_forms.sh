# gpu_forms.sh - on a GPU, every form and reach of the predictor, and every preconditioner in both types of vectors.
. "${abs_top_srcdir:-.}/tests/gfnn-wave/lib.sh" || exit 1
find_gpu_rungs

form()
{
    ladder "form-$*" "$predictors" --elements 37x18x23 --only predictor --precond $*
}

reach()
{
    for form in gf8 gfm2 gfm4 gfm8; do
        resized "$samples/$form-dt20us.gfnn" $1 k-$1.gfnn
        ladder "reach-$1-$form" "direct unrolled tiled" --elements 37x18x23 --only predictor --precond $form --reach $1 \
            --weights k-$1.gfnn
    done
}

precond()
{
    for vectors in fp64 fp32; do
        ladder "precond-$*-$vectors" "$solves" --elements 21x18x23 --steps 2 --only solve --precond $* --vectors $vectors
    done
}

beside form gf8 gfm4 gfm8
beside reach 4 5 6
valid reach-solve "$gfnn" --elements 21x18x23 --steps 2 --reach 6 --precision fp32 --rung solve-cuda --seconds 0
refused 2 "exceed shared memory; use --precision fp32" "$gfnn" --elements 21x18x23 --reach 6 --precision fp16 \
    --rung solve-cuda
beside precond bj cheb3 gf8 gfm4 gfm8 "gfm --precision fp32"

exit $failed
