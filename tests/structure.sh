# structure.sh - runs structure.py, which checks the layers and the files of the rungs, and complete.py, which
# checks that a rung, an option and a file are everywhere where they must be. What is fuzzed by hand must still compile.
python=$(command -v "${PYTHON:-python3}") || { echo "skipped: no python3"; exit 77; }
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' || { echo "skipped: no Python 3.9 or later"; exit 77; }
failed=0
for checks in structure complete; do
    "$python" "${abs_top_srcdir:-.}/tests/$checks.py" || failed=1
done
for target in "${abs_top_srcdir:-.}"/tests/fuzz/*.c; do
    ${CC:-cc} -std=c11 -D_POSIX_C_SOURCE=200809L -fsyntax-only -I"${abs_top_builddir:-.}" -I"${abs_top_srcdir:-.}" \
        -I"${abs_top_srcdir:-.}/common" "$target" || failed=1
done
exit $failed
