# gpu_types.sh - every rung that runs on a GPU with every block size and precision that is compiled.
. "${abs_top_srcdir:-.}/tests/fun3d-mcpi/lib.sh" || exit 1
find_gpu_rungs

# All compiled kernels of a block size: 4 types of O, 2 of dQ, 2 of the sums.
types()
{
    for o in fp64 fp32 fp16 bf16; do
        ladder types-$1-$o --surface 5 --layers 6 --block-size $1 --offdiagonal $o
    done
    for form in "fp64 fp64" "fp64 fp32" "fp32 fp64"; do
        ladder sums-$1-${form% *}-${form#* } --surface 5 --layers 6 --block-size $1 --dq ${form% *} --accumulate ${form#* }
    done
}

beside types 4 5 6 7
ladder all-fp64 --surface 5 --layers 6 --offdiagonal fp64 --dq fp64 --accumulate fp64
ladder mixed --surface 5 --layers 6 --offdiagonal bf16 --dq fp64 --accumulate fp64

exit $failed
