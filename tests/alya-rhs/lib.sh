# lib.sh - shared by the scripts of alya-rhs, in addition to what all apps share.
app=alya-rhs
inputs=$(cd "${abs_top_srcdir:-.}" && pwd)/inputs/alya-rhs
. "${abs_top_srcdir:-.}/tests/common/lib.sh" || exit 1
alya=$program
