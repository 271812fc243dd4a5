"""The report of `rooftop study`: report.md, with a table and a plot for each figure of CRESTA D3.5.2."""
import os
import statistics
from collections.abc import Sequence
from typing import NamedTuple, Optional

from . import disk, plots, programs, svg
from .results import Program
from .study import CASES, PRODUCTS, Compared, Measured, Point, Side


class Figure(NamedTuple):
    """A figure of the report: what it says (theirs), and what is plotted here: a variant, or its gain over an old one."""
    number: int
    title: str
    theirs: str
    new: Side
    old: Optional[Side] = None


JAMMED = ('jammed', 'own')
CPU_FIGURES = (
    Figure(3, 'scalar by default (dgemm)', 'depends strongly on N, hardly on nel', ('scalar', 'dgemm')),
    Figure(4, 'jammed by default', 'fastest of the three for N = 8, 10, 12 and all nel', JAMMED),
    Figure(5, 'vector by default (dgemm)', 'almost never the fastest; falls with nel, as each product reads all elements '
           'again', ('vector', 'dgemm')),
    Figure(6, 'default scalar against jammed', 'slower for N = 8, 10, 12, always faster above', ('scalar', 'dgemm'),
           JAMMED),
    Figure(7, 'default vector against jammed', 'faster only for large N with nel below 256 to 512', ('vector', 'dgemm'),
           JAMMED),
    Figure(8, 'scalar tuned', 'clearly better than the default for small N', ('scalar', 'tuned')),
    Figure(9, 'vector tuned', 'clearly better than the default for small N', ('vector', 'tuned')),
    Figure(10, 'vector tuned against its default (dgemm)', 'faster for all nel up to N = 14, nothing to gain above',
           ('vector', 'tuned'), ('vector', 'dgemm')),
    Figure(11, 'scalar tuned against jammed', 'the same or faster but for a few points at small N and nel',
           ('scalar', 'tuned'), JAMMED),
    Figure(12, 'vector tuned against jammed', 'faster for nel up to 256 with N from 16, and never more than 20 % slower',
           ('vector', 'tuned'), JAMMED))
KNOWN = (  # device, rung, n known when compiled, n passed, what differs
    ('cpu', 'scalar', 'set-rows-n', 'set-rows', 'the same loops'),
    ('cpu', 'scalar', 'set-tiles-n', 'set-rows', 'the best of either'),
    ('cpu', 'jammed', 'set-lines', 'set-any-n', 'the same loops'),
    ('cpu', 'jammed', 'set-tiles', 'set-any-n', 'the best of either'),
    ('gpu', 'batched', 'set-lines', 'set-loops', 'a thread per line, or per value'))


def at(point: Point) -> str:
    return f'N = {point[0]}, nel = {point[1]}'


def listed(points: Sequence[Point]) -> str:
    """Returns points in words: all elements of each N together."""
    by_n: dict[int, list[int]] = {}
    for n, e in sorted(points):
        by_n.setdefault(n, []).append(e)
    return '; '.join(f'N = {n}: {", ".join(map(str, es))}' for n, es in by_n.items()) or 'none'


def faster(compared: dict[Point, Compared]) -> list[Point]:
    return [p for p, (ratio, noise) in compared.items() if ratio < 1 / (1 + noise)]


def slower(compared: dict[Point, Compared]) -> list[Point]:
    return [p for p, (ratio, noise) in compared.items() if ratio > 1 + noise]


def seen_rates(values: dict[Point, float]) -> str:
    low, high = min(values, key=lambda p: values[p]), max(values, key=lambda p: values[p])
    return f'{values[low]:.1f} GFlop/s ({at(low)}) to {values[high]:.1f} ({at(high)}), ' \
           f'median {statistics.median(values.values()):.1f}'


def seen_gains(compared: dict[Point, Compared]) -> str:
    gains = {p: c.gain for p, c in compared.items()}
    low, high = min(gains, key=lambda p: gains[p]), max(gains, key=lambda p: gains[p])
    up, down = faster(compared), slower(compared)
    return (f'faster beyond the noise at {len(up)} of {len(compared)} points ({listed(up)}), slower at {len(down)} '
            f'({listed(down)}); median {statistics.median(gains.values()):+.1f} %, from {gains[low]:+.1f} % '
            f'({at(low)}) to {gains[high]:+.1f} % ({at(high)})')


def rows_of(rows: Sequence[Sequence[object]]) -> str:
    return '\n'.join('| ' + ' | '.join(map(str, row)) + ' |' for row in rows)


def blas_of(result: Program) -> str:
    return result.build.get('BLAS', '') or 'none'


class Report:
    def __init__(self, measured: Measured, folder: str) -> None:
        self.measured, self.folder, self.plots = measured, folder, 0
        self.text: list[str] = []

    def say(self, text: str) -> None:
        self.text.append(text)

    def table(self, values: dict[Point, str]) -> str:
        columns, rows = self.measured.orders, self.measured.elements
        head = '| nel \\ N | ' + ' | '.join(map(str, columns)) + ' |\n|---:|' + '---:|' * len(columns)
        return head + '\n' + rows_of([[e, *(values.get((n, e), '-') for n in columns)] for e in rows])

    def plot(self, name: str, title: str, values: dict[Point, float], unit: str, over_nel: bool) -> str:
        """Writes a plot with a series per nel over N; or, as the report has it for kernels, per N over nel. Returns the
        link to it."""
        mine, other = (0, 1) if over_nel else (1, 0)
        series = {f'{"N" if over_nel else "nel"} = {s}': [(float(p[other]), values[p]) for p in sorted(values)
                                                         if p[mine] == s] for s in sorted({p[mine] for p in values})}
        drawn = plots.curves(name, title, series, 'nel (elements)' if over_nel else 'N (points per direction)', unit,
                             log_x=over_nel)
        if not drawn:
            return ''
        disk.save_bytes(os.path.join(self.folder, f'{name}.svg'), svg.file((title, drawn)).encode())
        self.plots += 1
        return f'\n\n![{title}]({name}.svg)'

    def figure(self, name: str, title: str, theirs: str, values: dict[Point, float],
               compared: Optional[dict[Point, Compared]] = None, over_nel: bool = False) -> None:
        """compared: the values are its gains in per cent."""
        if not values:
            return self.say(f'### {title}\n\nThe report: {theirs}.\n\nNot measured here yet.')
        unit, form = ('%', '{:+.1f}') if compared else ('GFlop/s', '{:.1f}')
        seen = seen_gains(compared) if compared else seen_rates(values)
        shown = self.table({p: form.format(value) for p, value in values.items()})
        self.say(f'### {title}\n\nThe report: {theirs}.\nHere: {seen}.\n\n{unit}:\n\n{shown}'
                 f'{self.plot(name, title, values, unit, over_nel)}')

    def rates(self, name: str, title: str, theirs: str, side: Side, device: str = 'cpu') -> None:
        self.figure(name, title, theirs, self.measured.rates(device, side))

    def change(self, name: str, title: str, theirs: str, new: Side, old: Side, device: str = 'cpu') -> None:
        compared = self.measured.compared(device, new, old)
        self.figure(name, title, theirs, {p: c.gain for p, c in compared.items()}, compared)

    # -- the figures of the report --

    def cpu_figures(self) -> None:
        self.say('## The whole application on the CPU (Figures 3 to 12)')
        for number, title, theirs, new, old in CPU_FIGURES:
            name, title = f'fig{number:02d}', f'Figure {number}: {title}'
            if old:
                self.change(name, title, theirs, new, old)
            else:
                self.rates(name, title, theirs, new)

    def alone_figures(self) -> None:
        self.say('## The operator alone (Figures 15 to 18)\n\nThe report times the kernels of case 1 and case 2. Here '
                 'a call of the operator is timed, two products of each case, by the\n12 N + 19 flops per point. Default '
                 'is here what the program does without tuning.')
        for device in ('cpu', 'gpu'):
            rungs = self.measured.rungs(device, 'isolated')
            if not rungs:
                self.say(f'{device.upper()}: not measured yet.')
            for rung in rungs:
                for name, tuned, theirs in (
                        ('fig15-16', False, 'on the GPU, cases 1 and 2 differ, and all grow with nel'),
                        ('fig17-18', True, 'on the GPU, better than the default everywhere, all cases alike')):
                    title = f'Figures {name[3:5]} and {name[6:]}: {rung} alone, {"tuned" if tuned else "default"}'
                    self.figure(f'{name}-{device}-{rung}', f'{title} ({device.upper()})', theirs,
                                self.measured.alone(device, rung, tuned), over_nel=True)

    def cases(self) -> None:
        self.say('## The products alone, case by case (Figures 1, 2 and 15 to 18)\n\nGFlop/s of one product over the whole '
                 'mesh, 2 N^4 flops per element, by its own timer within the application: the default of the\nreport, dgemm, '
                 'and the fastest version. Case 1 is [N^2 x N][N x N], 2 is [N x N][N x N] N times, 3 is [N x N][N x N^2]; '
                 'the mean over\nthe cases is the harmonic one. On a GPU, times of a few microseconds are those of a launch.')
        found = [(device, rung, self.measured.cases(device, rung)) for device in self.measured.devices for rung in CASES]
        for device, rung, versions in found:
            for case in (*PRODUCTS, 'mean') if versions else ():
                title = f'{rung}, {f"case {case[3:]}" if case in PRODUCTS else "mean of the cases"} ({device.upper()})'
                best: dict[Point, tuple[float, str]] = {}
                for version, rates in versions.items():
                    for point, rate in rates[case].items():
                        best[point] = max(best.get(point, (0.0, '')), (rate, version))
                self.figure(f'{case}-{device}-{rung}-dgemm', f'{title}: dgemm', 'the same library for all cases', versions.get('dgemm', {}).get(case, {}),
                            over_nel=True)
                self.figure(f'{case}-{device}-{rung}', f'{title}: the fastest', 'tuned, always better than the default',
                            {point: rate for point, (rate, _) in best.items()}, over_nel=True)
                self.say('Fastest version:\n\n' + self.table({point: version for point, (_, version) in best.items()}))
        if not any(versions for _, _, versions in found):
            self.say('Not measured yet.')

    def gpu_figures(self) -> None:
        self.say('## The whole application on the GPU (Figures 19 to 21)')
        if 'gpu' not in self.measured.devices:
            return self.say('Not measured yet.')
        self.rates('fig19', 'Figure 19: hand-written, jammed (layered)', 'the reference for the two below, OpenACC',
                   ('layered', 'own'), 'gpu')
        tuned = self.measured.rungs('gpu', 'tuned')
        for rung in self.measured.rungs('gpu', 'own'):
            if rung not in tuned and rung != 'layered':
                self.rates(f'fig19-{rung}', f'{rung}, which has nothing to tune', 'has no such version', (rung, 'own'),
                           'gpu')
        for rung in tuned:
            self.rates(f'fig20-{rung}', f'Figure 20: {rung} by default', 'far below the hand-tuned kernel',
                       (rung, 'own'), 'gpu')
            self.rates(f'fig21-{rung}', f'Figure 21: {rung} tuned',
                       'tuned by hand, near the hand-tuned kernel; tuned alone, slower than the default',
                       (rung, 'tuned'), 'gpu')

    # -- the other comparisons --

    def isolated(self) -> None:
        m = self.measured
        self.say('## Tuned inside against tuned alone')
        found = [(device, rung) for device in m.devices for rung in m.rungs(device, 'isolated')]
        for device, rung in found:
            self.change(f'isolated-{device}-{rung}', f'{rung}, run with what was tuned alone, against tuned inside '
                        f'({device.upper()})', 'tuned alone no loss on CPUs; on the GPU slower than no tuning at all',
                        (rung, 'isolated'), (rung, 'tuned'), device)
        if not found:
            self.say('Not measured yet.')

    def products(self) -> None:
        m = self.measured
        self.say('## Products of one kind tuned as another (vxv against mxv/vxm)')
        for rung in m.rungs('cpu', 'swapped') or ['scalar', 'vector']:
            self.change(f'products-{rung}', f'{rung} with the choice of the other, against its own',
                        'the two can hardly be told apart', (rung, 'swapped'), (rung, 'tuned'))
        pairs = m.both('cpu', ('scalar', 'tuned'), ('vector', 'tuned')).values()
        alike = [m.first[a].rungs[0].choice == m.first[b].rungs[0].choice for a, b in pairs]
        self.say(f'At {sum(alike)} of {len(alike)} points both rungs have the same choice: nothing is run there.')

    def compile_time(self) -> None:
        m = self.measured
        self.say('## n known when compiled, against n passed')
        for device, rung, known, passed, what in KNOWN:
            self.change(f'sizes-{device}-{rung}-{known[4:]}', f'{rung}: {known[4:]} against {passed[4:]}, {what} '
                        f'({device.upper()})', 'always far better when known (Figures 13 and 14, GPU)',
                        (rung, known), (rung, passed), device)

    def fastest(self) -> None:
        """The report's section 4.5."""
        self.say('## The fastest version overall')
        for device in self.measured.devices:
            best: dict[Point, tuple[float, str]] = {}
            for key, value in self.measured.values.items():
                if key.device == device and key.variant in ('own', 'tuned'):
                    point = key.n, key.elements
                    best[point] = max(best.get(point, (0.0, '')), (value.gflops, key.rung))
            self.say(f'{device.upper()}, GFlop/s:\n\n' +
                     self.table({p: f'{rung} {rate:.1f}' for p, (rate, rung) in best.items()}))

    def choices(self) -> None:
        counts: dict[tuple[str, str, str], dict[str, int]] = {}
        for key, result in self.measured.first.items():
            for parameter, value in result.rungs[0].choice.items() if key.variant == 'tuned' else ():
                row = counts.setdefault((key.device, key.rung, parameter), {})
                row[value] = row.get(value, 0) + 1
        rows = [[device, f'`{rung}`', parameter,
                 ', '.join(f'{v}: {c}' for v, c in sorted(row.items(), key=lambda item: -item[1]))]
                for (device, rung, parameter), row in sorted(counts.items())]
        heads = ['device', 'rung', 'parameter', 'value: points']
        self.say('## What was chosen\n\n' + rows_of([heads, ['---'] * len(heads), *rows]))

    # -- the verdict --

    def tuned_rows(self) -> tuple[list[list[object]], list[str]]:
        """Returns the rows of tuned against default, and lines on points where tuned is slower beyond the noise."""
        m = self.measured
        rows: list[list[object]] = []
        bad = []
        for device in m.devices:
            for rung in m.rungs(device, 'tuned'):
                for default in ('dgemm', 'own'):
                    new, old = (rung, 'tuned'), (rung, default)
                    compared = m.compared(device, new, old)
                    if not compared:
                        continue
                    gains = {p: 1 / ratio for p, (ratio, _) in compared.items()}
                    most, worst = max(gains, key=lambda p: gains[p]), min(gains, key=lambda p: gains[p])
                    same = sum(m.same(a, b) for a, b in m.both(device, new, old).values())
                    beyond = slower(compared)
                    rows.append([device, rung, default, len(gains), f'{statistics.median(gains.values()):.3f}x',
                                 f'{gains[most]:.3f}x ({at(most)})',
                                 f'{1 / gains[worst]:.3f} ({at(worst)}; noise {compared[worst].noise:.3f})',
                                 same, len(faster(compared)), len(beyond)])
                    bad += [f'{device} {rung} at {at(p)}: tuned takes {compared[p].ratio:.3f} of the time of {default}, '
                            f'noise {compared[p].noise:.3f}' for p in beyond]
        return rows, bad

    def summary(self) -> bool:
        """Writes and prints the verdict. False: something is INVALID, or tuned is slower than a default beyond the
        noise."""
        rows, bad = self.tuned_rows()
        self.say('## Tuned against default\n\nGain: time of the default over time tuned; 1 where the tuner kept '
                 'the default, which is the same\nprogram. Noise of a comparison: the largest of half the spread of '
                 'the windows of either run, or half the range of its\nrepeats, added; 1 %; and twice the '
                 'standard deviation of the difference of two runs of the same choice.')
        heads = ['device', 'rung', 'default', 'points', 'median gain', 'largest gain', 'worst time tuned / default',
                 'same choice', 'faster beyond noise', 'slower beyond noise']
        self.say(rows_of([heads, ['---'] * len(heads), *rows]))
        for device, pairs in self.measured.pairs.items():
            if pairs:
                self.say(f'{device.upper()}: two runs of the same choice, {len(pairs)} pairs: they differ by '
                         f'{100 * statistics.median(pairs):.1f} % in the median, {100 * max(pairs):.1f} % at most.')
        for row in rows:
            print('{0} {1}, tuned over {2}: median gain {4}, largest {5}, worst {6}, {9} of {3} points slower beyond the noise'
                  .format(*row))
        for line in bad:
            self.say(f'Slower: {line}.')
            print(f'SLOWER: {line}')
        for key, verdict in self.measured.invalid:
            line = f'{verdict}: {key.device} {key.rung} at {at((key.n, key.elements))}, {key.variant}'
            self.say(f'{line}.')
            print(line)
        refused: dict[tuple[str, str, str], list[tuple[Point, str]]] = {}
        for key, why in self.measured.refused:
            refused.setdefault((key.device, key.rung, key.variant), []).append(((key.n, key.elements), why))
        for (device, rung, variant), found in sorted(refused.items()):
            points = sorted({point for point, _ in found})
            self.say(f'Refused: {device} {rung}, {variant}, at {listed(points)}; first: {found[0][1]}.')
        return not bad and not self.measured.invalid

    def machine(self) -> None:
        machines: dict[str, list[str]] = {}
        for key, result in self.measured.first.items():
            where = result.gpu if key.device == 'gpu' else result.cpu
            machines.setdefault(f'{where}, threads: {result.threads}, ranks: {result.ranks}, nekbone {result.version}, '
                                f'{result.compiler}, {result.flags}, BLAS: {blas_of(result)}',
                                []).append(result.date[:10])
        self.say('Measured on ' + '; '.join(f'{line} ({min(dates)} to {max(dates)})'
                                            for line, dates in sorted(machines.items())) + '.')

    def fairness(self) -> None:
        """Says first if what is tuned is compared with a library that nobody would use."""
        if any(blas_of(result).startswith(programs.SLOW_BLAS) for key, result in self.measured.first.items()
               if key.device == 'cpu'):
            line = f'NOT A FAIR COMPARISON: dgemm is that of {programs.SLOW_BLAS}, so a gain over dgemm says nothing. ' \
                   'Build with OpenBLAS, BLIS or MKL, and run this again in another folder.'
            self.say(line)
            print(line)

    def make(self) -> bool:
        """Writes report.md; returns the verdict of summary()."""
        self.fairness()
        self.say('# The study of CRESTA D3.5.2, repeated with nekbone\n\nN: points per direction; nel: elements of all '
                 'ranks. GFlop/s: the figure of merit, the same work for every rung.')
        self.machine()
        good = self.summary()
        for part in (self.fastest, self.choices, self.cpu_figures, self.alone_figures, self.cases, self.gpu_figures, self.isolated,
                     self.products, self.compile_time):
            part()
        path = os.path.join(self.folder, 'report.md')
        disk.save_bytes(path, ('\n\n'.join(self.text) + '\n').encode())
        print(f'report: {path}; {self.plots} plots')
        return good
