# scale.sh - rooftop scale with stand-ins: the efficiencies, the problem that ranks divide, and what a failure leaves.
. "${abs_top_srcdir:-.}/tests/suite/lib.sh" || exit 1
export STANDIN_LOG=$work/log
scale="$rooftop scale nekbone --bindir bin --seconds 0.1"

# Two ranks are 1.6 times as fast as one, and so on; 7x7x7 elements are none that 2 or 4 ranks could share.
ends 0 $scale --launcher 'env RANKS={ranks}' --ranks 1,2,4 --into sc
[ "$(grep -c '80\.0 %' out)" = 4 ] && [ "$(grep -c '100\.0 %' out)" = 2 ] || fail "efficiencies: $(cat out)"
grep -q -- '--elements 6x6x6 ' sc/.strong-4-nekbone.command || fail "strong: $(cat sc/.strong-4-nekbone.command)"
grep -q -- '--size tiny ' sc/.weak-4-nekbone.command || fail "weak: $(cat sc/.weak-4-nekbone.command)"
ends 0 $rooftop verify sc/scale-nekbone.json
[ "$(wc -l <"$STANDIN_LOG")" = 6 ] || fail "$(wc -l <"$STANDIN_LOG") runs, not one of one rank for either, and two each"
ends 0 $scale --launcher 'env RANKS={ranks}' --ranks 1,2,4 --into sc
[ "$(wc -l <"$STANDIN_LOG")" = 6 ] || fail "runs that were there have run again"

# Four ranks fail: what came before stands, and is not called whole.
cat >launch <<'END'
[ $1 != 4 ] || { echo "nekbone: four are too many"; exit 3; }
RANKS=$1
export RANKS
shift
exec "$@"
END
ends 1 $scale --launcher 'sh launch {ranks}' --ranks 1,2,4 --strong --into failed
says "four are too many"
[ "$(grep -c '80\.0 %' out)" = 1 ] || fail "two ranks are lost: $(cat out)"
refuses 2 "say where the number of ranks stands" scale nekbone --bindir bin --launcher srun

# Every number of ranks has a box that divides the extents it is given, and they are not made smaller than need be.
"$python" -S - "$here" <<'END' || failed=1
import sys
sys.path.insert(0, sys.argv[1] + '/tools')
from rooftop_suite.scale import divided, divisor, exposed_share
for ranks in range(1, 129):
    k = divisor([ranks])
    boxes = [(x, y) for x in range(1, ranks + 1) for y in range(1, ranks + 1) if ranks % (x * y) == 0]
    if not any(k % x == k % y == k % (ranks // x // y) == 0 for x, y in boxes):
        sys.exit(f'failed: {ranks} ranks have no box in multiples of {k}')
if [divisor([1]), divisor([8]), divisor([64]), divisor([2, 3])] != [1, 2, 4, 6]:
    sys.exit('failed: larger divisors than needed')
if [divided('7x9x4', 2), divided('18x18x18', 2), divided('1x7x7', 2)] != ['6x8x4', '18x18x18', '2x6x6']:
    sys.exit('failed: extents')

# Exposed messages: a share of the solve, none of one rank, and no 0 % where a kernel has them inside.
table = '''timer       calls  min us@rank  max us@rank  average us  total s     GB/s   GFlop/s  ceiling
mixed           2     552.06@1     559.71@0      550.00   0.0011        -         -        -
  element       6      70.00@1      71.00@0       70.00   0.0004    900.0         -     20 %
  halo          6      16.03@1      19.67@0       18.33   0.0001        -         -        -
'''
without = ''.join(line for line in table.splitlines(True) if 'halo' not in line)
shares = [exposed_share(table, 2), exposed_share(without, 1), exposed_share(without, 2), exposed_share('', 1)]
if not abs(shares[0] - 0.1) < 1e-4 or shares[1:] != [0, None, None]:
    sys.exit(f'failed: shares of messages {shares}')
END

exit $failed
