"""Plots as SVG inside the page itself: real text, the page's colours, ids that no other plot has.

Each plot is drawn twice, for wide and for narrow windows, so that its text is as large as the page's in both; CSS shows
one. The price is twice the bytes. Without matplotlib all functions here return None. curves() writes a file instead.
"""
import functools
import html
import io
import math
import re
import statistics
from collections.abc import Sequence
from typing import Any, Callable, NamedTuple, Optional, Protocol
from xml.etree import ElementTree

WIDE, NARROW = 720, 352  # units of the drawing, shown as so many CSS pixels
SIZE = 12  # of text
WIDTH = 0.6 * SIZE  # of a letter; an upper bound, as the reader's font is not known here
LONGEST = 22  # letters of a name
NOISY = 3.0  # per cent: more than this of spread is flagged

# Colours that are replaced by CSS custom properties once the plot is drawn.
TOKENS = {'ink': '#010101', 'soft': '#020202', 'grid': '#030303', 'paper': '#040404', 'cpu': '#050505',
          'cuda': '#060606', 'kokkos': '#070707', 'bad': '#080808', 'band': '#090909'}
KINDS = {'cpu': 'CPU', 'cuda': 'CUDA', 'kokkos': 'Kokkos'}
MARKERS = ('o', 's', 'D', '^', 'v', 'P')
DASHES = ('-', (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))
MISSING = 'matplotlib is missing (Debian: python3-matplotlib)'
Box = tuple[float, float, float, float]  # left, bottom, right, top
XY = tuple[float, float]


class Bar(Protocol):
    """A rung, as report.Rung has it."""
    name: str
    kind: str
    valid: bool
    fom: Optional[float]
    step: str
    windows: list[float]


class Dot(NamedTuple):
    """A rung in a roofline: flops per byte, and GFlop/s."""
    name: str
    kind: str
    ladder: str
    intensity: float
    rate: float


class Mark(NamedTuple):
    """A number of ranks of a scaling curve. efficiency, exposed: shares."""
    ranks: int
    fom: float
    efficiency: float
    exposed: Optional[float]


def count_of(plots: int) -> str:
    """Returns what to print about the plots of a page."""
    return f'{plots} plots' if matplotlib() else f'no plots: {MISSING}'


@functools.lru_cache(None)
def matplotlib() -> Any:
    """Returns the module, set up; None if it is missing."""
    try:
        import matplotlib as found
        import matplotlib.backends.backend_svg
        import matplotlib.figure
        import matplotlib.ticker
    except ImportError:
        return None
    found.rcdefaults()
    found.rcParams.update({
        'svg.fonttype': 'none', 'font.size': SIZE, 'axes.labelsize': SIZE, 'xtick.labelsize': SIZE,
        'ytick.labelsize': SIZE, 'text.color': TOKENS['ink'], 'axes.labelcolor': TOKENS['soft'],
        'axes.edgecolor': TOKENS['soft'], 'xtick.color': TOKENS['soft'], 'ytick.color': TOKENS['soft'],
        'axes.spines.top': False, 'axes.spines.right': False, 'axes.linewidth': 0.8, 'grid.color': TOKENS['grid'],
        'grid.linewidth': 0.8, 'axes.axisbelow': True})
    if 'text.parse_math' in found.rcParams:
        found.rcParams['text.parse_math'] = False  # a $ in a name is a $
    return found


def printable(text: str) -> str:
    """Returns one line, short enough for a label. Callers have taken out what XML cannot hold."""
    if not matplotlib() or 'text.parse_math' not in matplotlib().rcParams:
        text = text.replace('$', '')
    text = ' '.join(text.split())
    return text if len(text) <= LONGEST else text[:LONGEST - 1] + '…'


# ---- From a figure to SVG ----

def drawn_text(figure: Any, salt: str) -> str:
    """Returns a figure as SVG, as matplotlib writes it."""
    mpl = matplotlib()
    mpl.rcParams['svg.hashsalt'] = salt
    file = io.StringIO()
    mpl.backends.backend_svg.FigureCanvasSVG(figure)
    figure.savefig(file, format='svg', transparent=True, metadata={'Date': None, 'Creator': None})
    return file.getvalue()


def drawn(figure: Any, name: str, title: str, what: str) -> str:
    """Returns a figure as SVG that fits into the page: its ids begin with the name, its font and colours are the
    page's."""
    root = ElementTree.fromstring(drawn_text(figure, name))
    for element in root.iter():
        element.tag = element.tag.rpartition('}')[2]
        for key, value in list(element.attrib.items()):
            del element.attrib[key]
            key = key.rpartition('}')[2]
            if key == 'id':
                value = f'{name}-{value}'
            elif key == 'href':
                value = value.replace('#', f'#{name}-')
            value = value.replace('url(#', f'url(#{name}-')
            element.set(key, re.sub(r'font: ((?:\d+ )?[\d.]+px) [^;"]*', r'font: \1 var(--sans)', value))
        for child in [child for child in element if child.tag.rpartition('}')[2] in ('metadata', 'style')]:
            element.remove(child)
    body = ''.join(ElementTree.tostring(child, 'unicode') for child in root)
    for colour, code in TOKENS.items():
        body = body.replace(code, f'var(--{colour})')
    return (f'<svg viewBox="{root.get("viewBox")}" role="img" aria-labelledby="{name}-title {name}-what">\n'
            f'<title id="{name}-title">{html.escape(title)}</title>\n'
            f'<desc id="{name}-what">{html.escape(what)}</desc>{body}</svg>')


def both(name: str, title: str, what: str, draw: Callable[[int, Any], None]) -> Optional[str]:
    """Returns a plot in both widths. draw(width, figure) draws it, and sets the figure's height."""
    if not matplotlib():
        return None
    forms = []
    for form, width in (('wide', WIDE), ('narrow', NARROW)):
        figure = matplotlib().figure.Figure(dpi=72)
        draw(width, figure)
        forms.append(f'<div class="plot {form}">{drawn(figure, f"{name}-{form}", title, what)}</div>')
    return '\n'.join(forms)


def axes(figure: Any, width: float, height: float, left: float = 56, right: float = 12, top: float = 10,
         bottom: float = 44, at: Optional[Box] = None) -> Any:
    """Returns axes with margins in units; at: (left, bottom, width, height) of a part of the figure."""
    figure.set_size_inches(width / 72, height / 72)
    x, y, w, h = at or (0, 0, width, height)
    return figure.add_axes(((x + left) / width, (y + bottom) / height, (w - left - right) / width,
                            (h - top - bottom) / height))


def above(ax: Any, text: str, x: float = 0, y: float = 7) -> Any:
    """Writes a label over the top left corner, where it is read horizontally."""
    return ax.annotate(text, (0, 1), (x, y), xycoords='axes fraction', textcoords='offset points', ha='left',
                       va='bottom', color=TOKENS['soft'])


# ---- Scales ----

def plain(value: float, _: object = None) -> str:
    return f'{value:,.0f}' if value >= 1000 else f'{value:g}'


def logarithmic(axis: Any, low: float, high: float, room: float = 400) -> None:
    """Sets ticks at 1, and at 2 and 5 if they are few; plain numbers, as many as there is room for."""
    ticker = matplotlib().ticker
    decades = math.log10(high / low)
    each = WIDTH * max(len(plain(10.0 ** math.floor(math.log10(end)))) for end in (low, high)) + 12
    axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5) if decades < 2 and room > 6 * each else (1,),
                                             numticks=max(2, int(room / each))))
    axis.set_minor_locator(ticker.NullLocator())
    axis.set_major_formatter(ticker.FuncFormatter(plain))


def names_beside(ax: Any, names: list[str]) -> None:
    """Writes names at the left of rows 0 .. n - 1, the first on top."""
    ax.set_yticks(range(len(names)), [printable(name) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis='y', length=0, pad=6)
    for i, label in enumerate(ax.get_yticklabels()):
        label.set_color(TOKENS['ink'])
        label.set_gid(f'rung-{i}')
    ax.spines['left'].set_visible(False)


def margin(names: list[str]) -> float:
    return 18 + WIDTH * max(len(printable(name)) for name in names)


# ---- The climb ----

def climb(name: str, title: str, rungs: Sequence[Bar], unit: str, scale: float) -> Optional[str]:
    """Returns bars of the figure of merit, the first rung on top."""
    values = [rung.fom / scale for rung in rungs if rung.fom]
    if not values or not matplotlib():
        return None
    log = max(values) > 20 * min(values)

    def draw(width: int, figure: Any) -> None:
        left = margin([rung.name for rung in rungs])
        top = 26 if len(kinds_of(rungs)) > 1 else 4
        ax = axes(figure, width, 24 * len(rungs) + 50 + top, left=left, right=26, top=top)
        room = width - left - 26
        low = 10.0 ** math.floor(math.log10(min(values) / 1.5)) if log else 0.0
        high = furthest(rungs, scale, low, room)
        if log:
            ax.set_xscale('log')
            logarithmic(ax.xaxis, low, high, room)
        else:
            ax.xaxis.set_major_locator(matplotlib().ticker.MaxNLocator(max(2, int(room / 70))))
            ax.xaxis.set_major_formatter(matplotlib().ticker.FuncFormatter(plain))
        ax.set_xlim(low, high)
        for i, rung in enumerate(rungs):
            value = rung.fom / scale if rung.fom else low
            if rung.fom:
                ax.barh(i, value - low, left=low, height=0.66, color=TOKENS[rung.kind])
            x = 6.0
            for words, colour in ends_of(rung, scale):
                ax.annotate(words, (value, i), (x, 0), textcoords='offset points', va='center',
                            color=TOKENS[colour])
                x += WIDTH * len(words) + 8
        names_beside(ax, [rung.name for rung in rungs])
        ax.grid(axis='x')
        ax.set_xlabel(f'{unit}{", logarithmic" if log else ""}', loc='right')
        legend(ax, kinds_of(rungs), 4 - left)

    said = '; '.join(f'{rung.name}: {figures(rung.fom / scale) if rung.fom else "invalid"}' for rung in rungs)
    return both(name, title, f'Bars of {unit}, one per rung. {said}', draw)


def ends_of(rung: Bar, scale: float) -> list[tuple[str, str]]:
    """Returns the labels at the end of a rung's bar: (text, colour) each."""
    if not rung.valid or not rung.fom:
        return [('INVALID', 'bad')]
    return [(figures(rung.fom / scale), 'ink')] + ([(rung.step, 'soft')] if rung.step else [])


def furthest(rungs: Sequence[Bar], scale: float, low: float, room: float) -> float:
    """Returns the end of the axis at which every bar and its labels have room."""
    ends = []
    for rung in rungs:
        words = sum(WIDTH * len(text) + 8 for text, _ in ends_of(rung, scale)) + 8
        value = rung.fom / scale if rung.fom else low
        share = max(0.2, 1 - words / room)
        ends.append(low * (value / low) ** (1 / share) if low else value / share)
    return max(ends)


def figures(value: float) -> str:
    """Returns a value with three or four figures."""
    return f'{value:,.0f}' if value >= 1000 else f'{value:.1f}' if value >= 10 else f'{value:.3g}'


def kinds_of(rungs: Sequence[Any]) -> list[str]:
    return [kind for kind in KINDS if any(rung.kind == kind for rung in rungs)]


def legend(ax: Any, kinds: list[str], x: float) -> float:
    """Writes which colour is which processor, above the axes, unless there is only one. Returns where it ends."""
    for kind in kinds if len(kinds) > 1 else ():
        above(ax, f'■ {KINDS[kind]}', x).set_color(TOKENS[kind])
        x += (len(KINDS[kind]) + 4) * WIDTH
    return x


# ---- The roofline ----

def spread_out(wanted: list[float], room: float, least: float) -> list[float]:
    """Returns heights near the wanted ones, which fall, at least so far apart and within 0 .. room if they fit."""
    heights, last = [], room + least
    for height in wanted:
        last = min(height, last - least)
        heights.append(last)
    last = -least
    for i in reversed(range(len(heights))):
        heights[i] = last = max(heights[i], last + least)
    return heights


def names_of_points(ax: Any, points: list[Dot], width: float, height: float) -> None:
    """Writes the names in a column at the right of the axes, each with a fine line to its point."""
    low, high = ax.get_ylim()
    points = sorted(points, key=lambda p: -p.rate)
    wanted = [height * math.log(p.rate / low) / math.log(high / low) for p in points]
    for i, (p, y) in enumerate(zip(points, spread_out(wanted, height, SIZE + 4))):
        ax.annotate(printable(p.name), (p.intensity, p.rate), (width + 16, y), textcoords='axes points', va='center',
                    annotation_clip=False, color=TOKENS['ink'], arrowprops={
                        'arrowstyle': '-', 'color': TOKENS[p.kind], 'linewidth': 0.6, 'relpos': (0, 0.5), 'shrinkA': 2,
                        'shrinkB': 5}).set_gid(f'halo-{i}')


def roofline(name: str, title: str, points: list[Dot], roofs: dict[str, tuple[str, float]]) -> Optional[str]:
    """roofs: {'bandwidth': (label, GB/s), 'fp64': (label, GFlop/s), 'fp32': ...}, those that were measured."""
    if not points or 'bandwidth' not in roofs or not matplotlib():
        return None
    bandwidth = roofs['bandwidth'][1]
    flat = [roofs[key] for key in ('fp64', 'fp32') if key in roofs]
    highest = max([rate for _, rate in flat], default=max(p.rate for p in points))
    left = min([p.intensity for p in points] + [highest / bandwidth / 3]) / 2
    right = max([p.intensity for p in points] + [highest / bandwidth * 1.6]) * 2
    top = max([highest] + [p.rate for p in points]) * 2
    bottom = min([p.rate for p in points] + [top / 300]) / 2
    ladders = sorted({p.ladder for p in points})

    def draw(width: int, figure: Any) -> None:
        column = WIDTH * max(len(printable(p.name)) for p in points) + 20
        margin_, over = 14 + WIDTH * len(plain(10 ** math.floor(math.log10(top)))), 28 + 16 * len(roofs)
        inside = max(300, (SIZE + 4) * len(points))
        ax = axes(figure, width, inside + over + 44, left=margin_, right=column, top=over)
        room = width - margin_ - column
        ax.set_xscale('log')
        ax.set_yscale('log')
        ax.set_xlim(left, right)
        ax.set_ylim(bottom, top)
        logarithmic(ax.xaxis, left, right, room)
        logarithmic(ax.yaxis, bottom, top)
        ax.grid(linewidth=0.5)
        ax.set_xlabel('flop per byte, by the model')
        above(ax, 'GFlop/s', 4 - margin_)
        ax.plot((left, highest / bandwidth), (left * bandwidth, highest), color=TOKENS['ink'], linewidth=1.6)
        for dash, (_, rate) in zip(DASHES, flat):
            ax.plot((rate / bandwidth, right), (rate, rate), color=TOKENS['ink'], linewidth=1.6, linestyle=dash)
        for i, (label, _) in enumerate(roofs.values()):
            sign = '╱' if i == 0 else '──' if i == 1 else '╌╌'
            above(ax, f'{sign} {label}', 4 - margin_, 7 + 16 * (len(roofs) - i))
        for p in points:
            ax.plot(p.intensity, p.rate, marker=MARKERS[ladders.index(p.ladder) % len(MARKERS)], markersize=7.5,
                    color=TOKENS[p.kind], markeredgecolor=TOKENS['paper'], markeredgewidth=0.8, zorder=4)
        names_of_points(ax, points, room, inside)
        end = legend(ax, kinds_of(points), 48)
        if len(ladders) > 1:
            ladder_key(ax, ladders, end)

    said = '; '.join(f'{p.name}: {figures(p.intensity)} flop per byte, {figures(p.rate)} GFlop/s' for p in points)
    lines = ', '.join(label for label, _ in roofs.values())
    return both(name, title, f'Ceilings: {lines}. Points: {said}', draw)


def ladder_key(ax: Any, ladders: list[str], x: float) -> None:
    """Writes which marker is which ladder, above the axes."""
    for i, ladder in enumerate(ladders):
        sign = dict(zip(MARKERS, '●■◆▲▼✚'))[MARKERS[i % len(MARKERS)]]
        above(ax, f'{sign} {printable(ladder)}', x)
        x += (len(printable(ladder)) + 3) * WIDTH


# ---- Noise ----

def windows(name: str, title: str, rungs: Sequence[Bar]) -> Optional[str]:
    """Returns each timed window of each rung, in per cent of the rung's median."""
    rungs = [rung for rung in rungs if rung.windows]
    if not rungs or not matplotlib():
        return None
    shares = []
    for rung in rungs:
        median = statistics.median(rung.windows)
        shares.append([100 * (s / median - 1) for s in rung.windows])
    most = max(max(map(abs, row)) for row in shares)

    def draw(width: int, figure: Any) -> None:
        ax = axes(figure, width, 20 * len(rungs) + 62, left=margin([rung.name for rung in rungs]), right=20)
        if most > 6 * NOISY:
            ax.set_xscale('symlog', linthresh=NOISY, linscale=1)
            ticks = [t for t in (-100, -30, -10, -3, 0, 3, 10, 30, 100, 300, 1000, 3000) if
                     min(map(min, shares)) * 1.5 <= t <= max(map(max, shares)) * 1.5]
            if width == NARROW:
                ticks = [t for t in ticks if t not in (-3, 3, -30, 30, 300)]
            ax.set_xticks(ticks)
            ax.xaxis.set_minor_locator(matplotlib().ticker.NullLocator())
        else:
            reach = max(most, NOISY / 2) * 1.15
            ax.set_xlim(-reach, reach)
        ax.xaxis.set_major_formatter(matplotlib().ticker.FuncFormatter(
            lambda v, _: f'{v:+g}'.replace('-', '−') if v else '0'))
        ax.axvspan(-NOISY / 2, NOISY / 2, color=TOKENS['band'], linewidth=0)
        ax.axvline(0, color=TOKENS['soft'], linewidth=0.8)
        for i, (rung, row) in enumerate(zip(rungs, shares)):
            ax.plot(row, [i] * len(row), linestyle='none', marker='o', markersize=6, color=TOKENS[rung.kind],
                    markeredgecolor=TOKENS['paper'], markeredgewidth=0.6, alpha=0.85)
        names_beside(ax, [rung.name for rung in rungs])
        ax.set_xlabel('% of the median time', loc='right')

    said = '; '.join(f'{rung.name}: {min(row):+.1f} to {max(row):+.1f} %' for rung, row in zip(rungs, shares))
    return both(name, title, f'One dot per timed window. {said}', draw)


# ---- Histories ----

def history(name: str, title: str, series: dict[str, list[XY]], over: str, value: str) -> Optional[str]:
    """series: {label: [(x, y > 0)]}; logarithmic in y."""
    series = {label: [p for p in points if p[1] > 0] for label, points in series.items()}
    series = {label: points for label, points in series.items() if len(points) > 1}
    if not series or not matplotlib():
        return None
    ys = [y for points in series.values() for _, y in points]

    def draw(width: int, figure: Any) -> None:
        ax = axes(figure, width, 270, left=56, top=26)
        ax.set_yscale('log')
        low, high = min(ys) / 1.5, max(ys) * 1.5
        ax.set_ylim(low, high)
        logarithmic(ax.yaxis, low, high)
        ax.yaxis.set_major_formatter(matplotlib().ticker.FuncFormatter(
            lambda v, _: plain(v) if 1e-3 <= v < 1e5 else f'{v:.0e}'.replace('e-0', 'e-').replace('e+0', 'e')))
        for i, (label, points) in enumerate(series.items()):
            ax.plot(*zip(*points), color=TOKENS[('cpu', 'cuda', 'kokkos')[i % 3]], linewidth=1.6,
                    linestyle=DASHES[i % len(DASHES)], marker='o' if len(points) < 25 else None, markersize=4)
        for i, label in enumerate(series):
            ax.annotate(printable(label), (1, 1), (-4, -4 - 16 * i), xycoords='axes fraction',
                        textcoords='offset points', ha='right', va='top',
                        color=TOKENS[('cpu', 'cuda', 'kokkos')[i % 3]]).set_gid(f'halo-{i}')
        ax.grid(linewidth=0.5)
        ax.set_xlabel(over)
        above(ax, value, -52)

    said = '; '.join(f'{label}: from {p[0][1]:.3g} to {p[-1][1]:.3g}' for label, p in series.items())
    return both(name, title, f'{value} over {over}. {said}', draw)


# ---- Scaling ----

def scaling(name: str, title: str, series: dict[str, list[Mark]], unit: str, scale: float, over: str) -> Optional[str]:
    """Returns two panels: rates, and efficiencies with exposed communication."""
    series, over = {label: points for label, points in series.items() if points}, printable(over)[:12]
    if not series or not matplotlib():
        return None
    ranks = sorted({p.ranks for points in series.values() for p in points})

    def over_ranks(ax: Any) -> None:
        ax.set_xscale('log', base=2)
        ax.set_xlim(ranks[0] / 1.3, ranks[-1] * 1.3)
        ax.set_xticks(ranks, [str(r) for r in ranks])
        ax.xaxis.set_minor_locator(matplotlib().ticker.NullLocator())
        ax.grid(linewidth=0.5)
        ax.set_xlabel(over)

    def draw(width: int, figure: Any) -> None:
        wide = width == WIDE
        height = 290 if wide else 560
        places = ((0, 0, width / 2, height), (width / 2, 0, width / 2, height)) if wide else \
            ((0, height / 2, width, height / 2), (0, 0, width, height / 2))
        first, second = (axes(figure, width, height, left=62, top=28, at=place) for place in places)
        first.set_yscale('log')
        rates = [p.fom / scale for points in series.values() for p in points]
        for i, (label, points) in enumerate(series.items()):
            colour, mark = TOKENS[('cpu', 'cuda')[i % 2]], MARKERS[i % len(MARKERS)]
            x = [p.ranks for p in points]
            ideal = [points[0].fom / points[0].ranks * r / scale for r in x]
            rates += ideal
            first.plot(x, ideal, color=TOKENS['soft'], linewidth=0.8, linestyle=DASHES[1])
            first.plot(x, [p.fom / scale for p in points], color=colour, marker=mark, markersize=6)
            second.plot(x, [100 * p.efficiency for p in points], color=colour, marker=mark, markersize=6)
            exposed = [(p.ranks, 100 * p.exposed) for p in points if p.exposed is not None]
            if exposed:
                second.plot(*zip(*exposed), color=colour, linestyle=DASHES[2], marker=mark, markersize=4)
            first.annotate(f'{"●■"[i % 2]} {label}', (0, 1), (6, -4 - 16 * i), xycoords='axes fraction',
                           textcoords='offset points', va='top', color=colour).set_gid(f'halo-{i}')
        first.set_ylim(min(rates) / 1.5, max(rates) * 1.5)
        logarithmic(first.yaxis, min(rates) / 1.5, max(rates) * 1.5)
        second.set_ylim(0, 112)
        above(first, unit, -58)
        above(second, 'efficiency; dotted: waiting, %', -58)
        over_ranks(first)
        over_ranks(second)

    said = '; '.join(f'{label}, {p.ranks}: {100 * p.efficiency:.0f} %' for label, points in series.items()
                     for p in points)
    return both(name, title, f'{unit} and efficiency over {over}. {said}', draw)


# ---- A plot in a file of its own ----

PLAIN = {'ink': '#1b1d1f', 'soft': '#55595e', 'grid': '#dedfda', 'paper': '#ffffff', 'cpu': '#0b63a8', 'cuda': '#b8480a',
         'kokkos': '#0c7458', 'bad': '#b3121d', 'band': '#e9ebe4'}


def curves(title: str, series: dict[str, list[XY]], over: str, value: str, log2: bool) -> Optional[str]:
    """Returns an SVG file with one curve per series."""
    if not matplotlib():
        return None
    figure = matplotlib().figure.Figure(dpi=72)
    ax = axes(figure, 460, 300, left=60, right=110, top=50)
    for i, (label, points) in enumerate(series.items()):
        ax.plot(*zip(*points), marker=MARKERS[i % len(MARKERS)], linestyle=DASHES[i // len(MARKERS) % len(DASHES)],
                color=f'C{i}', label=label)
    if log2:
        ax.set_xscale('log', base=2)
    if value == '%':
        ax.axhline(0, color=TOKENS['ink'], linewidth=0.8)
    ax.set_xlabel(over)
    ax.set_title(title, fontsize=SIZE, color=TOKENS['ink'], loc='left', pad=22)
    above(ax, value)
    ax.legend(fontsize=SIZE - 2, loc='upper left', bbox_to_anchor=(1.02, 1), frameon=False)
    ax.grid(linewidth=0.5)
    text = drawn_text(figure, title)
    for colour, code in TOKENS.items():
        text = text.replace(code, PLAIN[colour])
    return text
