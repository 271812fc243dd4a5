# browser.sh - the report in a headless Chromium, at 1400 and 420 px, light and dark: browser.py lists the faults it finds.
# Long: RT_CHECK_LONG. ROOFTOP_SHOTS names a folder for the screenshots.
. "${abs_top_srcdir:-.}/tests/suite/lib.sh" || exit 1
[ "${RT_CHECK_LONG:-0}" != 0 ] || skip "only with make check-long"
command -v chromedriver >/dev/null || skip "no driver of Chromium (Debian: chromium-driver)"
"$python" -c "import jinja2, matplotlib, selenium" 2>/dev/null || skip "no Jinja2, Matplotlib or Selenium (Debian: python3-selenium)"
"$python" "$here/tests/suite/samples.py" "$here" || exit 1
for folder in whole hostile; do
    ends 0 "$python" "$here/tools/rooftop" report $folder
    "$python" "$here/tests/suite/browser.py" $folder/report.html ${ROOFTOP_SHOTS-}
    case $? in
        0) ;;
        77) exit 77 ;;
        *) fail "$folder: the page in Chromium" ;;
    esac
done

# The pages and slides of a lesson with every rung, and the drawings of the primer as wide as the window.
PYTHONPATH=$here/tests/suite/unit "$python" - <<'end' || fail "no lesson of the recorded ladders"
from helper import SOURCE, whole_lesson
from rooftop_suite.course import lesson_page
made = whole_lesson('gfnn-wave')
primer = ''.join(f'<figure>{path.read_text()}</figure>' for path in (SOURCE / 'docs/lessons/drawings').iterdir())
pages = dict(lesson=lesson_page.html(made), slides=lesson_page.html(made, 'slides.html'), primer='<!DOCTYPE html><meta name="viewport" content="width=device-width">'
             f'<title>primer</title><body style="background: #fff"><style>figure, body {{margin: 0}} figure svg {{max-width: 100%}}</style>{primer}')
for name, text in pages.items():
    open(f'{name}.html', 'w').write(text.replace('<details>', '<details open>'))
end
for page in lesson slides primer; do
    "$python" "$here/tests/suite/browser.py" $page.html ${ROOFTOP_SHOTS-} || fail "$page: the page in Chromium"
done

# browser.py finds its faults: a page that is too wide, has a script that fails, and asks the network.
cat >bad.html <<'EOF'
<!DOCTYPE html><title>bad</title><body style="margin:0;background:#fff"><p style="width:2000px;color:#ccc">wide</p>
<img src="http://127.0.0.1:9/x.png" alt="x"><figure><svg viewBox="0 0 200 100" width="200"><title>plot</title>
<text x="10" y="50" style="font: 12px sans-serif">one</text><text x="12" y="52" style="font: 12px sans-serif">two</text>
<text x="195" y="20" style="font: 12px sans-serif">outside</text><text x="10" y="90" style="font: 5px serif">tiny</text>
</svg></figure><script>nothing.there()</script>
EOF
"$python" "$here/tests/suite/browser.py" bad.html >bad.out && fail "nothing is wrong with a bad page"
for word in "the page is 2000 wide" "too little contrast" "asks for http" "nothing is not defined" "'two' lies over 'one'" \
    "'outside': outside of its plot" "'tiny': 5.0 px" "picture not shown"; do
    grep -qF -e "$word" bad.out || fail "browser.py does not find: $word: $(cat bad.out)"
done

exit $failed
