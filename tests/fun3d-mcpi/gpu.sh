# gpu.sh - every rung that runs on a GPU: threads per block, sweeps, sizes down to a few rows; with RT_SANITIZE=1 also
# compute-sanitizer. gpu_types.sh tests precisions and block sizes, gpu_flow.sh the nonlinear step, gpu_ranks.sh two ranks.
. "${abs_top_srcdir:-.}/tests/fun3d-mcpi/lib.sh" || exit 1
find_gpu_rungs

if sanitizing; then # a block of 7 needs two passes of a warp, one of 5 leaves lanes idle
    for rung in $gpu_rungs; do
        for form in "5 fp32" "7 fp16"; do
            set -- $form
            sanitized $rung-$1 "$mcpi" --device 0 --rung $rung --surface 4 --layers 5 --block-size $1 \
                --offdiagonal $2 --sweeps 2 --seconds 0
        done
    done
    find_transports
    case $transports in
    *peer*) launch="$mpirun -n 2" sanitized two-gpus "$mcpi" --rung staged --transport peer --surface 4 --layers 5 \
        --sweeps 2 --seconds 0 ;;
    esac
    [ $RT_SANITIZE != only ] || exit $failed
fi

# Threads per block.
threads()
{
    for threads in 64 256; do
        valid $1-$threads "$mcpi" --rung $1 --choose threads=$threads --surface 7 --layers 6 --seconds 0
    done
    [ $1 = warp-shuffle ] || valid $1-512 "$mcpi" --rung $1 --choose threads=512 --surface 7 --layers 6 --block-size 7 \
        --accumulate fp64 --seconds 0
}

size()
{
    ladder size-$1 --surface ${1%x*} --layers ${1#*x}
}

sweeps()
{
    ladder sweeps-$1 --surface 5 --layers 6 --sweeps $1
}

cfl()
{
    ladder cfl-$1 --surface 8 --layers 8 --cfl $1
}

beside threads naive warp-shared warp-shuffle six-rows
# From colours with one row to more rows than a GPU holds at once.
beside size 2x2 2x3 4x6 13x11 40x30
# A graph holds at most 64 sweeps: one, all, one more, and three graphs with sweeps left over.
beside sweeps 1 2 64 65 131
beside cfl 1 100
valid ladder "$mcpi" --surface 40 --layers 30 --ladder --seconds 0.1 && ran ladder $gpu_rungs
tail -n 40 ladder.out
valid default "$mcpi" --seconds 0.02

exit $failed
