# gpu.sh - every rung that runs on a GPU: block sizes, precisions, threads per block, sweeps, sizes down to a few rows, the
# nonlinear step; with RT_SANITIZE=1 also compute-sanitizer. gpu_ranks.sh tests two ranks.
. "${abs_top_srcdir:-.}/tests/fun3d-mcpi/lib.sh" || exit 1
find_gpu_rungs

if sanitizing; then # a block of 7 needs two passes of a warp, one of 5 leaves lanes idle
    for rung in $(gpu_rungs_of sweeps); do
        for form in "5 fp32" "7 fp16"; do
            sanitized "$rung-${form% *}" --device 0 --rung $rung --surface 4 --layers 5 --block-size ${form% *} \
                --offdiagonal ${form#* } --sweeps 2
        done
    done
    sanitized staged-15 --device 0 --rung staged --surface 4 --layers 5 --block-size 15 --sweeps 2
    sanitized lanes --device 0 --rung warp-shared --choose lanes=8 --surface 4 --layers 5 --sweeps 2
    sanitized flow-cuda --device 0 --rung flow-cuda --surface 4 --layers 5 --steps 1 --sweeps 2
    find_transports
    case $transports in
    *peer*) launch="$mpirun -n 2" sanitized two-gpus --rung staged --transport peer --surface 4 --layers 5 --sweeps 2 ;;
    esac
    [ $RT_SANITIZE != only ] || exit $failed
fi

# All compiled kernels: block sizes, 4 types of O, 2 of dQ, 2 of the sums. Sizes from colours with one row to more rows than a
# GPU holds at once. A graph holds at most 64 sweeps: one, all, one more, and three graphs with sweeps left over.
gpu_rungs=$(gpu_rungs_of sweeps) # a flow has blocks of 5
at_once=4 each ladder <<END
--surface 5 --layers 6 --block-size {4..15} --offdiagonal {fp64,fp32,fp16,bf16}
--surface 5 --layers 6 --block-size {4,5,6,7,8,10,15} --dq fp64 --accumulate {fp64,fp32}
--surface 5 --layers 6 --block-size {4,5,6,7,8,10,15} --accumulate fp64
--surface 5 --layers 6 --offdiagonal {fp64,bf16} --dq fp64 --accumulate fp64
--surface 2 --layers {2,3}
--surface 4 --layers 6
--surface 13 --layers 11
--surface 5 --layers 6 --sweeps {1,2,64,65,131}
--surface 8 --layers 8 --cfl {1,100}
END
# Threads per block, lanes per row, and the nonlinear step: A in every type.
at_once=4 each single <<END
{naive,warp-shared,warp-shuffle,six-rows} --choose threads={64,256} --surface 7 --layers 6
{naive,warp-shared,six-rows} --choose threads=512 --surface 7 --layers 6 --block-size {7,15} --accumulate fp64
{warp-shared,warp-shuffle} --surface 7 --layers 6 --choose {lanes={8,16} --block-size {4,5,8},lanes=16 --block-size {9,15} --offdiagonal {fp16,fp64}}
$(for rung in $(gpu_rungs_of flow); do
    echo "$rung --surface 6 --layers 8 --offdiagonal {fp64,fp32,fp16,bf16} --flow-reynolds 500 --steps 3"
    echo "$rung --surface 12 --layers 16 --offdiagonal fp64 --dq fp64 --accumulate fp64"
done)
END
for rung in $(gpu_rungs_of flow); do
    single converged $rung --surface 8 --layers 12 --steps 300 --tolerance 1e-6 --courant 1000
    grep -q ', [1-9][0-9]* of them taken back' converged.out || fail "$rung takes no step back: $(grep '^solve' converged.out)"
done
ladder timed --surface 40 --layers 30 --seconds 0.02
tail -n 40 timed.out
valid default "$program" --seconds 0.02

exit $failed
