# gpu.sh - every rung that runs on a GPU, at every degree that has a kernel of its own and two that
# have not; two ranks on one GPU; what is refused; with RT_SANITIZE=1 also compute-sanitizer.
. "${abs_top_srcdir:-.}/tests/nekbone/lib.sh" || exit 1
"$nekbone" --list >list.out
reason=$(grep -A 1 '^layered ' list.out | sed -n 's/^ *absent: //p')
[ -z "$reason" ] || skip "$reason"

gpu_rungs="global shared layered"
grep -A 1 '^kokkos ' list.out | grep -q 'absent:' || gpu_rungs="$gpu_rungs kokkos"

grep -A 1 '^kokkos ' list.out | grep -q 'back-end here: .*Cuda' ||
    echo "Kokkos does not use the GPU here: $(grep -A 1 '^kokkos ' list.out | tail -n 1)"

if sanitizing; then # by an instantiated n, and by the kernel for any n
    for case in global-9 global-17 shared-9 layered-9 layered-17; do
        sanitized $case "$nekbone" --device 0 --rung ${case%-*} --degree ${case#*-} --elements 2x2x2 \
            --iterations 2 --seconds 0
    done
    [ $RT_SANITIZE != only ] || exit $failed
fi

for degree in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 20 23; do
    for deform in 0 0.2; do
        rungs=$gpu_rungs
        [ $degree -le 9 ] || rungs=${rungs/shared/} # a thread a point: at most 10^3 of them
        name=d$degree-$deform
        valid $name "$nekbone" --ladder --elements 3x2x2 --degree $degree --deform $deform \
            --iterations 20 --seconds 0
        ran $name $rungs
    done
done
valid long "$nekbone" --ladder --elements 4x3x2 --degree 5 --lambda 0 --iterations 500 --seconds 0
valid off "$nekbone" --ladder --elements 4x4x4 --degree 9 --no-communication --seconds 0
valid ladder "$nekbone" --ladder --elements 8x8x8 --degree 9 --seconds 0.1 --json ladder.json
ran ladder $gpu_rungs
tail -n 12 ladder.out
valid tiny "$nekbone" --ladder --size tiny --seconds 0.02
valid default "$nekbone" --elements 4x4x4 --degree 7 --seconds 0.02 --profile
grep -q '^layered (cuda)' default.out || fail "the default on a GPU is not layered"

# Memory of the device: as predicted within 5 %, and below 64 MiB.
valid memory "$nekbone" --device 0 --rung layered --size tiny --seconds 0
grep '^memory .*(predicted' memory.out | tr -d '()' | awk '
    { for (i = 1; i < NF; i++) if ($i == "device") { used = $(i + 1); unit = $(i + 2); want = $(i + 4) } }
    END { exit !(unit == "MiB" && used <= 64 && used > 32 && used >= 0.95 * want && used <= 1.05 * want) }' ||
    fail "--size tiny on the device: $(grep '^memory' memory.out)"
# A GPU that is not wanted is not used.
valid cpu "$nekbone" --device cpu --elements 2x2x2 --degree 3 --seconds 0
grep -q '^rank 0: .*no GPU (--device cpu was given)' cpu.out || fail "--device cpu: a GPU is in use"

# Two ranks, one GPU: the same history as one rank.
if why=$(have_mpi); then
    problem="--elements 4x4x4 --degree 7 --deform 0.2 --iterations 40 --seconds 0"
    for rung in $gpu_rungs; do
        valid one-$rung "$nekbone" $problem --rung $rung --json one.json
        for transport in staged auto; do
            name=two-$rung-$transport
            valid $name $mpirun -n 2 "$nekbone" $problem --rung $rung --device 0 --share-device \
                --transport $transport --json two.json &&
                same_history one.json two.json $((64 * 512)) 8
        done
    done
    refused 3 "share-device" $mpirun -n 2 "$nekbone" --device 0 --elements 4x4x4
else
    echo "not on two ranks: $why"
fi

refused 3 "--device 77: " "$nekbone" --device 77
refused 2 "has at most 1024, so n <= 10" "$nekbone" --rung shared --degree 10 --elements 2x2x2
valid leaves_out "$nekbone" --ladder --degree 10 --elements 2x2x2 --seconds 0
grep -q '^not run *shared: .*n <= 10' leaves_out.out || fail "a ladder does not say why shared is out"
refused 4 "device " "$nekbone" --device 0 --rung layered --elements 125x125x125

exit $failed
