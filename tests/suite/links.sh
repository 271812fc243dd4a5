# links.sh - every relative link in the documents leads somewhere: in the source tree, and where make install puts them;
# and lines have at most 100 columns.
app=links
here=$(cd "${abs_top_srcdir:-.}" && pwd)
. "$here/tests/common/lib.sh" || exit 1
python=$(command -v "${PYTHON:-python3}") || skip "no python3"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' || skip "no Python 3.9 or later"
links="$python $here/tests/suite/links.py"

$links "$here" || fail "a document of the source tree has a dead link, or a long line"

# -o: everything is built, and other tests run.
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL ${MAKE:-make} -s -C "$top" -o build.h DESTDIR="$work/stage" \
    install-nobase_dist_docDATA install-nobase_docDATA >install.out 2>&1 || { cat install.out; fail "make install"; }
docs=$(dirname "$(find stage -name README.md | awk '{ print length, $0 }' | sort -n | sed -n '1s/^[0-9]* //p')")
[ -f "$docs/docs/run-rules.md" ] && [ -f "$docs/apps/nekbone/README.md" ] || fail "documents are not installed: $(find stage)"
$links "$docs" || fail "an installed document has a dead link, or a long line"

# It finds what it looks for.
mkdir bad
printf '# A `b` c\n[here](#a-b-c) [gone](no.md) [lost](other.md#there) `[code](is.not)`\n\n[name]: away.png\n' >bad/a.md
echo '# Here' >bad/other.md
printf 'a line of %088d columns\n| a row of %0100d columns |\n' 1 1 >>bad/other.md
$links bad >bad.out && fail "a bad folder has no dead link"
[ "$(cut -d: -f3- bad.out)" = " no.md
 other.md#there (no such heading)
 away.png
 a line of 000000000000000000000000000000" ] || fail "not the three dead links and a long line but: $(cat bad.out)"

exit $failed
