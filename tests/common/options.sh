# options.sh - every option of every program with hostile values: the right status, one line, no crash (the long form is
# `make fuzz`); and the examples of --help.
app=nekbone
. "${abs_top_srcdir:-.}/tests/common/lib.sh" || exit 1
command -v python3 >/dev/null || skip "no python3"
python3 "${abs_top_srcdir:-.}/tests/fuzz/options.py" "$top"/apps/{nekbone/nekbone,alya-rhs/alya-rhs,fun3d-mcpi/fun3d-mcpi,gfnn-wave/gfnn-wave} ||
    failed=1

# Each example of --help is right as a dry run, with a sample in place of FILE.
for program in "$top"/apps/{nekbone/nekbone,alya-rhs/alya-rhs,fun3d-mcpi/fun3d-mcpi,gfnn-wave/gfnn-wave}; do
    name=${program##*/} count=0
    while read -r words; do
        sample=${words##*FILE} sample=${sample%% *}
        for file in "${abs_top_srcdir:-.}/inputs/$name"/*"$sample"; do
            case $words in *FILE*) words=${words%%FILE*}$file${words#*FILE"$sample"} ;; esac
        done
        case $words in *--list*) ;; *) words="${words/--json result.json/} --dry-run" ;; esac
        timeout 60 "$program" --device cpu $words >example.out 2>&1 || fail "$name $words: ended with $?: $(tail -n 1 example.out)"
        count=$((count + 1))
    done < <("$program" --help | sed -n "s/^  \(mpirun -n [0-9]* \)\{0,1\}$name //p")
    [ $count -ge 4 ] || fail "$name --help: $count examples"
done
exit $failed
