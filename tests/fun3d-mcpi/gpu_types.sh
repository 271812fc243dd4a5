# gpu_types.sh - every rung that runs on a GPU with every block size and precision that is compiled.
. "${abs_top_srcdir:-.}/tests/fun3d-mcpi/lib.sh" || exit 1
find_gpu_rungs

# All compiled kernels: 4 types of O, 2 of dQ, 2 of the sums, 4 block sizes.
for nb in 4 5 6 7; do
    for o in fp64 fp32 fp16 bf16; do
        ladder types-$nb-$o --surface 5 --layers 6 --block-size $nb --offdiagonal $o
    done
    for dq in fp64 fp32; do
        for sum in fp64 fp32; do
            ladder sums-$nb-$dq-$sum --surface 5 --layers 6 --block-size $nb --dq $dq \
                --accumulate $sum
        done
    done
done
ladder all-fp64 --surface 5 --layers 6 --offdiagonal fp64 --dq fp64 --accumulate fp64
ladder mixed --surface 5 --layers 6 --offdiagonal bf16 --dq fp64 --accumulate fp64

exit $failed
