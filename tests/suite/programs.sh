# programs.sh - the programs through the suite: a result of every rung of every ladder (gpu.sh: on a GPU), and each command that
# docs/papers.md names.
. "${abs_top_srcdir:-.}/tests/suite/lib.sh" || exit 1
export OMP_NUM_THREADS=1

ladders results --device cpu
for rung in nekbone,single,scalar nekbone,single,solve-cpu alya-rhs,single,cpu-closed fun3d-mcpi,single,cpu-simd \
    fun3d-mcpi,single,flow-simd gfnn-wave,single,cpu-simd gfnn-wave,single,predict-simd gfnn-wave,single,solve-simd; do
    grep -q ",$rung," table.csv || fail "no row of $rung: $(cut -d , -f 10-12 table.csv)"
done
# what the ladders print, and the tables that three of them are
grep -q '"elements"' results/ladder-alya-rhs.json || fail "alya-rhs --json does not say how many elements"
grep -q 'B / this' ladder-alya-rhs.out || fail "alya-rhs --ladder prints no comparison with the paper"
for ladder in operator predictor solve; do
    grep -A 1 "^Ladder $ladder\$" ladder-gfnn-wave.out | grep -q '^One unit is one' || fail "gfnn-wave --ladder has no table of $ladder"
done
grep -q '^iterations to' ladder-gfnn-wave.out || fail "gfnn-wave --ladder says nothing on iterations"

mkdir papers && ln -s "$here/inputs" papers/inputs
(cd papers && "$python" "$here/tests/suite/papers.py" "$here" "$top") || fail "docs/papers.md"

exit $failed
