"""`rooftop compare`: ratios of figures of merit, each with its noise, and a verdict only beyond twice the noise.

A rung's noise is half the spread of its windows without the shortest and the longest, as a share of the median, and
never below 1 %: that much clocks and placement do between runs even if the windows of each agree. The noise of a ratio
is the root of the sum of both squares.
"""
import json
import math
import os
import statistics

from . import INVALID, USAGE, VALID, Fault, results

LEAST_NOISE = 0.01
NOT_THE_PROBLEM = {'seed', 'ranks', 'partition', 'exchange', 'reorder'}  # options that change how, not what is solved


def add_arguments(parser):
    parser.add_argument('files', nargs='+', metavar='FILE', help='results, or folders of rooftop run; the first is '
                        'what the others are compared with')
    parser.add_argument('--json', action='store_true', help='for programs, to standard output')


class Figure:
    """The FOM of a rung, its noise, and the problem that it is of."""

    def __init__(self, result, rung):
        windows = sorted(rung.get('window_seconds', ()))
        self.fom, self.rung = rung['fom_flop_per_s'], rung['name']
        inner = windows[1:-1] if len(windows) >= 5 else windows
        spread = (inner[-1] - inner[0]) / statistics.median(windows) if inner else rung.get('spread', 0)
        self.noise = max(LEAST_NOISE, spread / 2)
        self.problem = {name: value for name, value in result['options'].items() if name not in NOT_THE_PROBLEM}


class Side:
    """What is compared: figures by (app, rung); rung '' stands for the measured run of an app."""

    def __init__(self, path):
        self.path, self.figures, self.size = path, {}, None
        if os.path.isdir(path):
            path = os.path.join(path, 'run.json')
        value = results.load(path)
        if value.get('kind') == 'run':
            self.size = value['size']
            folder = results.Folder(os.path.dirname(path) or '.', value)
            for step in folder.steps:
                if step['name'] == step['app'] or step['name'] == f'ladder-{step["app"]}':
                    self.take(folder.result(step['name']), step['name'] == step['app'])
        else:
            self.take(value, len(value.get('rungs', ())) == 1)
        if not self.figures:
            raise Fault(INVALID, f'{path}: no valid figure of merit in it')

    def take(self, result, measured):
        for rung in result['rungs'] if result else ():
            if rung['valid'] and 'fom_flop_per_s' in rung:
                self.figures[result['program'], '' if measured else rung['name']] = Figure(result, rung)


def same_problem(base, other, key, paths):
    """Fault, with the first option that differs, if two figures are not of the same problem."""
    a, b = base.problem, other.problem
    for name in sorted(a.keys() | b.keys()):
        if a.get(name) != b.get(name):
            raise Fault(USAGE, f'{key[0]}: --{name} is {a.get(name)} in {paths[0]} and {b.get(name)} in {paths[1]}: '
                        'results of different problems cannot be compared')


def ratio_of(base, other):
    """(ratio, its noise, verdict)."""
    ratio, noise = other.fom / base.fom, math.hypot(base.noise, other.noise)
    if abs(math.log(ratio)) <= math.log1p(2 * noise):
        return ratio, noise, 'no verdict'
    return ratio, noise, 'faster' if ratio > 1 else 'slower'


def compare(base, other):
    """Rows of two sides, in the order of the first."""
    if base.size and other.size and base.size != other.size:
        raise Fault(USAGE, f'{base.path} is of size {base.size}, {other.path} of {other.size}: not to be compared')
    rows = []
    for key, a in base.figures.items():
        b = other.figures.get(key)
        if b:
            same_problem(a, b, key, (base.path, other.path))
            ratio, noise, verdict = ratio_of(a, b)
            rows.append({'app': key[0], 'rung': key[1] or a.rung, 'other_rung': key[1] or b.rung,
                         'measured': not key[1], 'fom': [a.fom, b.fom], 'ratio': ratio, 'noise': noise,
                         'verdict': verdict})
    if not rows:
        raise Fault(USAGE, f'{base.path} and {other.path} have no app and rung in common')
    return rows


def print_rows(base, other, rows):
    print(f'{other.path} against {base.path}')
    print(f'  {"app":12}{"rung":32}{"GFlop/s":>10}{"against":>10}{"ratio":>8}{"noise":>8}  verdict')
    for row in rows:
        rung = row['rung'] if row['rung'] == row['other_rung'] else f'{row["other_rung"]} to {row["rung"]}'
        mark = '*' if row['measured'] else ''
        print(f'  {row["app"]:12}{rung + mark:32}{row["fom"][1] / 1e9:10.2f}{row["fom"][0] / 1e9:10.2f}'
              f'{row["ratio"]:8.3f}{100 * row["noise"]:6.1f} %  {row["verdict"]}')
    measured = [math.log(row['ratio']) for row in rows if row['measured']]
    if len(measured) > 1:
        print(f'  geometric mean of {len(measured)} apps: {math.exp(statistics.mean(measured)):.3f}')


def main(args):
    if len(args.files) < 2:
        raise Fault(USAGE, 'compare takes two files or more')
    sides = [Side(path) for path in args.files]
    tables = [(other, compare(sides[0], other)) for other in sides[1:]]
    if args.json:
        print(json.dumps({'base': sides[0].path, 'compared': [{'with': other.path, 'rows': rows}
                                                             for other, rows in tables]}, indent=1))
        return VALID
    for other, rows in tables:
        print_rows(sides[0], other, rows)
    print('* measured run; the others are of ladders. No verdict within twice the noise.')
    return VALID
