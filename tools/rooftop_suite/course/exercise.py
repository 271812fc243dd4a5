"""`rooftop exercise`: a folder with a source that is right and slow, or a file for a prediction; the task; the test."""
import argparse
import os
import shlex
import sys

from .. import USAGE, VALID, Fault, aligned, results
from ..results import disk
from . import attempt, grade, lessons, prediction, tasks

TOOL = os.path.realpath(sys.argv[0])  # the command as it can be called from any folder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add('app', metavar='APP', help=', '.join(results.APPS))
    add('name', metavar='EXERCISE', nargs='?', help='without it: list the exercises of the app')
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument('--hint', type=int, choices=(1, 2, 3), help='print this hint and make nothing')
    kind.add_argument('--predict', action='store_true', help='EXERCISE is a rung, whose time is to be predicted')
    add('--into', metavar='DIR', help='folder to make (default: APP-EXERCISE)')
    attempt.add_arguments(parser)


# ---- The folder ----

def readme(task: tasks.Task) -> str:
    """Returns the task, without hints. '1. ' begins an item of a list."""
    functions = ', '.join(f'`{function}`' for function in task.names)
    bad = 'slow' if task.lesson else 'wasteful'
    start = f'`{task.base}` is right as it is, and {bad}: {task.slow} Make it better, and keep it right.'
    idea = ['## Idea', task.lesson.idea, '## First predict', task.lesson.predict] if task.lesson else []
    before = [f'The rung to start from is {task.before}.'] if task.before else []
    where = f'The solution is {task.file}' + (
        f', explained in docs/lessons/{task.app}.md under "{task.name}".' if task.lesson else '.')
    ranks = f' It runs on {task.ranks} ranks.' if task.ranks > 1 else ''
    parts = [
        f'# {task.app}: write {task.name}', *idea,
        '## Write', f'{functions}: {task.task}', start, *(f'{i}. {step}' for i, step in enumerate(task.steps, 1)), *before,
        f'The headers that it includes are in {lessons.tree()}.',
        '## Measure',
        '`./check.sh` builds the file in place of the original, says whether it is right, what it reaches of the '
        f"machine's ceilings, and how fast it is beside the repository's: up to two minutes.{ranks} "
        '`./check.sh --seconds 0` leaves the comparison out and takes some seconds.',
        f'Options of {task.app} follow `--`: `./check.sh -- --profile` shows where the time goes. Compare with '
        'what you predicted.',
        '## If you are stuck',
        f'Three hints, one after the other: `{TOOL} exercise {task.app} {task.name} --hint 1`, then 2 and 3.',
        '## Afterwards', where]
    return '\n\n'.join(map(lessons.filled, parts)) + '\n'


def check_script(task: tasks.Task, build: str, more: list[str]) -> str:
    """Returns check.sh; options of grade come first in its arguments, those of the program follow --."""
    options = shlex.join([*(['--build', build] if build else []), *more])
    return f"""#!/bin/sh
# Builds, verifies and times the solution: status 0 right, 1 wrong. On another machine: ROOFTOP=FILE ./check.sh
ROOFTOP=${{ROOFTOP:-{shlex.quote(TOOL)}}}
[ -x "$ROOFTOP" ] || {{ echo "check.sh: no $ROOFTOP here; name this machine's tools/rooftop: ROOFTOP=FILE $0" >&2; exit 3; }}
exec "$ROOFTOP" grade {task.app} {task.name} "$(dirname "$0")"/{shlex.quote(task.base)} {options} "$@"
"""


def main(args: argparse.Namespace) -> int:
    if not args.name:
        known = [tasks.find(args.app, name) for name in tasks.names(args.app)]
        for line in aligned([[task.name, task.rung.kind, task.task] for task in known], range(3)):
            print(line if len(line) <= 118 else line[:117] + '…')
        return VALID
    task = prediction.task(args.app, args.name) if args.predict else tasks.find(args.app, args.name)
    if args.hint:
        print(lessons.filled(task.hints[args.hint - 1]))
        return VALID
    folder = args.into or f'{args.app}-{args.name}' + ('-prediction' if args.predict else '')
    options = shlex.join([*grade.sizes(task), *args.passed])
    files = prediction.files(task, options, TOOL) if args.predict else {task.base: tasks.started(task), 'README.md': readme(task)}
    more = ['--predict'] * args.predict + (['--', *args.passed] if args.passed else [])
    build = attempt.find_build(args.build, lessons.tree(), needed=bool(args.build))
    files['check.sh'] = check_script(task, build, more)
    if os.path.exists(os.path.join(folder, task.base)):
        raise Fault(USAGE, f'{os.path.join(folder, task.base)} exists: your work is not overwritten; give --into')
    disk.make_folder(folder)
    for file, text in files.items():
        disk.save_bytes(os.path.join(folder, file), text.encode())
    os.chmod(os.path.join(folder, 'check.sh'), 0o755)
    what = 'is for your number' if args.predict else 'is right and slow'
    print(f'{folder}: {task.base} {what}; the task is in README.md, the test is check.sh')
    return VALID
