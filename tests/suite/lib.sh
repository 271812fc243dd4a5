# lib.sh - shared by the tests of tools/rooftop: the command, and stand-ins for the programs in ./bin (standin.py).
app=rooftop
here=$(cd "${abs_top_srcdir:-.}" && pwd)
. "$here/tests/common/lib.sh" || exit 1
python=$(command -v "${PYTHON:-python3}") || skip "no python3"
python=$("$python" -c 'import sys; print(sys.executable if sys.version_info >= (3, 9) else "")') # the interpreter, not a wrapper
[ -n "$python" ] || skip "no Python 3.9 or later"
rooftop="$python -S $here/tools/rooftop"

mkdir bin
{ cat "$here/tests/suite/standin.sh"; echo "exec '$python' -IS '$here/tests/suite/standin.py' \$app \"\$@\""; } >bin/nekbone
chmod +x bin/nekbone
for name in alya-rhs fun3d-mcpi gfnn-wave; do
    ln -s nekbone bin/$name
done

# ends STATUS COMMAND...: checks the exit status; the output is in out and err.
ends()
{
    status=$1
    shift
    "$@" >out 2>err
    got=$?
    [ $got = "$status" ] || fail "$*: ended with $got, not $status: $(cat out err)"
}

# refuse_all [TOOLS]: each line of stdin, STATUS|TEXT|WORD..., must be refused so, and no file is left.
refuse_all()
{
    before=$(ls -AR)
    "$python" -S "$here/tests/suite/refusals.py" "${1:-$here/tools}" || failed=1
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
