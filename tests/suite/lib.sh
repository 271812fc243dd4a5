# lib.sh - shared by the tests of tools/rooftop: the command, and stand-ins for the programs in ./bin (standin.py).
app=rooftop
here=$(cd "${abs_top_srcdir:-.}" && pwd)
. "$here/tests/common/lib.sh" || exit 1
find_python
rooftop="$python -S $here/tools/rooftop" # without packages
pages="$python $here/tools/rooftop"
[ -n "$draws" ] || "$python" -c 'import jinja2' 2>/dev/null || pages= # no pages

mkdir bin
{ cat "$here/tests/suite/standin.sh"; echo "exec '$python' -IS '$here/tests/suite/standin.py' \$app \"\$@\""; } >bin/nekbone
chmod +x bin/nekbone
for name in alya-rhs fun3d-mcpi gfnn-wave; do
    ln -s nekbone bin/$name
done

# ladders FOLDER OPTION...: runs every ladder of every program on a tiny problem. Their results, in the folder, must hold all
# rungs that can run, and be read by verify, table and compare.
ladders()
{
    into=$1
    shift
    mkdir "$into"
    while read -r app name options; do
        valid "$name" "$top/apps/$app/$app" "$@" --ladder $options --seconds 0.01 --windows 3 --json "$into/$name.json"
    done <<'END'
nekbone ladder-nekbone --elements 2x2x2 --degree 3
nekbone nekbone --only solve --elements 2x2x2 --degree 3
alya-rhs ladder-alya-rhs --cells 4x4x4
fun3d-mcpi ladder-fun3d-mcpi --surface 5 --layers 8
fun3d-mcpi fun3d-mcpi --only flow --surface 5 --layers 8
gfnn-wave ladder-gfnn-wave --elements 8x8x8 --steps 1
END
    app=rooftop
    ends 0 $rooftop verify "$into"/*.json
    ends 0 $rooftop table "$into"/*.json --csv table.csv
    ends 0 $rooftop compare "$into/ladder-nekbone.json" "$into/ladder-nekbone.json"
    ends 0 $rooftop predict "$into/ladder-nekbone.json" --machine grace
    for name in "$into"/*.json; do
        ends 0 $rooftop explain "$name"
        grep '^ *"memory_bytes"' "$name" # once per rung
    done >rungs.list
    [ "$(sed 1d table.csv | wc -l)" = "$(wc -l <rungs.list)" ] || fail "rooftop table has not all rungs: $(cat table.csv)"
}

# ends STATUS COMMAND...: checks the exit status; the output is in out and err.
ends()
{
    status=$1
    shift
    "$@" >out 2>err
    got=$?
    [ $got = "$status" ] || fail "$*: ended with $got, not $status: $(cat out err)"
}

# refuse_all [TOOLS]: each line of stdin, STATUS|TEXT|WORD..., must be refused so, and no file is left. packages=yes: with
# those of the distribution.
refuse_all()
{
    before=$(ls -AR)
    "$python" $([ -n "${packages-}" ] || echo -S) "$here/tests/suite/refusals.py" "${1:-$here/tools}" || failed=1
    [ "$before" = "$(ls -AR)" ] || fail "refusals leave files: $(ls -A)"
}

# says TEXT: checks that the last command printed it.
says()
{
    grep -qF -e "$1" out err || fail "does not say '$1' but: $(cat out err)"
}

# refuses STATUS TEXT ARGUMENT...: checks that one line on stderr says so, and that no file is left.
refuses()
{
    status=$1 text=$2
    shift 2
    rm -f out err
    before=$(ls -A)
    ends "$status" $rooftop "$@"
    [ "$(wc -l <err)" = 1 ] && grep -q '^rooftop: ' err || fail "$*: not one line but: $(cat err)"
    grep -qF -e "$text" err || fail "$*: does not say '$text' but: $(cat err)"
    rm -f out err
    [ "$before" = "$(ls -A)" ] || fail "$*: leaves files behind: $(ls -A)"
}
