# gpu.sh - every rung that runs on a GPU: precisions, block sizes, orders, sweeps, sizes down to a few rows; two ranks on one
# GPU; with RT_SANITIZE=1 also compute-sanitizer.
. "${abs_top_srcdir:-.}/tests/fun3d-mcpi/lib.sh" || exit 1
"$mcpi" --list >list.out
reason=$(grep -A 3 '^naive ' list.out | sed -n 's/^ *absent: //p')
[ -z "$reason" ] || skip "$reason"

cuda_rungs="naive warp-shared warp-shuffle six-rows streamed staged"
gpu_rungs=$cuda_rungs
grep -A 2 '^kokkos ' list.out | grep -q 'absent:' || gpu_rungs="$gpu_rungs kokkos"

# ladder NAME OPTION...: runs all rungs; none may be left out.
ladder()
{
    name=$1
    shift
    valid "$name" "$mcpi" "$@" --ladder --seconds 0 && ran "$name" $gpu_rungs
}

if sanitizing; then # a block of 7 needs two passes of a warp, one of 5 leaves lanes idle
    for rung in $cuda_rungs; do
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

# All compiled kernels: 4 types of O, 2 of dQ, 2 of the sums, 4 block sizes.
for nb in 4 5 6 7; do
    for o in fp64 fp32 fp16 bf16; do
        ladder types-$nb-$o --surface 5 --layers 6 --block-size $nb --offdiagonal $o
    done
    for dq in fp64 fp32; do
        for sum in fp64 fp32; do
            ladder sums-$nb-$dq-$sum --surface 5 --layers 6 --block-size $nb --dq $dq \
                --accumulate $sum
        done
    done
done
ladder all-fp64 --surface 5 --layers 6 --offdiagonal fp64 --dq fp64 --accumulate fp64
ladder mixed --surface 5 --layers 6 --offdiagonal bf16 --dq fp64 --accumulate fp64

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
for order in natural rcm hilbert random; do
    ladder $order --surface 12 --layers 12 --order $order
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

# The nonlinear step: A in every type, and a converged flow.
# flow-cuda is refused: it joins this list when it is verified on a GPU.
gpu_flows=$(grep -A 3 '^flow-kokkos ' list.out | grep -q 'absent:' || echo flow-kokkos)
for rung in $gpu_flows; do
    for o in fp64 fp32 fp16 bf16; do
        valid $rung-$o "$mcpi" --rung $rung --surface 6 --layers 8 --offdiagonal $o --fluid laminar --limiter van-albada \
            --freeze 2 --steps 3 --seconds 0
    done
    valid $rung-double "$mcpi" --rung $rung --surface 12 --layers 16 --offdiagonal fp64 --dq fp64 --accumulate fp64 --seconds 0
    valid $rung-converged "$mcpi" --rung $rung --surface 8 --layers 12 --steps 300 --tolerance 1e-6 --seconds 0
done
# On two ranks a colour is two sub-ranges, boundary rows first, and columns may be ghosts.
if why=$(have_mpi); then
    two="$mpirun -n 2 $mcpi --device 0 --share-device --surface 10 --layers 10 --seconds 0"
    for rung in $gpu_rungs; do
        valid two-$rung $two --rung $rung
        valid two-fp16-$rung $two --rung $rung --offdiagonal fp16 --block-size 6
    done
    for rung in $gpu_flows; do
        valid two-$rung $two --rung $rung --fluid laminar
    done
    valid two-sweep $two --rung six-rows --exchange sweep
    valid two-local $two --rung six-rows --colouring local --exchange sweep
    # Two GPUs: an exchange after each colour in a graph of at most 16 sweeps (of 35 two are left over), and after each sweep.
    find_transports
    for transport in $transports; do
        two="$mpirun -n 2 $mcpi --transport $transport --surface 10 --layers 10 --seconds 0"
        for rung in six-rows staged; do
            valid gpus-$transport-$rung $two --rung $rung --sweeps 35
        done
        valid gpus-$transport-fp16 $two --rung staged --offdiagonal fp16 --block-size 6
        valid gpus-$transport-sweep $two --rung staged --exchange sweep
    done
    # One kernel on both GPUs: dQ has the same bits as on one. Few rows, so that most blocks wait for the other GPU, and many.
    case $transports in *peer*) sizes="4x6 10x10 40x30" ;; *) sizes= ;; esac
    for size in $sizes; do
        for form in "fp32 fp32 5" "fp64 fp64 7" "bf16 fp32 6"; do
            set -- ${size%x*} ${size#*x} $form
            run="--rung staged --surface $1 --layers $2 --offdiagonal $3 --dq $4 --block-size $5 --seconds 0"
            valid bits-1 "$mcpi" $run --json bits-1.json
            valid bits-2 $mpirun -n 2 "$mcpi" $run --transport peer --json bits-2.json
            for k in 1 2; do
                sed -n 's/.*"dq_left": "\(.*\)".*/\1/p' bits-$k.json >bits-$k
            done
            [ -s bits-1 ] && cmp -s bits-1 bits-2 || fail "$size $form: dQ is '$(cat bits-1)' on one GPU, '$(cat bits-2)' on two"
            grep -q '"transport": "peer"' bits-2.json || fail "$size: not by peer: $(grep transport bits-2.json)"
        done
    done
else
    echo "not on two ranks: $why"
fi

exit $failed
