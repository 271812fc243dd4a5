# train.sh - the shipped weights files are whole and say what they should; train-gfnn says in one line what is wrong with its
# options, and, long, makes such a file, the same bytes twice.
. "${abs_top_srcdir:-.}/tests/gfnn-wave/lib.sh" || exit 1
inputs=$samples
train=${samples%/inputs/*}/tools/train-gfnn/train-gfnn

unset PYTHONPYCACHEPREFIX # torch is compiled where it is installed

# The Python that train-gfnn takes.
has='import importlib.util, sys; print(sys.executable); sys.exit(any(importlib.util.find_spec(m) is None for m in sys.argv[1:]))'
python=
for p in ${PYTHON:+"$PYTHON"} python3 /usr/bin/python3; do
    p=$("$p" -c "$has" torch numpy 2>/dev/null) && { export PYTHON=$p; python=$p torch=1; break; }
done
[ -n "$python" ] || { torch=0; python=$(command -v python3) || skip "no python3"; }

# read.py: for each line FILE FORM ND DT the structure by the README's table, with nothing of the writer's (test_weights: the
# sizes, the header and the CRC). Without NumPy that of the numbers; with it what they mean.
cat >read.py <<'END'
import os, struct, sys
try:
    import numpy as np
except ImportError:
    np = None
for line in sys.stdin:  # each in a process that need not import again
    if os.fork() == 0:
        break
    if os.wait()[1] != 0:
        sys.exit(1)
else:
    sys.exit()
path, form, nd, dt = line.split()
nd, dt = int(nd), float(dt)
side = 2 * nd + 1
data = open(path, 'rb').read()
at = 0

def take(kind, count):
    global at
    values = struct.unpack_from(f'<{count}{kind}', data, at)
    at += struct.calcsize(f'<{count}{kind}')
    return values

def check(right, text):
    if not right:
        sys.exit(f'{path}: {text}')

at = 36
M, coefs = (1, 8) if form == 'gf8' else (int(form[3:]),) * 2
check(take('I', 6) == (216, 64, coefs, 216, 64, 16), 'widths')
case = take('d', 9)
check(case == (200, 1e-3, dt, 1000, 1e-3, 500, 5000, 50, 120), f'case {case}')
K, mean, L = take('f', M * 9 * side**3), take('d', coefs), take('d', coefs**2)
reg = take('f', 216 * 64), take('f', 64), take('f', 64 * coefs), take('f', coefs)
cls = take('f', 216 * 64), take('f', 64), take('f', 64 * 16), take('f', 16)
centroid = take('f', 16 * coefs)
check(at == len(data) - 4, f'{len(data) - 4 - at} bytes too many')
if np is None:
    sys.exit()
K = np.array(K).reshape(M, 3, 3, side, side, side)
L = np.array(L).reshape(coefs, coefs)
check(np.isfinite(K).all() and (np.triu(L, 1) == 0).all() and (np.diag(L) > 0).all(), 'L is not lower triangular')
# Of a kernel that has the cube's symmetries: x and y exchanged, x and z exchanged, x turned round.
for m in range(M if M < 5 else M - 3):
    k = K[m]
    tiny = 1e-5 * abs(k).max()
    sign = np.array([-1, 1, 1])
    turned = (k * np.outer(sign, sign)[:, :, None, None, None])[..., ::-1]
    check(abs(turned - k).max() < tiny, f'kernel {m}: x turned round')
    for order, axes in (((1, 0, 2), (0, 1, 2, 4, 3)), ((2, 1, 0), (0, 1, 4, 3, 2))):
        check(abs(k[np.ix_(order, order)].transpose(axes) - k).max() < tiny, f'kernel {m}: axes exchanged')
check(form != 'gf8' or (K[0] == K[0].transpose(1, 0, 2, 3, 4)).all(), 'G_ij is not G_ji')
# Of the three that are a vector: the one of x (or of y, z) is odd in x.
for m in range(M - 3, M) if M >= 5 else ():
    sign = np.ones(3)
    sign[m - (M - 3)] = -1
    turned = np.flip(K[m] * np.outer(sign, sign)[:, :, None, None, None], 4 - (m - (M - 3)))
    check(abs(turned + K[m]).max() < 1e-5 * abs(K[m]).max(), f'kernel {m} is not odd')
END

# --- what is shipped ---
printf '%s\n' "$inputs"/{gf8,gfm2,gfm4,gfm8}-dt{20,15}us.gfnn "$inputs"/{gf8,gfm2}-nd6-dt20us.gfnn |
    sed -E 's|.*/(gf[m0-9]*)(-nd(6))?-dt(..)us.gfnn|& \1 \3 \4e-6|; s/  / 3 /' | "$python" read.py || fail "a file that is shipped"
[ $failed = 0 ] || exit 1
[ $torch = 1 ] || skip "no Python with torch and numpy here (Debian: python3-torch); the shipped files are in order"

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
printf '%s 20e-6\n' "a gfm2 3" "c gf8 4" | "$python" read.py || fail "what train-gfnn wrote"
ls -- *.part 2>/dev/null && fail "a part of a file is left"
# The kernels are those of the shipped files, whatever was trained on.
"$python" - a "$inputs/gfm2-dt20us.gfnn" <<'END' || fail "kernels of gfm2 differ from the shipped ones"
import sys
import numpy as np
a, b = (np.fromfile(path, '<f4', 2 * 9 * 343, offset=132) for path in sys.argv[1:])
sys.exit(not abs(a - b).max() < 1e-6 * abs(b).max())
END
exit $failed
