"""`rooftop compare`: ratios of figures of merit, each with its noise, and a verdict only beyond twice the noise.

A rung's noise is half the spread of its windows without the shortest and the longest, as a share of the median, and
at least 1 %: clocks and placement vary by that much between runs even if the windows of each run agree. The noise of a
ratio is the root of the sum of both squares.
"""
import argparse
import json
import math
import os
import statistics
from typing import NamedTuple, Optional

from . import INVALID, USAGE, VALID, Fault, Json, results
from .results import Folder, Program, Run, Rung

LEAST_NOISE = 0.01
NOT_THE_PROBLEM = {'seed', 'ranks', 'partition', 'exchange', 'reorder', 'precond', 'coef', 'kernels', 'smooth',
                   'weights'}  # options that change how it is solved
Key = tuple[str, str]  # app and rung; rung '' is the measured run of an app


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('files', nargs='+', metavar='FILE', help='results, or folders of rooftop run; all others are '
                        'compared with the first')
    parser.add_argument('--json', action='store_true', help='print JSON, for programs')


class Figure(NamedTuple):
    """The FOM of a rung, its noise, and the options of its problem."""
    rung: str
    fom: float
    noise: float
    problem: Json


def noise_of(windows: list[float], spread: float) -> float:
    """Returns the noise of a median of windows; spread counts where there are none."""
    windows = sorted(windows)
    inner = windows[1:-1] if len(windows) >= 5 else windows
    if inner:
        spread = (inner[-1] - inner[0]) / statistics.median(windows)
    return max(LEAST_NOISE, spread / 2)


class Side:
    """One side of a comparison: its figures."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.figures: dict[Key, Figure] = {}
        self.size: Optional[str] = None
        if os.path.isdir(path):
            path = os.path.join(path, 'run.json')
        value = results.read(path)
        if isinstance(value, Run):
            self.size = value.size
            folder = Folder(os.path.dirname(path) or '.', value)
            for step in folder.steps:
                result = folder.result(step.name) if step.name in (step.app, f'ladder-{step.app}') else None
                if result:
                    self.take(result, step.name == step.app)
        elif isinstance(value, Program):
            self.take(value, len(value.rungs) == 1)
        if not self.figures:
            raise Fault(INVALID, f'{path}: no valid figure of merit in it')

    def take(self, result: Program, measured: bool) -> None:
        problem = {name: value for name, value in result.options.items() if name not in NOT_THE_PROBLEM}
        for rung in result.rungs:
            if rung.valid and rung.fom_flop_per_s is not None:
                self.figures[result.program, '' if measured else rung.name] = figure_of(rung, problem)


def figure_of(rung: Rung, problem: Json) -> Figure:
    return Figure(rung.name, rung.fom_flop_per_s or 0.0, noise_of(rung.window_seconds or [], rung.spread or 0.0),
                  problem)


def same_problem(base: Figure, other: Figure, app: str, paths: tuple[str, str]) -> None:
    """Fault, with the first option that differs, if two figures are not of the same problem."""
    a, b = base.problem, other.problem
    for name in sorted(a.keys() | b.keys()):
        if a.get(name) != b.get(name):
            raise Fault(USAGE, f'{app}: --{name} is {a.get(name)} in {paths[0]} and {b.get(name)} in {paths[1]}: '
                        'results of different problems cannot be compared')


def ratio_of(base: Figure, other: Figure) -> tuple[float, float, str]:
    """Returns (ratio, its noise, verdict)."""
    ratio, noise = other.fom / base.fom, math.hypot(base.noise, other.noise)
    if abs(math.log(ratio)) <= math.log1p(2 * noise):
        return ratio, noise, 'no verdict'
    return ratio, noise, 'faster' if ratio > 1 else 'slower'


class Row(NamedTuple):
    app: str
    rung: str
    other_rung: str
    measured: bool
    fom: tuple[float, float]
    ratio: float
    noise: float
    verdict: str


def compare(base: Side, other: Side) -> list[Row]:
    """Returns the rows of two sides, in the order of the first."""
    if base.size and other.size and base.size != other.size:
        raise Fault(USAGE, f'{base.path} is of size {base.size}, {other.path} of {other.size}: not comparable')
    rows = []
    for (app, rung), a in base.figures.items():
        b = other.figures.get((app, rung))
        if b:
            same_problem(a, b, app, (base.path, other.path))
            rows.append(Row(app, rung or a.rung, rung or b.rung, not rung, (a.fom, b.fom), *ratio_of(a, b)))
    if not rows:
        raise Fault(USAGE, f'{base.path} and {other.path} have no app and rung in common')
    return rows


def print_rows(base: Side, other: Side, rows: list[Row]) -> None:
    print(f'{other.path} against {base.path}')
    print(f'  {"app":12}{"rung":32}{"GFlop/s":>10}{"against":>10}{"ratio":>8}{"noise":>8}  verdict')
    for row in rows:
        rung = row.rung if row.rung == row.other_rung else f'{row.other_rung} to {row.rung}'
        mark = '*' if row.measured else ''
        print(f'  {row.app:12}{rung + mark:32}{row.fom[1] / 1e9:10.2f}{row.fom[0] / 1e9:10.2f}'
              f'{row.ratio:8.3f}{100 * row.noise:6.1f} %  {row.verdict}')
    measured = [math.log(row.ratio) for row in rows if row.measured]
    if len(measured) > 1:
        print(f'  geometric mean of {len(measured)} apps: {math.exp(statistics.mean(measured)):.3f}')


def main(args: argparse.Namespace) -> int:
    if len(args.files) < 2:
        raise Fault(USAGE, 'compare takes two files or more')
    sides = [Side(path) for path in args.files]
    tables = [(other, compare(sides[0], other)) for other in sides[1:]]
    if args.json:
        compared = [{'with': other.path, 'rows': [row._asdict() for row in rows]} for other, rows in tables]
        print(json.dumps({'base': sides[0].path, 'compared': compared}, indent=1))
        return VALID
    for other, rows in tables:
        print_rows(sides[0], other, rows)
    print('* measured run; the other rows are from ladders. There is no verdict within twice the noise.')
    return VALID
