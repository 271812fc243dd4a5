# programs.sh - the programs through the suite: a result of every rung of every ladder (gpu.sh: on a GPU), and each command that
# docs/papers.md names.
. "${abs_top_srcdir:-.}/tests/suite/lib.sh" || exit 1

ladders results --device cpu --threads 1
for rung in nekbone,single,scalar nekbone,single,solve-cpu alya-rhs,single,cpu-closed fun3d-mcpi,single,cpu-simd \
    fun3d-mcpi,single,flow-simd gfnn-wave,single,cpu-simd gfnn-wave,single,predict-simd gfnn-wave,single,solve-simd; do
    grep -q ",$rung," table.csv || fail "no row of $rung: $(cut -d , -f 10-12 table.csv)"
done

mkdir papers && ln -s "$here/inputs" papers/inputs
(cd papers && "$python" "$here/tests/suite/papers.py" "$here" "$top") || fail "docs/papers.md"

exit $failed
