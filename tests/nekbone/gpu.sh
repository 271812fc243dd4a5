# gpu.sh - tests every rung that runs on a GPU: meshes of all shapes, refusals; with RT_SANITIZE=1 also under
# compute-sanitizer. gpu_degrees.sh tests the degrees and the parameters, gpu_ranks.sh two ranks.
. "${abs_top_srcdir:-.}/tests/nekbone/lib.sh" || exit 1
find_gpu_rungs

grep -A 3 '^kokkos ' list.out | grep -q 'back-end here: .*Cuda' ||
    echo "Kokkos does not use the GPU here: $(grep -A 1 '^kokkos ' list.out | tail -n 1)"

if sanitizing; then # with an instantiated n, and with the kernel for any n
    kokkos_cases="kokkos-9 kokkos-14 kokkos-fused-9"
    [ "$gpu_rungs" != "${gpu_rungs/kokkos/}" ] || kokkos_cases=
    for case in $kokkos_cases batched-9 batched-17 global-9 global-17 shared-9 layered-9 layered-17 packed-4 packed-9 fused-4 fused-9 \
        trilinear-9 onepass-4 onepass-9 onepass-12 resident-9 resident-12; do
        sanitized $case "$nekbone" --device 0 --rung ${case%-*} --degree ${case##*-} --elements 2x2x2 \
            --iterations 2 --seconds 0
    done
    sanitized solve "$nekbone" --device 0 --rung solve-cuda --degree 5 --elements 2x2x3 --max-iterations 30 --seconds 0
    [ $RT_SANITIZE != only ] || exit $failed
fi

# Wrong programs around GPU rungs are detected; they run beside what follows.
"${PYTHON:-python3}" "${abs_top_srcdir:-.}/tests/mutants/mutants.py" --jobs 4 "on the GPU" "cuda/" >mutants.out 2>&1 &
mutants=$!

# small NAME OPTION...: all rungs that can run
small()
{
    name=$1
    shift
    valid $name "$nekbone" --ladder --seconds 0 "$@"
}

box()
{
    small box-$1 --elements $1 --degree 5 --iterations 15
}

onepass()
{
    valid onepass-$1 "$nekbone" --rung onepass --choose elements=$1 --elements 5x4x3 --degree 4 --iterations 20 --seconds 0
}

# The ladder solve: patches of all kinds of sizes, one to four levels.
solve()
{
    valid "solve-$*" "$nekbone" --device 0 --rung solve-cuda --precond $* --elements 4x3x5 --lambda 0 --seconds 0
}

small long --elements 4x3x2 --degree 5 --lambda 0 --iterations 500
small off --elements 4x4x4 --degree 9 --no-communication
# x updated in both ways, late and at once; more iterations than a graph holds; boxes of all shapes.
small few --elements 2x2x2 --degree 2 --iterations 1100
small last --elements 4x4x4 --degree 5 --iterations 1
small strong --elements 3x3x2 --degree 4 --lambda 1000000 --iterations 15
beside box 1x1x1 7x1x1 1x5x2 5x3x4
beside onepass 1 2 3 5
for groups in 1 3; do
    valid resident-$groups "$nekbone" --rung resident --choose groups=$groups --elements 4x3x3 \
        --degree 9 --deform 0.2 --iterations 50 --seconds 0
done
beside solve "schwarz --degree 9 --ripple 0.3" "schwarz --degree 7 --stretch 4" "schwarz --degree 1" "schwarz --degree 15" \
    "schwarz --degree 9 --choose lines=1" "schwarz --degree 6 --choose steps=1" "schwarz --degree 4 --choose steps=2" \
    "schwarz --degree 2" "none --degree 5"
# No vertex is inside the box.
valid thin "$nekbone" --device 0 --rung solve-cuda --elements 7x1x4 --degree 2 --seconds 0
valid solves "$nekbone" --device 0 --ladder --only solve --elements 4x4x4 --seconds 0.05
ran solves solve-cuda
valid ladder "$nekbone" --ladder --elements 8x8x8 --degree 9 --seconds 0.1 --json ladder.json
ran ladder ${gpu_rungs/resident/} # needs a GPU on which 512 elements fit
tail -n 12 ladder.out
valid tiny "$nekbone" --ladder --size tiny --seconds 0.02
valid default "$nekbone" --elements 4x4x4 --degree 7 --seconds 0.02 --profile --no-tuning
grep -q '^resident (cuda)' default.out || fail "the default on a GPU, small mesh, is not resident"
grep -q '^default  *resident for 32768 points per rank: ' default.out || fail "no reason for the default resident is printed"
for size in "12x8x8 --degree 9" "16x16x16 --degree 3"; do # many points; more elements than fit on the chip
    valid default_large "$nekbone" --elements $size --seconds 0.02 --no-tuning
    grep -q '^onepass (cuda)' default_large.out || fail "the default on a GPU for $size is not onepass"
done

# Device memory is within 5 % of the prediction, and below 64 MiB.
for rung in layered onepass; do
    valid memory "$nekbone" --device 0 --rung $rung --size tiny --seconds 0
    grep '^memory .*(predicted' memory.out | tr -d '()' | awk '
        { for (i = 1; i < NF; i++) if ($i == "device") { used = $(i + 1); unit = $(i + 2); want = $(i + 4) } }
        END { exit !(unit == "MiB" && used <= 64 && used > 32 && used >= 0.95 * want && used <= 1.05 * want) }' ||
        fail "$rung --size tiny on the device: $(grep '^memory' memory.out)"
done
# With --device cpu the GPU is not used.
valid cpu "$nekbone" --device cpu --elements 2x2x2 --degree 3 --seconds 0
grep -q '^rank 0: .*no GPU (--device cpu was given)' cpu.out || fail "--device cpu: a GPU is in use"

wait $mutants || fail "mutants on the GPU: $(tail -n 20 mutants.out)"
tail -n 1 mutants.out

refused 3 "--device 77: " "$nekbone" --device 77
refused 2 "has at most 1024, so n <= 10" "$nekbone" --rung shared --degree 10 --elements 2x2x2
refused 2 "do not fit: n <= 16" "$nekbone" --rung onepass --degree 16 --elements 2x2x2
refused 2 "fit on this GPU, and these are 4096" "$nekbone" --rung resident --elements 16x16x16
refused 2 "bend the edges" "$nekbone" --rung trilinear --elements 2x2x2 --deform 0.2
valid leaves_out "$nekbone" --ladder --degree 10 --elements 2x2x2 --seconds 0
grep -q '^not run *shared: .*n <= 10' leaves_out.out || fail "a ladder does not say why shared is out"
refused 4 "device " "$nekbone" --device 0 --rung layered --elements 125x125x125

exit $failed
