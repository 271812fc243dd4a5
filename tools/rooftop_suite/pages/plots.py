"""The plots of a report, drawn by Matplotlib, with text as text and the colours of the page, which scales them. They are
'' where there is nothing to draw, or no Matplotlib."""
import functools
import html
import importlib
import io
import itertools
import math
import re
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional, Union

from ..cli import complain
from ..results.explain import WAITS, Budget, verdict
from ..results.figures import Rung, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BEGIN = '<div class="plot">'  # of the element of a plot
WIDE = 440  # the width of a plot in units of which its letters have SIZE: the page scales it to 350 .. 600 pixels
SIZE = 12  # of text
WIDTH = 0.6 * SIZE  # of a letter; an upper bound, as the reader's font is not known here
LONGEST = 22  # letters of a name
COLOURS = {'ink': '#1b1d1f', 'soft': '#55595e', 'grid': '#dedfda', 'paper': '#ffffff', 'cpu': '#0b63a8',
           'bad': '#b3121d', 'cuda': '#b8480a', 'kokkos': '#0c7458', 'openacc': '#7a3e9d', 'band': '#e9ebe4'}  # of a file
SPREAD = 10.0  # per cent: windows that differ by more make a rung UNSTEADY
CREDITED = 'GFlop/s of credited work'
NEAR = 3.0  # per cent: farther dots are drawn nearer
PARTS = {'memory': 'cpu', 'arithmetic': 'cuda', 'L2': 'ink', 'shared memory': 'bad', 'instructions': 'soft',
         **dict(zip(WAITS, ('ink', 'cpu', 'bad', 'kokkos', 'cuda', 'openacc'))), 'launches': 'kokkos', 'grid barriers': 'band',
         'host waits': 'openacc', 'messages': 'bad', 'sums': 'soft', 'unexplained': 'grid'}  # colours of a budget; of waits the outline's
KINDS = {'cpu': 'CPU', 'cuda': 'CUDA', 'kokkos': 'Kokkos', 'openacc': 'OpenACC'}
SIGNS = 'osD^vP'  # of ladders
INK, SOFT, GRID, BAND = (COLOURS[name] for name in ('ink', 'soft', 'grid', 'band'))
LOOK: Any = {
    'svg.fonttype': 'none', 'text.parse_math': False, 'font.family': ['DejaVu Sans'], 'font.size': SIZE,
    **dict.fromkeys(('legend.fontsize', 'xtick.labelsize', 'ytick.labelsize', 'axes.labelsize'), SIZE),
    **dict.fromkeys(('text.color', 'axes.edgecolor', 'axes.labelcolor', 'xtick.color', 'ytick.color'), SOFT),
    **dict.fromkeys(('xtick.major.size', 'ytick.major.size', 'xtick.minor.size', 'ytick.minor.size'), 0),
    **dict.fromkeys(('figure.facecolor', 'axes.facecolor'), 'none'),
    'axes.grid': True, 'grid.color': GRID, 'axes.axisbelow': True, 'axes.linewidth': 0.8, 'axes.spines.top': False,
    'axes.spines.right': False, 'legend.frameon': False, 'legend.borderaxespad': 0, 'legend.handlelength': 1.2,
    'legend.columnspacing': 1, 'legend.handletextpad': 0.4}


# ---- Text and numbers ----

def printable(text: str) -> str:
    """Returns one line, short enough for a label."""
    text = ' '.join(text.split())
    return text if len(text) <= LONGEST else text[:LONGEST - 1] + '…'


def plain(value: float) -> str:
    if value and not 1e-3 <= abs(value) < 1e6:
        return f'{value:.0e}'.replace('e-0', 'e-').replace('e+0', 'e')
    return f'{value:,.0f}' if abs(value) >= 1000 else f'{value:g}'


# ---- From Matplotlib to the page ----

@functools.lru_cache(maxsize=None)
def missing() -> str:
    """Returns '' or why there are no plots, which it says once."""
    try:
        importlib.import_module('matplotlib')
        return ''
    except ImportError:
        complain('no plots: Matplotlib is missing (Debian: apt install python3-matplotlib)')
        return 'No plots: Matplotlib is missing where this was made.'


def drawn(name: str, title: str, what: str, height: float, draw: Callable[['Axes'], None]) -> str:
    """Returns a plot."""
    if missing():
        return ''
    import matplotlib
    from matplotlib.figure import Figure
    with matplotlib.rc_context({**LOOK, 'svg.hashsalt': name}):
        figure, file = Figure((WIDE / 72, height / 72)), io.StringIO()
        figure.set_layout_engine('constrained', w_pad=2 / 72, h_pad=4 / 72)
        draw(figure.subplots())
        figure.savefig(file, format='svg', metadata={'Date': None})
    return f'{BEGIN}{of_page(file.getvalue(), name, title, what)}</div>'


def of_page(text: str, name: str, title: str, what: str) -> str:
    """Returns the element of an SVG file of Matplotlib, short, and in the colours of the page."""
    text = text[text.index('<svg'):]
    for needless in (r'<metadata>.*?</metadata>', r'<style.*?</style>', r'<!--.*?-->', r'\n\s*', r' id="[\w.]+_\d+"',
                     r'font: [^;"]*;? ?', r' transform="rotate\(-0 [^"]*\)"', r'(?<=\.\d)\d+(?=[^<>]*>)',
                     r' clip-path="[^"]*"', r'<clipPath.*?</clipPath>', r'; stroke-line(cap|join): \w+', r'</?g/?>',
                     r'<path d="[^"]*" style="fill: none"/>', r'<defs></defs>'):
        text = re.sub(needless, '', text, flags=re.S)
    text = text.replace('xlink:href', 'href')
    for colour, value in COLOURS.items():
        text = text.replace(value, f'var(--{colour})')
    box = re.search(r'viewBox="[^"]*"', text)
    return f'<svg {box[0] if box else ""} role="img" class="drawn" aria-labelledby="{name}-title {name}-what">' \
           f'<title id="{name}-title">{html.escape(title)}</title>\n<desc id="{name}-what">{html.escape(what)}</desc>' + \
           text[text.index('>') + 1:]


def kinds_of(rungs: Sequence[Union[Rung, 'Bar']]) -> list[str]:
    return [kind for kind in KINDS if any(rung.kind == kind for rung in rungs)]


def legend(ax: 'Axes', kinds: list[str], ladders: Sequence[str] = (), y: float = 1.01) -> None:
    """Says above which colour is which processor and which sign which ladder, unless there is only one."""
    rows = [('s', COLOURS[kind], KINDS[kind]) for kind in kinds if len(kinds) > 1] + \
        [(SIGNS[i % len(SIGNS)], SOFT, printable(ladder or 'the first ladder')) for i, ladder in enumerate(ladders)
         if len(ladders) > 1]
    handles = [ax.plot([], [], sign, color=colour, label=name)[0] for sign, colour, name in rows]
    if handles:
        ax.legend(handles=handles, loc='lower left', bbox_to_anchor=(0, y), ncol=4)


def of_legend(kinds: list[str], ladders: Sequence[str] = ()) -> int:
    """Returns the height of a legend."""
    return 19 * math.ceil(sum(len(each) for each in (kinds, ladders) if len(each) > 1) / 4)


def named(ax: 'Axes', names: Sequence[str]) -> None:
    """Names the rows of a plot, the first on top."""
    ax.set_yticks(range(len(names)), [printable(name) for name in names], color=INK)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(False, axis='y')


# ---- The climb ----

class Bar(NamedTuple):
    """A machine's run, where a rung is one of many machines."""
    name: str
    fom: Optional[float]
    verdict: str
    kind: str
    step: str = ''


def climb(name: str, title: str, rungs: Sequence[Union[Rung, Bar]], apart: float = 20) -> str:
    """Returns bars of the figure of merit, the first rung on top; logarithmic where the longest is more than `apart` times the
    shortest."""
    values = [rung.fom / 1e9 for rung in rungs if rung.fom]
    if not values:
        return ''
    log = max(values) > apart * min(values)
    low = 10.0 ** math.floor(math.log10(min(values) / 1.5)) if log else 0.0

    def draw(ax: 'Axes') -> None:
        named(ax, [rung.name for rung in rungs])
        room, ends = WIDE - 26 - WIDTH * max(len(printable(rung.name)) for rung in rungs), []
        for i, rung in enumerate(rungs):
            value, at = rung.fom / 1e9 if rung.fom else low, 6.0
            ax.barh(i, value - low, 0.66, low, color=COLOURS[rung.kind])
            labels = [(short(rung.fom / 1e9), 'ink'), (rung.step, 'soft')][:1 + bool(rung.step)] if rung.fom else [
                ('not timed' if rung.verdict == 'VALID' else rung.verdict, 'bad')]
            for words, colour in labels:
                ax.annotate(words, (value, i), (at, 0), textcoords='offset points', color=COLOURS[colour], va='center',
                            annotation_clip=False).set_in_layout(False)
                at += WIDTH * len(words) + 8
            share = max(0.2, 1 - at / room)
            ends.append(low * (value / low) ** (1 / share) if low else value / share)
        ax.set_xscale('log' if log else 'linear')
        ax.set_xlim(low, max(ends))
        ticks(ax.xaxis, room)
        ax.set_xlabel(f'{CREDITED}{", logarithmic" if log else ""}', loc='right')
        ax.spines['left'].set_visible(False)
        legend(ax, kinds_of(rungs))

    said = '; '.join(f'{rung.name}: {short(rung.fom / 1e9) if rung.fom else rung.verdict}' for rung in rungs)
    return drawn(name, title, f'Bars of {CREDITED}. {said}',
                24 * len(rungs) + 54 + of_legend(kinds_of(rungs)), draw)


def ticks(axis: Any, room: float) -> None:
    """Marks an axis at 1, 2, 5 times powers of ten, as many as there is room for, with plain numbers."""
    from matplotlib import ticker
    most = max(2, int(room / 60))
    if axis.get_scale() == 'log':
        low, high = axis.get_view_interval()
        few = 3 * math.log10(high / low) < max(most, 5)
        axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5) if few else (1,), numticks=most))
    else:
        axis.set_major_locator(ticker.MaxNLocator(most, steps=(1, 2, 5, 10)))
    axis.set_major_formatter(lambda value, at: plain(value))
    axis.set_minor_locator(ticker.NullLocator())


# ---- Many machines ----

def cascade(lines: dict[str, list[float]]) -> str:
    """Returns a line per app of per cents, the highest first; '' of fewer than two machines."""
    most = max(map(len, lines.values()))
    if most < 2:
        return ''

    def draw(ax: 'Axes') -> None:
        for sign, colour, (label, line) in zip(itertools.cycle(SIGNS), itertools.cycle(PARTS.values()), lines.items()):
            ax.plot(range(1, len(line) + 1), line, f'{sign}-', color=COLOURS[colour], label=printable(label))
        ax.set(xlim=(0.8, most + 0.2), ylim=(0, 105), xticks=range(1, most + 1))
        ax.set_xlabel('machines, the highest share first', loc='right')
        ax.text(0, 1.02, '% of the fastest rung', transform=ax.transAxes)
        ax.legend(loc='lower left', bbox_to_anchor=(0, 1.1), ncol=2)

    said = '; '.join(f'{label}: {", ".join(map(short, line))} %' for label, line in lines.items())
    return drawn('cascade', 'The portable rungs, machine by machine', said, 250 + 19 * math.ceil(len(lines) / 2), draw)


# ---- The budget ----

def budget(name: str, title: str, budgets: Sequence[Budget]) -> str:
    """Returns a bar per rung of the parts of its time; a line at 100 % is the measured time."""
    if not budgets:
        return ''
    shown = [part for part in PARTS if any(one.parts[part] for one in budgets)]

    def draw(ax: 'Axes') -> None:
        named(ax, [one.name for one in budgets])
        left = [0.0] * len(budgets)
        for part in shown:
            shares = [100 * one.parts[part] / one.seconds for one in budgets]
            ax.barh(range(len(budgets)), shares, 0.66, left, label=part, edgecolor=COLOURS[PARTS[part]],
                    color=COLOURS['paper' if part in WAITS else PARTS[part]])
            left = [a + b for a, b in zip(left, shares)]
        ax.axvline(100, color=INK, linewidth=0.8)
        ax.set_xlabel('% of the measured time', loc='right')
        ax.spines['left'].set_visible(False)
        ax.legend(loc='lower right', bbox_to_anchor=(1, 1.01), ncol=2)

    said = '; '.join(f'{one.name}: {verdict(one)}' for one in budgets)
    return drawn(name, title, f'Bars of the parts of the time, one per rung. {said}',
                24 * len(budgets) + 54 + 19 * math.ceil(len(shown) / 2), draw)


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


def roofline(name: str, title: str, rungs: Sequence[Rung], roofs: dict[str, tuple[str, float]]) -> str:
    """roofs: {'bandwidth': (label, GB/s), 'fp64': (label, GFlop/s), 'fp32': ...}, those that were measured."""
    points = sorted([(rung.intensity or 0.0, float(rung.flops) / 1e9, rung) for rung in rungs if rung.flops],
                    key=lambda point: -point[1])
    if not points or 'bandwidth' not in roofs:
        return ''
    bandwidth = roofs['bandwidth'][1]
    flat = [roofs[key][1] for key in ('fp64', 'fp32') if key in roofs]
    highest = max(flat, default=points[0][1])
    left = min([x for x, _, _ in points] + [highest / bandwidth / 3]) / 2
    right = max([x for x, _, _ in points] + [highest / bandwidth * 1.6]) * 2
    top = max(highest, points[0][1]) * 2
    bottom = min(points[-1][1], top / 300) / 2
    tall = max(300, 16 * len(points))
    ladders = sorted({rung.ladder for rung in rungs})

    def draw(ax: 'Axes') -> None:
        ax.set(xscale='log', yscale='log', xlim=(left, right), ylim=(bottom, top))
        room = WIDE - 70 - WIDTH * max(len(printable(rung.name)) for rung in rungs)
        ticks(ax.xaxis, room)
        ticks(ax.yaxis, 2 * tall)
        ax.set_xlabel('flop per byte, by the model', loc='right')
        ax.plot([left, highest / bandwidth], [left * bandwidth, highest], color=INK)
        for dash, rate in zip(('-', '--'), flat):
            ax.plot([rate / bandwidth, right], [rate, rate], dash, color=INK)
        heights = spread_out([tall * math.log(top / rate) / math.log(top / bottom) for _, rate, _ in points], tall, SIZE + 4)
        for (x, rate, rung), y in zip(points, heights):
            ax.annotate(printable(rung.name), (x, rate), (1.04, 1 - y / tall), textcoords='axes fraction',
                        color=INK, va='center', arrowprops={'arrowstyle': '-', 'color': COLOURS[rung.kind], 'lw': 0.6,
                                                            'shrinkA': 3, 'shrinkB': 0, 'relpos': (0, 0.5)})
            ax.plot(x, rate, SIGNS[ladders.index(rung.ladder) % len(SIGNS)], color=COLOURS[rung.kind], markersize=7)
        lines = [f'{sign} {label}' for sign, (label, _) in zip(('╱', '──', '╌╌'), roofs.values())]
        for i, line in enumerate(['GFlop/s', *reversed(lines)]):
            ax.text(-0.1, 1 + (12 + 17 * i) / tall, line, transform=ax.transAxes)
        legend(ax, kinds_of(rungs), ladders, 1 + (28 + 17 * len(lines)) / tall)

    said = '; '.join(f'{rung.name}: {short(x)} flop per byte, {short(rate)} GFlop/s' for x, rate, rung in points)
    return drawn(name, title, f'Ceilings: {", ".join(label for label, _ in roofs.values())}. Points: {said}',
                tall + 68 + 17 * len(roofs) + of_legend(kinds_of(rungs), ladders), draw)


# ---- Noise ----

def windows(name: str, title: str, rungs: Sequence[Rung]) -> str:
    """Returns each timed window of each rung, in per cent of the rung's median. Far ones are drawn nearer (asinh)."""
    rungs = [rung for rung in rungs if len(rung.windows) > 1]
    if not rungs:
        return ''
    shares = [[100 * (s / statistics.median(rung.windows) - 1) for s in rung.windows] for rung in rungs]
    low = min(-0.6 * SPREAD, 1.1 * min(min(row) for row in shares))
    high = max(0.6 * SPREAD, 1.1 * max(max(row) for row in shares))

    def draw(ax: 'Axes') -> None:
        named(ax, [rung.name for rung in rungs])
        ax.axvspan(-SPREAD / 2, SPREAD / 2, color=BAND)
        ax.set_xscale('asinh', linear_width=NEAR)
        ax.set_xlim(low, high)
        marks = (-50, -10, -5, 0, 5, 10, 50, 300, 3000)
        ax.set_xticks([v for v in marks if low <= v <= high], [f'{v:+d}'.replace('-', '−').replace('+0', '0')
                                                               for v in marks if low <= v <= high], minor=False)
        for i, (rung, row) in enumerate(zip(rungs, shares)):
            ax.plot(row, [i] * len(row), 'o', color=COLOURS[rung.kind], markersize=5.5, markeredgewidth=0.7,
                    markeredgecolor=COLOURS['paper'])
        ax.set_xlabel('% of the median time', loc='right')
        ax.spines['left'].set_visible(False)

    said = '; '.join(f'{rung.name}: {min(row):+.1f} to {max(row):+.1f} %' for rung, row in zip(rungs, shares))
    return drawn(name, title, f'One dot per timed window. {said}', 20 * len(rungs) + 50, draw)


# ---- Curves ----

def curves(name: str, title: str, x: str, y: str, of: dict[str, dict[int, float]]) -> str:
    """Returns a curve for each name over points, such as a paper has them; a legend of its own line for each."""
    points = sorted({point for values in of.values() for point in values})
    several = [colour for colour in PARTS.values() if colour != 'band']  # which is too pale for a line

    def draw(ax: 'Axes') -> None:
        if points[-1] > 8 * points[0]:
            ax.set_xscale('log')
        for i, (label, values) in enumerate(of.items()):
            ax.plot(list(values), list(values.values()), '-' + SIGNS[i % len(SIGNS)], label=label,
                    color=COLOURS[several[i % (len(several) - 1)]], markersize=5)
        ax.set_xticks(points, [plain(point) if i % math.ceil(len(points) / 7) == 0 else '' for i, point in enumerate(points)])
        ax.minorticks_off()
        ax.set_ylim(bottom=min(0.0, *(value for values in of.values() for value in values.values())))
        ticks(ax.yaxis, 250)
        ax.set_xlabel(x, loc='right')
        ax.set_ylabel(y)
        ax.legend(loc='lower left', bbox_to_anchor=(0, 1.01), ncol=1)

    said = '; '.join(f'{label}: {", ".join(f"{short(abs(value))} at {point}" for point, value in values.items())}'
                     for label, values in of.items())
    return drawn(name, title, f'{y} over {x}. {said}', 270 + 19 * len(of), draw)


# ---- Plots as files ----

def first(plot: str) -> str:
    """Returns a plot in colours of its own, for where no page defines them."""
    return re.sub(r'var\(--(\w+)\)', lambda found: COLOURS[found[1]], plot[plot.index('<svg'):plot.index('</svg>') + 6])


def svg_file(*panels: tuple[str, str]) -> str:
    """Returns a whole SVG file of (heading, plot) pairs, one below the other."""
    parts, top = [], 0.0
    for heading, plot in panels:
        drawing = first(plot)
        height = float(drawing.split('viewBox="0 0 ')[1].split('"')[0].split()[1])
        parts.append(f'<text x="4" y="{top + 17:g}" fill="{COLOURS["ink"]}" font-weight="600">{html.escape(heading)}</text>')
        parts.append(drawing.replace('<svg ', f'<svg y="{top + 28:g}" width="{WIDE}" height="{height:g}" ', 1))
        top += height + 40
    return (f'<svg xmlns="http://www.w3.org/2000/svg"'
            f' viewBox="0 0 {WIDE} {top:g}" width="{1.4 * WIDE:g}" height="{1.4 * top:g}" '
            f'font-family="system-ui,Helvetica,Arial,sans-serif" font-size="{SIZE}">\n'
            f'<rect width="100%" height="100%" fill="{COLOURS["paper"]}"/>\n' + '\n'.join(parts) + '\n</svg>\n')
