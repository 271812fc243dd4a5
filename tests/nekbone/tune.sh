# tune.sh - tests that --tune writes a file that later runs use. tests/common/test_tune.c has what entries are used, and which
# are rejected.
. "${abs_top_srcdir:-.}/tests/nekbone/lib.sh" || exit 1
export OMP_NUM_THREADS=1 XDG_CACHE_HOME=$work/cache
small="--device cpu --elements 2x2x2 --degree 3 --iterations 10 --windows 1"
quick="$small --seconds 0.002"
tune="$small --seconds 0.005 --tune --tune-seconds"

# says NAME TEXT: checks that the output of that run contains TEXT.
says()
{
    grep -qF -e "$2" "$1.out" || fail "$1 does not say '$2' but: $(grep tun "$1.out")"
}

# --- senseless options ---
rows "$program" $small <<'END'
2|--tuning none.tuning: No such file|--tuning none.tuning
2|--tuning .: Is a directory|--tuning .
2|exclude each other|--tuning a --no-tuning
2|give --seconds more than 0|--tune --seconds 0
2|folder is not there|--tune --tuning nowhere/a.tuning
2|tune for one problem|--tune --roofline
2|the tuner chooses|--tune --rung scalar --choose mxm1=dgemm
2|scalar has no such parameter in this build: see --list|--rung scalar --choose mxm4=dgemm
2|there is no such value; scalar has auto, |--rung scalar --choose mxm1=fast
2|--choose mxm1: not NAME=VALUE|--rung scalar --choose mxm1
END
"$program" --list --rung scalar | grep -q '^  *mxm1: auto (default), ' || fail "--list does not show parameters"

# --- a search makes folders and a file that the next run finds ---
valid tuned "$program" $tune 0.3 --rung scalar
grep -q '^scalar  *[0-9]' tuned.out || fail "no row of scalar: $(cat tuned.out)"
says tuned "written to $work/cache/rooftop/nekbone.tuning"
cached=cache/rooftop/nekbone.tuning
[ "$(wc -l <$cached)" = 3 ] || fail "the file is not of one entry: $(cat $cached)"
[ "$(ls -A cache/rooftop)" = nekbone.tuning ] || fail "more than the file is left: $(ls -A cache/rooftop)"
valid used "$program" $quick --rung scalar --json n.json
grep -q '"choice_from": "file"' n.json || fail "the user's file is not used: $(grep choice_from n.json)"
for pair in $(sed -n 's/.*"choice": {\([^}]*\)}.*/\1/p' $cached | tr -d ' ' | tr ',' ' '); do
    grep -qF "${pair/:/: }" n.json || fail "another choice than $pair of the file"
done
valid ignored "$program" $quick --rung scalar --no-tuning --json n.json
grep -q '"choice_from": "default"' n.json || fail "--no-tuning uses a file"

# --- every rung, so that the best becomes the default; another point, for which the nearest entry is used ---
valid near "$program" $quick --rung scalar --degree 4 --json n.json
says near "n=5 elements=8: nearest tuned point is n=4 elements=8"
grep -q '"choice_from": "nearest"' n.json || fail "near: $(grep choice_from n.json)"
valid all "$program" $tune 0.5 --degree 4
grep -q '"n": 4.0,.*"rung": "scalar"' $cached || fail "an entry of before is gone"
best=$(sed -n 's/.*"n": 5.0,.*"rung": "\([^"]*\)".*"seconds": \([^,]*\),.*/\2 \1/p' $cached | sort -g | head -n 1)
grep -qE "^${best#* } \((cpu|kokkos)\)" all.out || fail "not ${best#* } is run but $(grep -E '\((cpu|kokkos)\)' all.out)"
valid isolated "$program" $tune 0.2 --rung jammed --isolated --tuning n.tuning
grep -q '"rung": "jammed".*"measured": "isolated"' n.tuning || fail "no entry measured alone"

# --- all ranks decide alike, otherwise this would hang; two ranks have their own entry ---
if why=$(have_mpi); then
    valid ranks $mpirun -n 2 "$program" $tune 0.3 --rung scalar --tuning n.tuning
    grep -q '"ranks": 2, "point": {"n": 4.0, "elements": 4.0}, "rung": "scalar"' n.tuning || fail "no entry of two ranks"
    valid again $mpirun -n 2 "$program" $quick --rung scalar --tuning n.tuning --json n.json
    grep -q '"choice_from": "file"' n.json || fail "two ranks: $(grep choice_from n.json)"
else
    echo "$why: not tried on two ranks"
fi

exit $failed
