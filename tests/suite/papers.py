"""papers.py SOURCE BUILD: every command in the third column of docs/papers.md must end with 0, or with 3 where this machine or
build lacks what it needs. Programs run on a tiny problem, those of MPI on two ranks; a rung that is not of CPUs has --dry-run
added. Wrong commands that are put into the text must all be found.
"""
import contextlib
import functools
import io
import os
import re
import shlex
import shutil
import subprocess
import sys

source, build = map(os.path.abspath, sys.argv[1:3])
sys.path.insert(0, os.path.join(source, 'tools'))
from rooftop_suite import cli, results  # noqa: E402: the path
from rooftop_suite.measure import programs  # noqa: E402

NO_COMMAND = {'bytes moved / credited'}  # a column of a table
REFUSED = {'alya-rhs --mesh inputs/fun3d-mcpi/mixed.msh': 'hexahedron', 'nekbone --rung shared --degree 10': '1024'}
TINY = {'nekbone': '--elements 2x2x2 --degree 3 --iterations 3', 'alya-rhs': '--cells 4x4x4',
        'fun3d-mcpi': '--surface 5 --layers 8', 'gfnn-wave': '--elements 12x12x12 --steps 1'}
WRONG = ('nekbone --rung none', 'alya-rhs --picture hill.png', 'fun3d-mcpi --rung flow-simd --steps 2 --tolerance 1e-8',
         '--none', 'configure --with-none', 'rooftop none', 'rooftop scale none', 'tools/train-gfnn')


@functools.cache  # several rows ask for the same
def ends(*words):
    """Returns the status of a program, and what it printed."""
    ended = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding='utf-8',
                           errors='replace', check=False)
    return ended.returncode, ended.stdout


def replaced(words, options):
    """Returns the words with these options and values, in the place of others or at the end."""
    words = list(words)
    options = options.split()
    for name, value in zip(options[::2], options[1::2]):
        if name in words:
            words[words.index(name) + 1] = value
        else:
            words += [name, value]
    return words


def suite(words):
    """Runs a command of the suite in this process."""
    name = words[0]
    if name == 'compare':
        words = [name] + 2 * [os.path.join(source, 'tests/suite/samples/nekbone.json')]
    elif name == 'reproduce':
        words = replaced([word for word in words if word not in ('--size', 'long')], '--size tiny --into none') + ['--dry-run']
    elif name in ('climb', 'scale'):
        words = replaced(words, f'--seconds 0.001 --device cpu --into {name}-{words[1]}')
    if name in ('reproduce', 'scale') and '--ranks' in words:
        words = replaced(words, '--ranks 1')
    programs_in = os.path.abspath('../bin') if words[:2] == ['scale', 'gfnn-wave'] else build  # stand-ins: else it takes 5 s
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = cli.main(words + (['--bindir', programs_in] if name in ('reproduce', 'scale', 'climb') else []) +
                          (['--', *TINY[words[1]].split()] if name == 'climb' else []))
    return status, said.getvalue()


def program(app, words, launcher=()):
    path = os.path.join(build, 'apps', app, app)
    if {'--help', '--list', '--version'} & set(words):
        return ends(path, *words)
    if {'--choose', '--transport', 'FILE'} & set(words[-1:]):  # an option's name
        return (0, '') if words[0] in programs.ask(path, '--help') else (2, f'no {words[0]} in --help')
    kinds = {rung.name: rung.kind for rung in programs.rungs(path)}
    if kinds.get(words[words.index('--rung') + 1] if '--rung' in words else '', 'cpu') != 'cpu':
        return ends(path, *words, '--dry-run')
    timed = {'--roofline', '--tune', '--tune-seconds'} & set(words)
    words = replaced(words, '--device cpu --seconds ' + ('0.001' if timed else '0'))
    if not any(word.endswith(('.msh', '.voxels')) for word in words):
        words = replaced(words, TINY[app])
    if timed - {'--roofline'}:
        words = replaced(words, '--tune-seconds 0.02') + ['--no-tuning']
    return ends(*launcher, path, *words, '--quiet')


def run(words):
    """Runs a command as cheaply as shows whether it does something; returns its status and what it printed."""
    if words[0] == 'rooftop':
        return suite(words[1:])
    if words[0] == 'configure':
        status, said = ends(os.path.join(source, 'configure'), '--help')
        unknown = [word for word in words[1:] if word.partition('=')[0] not in said]
        return (2, f'not in configure --help: {unknown[0]}') if unknown else (status, said)
    if words[0] == 'mpirun':
        launcher = shlex.split(os.environ.get('MPIRUN', 'mpirun'))
        return program(words[3], words[4:], [*launcher, '-n', '2']) if shutil.which(launcher[0]) else (3, 'no mpirun')
    if words[0] in results.APPS:
        return program(words[0], words[1:])
    return ends(os.path.join(source, words[0]), *words[1:])


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


def wrong(text):
    """Returns how many commands the text has, and a line for each that is wrong, by command."""
    found, faults = {tuple(words): command for command, words in commands(text)}, {}
    for words, command in found.items():
        try:
            status, said = run(list(words))
        except OSError as error:
            status, said = 126, str(error)
        if status not in (2 if command in REFUSED else 0, 3) or status == 2 and REFUSED[command] not in said:
            faults[command] = f'`{command}` ends with {status}: {" ".join(said.split())[-200:]}'
    return len(found), faults


with open(os.path.join(source, 'docs', 'papers.md'), encoding='utf-8') as file:
    count, faults = wrong(file.read())
planted = wrong('\n## `nekbone`\n' + ''.join(f'| a | b | `{command}` |\n' for command in WRONG))[1]
faults |= {command: f'`{command}` is not found to be wrong' for command in WRONG if command not in planted}
print(f'{count} commands of docs/papers.md, {len(faults)} wrong', *faults.values(), sep='\n')
sys.exit(bool(faults) or count < 60)
