# unit.sh - the parts of tools/rooftop that need no program, by Python's unittest: tests/suite/unit/test_*.py.
app=rooftop
here=$(cd "${abs_top_srcdir:-.}" && pwd)
. "$here/tests/common/lib.sh" || exit 1
python=$(command -v "${PYTHON:-python3}") || skip "no python3"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' || skip "no Python 3.9 or later"
"$python" -m unittest discover -s "$here/tests/suite/unit" >out 2>&1 || fail "$(cat out)"
tail -n 1 out
exit $failed
