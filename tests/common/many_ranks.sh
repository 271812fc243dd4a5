# many_ranks.sh - ranks on several nodes, and many of them: which part of the problem a rank has, what stays in a node, and
# that memory per rank does not grow with the ranks. Short: one app, and 4 ranks; long: three, and 8 and 16.
app=nekbone
. "${abs_top_srcdir:-.}/tests/common/lib.sh" || exit 1
why=$(have_mpi) || skip "$why"
export ROOFTOP_INPUTS=${abs_top_srcdir:-.}/inputs
long=${RT_CHECK_LONG:-0}
common="--device cpu --threads 1 --seconds 0 --quiet"

# predicted FILE WHAT: the memory must be no more than the program said beforehand, on the rank with most.
predicted()
{
    awk '/"host": {/ { host = 1 } /"device": {|"pinned": {/ { host = 0 }
        host && /"predicted"/ { said = $2 + 0 } host && /"high_water"/ { had = $2 + 0 }
        END { if (had <= said && had > 0) exit; print had " bytes, predicted " said; exit 1 }' "$1" ||
        fail "$2: more memory than predicted"
}

# on_nodes APP NODES OPTIONS...: four ranks whose nodes are the letters must send as many bytes per unit as on one node, some
# of them to other nodes, and have the results of one node, to the bit.
on_nodes()
{
    app=$1 nodes=$2
    shift 2
    [ "$long" != 0 ] || nodes=${nodes##* } # short: the last
    RT_TEST_NODES=aaaa valid one-node $mpirun -n 4 "$top/tests/$app/nodes" $common "$@" --json one.json || return
    for node in $nodes; do
        RT_TEST_NODES=$node valid nodes $mpirun -n 4 "$top/tests/$app/nodes" $common "$@" --json many.json || return
        [ "$(number many.json compute_nodes)" = 2 ] || fail "$app on $node: $(number many.json compute_nodes) nodes, not 2"
        for of in one many; do
            echo "$(number $of.json within_compute_nodes) $(number $of.json between_compute_nodes)" >$of.sent
        done
        paste one.sent many.sent | awk '{ exit !($1 > 0 && $2 == 0 && $3 + $4 == $1 && $4 > 0) }' ||
            fail "$app on $node: $(cat many.sent) bytes within and between nodes, and on one node $(cat one.sent)"
        for of in one many; do
            grep -e residual -e '^ *[0-9.e+-]*,*$' -e '"norm' -e '"iterations' -e '"value"' $of.json >$of.results
        done
        predicted many.json "$app, $*"
        [ -s one.results ] && cmp one.results many.results || fail "$app on $node: other results than on one node"
    done
}

# Ranks side by side, and ranks dealt out by turns: what they send is the same, where it goes is the launcher's choice.
# bbab: nodes of three ranks and of one.
on_nodes nekbone "aabb abab abbb bbab" --elements 8x2x2 --ranks 2x2x1 --degree 3 --iterations 5 --rung vector
on_nodes alya-rhs "aabb abab" --cells 8x8x8 --rung cpu-RSP
# a periodic box, and free faces
[ "$long" = 0 ] || on_nodes gfnn-wave "aabb abab" --elements 16x8x8 --ranks 2x2x1 --rung cpu-simd --precond bj
on_nodes gfnn-wave abab --elements 16x10x8 --ranks 2x2x1 --rung solve-simd --precond bj --steps 1
on_nodes gfnn-wave aabb --elements 28x8x8 --ranks 4x1x1 --faces free --rung predict-simd --precond gfm

# times GRID SIZE: the extents of SIZE^3 per rank
times()
{
    echo "$1" | awk -Fx -v n="$2" '{ print $1 * n "x" $2 * n "x" $3 * n }'
}

# marks APP GRID SIZE OPTION OPTIONS...: writes the most memory of a rank: as the program counts it, and resident beyond that
# of a tiny problem, which has the program's and MPI's own.
marks()
{
    app=$1 grid=$2 size=$3 option=$4
    shift 4
    ranks=$(echo "$grid" | awk -Fx '{ print $1 * $2 * $3 }')
    for n in $tiny $size; do # marks.json is that of the last
        valid size-$n $mpirun -n $ranks "$top/tests/$app/nodes" $common $option "$(times $grid $n)" "$@" --json marks.json || return
    done
    awk 'FILENAME ~ /json/ && /"high_water"/ && !counted { counted = $2 + 0 }
        /resident/ && $2 > most[FILENAME] { most[FILENAME] = $2 }
        END { print counted, 1024 * (most["size-'$size'.err"] - most["size-4.err"]) }' marks.json size-*.err
}

# grows APP SIZE OPTION OPTIONS...: what a rank of many counts must be within 10 % of what one rank counts, which has no
# ghosts, at SIZE^3 per rank. Catches what is sized by the whole problem. What is resident has MPI's buffers of messages in it,
# of some MiB: it must be within 30 %, and shows what is not counted.
grows()
{
    marks $1 1x1x1 "${@:2}" >one.marks
    for many in $grids; do
        marks $1 $many "${@:2}" >many.marks
        predicted marks.json "$*, $many"
        paste one.marks many.marks | awk -v what="$*, $many" -v most=${tiny:+1.3} '
            { printf "%s: %.2f MiB counted, %.2f resident; on one rank %.2f and %.2f\n", what, $3 / 1048576, $4 / 1048576,
                $1 / 1048576, $2 / 1048576; exit !($1 > 0 && $3 <= 1.1 * $1 && (!most || ($2 > 0 && $4 <= most * $2))) }' ||
            fail "$* on $many ranks: too much memory per rank"
    done
}

grids=2x2x1 tiny=
if [ "$long" = 0 ]; then
    grows alya-rhs 16 --cells --rung cpu-RSP
else
    grids="2x2x2 2x2x4" tiny=4
    grows alya-rhs 32 --cells --rung cpu-RSP
    grows nekbone 6 --elements --degree 9 --iterations 3 --rung jammed
    grows gfnn-wave 56 --elements --model uniform --rung solve-simd --precond bj --steps 1
fi

exit $failed
