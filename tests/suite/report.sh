# report.sh - rooftop report: one page that needs nothing else. Every rung is in each plot, text from a file cannot become
# HTML, and the page says what is missing and what is wrong. judge_page.py judges it.
. "${abs_top_srcdir:-.}/tests/suite/lib.sh" || exit 1
[ -n "$draws" ] || skip "no Jinja2, or no Matplotlib (Debian: python3-jinja2, python3-matplotlib)"
rooftop=$pages
"$python" "$here/tests/suite/samples.py" "$here" || exit 1

# --- what --picture wrote ---
gfnn="$top/apps/gfnn-wave/gfnn-wave --device cpu --threads 1 --seconds 0 --elements 8x7x6 --steps 1 --precond bj --rung solve-simd"
app=gfnn-wave
valid wave $gfnn --picture whole/gfnn-wave-picture.vti
app=fun3d-mcpi
valid flow "$top/apps/fun3d-mcpi/fun3d-mcpi" --device cpu --threads 1 --seconds 0 --surface 5 --layers 8 --rung flow-simd --steps 1 --picture flow.vtu
ends 0 $rooftop picture flow.vtu --array Mach --output x.png # the report draws the wave
[ "$(od -An -tu1 -j18 -N6 x.png | tr -s ' ')" = " 3 32 0 0 2 188" ] || fail "picture: not 800x700 pixels"

# --- the pages ---
ends 0 $rooftop report whole
says "report: whole/report.html; 12 plots"
"$python" "$here/tests/suite/judge_page.py" whole/report.html whole 12 || failed=1
ends 0 $rooftop report hostile
"$python" "$here/tests/suite/judge_page.py" hostile/report.html hostile 5 || failed=1
grep -q 'src="data:image/png' whole/report.html && grep -q 'The wave: uz, ' whole/report.html || fail "the page shows no wave"
head -c 1500 flow.vtu >cut.vtu

# --- the picture of a ladder ---
ends 0 $rooftop report whole/ladder-nekbone.json --output ladder.svg
says "picture: ladder.svg; 4 plots"
"$python" - ladder.svg <<'EOF' || fail "ladder.svg"
import sys
import xml.etree.ElementTree
text = open(sys.argv[1], encoding='utf-8').read()
root = xml.etree.ElementTree.fromstring(text)
words = [''.join(element.itertext()) for element in root.iter() if element.tag.endswith('text')]
missing = [name for name in ('reference', 'onepass', 'kokkos', 'flop per byte, by the model') if name not in words]
sys.exit(f'no {missing}' if missing else 'a colour of a page' if 'var(' in text else 0)
EOF

# --- where the time of several apps goes ---
counters=$here/docs/reference/h200-counters
ends 0 $rooftop report $counters/counters-nekbone-onepass.json $counters/counters-alya-rhs-patch.json --output times.svg
grep -q '>alya-rhs patch<' times.svg && grep -q '>host waits<' times.svg || fail "times.svg: no rung, or no part of its time"

# --- what it refuses ---
packages=yes refuse_all <<'END'
2|flow.vtu: no file of --picture that can be drawn: no array p; it has density, velocity, Cp, Mach|picture flow.vtu --array p
2|cut.vtu: no file of --picture that can be drawn|picture cut.vtu
2|nowhere.vti: No such file|picture nowhere.vti
3|nowhere/run.json: No such file|report nowhere
1|not the result of a program|report whole/run.json
2|say with --output where|report whole/nekbone.json whole/alya-rhs.json
END
refuse_all <<'END'
3|a page needs Jinja2 (Debian: apt install python3-jinja2)|report whole
3|flow.vtu: a picture needs matplotlib|picture flow.vtu
END

exit $failed
