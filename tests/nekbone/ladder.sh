# ladder.sh - the main job, small: every rung that this machine can run, verified and timed.
. "${abs_top_srcdir:-.}/tests/nekbone/lib.sh"

# rows NAME: rungs in the last table, with their verdicts.
rows()
{
    awk '/^rung /  { on = 1 } on && (/ VALID$/ || / INVALID$/) { print $1, $NF }' "$1.out"
}

valid small "$nekbone" --elements 4x4x4 --degree 7 --ladder --seconds 0.05 --json small.json
rows small
rows small | grep -q '^reference VALID$' || fail "no row of reference"
rows small | grep -q '^jammed VALID$' || fail "no row of jammed"
# each of the six rungs has either a row or a reason
[ $(($(rows small | wc -l) + $(grep -c '^not run ' small.out))) = 6 ] ||
    fail "rungs without a row or a reason: $(cat small.out)"
grep -q '^ceilings .*before' small.out || fail "no ceilings"

# --size: 64 MiB. Not more than that, and not less than half.
valid tiny "$nekbone" --size tiny --ladder --seconds 0.02 --iterations 10 --quiet --json tiny.json
awk '/"predicted"/ { gsub(/[^0-9.e+]/, ""); if ($0 > most) most = $0 }
    END { exit !(most <= 1.02 * 67108864 && most > 0.5 * 67108864) }' tiny.json ||
    fail "--size tiny: predicted memory is not about 64 MiB: $(grep predicted tiny.json)"

# A tiny run, start to finish, takes less than a second: of processor time, since other tests run
# beside this one; the best of three.
best=999
for i in 1 2 3; do
    t=$(TIMEFORMAT='%U %S'; { time "$nekbone" --device cpu --threads 1 --elements 2x2x2 --degree 3 \
        --rung jammed --seconds 0.01 >one.out 2>one.err; } 2>&1)
    best=$(echo "$t $best" | awk '{ t = $1 + $2; print t < $3 ? t : $3 }')
done
echo "a tiny run: $best s"
if ! grep -q fsanitize "$top/config.status"; then
    awk -v t="$best" 'BEGIN { exit !(t < 1) }' || fail "a tiny run takes $best s"
fi

exit $failed
