# lib.sh - what the scripts of nekbone share. Sourced; leaves the script in an empty folder of its own,
# which is removed at the end.
set -u
top=$(cd "${abs_top_builddir:-.}" && pwd)
nekbone=$top/apps/nekbone/nekbone
mpirun=${MPIRUN:-mpirun}
failed=0
work=$(mktemp -d "${TMPDIR:-/tmp}/nekbone_XXXXXX") || exit 1
trap 'cd /; rm -rf "$work"' EXIT
cd "$work" || exit 1

fail()
{
    echo "failed: $*"
    failed=1
}

skip()
{
    echo "skipped: $*"
    exit 77
}

# valid NAME COMMAND...: ends with 0 and VALID as the last word; the output stays in NAME.out.
valid()
{
    name=$1
    shift
    timeout 300 "$@" >"$name.out" 2>"$name.err"
    got=$?
    last=$(tail -n 1 "$name.out")
    if [ $got != 0 ] || [ "$last" != "nekbone: VALID" ]; then
        fail "$*: ended with $got, last line '$last'"
        grep -e FAILED "$name.out"
        cat "$name.err"
        return 1
    fi
}

# refused STATUS TEXT COMMAND...: ends with STATUS after one line on stderr that says TEXT, and leaves
# nothing behind. mpirun adds lines of its own, which have no "nekbone:" in front.
refused()
{
    status=$1 text=$2
    shift 2
    before=$(ls -A)
    timeout 60 "$@" >/dev/null 2>"$work.err"
    got=$?
    said=$(grep -c '^nekbone: ' "$work.err")
    lines=$(wc -l <"$work.err")
    case $1 in *mpirun*) lines=1 ;; esac
    if [ $got != "$status" ] || [ "$said" != 1 ] || [ "$lines" != 1 ]; then
        fail "$*: ended with $got, not $status, and said:"
        cat "$work.err"
    elif ! grep -qF -e "$text" "$work.err"; then
        fail "$*: does not say '$text' but: $(cat "$work.err")"
    fi
    rm -f "$work.err"
    [ "$before" = "$(ls -A)" ] || fail "$*: leaves files behind: $(ls -A)"
}

# history FILE: the residual norms of the first rung of a --json file, one a line.
history()
{
    awk '/"residual_history": \[/ { on = 1; next } /\]/ { on = 0 } on { gsub(/[ ,]/, ""); print }' "$1"
}

# same_history A B POINTS N: two runs differ by their rounding errors only, which grow with the
# iterations: (k + 1) eps ((4 n + 8) sqrt(kappa) + 2 (64 + 2 sqrt(points))), kappa = 1000, as in
# verify.c. Catches anything that depends on how the mesh is divided.
same_history()
{
    history "$1" >a.txt
    history "$2" >b.txt
    paste a.txt b.txt | awk -v points="$3" -v n="$4" '
        NF != 2 { print "histories of different length"; bad = 1; exit }
        {
            d = $1 - $2
            bound = NR * 1.11e-16 * ((4 * n + 8) * sqrt(1000) + 2 * (64 + 2 * sqrt(points)))
            e = (d < 0 ? -d : d) / ($1 * bound)
            if (!(e <= most)) most = e
        }
        END {
            if (bad || NR < 2 || !(most <= 1)) {
                printf "%d norms, difference %g of the bound\n", NR, most
                exit 1
            }
            printf "%d norms, difference %.2g of the bound\n", NR, most
        }' || fail "$1 and $2: residual histories differ"
}

have_mpi()
{
    command -v "${mpirun%% *}" >/dev/null || { echo "no $mpirun"; return 1; }
    case $("$top/tests/common/test_comm" library) in
        *"this build has no MPI"*) echo "this build has no MPI"; return 1 ;;
    esac
}
