"""refusals.py TOOLS: each line of stdin, STATUS|TEXT|WORD..., must be refused by the suite in the folder TOOLS with this
status and one line that says so. All in one process, because a start of the suite takes longer than a refusal."""
import contextlib
import io
import os
import sys

sys.path.insert(0, sys.argv[1])
from rooftop_suite import cli  # noqa: E402: only now is it on the path
from rooftop_suite.measure import programs  # noqa: E402

for line in sys.stdin.read().splitlines():
    status, text, words = line.split('|')
    words = words.replace('\\udcff', '\udcff')
    old, words = words.startswith('STANDIN=old '), words.removeprefix('STANDIN=old ')
    os.environ['STANDIN'] = 'old' if old else ''
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        got = cli.main(words.split())
    if old:
        programs.ask.cache_clear()
    if got != int(status) or text not in said.getvalue() or said.getvalue().count('\n') != 1:
        sys.exit(f'failed: {words}: ended with {got} and said: {said.getvalue()}')
