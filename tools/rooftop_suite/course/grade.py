"""`rooftop grade`: is a solution right, and is it faster or slower than the repository's?

First right or wrong, by the program's own verification, in words that say what to look for. Then the speed: both
programs are timed alternately, close together, so that what slows the machine slows both. The ratio is the median over the
turns, its interval all of them: by the sign test the true ratio is outside of it in 1.6 % of cases, whatever the noise
is. A solution may do what who grades it may: docs/teaching.md says how to confine those of a class.
"""
import argparse
import functools
import os
import statistics
import tempfile
import time
from typing import Callable

from .. import ENVIRONMENT, INVALID, MEMORY, USAGE, VALID, Fault, results
from ..cli import seconds
from ..measure import programs
from ..measure.progress import Line
from ..results import disk, explain, figures, records
from . import attempt, lesson_page, lessons, prediction, tasks

QUICK = {'nekbone': ['--elements=6x6x6', '--iterations=50'], 'fun3d-mcpi': ['--surface=25', '--layers=20']}  # so small
# that all turns take seconds
FULL = {'nekbone': ['--elements=12x12x12', '--iterations=50'], 'alya-rhs': ['--cells=80x64x28']}  # for a GPU: there
# a small problem is launches and waits, and a slow kernel is as fast as a good one
TURNS = 7
PRECISE = 0.05  # half of the interval, as a share of the ratio: wider says nothing
SAME = 0.02  # ratios this near to 1 are the same: where the linker puts a loop can cost that much
ONCE = 0.1  # seconds of timing where only right or wrong is asked for


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add('app', metavar='APP', help=', '.join(results.APPS))
    add('name', metavar='EXERCISE', help='see rooftop exercise APP')
    add('file', metavar='FILE', help='the solution')
    add('--predict', action='store_true', help='EXERCISE is a rung, and FILE a prediction of its time')
    add('--seconds', type=seconds, default=0.2, metavar='S', help=f'of timing in each of {TURNS} turns; 0: only right or '
        'wrong (default 0.2)')
    add('--time-limit', type=seconds, default=120.0, metavar='S', help='of one run of the solution (default 120)')
    attempt.add_arguments(parser)


# ---- One run ----

def run(task: tasks.Task, program: str, options: list[str], limit: float) -> figures.Result:
    """Runs the rung. Returns what the program found, if it is right; else Fault: INVALID if the solution is wrong."""
    with tempfile.TemporaryDirectory(prefix='rooftop-grade-') as folder:
        file = os.path.join(folder, 'result.json')
        ended = programs.run(programs.launched(
            [program, '--rung', task.rung.name, '--quiet', '--json', file, *options], (), task.ranks), limit=limit or None)
        return reading(programs.settled(ended) if task.ranks > 1 else ended, file)  # mpirun can fail by itself


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
    """Returns what a run shows; Fault as run."""
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


def rates_of(result: figures.Result) -> list[str]:
    """Returns lines on what a run reached."""
    rung = result.rungs[0]
    if not rung.seconds:
        return []
    disturbed = ', on a disturbed machine' if rung.row.disturbed else ''
    return [f'yours: {"; ".join(lesson_page.measured(rung))}{disturbed}', *lesson_page.timers(rung, result)]


# ---- Against the repository's version ----

Runner = Callable[[], figures.Result]


def speed(ours: Runner, theirs: Runner, progress: Callable[[int], None] = lambda n: None) -> str:
    """Returns a line on how fast one program is beside another, or why there is no telling. A turn in which the machine
    was disturbed does not count."""
    ratios, disturbed = list[float](), list[str]()
    while len(ratios) < TURNS and len(disturbed) < TURNS:
        turn = len(ratios) + len(disturbed) + 1
        pair = {run: run().rungs[0].row for run in ((theirs, ours) if turn % 2 else (ours, theirs))}
        said = pair[ours].disturbed + pair[theirs].disturbed
        if said:
            disturbed.append('; '.join(dict.fromkeys(said)))
        else:
            ratios.append(pair[theirs].seconds_per_unit / pair[ours].seconds_per_unit)
        progress(turn)
    if len(ratios) < TURNS:
        return f'no mark: the machine was disturbed in {TURNS} of {turn} turns ({max(disturbed, key=disturbed.count)}): ' \
               'grade again on a quiet machine'
    ratio, low, high = statistics.median(ratios), min(ratios), max(ratios)
    word = 'faster' if low > 1 + SAME else 'slower' if high < 1 / (1 + SAME) else \
        'the same, within the noise' if high - low <= 2 * PRECISE * ratio else ''
    return f"{ratio:.2f} of the repository's, interval {low:.2f} to {high:.2f}: {word}" if word else \
        f'no mark: the ratio is between {low:.2f} and {high:.2f}: the machine is too noisy to tell'


# ---- All of it ----

def sizes(task: tasks.Task) -> list[str]:
    """Returns options for a problem that takes seconds."""
    return (FULL if task.rung.kind == 'cuda' else QUICK).get(task.app, [])


def predicted(args: argparse.Namespace, task: tasks.Task, text: str, build: str, line: Line) -> list[str]:
    """Returns what is found of a prediction, by the first run on a quiet machine."""
    told, disturbed = prediction.seconds_in(text, args.file, task.name), list[str]()
    program = attempt.repository_program(build, task.app)
    for turn in range(TURNS):
        line.tick(f'run {turn + 1}', 0)
        got = run(task, program, [*sizes(task), f'--seconds={args.seconds or ONCE}', *args.passed], args.time_limit)
        rung = got.rungs[0]
        if rung.seconds and not rung.row.disturbed:
            return prediction.marked(told, rung, explain.budget(rung, got))
        disturbed += rung.row.disturbed
    return [f'no mark: the machine was disturbed in {TURNS} runs ({", ".join(disturbed[:1])}): grade again on a quiet machine']


def grade(args: argparse.Namespace, task: tasks.Task, text: str, build: str, line: Line) -> list[str]:
    """Returns what is found of a solution; Fault if it is not right."""
    options = [*sizes(task), f'--seconds={args.seconds or ONCE}', *args.passed, *task.options]
    begin, repository = time.monotonic(), attempt.repository_program(build, task.app)
    with tempfile.TemporaryDirectory(prefix='rooftop-grade-') as scratch:
        line.tick('compiling', 0)
        program = attempt.build(task, text, os.path.basename(args.file), build, os.path.realpath(scratch))
        line.tick('is it right?', 0)
        got = run(task, program, options, args.time_limit)
        said = [f'right: {len(got.rungs[0].row.checks)} checks held', *rates_of(got)]
        if not (args.seconds and got.rungs[0].seconds):
            return said
        ours, theirs = (functools.partial(run, task, path, options, args.time_limit) for path in (program, repository))
        try:
            mark = speed(ours, theirs, lambda n: line.tick(f'timed alternately, {n} so far', time.monotonic() - begin))
        except Fault as why:
            mark = f'no mark: {str(why).splitlines()[0]}'
    return [*said, f'speed: {mark}']


def main(args: argparse.Namespace) -> int:
    task, line, status = (prediction.task if args.predict else tasks.find)(args.app, args.name), Line(), VALID
    try:
        text = disk.read_bytes(args.file).decode('utf-8', 'replace')
    except OSError as error:
        raise Fault(USAGE, f'{args.file}: {error.strerror}') from None
    os.environ.setdefault('ROOFTOP_INPUTS', os.path.join(lessons.tree(), 'inputs'))  # the solution's program is elsewhere
    build = attempt.find_build(args.build, lessons.tree())
    try:
        said = (predicted if args.predict else grade)(args, task, text, build, line)
    except Fault as fault:
        if fault.status == USAGE:
            raise
        if fault.status != INVALID:
            raise Fault(ENVIRONMENT, f'{args.name}: could not be judged: {fault}') from None
        said, status = [str(fault)], INVALID
    finally:
        if line.live:
            line.say('', last=False)
    print('\n'.join([*said, f'{args.app} {args.name}: {"INVALID" if status else "VALID"}']))
    return status
