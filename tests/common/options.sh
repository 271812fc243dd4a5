# options.sh - every option of every program with hostile values: the right status, one line, no crash. The long form is
# `make fuzz`.
app=nekbone
. "${abs_top_srcdir:-.}/tests/common/lib.sh" || exit 1
command -v python3 >/dev/null || skip "no python3"
python3 "${abs_top_srcdir:-.}/tests/fuzz/options.py" "$top"/apps/{nekbone/nekbone,alya-rhs/alya-rhs,fun3d-mcpi/fun3d-mcpi,gfnn-wave/gfnn-wave}
