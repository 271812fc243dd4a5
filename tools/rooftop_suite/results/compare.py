"""`rooftop compare`: ratios of figures of merit, each with its noise, and a verdict only beyond twice the noise.

A rung's noise is half the spread of its windows without the shortest and the longest, as a share of the median, and
at least 1 %: clocks and placement vary by that much between runs even if the windows of each run agree. The noise of a
ratio is the root of the sum of both squares.

There is no verdict, and no mean, where a side was disturbed: it is UNSTEADY, or the same processor had another
bandwidth there, which no program changes. The columns over 1 and over 100 have the ratio with set-up, over 1 and 100 solves.
"""
import argparse
import math
import statistics
from typing import NamedTuple, Optional

from .. import INVALID, USAGE, VALID, Fault, aligned, number, results, without_empty
from .collect import LEAST_NOISE, Row, found

MOST_DRIFT = 0.10  # of the bandwidth of one processor between two runs
WITHIN = 'within twice the noise'
Key = tuple[str, str]  # app, and rung, with its step in a folder of reproduce; '': the measured run of an app, PEAK: its peak run
PEAK = '(peak)'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('files', nargs='+', metavar='FILE', help='results, folders of rooftop run, or the '
                        'run.json of one, such as docs/reference/h200/run.json; all others are compared with the first')
    parser.add_argument('--ladders', action='store_true', help='with the rungs of ladders')


def key_of(row: Row, alone: bool) -> Key:
    """Returns the key of a row. alone: of a result with one rung, which is then the measured run."""
    if row.run == 'peak':
        return row.app, PEAK
    if row.run == 'base' or alone and row.run == 'single':
        return row.app, ''
    return row.app, row.rung if row.run in ('ladder', 'single') else f'{row.run} {row.rung}'


class Side:
    """One side of a comparison: its rungs that were timed, or would have been if they were right."""

    def __init__(self, path: str, rows: list[Row]) -> None:
        self.path, self.size = path, rows[0].size if rows else None
        self.rows = {key_of(row, len(rows) == 1): row for row in rows if row.noise or row.verdict not in results.RIGHT}
        if not self.rows:
            raise Fault(INVALID, f'{path}: nothing in it was timed')


class Pair(NamedTuple):
    """An app's measured run, or another rung of it, on both sides; why: there is no verdict."""
    app: str
    rung: str
    measured: bool
    base: Row
    other: Row
    ratio: Optional[float]
    noise: float
    verdict: str
    why: str

    @property
    def counts(self) -> bool:
        """Whether both sides were undisturbed, as far as it can be seen."""
        return self.ratio is not None and self.why in ('', WITHIN)

    def cells(self, name: str, form: str, scale: float = 1) -> list[str]:
        """Returns a member of both sides; none of power if a meter measured one side alone: a node is not a board."""
        differ = 'watt' in name and (self.base.energy_source == 'meter') != (self.other.energy_source == 'meter')
        values = [None if differ else getattr(side, name) for side in (self.base, self.other)]
        return [number(None if value is None else value * scale, form) for value in values]

    def with_setup(self) -> list[str]:
        """Returns the ratios of figures of merit with set-up, over 1 and 100 solves."""
        names = ('fom_1_solve_gflop_per_s', 'fom_100_solves_gflop_per_s')
        both = [(getattr(self.base, name), getattr(self.other, name)) for name in names]
        return [number(b / a if a and b else None, '.3f') for a, b in both]


def check_same_problem(base: Row, other: Row) -> None:
    """Fault, with the first option that differs, if the options of two problems are known and differ."""
    a, b = base.problem, other.problem
    for name in sorted(a.keys() | b.keys()) if a and b else ():
        if a and b and a.get(name) != b.get(name):
            raise Fault(USAGE, f'{base.app}: --{name} is {a.get(name)} in {base.result} and {b.get(name)} in {other.result}: '
                        'results of different problems cannot be compared')


def judge(base: Row, other: Row) -> tuple[Optional[float], float, str, str]:
    """Returns (ratio, its noise, verdict, why there is none)."""
    noise = math.hypot(base.noise or LEAST_NOISE, other.noise or LEAST_NOISE)
    for one in (base, other):
        if not one.fom_gflop_per_s:
            why = one.verdict if one.verdict != 'VALID' else 'no figure of merit'
            return None, noise, 'no verdict', f'{one.result}: {why}{": " if one.disturbed else ""}{one.disturbed}'
    assert base.fom_gflop_per_s and other.fom_gflop_per_s
    ratio = other.fom_gflop_per_s / base.fom_gflop_per_s
    places = {(one.processor, one.threads, one.ranks) for one in (base, other)}
    if len(places) == 1 and base.bandwidth_gb_per_s and other.bandwidth_gb_per_s:
        drift = abs(math.log(base.bandwidth_gb_per_s / other.bandwidth_gb_per_s))
        if drift > math.log1p(MOST_DRIFT):
            return ratio, noise, 'no verdict', f'the bandwidth of the same processor differs by {100 * math.expm1(drift):.0f} %'
    if base.spread is None or other.spread is None:
        return ratio, noise, 'no verdict', 'timed in one window, so its noise is not known'
    if abs(math.log(ratio)) <= math.log1p(2 * noise):
        return ratio, noise, 'no verdict', WITHIN
    return ratio, noise, 'faster' if ratio > 1 else 'slower', ''


def compare(base: Side, other: Side) -> list[Pair]:
    """Returns the pairs of two sides, in the order of the first."""
    if base.size and other.size and base.size != other.size:
        raise Fault(USAGE, f'{base.path} is of size {base.size}, {other.path} of {other.size}: not comparable')
    pairs = []
    for (app, rung), a in base.rows.items():
        b = other.rows.get((app, rung))
        if b:
            check_same_problem(a, b)
            named = ' to '.join(dict.fromkeys(f'{one.rung} {PEAK}' if rung == PEAK else rung or one.rung for one in (a, b)))
            pairs.append(Pair(app, named, not rung, a, b, *judge(a, b)))
    if not pairs:
        raise Fault(USAGE, f'{base.path} and {other.path} have no app and rung in common')
    return pairs


def print_pairs(base: Side, other: Side, pairs: list[Pair]) -> None:
    """Prints a column per side, in the order of the command line: A, then B."""
    print(f'A  {base.path}\nB  {other.path}')
    heads = [f'{name} {side}' for name in ('GFlop/s', 'spread %', 'GB/s', 'GFlop/s per W') for side in 'AB']
    heads = ['app', 'rung', *heads[:2], 'B/A', 'noise', 'over 1', 'over 100', *heads[2:], 'verdict']
    cells = [[pair.app, pair.rung + '*' * pair.measured, *pair.cells('fom_gflop_per_s', '.2f'),
               number(pair.ratio, '.3f'), number(pair.noise, '.1%'), *pair.with_setup(),
               *pair.cells('spread', '.1f', 100), *pair.cells('bandwidth_gb_per_s', '.0f'),
               *pair.cells('gflop_per_s_per_watt', '.3g'),
               pair.verdict + f': {pair.why}' * (pair.why == WITHIN)] for pair in pairs]
    heads, cells, _ = without_empty(heads, cells, 2)
    for line, why in zip(aligned([heads, *cells], (0, 1, len(heads) - 1)), ['', *(pair.why for pair in pairs)]):
        print(f'  {line}' + (f'\n    {why}' if why not in ('', WITHIN) else ''))
    measured = [pair for pair in pairs if pair.measured]
    if len(measured) > 1:
        disturbed = ', '.join(pair.app for pair in measured if not pair.counts)
        logs = [math.log(pair.ratio) for pair in measured if pair.ratio]
        mean = f'none, because of {disturbed}' if disturbed else f'{math.exp(statistics.mean(logs)):.3f}'
        print(f'  geometric mean of {len(measured)} apps: {mean}')


def main(args: argparse.Namespace) -> int:
    if len(args.files) < 2:
        raise Fault(USAGE, 'compare takes two files or more')
    sides = [Side(path, found([path])[0]) for path in args.files]
    tables = [(other, compare(sides[0], other)) for other in sides[1:]]
    ladders = False
    for other, pairs in tables:
        shown = [pair for pair in pairs if pair.measured or args.ladders] or pairs
        print_pairs(sides[0], other, shown)
        if len(shown) < len(pairs):
            print(f'  rungs of ladders: {len(pairs) - len(shown)}; --ladders shows them')
        ladders = ladders or not all(pair.measured for pair in shown)
    if any(pair.with_setup() != ['-', '-'] for _, pairs in tables for pair in pairs):
        print('over 1, over 100: the ratio of figures of merit with set-up, over 1 and over 100 solves.')
    if ladders:
        print('* measured run; the other rows are from ladders.')
    return VALID
