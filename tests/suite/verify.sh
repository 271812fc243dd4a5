# verify.sh - rooftop verify and compare on whole folders, and on a result of a real program. tests/suite/unit/test_verify.py
# edits results in every way.
. "${abs_top_srcdir:-.}/tests/suite/lib.sh" || exit 1

ends 0 $rooftop run --bindir bin --apps nekbone,gfnn-wave --nonce n1 --into run
for file in nekbone.json ladder-nekbone.json picture-gfnn-wave.json picture-gfnn-wave.out gfnn-wave-picture.png; do
    [ -s run/$file ] || fail "no run/$file"
done
STANDIN_SPEED=1.1 ends 0 $rooftop run --bindir bin --apps nekbone --nonce n2 --soak 0.01 --into faster
says "soak: nekbone: +0.0 % time per unit"
bin/nekbone --json result.json --nonce n1 >out
ends 0 $rooftop verify run --nonce n1
STANDIN=invalid bin/nekbone --json invalid.json >out
ends 1 $rooftop verify invalid.json result.json
says "2 files, 1 with faults: NOT ACCEPTED"

# --- compare ---
ends 0 $rooftop compare run faster
[ "$(grep -c faster$ out)" = 3 ] || fail "a tenth more is beyond 2 x 1.4 %: $(cat out)"
STANDIN_SPEED=1.02 bin/nekbone --json near.json --nonce n1 >out
ends 0 $rooftop compare result.json near.json
says "no verdict: within twice the noise"
ends 0 $rooftop compare "$here/docs/reference/small.json" "$here/docs/reference/small.json"
says "geometric mean of 4 apps: 1.000"
bin/nekbone --json other.json --size small >out
refuses 2 "--size is tiny in result.json and small in other.json" compare result.json other.json

# --- the real thing: sealed by C, judged by Python, its inputs made again ---
nekbone=$top/apps/nekbone/nekbone
app=nekbone valid real "$nekbone" --device cpu --elements 2x2x2 --degree 3 --iterations 5 --seconds 0.02 --nonce "n 1" \
    --json real.json
ends 0 $rooftop verify real.json --nonce "n 1" --rerun --bindir "${nekbone%/*}"
sed 's/"host": "/&x/' real.json >edited.json
ends 1 $rooftop verify edited.json
says "the seal does not hold"

exit $failed
