# trace.sh - --trace of the four programs against what ranks do: bytes, sums, and a trace of thousands of ranks.
app=trace
here=$(cd "${abs_top_srcdir:-.}" && pwd)
. "$here/tests/common/lib.sh" || exit 1
python=$(command -v "${PYTHON:-python3}") || skip "no python3"
[ -n "${MPIRUN:-}" ] || skip "no mpirun"
OMP_NUM_THREADS=1
export OMP_NUM_THREADS
"$python" "$here/tests/suite/trace.py" "$MPIRUN" "$top/apps" ${RT_CHECK_LONG:+long} >out 2>&1 || fail "$(cat out)"
exit $failed
