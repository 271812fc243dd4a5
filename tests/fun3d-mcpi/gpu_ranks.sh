# gpu_ranks.sh - the rungs that run on a GPU on two ranks: on one GPU, and on two by every transport.
. "${abs_top_srcdir:-.}/tests/fun3d-mcpi/lib.sh" || exit 1
find_gpu_rungs long
why=$(have_mpi) || skip "not on two ranks: $why"

# On two ranks a colour is two sub-ranges, boundary rows first, and columns may be ghosts.
sweeps=$(any_of $(gpu_rungs_of sweeps)) flows=$(any_of $(gpu_rungs_of flow))
launch="$mpirun -n 2"
each single <<END
$sweeps --device 0 --share-device --surface 10 --layers 10 {,--offdiagonal fp16 --block-size 6,--block-size 15}
$flows --device 0 --share-device --surface 10 --layers 10 --flow-reynolds 500
END
# Two GPUs: an exchange after each colour in a graph of at most 16 sweeps (of 35 two are left over). With peer the sweeps
# exchange dQ in their kernel, and the rest of a flow's step by halos.
find_transports
[ -z "$transports" ] || each single <<END
{six-rows,staged} --transport $(any_of $transports) --surface 10 --layers 10 --sweeps 35
{staged --offdiagonal fp16 --block-size 6,$(tr -d '{}' <<<"$flows")} --transport $(any_of $transports) --surface 10 --layers 10
END
# One kernel on both GPUs: dQ has the same bits as on one. Few rows, so that most blocks wait for the other GPU, and many.
case $transports in *peer*) sizes="4x6 10x10 40x30" ;; *) sizes= ;; esac
for size in $sizes; do
    for form in "fp32 fp32 5" "fp64 fp64 7" "bf16 fp32 6" "fp32 fp32 15"; do
        set -- ${size%x*} ${size#*x} $form
        run="--rung staged --surface $1 --layers $2 --offdiagonal $3 --dq $4 --block-size $5 --seconds 0"
        valid bits-1 "$program" $run --json bits-1.json
        valid bits-2 $mpirun -n 2 "$program" $run --transport peer --json bits-2.json
        for k in 1 2; do
            sed -n 's/.*"dq_left": "\(.*\)".*/\1/p' bits-$k.json >bits-$k
        done
        [ -s bits-1 ] && cmp -s bits-1 bits-2 || fail "$size $form: dQ is '$(cat bits-1)' on one GPU, '$(cat bits-2)' on two"
        grep -q '"transport": "peer"' bits-2.json || fail "$size: not by peer: $(grep transport bits-2.json)"
    done
done

exit $failed
