"""`rooftop compare`: ratios of figures of merit, each with its noise, and a verdict only beyond twice the noise.

A rung's noise is half the spread of its windows without the shortest and the longest, as a share of the median, and
at least 1 %: clocks and placement vary by that much between runs even if the windows of each run agree. The noise of a
ratio is the root of the sum of both squares.

There is no verdict, and no mean, where a side was disturbed: it is UNSTEADY, or the same processor had another
bandwidth there, which no program changes.
"""
import argparse
import math
import os
import statistics
from typing import NamedTuple, Optional

from . import INVALID, USAGE, VALID, Fault, Json, disk, figures, results
from .results import Folder, Program, Run, Summary

LEAST_NOISE = 0.01
MOST_DRIFT = 0.10  # of the bandwidth of one processor between two runs
WITHIN = 'within twice the noise'
NOT_THE_PROBLEM = {'seed', 'ranks', 'partition', 'exchange', 'reorder', 'precond', 'coef', 'kernels',
                   'vectors', 'weights'}  # options that change how it is solved
Key = tuple[str, str]  # app and rung; rung '' is the measured run of an app, PEAK its peak run
PEAK = '(peak)'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('files', nargs='+', metavar='FILE', help='results, folders of rooftop run, or the '
                        'run.json of one, such as docs/reference/small.json; all others are compared with the first')
    parser.add_argument('--ladders', action='store_true', help='with the rungs of ladders')


class Figure(NamedTuple):
    """The FOM of a rung and its noise, the options of its problem if the file has them, and where it was measured."""
    rung: str
    fom: Optional[float]
    noise: float
    problem: Optional[Json] = None
    why: str = ''  # there is no FOM
    spread: Optional[float] = 0.0  # None: of one window alone
    place: str = ''  # the processor, and how many of it
    bandwidth: Optional[float] = None
    flop_per_joule: Optional[float] = None


def noise_of(windows: list[float], spread: float) -> float:
    """Returns the noise of a median of windows; spread counts where there are none."""
    windows = sorted(windows)
    inner = windows[1:-1] if len(windows) >= 5 else windows
    if inner:
        spread = (inner[-1] - inner[0]) / statistics.median(windows)
    return max(LEAST_NOISE, spread / 2)


def figures_of(program: Program, run: Optional[str] = None) -> dict[Key, Figure]:
    """Returns the figures of the rungs that were timed, or would have been if they were right. run: '' or PEAK if the
    result is one of these, not a ladder."""
    problem = {name: value for name, value in program.options.items() if name not in NOT_THE_PROBLEM}
    result = figures.Result(program)
    found: dict[Key, Figure] = {}
    for rung in result.rungs:
        row = rung.row
        if row.right and not row.window_seconds:
            continue
        where = program.gpu if rung.processor == 'gpu' else f'{program.cpu}, {program.threads} threads'
        found[program.program, row.name if run is None else run] = Figure(
            row.name, rung.fom, noise_of(rung.windows, row.spread or 0.0), problem, why_not(row.verdict, row.disturbed),
            row.spread if len(rung.windows) > 1 else None, f'{where}, {program.ranks} ranks',
            result.bandwidth(rung.processor)[0], row.flop_per_joule)
    return found


def why_not(verdict: Optional[str], disturbed: list[str]) -> str:
    return '' if verdict == 'VALID' else f'{verdict or "no result"}{": " if disturbed else ""}{"; ".join(disturbed)}'


def summarised(row: Summary) -> Figure:
    """Returns what a manifest says by itself."""
    return Figure(row.rung or '', row.fom if row.verdict == 'VALID' else None, noise_of([], row.spread or 0.0),
                  why=why_not(row.verdict, []), spread=row.spread or 0.0)


class Side:
    """One side of a comparison: its figures."""

    def __init__(self, given: str) -> None:
        self.path = given
        self.figures: dict[Key, Figure] = {}
        self.size: Optional[str] = None
        path = results.manifest_of(given)
        value = results.read(path)
        self.sha256 = disk.sha256_of(path)
        if isinstance(value, Run):
            self.size = value.size
            self.figures = {(app, run): summarised(row) for run, rows in (('', value.summary), (PEAK, value.peak))
                            for app, row in rows.items()}
            folder = Folder(os.path.dirname(path) or '.', value)
            for app in results.APPS:
                for prefix, run in (('', ''), ('peak-', PEAK), ('ladder-', None)):
                    result = folder.result(f'{prefix}{app}')
                    self.figures.update(figures_of(result, run) if result else {})
        elif isinstance(value, Program):
            self.figures = figures_of(value, '' if len(value.rungs) == 1 else None)
        if not self.figures:
            raise Fault(INVALID, f'{given}: nothing in it was timed')


def same_problem(base: Figure, other: Figure, app: str, paths: tuple[str, str]) -> None:
    """Fault, with the first option that differs, if two figures are not of the same problem."""
    if base.problem is None or other.problem is None:
        return
    a, b = base.problem, other.problem
    for name in sorted(a.keys() | b.keys()):
        if a.get(name) != b.get(name):
            raise Fault(USAGE, f'{app}: --{name} is {a.get(name)} in {paths[0]} and {b.get(name)} in {paths[1]}: '
                        'results of different problems cannot be compared')


class Row(NamedTuple):
    app: str
    rung: str
    other_rung: str
    measured: bool
    fom: tuple[Optional[float], Optional[float]]
    ratio: Optional[float]
    noise: float
    verdict: str
    why: str
    spread: tuple[Optional[float], Optional[float]]
    bandwidth: tuple[Optional[float], Optional[float]]
    flop_per_joule: tuple[Optional[float], Optional[float]]

    @property
    def counts(self) -> bool:
        """Whether both sides were undisturbed, as far as it can be seen."""
        return self.ratio is not None and self.why in ('', WITHIN)


def judge(base: Figure, other: Figure, paths: tuple[str, str] = ('', '')) -> tuple[Optional[float], float, str, str]:
    """Returns (ratio, its noise, verdict, why there is none)."""
    noise = math.hypot(base.noise, other.noise)
    for one, path in zip((base, other), paths):
        if one.why or not one.fom:
            return None, noise, 'no verdict', f'{path}: {one.why or "no figure of merit"}'
    assert base.fom and other.fom
    ratio = other.fom / base.fom
    if base.place and base.place == other.place and base.bandwidth and other.bandwidth:
        drift = max(base.bandwidth, other.bandwidth) / min(base.bandwidth, other.bandwidth) - 1
        if drift > MOST_DRIFT:
            return ratio, noise, 'no verdict', f'the bandwidth of the same processor differs by {100 * drift:.0f} %'
    if base.spread is None or other.spread is None:
        return ratio, noise, 'no verdict', 'timed in one window, so its noise is not known'
    if abs(math.log(ratio)) <= math.log1p(2 * noise):
        return ratio, noise, 'no verdict', WITHIN
    return ratio, noise, 'faster' if ratio > 1 else 'slower', ''


def compare(base: Side, other: Side) -> list[Row]:
    """Returns the rows of two sides, in the order of the first."""
    if base.size and other.size and base.size != other.size:
        raise Fault(USAGE, f'{base.path} is of size {base.size}, {other.path} of {other.size}: not comparable')
    rows, paths = [], (base.path, other.path)
    for (app, rung), a in base.figures.items():
        b = other.figures.get((app, rung))
        if b:
            same_problem(a, b, app, paths)
            said = [f'{one.rung} {rung}' if rung == PEAK else one.rung for one in (a, b)]
            rows.append(Row(app, said[0], said[1], not rung, (a.fom, b.fom), *judge(a, b, paths),
                            (a.spread, b.spread), (a.bandwidth, b.bandwidth), (a.flop_per_joule, b.flop_per_joule)))
    if not rows:
        raise Fault(USAGE, f'{base.path} and {other.path} have no app and rung in common')
    return rows


def pair(values: tuple[Optional[float], Optional[float]], form: str, scale: float = 1) -> list[str]:
    """Returns the value of the base and that of the other side."""
    return ['-' if value is None else format(value / scale, form) for value in values]


def cells_of(row: Row, power: bool) -> list[str]:
    """Returns a row as text; a reason that is long is not in it."""
    rung = row.rung if row.rung == row.other_rung else f'{row.rung} to {row.other_rung}'
    why = f': {row.why}' if row.why == WITHIN else ''
    return [row.app, rung + '*' * row.measured, *pair(row.fom, '.2f', 1e9), '-' if row.ratio is None else f'{row.ratio:.3f}',
            f'{100 * row.noise:.1f} %', *pair(row.spread, '.1f', 0.01), *pair(row.bandwidth, '.0f', 1e9),
            *(pair(row.flop_per_joule, '.3g', 1e9) if power else []), f'{row.verdict}{why}']


def print_rows(base: Side, other: Side, rows: list[Row]) -> None:
    """Prints a column per side, in the order of the command line: A, then B."""
    power = any(value is not None for row in rows for value in row.flop_per_joule)
    print(f'A  {base.path}\nB  {other.path}')
    if base.sha256 == other.sha256:
        print('A and B are the same result')
    columns = ['GFlop/s', 'spread %', 'GB/s', 'GFlop/s per W'][:4 if power else 3]
    heads = [f'{name} {side}' for name in columns for side in 'AB']
    lines = [['app', 'rung', *heads[:2], 'B/A', 'noise', *heads[2:], 'verdict']]
    lines += [cells_of(row, power) for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line, row in zip(lines, [None, *rows]):
        print('  ' + '  '.join(f'{cell:{width}}' if column in (0, 1, len(line) - 1) else f'{cell:>{width}}'
                               for column, (cell, width) in enumerate(zip(line, widths))).rstrip())
        if row and row.why not in ('', WITHIN):
            print(f'    {row.why}')
    measured = [row for row in rows if row.measured]
    if len(measured) > 1:
        disturbed = ', '.join(row.app for row in measured if not row.counts)
        logs = [math.log(row.ratio) for row in measured if row.ratio]
        mean = f'none, because of {disturbed}' if disturbed else f'{math.exp(statistics.mean(logs)):.3f}'
        print(f'  geometric mean of {len(measured)} apps: {mean}')


def main(args: argparse.Namespace) -> int:
    if len(args.files) < 2:
        raise Fault(USAGE, 'compare takes two files or more')
    sides = [Side(path) for path in args.files]
    tables = [(other, compare(sides[0], other)) for other in sides[1:]]
    ladders = False
    for other, rows in tables:
        shown = [row for row in rows if row.measured or args.ladders] or rows
        print_rows(sides[0], other, shown)
        if len(shown) < len(rows):
            print(f'  rungs of ladders: {len(rows) - len(shown)}; --ladders shows them')
        ladders = ladders or not all(row.measured for row in shown)
    if ladders:
        print('* measured run; the other rows are from ladders.')
    return VALID
