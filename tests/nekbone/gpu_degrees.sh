# gpu_degrees.sh - tests every rung that runs on a GPU, at every degree that has its own kernel and at two that
# have none; and every value of every parameter that a tuner may choose.
. "${abs_top_srcdir:-.}/tests/nekbone/lib.sh" || exit 1
find_gpu_rungs long
gpu_rungs=$(gpu_rungs_of iteration)

# degree NAME DEGREE: on a bent mesh, so that each element has its own factors.
degree()
{
    local rungs=${gpu_rungs/trilinear/} # needs elements given by 8 vertices
    [ $2 -le 9 ] || rungs=${rungs/shared/} # one thread per point: at most 10^3 of them
    [ $2 -le 15 ] || rungs=$(echo " $rungs " | sed 's/ packed / /; s/ fused / /; s/ onepass / /; s/ mixed / /; s/ resident / /') # these keep whole lines
    gpu_rungs=$rungs ladder $1 --elements 3x2x2 --degree $2 --deform 0.2 --iterations 20
}

# bent NAME RUNG CHOICE ELEMENTS DEGREE
bent()
{
    single $1 $2 --choose $3 --elements $4 --degree $5 --deform 0.2 --iterations 20
}

at_once=6 each degree <<<"{{1..16},20,23}"
at_once=6 each single <<<"trilinear --elements 3x2x2 --iterations 20 --degree {1..15}"
# Blocks of 7x7x7 elements work on several, one after another: there are more than multiprocessors. The products of batched
# in every version, one after the other and at once; blocks of each size, of one element and of several, the last not full.
products="lines loops"
if grep -q 'RT_HAVE_CUBLAS 1' "$top/config.h"; then
    products="$products dgemm"
else
    refused 2 "this build has no cuBLAS" "$program" --rung batched --choose mxm1=dgemm --elements 2x2x2
fi
at_once=6 each bent <<END
{fused,onepass} factors=bulk 7x7x7 {11..15}
{packed,fused,onepass} factors={cached,streamed,bulk} 5x4x3 {3,9}
$(for p in $products; do echo "batched mxm1=$p,mxm2=$p,mxm3=$p,streams={1,3} 5x3x3 {1,2,9,10,15,16,23}"; done)
batched threads1=64,threads2=256,threads3=512 5x4x3 {2,9,17}
batched elements1=1,elements2=2,elements3=8 5x4x3 {2,9,17}
batched threads1=256,elements1=4,threads2=64,elements2=8,threads3=512,elements3=1 5x4x3 {2,9,17}
batched mxm1=loops,mxm2=loops,mxm3=loops,threads1=64,elements1=8,elements2=1,threads3=512,elements3=2 5x4x3 {2,9,17}
onepass factors=cached 3x2x2 14
batched mxm1=loops,mxm2=lines,streams=3 5x4x3 7
END
refused 2 "cuBLAS chooses its blocks" "$program" --rung batched --choose mxm1=dgemm,threads1=64 --elements 2x2x2
# All parameters by a search.
single tuned batched --elements 4x4x4 --degree 5 --iterations 20 --seconds 0.01 --tune --tune-seconds 2 --tuning batched.tuning
grep -q '"rung": "batched", "choice": {"mxm1":' batched.tuning || fail "nothing is tuned of batched: $(cat batched.tuning)"

exit $failed
