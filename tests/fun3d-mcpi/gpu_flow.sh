# gpu_flow.sh - the nonlinear step on a GPU.
. "${abs_top_srcdir:-.}/tests/fun3d-mcpi/lib.sh" || exit 1
find_gpu_rungs

if sanitizing; then
    sanitized flow-cuda "$mcpi" --device 0 --rung flow-cuda --surface 4 --layers 5 --steps 1 --sweeps 2 --seconds 0
    [ $RT_SANITIZE != only ] || exit $failed
fi

# The nonlinear step: A in every type, and a converged flow.
flow()
{
    for o in fp64 fp32 fp16 bf16; do
        valid $1-$o "$mcpi" --rung $1 --surface 6 --layers 8 --offdiagonal $o --flow-reynolds 500 --steps 3 --seconds 0
    done
    valid $1-double "$mcpi" --rung $1 --surface 12 --layers 16 --offdiagonal fp64 --dq fp64 --accumulate fp64 --seconds 0
    valid $1-converged "$mcpi" --rung $1 --surface 8 --layers 12 --steps 300 --tolerance 1e-6 --courant 1000 --seconds 0
    grep -q ', [1-9][0-9]* of them taken back' $1-converged.out || fail "$1 takes no step back: $(grep '^solve' $1-converged.out)"
}

beside flow $gpu_flows
exit $failed
