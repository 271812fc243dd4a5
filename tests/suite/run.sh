# run.sh - rooftop run with stand-ins for the programs: what counts as a result, and what is left when something is
# killed.
. "${abs_top_srcdir:-.}/tests/suite/lib.sh" || exit 1

# The suite as it is installed, so that runs need not examine the source.
mkdir -p inst/bin inst/share/rooftop/docs
cp "$here/tools/rooftop" inst/bin
cp -r "$here/tools/rooftop_suite" inst/share/rooftop
cp "$here/docs/result-schema.json" inst/share/rooftop/docs
cat >inst/share/rooftop/source.json <<'END'
{"version": "0.1.0", "commit": null, "changed": ["common/base/mem.c"], "why": "changed: common/base/mem.c"}
END
rooftop="$python -S inst/bin/rooftop"
one="run --force --bindir bin --apps nekbone --no-ladders --grace 0.3"

# no_parts FOLDER: checks that no file in it is half written.
no_parts()
{
    [ -z "$(find "$1" -name '.part-*')" ] || fail "$1: half a file: $(ls -A "$1")"
}

# --- a whole run; the stand-in computes the seed by itself, so this compares two implementations ---
ends 0 $rooftop run --force --bindir bin --official --size small --nonce "buyer 7" --no-ladders --into whole
says "official, source changed: common/base/mem.c"
[ "$(grep -c ' VALID' out)" = 4 ] || fail "not four VALID: $(cat out)"
no_parts whole
ends 0 $rooftop verify whole --nonce "buyer 7"
says "5 files, consistent; lacks an unchanged source (changed: common/base/mem.c)"
ends 0 $rooftop compare whole/run.json whole
says "geometric mean of 4 apps: 1.000"

# --- base and peak: the declared choice is timed on the same problem, and both are in the table and the manifest ---
echo x >mine.tuning
ends 0 $rooftop run --force --bindir bin --apps nekbone,alya-rhs --peak 'nekbone: --rung fast --tuning mine.tuning' --no-ladders \
    --into peak
says "nekbone, peak"
says "[1/3] nekbone"
says "(--rung fast --tuning mine.tuning)"
[ "$(grep -c '^nekbone .* VALID *FP64$' out)" = 1 ] || fail "no precision: $(cat out)"
grep -q '"peak": {' peak/run.json || fail "no peak in run.json"
grep -A 12 '"name": "peak-nekbone"' peak/run.json | tr -d '\n' | grep -q -- '--elements",  *"7x7x7",.*"--rung",  *"fast"' ||
    fail "peak is another problem: $(grep -A 30 '"peak-nekbone"' peak/run.json)"
ends 0 $rooftop $one --rung plain --into plain
grep -A 12 '"name": "nekbone"' plain/run.json | tr -d '\n' | grep -q -- '"--rung",  *"plain"' || fail "--rung is not handed on"
ends 2 $rooftop $one --rung fst --into none
says "nekbone has plain, fast, big"
ends 2 $rooftop run --force --bindir bin --rung plain --into none
says "add --apps APP"
STANDIN=unsteady ends 3 $rooftop $one --into unsteady
says "unsteady: nekbone: windows differ by 14.2 %"
says "no app has a figure of merit"
grep -q '"state": "complete"' unsteady/run.json || fail "a run that was disturbed is not complete"
ends 0 $rooftop run --bindir bin --dry-run --into dry
says "host 2.0 MiB"
says "10 steps"
[ ! -e dry ] || fail "--dry-run makes a folder"

# --- a launcher that cannot start the ranks: the environment, with its reason ---
printf 'case $* in *--dry-run*) shift; exec "$@" ;; esac\necho ------\necho There are not enough\necho slots.\nexit 1\n' >launch
ends 3 $rooftop $one --launcher 'sh launch {ranks}' --into launched
says "There are not enough slots; use fewer ranks"

# --- what does not count: half a file, a lie, an INVALID, a rank that was killed. Then the same command resumes with
# these steps and no others ---
export STANDIN_LOG=$work/log
STANDIN=nekbone:truncated,alya-rhs:lie,fun3d-mcpi:invalid,gfnn-wave:killed \
    ends 1 $rooftop run --force --bindir bin --no-ladders --into part
says "nekbone: part/nekbone.json: not a whole JSON file"
says "alya-rhs: ended with 0, but its verdict is INVALID"
says "fun3d-mcpi: INVALID: sum = reference"
says "gfnn-wave: ended by SIGKILL"
[ "$(ls part/*.json)" = part/run.json ] || fail "a result that is none: $(ls part)"
no_parts part
: >log
STANDIN=gfnn-wave:fail ends 3 $rooftop run --force --into part
says "gfnn-wave: ended with 3: gfnn-wave: the GPU is lost"
ends 0 $rooftop run --dry-run --into part
says "part: 3 of 4 steps are done"
says "1 step"
ends 0 $rooftop run --force --into part
again=$(sort log | uniq -c | tr -s ' \n' ' ')
[ "$again" = " 1 alya-rhs measured 1 fun3d-mcpi measured 2 gfnn-wave measured 1 nekbone measured " ] ||
    fail "resumed with other steps: $again"
unset STANDIN_LOG

# --- what is refused: one line that says so ---
refuse_all inst/share/rooftop <<'END'
2|there is no command 'ran'|ran
2|invalid choice: 'huge'|run --size huge
2|unrecognized arguments: --wndows|run --wndows 5
2|nekbone: --device x: must be auto|run --bindir bin --device x
2|--nonce: give it a word|run --bindir bin --nonce=
2|No closing quotation|run --bindir bin --launcher '
2|there is no program nofile here|run --bindir bin --launcher nofile
2|--apps=--: '--' is not a value|run --apps=--
2|\udcff': not UTF-8|run --nonce \udcff
2|--elements is not free|run --bindir bin --peak nekbone:--elements=4x4x4
2|--peak nekbone: declared twice|run --bindir bin --peak nekbone:--rung=fast --peak nekbone:--rung=fast
2|--peak needs a fixed problem|run --bindir bin --size full --peak nekbone:--rung=fast
2|the median is of 5 to 64|run --bindir bin --windows 4
2|there is no app 'hpl'|run --bindir bin --apps hpl
2|size small or above|run --bindir bin --official --size tiny
2|--official and --apps exclude each other|run --bindir bin --official --size small --apps nekbone
2|must be above 0|run --bindir bin --seconds 0
2|say where the number of ranks stands|run --bindir bin --launcher mpirun --ranks 2
2|a folder with other things in it|run --bindir bin --into bin
3|no program nekbone in nowhere|run --bindir nowhere
2|other options (--size)|run --into part --size small
2|no such file|verify nowhere.json
2|takes two files or more|compare refusals
END
refuses 2 "letters and digits" run --bindir bin --nonce "$(printf 'a\033[31m')"
ROOFTOP_INPUTS=/nowhere refuses 2 "--official and ROOFTOP_INPUTS=/nowhere exclude" run --bindir bin --official --size small

# --- a limit: all processes are ended, also those that ignore SIGTERM ---
STANDIN=deaf ends 3 $rooftop $one --into limit --limit 0.3
says "still running after its time limit of 0.3 s"

# --- SIGTERM: nothing is left running, and the run can be resumed; no second run uses the folder meanwhile ---
STANDIN=deaf $rooftop $one --into left >left.out 2>left.err &
driver=$!
for _ in $(seq 100); do
    grep -qs working left/nekbone.out && break
    sleep 0.05
done
refuses 2 "another run is using this folder" $one --into left
kill -TERM $driver
wait $driver
got=$?
[ $got = 143 ] && grep -q "continue with rooftop run --into left" left.err || fail "SIGTERM: ended with $got: $(cat left.err)"
no_parts left
ends 0 $rooftop $one --into left
alive=$(for process in $(grep -l -a '^sleep.300' /proc/[0-9]*/cmdline 2>/dev/null); do
    [ "$(readlink "${process%/*}/cwd")" = "$work" ] && echo "$process"; done)
[ -z "$alive" ] || fail "still running: $alive"

# --- no step is begun when the time is over; the same command makes what is left ---
ends 3 $rooftop $one --into short --minutes 0
says "1 steps are left after 0 min: the same command continues"
ends 0 $rooftop $one --into short

# --- a full disk: one line, and files that were there are whole ---
(ulimit -f 1; exec $rooftop $one --into full) >out 2>err
got=$?
[ $got = 3 ] && [ "$(wc -l <err)" = 1 ] && grep -q '^rooftop: full/.*: File too large' err ||
    fail "full disk: ended with $got: $(cat err)"
[ ! -e full ] || no_parts full

exit $failed
