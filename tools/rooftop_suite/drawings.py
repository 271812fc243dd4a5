"""Drawings of who touches what in the rungs of the lessons, and where it is.

    problem(spec)            what is wrong with a rung's **Drawing.**, or ''; words(spec): the same in words
    parsed(spec)             its parts; cells(spec): the grid of its drawing; shared_by(spec): the line below it

A rung's drawing is one line: the data, who has which part of it, and what is kept where, outermost last:

    **Drawing.** element 8x8, a thread per column; registers: u, w; shared: a layer; memory: u, 6 factors in, w out
"""
import itertools
import re
from typing import Callable, NamedTuple

from .svg import escape

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
    of: dict[str, str] = {}
    for i, j in itertools.product(range(spec.columns), range(spec.rows)):
        who = OWNERS[spec.owner](i, j)
        colour = 'cuda' if who == 0 else 'band' if who % 2 else 'grid'
        of[colour] = of.get(colour, '') + f'M{16 * i} {16 * j + 7}h14'
    return f'<svg viewBox="0 0 {16 * spec.columns} {16 * spec.rows}" role="img" class="cells"><title>' + \
        escape(f'{spec.what}: {who_of(spec)}') + '</title>\n' + \
        '\n'.join(f'<path class="{colour}" d="{path}"/>' for colour, path in of.items()) + '</svg>'
