# tune.sh - tests that --tune writes a file that later runs use. tests/common/test_tune.c tests files that cannot be used.
. "${abs_top_srcdir:-.}/tests/nekbone/lib.sh" || exit 1
export OMP_NUM_THREADS=1 XDG_CACHE_HOME=$work/cache
small="--device cpu --elements 2x2x2 --degree 3 --iterations 10"
quick="$small --seconds 0.002 --windows 1"
tune="$small --seconds 0.005 --windows 1 --tune --tune-seconds"

# says NAME TEXT: checks that the output of that run contains TEXT.
says()
{
    grep -qF -e "$2" "$1.out" || fail "$1 does not say '$2' but: $(grep tun "$1.out")"
}


# --- senseless options ---
refused 2 "--tuning none.tuning: No such file" "$nekbone" $quick --tuning none.tuning
refused 2 "--tuning .: Is a directory" "$nekbone" $quick --tuning .
refused 2 "exclude each other" "$nekbone" $quick --tuning a --no-tuning
refused 2 "give --seconds more than 0" "$nekbone" $tune 1 --seconds 0
refused 2 "folder is not there" "$nekbone" $tune 1 --tuning nowhere/a.tuning
refused 2 "scalar has no such parameter in this build: see --list" "$nekbone" $quick --rung scalar --choose mxm4=dgemm
refused 2 "there is no such value; scalar has auto, " "$nekbone" $quick --rung scalar --choose mxm1=fast
refused 2 "--choose mxm1: not NAME=VALUE" "$nekbone" $quick --rung scalar --choose mxm1
refused 2 "the tuner chooses" "$nekbone" $tune 1 --rung scalar --choose mxm1=dgemm
refused 2 "tune for one problem" "$nekbone" $tune 1 --roofline
"$nekbone" --list --rung scalar | grep -q '^  *mxm1: auto (default), ' || fail "--list does not show parameters"

# --- a search makes folders and a file that the next run finds ---
valid tuned "$nekbone" $tune 0.6 --rung scalar
says tuned "scalar: tried "
says tuned "written to $work/cache/rooftop/nekbone.tuning"
cached=cache/rooftop/nekbone.tuning
[ "$(wc -l <$cached)" = 3 ] || fail "the file is not of one entry: $(cat $cached)"
[ "$(ls -A cache/rooftop)" = nekbone.tuning ] || fail "more than the file is left: $(ls -A cache/rooftop)"
device=$(sed -n 's/.*"device": "\([^"]*\)".*/\1/p' $cached)
valid used "$nekbone" $quick --rung scalar --json n.json
if grep -q '"choice_from": "file"' n.json; then
    sed -n 's/.*"choice": {\([^}]*\)}.*/\1/p' $cached | tr ',' '\n' | sed 's/^ *//' | while read -r pair; do
        grep -qF "$pair" n.json || echo "not $pair"
    done >wrong.txt
    [ -s wrong.txt ] && fail "another choice than that of the file: $(cat wrong.txt)"
else
    fail "the user's file is not used: $(grep choice_from n.json)"
fi
valid ignored "$nekbone" $quick --rung scalar --no-tuning --json n.json
grep -q '"choice_from": "default"' n.json || fail "--no-tuning uses a file"

# --- every rung, so that the best becomes the default; earlier entries stay ---
cp $cached n.tuning
valid all "$nekbone" $tune 1 --tuning n.tuning --degree 4
grep -q '"n": 4.0,.*"rung": "scalar"' n.tuning || fail "an entry of before is gone"
best=$(sed -n 's/.*"n": 5.0,.*"rung": "\([^"]*\)".*"seconds": \([^,]*\),.*/\2 \1/p' n.tuning | sort -g | head -n 1)
grep -qE "^${best#* } \((cpu|kokkos)\)" all.out || fail "not ${best#* } is run but $(grep -E '\((cpu|kokkos)\)' all.out)"
valid isolated "$nekbone" $tune 0.3 --rung jammed --isolated --tuning n.tuning
grep -q '"rung": "jammed".*"measured": "isolated"' n.tuning || fail "no entry measured alone"

# --- another point: the nearest entry is used, and the output says so ---
cat >n.tuning <<END
{"rooftop-tuning": 2, "entries": [
{"program": "nekbone", "version": "0", "device": "$device", "threads": 1, "ranks": 1, "point": {"n": 4, "elements": 8},
"rung": "scalar", "choice": {"mxm1": "loops", "mxm2": "rows", "mxm3": "loops"}, "measured": "inside", "seconds": 1e-6, "date": "now"}
]}
END
valid near "$nekbone" $quick --rung scalar --degree 4 --tuning n.tuning --json n.json
says near "n=5 elements=8: nearest tuned point is n=4 elements=8"
says near "scalar: mxm1=loops mxm2=rows mxm3=loops (n.tuning, the nearest point)"
grep -q '"choice_from": "nearest"' n.json || fail "near: $(grep choice_from n.json)"
valid forced "$nekbone" $quick --rung scalar --tuning n.tuning --choose mxm2=loops
says forced "scalar: mxm1=loops mxm2=loops mxm3=loops (--choose)"

# --- all ranks decide alike, otherwise this would hang; two ranks have their own entry ---
if why=$(have_mpi); then
    rm n.tuning
    valid ranks $mpirun -n 2 "$nekbone" ${tune/--tune / } 0.5 --rung scalar --threads 1 --tuning n.tuning
    grep -q '"ranks": 2, "point": {"n": 4.0, "elements": 4.0}, "rung": "scalar"' n.tuning || fail "no entry of two ranks"
    valid again $mpirun -n 2 "$nekbone" $quick --rung scalar --threads 1 --tuning n.tuning --json n.json
    grep -q '"choice_from": "file"' n.json || fail "two ranks: $(grep choice_from n.json)"
else
    echo "$why: not tried on two ranks"
fi

exit $failed
