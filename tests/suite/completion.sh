# completion.sh - what bash offers for the programs and the suite, from their own --help and --list.
app=nekbone
here=$(cd "${abs_top_srcdir:-.}" && pwd)
. "$here/tests/common/lib.sh" || exit 1
. "$here/tools/completion/rooftop.bash" || exit 1

# offers "WORDS" WORD...: checks that for this command line, its last word unfinished, exactly these words are offered.
offers()
{
    wanted=$1
    shift
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _rooftop "$1"
    got=${COMPREPLY[*]}
    [ "$got" = "$wanted" ] || fail "$*: offers '$got', not '$wanted'"
}

offers "--rung" "$program" --ru
offers "jammed" "$program" --rung ja
offers "jammed" "$program" --rung = ja # --rung=ja
offers "--no-communication" "$program" --no-c
offers "--tune --tune-seconds" "$program" --tune
offers "loops=" "$program" --rung jammed --choose ""
offers "mxm1= mxm2= mxm3=" "$program" --rung scalar --choose m
offers "rows rows-n" "$program" --choose mxm1 = ro
offers "rows,mxm2=" "$program" --rung scalar --choose mxm1 = rows,mxm2
offers "none schwarz auto" "$program" --precond ""
offers "tiny" "$program" --device cpu --size t
offers "" "$program" --seed ""
offers "--threads" "$program" --quiet --thr
touch "a file.json"
mkdir adir
offers "a file.json" "$program" --json a\ f
offers "" "$program" absent
offers "operator" "$top/apps/gfnn-wave/gfnn-wave" --only o
offers "nn-class" "$top/apps/gfnn-wave/gfnn-wave" --coef nn-c

# A program is run once per shell: it may be slow to start on a machine with many GPUs.
printf '#!/bin/sh\necho asked >>asked\necho "  --slow N    of a slow start"\n' >nekbone
chmod +x nekbone
offers "--slow" ./nekbone --s
offers "--slow" ./nekbone --
[ "$(wc -l <asked)" = 1 ] || fail "a program is asked $(wc -l <asked) times"

for name in rooftop nekbone alya-rhs fun3d-mcpi gfnn-wave; do
    complete -p $name >/dev/null || failed=1
done

if python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then
    offers "explain exercise" "$here/tools/rooftop" ex
    offers "--official" "$here/tools/rooftop" run --off
    offers "large" "$here/tools/rooftop" run --size la
    offers "adir" "$here/tools/rooftop" run --into ad
    offers "jammed" "$here/tools/rooftop" exercise nekbone ja
fi
exit $failed
