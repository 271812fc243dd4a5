# gpu_flow.sh - the nonlinear step on a GPU.
. "${abs_top_srcdir:-.}/tests/fun3d-mcpi/lib.sh" || exit 1
find_gpu_rungs

if sanitizing; then
    sanitized flow-cuda "$mcpi" --device 0 --rung flow-cuda --surface 4 --layers 5 --steps 1 --sweeps 2 --seconds 0
    [ $RT_SANITIZE != only ] || exit $failed
fi

# The nonlinear step: A in every type, and a converged flow.
for rung in $gpu_flows; do
    for o in fp64 fp32 fp16 bf16; do
        valid $rung-$o "$mcpi" --rung $rung --surface 6 --layers 8 --offdiagonal $o --flow-reynolds 500 \
            --steps 3 --seconds 0
    done
    valid $rung-double "$mcpi" --rung $rung --surface 12 --layers 16 --offdiagonal fp64 --dq fp64 --accumulate fp64 --seconds 0
    valid $rung-converged "$mcpi" --rung $rung --surface 8 --layers 12 --steps 300 --tolerance 1e-6 --courant 1000 --seconds 0
    grep -q ', [1-9][0-9]* of them taken back' $rung-converged.out || fail "$rung takes no step back: $(grep '^solve' $rung-converged.out)"
done

exit $failed
