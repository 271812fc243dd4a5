# mutants.sh - runs mutants.py, which changes the source and expects INVALID: 40 changes, others after each commit.
python=$(command -v "${PYTHON:-python3}") || { echo "skipped: no python3"; exit 77; }
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' || { echo "skipped: no Python 3.9 or later"; exit 77; }
export CUDA_VISIBLE_DEVICES= # those of rungs on a GPU are for gpu.sh
exec "$python" "${abs_top_srcdir:-.}/tests/mutants/mutants.py" --count 40
