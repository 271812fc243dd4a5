# lib.sh - what the scripts of gfnn-wave share, in addition to what all apps share.
app=gfnn-wave
inputs=$(cd "${abs_top_srcdir:-.}" && pwd)/inputs
samples=$inputs/gfnn-wave
. "${abs_top_srcdir:-.}/tests/common/lib.sh" || exit 1
gfnn=$program
small="--elements 12x10x8 --steps 2"

# number FILE KEY: the first number of that key in a report of --json.
number()
{
    sed -n "s/^ *\"$2\": \([-+.0-9e]*\),*$/\1/p" "$1" | head -n 1
}

# iterations FILE: of each step, "13 13".
iterations()
{
    tr -d '\n' <"$1" | sed -n 's/.*"iterations": \[\([^]]*\)\].*/\1/p' | tr ',' ' ' | xargs
}

# close A B SHARE: both are numbers, and differ by less than this share.
close()
{
    awk -v a="$1" -v b="$2" -v s="$3" 'BEGIN { d = a - b; exit !(a != "" && a > 0 && d < s * a && -d < s * a) }'
}
