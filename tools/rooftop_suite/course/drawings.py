"""Drawings of who touches what in the rungs of the lessons, and where it is.

A rung's drawing is one line: the data, who has which part of it, and what is kept where, outermost last:

    **Drawing.** element 8x8, a thread per column; registers: u, w; shared: a layer; memory: u, 6 factors in, w out
"""
import itertools
import re
from html import escape
from typing import Callable, NamedTuple

from .. import ENVIRONMENT, Fault

PLACES = ('registers', 'shared', 'cache', 'network', 'memory')  # from the arithmetic outwards
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

    @property
    def below(self) -> str:
        """Who has what, in words."""
        said = self.who.replace(' per whole', ': all of it').replace(' per stride', ', with a stride')
        return said if self.owner == 'whole' else f'{said} (one of them in colour)'

    @property
    def svg(self) -> str:
        """The grid: one part in colour, the others in turn."""
        of: dict[str, str] = {}
        for i, j in itertools.product(range(self.columns), range(self.rows)):
            who = OWNERS[self.owner](i, j)
            colour = 'cuda' if who == 0 else 'band' if who % 2 else 'grid'
            of[colour] = of.get(colour, '') + f'M{16 * i} {16 * j + 7}h14'
        return f'<svg viewBox="0 0 {16 * self.columns} {16 * self.rows}" role="img" class="cells"><title>' + \
            escape(f'{self.what}: {self.below}') + '</title>\n' + \
            '\n'.join(f'<path class="{colour}" d="{path}"/>' for colour, path in of.items()) + '</svg>'


def parsed(text: str) -> Spec:
    """Returns a drawing's line; Fault says what is wrong with it."""
    first, *rest = [part.strip() for part in ' '.join(text.split()).split(';')]
    found = re.fullmatch(r'(.+) (\d)x(\d), (.+ per (\w+))', first)
    if not found or found[5] not in OWNERS:
        raise Fault(ENVIRONMENT, f'Drawing: not "data 8x8, who per {"|".join(OWNERS)}": {first}')
    places = [(place, kept.strip()) for place, _, kept in (part.partition(':') for part in rest)]
    for place, kept in places:
        if place not in PLACES or not kept:
            raise Fault(ENVIRONMENT, f'Drawing: not "place: what", place one of {", ".join(PLACES)}: {place}')
    return Spec(found[1], int(found[2]), int(found[3]), found[4], found[5], places)
