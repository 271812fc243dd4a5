"""Drawings of who touches what, and where it is: of the rungs in the lessons, and of the ideas in the primer.

    problem(spec)            what is wrong with a rung's **Drawing.**, or ''; words(spec): the same in words
    parsed(spec)             its parts; cells(spec): the grid of its drawing; shared_by(spec): the line below it
    primer()                 {file name: a whole SVG file} for docs/lessons/drawings

A rung's drawing is one line: the data, who has which part of it, and what is kept where, outermost last:

    **Drawing.** element 8x8, a thread per column; registers: u, w; shared: a layer; memory: u, 6 factors in, w out

`python3 -m rooftop_suite.drawings FOLDER` writes the files of the primer.
"""
import itertools
import os
import re
import sys
from typing import Callable, NamedTuple

from .svg import CELL, Drawing, both, file

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


# ---- The primer ----

def single(name: str, title: str, what: str, height: int, draw: Callable[[Drawing], None]) -> str:
    """Returns a whole file of one drawing."""
    def drawn(width: int) -> Drawing:
        drawing = Drawing(width, height)
        draw(drawing)
        return drawing
    return file((title, both(name, title, what, drawn)))


def roofline(d: Drawing) -> None:
    d.line([(60, 200), (60, 16)], 'soft')
    d.line([(60, 200), (690, 200)], 'soft')
    d.line([(60, 190), (340, 50), (690, 50)], 'ink', 2)
    d.line([(340, 50), (340, 200)], 'soft', 1, '4 3')
    d.text(64, 10, 'flops per second')
    d.text(690, 214, 'flops per byte', anchor='end')
    d.text(66, 72, 'bandwidth x flops per byte', 'ink')
    d.text(690, 38, 'what the arithmetic can do', 'ink', 'end')
    d.text(346, 190, 'the balance of the machine')
    d.mark(140, 165, 'cuda')
    d.text(150, 172, 'x += alpha p: 1/12')
    d.mark(240, 112, 'cpu')
    d.text(250, 120, 'CG: 0.9')
    d.mark(520, 66, 'kokkos')
    d.text(690, 84, 'a network over 343 neighbours: 386', anchor='end')


def cache_line(d: Drawing) -> None:
    d.text(4, 10, 'memory: doubles, eight to a line of 64 bytes', 'ink')
    for i in range(24):
        d.rect(4 + 28 * i, 22, 26, 22, 'band' if i // 8 % 2 else 'grid')
        d.text(17 + 28 * i, 33, str(i), 'soft', 'middle')
    d.line([(4, 50), (226, 50)], 'cpu', 3)
    d.text(4, 64, 'one load of x[0] brings the whole line', 'cpu')
    d.text(4, 94, 'a vector register of eight doubles: one instruction for all', 'ink')
    for i in range(8):
        d.rect(4 + 28 * i, 106, 26, 22, 'kokkos')
    d.text(4, 146, 'stride 1: 8 of 8 values of a line are used', 'ink')
    d.text(4, 164, 'stride 8: 1 of 8, so the loop moves eight times the bytes', 'bad')


def gpu(d: Drawing) -> None:
    d.rect(4, 4, 712, 126, 'band')
    d.text(14, 16, 'a multiprocessor: holds several blocks at a time, as many as registers and shared memory allow',
           'ink')
    for b in range(2):
        left = 14 + 352 * b
        d.rect(left, 30, 340, 90, 'grid')
        d.text(left + 8, 42, f'block {b}: up to 1024 threads, one shared memory', 'ink')
        for w in range(3):
            d.text(left + 8, 62 + 18 * w, f'warp {w}')
            for lane in range(32):
                d.rect(left + 62 + 8 * lane, 56 + 18 * w, 6.5, 12, 'cuda' if w == 0 and b == 0 else 'soft')
    d.text(4, 146, 'a warp: 32 lanes, one instruction at a time for all of them; while it waits for memory, '
           'another runs', 'cuda')
    d.text(4, 164, 'occupancy: warps that are there, as a share of those that there can be', 'ink')


def coalescing(d: Drawing) -> None:
    for row, (said, stride, colour) in enumerate((
            ('neighbouring lanes, neighbouring words: 32 lanes, 8 sectors', 1, 'kokkos'),
            ('lanes 32 bytes apart: 32 lanes, 32 sectors', 4, 'bad'))):
        top = 4 + 84 * row
        d.text(4, top + 6, said, colour)
        for i in range(32):
            d.rect(4 + 22 * i, top + 50, 20, 16, 'band' if i // 4 % 2 else 'grid')
        for lane in range(8):
            at = 14 + 22 * lane * stride
            d.line([(14 + 22 * lane, top + 24), (at, top + 48)], colour, 1.2)
            d.mark(14 + 22 * lane, top + 22, colour, '●', 4)
    d.text(4, 168, 'eight lanes are drawn; four words of 8 bytes are a sector of 32, the least that memory delivers')


def banks(d: Drawing) -> None:
    d.text(4, 6, 'shared memory: 32 banks, each gives one word of 4 bytes at a time', 'ink')
    for i in range(32):
        d.rect(4 + 22 * i, 18, 20, 18, 'band')
        d.text(14 + 22 * i, 27, str(i), 'soft', 'middle')
    d.text(4, 52, 'word i of a row is in bank i modulo 32', 'ink')
    d.text(4, 76, 'a column of a matrix of 32 words per row: all 32 lanes in one bank, 32 turns', 'bad')
    d.text(4, 94, 'the same with rows of 33 words: a bank for each lane, one turn', 'kokkos')


def atomics(d: Drawing) -> None:
    d.text(4, 6, 'elements that share a node add to the same value', 'ink')
    for k in range(4):
        x = 60 + 90 * k
        d.line([(x, 60), (x + 90, 60), (x + 45, 20), (x, 60)], 'soft', 1.2)
        d.line([(x + 45, 64), (285, 110)], 'cuda', 1.2)
    d.mark(285, 116, 'cuda', '●', 6)
    d.text(298, 116, 'one value in memory: additions come one after the other', 'cuda')
    d.text(4, 142, 'colours: elements of one colour share no node, so a pass per colour needs no atomics', 'ink')
    d.text(4, 160, 'gathering: a thread per node adds what its elements left; no two threads write one value', 'ink')


def moves(d: Drawing) -> None:
    rows = (('conjugate gradients', 'nekbone', 176, 'six vectors and six factors of the operator, per point'),
            ('block-sparse sweep', 'fun3d-mcpi', 2030, '17 blocks of 5 x 5 in FP32 and their columns, per row'),
            ('finite-element assembly', 'alya-rhs', 37, 'connectivity, coordinates, velocities, per element'),
            ('stencil of the waves', 'gfnn-wave', 49, 'three values in, three out, the material, per element'))
    for i, (what, app, count, said) in enumerate(rows):
        top = 6 + 44 * i
        d.text(4, top + 6, f'{what} ({app}): {count} bytes; {said}', 'ink')
        d.rect(4, top + 18, max(4, 700 * count / 2030), 12, ('cpu', 'cuda', 'kokkos', 'soft')[i])


def primer() -> dict[str, str]:
    """Returns the files of the primer's drawings."""
    drawn: tuple[tuple[str, str, int, Callable[[Drawing], None]], ...] = (
        ('roofline', 'The roofline: no point can be above the line', 224, roofline),
        ('cache-line', 'A cache line and a vector register', 176, cache_line),
        ('gpu', 'Warps, blocks and a multiprocessor', 176, gpu),
        ('coalescing', 'What a load of a warp touches', 180, coalescing),
        ('banks', 'Banks of shared memory', 106, banks),
        ('atomics', 'Adding to what is shared', 172, atomics),
        ('moves', 'What each method must move', 184, moves))
    return {f'{name}.svg': single(f'primer-{name}', title, title, height, draw) for name, title, height, draw in drawn}


if __name__ == '__main__':
    for path, text in primer().items():
        with open(os.path.join(sys.argv[1], path), 'w', encoding='utf-8') as out:
            out.write(text)
