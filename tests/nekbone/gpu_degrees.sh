# gpu_degrees.sh - tests every rung that runs on a GPU, at every degree that has its own kernel and at two that
# have none; and every value of every parameter that a tuner may choose.
. "${abs_top_srcdir:-.}/tests/nekbone/lib.sh" || exit 1
find_gpu_rungs

for degree in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 20 23; do
    for deform in 0 0.2; do
        rungs=$gpu_rungs
        [ $degree -le 9 ] || rungs=${rungs/shared/} # one thread per point: at most 10^3 of them
        [ $degree -le 15 ] || rungs=${rungs/packed fused trilinear onepass resident/} # these keep whole lines
        [ $deform = 0 ] || rungs=${rungs/trilinear/} # needs elements given by 8 vertices
        name=d$degree-$deform
        valid $name "$nekbone" --ladder --elements 3x2x2 --degree $degree --deform $deform \
            --iterations 20 --seconds 0
        ran $name $rungs
    done
done
# Each block works on several large elements, one after another: there are more elements than multiprocessors. The
# mesh is bent, so that each element has its own factors.
for degree in 11 12 13 14 15; do
    for rung in fused onepass; do
        valid turns-$rung-$degree "$nekbone" --rung $rung --choose factors=bulk --elements 7x7x7 --degree $degree \
            --deform 0.2 --iterations 20 --seconds 0
    done
done
valid large-cached "$nekbone" --rung onepass --choose factors=cached --elements 3x2x2 --degree 14 --deform 0.2 --iterations 20 --seconds 0
# Each value that a tuner may choose.
for factors in cached streamed bulk; do
    for rung in packed fused onepass; do
        for degree in 3 9; do
            valid $rung-$factors-$degree "$nekbone" --rung $rung --choose factors=$factors \
                --elements 5x4x3 --degree $degree --deform 0.2 --iterations 20 --seconds 0
        done
    done
done
# The products of batched in every version, one after the other and at once.
for version in lines loops dgemm; do
    for streams in 1 3; do
        for degree in 1 2 9 10 15 16 23; do
            choose=mxm1=$version,mxm2=$version,mxm3=$version,streams=$streams
            if [ $version = dgemm ] && ! grep -q 'RT_HAVE_CUBLAS 1' "$top/config.h"; then
                refused 2 "this build has no cuBLAS" "$nekbone" --rung batched --choose $choose --elements 2x2x2
                continue
            fi
            valid batched-$version-$streams-$degree "$nekbone" --rung batched --choose $choose --elements 5x3x3 \
                --degree $degree --deform 0.2 --iterations 20 --seconds 0
        done
    done
done
valid batched-mixed "$nekbone" --rung batched --choose mxm1=loops,mxm2=lines,streams=3 --elements 5x4x3 --degree 7 \
    --deform 0.2 --iterations 20 --seconds 0
# Blocks of each size, of one element and of several, the last of them not full; all parameters by a search.
while read -r choose; do
    for degree in 2 9 17; do
        valid batched-blocks-$degree "$nekbone" --rung batched --choose $choose --elements 5x4x3 \
            --degree $degree --deform 0.2 --iterations 20 --seconds 0
    done
done <<'END'
threads1=64,threads2=256,threads3=512
elements1=1,elements2=2,elements3=8
threads1=256,elements1=4,threads2=64,elements2=8,threads3=512,elements3=1
mxm1=loops,mxm2=loops,mxm3=loops,threads1=64,elements1=8,elements2=1,threads3=512,elements3=2
END
refused 2 "cuBLAS chooses its blocks" "$nekbone" --rung batched --choose mxm1=dgemm,threads1=64 --elements 2x2x2
valid batched-tune "$nekbone" --rung batched --elements 4x4x4 --degree 5 --iterations 20 --seconds 0.01 \
    --tune --tune-seconds 2 --tuning batched.tuning
grep -q '"rung": "batched", "choice": {"mxm1":' batched.tuning || fail "nothing is tuned of batched: $(cat batched.tuning)"

exit $failed
