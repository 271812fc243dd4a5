# verify.sh - rooftop verify and compare on whole folders, and on a result of a real program. tests/suite/unit/test_verify.py
# edits results in every way.
. "${abs_top_srcdir:-.}/tests/suite/lib.sh" || exit 1

# A suite that is installed and unchanged, of the stand-ins' version, whatever the source tree here is.
mkdir suite && cp -r "$here/tools/rooftop" "$here/tools/rooftop_suite" suite && cp -r "$here/docs" suite
echo 0.1.0 >suite/VERSION
echo '{"version": "0.1.0", "commit": null, "changed": []}' >suite/source.json
rooftop="$python -S suite/rooftop"
pages=${pages:+$python suite/rooftop}

ends 0 $rooftop run --force --bindir bin --apps nekbone,gfnn-wave --nonce n1 --into run
for file in nekbone.json ladder-nekbone.json picture-gfnn-wave.json picture-gfnn-wave.out gfnn-wave-picture.vti; do
    [ -s run/$file ] || fail "no run/$file"
done
STANDIN_CPU=other STANDIN_SPEED=1.1 ends 0 $rooftop run --force --bindir bin --apps nekbone --nonce n2 --into faster
bin/nekbone --json result.json --nonce n3 >out # not a copy of run's, made in the same second
ends 0 $rooftop verify run --nonce n1
says "consistent; lacks --official, a VALID alya-rhs, a VALID fun3d-mcpi, a size above tiny"
rm run/nekbone.json
ends 0 $rooftop run --force --bindir bin --apps nekbone,gfnn-wave --nonce n1 --into run
ends 0 $rooftop verify run
says "run/run.json: note: nekbone: attempt 2 counts"
STANDIN=invalid bin/nekbone --json invalid.json >out
ends 1 $rooftop verify invalid.json result.json
says "2 files, 1 with faults: NOT CONSISTENT"

# --- accept: once more, with another nonce, on this machine ---
ends 0 $rooftop accept run --nonce n2 --bindir bin
says "accept: 2 apps as run says, nonce 'n2': ACCEPTED"
STANDIN_SPEED=0.8 ends 1 $rooftop accept run --nonce n2 --bindir bin
says "slower: 25.0 % more time per unit, noise 1.4 %"
refuses 2 "must be a new word" accept run --nonce n1
STANDIN=fail ends 3 $rooftop accept run --nonce n2 --bindir bin

# --- no row is dropped without a word ---
cp -r run copy
rm copy/nekbone.json
ends 0 $rooftop table run copy
says "copy: nekbone is left out: its file is missing or was changed"
[ "$(grep -c VALID out)" = 4 ] || fail "not four rows: $(cat out)"

# --- the reference that ships, and its manifest alone ---
ends 0 $rooftop verify "$here/docs/reference/h200"
cp "$here/docs/reference/h200/run.json" small.json
ends 0 $rooftop verify small.json
says "a manifest alone: none of the"
ends 0 $rooftop table small.json faster
[ "$(grep -c 'NVIDIA H200 .* VALID' out)" = 6 ] || fail "the reference has no rows: $(cat out)"
ends 0 $rooftop table run faster result.json --csv table.csv
[ "$(awk 'NR == 2 { print $1, $2, $8, $9, $10, $11, $12, $13, $14 }' out)" = "nekbone faster VALID 2.2 4.55 ms 0.4074 2.107 0.08" ] || fail "the best is not the first: $(cat out)"
[ "$(cut -d , -f 1,10,11,12 table.csv | sort -u | wc -l)" = 11 ] || fail "not a row per app and rung: $(cat table.csv)"
[ -z "$pages" ] || ends 0 $pages table run faster result.json --html table.html
[ -z "$pages" ] || grep -q '<td class="n">2.2</td>' table.html || fail "no figure in the page: $(cat table.html)"

# --- compare ---
ends 0 $rooftop compare run faster
[ "$(grep -c '^  nekbone .* faster$' out)" = 1 ] || fail "a tenth more is beyond 2 x 1.4 %: $(cat out)"
awk '/^A  run$/ { a = NR } /^B  faster$/ { b = NR } / 2.00 +2.20 +1.100 +1.4 % +1.019 +1.096 / { row = 1 } length > 120 { row = 0 }
     END { exit !(row && a && b == a + 1) }' out || fail "not in the order of the files: $(cat out)"
ends 0 $rooftop compare run faster --ladders
[ "$(grep -c faster$ out)" = 4 ] || fail "no rungs of ladders: $(cat out)"
ends 0 $rooftop compare small.json small.json
says "geometric mean of 4 apps: 1.000"

# --- the real thing: written by C, judged by Python ---
nekbone=$top/apps/nekbone/nekbone
app=nekbone valid real "$nekbone" --device cpu --elements 2x2x2 --degree 3 --iterations 5 --seconds 0.02 --nonce "n 1" \
    --json real.json
ends 0 $rooftop verify real.json --nonce "n 1"
LD_PRELOAD= $nekbone --device cpu --elements 2x2x2 --degree 3 --seconds 0 --quiet --json variables.json >out
grep -q '"LD_PRELOAD": ""' variables.json || fail "LD_PRELOAD is not in the result: $(grep -A3 variables variables.json)"
grep -q '"configure": ' variables.json || fail "how the program was configured is not in the result"

# --- names and locales ---
ends 3 $rooftop verify /dev/null
refuses 2 '/a\nb: no such file' verify '/a
b'
mkdir ü && cp result.json ü
LC_ALL=C PYTHONIOENCODING=ascii ends 0 $rooftop verify ü/result.json

exit $failed
