"""`rooftop grade`: is a solution right, and is it faster or slower than the repository's?

First right or wrong, by the program's own verification, in words that say what to look for. Then the speed, as a ratio
with its interval (duel.py), or no word on it where the machine was disturbed. Several submissions are a class: all are
read before the first one runs, each in a sandbox (sandbox.py), and none can stop the others.
"""
import argparse
import csv
import dataclasses
import functools
import io
import os
import tempfile
import time
from dataclasses import dataclass
from typing import NamedTuple, Optional

from .. import ENVIRONMENT, INVALID, MEMORY, USAGE, VALID, Fault, one_line, results
from ..cli import complain, count, seconds
from ..measure import programs
from ..measure.progress import Line
from ..results import disk, figures, records
from . import attempt, duel, lesson_page, lessons, sandbox, tasks

QUICK = {'nekbone': ['--elements=6x6x6', '--iterations=50'], 'fun3d-mcpi': ['--surface=25', '--layers=20']}  # so small
# that a minute has more turns than are needed
FULL = {'nekbone': ['--elements=12x12x12', '--iterations=50'], 'alya-rhs': ['--cells=80x64x28']}  # for a GPU: there
# a small problem is launches and waits, and a slow kernel is as fast as a good one
CARRY = 'to=$0 from=$1; shift; "$@"; status=$?; [ ! -f "$from" ] || cat "$from" >"$to"; exit $status'  # out of the box
WORDS = {'same': 'the same, within the noise', 'faster': 'faster', 'slower': 'slower'}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add('app', metavar='APP', help=', '.join(results.APPS))
    add('name', metavar='EXERCISE', help='see rooftop exercise APP')
    add('files', metavar='FILE', nargs='+', help='the solution; several of a class: files, or folders that hold the file')
    add('--csv', metavar='FILE', help='write what was found as a table, a line per submission')
    add('--seconds', type=seconds, default=60.0, metavar='S', help='most time for the turns of a submission; 0: only '
        'right or wrong (default 60)')
    add('--time-limit', type=seconds, default=120.0, metavar='S', help='of one run of a submission (default 120)')
    add('--memory-limit', type=count, default=4096, metavar='MiB', help='of a process of a submission, host memory '
        '(default 4096)')
    add('--trust', action='store_true', help='run submissions also where this machine cannot confine them')
    add('--build', metavar='DIR', help='build of the source tree whose objects are used (default: this folder, or the '
        'tree)')


# ---- One submission ----

@dataclass(repr=False, eq=False)
class Found:
    """What is known of a submission. verdict: VALID, INVALID, or '' if it could not be judged; why and rates: in one or
    more lines; speed: 'faster', 'same', 'slower', or '' with the reason in no_speed."""
    submission: str
    file: str
    verdict: str = ''
    why: str = ''
    checks: int = 0
    original: bool = False
    rates: str = ''
    speed: str = ''
    ratio: Optional[float] = None
    low: Optional[float] = None
    high: Optional[float] = None
    no_speed: str = ''

    def lines(self) -> list[str]:
        """Returns what is said of it."""
        out = ["this is the repository's file: what follows is the noise of this machine"] if self.original else []
        if self.verdict != 'VALID':
            return out + (self.why or 'not judged').splitlines()
        out += [f'right: {self.checks} checks held', *self.rates.splitlines()]
        if self.ratio is not None:
            out.append(f"speed: {self.ratio:.2f} of the repository's, interval {self.low:.2f} to {self.high:.2f}: "
                       f'{WORDS[self.speed]}')
        return out + [f'speed: no mark: {self.no_speed}'] * bool(self.no_speed)


class Bench(NamedTuple):
    """What all submissions share. options: of every run, of the solution and of the repository's version."""
    args: argparse.Namespace
    task: tasks.Task
    build: str
    program: str
    options: list[str]
    box: sandbox.Box

    def seeing(self, scratch: str) -> sandbox.Box:
        return self.box._replace(shown=(lessons.tree(), self.build, scratch))

    def run(self, program: str, scratch: str) -> figures.Result:
        """Runs the rung. Returns what the program found, if it is right; else Fault: INVALID if the solution is wrong."""
        work, file = os.path.join(scratch, 'work'), os.path.join(scratch, 'result.json')
        inside = os.path.join(work, 'result.json')
        disk.make_folder(work)
        disk.remove(inside)
        disk.create(file).close()
        command = programs.launched([program, '--rung', self.task.rung.name, '--quiet', '--json', inside, *self.options], (),
                                    self.task.ranks)
        ended = self.seeing(scratch).run(['sh', '-c', CARRY, file, inside, *command], self.args.time_limit or None,
                                         file, work)
        return reading(programs.settled(ended) if self.task.ranks > 1 else ended, file)  # mpirun can fail by itself


def explained(check: records.Record) -> str:
    """Returns a failed check in words."""
    if check.convergence:
        return f'{check.name}: not converged'
    if check.value is None:
        return f'{check.name}: not finite: something was read before it was written, or divided by zero'
    if check.bound > 0:
        return f'{check.name}: the error is {check.value:.2g}, and rounding explains no more than {check.bound:.2g}'
    return f'{check.name}: {check.value:.3g}, where {check.bound:.3g} is right'


def reading(ended: programs.Ended, file: str) -> figures.Result:
    """Returns what a run shows; Fault as Bench.run."""
    if 'time limit' in ended.why:
        raise Fault(INVALID, f'{ended.why}: a loop without an end, or a barrier that not every thread reaches?')
    if ended.why or ended.exit is None or ended.exit >= 128 or 'exited on signal' in ended.text:
        raise Fault(INVALID, f'the program crashed ({ended.why or programs.reason(ended)}): does it read or write '
                    'outside of its arrays?')
    if ended.exit == MEMORY:
        raise Fault(INVALID, f'out of memory: {programs.reason(ended)}')
    if ended.exit not in (VALID, INVALID):
        raise Fault(ENVIRONMENT, programs.reason(ended))
    try:
        program = results.load(file, results.Program)
    except Fault as fault:
        raise Fault(INVALID, f'no result: {fault}') from None
    rungs = program.rungs
    if rungs and rungs[0].right and ended.exit == VALID:
        return figures.Result(program)
    failed = [check for check in (rungs[0].checks if rungs else ()) if not check.held]
    said = [f'wrong: {len(failed)} of {len(rungs[0].checks)} checks failed', *map(explained, failed[:4])] if failed else \
        [programs.reason(ended)]
    raise Fault(INVALID, '\n'.join(said))


def like(one: str, other: str) -> bool:
    """Returns whether two sources differ in nothing but comments and line breaks."""
    def words(text: str) -> list[str]:
        return lessons.TEXTS.sub(lambda match: ' ' if match[0].startswith('/') else match[0], text).split()
    return words(one) == words(other)


def text_in(path: str, links: bool) -> str:
    """Returns the text of a submission; Fault if it is none."""
    if os.path.islink(path) and not links:
        raise Fault(USAGE, f'{one_line(path)}: a link')
    try:
        return disk.read_bytes(path).decode('utf-8', 'replace')
    except OSError as error:
        raise Fault(USAGE, f'{one_line(path)}: {error.strerror}') from None


def duel_of(bench: Bench, found: Found, program: str, scratch: str, line: Line) -> None:
    """Times the solution in turns with the repository's version."""
    def runner(path: str) -> results.Rung:
        return bench.run(path, scratch).rungs[0].row

    begin = time.monotonic()
    def progress(n: int) -> None:
        line.tick(f'{found.submission}: timed in turns, {n} so far', time.monotonic() - begin)

    try:
        speed = duel.fight(functools.partial(runner, program), functools.partial(runner, bench.program), bench.args.seconds,
                           progress)
        found.speed, (found.ratio, found.low, found.high) = speed.word, (round(value, 4) for value in speed)
    except Fault as why:
        found.no_speed = str(why).splitlines()[0]


def rates_of(result: figures.Result) -> str:
    """Returns lines on what a run reached."""
    rung = result.rungs[0]
    if not rung.seconds:
        return ''
    disturbed = ', on a disturbed machine' if rung.row.disturbed else ''
    return '\n'.join([f'yours: {"; ".join(lesson_page.measured(rung))}{disturbed}', *lesson_page.timers(rung, result)])


def grade(bench: Bench, found: Found, text: str, line: Line) -> None:
    """Fills in what is found of a submission; Fault if it is not right."""
    with tempfile.TemporaryDirectory(prefix='rooftop-grade-') as scratch:
        scratch = os.path.realpath(scratch)
        found.original = like(text, lessons.text_of(os.path.join(lessons.tree(), bench.task.file)))
        line.tick(f'{found.submission}: compiling', 0)
        program = attempt.build(bench.task, text, os.path.basename(found.file), bench.build, scratch, bench.seeing(scratch))
        line.tick(f'{found.submission}: is it right?', 0)
        got = bench.run(program, scratch)
        found.verdict, found.checks, found.rates = 'VALID', len(got.rungs[0].row.checks), rates_of(got)
        if bench.args.seconds and found.rates:
            duel_of(bench, found, program, scratch, line)


# ---- All of them ----

def submission(path: str, task: tasks.Task) -> Found:
    """Returns the submission that an argument names: a file, or a folder with the task's file in it."""
    if os.path.isdir(path):
        return Found(one_line(os.path.basename(os.path.abspath(path))), os.path.join(path, task.base))
    if not os.path.lexists(path):
        raise Fault(USAGE, f'{path}: no such file')
    return Found(one_line(os.path.splitext(os.path.basename(path))[0]), path)


def save(path: Optional[str], found: list[Found]) -> None:
    """Writes the table that was asked for."""
    if path:
        out = io.StringIO()
        writer = csv.DictWriter(out, [member.name for member in dataclasses.fields(Found)], lineterminator='\n')
        writer.writeheader()
        writer.writerows({name: value.replace('\n', '; ') if isinstance(value, str) else value
                          for name, value in dataclasses.asdict(one).items()} for one in found)
        disk.save_bytes(path, out.getvalue().encode('utf-8', 'replace'))


def grade_all(bench: Bench, found: list[Found]) -> int:
    """Grades every submission, and says what was found: in one line each, or all of it if there is one."""
    args, texts, many = bench.args, dict[str, str](), len(found) > 1
    for one in found:  # before the first one runs: none can change another
        try:
            texts[one.file] = text_in(one.file, links=not many)
        except Fault as fault:
            one.why = str(fault)
    width = max(len(one.submission) for one in found)
    for i, one in enumerate(found, 1):
        line = Line()
        try:  # none stops the others
            if one.file in texts:
                grade(bench, one, texts[one.file], line)
        except (Fault, OSError, MemoryError, ValueError) as fault:
            one.verdict = 'INVALID' if isinstance(fault, Fault) and fault.status == INVALID else ''
            one.why = str(fault) or type(fault).__name__
        if many:
            said = one.lines()[-1 if one.verdict == 'VALID' else 0]
            line.say(f'[{i}/{len(found)}] {one.submission:{width}}  {one.verdict or "not judged"}: {one_line(said)}')
        elif line.live:
            line.say('')
        save(args.csv, found[:i])
    right = sum(one.verdict == 'VALID' for one in found)
    if many:
        print(f'{args.app} {args.name}: {right} of {len(found)} right')
    elif not found[0].verdict:
        raise Fault(ENVIRONMENT, f'{args.name}: could not be judged: {found[0].why}')
    else:
        print('\n'.join([*found[0].lines(), f'{args.app} {args.name}: {found[0].verdict}']))
    return INVALID if any(one.verdict == 'INVALID' for one in found) else VALID if right == len(found) else ENVIRONMENT


def main(args: argparse.Namespace) -> int:
    task = tasks.find(args.app, args.name)
    todo = [submission(path, task) for path in args.files]
    if args.csv:
        disk.check_writable(args.csv)
    refused = sandbox.refused()
    if refused and not args.trust:
        raise Fault(ENVIRONMENT, f'submissions cannot be confined here: {refused}; --trust runs them as you, unconfined')
    if refused:
        complain(f'submissions run unconfined: {refused}')
    os.environ.setdefault('ROOFTOP_INPUTS', os.path.join(lessons.tree(), 'inputs'))  # the solution's program is elsewhere
    build = attempt.find_build(args.build, lessons.tree())
    sizes = (FULL if task.rung.kind == 'cuda' else QUICK).get(task.app, [])  # of a problem that takes seconds
    others = {os.path.dirname(os.path.abspath(path)) for path in args.files} if len(todo) > 1 else ()
    return grade_all(Bench(
        args, task, build, attempt.repository_program(build, task.app),
        [*sizes, '--seconds=0.1', *args.passed, *task.options],
        sandbox.Box(tuple(others), (), args.memory_limit << 20, task.rung.kind != 'cpu', bool(refused))), todo)
