"""`rooftop exercise` and `rooftop grade`: a rung with the part to write taken out, and a judge of what was written.

exercise makes a folder: the rung's source without the bodies that its lesson names, the rung before it, the task and
the test. grade builds the file in place of the rung: it compiles it in a copy of the app's folder and links it before
the library of a build, so the rung in the library is not used. Neither the source tree nor that build is written to,
except by make, which brings the build up to date. The program's own verification judges the file; then it is timed,
alternating with the rung before, the repository's rung and the rung after it.
"""
import argparse
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from typing import NamedTuple, Optional

from . import ENVIRONMENT, INVALID, USAGE, VALID, Fault, lessons, programs, results
from .cli import count

RULES = """include Makefile
rung = $(FOLDER)/rung.o
$(rung): $(FILE)
	$(COMPILE_{suffix}) -c -o $@ $<
COMPILE_c = $(COMPILE)
COMPILE_cu = $(NVCC) $(DEFS) $(AM_CPPFLAGS) $(CPPFLAGS) $(RT_NVCCFLAGS) $(NVCCFLAGS)
COMPILE_cpp = $(KOKKOS_CXX) $(DEFS) $(AM_CPPFLAGS) $(KOKKOS_CPPFLAGS) $(CPPFLAGS) $(KOKKOS_CXXFLAGS)
objects = $({app}_OBJECTS)
$(FOLDER)/{name}: $(rung) $(objects) $({app}_DEPENDENCIES)
	$(LINK) $(objects) $(rung) $({app}_LDADD) $(LIBS)
"""  # as in Makefile.am, without the dependency files
LIMIT = 1800  # seconds: a build or a run that takes longer is taken to hang


def add_arguments_exercise(parser: argparse.ArgumentParser) -> None:
    common_arguments(parser)
    parser.add_argument('--into', metavar='DIR', help='folder to make (default: APP-RUNG)')


def add_arguments_grade(parser: argparse.ArgumentParser) -> None:
    common_arguments(parser)
    parser.add_argument('file', metavar='FILE', help='the solution')
    parser.add_argument('--build', metavar='DIR', help='build of the source tree whose objects are used; it is made if it '
                        'does not exist (default: this folder or the tree, if it is a build, else a temporary one)')
    parser.add_argument('--configure', metavar='OPTIONS', default='', help='of configure, if a build is made')
    parser.add_argument('--repeats', type=count, default=3, metavar='N', help='of each timing (default 3)')


def common_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('app', metavar='APP', help=', '.join(results.APPS))
    parser.add_argument('rung', metavar='RUNG', help='see APP --list')
    parser.add_argument('--source', metavar='DIR', help='the source tree (default: that of this tool)')


class Task:
    """A rung, its lesson, and its files in the tree."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.tree = lessons.tree_of(args.source)
        self.all = lessons.read(args.app).of
        self.rungs = lessons.ladder(args.app, self.tree)
        self.rung = lessons.rung_of(args.app, args.rung, self.tree)
        if self.rung.name not in self.all:
            raise Fault(ENVIRONMENT, f'docs/lessons/{args.app}.md has no lesson on {self.rung.name}')
        self.lesson = self.all[self.rung.name]
        if not self.rung.after:
            raise Fault(USAGE, f'{self.rung.name} is the oracle that judges all others: there is no exercise on it')
        self.file = lessons.source(self.rung, self.lesson)

    def before(self) -> lessons.Rung:
        """Returns the rung that this one's source is compared with."""
        return lessons.rung_of(self.rung.app, self.lesson.before or self.rung.after, self.tree)

    def neighbours(self) -> tuple[list[str], list[str]]:
        """Returns the names of the rung that this one is compared with, and of the first that is compared with it."""
        later = [rung.name for rung in self.rungs if rung.after == self.rung.name and rung.kind == self.rung.kind]
        return [self.rung.after], later[:1]


# ---- exercise ----

def header(task: Task, exercise: lessons.Exercise) -> str:
    """Returns the comment that comes before the file's own."""
    rung = task.rung
    text = f'Exercise: {rung.app} {rung.name}. To write: {", ".join(exercise.names)}: {exercise.task}\n\n' \
           f'Judged by: rooftop grade {rung.app} {rung.name} {os.path.basename(task.file)}'
    return '/*\n' + '\n'.join(f' * {line}'.rstrip() for line in lessons.filled(text, 97).split('\n')) + '\n */\n'


def page(task: Task, exercise: lessons.Exercise, before: str) -> str:
    rung, lesson = task.rung, task.lesson
    name = os.path.basename(task.file)
    functions = ', '.join(f'`{function}`' for function in exercise.names)
    text = [f'# {rung.app}: write {rung.name}', lessons.filled(lesson.idea),
            '## First predict', lessons.filled(lesson.predict),
            '## Then write', lessons.filled(
                f'In `{name}`, {functions}: {exercise.task} The rest of the file is complete. '
                f'`before/{os.path.basename(before)}` is the rung before, `{task.before().name}`, from the repository. '
                f'Headers that the file includes are in apps/{rung.app} of the source tree.'),
            '## Then measure', lessons.filled(
                '`./check.sh` builds the file in place of the rung, verifies it, and times it together with its neighbours; '
                f'options of {rung.app} follow `--`, as in `./check.sh -- --size tiny`. Compare with what you '
                f'predicted. The answer is in docs/lessons/{rung.app}.md, the code in {task.file}.')]
    return '\n\n'.join(text) + '\n'


def check_script(task: Task) -> str:
    words = [os.path.realpath(sys.argv[0]), 'grade', task.rung.app, task.rung.name]
    return '#!/bin/sh\n# Builds, verifies and times the solution: status 0 valid, 1 invalid.\n' \
           f'exec {shlex.join(words)} "$(dirname "$0")"/{shlex.quote(os.path.basename(task.file))} ' \
           f'--source {shlex.quote(task.tree)} "$@"\n'


def main_exercise(args: argparse.Namespace) -> int:
    task = Task(args)
    exercise = task.lesson.exercise
    if not exercise:
        possible = [name for name, lesson in task.all.items() if lesson.exercise]
        raise Fault(USAGE, f'{args.rung} has no exercise; those of {args.app}: {", ".join(possible)}')
    before = lessons.source(task.before(), task.all[task.before().name])
    folder = args.into or f'{args.app}-{args.rung}'
    name = os.path.basename(task.file)
    if os.path.exists(os.path.join(folder, name)):
        raise Fault(USAGE, f'{os.path.join(folder, name)} exists: your work is not overwritten; give --into')
    whole = lessons.text_of(os.path.join(task.tree, task.file))
    left = lessons.take_out(whole, exercise.names, task.file)
    os.makedirs(os.path.join(folder, 'before'), exist_ok=True)
    files = {name: header(task, exercise) + left, 'README.md': page(task, exercise, before), 'check.sh': check_script(task),
             os.path.join('before', os.path.basename(before)): lessons.text_of(os.path.join(task.tree, before))}
    for file, text in files.items():
        results.save_bytes(os.path.join(folder, file), text.encode())
    os.chmod(os.path.join(folder, 'check.sh'), 0o755)
    print(f'{folder}: {name} without {", ".join(exercise.names)}; the task is in README.md, the test is '
          'check.sh')
    return VALID


# ---- grade: building ----

def is_build_of(folder: str, tree: str) -> bool:
    """Returns whether this is a configured build of the tree."""
    status = os.path.join(folder, 'config.status')
    if not os.path.isfile(status):
        return False
    said = [line for line in lessons.text_of(os.path.join(folder, 'Makefile')).splitlines()
            if line.startswith('abs_top_srcdir = ')]
    return bool(said) and os.path.realpath(said[0].partition(' = ')[2]) == os.path.realpath(tree)


def said_by(ended: programs.Ended) -> str:
    """Returns the lines of a build that say what is wrong, at most five."""
    lines = ended.text.splitlines()
    faults = ('error', 'undefined reference', 'multiple definition')
    wrong = [line for line in lines if any(fault in line for fault in faults)]
    return '\n'.join(wrong[:5] or lines[-5:])


def built(command: list[str], what: str) -> None:
    ended = programs.run(command, limit=LIMIT)
    if ended.exit != 0:
        raise Fault(ENVIRONMENT, f'{what} failed ({ended.why or f"{ended.exit}"}):\n{said_by(ended)}')


def find_build(args: argparse.Namespace, task: Task, scratch: str) -> str:
    """Returns a build of the tree, made if there is none."""
    if args.build and os.path.isdir(args.build) and os.listdir(args.build):
        if not is_build_of(args.build, task.tree):
            raise Fault(USAGE, f'--build {args.build}: not a build of {task.tree}')
        return str(os.path.abspath(args.build))
    if not args.build:
        for folder in (os.getcwd(), task.tree):
            if is_build_of(folder, task.tree):
                return os.path.abspath(folder)
    folder = os.path.abspath(args.build or os.path.join(scratch, 'build'))
    if not os.path.isfile(os.path.join(task.tree, 'configure')):
        raise Fault(ENVIRONMENT, f'{task.tree} has no configure: run ./bootstrap there, or give --build')
    print(f'no build of {task.tree} here: making one in {folder}, which takes minutes' +
          ('' if args.build else '; keep one with --build DIR'), file=sys.stderr, flush=True)
    os.makedirs(folder, exist_ok=True)
    words = shlex.join([os.path.join(task.tree, 'configure'), *shlex.split(args.configure)])
    built(['sh', '-c', f'cd {shlex.quote(folder)} && {words}'], 'configure')
    return folder


def copy_of_app(task: Task, file: str, scratch: str) -> tuple[str, str]:
    """Copies the app's folder with the file in place of the rung's. Returns the source to compile, in the copy and under
    the tree."""
    where = os.path.join(scratch, 'source')
    folder = os.path.join('apps', task.rung.app)
    for place, _, names in os.walk(os.path.join(task.tree, folder)):  # copytree would copy a read-only mode too
        to = os.path.join(where, os.path.relpath(place, task.tree))
        os.makedirs(to)
        for name in names:
            if name.endswith(('.c', '.h', '.cu', '.cuh', '.cpp', '.hpp', '.def', '.inc')):
                shutil.copyfile(os.path.join(place, name), os.path.join(to, name))
    shutil.copyfile(file, os.path.join(where, task.file))
    compiled = task.file if task.file.endswith(('.c', '.cu', '.cpp')) else lessons.own(task.rung)
    return os.path.join(where, compiled), compiled


def symbols(file: str) -> set[str]:
    """Returns the global symbols of an object, without those that C++ may define many times; none if nm is missing."""
    try:
        said = subprocess.run(['nm', '-g', '--defined-only', file], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              encoding='utf-8', errors='replace', timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return set()
    rows = [line.split() for line in said.stdout.splitlines()]
    return {row[2] for row in rows if len(row) == 3 and row[1] in 'TDBRGS'}


class NotBuilt(Exception):
    """The solution does not compile or link."""


def build(args: argparse.Namespace, task: Task, scratch: str) -> tuple[str, str]:
    """Returns the program with the file in it, and the repository's program."""
    folder = find_build(args, task, scratch)
    app = task.rung.app
    own = os.path.join('apps', app, app)
    if not os.path.isfile(os.path.join(folder, own)):
        built(['make', '-C', folder, f'-j{os.cpu_count() or 1}', own], f'make {own}')
    file, compiled = copy_of_app(task, args.file, scratch)
    rules = os.path.join(scratch, 'grade.mk')
    variable = f'apps_{app}_{app}'.replace('-', '_')
    suffix = compiled.rpartition('.')[2]
    with open(rules, 'w', encoding='utf-8') as out:
        out.write(RULES.replace('{app}', variable).replace('{name}', app).replace('{suffix}', suffix))
    program = os.path.join(scratch, app)
    ended = programs.run(['make', '-C', folder, '-f', rules, f'FOLDER={scratch}', f'FILE={file}', program], limit=LIMIT)
    if ended.exit != 0:
        raise NotBuilt(said_by(ended).replace(file, args.file))
    theirs = symbols(os.path.join(scratch, 'rung.o'))
    ours = symbols(os.path.join(folder, compiled.rpartition('.')[0] + '.o'))
    if theirs and ours and theirs - ours:
        raise NotBuilt(f'{args.file}: defines {", ".join(sorted(theirs - ours))}, which the rung does not: make it '
                       'static')
    return program, os.path.join(folder, own)


# ---- grade: verifying and timing ----

class Judgement(NamedTuple):
    """rung: what the program found, or None and why as text, with the status to end with."""
    rung: Optional[results.Rung]
    why: str
    status: int


def judge(program: str, task: Task, options: list[str], scratch: str) -> Judgement:
    file = os.path.join(scratch, 'result.json')
    results.remove(file)
    ended = programs.run([program, '--rung', task.rung.name, '--quiet', '--json', file, *options], limit=LIMIT)
    if ended.exit not in (VALID, INVALID):
        return Judgement(None, programs.reason(ended), ended.exit if ended.exit in (2, 3, 4) else ENVIRONMENT)
    rungs = results.load(file, results.Program).rungs if os.path.exists(file) else []
    if rungs and rungs[0].right and ended.exit == VALID:
        return Judgement(rungs[0], '', VALID)
    failed = [check for check in (rungs[0].checks if rungs else ()) if not check.held]
    said = [f'{check.name}: {"not finite" if check.value is None else f"{check.value:.3g}"}, bound {check.bound:.3g}'
            for check in failed[:5]]
    return Judgement(None, '\n'.join(said) or programs.reason(ended), INVALID)


class Runner(NamedTuple):
    program: str
    rung: str
    options: list[str]


MOST_NOISE = 0.1  # of a comparison: what is noisier is not ranked


class Time(NamedTuple):
    """Median seconds per unit; noise: half the range of the turns, or half the spread of the windows, as a share."""
    seconds: float
    unit: str
    noise: float


def time_of(turns: list[results.Rung]) -> Time:
    times = [rung.seconds_per_unit or 0.0 for rung in turns]
    middle = statistics.median(times)
    spread = statistics.median(rung.spread or 0.0 for rung in turns)
    return Time(middle, turns[0].unit or 'unit', max(spread / 2, (max(times) - min(times)) / 2 / middle))


def ranked(own: Time, other: Time, name: str) -> str:
    """Returns how the solution compares with another; no ratio where that would be noise."""
    ratio, noise = other.seconds / own.seconds, own.noise + other.noise
    if noise > MOST_NOISE:
        return f'not ranked against {name}: the times of this machine differ by {100 * noise:.0f} %'
    if abs(ratio - 1) <= noise:
        return f'as fast as {name}, within the noise of {100 * noise:.1f} %'
    return f'{ratio:.2f}x as fast as {name}'


def race(runners: dict[str, Runner], repeats: int, scratch: str) -> dict[str, Time]:
    """Times the runners alternately; returns the times of those that ran."""
    turns: dict[str, list[results.Rung]] = {}
    file = os.path.join(scratch, 'time.json')
    for _ in range(repeats):
        for name, (program, rung, options) in runners.items():
            got = programs.measure(program, ['--rung', rung, '--quiet', *options], file, limit=LIMIT)
            if not got.result:
                print(f'{name}: not timed: {got.why}')
            for row in got.result.rungs[:1] if got.result else ():
                if row.seconds_per_unit:
                    turns.setdefault(name, []).append(row)
    return {name: time_of(found) for name, found in turns.items()}


def standing(task: Task, times: dict[str, Time]) -> list[str]:
    """Returns lines on the time of each runner, and on how the solution compares."""
    if 'yours' not in times:
        return ['not timed: give time with -- --seconds S']
    own = times['yours']
    width = max(map(len, times))
    lines = [f'{name:{width}}  {1e6 * time.seconds:12.2f} us per {time.unit}  noise {100 * time.noise:.1f} %'
             for name, time in times.items()]
    before, after = task.neighbours()
    others = [(name, name) for name in before + after] + [('repository', "the repository's")]
    return lines + [f'{task.rung.name}: yours is {ranked(own, times[name], said)}' for name, said in others if name in times]


def main_grade(args: argparse.Namespace) -> int:
    task = Task(args)
    if not os.path.isfile(args.file):
        raise Fault(USAGE, f'{args.file}: no such file')
    exercise = task.lesson.exercise
    options = (exercise.options if exercise else []) + args.passed
    with tempfile.TemporaryDirectory(prefix='rooftop-grade-') as scratch:
        try:
            program, own = build(args, task, scratch)
        except NotBuilt as why:
            print(f'{why}\n{args.app} {args.rung}: INVALID: it is not built')
            return INVALID
        rung, text, status = judge(program, task, options, scratch)
        if not rung:
            print(text)
            if status == INVALID:
                print(f'{args.app} {args.rung}: INVALID')
                return INVALID
            raise Fault(status, f'{args.rung}: could not be judged')
        print(f'{len(rung.checks)} checks held')
        if results.sha256_of(args.file) == results.sha256_of(os.path.join(task.tree, task.file)):
            print("this is the repository's own file")
        before, after = task.neighbours()
        runners = {name: Runner(own, name, args.passed) for name in before}
        runners.update(yours=Runner(program, args.rung, options), repository=Runner(own, args.rung, options))
        runners.update({name: Runner(own, name, args.passed) for name in after})
        if rung.seconds_per_unit:
            print('\n'.join(standing(task, race(runners, args.repeats, scratch))))
        print(f'{args.app} {args.rung}: VALID')
        return VALID
