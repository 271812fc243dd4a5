# gpu.sh - tests every rung that runs on a GPU: meshes of all shapes, refusals; with RT_SANITIZE=1 also under
# compute-sanitizer. gpu_degrees.sh tests the degrees and the parameters, gpu_ranks.sh two ranks.
. "${abs_top_srcdir:-.}/tests/nekbone/lib.sh" || exit 1
find_gpu_rungs

if sanitizing; then # with an instantiated n, and with the kernel for any n
    kokkos_cases="kokkos-9 kokkos-14 kokkos-fused-9"
    [ "$gpu_rungs" != "${gpu_rungs/kokkos/}" ] || kokkos_cases=
    for case in $kokkos_cases batched-9 batched-17 global-9 global-17 shared-9 layered-9 layered-17 packed-4 packed-9 fused-4 fused-9 \
        trilinear-9 onepass-4 onepass-9 onepass-12 mixed-4 mixed-9 resident-9 resident-12; do
        sanitized $case --device 0 --rung ${case%-*} --degree ${case##*-} --elements 2x2x2 --iterations 2
    done
    sanitized solve --device 0 --rung solve-cuda --degree 5 --elements 2x2x3 --max-iterations 30
    sanitized mixed --device 0 --rung solve-mixed --degree 6 --elements 2x2x3 --max-iterations 30
    [ $RT_SANITIZE != only ] || exit $failed
fi

# x updated in both ways, late and at once; more iterations than a graph holds; boxes of all shapes.
gpu_rungs= at_once=4 each ladder <<END
--elements 4x3x2 --degree 5 --lambda 0 --iterations 500
--elements 4x4x4 --degree 9 --no-communication
--elements 2x2x2 --degree 2 --iterations 1100
--elements 4x4x4 --degree 5 --iterations 1
--elements 3x3x2 --degree 4 --lambda 1000000 --iterations 15
--elements {1x1x1,7x1x1,1x5x2,5x3x4} --degree 5 --iterations 15
END
# The ladder solve: patches of all kinds of sizes, one to four levels, one to three steps of degree 1 in a kernel; no vertex is inside a box of 7x1x4.
at_once=4 each single <<END
{onepass,mixed} --choose elements={1,2,3,5} --elements 5x4x3 --degree 4 --iterations 20
mixed --elements 8x8x8 --lambda 0 --stretch 8
resident --choose groups={1,3} --elements 4x3x3 --degree 9 --deform 0.2 --iterations 50
{solve-cuda,solve-mixed} --precond schwarz --elements 4x3x5 --lambda 0 --degree {1,2,15,9 --ripple 0.3,7 --stretch 4}
solve-mixed --precond schwarz --elements 4x3x5 --degree 5 --tolerance {1e-3,1e-11}
solve-cuda --elements {20x20x20,34x34x34} --degree 1
solve-cuda --precond none --elements 4x3x5 --lambda 0 --degree 5
solve-cuda --elements 7x1x4 --degree 2
END
gpu_rungs=$(gpu_rungs_of iteration | sed s/resident//) ladder timed --elements 8x8x8 --degree 9 --seconds 0.02 # resident: if 512 elements fit on the GPU
tail -n 12 timed.out
valid default "$program" --elements 4x4x4 --degree 7 --seconds 0.02 --profile --no-tuning
grep -q '^resident (cuda)' default.out || fail "the default on a GPU, small mesh, is not resident"
grep -q '^default  *resident for 32768 points per rank: ' default.out || fail "no reason for the default resident is printed"
for size in "12x8x8 --degree 9" "16x16x16 --degree 3"; do # many points; more elements than fit on the chip
    valid default_large "$program" --elements $size --seconds 0.02 --no-tuning
    grep -q '^onepass (cuda)' default_large.out || fail "the default on a GPU for $size is not onepass"
done

# Device memory is within 5 % of the prediction, and below 64 MiB.
for rung in layered onepass mixed; do
    single memory $rung --device 0 --size tiny
    grep '^memory .*(predicted' memory.out | tr -d '()' | awk '
        { for (i = 1; i < NF; i++) if ($i == "device") { used = $(i + 1); unit = $(i + 2); want = $(i + 4) } }
        END { exit !(unit == "MiB" && used <= 64 && used > 32 && used >= 0.95 * want && used <= 1.05 * want) }' ||
        fail "$rung --size tiny on the device: $(grep '^memory' memory.out)"
done
# With --device cpu the GPU is not used.
valid cpu "$program" --device cpu --elements 2x2x2 --degree 3 --seconds 0
grep -q '^rank 0: .*no GPU (--device cpu was given)' cpu.out || fail "--device cpu: a GPU is in use"

refused 3 "--device 77: " "$program" --device 77
refused 2 "has at most 1024, so n <= 10" "$program" --rung shared --degree 10 --elements 2x2x2
refused 2 "do not fit: n <= 16" "$program" --rung onepass --degree 16 --elements 2x2x2
refused 2 "fit on this GPU, and these are 4096" "$program" --rung resident --elements 16x16x16
refused 2 "bend the edges" "$program" --rung trilinear --elements 2x2x2 --deform 0.2
gpu_rungs= ladder leaves_out --degree 10 --elements 2x2x2
grep -q '^not run *shared: .*n <= 10' leaves_out.out || fail "a ladder does not say why shared is out"
refused 4 "device " "$program" --device 0 --rung layered --elements 125x125x125

exit $failed
