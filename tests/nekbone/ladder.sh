# ladder.sh - tests the main job on a small problem: verifies and times every rung that this machine can run.
. "${abs_top_srcdir:-.}/tests/nekbone/lib.sh" || exit 1

# rows NAME: prints the rungs in the last table, with their verdicts.
rows()
{
    awk '/^rung /  { on = 1 } on && NF > 5 && /(VALID|UNSTEADY)$/ { print $1, $NF }' "$1.out"
}

valid small "$program" --elements 3x3x3 --degree 7 --ladder --seconds 0.01 --json small.json
rows small
rows small | grep -q '^reference \(VALID\|UNSTEADY\)$' || fail "no row of reference"
for rung in scalar vector jammed cpu-fused; do
    rows small | grep -q "^$rung \(VALID\|UNSTEADY\)\$" || fail "no row of $rung"
done
# Each rung has either a row or a reason.
rungs=$("$program" --list | grep -c '^[a-z-]*  *\(cpu\|cuda\|kokkos\|openacc\) ')
[ "$rungs" -ge 9 ] || fail "--list has $rungs rungs"
absent=$(sed -n 's/^not run  *\([^:]*\):.*/\1/p' small.out | tr ',' '\n' | wc -l)
[ $(($(rows small | wc -l) + absent)) = "$rungs" ] ||
    fail "rungs without a row or a reason: $(cat small.out)"
# The table comes before the details of the rungs, and a reason that several rungs share comes once.
[ "$(grep -n '^rung ' small.out | cut -d: -f1)" -lt "$(grep -n -m 1 ' held$' small.out | cut -d: -f1)" ] ||
    fail "--ladder does not print its table first"
[ -z "$(sed -n 's/^not run  *[^:]*: //p' small.out | sort | uniq -d)" ] || fail "--ladder repeats a reason: $(grep '^not run' small.out)"
grep -q '^ceilings .*the highest of' small.out || fail "no ceilings"

export OMP_NUM_THREADS=1 # two above
# --size tiny, 64 MiB for the rung that needs most; in the long form with all 100 iterations. Memory is within 5 % of the
# prediction, not more than 64 MiB and not less than half.
on_cpu whole --rung jammed --size tiny $([ "${RT_CHECK_LONG:-0}" = 0 ] && echo "--iterations 2")
grep '^memory  *host [0-9.]* MiB (predicted' whole.out | tr -d '()' | awk '
    { used = $3; want = $6 }
    END { exit !(used <= 64 && used > 32 && used >= 0.95 * want && used <= 1.05 * want) }' ||
    fail "--size tiny: $(grep '^memory' whole.out)"
# The user's own extents win over --size; otherwise this run would not end within the hour.
on_cpu own --size full --elements 2x2x2 --degree 2
grep -q '2x2x2 elements' own.out || fail "--size wins over --elements"

# --roofline: one line per rung of the fastest processor here. Catches a rung that is left out, a verdict without a
# measurement, and a share above 102 %, as beside other work.
valid roofline "$program" --roofline --elements 3x3x2 --seconds 0.005 --json roofline.json
grep -q '^measured roofline' roofline.out || fail "--roofline prints no measured roofline"
[ "$(grep -c '^as given .* %.* \(VALID\|UNSTEADY\)' roofline.out)" -ge 2 ] ||
    fail "--roofline has fewer than two rungs: $(cat roofline.out)"
! grep -oE '[0-9]+\.[0-9] %' roofline.out | awk '$1 > 102 { bad = 1 } END { exit !bad }' ||
    fail "--roofline prints a share above 102 %: $(cat roofline.out)"
[ "$(grep -c '"roofline_seconds": [0-9]' roofline.json)" = "$(grep -c '^as given .* \(VALID\|UNSTEADY\)' roofline.out)" ] ||
    fail "--roofline --json lacks what is printed"
"$program" --roofline --rung global --device cpu --elements 2x2x2 >none.out 2>&1 &&
    fail "--roofline of a rung that cannot run here: $(tail -n 1 none.out)"

exit $failed
