# structure.sh - runs structure.py, which checks the layers and the files of the rungs, and complete.py, which
# checks that a rung, an option and a file are everywhere where they must be.
python=$(command -v "${PYTHON:-python3}") || { echo "skipped: no python3"; exit 77; }
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' || { echo "skipped: no Python 3.9 or later"; exit 77; }
failed=0
for checks in structure complete; do
    "$python" "${abs_top_srcdir:-.}/tests/$checks.py" || failed=1
done
exit $failed
