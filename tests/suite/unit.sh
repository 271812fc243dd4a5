# unit.sh - the parts of tools/rooftop that need no program, by Python's unittest: tests/suite/unit/test_*.py.
app=rooftop
here=$(cd "${abs_top_srcdir:-.}" && pwd)
. "$here/tests/common/lib.sh" || exit 1
find_python
unset CUDA_VISIBLE_DEVICES # some parts read it
"$python" -m unittest discover -v -s "$here/tests/suite/unit" >out 2>&1 || fail "$(cat out)"
grep -e '\.\.\. skipped ' out
tail -n 1 out
exit $failed
