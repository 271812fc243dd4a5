# dump.sh - what --dump refuses and leaves; and the answers of all apps, computed again from it by NumPy and SciPy (dump.py).
app=nekbone
. "${abs_top_srcdir:-.}/tests/common/lib.sh" || exit 1
small="--device cpu --elements 2x2x2 --degree 2 --iterations 3 --seconds 0 --quiet --no-tuning"

mkdir full empty && touch full/file || exit 1
rows "$program" $small <<'END'
2|cannot fill 'full': it is not empty|--dump full
2|cannot fill 'nowhere/d': No such file|--dump nowhere/d
2|cannot fill '/dev/null': Not a directory|--dump /dev/null
2|--dump d: the same file as --json|--json d --dump d
2|give --dump too|--dump-anyway
2|a solve by one rung|--dump d {--ladder,--dry-run}
END
! is_long || refused 2 "GiB is more than 1 GiB" "$program" $small --dump d --elements 16x16x16 --degree 14
! have_mpi || refused 2 "those of one rank, and 2 run" $mpirun -n 2 "$program" $small --dump d
(ulimit -f 1; "$program" $small --dump d >quota.out 2>&1; [ $? = 3 ] && grep -q "cannot write 'd/id.npy'" quota.out) ||
    fail "--dump without room: $(cat quota.out)"
[ ! -e d ] || fail "--dump without room leaves $(ls d)"
valid empty "$program" $small --dump empty && [ -s empty/index.json ] || fail "--dump to an empty folder: no index.json"

for python in ${PYTHON:-python3 /usr/bin/python3}; do
    [ $failed = 0 ] || exit 1
    "$python" -c 'import numpy, scipy' 2>none.out || continue
    exec env OMP_NUM_THREADS=1 "$python" "${abs_top_srcdir:-.}/tests/dump.py" "$top"
done
skip "no Python with NumPy and SciPy here (Debian: python3-scipy): $(tail -n 1 none.out)"
