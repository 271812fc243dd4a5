# gpu_degrees.sh - tests every rung that runs on a GPU, at every degree that has its own kernel and at two that
# have none; and every value of every parameter that a tuner may choose.
. "${abs_top_srcdir:-.}/tests/nekbone/lib.sh" || exit 1
find_gpu_rungs

degrees()
{
    for degree in "$@"; do
        for deform in 0 0.2; do
            rungs=$gpu_rungs
            [ $degree -le 9 ] || rungs=${rungs/shared/} # one thread per point: at most 10^3 of them
            [ $degree -le 15 ] || rungs=${rungs/packed fused trilinear onepass resident/} # these keep whole lines
            [ $deform = 0 ] || rungs=${rungs/trilinear/} # needs elements given by 8 vertices
            valid d$degree-$deform "$nekbone" --ladder --elements 3x2x2 --degree $degree --deform $deform --iterations 20 --seconds 0
            ran d$degree-$deform $rungs
        done
    done
}

# Each block works on several large elements, one after another: there are more elements than multiprocessors.
turns()
{
    for degree in 11 12 13 14 15; do
        bent turns-$1-$degree $1 factors=bulk 7x7x7 $degree
    done
}

factors()
{
    for rung in packed fused onepass; do
        for degree in 3 9; do
            bent $rung-$1-$degree $rung factors=$1 5x4x3 $degree
        done
    done
}

# The products of batched in every version, one after the other and at once.
products()
{
    for streams in 1 3; do
        for degree in 1 2 9 10 15 16 23; do
            bent batched-$1-$streams-$degree batched mxm1=$1,mxm2=$1,mxm3=$1,streams=$streams 5x3x3 $degree
        done
    done
}

# Blocks of each size, of one element and of several, the last of them not full.
blocks()
{
    for degree in 2 9 17; do
        bent blocks-$1-$degree batched $1 5x4x3 $degree
    done
}

# bent NAME RUNG CHOICE ELEMENTS DEGREE: the mesh is bent, so that each element has its own factors.
bent()
{
    valid $1 "$nekbone" --rung $2 --choose $3 --elements $4 --degree $5 --deform 0.2 --iterations 20 --seconds 0
}

beside degrees "1 7 13" "2 8 14" "3 9 15" "4 10 16" "5 11 20" "6 12 23"
beside turns fused onepass
beside factors cached streamed bulk
if grep -q 'RT_HAVE_CUBLAS 1' "$top/config.h"; then
    beside products lines loops dgemm
else
    beside products lines loops
    refused 2 "this build has no cuBLAS" "$nekbone" --rung batched --choose mxm1=dgemm --elements 2x2x2
fi
beside blocks threads1=64,threads2=256,threads3=512 elements1=1,elements2=2,elements3=8 \
    threads1=256,elements1=4,threads2=64,elements2=8,threads3=512,elements3=1 \
    mxm1=loops,mxm2=loops,mxm3=loops,threads1=64,elements1=8,elements2=1,threads3=512,elements3=2
bent large-cached onepass factors=cached 3x2x2 14
bent batched-mixed batched mxm1=loops,mxm2=lines,streams=3 5x4x3 7
refused 2 "cuBLAS chooses its blocks" "$nekbone" --rung batched --choose mxm1=dgemm,threads1=64 --elements 2x2x2
# All parameters by a search.
valid batched-tune "$nekbone" --rung batched --elements 4x4x4 --degree 5 --iterations 20 --seconds 0.01 \
    --tune --tune-seconds 2 --tuning batched.tuning
grep -q '"rung": "batched", "choice": {"mxm1":' batched.tuning || fail "nothing is tuned of batched: $(cat batched.tuning)"

exit $failed
