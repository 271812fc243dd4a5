# gpu_lost.sh - tests a GPU that is lost at any moment: nekbone says so in one line, leaves no result, and all ranks end soon;
# `rooftop run` counts none of it and continues when the GPU is back.
. "${abs_top_srcdir:-.}/tests/nekbone/lib.sh" || exit 1
. "${abs_top_srcdir:-.}/tests/common/lost.sh" || exit 1
find_gpu_rungs
run="--elements 8x8x8 --degree 7 --seconds 20 --json result.json"

# Without a loss the program is nekbone.
valid whole "$lost" --elements 4x4x4 --degree 7 --rung onepass --seconds 0

# The GPU is lost while the program starts Kokkos, sets up, measures ceilings, verifies and times. The rungs are one whose
# iterations are one graph, one whose whole solve is a kernel, and one that reads its sums in each iteration.
for after in 0 0.02 0.1 0.3 1; do
    lost $after 0 "$lost" $run --rung onepass
done
for rung in global resident $(case $gpu_rungs in *kokkos*) echo kokkos ;; esac); do
    lost 3 0 "$lost" $run --rung $rung
done
lost 3 0 "$lost" $run --ladder

if why=$(have_mpi); then
    # The first rank, and one whose loss only the other rank can notice.
    for who in 0 1; do
        lost 3 $who $mpirun -n 2 "$lost" $run --rung onepass --device 0 --share-device --transport staged
    done
    find_transports
    for transport in $transports; do
        for after in 1 2 4; do # also while the transport is tried out, where the other rank waits for this one
            lost $after 1 $mpirun -n 2 "$lost" $run --rung onepass --transport $transport
        done
    done
else
    echo "not on two ranks: $why"
fi

# The suite leaves no result, and the same command continues.
if python=$(command -v "${PYTHON:-python3}"); then
    mkdir bin
    ln -s "$lost" bin/nekbone
    rooftop="$python $abs_top_srcdir/tools/rooftop run --into suite"
    RT_LOSE_AFTER=2 $rooftop --bindir "$work/bin" --apps nekbone --size tiny --seconds 5 --no-ladders >suite.out 2>&1
    got=$?
    [ $got = 3 ] && grep -q 'lost: after' suite/nekbone.out || fail "rooftop run ended with $got: $(cat suite.out)"
    [ ! -e suite/nekbone.json ] || fail "rooftop run: a result of a lost GPU"
    $rooftop >suite.out 2>&1 || fail "rooftop run does not continue: $(cat suite.out)"
    grep -q '^nekbone .* VALID' suite.out && [ -s suite/nekbone.json ] || fail "rooftop run: $(cat suite.out)"
fi
exit $failed
