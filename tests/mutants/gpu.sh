# gpu.sh - runs mutants.py with wrong programs of rungs that run on a GPU, and of what is around them: 6 changes, others after
# each commit; with make check-long all.
app=nekbone
. "${abs_top_srcdir:-.}/tests/common/lib.sh" || exit 1
find_gpu_rungs long
count=6
[ "${RT_CHECK_LONG:-0}" = 0 ] || count=0
exec "${PYTHON:-python3}" "${abs_top_srcdir:-.}/tests/mutants/mutants.py" --jobs 4 --count $count "on the GPU" "cuda/"
