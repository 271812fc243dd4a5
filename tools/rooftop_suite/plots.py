"""The plots of a report: each is drawn by svg.py in both widths. They are '' where there is nothing to draw."""
import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple, Optional, Union

from .figures import Rung, short
from .svg import DASHES, SIGNS, SIZE, WIDTH, XY, Axes, Drawing, Scale, both, margin, plain, printable

SPREAD = 10.0  # per cent: windows that differ by more make a rung UNSTEADY
NEAR = 3.0  # per cent: farther dots are drawn nearer
KINDS = {'cpu': 'CPU', 'cuda': 'CUDA', 'kokkos': 'Kokkos', 'openacc': 'OpenACC'}


class Dot(NamedTuple):
    """A rung in a roofline: flops per byte, and GFlop/s."""
    name: str
    kind: str
    ladder: str
    intensity: float
    rate: float


class Share(NamedTuple):
    """An app in the overview: what was measured, its share of which ceiling, and the figure of merit in words."""
    name: str
    rung: str
    kind: str
    share: Optional[float]
    of: str
    said: str
    steady: bool


def kinds_of(rungs: Union[Sequence[Rung], Sequence[Dot]]) -> list[str]:
    return [kind for kind in KINDS if any(rung.kind == kind for rung in rungs)]


def legend(drawing: Drawing, kinds: list[str], y: float) -> None:
    """Writes which colour is which processor, unless there is only one."""
    x = 4.0
    for kind in kinds if len(kinds) > 1 else ():
        drawing.text(x, y, f'■ {KINDS[kind]}', kind)
        x += (len(KINDS[kind]) + 4) * WIDTH


# ---- The apps ----

def overview(name: str, title: str, shares: Sequence[Share]) -> str:
    """Returns a bar per app: which share of its nearest ceiling it reaches."""
    def draw(width: int) -> Drawing:
        drawing = Drawing(width, 62 * len(shares) + 18)
        for i, one in enumerate(shares):
            top = 62 * i + 10
            drawing.text(4, top, f'{printable(one.name)} · {printable(one.rung)}', 'ink')
            drawing.text(width - 4, top, one.said, 'ink' if one.steady else 'bad', 'end')
            drawing.rect(4, top + 10, width - 8, 14, 'band')
            drawing.rect(4, top + 10, (one.share or 0) * (width - 8), 14, one.kind)
            drawing.text(4, top + 34, f'{100 * one.share:.0f} % of {one.of}' if one.share else
                         'no ceiling was measured' if one.steady else 'the machine was disturbed: the table says how')
        drawing.text(width - 4, drawing.height - 8, 'whole width: the ceiling measured in the same job', anchor='end')
        return drawing

    said = '; '.join(f'{one.name}, {one.rung}: {one.said}' +
                     (f', {100 * one.share:.0f} % of {one.of}' if one.share else '') for one in shares)
    return both(name, title, f'A bar per app, its share of the nearest ceiling. {said}', draw)


# ---- The climb ----

def climb(name: str, title: str, rungs: Sequence[Rung], unit: str, scale: float) -> str:
    """Returns bars of the figure of merit, the first rung on top."""
    values = [rung.fom / scale for rung in rungs if rung.fom]
    if not values:
        return ''
    log = max(values) > 20 * min(values)

    def draw(width: int) -> Drawing:
        left, top = margin([rung.name for rung in rungs]), 24 if len(kinds_of(rungs)) > 1 else 4
        room = width - left - 26
        low = 10.0 ** math.floor(math.log10(min(values) / 1.5)) if log else 0.0
        drawing = Drawing(width, 24 * len(rungs) + 46 + top)
        ax = Axes(drawing, Scale(low, furthest(rungs, scale, low, room), left, left + room, log),
                  Scale(0, 1, top + 24 * len(rungs), top))
        ax.horizontal(f'{unit}{", logarithmic" if log else ""}')
        for i, rung in enumerate(rungs):
            y = top + 24 * i + 12
            end = ax.x(rung.fom / scale) if rung.fom else left
            drawing.rect(left, y - 8, end - left, 16, rung.kind)
            drawing.text(left - 6, y, printable(rung.name), 'ink', 'end')
            for words, colour in ends_of(rung, scale):
                drawing.text(end + 6, y, words, colour)
                end += WIDTH * len(words) + 8
        legend(drawing, kinds_of(rungs), 10)
        return drawing

    said = '; '.join(f'{rung.name}: {short(rung.fom / scale) if rung.fom else rung.verdict}' for rung in rungs)
    return both(name, title, f'Bars of {unit}, one per rung. {said}', draw)


def ends_of(rung: Rung, scale: float) -> list[tuple[str, str]]:
    """Returns the labels at the end of a rung's bar: (text, colour) each."""
    if not rung.fom:
        return [('not timed' if rung.verdict == 'VALID' else rung.verdict, 'bad')]
    return [(short(rung.fom / scale), 'ink')] + ([(rung.step, 'soft')] if rung.step else [])


def furthest(rungs: Sequence[Rung], scale: float, low: float, room: float) -> float:
    """Returns the end of the axis at which every bar and its labels have room."""
    ends = []
    for rung in rungs:
        words = sum(WIDTH * len(text) + 8 for text, _ in ends_of(rung, scale)) + 8
        value = rung.fom / scale if rung.fom else low
        share = max(0.2, 1 - words / room)
        ends.append(low * (value / low) ** (1 / share) if low else value / share)
    return max(ends)


# ---- The roofline ----

def spread_out(wanted: list[float], room: float, least: float) -> list[float]:
    """Returns heights near the wanted ones, which rise, at least so far apart and within 0 .. room if they fit."""
    heights, last = [], -least
    for height in wanted:
        last = max(height, last + least)
        heights.append(last)
    last = room + least
    for i in reversed(range(len(heights))):
        heights[i] = last = min(heights[i], last - least)
    return heights


def roofline(name: str, title: str, points: list[Dot], roofs: dict[str, tuple[str, float]]) -> str:
    """roofs: {'bandwidth': (label, GB/s), 'fp64': (label, GFlop/s), 'fp32': ...}, those that were measured."""
    if not points or 'bandwidth' not in roofs:
        return ''
    bandwidth = roofs['bandwidth'][1]
    flat = [roofs[key][1] for key in ('fp64', 'fp32') if key in roofs]
    highest = max(flat, default=max(p.rate for p in points))
    left = min([p.intensity for p in points] + [highest / bandwidth / 3]) / 2
    right = max([p.intensity for p in points] + [highest / bandwidth * 1.6]) * 2
    top = max([highest] + [p.rate for p in points]) * 2
    bottom = min([p.rate for p in points] + [top / 300]) / 2

    def draw(width: int) -> Drawing:
        first = 10 + 16 * sum(len(each) > 1 for each in (kinds_of(points), {p.ladder for p in points}))  # below legends
        column, over = margin([p.name for p in points]) + 10, first + 22 + 16 * len(roofs)
        low, high = 16 + WIDTH * len(plain(10 ** math.floor(math.log10(top)))), over + max(300, 16 * len(points))
        drawing = Drawing(width, high + 44)
        ax = Axes(drawing, Scale(left, right, low, width - column, True), Scale(bottom, top, high, over, True))
        ax.horizontal('flop per byte, by the model')
        ax.vertical('')
        for i, (label, _) in enumerate(roofs.values()):
            drawing.text(4, first + 16 * i, f'{("╱", "──", "╌╌")[i]} {label}')
        drawing.text(4, over - 12, 'GFlop/s')
        ax.curve([(left, left * bandwidth), (highest / bandwidth, highest)], 'ink')
        for dash, rate in zip(DASHES, flat):
            ax.curve([(rate / bandwidth, rate), (right, rate)], 'ink', dash=dash)
        names_of_points(ax, points)
        return drawing

    said = '; '.join(f'{p.name}: {short(p.intensity)} flop per byte, {short(p.rate)} GFlop/s' for p in points)
    return both(name, title, f'Ceilings: {", ".join(label for label, _ in roofs.values())}. Points: {said}', draw)


def names_of_points(ax: Axes, points: list[Dot]) -> None:
    """Draws the points, their names in a column at the right, each with a fine line to its point, and the legend."""
    ladders = sorted({p.ladder for p in points})
    points = sorted(points, key=lambda p: -p.rate)
    wanted = [ax.y(p.rate) - ax.y.end for p in points]
    for p, y in zip(points, spread_out(wanted, ax.y.begin - ax.y.end, SIZE + 4)):
        ax.drawing.line([(ax.x(p.intensity), ax.y(p.rate)), (ax.x.end + 13, ax.y.end + y)], p.kind, 0.6)
        ax.drawing.text(ax.x.end + 16, ax.y.end + y, printable(p.name), 'ink', halo=True)
    for p in points:
        ax.drawing.mark(ax.x(p.intensity), ax.y(p.rate), p.kind, SIGNS[ladders.index(p.ladder) % len(SIGNS)], 4.2)
    x, y = 4.0, 26 if len(kinds_of(points)) > 1 else 10
    legend(ax.drawing, kinds_of(points), 10)
    for i, ladder in enumerate(ladders if len(ladders) > 1 else ()):
        ax.drawing.text(x, y, f'{SIGNS[i % len(SIGNS)]} {printable(ladder)}')
        x += (len(printable(ladder)) + 3) * WIDTH


# ---- Noise ----

def windows(name: str, title: str, rungs: Sequence[Rung]) -> str:
    """Returns each timed window of each rung, in per cent of the rung's median. Far ones are drawn nearer (asinh)."""
    rungs = [rung for rung in rungs if len(rung.windows) > 1]
    if not rungs:
        return ''
    shares = [[100 * (s / statistics.median(rung.windows) - 1) for s in rung.windows] for rung in rungs]
    low, high = min(-0.6 * SPREAD, min(map(min, shares)) * 1.1), max(0.6 * SPREAD, max(map(max, shares)) * 1.1)

    def draw(width: int) -> Drawing:
        left, below = margin([rung.name for rung in rungs]), 20 * len(rungs) + 8
        drawing = Drawing(width, below + 42)
        scale = Scale(math.asinh(low / NEAR), math.asinh(high / NEAR), left + 6, width - 26)
        ax = Axes(drawing, scale, Scale(0, 1, below, 4))
        begin, end = (scale(math.asinh(share / NEAR)) for share in (-SPREAD / 2, SPREAD / 2))
        drawing.rect(begin, 4, end - begin, below - 4, 'band')
        values = [v for v in (-90, -50, -30, -10, -5, -2, 0, 2, 5, 10, 30, 100, 300, 1000, 3000) if low <= v <= high]
        ticks: list[float] = []
        for v in sorted(values, key=abs):  # the inner ones first, as far as there is room
            at = scale(math.asinh(v / NEAR))
            if all(abs(at - scale(t)) > WIDTH * 6 for t in ticks):
                ticks.append(math.asinh(v / NEAR))
        ax.horizontal('% of the median time', ticks,
                      lambda t: f'{round(NEAR * math.sinh(t)):+d}'.replace('-', '−').replace('+0', '0'))
        for i, (rung, row) in enumerate(zip(rungs, shares)):
            drawing.text(left - 6, 14 + 20 * i, printable(rung.name), 'ink', 'end')
            for value in row:
                drawing.mark(scale(math.asinh(value / NEAR)), 14 + 20 * i, rung.kind, size=3.2)
        return drawing

    said = '; '.join(f'{rung.name}: {min(row):+.1f} to {max(row):+.1f} %' for rung, row in zip(rungs, shares))
    return both(name, title, f'One dot per timed window. {said}', draw)


# ---- Curves ----

SERIES = ('cpu', 'cuda', 'kokkos', 'openacc', 'bad', 'soft', 'ink')  # colours of curves


def curves(name: str, title: str, series: dict[str, list[XY]], over: str, value: str, log_y: bool = False,
           log_x: bool = False) -> str:
    """Returns one curve per series, with the names at its right; 'weak: ideal' is in the colour of 'weak', and dashed.
    Logarithmic axes leave out values that are not above 0."""
    series = {label: [p for p in points if p[1] > 0 or not log_y] for label, points in series.items()}
    series = {label: points for label, points in series.items() if points}
    xs, ys = ([p[i] for points in series.values() for p in points] for i in (0, 1))
    if len(set(xs)) < 2:
        return ''
    low, high = (min(ys) / 1.5, max(ys) * 1.5) if log_y else (min(0, *ys), max(0, *ys) * 1.05 or 1)

    kinds = list(dict.fromkeys(label.split(':')[0] for label in series))
    of = [kinds.index(label.split(':')[0]) for label in series]
    names = [f'{SIGNS[(i + i // len(SERIES)) % len(SIGNS)]} {label}' for i, label in zip(of, series)]

    def draw(width: int) -> Drawing:
        below = max(250, 26 + 16 * len(names))
        drawing = Drawing(width, below + 44)
        ax = Axes(drawing, Scale(min(xs), max(xs), 60, width - margin(names) - 4, log_x),
                  Scale(low, high, below, 26, log_y))
        ax.horizontal(over, sorted(set(xs)) if len(set(xs)) <= 9 and log_x else None)
        ax.vertical(value)
        for i, (label, points) in enumerate(series.items()):
            colour, sign, dash = SERIES[of[i] % len(SERIES)], names[i][0], DASHES[':' in label]
            ax.curve(points, colour, 1.4, dash, sign if len(points) < 25 else '', 2.8)
            drawing.text(ax.x.end + 12, 32 + 16 * i, f'{sign} {printable(label)}', colour)
        return drawing

    said = '; '.join(f'{label}: from {p[0][1]:.3g} to {p[-1][1]:.3g}' for label, p in series.items())
    return both(name, title, f'{value} over {over}. {said}', draw)
