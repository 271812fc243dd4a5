"""`rooftop study TABLE`: runs programs at the points of a table, and compares series of runs beyond their noise.

A line of the table is a series: 'NAME: APP OPTIONS', or 'NAME / A, B: APP OPTIONS', which is compared with the series A
and B above it. A list {a,b} in the options means a run with a and one with b; all combinations of its lists are the
points of a series. 'WORD = TEXT' lets later lines say $WORD; # begins a comment. A series with --tune-seconds searches at
each point, and is timed again with what that found. docs/auto-tuning.md has the study of CRESTA D3.5.2 as such tables.

Each run leaves one result in DIR/runs, whole or not at all, and is not repeated when the command is given again.
"""
import argparse
import itertools
import math
import os
import re
import shlex
import statistics
import string
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Optional

from .. import ENVIRONMENT, INVALID, USAGE, VALID, Fault, Interrupted, results
from ..cli import count, minutes
from ..results import Program, disk
from ..results.collect import noise_of
from . import programs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add('table', metavar='TABLE', help='such as inputs/nekbone/cpu.study')
    add('--into', default='rooftop-study', metavar='DIR', help='results and report; runs that are there are not '
        'repeated (default rooftop-study)')
    add('--ranks', type=count, default=1, metavar='N', help='of MPI (default 1)')
    programs.add_launcher(parser)
    add('--repeats', type=count, default=3, metavar='N',
        help='of each timing, alternating between series; the median counts (default 3)')
    add('--report', action='store_true', help='run nothing: the report of the runs that are there')
    programs.add_arguments(parser)


class Series(NamedTuple):
    """A line of the table. points: {the values of its lists: options}."""
    name: str
    bases: list[str]
    app: str
    points: dict[str, list[str]]


# ---- The table ----

def expanded(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yields (values, options) of every combination of the lists {a,b} in a text."""
    parts = re.split(r'\{([^{}]*)\}', text)
    for values in itertools.product(*(part.split(',') for part in parts[1::2])):
        whole = ''.join(itertools.chain(*zip(parts[::2], [*values, ''])))
        yield ' '.join(values) or 'all', shlex.split(whole)


def series_of(text: str, path: str) -> list[Series]:
    """Returns the series of a table."""
    found: dict[str, Series] = {}
    words: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.partition('#')[0].strip()
        word = re.fullmatch(r'(\w+)\s*=\s*(.*)', line)
        row = re.fullmatch(r'([\w-]+)\s*(?:/([\w\s,-]+))?:\s*(\S+)\s+(.*)', line)
        try:
            if word:
                words[word[1]] = string.Template(word[2]).substitute(words)
            elif row:
                name, bases = row[1], re.findall(r'[\w-]+', row[2] or '')
                if name in found or not set(bases) <= found.keys():
                    raise ValueError(f"'{name}' must be a new name, and compared with series above it")
                points = dict(expanded(string.Template(row[4]).substitute(words)))
                found[name] = Series(name, bases, row[3], points)
            elif line:
                raise ValueError("not 'NAME: APP OPTIONS' or 'WORD = TEXT'")
        except KeyError as error:
            raise Fault(USAGE, f'{path}:{number}: no line above says what ${error.args[0]} is') from None
        except ValueError as error:
            raise Fault(USAGE, f'{path}:{number}: {error}') from None
    if not found:
        raise Fault(USAGE, f'{path}: no series in it')
    return list(found.values())


# ---- Running it ----

class Job(NamedTuple):
    series: Series
    point: str
    repeat: int

    @property
    def name(self) -> str:
        return f'{self.series.name}-{re.sub("[^A-Za-z0-9.]+", "-", self.point)}-{self.repeat}'


Outcome = tuple[Optional[Program], str]  # a result, or why there is none


def read(folder: str, name: str) -> Optional[Outcome]:
    """Returns what a run left; None: it is still to be made."""
    path = os.path.join(folder, 'runs', name)
    if os.path.exists(f'{path}.failed'):
        return None, disk.read_bytes(f'{path}.failed').decode()
    try:
        return (results.load(f'{path}.json', Program), '') if os.path.exists(f'{path}.json') else None
    except Fault as fault:
        print(f'{fault}: it does not count')
        return None


def options_of(job: Job, folder: str) -> Optional[list[str]]:
    """Returns the options of a run; None: the search that it needs found nothing."""
    words = list(job.series.points[job.point])
    if '--tune-seconds' not in words:
        return words
    if job.repeat == 0:
        return words + ['--tuning', os.path.join(folder, f'{job.series.name}.tuning')]
    found = read(folder, job._replace(repeat=0).name)
    if not found or not found[0]:
        return None
    at = words.index('--tune-seconds')
    words[at:at + 2] = ['--no-tuning']
    choice = ','.join(f'{name}={value}' for name, value in found[0].rungs[0].choice.items())
    return [word for word in words if word != '--isolated'] + (['--choose', choice] if choice else [])


def run(job: Job, args: argparse.Namespace) -> bool:
    """Runs a job; returns whether there was anything to run."""
    words = options_of(job, args.into)
    if words is None:
        return False
    program, path = programs.find(job.series.app, args.bindir), os.path.join(args.into, 'runs', job.name)
    launcher = programs.launcher_words(args.launcher, args.ranks)
    got = programs.measure(program, [*words, '--quiet'], f'{path}.json', launcher=launcher, ranks=args.ranks)
    if not got.result:
        if got.ended.exit not in (VALID, INVALID, 4) and 'cannot run this problem' not in got.why:
            raise Fault(programs.status_of(got.ended), f'{got.why}: {shlex.join([program, *words])}')
        disk.save_bytes(f'{path}.failed', got.why.encode())
    return True


def jobs_of(table: list[Series], repeats: int) -> list[Job]:
    """Returns all runs; series that are compared alternate."""
    points = dict.fromkeys(point for series in table for point in series.points)
    return [Job(series, point, repeat) for point in points for repeat in range(repeats)
            for series in table if point in series.points]


def run_all(table: list[Series], text: str, args: argparse.Namespace) -> None:
    """Runs what is not there. A folder has runs of one table and number of ranks."""
    path, mine = os.path.join(args.into, 'study.json'), {'table': text, 'ranks': args.ranks}
    for app in dict.fromkeys(series.app for series in table):
        programs.rungs(programs.find(app, args.bindir))
    if not os.path.exists(path):
        disk.make_folder(os.path.join(args.into, 'runs'), USAGE)
        disk.save(path, mine)
    elif disk.parse(path) != disk.printable(mine):
        raise Fault(USAGE, f'{args.into} has runs of another table or other --ranks: give another --into')
    jobs = jobs_of(table, args.repeats)
    todo = [job for job in jobs if read(args.into, job.name) is None]
    made, begin = 0, time.monotonic()
    for i, job in enumerate(todo):
        left = f'; {minutes((time.monotonic() - begin) / i * (len(todo) - i))} left' if i else ''
        print(f'{i + 1}/{len(todo)}  {job.series.name} {job.point}{f" again ({job.repeat})" if job.repeat else ""}{left}',
              flush=True)
        made += run(job, args)
    print(f'{made} runs made, {len(jobs) - len(todo)} were there')


# ---- What was measured ----

class Value(NamedTuple):
    """Median of the repeats: seconds per unit, figure of merit, and the noise as a share."""
    seconds: float
    gflops: float
    noise: float


def value_of(repeats: Sequence[Program]) -> Value:
    rungs = [result.rungs[0] for result in repeats]
    times = [rung.seconds_per_unit or 0.0 for rung in rungs]
    middle = statistics.median(times)
    return Value(middle, (rungs[0].credited_flop_per_unit or 0.0) / middle / 1e9, max(
        (max(times) - min(times)) / 2 / middle, statistics.median(noise_of(rung.window_seconds, rung.spread) for rung in rungs)))


def gain(new: Value, old: Value) -> tuple[float, str]:
    """Returns old time over new time, and 'faster', 'slower' or '': only beyond twice the noise, as compare says it."""
    ratio = old.seconds / new.seconds
    beyond = abs(math.log(ratio)) > math.log1p(2 * math.hypot(new.noise, old.noise))
    return ratio, ('faster' if ratio > 1 else 'slower') * beyond


class Report:
    """Of all runs of a folder. values: {(series, point): Value}; failed: {run: why}."""

    def __init__(self, table: list[Series], folder: str, repeats: int) -> None:
        self.table, self.folder, self.failed = table, folder, dict[str, str]()
        groups: dict[tuple[str, str], list[Program]] = {}
        for job in jobs_of(table, repeats):
            result, why = read(folder, job.name) or (None, '')
            if why:
                self.failed[job.name] = why
            if result and result.rungs[0].seconds_per_unit:
                groups.setdefault((job.series.name, job.point), []).append(result)
        self.values = {key: value_of(group) for key, group in groups.items()}
        self.programs = [group[0] for group in groups.values()]

    def gains(self, series: Series, base: str) -> dict[str, tuple[float, str]]:
        """Returns {point: gain} where a series and the one that it is compared with were both measured."""
        both = {point: [self.values.get((name, point)) for name in (series.name, base)] for point in series.points}
        return {point: gain(new, old) for point, (new, old) in both.items() if new and old}

    def cell(self, series: Series, point: str) -> str:
        value = self.values.get((series.name, point))
        if not value:
            return '-'
        ratio, verdict = self.gains(series, series.bases[0]).get(point, (0.0, '')) if series.bases else (0.0, '')
        said = f' ({100 * (ratio - 1):+.1f} %{", " if verdict else ""}{verdict})' if ratio else ''
        return f'{value.gflops:.1f}{said}'

    def compared(self, series: Series, base: str) -> tuple[str, bool]:
        """Returns a line on a series against another, and whether it is slower somewhere."""
        gains = self.gains(series, base)
        if not gains:
            return f'{series.name} / {base}: not measured yet', False
        ratios = {point: ratio for point, (ratio, _) in gains.items()}
        most, worst = max(ratios, key=ratios.__getitem__), min(ratios, key=ratios.__getitem__)
        count = {word: sum(verdict == word for _, verdict in gains.values()) for word in ('faster', 'slower')}
        return f'{series.name} / {base}: {len(gains)} points, median gain {statistics.median(ratios.values()):.3f}x, ' \
            f'largest {ratios[most]:.3f}x ({most}), least {ratios[worst]:.3f}x ({worst}); beyond the noise faster at ' \
            f'{count["faster"]}, slower at {count["slower"]}', count['slower'] > 0

    def machine(self) -> list[str]:
        """Returns what was measured with; first, if what is tuned is compared with a library that nobody would use."""
        lines = sorted({f'{result.program} {result.version} on {result.gpu or result.cpu}, threads {result.threads}, '
                        f'ranks {result.ranks}, {result.compiler}, BLAS: {result.build.get("BLAS") or "none"}'
                        for result in self.programs})
        unfair = any(programs.SLOW_BLAS in line for line in lines)
        warning = f'NOT A FAIR COMPARISON: dgemm is that of {programs.SLOW_BLAS}. Build with OpenBLAS, BLIS or MKL.'
        return [warning] * unfair + lines

    def make(self) -> bool:
        """Writes report.md and prints its summary; returns whether all is right and no series is slower."""
        compared = [self.compared(series, base) for series in self.table for base in series.bases]
        lines = self.machine() + [line for line, _ in compared]
        lines += [f'FAILED: {name}: {why}' for name, why in self.failed.items()]
        points = dict.fromkeys(point for series in self.table for point in series.points)
        rows = [['GFlop/s', *(series.name for series in self.table)], ['---', *('---:' for _ in self.table)]]
        rows += [[point, *(self.cell(series, point) for series in self.table)] for point in points]
        path = os.path.join(self.folder, 'report.md')
        text = '\n\n'.join([*lines, '\n'.join(f'| {" | ".join(row)} |' for row in rows)])
        disk.save_bytes(path, f'{text}\n'.encode())
        print('\n'.join([*lines, f'report: {path}']))
        return not any(slower for _, slower in compared) and not any('INVALID' in why for why in self.failed.values())


def main(args: argparse.Namespace) -> int:
    try:
        text = disk.read_bytes(args.table).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise Fault(USAGE, f'{args.table}: {getattr(error, "strerror", None) or "not UTF-8"}') from None
    table = series_of(text, args.table)
    try:
        if not args.report:
            run_all(table, text, args)
    except Interrupted as interrupted:
        interrupted.hint = 'finished runs are kept: the same command continues'
        raise
    report = Report(table, args.into, args.repeats)
    if not report.values and not report.failed:
        raise Fault(ENVIRONMENT, f'{args.into}: no results to report')
    return VALID if report.make() else INVALID
