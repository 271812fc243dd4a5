"""Drawings as SVG inside the page itself: real text, the page's colours, ids that no other drawing has. No library is
needed.

Each plot is drawn twice, for wide and for narrow windows, so that its text is as large as the page's in both; CSS shows
one. narrow() keeps only the second. Lengths are in units, shown as so many CSS pixels; y grows downwards. Colours are
classes of STYLE, which is in every page. file() makes a file of its own from plots.
"""
import html
import itertools
import math
import re
import unicodedata
from collections.abc import Collection, Sequence
from typing import Callable, NamedTuple, Optional

WIDE, NARROW = 720, 352
SIZE = 12  # of text
WIDTH = 0.6 * SIZE  # of a letter; an upper bound, as the reader's font is not known here
CELL, GAP = 16, 2  # of a grid of squares
LONGEST = 22  # letters of a name
COLOURS = {'ink': '#1b1d1f', 'soft': '#55595e', 'grid': '#dedfda', 'paper': '#ffffff', 'cpu': '#0b63a8',
           'bad': '#b3121d', 'cuda': '#b8480a', 'kokkos': '#0c7458', 'openacc': '#7a3e9d', 'band': '#e9ebe4'}  # of a file
STYLE = (f'.drawn {{ color: var(--soft); font: {SIZE}px var(--sans); }}\n'
         '.drawn text, .drawn rect { fill: currentColor; }\n'
         '.drawn path { fill: none; stroke: currentColor; stroke-linejoin: round; }\n'
         '.drawn .dot { fill: currentColor; stroke: var(--paper); stroke-width: .7; vector-effect: non-scaling-stroke; }\n'
         f'.drawn .cell {{ stroke-width: {CELL - GAP}; stroke-dasharray: {CELL - GAP} {GAP}; }}\n'
         '.drawn .halo { paint-order: stroke; stroke: var(--paper); stroke-width: 3px; }\n'
         + ' '.join(f'.drawn .{name} {{ color: var(--{name}); }}' for name in COLOURS))
MARKERS = {'●': '', '■': 'M-.9-.9h1.8v1.8h-1.8z', '◆': 'M0-1.2 1.2 0 0 1.2-1.2 0z',
           '▲': 'M0-1.1 1.1.9h-2.2z', '▼': 'M0 1.1 1.1-.9h-2.2z',
           '✚': 'M-.4-1.1h.8v.7h.7v.8h-.7v.7h-.8v-.7h-.7v-.8h.7z'}
SIGNS = tuple(MARKERS)
DASHES = ('', '5 2', '1.5 1.5', '6 2 1.5 2')
XY = tuple[float, float]


# ---- Text and numbers ----

def visible(text: str) -> str:
    """Returns text without what XML cannot hold or a reader cannot see: controls, surrogates, marks of direction."""
    return ''.join(c if unicodedata.category(c) not in ('Cc', 'Cf', 'Cs') or c == '\n' else '\ufffd' for c in text)


def escape(text: str) -> str:
    return html.escape(visible(text))


def printable(text: str) -> str:
    """Returns one line, short enough for a label."""
    text = ' '.join(visible(text).split())
    return text if len(text) <= LONGEST else text[:LONGEST - 1] + '…'


def plain(value: float) -> str:
    if value and not 1e-3 <= abs(value) < 1e6:
        return f'{value:.0e}'.replace('e-0', 'e-').replace('e+0', 'e')
    return f'{value:,.0f}' if abs(value) >= 1000 else f'{value:g}'


# ---- Drawing ----

def unit(value: float) -> str:
    """Returns a length, to a tenth of a unit."""
    return f'{value:.1f}'.removesuffix('.0')


def points_at(points: Sequence[XY]) -> str:
    return ' '.join(f'{unit(x)} {unit(y)}' for x, y in points)


class Drawing:
    """The elements of one SVG, in the order in which they are drawn."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self.parts: list[str] = []

    def add(self, element: str, colour: str, more: str = '', inside: str = '') -> None:
        kind = '' if colour == 'soft' else f' class="{colour}"'
        end = f'>{inside}</{element.split()[0]}>' if inside else '/>'
        self.parts.append(f'<{element}{kind}{more}{end}')

    def text(self, x: float, y: float, words: str, colour: str = 'soft', anchor: str = 'start',
             halo: bool = False) -> None:
        """Writes words whose middle is at the height y."""
        self.add(f'text x="{unit(x)}" y="{unit(y + 0.36 * SIZE)}"', colour + (' halo' if halo else ''),
                 '' if anchor == 'start' else f' text-anchor="{anchor}"', escape(words))

    def line(self, points: Sequence[XY], colour: str, width: float = 1.0, dash: str = '') -> None:
        self.add(f'path d="M{points_at(points)}"', colour, ('' if width == 1 else f' stroke-width="{width:g}"') +
                 (f' stroke-dasharray="{dash}"' if dash else ''))

    def rect(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        self.add(f'rect x="{unit(x)}" y="{unit(y)}" width="{unit(max(width, 0))}" height="{unit(height)}"', colour)

    def squares(self, cells: Collection[tuple[int, int]], colour: str) -> None:
        """Draws cells (column, row) of a grid: as dashed lines along rows or columns, whichever is shorter to write."""
        def lines(down: bool) -> str:
            there, path = {cell[::-1] for cell in cells} if down else set(cells), ''
            for i, j in sorted(there):
                if (i - 1, j) not in there:  # a run begins
                    length = next(n for n in itertools.count(1) if (i + n, j) not in there)
                    x, y = CELL * i, CELL * j + (CELL - GAP) / 2
                    path += f'M{points_at([(y, x) if down else (x, y)])}{"v" if down else "h"}{CELL * length - GAP}'
            return path

        self.add(f'path d="{min(lines(False), lines(True), key=len)}"', f'{colour} cell')

    def mark(self, x: float, y: float, colour: str, sign: str = '●', size: float = 3.5) -> None:
        place = f'circle cx="{unit(x)}" cy="{unit(y)}" r="{size:g}"' if sign == '●' else \
            f'path d="{MARKERS[sign]}" transform="translate({points_at([(x, y)])}) scale({size:g})"'
        self.add(place, f'dot {colour}')

    def svg(self, title: str, what: str = '', name: str = '') -> str:
        """Returns the element. name: unique in the page, needed if there is a description."""
        described = f' aria-labelledby="{name}-title {name}-what"' if what else ''
        head = f'<title id="{name}-title">{escape(title)}</title>\n<desc id="{name}-what">{escape(what)}</desc>' \
            if what else f'<title>{escape(title)}</title>'
        return f'<svg viewBox="0 0 {unit(self.width)} {unit(self.height)}" role="img" class="drawn"{described}>\n{head}\n' + \
            '\n'.join(self.parts) + '</svg>'


def both(name: str, title: str, what: str, draw: Callable[[int], Drawing]) -> str:
    """Returns a plot in both widths."""
    return '\n'.join(f'<div class="plot {form}">{draw(width).svg(title, what, f"{name}-{form}")}</div>'
                     for form, width in (('wide', WIDE), ('narrow', NARROW)))


def narrow(plot: str) -> str:
    """Returns the narrow form alone, for windows of any width."""
    return plot[plot.find('<div class="plot narrow">'):].replace('plot narrow', 'plot', 1)


def own_style() -> str:
    """Returns STYLE for where no page defines its colours."""
    own = {**COLOURS, 'sans': 'system-ui,Helvetica,Arial,sans-serif'}
    return re.sub(r'var\(--(\w+)\)', lambda found: own[found[1]], STYLE)


def file(*panels: tuple[str, str]) -> str:
    """Returns a whole SVG file of (heading, plot) pairs, one below the other, in colours of its own. A plot that has a
    wide form is drawn in that; narrow drawings are shown larger, by a half at most."""
    parts, top, width = [], 0.0, 0.0
    for heading, plot in panels:
        drawing = plot[plot.index('<svg'):plot.index('</svg>') + 6]  # the first form: the wide one
        box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', drawing)
        own, height = (float(box[1]), float(box[2])) if box else (0.0, 0.0)
        parts.append(f'<text x="4" y="{top + 17:g}" class="ink" font-weight="600">{escape(heading)}</text>')
        parts.append(drawing.replace('<svg ', f'<svg y="{top + 28:g}" width="{own:g}" height="{height:g}" ', 1))
        top, width = top + height + 40, max(width, own)
    shown = min(1.5, WIDE / width)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {top:g}" width="{shown * width:g}" '
            f'height="{shown * top:g}" class="drawn">\n<style>\n{own_style()}\n</style>\n'
            '<rect width="100%" height="100%" class="paper"/>\n' + '\n'.join(parts) + '\n</svg>\n')


# ---- Scales ----

class Scale(NamedTuple):
    """Values from low to high, at units from begin to end; equal ratios are equally long if log."""
    low: float
    high: float
    begin: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low) if self.log else \
            (value - self.low) / (self.high - self.low)
        return self.begin + share * (self.end - self.begin)

    def ticks(self, horizontal: bool = True) -> list[float]:
        """Returns where marks have room: at 1, 2, 5 times powers of ten, or at powers of ten alone."""
        room = abs(self.end - self.begin)
        each = WIDTH * max(len(plain(self.low)), len(plain(self.high))) + 14 if horizontal else 2.2 * SIZE
        most = max(2, int(room / each))
        if not self.log:
            step = 10.0 ** math.floor(math.log10((self.high - self.low) / most))
            step *= next(times for times in (1, 2, 5, 10) if (self.high - self.low) / (step * times) <= most)
            first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
            return [k * step for k in range(first, last + 1)]
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for factors in ((1, 2, 5), (1,)):
            found = [f * 10.0 ** k for k in decades for f in factors if self.low <= f * 10.0 ** k <= self.high]
            if len(found) <= most:
                return found
        return found[::-(-len(found) // most)]


class Axes(NamedTuple):
    """A frame in a drawing with its two scales."""
    drawing: Drawing
    x: Scale
    y: Scale

    def horizontal(self, words: str, ticks: Optional[Sequence[float]] = None,
                   shown: Callable[[float], str] = plain) -> None:
        """Draws the axis below the frame, its grid and its name."""
        for value in self.x.ticks() if ticks is None else ticks:
            self.drawing.line([(self.x(value), self.y.begin), (self.x(value), self.y.end)], 'grid', 0.8)
            self.drawing.text(self.x(value), self.y.begin + 13, shown(value), anchor='middle')
        self.drawing.line([(self.x.begin, self.y.begin), (self.x.end, self.y.begin)], 'soft', 0.8)
        self.drawing.text(self.x.end, self.y.begin + 31, words, anchor='end')

    def vertical(self, words: str) -> None:
        """Draws the axis at the left of the frame, its grid, and its name above."""
        for value in self.y.ticks(horizontal=False):
            self.drawing.line([(self.x.begin, self.y(value)), (self.x.end, self.y(value))], 'grid', 0.8)
            self.drawing.text(self.x.begin - 7, self.y(value), plain(value), anchor='end')
        self.drawing.line([(self.x.begin, self.y.begin), (self.x.begin, self.y.end)], 'soft', 0.8)
        self.drawing.text(self.x.begin - 52, self.y.end - 13, words)

    def curve(self, points: Sequence[XY], colour: str, width: float = 1.6, dash: str = '', sign: str = '',
              size: float = 3.5) -> None:
        at = [(self.x(x), self.y(y)) for x, y in points]
        self.drawing.line(at, colour, width, dash)
        for x, y in at if sign else ():
            self.drawing.mark(x, y, colour, sign, size)


def margin(names: list[str]) -> float:
    return 14 + WIDTH * max(len(printable(name)) for name in names)
