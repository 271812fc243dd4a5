# load.sh - honest programs beside other work: a loop on every core. None may be INVALID, what was disturbed is UNSTEADY, and
# such a rung has no figure of merit anywhere. The long form runs each app's CPU rungs 20 times, the short one nekbone's
# until one is disturbed.
app=nekbone
. "${abs_top_srcdir:-.}/tests/common/lib.sh" || exit 1
find_python
runs=0 unsteady=0 loops=
trap 'kill $loops 2>/dev/null; cd /; rm -rf "$work"*' EXIT
for core in $(seq "$(nproc)"); do
    while :; do :; done &
    loops="$loops $!"
done

# beside APP ARGUMENT...: runs the app's ladder and judges its result.
beside()
{
    app=$1
    shift
    "$top/apps/$app/$app" --ladder --only cpu --device cpu --json "$app.json" "$@" >out 2>err ||
        fail "$app: ended with $?: $(grep FAILED out) $(cat err)"
    runs=$((runs + 1))
    "$python" - "$app.json" <<'PY' || fail "$app: $(tail -n 20 out)"
import json, sys
result = json.load(open(sys.argv[1]))
for rung in result["rungs"]:
    assert rung["verdict"] in ("VALID", "UNSTEADY"), rung["name"]
    assert ("fom_flop_per_s" in rung) == (rung["verdict"] == "VALID") == (not rung["disturbed"]), rung["name"]
PY
    unsteady=$((unsteady + $(grep -c '^unsteady  *[a-z]' out)))
    # The table has dashes where the figure of merit and six that follow from it would be.
    awk '/UNSTEADY$/ && NF > 5 { dashes = 0; for (i = 1; i <= NF; i++) dashes += $i == "-"; if (dashes < 7) { bad = 1; print } }
        END { exit bad }' out || fail "$app: figures of an UNSTEADY rung"
}

if [ "${RT_CHECK_LONG:-0}" = 0 ]; then
    for go in 1 2 3 4 5; do # so short a ladder may slip through
        beside nekbone --threads 1 --elements 2x2x2 --degree 7 --iterations 10 --seconds 0.01
        [ $unsteady = 0 ] || break
    done
else
    for go in $(seq 20); do
        beside nekbone --size tiny --seconds 0.1
        beside alya-rhs --size tiny --seconds 0.1
        beside fun3d-mcpi --size tiny --seconds 0.1
        beside gfnn-wave --elements 24x24x24 --steps 1 --seconds 0.1
    done
fi
echo "$runs ladders beside a loop on each of $(nproc) cores: $unsteady rungs UNSTEADY"
[ $unsteady -gt 0 ] || fail "nothing was UNSTEADY"
exit $failed
