# lib.sh - what the scripts of alya-rhs share, beside what all apps do.
app=alya-rhs
inputs=$(cd "${abs_top_srcdir:-.}" && pwd)/inputs/alya-rhs
. "${abs_top_srcdir:-.}/tests/common/lib.sh" || exit 1
alya=$program
