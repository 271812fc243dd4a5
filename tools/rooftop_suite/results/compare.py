"""`rooftop compare`: ratios of figures of merit, each with its noise, and a verdict only beyond twice the noise.

A rung's noise is half the spread of its windows without the shortest and the longest, as a share of the median, and
at least 1 %: clocks and placement vary by that much between runs even if the windows of each run agree. The noise of a
ratio is the root of the sum of both squares.

There is no verdict, and no mean, where a side was disturbed: it is UNSTEADY, or the same processor had another
bandwidth there, which no program changes.
"""
import argparse
import math
import statistics
from typing import NamedTuple, Optional

from .. import INVALID, USAGE, VALID, Fault, Json, aligned, results
from . import Program, Summary, collect, disk, figures
from .collect import noise_of

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


def problem_of(program: Program) -> Json:
    """Returns the options of a program's problem."""
    return {name: value for name, value in program.options.items() if name not in NOT_THE_PROBLEM}


def figures_of(program: Program, run: Optional[str] = None) -> dict[Key, Figure]:
    """Returns the figures of the rungs that were timed, or would have been if they were right. run: '' or PEAK if the
    result is one of these, not a ladder."""
    result = figures.Result(program)
    found: dict[Key, Figure] = {}
    for rung in result.rungs:
        row = rung.row
        if row.right and not row.window_seconds:
            continue
        where = program.gpu if rung.processor == 'gpu' else f'{program.cpu}, {program.threads} threads'
        found[program.program, row.name if run is None else run] = Figure(
            row.name, rung.fom, noise_of(rung.windows, row.spread), problem_of(program), why_not(row.verdict, row.disturbed),
            row.spread if len(rung.windows) > 1 else None, f'{where}, {program.ranks} ranks',
            result.bandwidth(rung.processor)[0], row.flop_per_joule)
    return found


def why_not(verdict: Optional[str], disturbed: list[str]) -> str:
    return '' if verdict == 'VALID' else f'{verdict or "no result"}{": " if disturbed else ""}{"; ".join(disturbed)}'


def summarised(row: Summary) -> Figure:
    """Returns what a manifest says by itself."""
    return Figure(row.rung or '', row.fom if row.verdict == 'VALID' else None, noise_of([], row.spread),
                  why=why_not(row.verdict, []), spread=row.spread or 0.0)


class Side:
    """One side of a comparison: its figures."""

    def __init__(self, path: str) -> None:
        found = collect.collect([path])
        self.path, self.sha256 = path, disk.sha256_of(results.manifest_of(path))
        self.figures: dict[Key, Figure] = {}
        runs = [run for _, run in found.alone] + [place.folder for place, _ in found.programs if place.folder]
        self.size: Optional[str] = runs[0].size if runs else None
        for what, rows in (('', runs[0].summary), (PEAK, runs[0].peak)) if runs else ():
            self.figures.update({(app, what): summarised(row) for app, row in rows.items()})
        for place, program in found.programs:
            alone = '' if len(program.rungs) == 1 else None
            self.figures.update(figures_of(program, {'base': '', 'peak': PEAK, 'single': alone}.get(place.run)))
        if not self.figures:
            raise Fault(INVALID, f'{path}: nothing in it was timed')


def same_problem(a: Optional[Json], b: Optional[Json], app: str, paths: tuple[str, str]) -> None:
    """Fault, with the first option that differs, if the options of two problems are known and differ."""
    for name in sorted(a.keys() | b.keys()) if a is not None and b is not None else ():
        if a and b and a.get(name) != b.get(name):
            raise Fault(USAGE, f'{app}: --{name} is {a.get(name)} in {paths[0]} and {b.get(name)} in {paths[1]}: '
                        'results of different problems cannot be compared')


class Row(NamedTuple):
    """An app's measured run, or another rung of it, on both sides."""
    app: str
    rung: str
    measured: bool
    base: Figure
    other: Figure
    ratio: Optional[float]
    noise: float
    verdict: str
    why: str

    @property
    def counts(self) -> bool:
        """Whether both sides were undisturbed, as far as it can be seen."""
        return self.ratio is not None and self.why in ('', WITHIN)

    def pair(self, name: str, form: str, scale: float = 1) -> list[str]:
        """Returns a member of both sides."""
        values = [getattr(side, name) for side in (self.base, self.other)]
        return ['-' if value is None else format(value / scale, form) for value in values]


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
            same_problem(a.problem, b.problem, app, paths)
            named = ' to '.join(dict.fromkeys(f'{one.rung} {PEAK}' if rung == PEAK else one.rung for one in (a, b)))
            rows.append(Row(app, named, not rung, a, b, *judge(a, b, paths)))
    if not rows:
        raise Fault(USAGE, f'{base.path} and {other.path} have no app and rung in common')
    return rows


def cells_of(row: Row, power: bool) -> list[str]:
    """Returns a row as text; a reason that is long is not in it."""
    return [row.app, row.rung + '*' * row.measured, *row.pair('fom', '.2f', 1e9),
            '-' if row.ratio is None else f'{row.ratio:.3f}', f'{100 * row.noise:.1f} %', *row.pair('spread', '.1f', 0.01),
            *row.pair('bandwidth', '.0f', 1e9), *(row.pair('flop_per_joule', '.3g', 1e9) if power else []),
            row.verdict + f': {row.why}' * (row.why == WITHIN)]


def print_rows(base: Side, other: Side, rows: list[Row]) -> None:
    """Prints a column per side, in the order of the command line: A, then B."""
    power = any(row.base.flop_per_joule or row.other.flop_per_joule for row in rows)
    print(f'A  {base.path}\nB  {other.path}')
    if base.sha256 == other.sha256:
        print('A and B are the same result')
    columns = ['GFlop/s', 'spread %', 'GB/s', 'GFlop/s per W'][:4 if power else 3]
    heads = [f'{name} {side}' for name in columns for side in 'AB']
    cells = [['app', 'rung', *heads[:2], 'B/A', 'noise', *heads[2:], 'verdict'], *(cells_of(row, power) for row in rows)]
    for line, why in zip(aligned(cells, (0, 1, len(cells[0]) - 1)), ['', *(row.why for row in rows)]):
        print(f'  {line}' + (f'\n    {why}' if why not in ('', WITHIN) else ''))
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
