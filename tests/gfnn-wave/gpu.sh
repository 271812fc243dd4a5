# gpu.sh - every rung that runs on a GPU: faces, odd sizes, the same iterations as on a CPU; with RT_SANITIZE=1 also
# compute-sanitizer. gpu_forms.sh tests the other forms and preconditioners, gpu_ranks.sh two ranks.
. "${abs_top_srcdir:-.}/tests/gfnn-wave/lib.sh" || exit 1
find_gpu_rungs

if sanitizing; then # a box that no tile fits
    for rung in $all; do
        sanitized $rung "$gfnn" --device 0 --rung $rung --elements 21x13x9 --steps 1 --seconds 0
    done
    sanitized vectors "$gfnn" --device 0 --rung solve-cuda --vectors fp64 --elements 21x13x9 --steps 1 --seconds 0
    why=$(have_mpi) && find_transports || transports=
    case $transports in
    *peer*) launch="$mpirun -n 2" sanitized two-gpus "$gfnn" --rung solve-cuda --transport peer --elements 21x13x9 \
        --steps 1 --seconds 0 ;;
    esac
    [ $RT_SANITIZE != only ] || exit $failed
fi

size()
{
    ladder size-$1 "$all" --elements $1 --steps 2
}

# The host's reference of the large ones takes its time, so without the network in a solve, which is 13 predictors a step.
large()
{
    ladder operator-$1 "$operators" --elements $1 --steps 2 --only operator
    ladder predictor-$1 "$predictors" --elements $1 --steps 2 --only predictor
    ladder solve-$1 "$solves" --elements $1 --steps 1 --only solve --precond bj
}

faces()
{
    ladder faces-$1 "$all" --elements 37x18x23 --faces $1
    # two replacements of the residual
    valid solve-$1 "$gfnn" --faces $1 --precond bj --elements 37x18x23 --rung solve-cuda --seconds 0 --tolerance 1e-12
}

# From less than a tile to more than fill a GPU at once, and no multiple of anything.
beside size 3x3x3 4x5x7 33x17x9 64x8x32
beside large 65x67x63 130x40x50
faces free
valid voxels "$gfnn" --seconds 0 --model "$samples/ball.voxels" --precond bj --rung solve-cuda
valid ladder "$gfnn" --elements 32x32x32 --ladder --only operator --seconds 0.1
tail -n 60 ladder.out
valid default "$gfnn" --seconds 0.02

# The same iterations on a CPU and a GPU, in FP64 and FP32.
for precond in gfm cheb; do
    run="--precond $precond --elements 24x24x24 --seconds 0"
    valid cpu "$gfnn" --device cpu $run --rung solve-simd --json cpu.json
    for rung in $solves; do
        for vectors in fp64 fp32; do
            valid gpu "$gfnn" $run --rung $rung --vectors $vectors --json gpu.json
            [ -n "$(iterations cpu.json)" ] && [ "$(iterations cpu.json)" = "$(iterations gpu.json)" ] ||
                fail "$precond: iterations on a CPU '$(iterations cpu.json)', of $rung in $vectors '$(iterations gpu.json)'"
        done
    done
done

exit $failed
