# report.sh - rooftop report: one page that needs nothing else. Every rung is in each plot, text from a file cannot become
# HTML, and the page says what is missing and what is wrong. judge_page.py judges it.
. "${abs_top_srcdir:-.}/tests/suite/lib.sh" || exit 1
"$python" "$here/tests/suite/samples.py" "$here" || exit 1

# --- without matplotlib: -S hides it ---
ends 0 $rooftop report whole --output plain.html
says "no plots: matplotlib is missing"
"$python" "$here/tests/suite/judge_page.py" plain.html whole 0 || failed=1
ends 0 $rooftop report hostile
"$python" "$here/tests/suite/judge_page.py" hostile/report.html hostile 0 || failed=1

# --- what it refuses ---
refuses 3 "no such folder" report nowhere
mkdir empty
refuses 3 "no results in it" report empty
refuses 3 "nowhere/x.html" report whole --output nowhere/x.html

# --- with it: one app with all kinds of plots; both folders in one process, because importing and drawing take time ---
mv whole/gfnn-wave.json whole/ladder-gfnn-wave.json whole/fun3d-mcpi.json hostile/scale-x.json .
rm hostile/fun3d-mcpi.json
ends 0 "$python" -c "import sys; sys.path.insert(0, '$here/tools')
from rooftop_suite import cli
sys.exit(cli.main(['report', 'whole']) or cli.main(['report', 'hostile']))"
if ! grep -q "no plots" out; then
    says "report: whole/report.html; 6 plots"
    "$python" "$here/tests/suite/judge_page.py" whole/report.html one 6 || failed=1
    "$python" "$here/tests/suite/judge_page.py" hostile/report.html drawn 4 || failed=1
else
    echo "not tested: plots, for there is no matplotlib (Debian: python3-matplotlib)"
fi

exit $failed
