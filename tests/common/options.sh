# options.sh - every option of every program with hostile values: the right status, one line, no crash (the long form is
# `make fuzz`); the examples of --help, and with make check-long the commands of docs/papers.md.
app=nekbone
. "${abs_top_srcdir:-.}/tests/common/lib.sh" || exit 1
command -v python3 >/dev/null || skip "no python3"
here=${abs_top_srcdir:-.}
python3 "$here/tests/fuzz/options.py" "$top"/apps/{nekbone/nekbone,alya-rhs/alya-rhs,fun3d-mcpi/fun3d-mcpi,gfnn-wave/gfnn-wave} ||
    failed=1

# dry_runs WHERE: reads command lines, of which there must be some. A dry run of each ends with 0, or with 3 for what this
# build or machine lacks.
dry_runs()
{
    local where=$1 name words ended count=0
    while read -r name words; do
        words=$(sed "s|--json [^ ]*||; s|inputs/|$here/&|" <<<"$words")
        case $words in *--list* | *--version*) ;; *) words="$words --dry-run" ;; esac
        case $words in *--device*) ;; *) words="--device cpu $words" ;; esac
        timeout 60 "$top/apps/$name/$name" $words >dry.out 2>&1 </dev/null
        ended=$?
        [ $ended = 0 ] || [ $ended = 3 ] || fail "$where: $name $words: ended with $ended: $(tail -n 1 dry.out)"
        count=$((count + 1))
    done
    [ $count -ge 4 ] || fail "$where: $count commands"
}

for name in nekbone alya-rhs fun3d-mcpi gfnn-wave; do
    dry_runs "$name --help" < <("$top/apps/$name/$name" --help | sed -n "s/^  \(mpirun -n [0-9]* \)\{0,1\}$name /$name /p" |
        sed 's|FILE.msh|inputs/alya-rhs/cube-4.1.msh|; s|FILE.lb8.ugrid|inputs/fun3d-mcpi/mixed.lb8.ugrid|')
done
# mixed.msh is there for its refusal.
[ "${RT_CHECK_LONG:-0}" = 0 ] || dry_runs docs/papers.md < <(grep '^|' "$here/docs/papers.md" |
    grep -oE '`(mpirun -n [0-9]+ )?(nekbone|alya-rhs|fun3d-mcpi|gfnn-wave) -[^`]*`' | sed 's/`//g; s/^mpirun -n [0-9]* //; /mixed.msh/d')
exit $failed
