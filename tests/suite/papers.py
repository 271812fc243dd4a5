"""papers.py SOURCE BUILD: every command in the third column of docs/papers.md must end with 0, or with 3 where this machine or
build lacks what it needs. CPU rungs run once on a tiny problem; whatever takes longer, or needs a GPU, has --dry-run added; the
suite's commands find no programs, so that they end after their options.
"""
import contextlib
import functools
import io
import os
import re
import shlex
import subprocess
import sys

source, build = map(os.path.abspath, sys.argv[1:3])
sys.path.insert(0, os.path.join(source, 'tools'))
from rooftop_suite import cli, results  # noqa: E402: the path
from rooftop_suite.measure import programs  # noqa: E402

NO_COMMAND = {'bytes moved / credited'}  # a column of a table
REFUSED = {'alya-rhs --mesh inputs/fun3d-mcpi/mixed.msh', 'nekbone --rung shared --degree 10'}  # the row is about the refusal
TINY = {'nekbone': {'--elements': '2x2x2', '--degree': '3', '--iterations': '3'}, 'alya-rhs': {'--cells': '4x4x4'},
        'fun3d-mcpi': {'--surface': '5', '--layers': '8'}, 'gfnn-wave': {'--elements': '12x12x12', '--steps': '1'}}
LONG = {'--ladder', '--roofline', '--tune', '--tune-seconds', '--case', '--mesh', '--model'}  # only asked, with --dry-run
ASKS = {'--help', '--list', '--version'}


def ends(words):
    """Returns the status of a program, and what it printed."""
    return asked(*words)


@functools.cache  # several rows ask for --help
def asked(*words):
    ended = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding='utf-8',
                           errors='replace', check=False)
    return ended.returncode, ended.stdout


def suite(words):
    """Runs a command of the suite in this process, without programs."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = cli.main(words + ([] if words[0] in ('compare', 'doctor') else ['--bindir', 'nowhere']))
    return status, said.getvalue()


def tiny(app, words):
    """Returns the words with the sizes of a tiny problem."""
    words = list(words)
    for name, value in TINY[app].items():
        if name in words:
            words[words.index(name) + 1] = value
        else:
            words += [name, value]
    return words


def program(app, words):
    path = os.path.join(build, 'apps', app, app)
    if ASKS & set(words):
        return ends([path, *words])
    if len(words) == 1 or 'FILE' in words:  # an option's name
        known = re.search(rf'^\s+--(\[no-\])?{words[0][2:]}\b', programs.ask(path, '--help'), re.M)
        return (0, '') if known else (2, f'no {words[0]} in --help')
    kinds = {rung.name: rung.kind for rung in programs.rungs(path)}
    rung = words[words.index('--rung') + 1] if '--rung' in words else ''
    if LONG & set(words) or rung and kinds.get(rung) != 'cpu':
        return ends([path, *words, '--dry-run'])
    return ends([path, *tiny(app, words), *([] if '--device' in words else ['--device', 'cpu']), '--seconds', '0', '--quiet'])


def run(words):
    """Runs a command as cheaply as shows whether it does something; returns its status and what it printed."""
    if words[0] == 'mpirun':
        words = words[3:]
    if words[0] == 'rooftop':
        return suite(words[1:])
    if words[0] == 'configure':
        status, said = ends([os.path.join(source, 'configure'), '--help'])
        unknown = [word for word in words[1:] if word.partition('=')[0] not in said]
        return (2, f'not in configure --help: {unknown[0]}') if unknown else (status, said)
    if words[0] in results.APPS:
        return program(words[0], words[1:])
    return ends([os.path.join(source, words[0]), *words[1:]])


def commands(text):
    """Yields the commands of the third column, as text and as words; a part of one gets the beginning that it lacks."""
    for section in text.split('\n## ')[1:]:
        app = re.search(rf'`({"|".join(results.APPS)})\b', section)[1]
        for line in section.splitlines():
            cells = line.split('|')
            whole = [app]
            for command in re.findall('`([^`]+)`', cells[3]) if len(cells) == 5 else ():
                words = shlex.split(command)
                if words[0] == 'rooftop':
                    whole = words[:2]
                if command not in NO_COMMAND:
                    yield command, whole + words if words[0].startswith('-') else words


with open(os.path.join(source, 'docs', 'papers.md'), encoding='utf-8') as file:
    found = {tuple(words): command for command, words in commands(file.read())}
wrong = []
for words, command in found.items():
    try:
        status, said = run(list(words))
    except OSError as error:
        status, said = 126, str(error)
    if status not in (2 if command in REFUSED else 0, 3):
        wrong.append(f'`{command}` ends with {status}: {" ".join(said.split())[-200:]}')
print(f'{len(found)} commands of docs/papers.md, {len(wrong)} wrong', *wrong, sep='\n')
sys.exit(bool(wrong) or len(found) < 60)
