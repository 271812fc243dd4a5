# ladder.sh - whole runs: the ladder, --size, --roofline, and how long a tiny run takes.
set -u
# Threads that wait asleep: where others want the cores too, spinning ones take several times as long.
export OMP_WAIT_POLICY=passive
nekbone=${abs_top_builddir:-$PWD}/apps/nekbone/nekbone
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0

fail()
{
    echo "failed: $*"
    failed=1
}

# run ARGUMENT...: a run that ends well, says VALID last and nothing on stderr; its output in `out`.
run()
{
    timeout 120 "$nekbone" "$@" >out 2>err </dev/null || fail "nekbone $*: status $?: $(cat err)"
    [ -s err ] && fail "nekbone $*: says on stderr: $(cat err)"
    [ "$(tail -n 1 out)" = "nekbone: VALID" ] || fail "nekbone $*: $(tail -n 1 out)"
}

# --- the ladder: every rung that --list does not call absent is run, verified and in the table, the
# others are named with the reason. Catches a rung that is left out without a word, a wrong one, a
# figure of merit without a ceiling. Degree 5: as quick as any, and `shared` can run it.
"$nekbone" --list >list
run --elements 4x4x4 --degree 5 --ladder --seconds 0.02 --windows 3
for rung in $(awk '/^[a-z]/ {print $1}' list); do
    if grep -A 1 "^$rung " list | grep -q "absent: "; then
        grep -q "^not run  *$rung: " out || fail "the ladder does not say why $rung is not run"
        grep -q "^$rung  .*VALID$" out && fail "$rung is absent, and in the table"
    else
        grep -q "^$rung  .* %.* VALID$" out || fail "$rung is not in the table as VALID"
    fi
done
grep -q "^jammed .*x  *reference  *VALID$" out || fail "the table lacks the step over reference"
[ "$(grep -c '^ceilings  *\(before\|after\), CPU' out)" = 2 ] || fail "ceilings before and after"
for rung in reference jammed; do # of the FMA ceiling: a number above 0
    share=$(awk -v rung=$rung '$1 == rung && $2 == "cpu" {print $12}' out)
    awk -v s="$share" 'BEGIN {exit !(s > 0)}' || fail "$rung runs at $share % of the ceiling"
done

# --- --size tiny: close below 64 MiB, as predicted within 5 %, and quick. Catches a size that is not
# what it says, an array that the prediction forgot, set-up that grew. The time is printed; machines,
# their load and their compilers differ, so only 10 s of an optimised build fail.
start=$(date +%s%N)
run --size tiny --seconds 0 --device cpu
seconds=$(awk -v ns=$(($(date +%s%N) - start)) 'BEGIN {printf "%.2f", ns * 1e-9}')
echo "nekbone --size tiny --seconds 0: $seconds s from start to finish"
if "$nekbone" --version | grep -q '^flags.*\(-O[23]\)' &&
    ! "$nekbone" --version | grep -q '^flags.*\(sanitize\|-O0\|-Og\)'; then
    awk -v s=$seconds 'BEGIN {exit !(s < 10)}' || fail "a tiny run takes $seconds s"
fi
# "memory   host 58.1 MiB (predicted 58.2 MiB) ..."
grep 'host [0-9.]* MiB (predicted' out | tr -d '()' | awk '
    {used = $3; predicted = $6}
    END {exit !(used <= 64 && used >= 32 && used <= 1.05 * predicted && used >= 0.95 * predicted)}' ||
    fail "memory of --size tiny: $(grep '^memory' out)"
# The user's own extents win over --size.
run --size large --elements 2x2x2 --degree 2 --seconds 0
grep -q "2x2x2 elements" out || fail "--size beats --elements"

# --- --roofline: a line a rung of the fastest processor here, each with a share. Catches a rung that
# is left out, and one that is not verified.
run --roofline --elements 4x4x4 --seconds 0.02
grep -q "^measured roofline" out || fail "--roofline says nothing of a measured roofline"
rows=$(grep -c "^as given .* %.* %.* VALID" out)
[ "$rows" -ge 2 ] || fail "--roofline has $rows rungs"
# Nothing that was run is nothing that was shown.
timeout 60 "$nekbone" --roofline --rung global --elements 2x2x2 --device cpu >out 2>err &&
    fail "--roofline of a rung that cannot run here is $(tail -n 1 out)"

# --- no picture: refused, not forgotten
timeout 60 "$nekbone" --picture p.png --elements 2x2x2 --degree 2 >out 2>err
[ $? = 2 ] && grep -q "^nekbone: --picture: nekbone has no picture" err && [ ! -e p.png ] ||
    fail "--picture: $(cat err)"

exit $failed
