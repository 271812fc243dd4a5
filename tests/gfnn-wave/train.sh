# train.sh - train-gfnn says in one line what is wrong with its options, and, long, makes a file that the program takes, the
# same bytes twice.
. "${abs_top_srcdir:-.}/tests/gfnn-wave/lib.sh" || exit 1
inputs=$samples
train=${samples%/inputs/*}/tools/train-gfnn/train-gfnn

unset PYTHONPYCACHEPREFIX # torch is compiled where it is installed

# The Python that train-gfnn takes.
has='import importlib.util, sys; print(sys.executable); sys.exit(any(importlib.util.find_spec(m) is None for m in sys.argv[1:]))'
python=
for p in ${PYTHON:+"$PYTHON"} python3 /usr/bin/python3; do
    p=$("$p" -c "$has" torch numpy 2>/dev/null) && { export PYTHON=$p; python=$p; break; }
done
[ -n "$python" ] || skip "no Python with torch and numpy here (Debian: python3-torch)"

# --- bad options ---
# refused TEXT OPTION...: one line that says so, status 2.
refused()
{
    text=$1
    shift
    "$train" "$@" >out 2>&1
    got=$?
    [ $got = 2 ] && [ "$(wc -l <out)" = 1 ] && grep -qF -e "$text" out || fail "$*: $got, $(cat out)"
}
refused "--form is missing"
refused "invalid choice: 7" --form gf8 --reach 7 --dt 20e-6 --output d
refused "invalid choice: 'gfm9'" --form gfm9 --dt 20e-6 --output d
refused "invalid number above 0 value: 'nan'" --form gfm2 --dt nan --output d
refused "cannot write into nowhere" --form gfm2 --dt 20e-6 --output nowhere/d
mkfifo fifo
refused "fifo: it is not a regular file" --form gfm2 --dt 20e-6 --output fifo
refused "above Vp / sqrt(2)" --form gfm2 --dt 20e-6 --vs-max 150 --output d
refused "exclude each other" --all --dt 20e-6
refused "unrecognized arguments: --sample" --form gfm2 --dt 20e-6 --output d --sample
# Without torch: one line, what to install, status 3.
mkdir fake && echo 'raise ImportError("none", name="torch")' >fake/torch.py
PYTHONPATH=$work/fake "$train" --form gfm2 --dt 20e-6 --output d >out 2>&1
got=$?
[ $got = 3 ] && [ "$(wc -l <out)" = 1 ] && grep -qF "apt-get install python3-torch" out ||
    fail "without torch: $got, $(cat out)"

# --- training: nothing that other code of this repository changes, and it imports torch twice ---
[ -n "${RT_CHECK_LONG:-}" ] || { echo "nothing was trained: make check-long"; exit $failed; }

for file in "a gfm2 3" "b gfm2 3" "c gf8 4"; do # very small
    set -- $file
    timeout 60 "$train" --form $2 --reach $3 --dt 20e-6 --samples 16 --epochs 1 --output $1 >out 2>&1 || fail "$file: $(tail -n 1 out)"
done
cmp a b || fail "trained twice, not the same bytes"
each on_cpu <<<"--elements 8x8x8 --rung predict-simd {--weights a --precond gfm2,--weights c --precond gf8 --reach 4}"
ls -- *.part 2>/dev/null && fail "a part of a file is left"
# The kernels are those of the shipped files, whatever was trained on.
"$python" - a "$inputs/gfm2-dt20us.gfnn" <<'END' || fail "kernels of gfm2 differ from the shipped ones"
import sys
import numpy as np
a, b = (np.fromfile(path, '<f4', 2 * 9 * 343, offset=132) for path in sys.argv[1:])
sys.exit(not abs(a - b).max() < 1e-6 * abs(b).max())
END
exit $failed
