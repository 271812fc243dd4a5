# report.sh - rooftop report: one page that needs nothing else. Every rung is in each plot, text from a file cannot become
# HTML, and the page says what is missing and what is wrong. judge_page.py judges it.
. "${abs_top_srcdir:-.}/tests/suite/lib.sh" || exit 1
rooftop="$python $here/tools/rooftop" # with the packages that it can use
"$python" "$here/tests/suite/samples.py" "$here" || exit 1
"$python" -c 'import matplotlib' 2>/dev/null || skip "no Matplotlib (Debian: python3-matplotlib)"

ends 0 $rooftop report whole
says "report: whole/report.html; 16 plots"
"$python" "$here/tests/suite/judge_page.py" whole/report.html whole 16 || failed=1
grep -q 'The wave: uz, ' whole/report.html || fail "the caption of the wave is not of uz, which run draws"
ends 0 $rooftop report hostile
"$python" "$here/tests/suite/judge_page.py" hostile/report.html hostile 4 || failed=1

# --- the picture of a ladder ---
ends 0 $rooftop report whole/ladder-nekbone.json --output ladder.svg
says "picture: ladder.svg; 3 plots"
"$python" - ladder.svg <<'EOF' || fail "ladder.svg"
import sys
import xml.etree.ElementTree
text = open(sys.argv[1], encoding='utf-8').read()
root = xml.etree.ElementTree.fromstring(text)
words = [''.join(element.itertext()) for element in root.iter() if element.tag.endswith('text')]
missing = [name for name in ('reference', 'onepass', 'kokkos', 'flop per byte, by the model') if name not in words]
sys.exit(f'no {missing}' if missing else 'a colour of a page' if 'var(' in text else 0)
EOF

# --- what it refuses ---
refuses 3 "no such folder" report nowhere
mkdir empty
refuses 3 "no results in it" report empty
refuses 3 "nowhere/x.html" report whole --output nowhere/x.html
refuses 1 "not the result of a program" report whole/run.json

exit $failed
