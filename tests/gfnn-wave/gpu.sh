# gpu.sh - every rung that runs on a GPU: faces, odd sizes, the same iterations as on a CPU; with RT_SANITIZE=1 also
# compute-sanitizer. gpu_forms.sh tests the other forms and preconditioners, gpu_ranks.sh two ranks.
. "${abs_top_srcdir:-.}/tests/gfnn-wave/lib.sh" || exit 1
find_gpu_rungs

if sanitizing; then # a box that no tile fits
    for rung in $gpu_rungs "solve-cuda --vectors fp64"; do
        sanitized "${rung// /}" --device 0 --rung $rung --elements 21x13x9 --steps 1
    done
    why=$(have_mpi) && find_transports || transports=
    case $transports in
    *peer*) launch="$mpirun -n 2" sanitized two-gpus --rung solve-cuda --transport peer --elements 21x13x9 --steps 1 ;;
    esac
    [ $RT_SANITIZE != only ] || exit $failed
fi

# From less than a tile to more than fill a GPU at once, and no multiple of anything.
at_once=4 each ladder <<END
--elements {3x3x3,4x5x7,33x17x9,64x8x32} --steps 2
--elements 37x18x23 --faces free
END
# The host's reference of the large ones takes its time, so without the network in a solve, which is 13 predictors a step.
large={65x67x63,130x40x50}
gpu_rungs="$(gpu_rungs_of operator) $(gpu_rungs_of solve)" at_once=2 each ladder <<<"--elements $large --steps 1 --precond bj"
gpu_rungs=$(gpu_rungs_of predictor) at_once=2 each ladder <<<"--elements $large --only predictor"
# two replacements of the residual
single replaced solve-cuda --faces free --precond bj --elements 37x18x23 --tolerance 1e-12
single voxels solve-cuda --model "$samples/ball.voxels" --precond bj
ladder timed --elements 32x32x32 --seconds 0.02
tail -n 60 timed.out
valid default "$program" --seconds 0.02

# The same iterations on a CPU and a GPU, in FP64 and FP32.
for precond in gfm cheb; do
    run="--precond $precond --elements 24x24x24 --seconds 0"
    valid cpu "$program" --device cpu $run --rung solve-simd --json cpu.json
    for rung in $(gpu_rungs_of solve); do
        for vectors in fp64 fp32; do
            valid gpu "$program" $run --rung $rung --vectors $vectors --json gpu.json
            [ -n "$(iterations cpu.json)" ] && [ "$(iterations cpu.json)" = "$(iterations gpu.json)" ] ||
                fail "$precond: iterations on a CPU '$(iterations cpu.json)', of $rung in $vectors '$(iterations gpu.json)'"
        done
    done
done

exit $failed
