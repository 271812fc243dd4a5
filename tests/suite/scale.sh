# scale.sh - rooftop scale with stand-ins: the efficiencies, the problem that ranks divide, and what a failure leaves.
# tests/suite/unit/test_figures.py checks the arithmetic.
. "${abs_top_srcdir:-.}/tests/suite/lib.sh" || exit 1
scale="$rooftop scale nekbone --bindir bin --seconds 0.1"

# Two ranks are 1.6 times as fast as one, and so on; 2 or 4 ranks cannot share 7x7x7 elements.
ends 0 $scale --launcher 'env RANKS={ranks}' --ranks 1,2,4 --into sc
[ "$(grep -c '80\.0 %' out)" = 4 ] && [ "$(grep -c '100\.0 %' out)" = 2 ] || fail "efficiencies: $(cat out)"
grep -q '"elements": "6x6x6"' sc/strong-4-nekbone.json && grep -q '"size": "tiny"' sc/weak-4-nekbone.json || fail "other problems: $(ls sc)"
[ "$(grep -c '80\.0 % *5\.0 % *15\.0 % *0\.0 % *0\.0 %' out)" = 4 ] || fail "phases: $(cat out)"
[ "$(grep -c '100\.0 % *-  *-  *-  *- *VALID$' out)" = 2 ] || fail "one rank has messages: $(cat out)"
ends 0 $rooftop verify sc/*.json

# Four ranks fail: earlier points are kept, and the status says that the series is not whole.
cat >launch <<'END'
[ $1 != 4 ] || { echo "nekbone: four are too many"; exit 3; }
RANKS=$1
export RANKS
shift
exec "$@"
END
ends 3 $scale --launcher 'sh launch {ranks}' --ranks 1,2,4 --into failed
says "four are too many"
[ "$(grep -c '80\.0 %' out)" = 2 ] || fail "two ranks are lost: $(cat out)"

# One rank: a folder of its own, and no messages.
STANDIN=fail ends 3 $scale --ranks 1
ends 0 $scale --ranks 1
[ -s scale-nekbone/weak-1-nekbone.json ] && grep -q '100.0 % *- *- *- *- *VALID$' out || fail "no folder of its own, or one rank exchanges: $(cat out)"

exit $failed
