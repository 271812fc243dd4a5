"""Drawings of who touches what, and where it is: of the rungs in the lessons, and of ideas.

    problem(spec)            what is wrong with a rung's **Drawing.**, or ''; words(spec): the same in words
    parsed(spec)             its parts; cells(spec): the grid of its drawing; shared_by(spec): the line below it
    ideas()                  {file name: a whole SVG file} for docs/lessons/drawings: the primer's, and gfnn-wave's

A rung's drawing is one line: the data, who has which part of it, and what is kept where, outermost last:

    **Drawing.** element 8x8, a thread per column; registers: u, w; shared: a layer; memory: u, 6 factors in, w out

`python3 -m rooftop_suite.drawings FOLDER` writes these files.
"""
import itertools
import math
import operator
import os
import re
import sys
import textwrap
from collections.abc import Sequence
from typing import Callable, NamedTuple

from . import disk
from .svg import CELL, NARROW, Axes, Drawing, Scale, file

PLACES = ('registers', 'shared', 'cache', 'network', 'memory')  # from the arithmetic outwards
IN = {'registers': 'in registers', 'shared': 'in shared memory', 'cache': 'in the cache', 'network': 'over the network',
      'memory': 'in memory'}
Owner = Callable[[int, int], int]  # (column, row) of a cell to who has it; 0 is drawn strongest
OWNERS: dict[str, Owner] = {
    'whole': lambda i, j: 0,  # all of it
    'point': lambda i, j: i + 8 * j,
    'column': lambda i, j: i,
    'row': lambda i, j: j,
    'pair': lambda i, j: j // 2,
    'tile': lambda i, j: i // 4 + 2 * (j // 4),
    'colour': lambda i, j: i % 2 + 2 * (j % 2),
    'stride': lambda i, j: (i + 8 * j) % 5}


class Spec(NamedTuple):
    """what: the data; columns, rows: of the grid; who: in words; owner: a key of OWNERS; places: [(place, text)]."""
    what: str
    columns: int
    rows: int
    who: str
    owner: str
    places: list[tuple[str, str]]


def parsed(text: str) -> Spec:
    """Returns a drawing's line; ValueError says what is wrong with it."""
    first, *rest = [part.strip() for part in ' '.join(text.split()).split(';')]
    found = re.fullmatch(r'(.+) (\d)x(\d), (.+ per (\w+))', first)
    if not found or found[5] not in OWNERS:
        raise ValueError(f'not "data 8x8, who per {"|".join(OWNERS)}": {first}')
    places = [(place, kept.strip()) for place, _, kept in (part.partition(':') for part in rest)]
    for place, kept in places:
        if place not in PLACES or not kept:
            raise ValueError(f'not "place: what", place one of {", ".join(PLACES)}: {place}')
    return Spec(found[1], int(found[2]), int(found[3]), found[4], found[5], places)


def who_of(spec: Spec) -> str:
    return spec.who.replace(' per whole', ': all of it').replace(' per stride', ', with a stride')


def shared_by(spec: Spec) -> str:
    return who_of(spec) if spec.owner == 'whole' else f'{who_of(spec)} (one of them in colour)'


def words(text: str) -> str:
    """Returns a drawing in words."""
    spec = parsed(text)
    return f'{spec.what[:1].upper()}{spec.what[1:]}: {who_of(spec)}' + ''.join(f'; {IN[place]}: {kept}'
                                                                             for place, kept in spec.places)


def problem(text: str) -> str:
    try:
        parsed(text)
    except ValueError as error:
        return f'Drawing: {error}'
    return ''


def cells(text: str) -> str:
    """Returns the grid of a rung's drawing: one part in colour, the others in turn."""
    spec = parsed(text)
    drawing, owner = Drawing(CELL * spec.columns, CELL * spec.rows), OWNERS[spec.owner]
    of: dict[str, list[tuple[int, int]]] = {}
    for i, j in itertools.product(range(spec.columns), range(spec.rows)):
        who = owner(i, j)
        of.setdefault('cuda' if who == 0 else 'band' if who % 2 else 'grid', []).append((i, j))
    for colour, squares in of.items():
        drawing.squares(squares, colour)
    return drawing.svg(f'{spec.what}: {who_of(spec)}')


# ---- Files of their own: as narrow as a telephone, shown larger where there is room ----

LETTERS = 47  # of a line


def say(d: Drawing, y: float, text: str, colour: str = 'ink') -> float:
    """Writes lines from the height y on. Returns where the next one goes."""
    for line in textwrap.wrap(text, LETTERS):
        d.text(4, y, line, colour)
        y += 16
    return y


def boxes(d: Drawing, y: float, colours: list[str], height: float = 20) -> None:
    """Draws a row of boxes, as wide as the drawing."""
    pitch = (NARROW - 8) / len(colours)
    for i, colour in enumerate(colours):
        d.rect(4 + pitch * i, y, pitch - 2, height, colour)


def roofline(d: Drawing) -> float:
    d.line([(20, 20), (20, 210), (348, 210)], 'soft')
    d.line([(20, 200), (190, 60), (348, 60)], 'ink', 2)
    d.line([(190, 60), (190, 210)], 'soft', 1, '4 3')
    d.text(24, 12, 'flops per second')
    d.text(348, 224, 'flops per byte', anchor='end')
    d.text(26, 100, 'the bandwidth', 'ink')
    d.text(348, 48, 'the arithmetic', 'ink', 'end')
    d.text(196, 198, 'the machine\'s balance')
    for x, y, colour, name in ((60, 176, 'cuda', 'x += alpha p: 1/12'), (115, 130, 'cpu', 'CG: 0.9'),
                               (240, 80, 'kokkos', 'network: 386')):
        d.mark(x, y, colour)
        d.text(x + 10, y + 6, name)
    return 236


def cache_line(d: Drawing) -> float:
    y = say(d, 8, 'Memory. A row here is a line of 64 bytes: 8 doubles')
    for row in range(4):
        top, pitch = y + 28 * row, (NARROW - 8) / 8
        boxes(d, top, 8 * ['band'])
        for i in range(8):
            d.text(4 + pitch * (i + 0.5), top + 10, str(8 * row + i), 'ink', 'middle')
            if row == 0 or i == 0:
                d.line([(4 + pitch * i, top + 22), (2 + pitch * (i + 1), top + 22)], 'bad' if row else 'cpu', 3)
    y = say(d, y + 124, 'stride 1: one line brings 8 values, and all are used', 'cpu')
    y = say(d, y, 'stride 8: one value of 8 is used, so the loop moves 8 times the bytes', 'bad')
    y = say(d, y + 12, 'A vector register: 8 doubles, one instruction')
    boxes(d, y, 8 * ['kokkos'])
    return y + 24


def gpu(d: Drawing) -> float:
    y = say(d, 8, 'A multiprocessor holds several blocks at a time, as many as its registers and shared memory allow')
    for b in range(2):
        d.rect(4, y, 344, 92, 'band')
        d.text(12, y + 14, f'block {b}: up to 1024 threads, one shared memory', 'ink')
        for w in range(3):
            at = y + 34 + 18 * w
            d.text(12, at, f'warp {w}')
            d.line([(66, at), (66 + 32 * 8.6, at)], 'cuda' if w + b == 0 else 'soft', 12, '6.6 2')
        y += 98
    y = say(d, y + 10, 'A warp: 32 lanes, one instruction at a time for all. While it waits for memory, another runs',
            'cuda')
    return say(d, y, 'Occupancy: warps that are there, as a share of those that there can be')


def coalescing(d: Drawing) -> float:
    y, pitch = 8.0, (NARROW - 8) / 32
    for said, stride, colour in (('Neighbouring lanes, neighbouring doubles: 32 lanes touch 8 sectors', 1, 'kokkos'),
                                 ('Lanes 32 bytes apart: 32 lanes touch 32 sectors', 4, 'bad')):
        y = say(d, y, said, colour)
        for lane in range(8):
            middle = 4 + pitch / 2 - 1
            d.line([(middle + pitch * lane, y + 4), (middle + pitch * lane * stride, y + 34)], colour, 1.2)
            d.mark(middle + pitch * lane, y + 2, colour, '●', 3.5)
        boxes(d, y + 34, ['band' if i // 4 % 2 else 'soft' for i in range(32)], 14)
        y += 70
    return say(d, y, 'Eight of the lanes are drawn. A box is a double, 4 boxes of one colour a sector of 32 bytes: the '
               'least that memory delivers', 'soft')


def banks(d: Drawing) -> float:
    y = say(d, 8, 'Shared memory: 32 banks, each gives one word of 4 bytes at a time. Word i is in bank i modulo 32')
    pitch = (NARROW - 8) / 32
    for said, width, colour in (('Rows of 32 words: a column is in one bank, so 32 lanes take 32 turns', 32, 'bad'),
                                ('Rows of 33 words: a column is in 32 banks, so they take one turn', 33, 'kokkos')):
        y = say(d, y + 8, said, colour)
        for row in range(6):
            d.line([(4, y + 4 + 11 * row), (NARROW - 4, y + 4 + 11 * row)], 'band', 9, f'{pitch - 2:g} 2')
            d.rect(4 + pitch * (row * width % 32), y - 0.5 + 11 * row, pitch - 2, 9, colour)
        y += 74
    return say(d, y, 'The first word of six rows, and the banks that they are in', 'soft')


def atomics(d: Drawing) -> float:
    y = say(d, 8, 'Six elements share a node, and add to its value')
    x, middle = NARROW / 2, y + 50
    rim = [(x + 58 * math.cos(k * math.pi / 3), middle + 52 * math.sin(k * math.pi / 3)) for k in range(7)]
    for (x0, y0), (x1, y1) in zip(rim, rim[1:]):
        d.line([(x, middle), (x0, y0), (x1, y1)], 'soft', 1.2)
        d.line([((x + x0 + x1) / 3, (middle + y0 + y1) / 3), (x, middle)], 'cuda', 2)
    d.mark(x, middle, 'cuda', '●', 6)
    y = say(d, y + 118, 'Atomics: one value in memory, and the additions to it come one after the other', 'cuda')
    y = say(d, y, 'Colours: elements of one colour share no node, so a pass per colour needs no atomics')
    return say(d, y, 'Gathering: a thread per node adds what its elements left; no two threads write one value')


def moves(d: Drawing) -> float:
    y = 8.0
    for what, count, said, colour in (
            ('conjugate gradients, per point', 176, 'vectors in and out, and six factors', 'cpu'),
            ('block-sparse sweep, per row', 2052, '17 blocks of 5 x 5 in FP32, their columns, D, R, dQ', 'cuda'),
            ('finite-element assembly, per element', 37, 'connectivity, x and u in, r in and out', 'kokkos'),
            ('stencil of the waves, per element', 49, 'three values in, three out, the material', 'soft')):
        d.text(4, y, f'{count} bytes: {what}', 'ink')
        d.rect(4, y + 10, max(4, (NARROW - 8) * count / 2052), 12, colour)
        y = say(d, y + 32, said, 'soft') + 12
    return y - 12


def expanded(terms: int, own: float, base: float, at: Sequence[float]) -> list[float]:
    """Returns exp(-own s) at the places s as exp(-base s) (a_0 + a_1 s + ..), with so many a by least squares."""
    basis = [[math.exp(-base * s) * s ** i for s in at] for i in range(terms)]
    exact = [math.exp(-own * s) for s in at]
    rows = [[sum(map(operator.mul, one, other)) for other in [*basis, exact]] for one in basis]
    for i, row in enumerate(rows):  # Gauss and Jordan
        rows[i] = row = [x / row[i] for x in row]
        for k in range(terms):
            if k != i:
                rows[k] = [x - rows[k][i] * y for x, y in zip(rows[k], row)]
    return [sum(row[terms] * one[j] for row, one in zip(rows, basis)) for j in range(len(at))]


def green(d: Drawing) -> float:
    """g(s) = exp(-2 s / (c dt)) of u'' - (2 / (c dt))^2 u = delta, at dt = 20 us, by that of c = 50 m/s."""
    own, base = 2 / (80 * 20e-3), 2 / (50 * 20e-3)  # per mm
    at = [0.1 * k for k in range(51)]
    exact = [math.exp(-own * s) for s in at]
    y = say(d, 8, "Green's function of the 1-D wave equation, one step of 20 us, in a medium of 80 m/s; and as that of "
            '50 m/s times a polynomial')
    axes = Axes(d, Scale(0, 5, 20, NARROW - 6), Scale(0, 1.25, y + 150, y + 4))
    axes.horizontal('distance, mm', range(6), str)
    d.line([(20, y + 4), (20, y + 150)], 'soft')
    axes.curve(list(zip(at, exact)), 'ink', 4)
    y += 196
    for terms, colour, dash in ((1, 'bad', ''), (2, 'cuda', '5 2'), (4, 'kokkos', '2 2')):
        values = expanded(terms, own, base, at)
        axes.curve(list(zip(at, values)), colour, 1.6, dash)
        off = math.dist(values, exact) / math.hypot(*exact)
        y = say(d, y, f'{terms} coefficient{"s" if terms > 1 else ""}: {100 * off:.1f} % off', colour)
    return y - 6


FILES: dict[str, tuple[str, Callable[[Drawing], float]]] = {
    'roofline': ('The roofline: no point can be above the line', roofline),
    'cache-line': ('A cache line and a vector register', cache_line),
    'gpu': ('Warps, blocks and a multiprocessor', gpu),
    'coalescing': ('What a load of a warp touches', coalescing),
    'banks': ('Banks of shared memory', banks),
    'atomics': ('Adding to what is shared', atomics),
    'moves': ('What each method must move', moves),
    'green': ('A few coefficients turn one Green\'s function into another', green)}


def ideas() -> dict[str, str]:
    """Returns the drawings of ideas."""
    files = {}
    for name, (title, draw) in FILES.items():
        drawing = Drawing(NARROW, 0)
        drawing.height = draw(drawing)
        files[f'{name}.svg'] = file((title, drawing.svg(title)))
    return files


if __name__ == '__main__':
    for path, text in ideas().items():
        disk.save_bytes(os.path.join(sys.argv[1], path), text.encode())
