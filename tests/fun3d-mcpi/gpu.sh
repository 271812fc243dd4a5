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
for rung in naive warp-shared warp-shuffle six-rows; do
    for threads in 64 256; do
        valid $rung-$threads "$mcpi" --rung $rung --choose threads=$threads --surface 7 --layers 6 --seconds 0
    done
done
for rung in naive warp-shared six-rows; do
    valid $rung-512 "$mcpi" --rung $rung --choose threads=512 --surface 7 --layers 6 --block-size 7 \
        --accumulate fp64 --seconds 0
done
# From colours with one row to more rows than a GPU holds at once.
for size in "2 2" "2 3" "4 6" "13 11" "40 30"; do
    set -- $size
    ladder size-$1x$2 --surface $1 --layers $2
done
# A graph holds at most 64 sweeps: one, all, one more, and three graphs with sweeps left over.
for sweeps in 1 2 64 65 131; do
    ladder sweeps-$sweeps --surface 5 --layers 6 --sweeps $sweeps
done
for cfl in 1 100; do
    ladder cfl-$cfl --surface 8 --layers 8 --cfl $cfl
done
valid ladder "$mcpi" --surface 40 --layers 30 --ladder --seconds 0.1 && ran ladder $gpu_rungs
tail -n 40 ladder.out
valid default "$mcpi" --seconds 0.02

exit $failed
