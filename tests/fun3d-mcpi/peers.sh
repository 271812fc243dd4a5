# peers.sh - a library multiplies by the same O: its product agrees with ours.
. "${abs_top_srcdir:-.}/tests/fun3d-mcpi/lib.sh" || exit 1
grep -q "^#define RT_HAVE_CUSPARSE 1" "$top/config.h" || skip "no peer is in this build (configure --with-cusparse)"
ours="--ladder --seconds 0.02 --windows 2"
valid one "$program" $small $ours
! why=$(grep "^not run .*cuSPARSE bsrmv: " one.out) || skip "$why"
for more in "--block-size "{4,5,6,7} "--offdiagonal fp64"; do
    valid agrees "$program" $small $more $ours
    grep "^cuSPARSE bsrmv " agrees.out | grep -qE ' agrees( |$)' || fail "$more: $(grep '^cuSPARSE' agrees.out)"
done

# On two ranks no peer runs.
if why=$(have_mpi); then
    valid mpi2 $mpirun -n 2 "$program" --device cpu $small $ours
    grep -q '^peers: not run, they are for one rank' mpi2.out || fail "mpi2: $(grep '^peers' mpi2.out)"
else
    echo "not under a launcher: $why"
fi

exit $failed
