# peers.sh - libraries sweep the same system: their iterates agree with ours.
. "${abs_top_srcdir:-.}/tests/fun3d-mcpi/lib.sh" || exit 1
built=$("$program" --device cpu $small --ladder --seconds 0.01 --windows 1 | grep '^peers')
[ -n "$built" ] || skip "no peer is in this build (configure --with-petsc, --with-cusparse)"

# agrees NAME PEER: the table of NAME has a row for the peer, which says that it agrees.
agrees()
{
    grep "^$2 " "$1.out" | grep -qE ' agrees( |$)' || fail "$1: $2: $(grep "^$2" "$1.out")"
}

ours="--ladder --seconds 0.02 --windows 2"
for peer in "PETSc MatSOR" "cuSPARSE bsrmv"; do
    case $peer in
        PETSc*) config=RT_HAVE_PETSC device=cpu ;;
        *) config=RT_HAVE_CUSPARSE device=auto ;;
    esac
    grep -q "^#define $config 1" "$top/config.h" || { echo "without $peer"; continue; }
    valid one "$program" --device $device $small $ours
    if [ $device = auto ] && why=$(grep "^not run .*$peer: " one.out); then
        echo "$why"
        continue
    fi
    agrees one "$peer"
    for nb in 4 6 7; do
        valid nb-$nb "$program" --device $device $small --block-size $nb $ours && agrees nb-$nb "$peer"
    done
    valid fp64 "$program" --device $device $small --offdiagonal fp64 $ours && agrees fp64 "$peer"
done

# Under a launcher MPI is running already; on two ranks no peer runs.
if why=$(have_mpi); then
    valid mpi1 $mpirun -n 1 "$program" --device cpu $small $ours
    ! grep -q '^#define RT_HAVE_PETSC 1' "$top/config.h" || agrees mpi1 "PETSc MatSOR"
    valid mpi2 $mpirun -n 2 "$program" --device cpu $small $ours
    grep -q '^peers: not run, they are for one rank' mpi2.out || fail "mpi2: $(grep '^peers' mpi2.out)"
else
    echo "not under a launcher: $why"
fi

exit $failed
