"""Figures that pages quote from records: links whose text `make docs` fills in.

    text_of(path, fragment)   a figure of a result as text; DASH where it has none
    filled(page, text)        a page with the figures that are recorded
    loose(text)               figures of a page that are in no record, and calculations that are wrong

A record is a folder docs/reference/MACHINE of `rooftop record`. [352 us](docs/reference/h200/ladder-nekbone.json#global)
names the result of a step and a rung of it, and then what of the rung:

    #global              seconds per unit              #global:ax        of a timer, per call
    #global.bandwidth    share of that ceiling         #global.flops     of the FMA ceiling
    #global.fom          figure of merit               #global.rate      flops that it does per second
    #global.moved        bytes that it moves per second   #global.spread   of its windows
    #shared/global       how many times as fast as global shared is

A rung that is not VALID has no figure, but a dash. A calculation, 2.31 GB / 4440 GB/s = 520 us, is worked out again.
"""
import functools
import glob
import os
import re
import sys
from collections.abc import Iterator
from typing import Callable, Optional

from .. import Fault, results, shipped
from ..cli import complain
from ..results import disk, figures
from ..results.figures import DASH, time_text

PAGES = ('README.md', 'apps/*/README.md', 'docs/*.md', 'docs/lessons/*.md')
LINK = re.compile(r'\[([^\]]*)\]\(([^)\s]*reference/[\w-]+/[\w-]+\.json)#([^)\s]+)\)')
FRAGMENT = re.compile(r'([\w-]+)(?:/([\w-]+)|:([\w-]+)|\.(bandwidth|flops|fom|rate|moved|spread))?')
LEAST = 0.01  # noise, relative: texts have three figures, shares two
CLOSE = 0.03  # of a calculation: its terms are rounded
# Figures with a unit, and calculations with them.
SCALE = {'': 1.0, 'M': 1e6, '%': 0.01, 'x': 1.0, 'W': 1.0, 's': 1.0, 'ms': 1e-3, 'us': 1e-6, 'ns': 1e-9, 'B': 1.0, 'B/s': 1.0,
         **{f'{prefix}{unit}': 10.0 ** power for prefix, power in zip(('k', 'M', 'G', 'T'), (3, 6, 9, 12))
            for unit in ('B', 'B/s', 'Flop/s', 'element/s')},
         **{f'{prefix}iB': 2.0 ** power for prefix, power in zip('KMG', (10, 20, 30))}}
UNIT = '|'.join(sorted((unit for unit in SCALE if unit not in ('', 'x', 'M', 'B')), key=len, reverse=True))
NUMBER = r'(?<![\w.,^/])\d+(?:,\d{3})*(?:\.\d+)?(?!\.?\d|,\d{3}|\^)'
FIGURE = re.compile(rf'({NUMBER})(?:(x)(?!\w)|\s?({UNIT})(?![\w/]))')
TERM = rf'{NUMBER}(?:\s?(?:{UNIT}|M|B)(?![\w/]))?'
SUM = re.compile(rf'{TERM}(?:\s[-+x/]\s{TERM})+\s=\s{TERM}')


# ---- Figures of records ----

@functools.lru_cache(maxsize=None)
def rungs_of(path: str) -> dict[str, figures.Rung]:
    """Returns the rungs of a result that are VALID, by name; none where there is no such file."""
    rungs = figures.Result(results.load(path, results.Program)).rungs if os.path.exists(path) else []
    return {rung.name: rung for rung in rungs if rung.fom}


def rate(value: float, unit: str = 'Flop/s') -> str:
    scale, prefix = (1e12, 'T') if value >= 1e12 else (1e9, 'G')
    return f'{figures.short(value / scale)} {prefix}{unit}'


WHAT: dict[Optional[str], tuple[str, Callable[[float], str]]] = {  # member of a rung, and its text
    None: ('seconds', time_text), 'bandwidth': ('share_bandwidth', '{:.0%}'.format), 'flops': ('share_flops', '{:.0%}'.format),
    'fom': ('fom', rate), 'rate': ('flops', rate), 'moved': ('bytes', lambda value: rate(value, 'B/s')),
    'spread': ('spread', '{:.1%}'.format)}


def text_of(path: str, fragment: str) -> str:
    """Returns the text of a figure."""
    found, rungs = FRAGMENT.fullmatch(fragment), rungs_of(path)
    if not found or found[1] not in rungs:
        return DASH
    rung, other, timer = rungs[found[1]], rungs.get(found[2]), f'{found[1]}/{found[3]}'
    if found[3]:
        times = [row.seconds / row.calls for row in rung.row.profile if row.timer == timer and row.calls]
        return time_text(times[0]) if times else DASH
    if found[2]:
        return f'{other.seconds / rung.seconds:.3g}' if other and other.seconds and rung.seconds else DASH
    name, text = WHAT[found[4]]
    value: Optional[float] = getattr(rung, name)
    return DASH if value is None or 'share' in name and value > figures.MOST else text(value).replace('%', ' %')


# ---- Pages ----

def pages() -> list[str]:
    """Returns the paths of the pages, from the root of the source."""
    root = shipped('docs') + '/..'
    return sorted(os.path.relpath(path, root) for name in PAGES for path in glob.glob(os.path.join(root, name)))


def filled(page: str, text: str, moved: Optional[list[str]] = None) -> str:
    """Returns a page with the figures that are recorded. moved: takes those that moved by more than twice their noise."""
    def figure(link: 're.Match[str]') -> str:
        path = os.path.normpath(os.path.join(os.path.dirname(page), link[2]))
        said, before = text_of(path, link[3]), ' '.join(link[1].split())
        if said == before:
            return link[0]
        old, new = map(value, (before, said))
        spreads = [rung.spread or 0 for name, rung in rungs_of(path).items() if name in re.split('[/:.]', link[3])]
        if moved is not None and old and (new is None or abs(new / old - 1) > 2 * max([LEAST, *spreads])):
            moved.append(f'{before} became {said} ({link[3]})')
        return f'[{said}]({link[2]}#{link[3]})'.replace(' ', '\n' if '\n' in link[1] else ' ', 1)  # lines stay short
    return LINK.sub(figure, text)


def value(text: str) -> Optional[float]:
    """Returns the value of a figure in base units, or None."""
    found = re.fullmatch(r'([\d,.]+)\s?(\S*)', text)
    return float(found[1].replace(',', '')) * SCALE[found[2]] if found and found[2] in SCALE else None


def worked_out(text: str) -> float:
    """Returns the value of terms with - + x / between them."""
    words = re.split(r'\s([-+x/])\s', text)
    return float(eval(''.join(word.replace('x', '*') if word in '-+x/' else repr(value(word)) for word in words)))


def blank(found: 're.Match[str]') -> str:
    return re.sub(r'[^\n]', ' ', found[0])


def with_units(text: str) -> str:
    """Returns a page in whose tables a number has the unit that ends the head of its column."""
    lines, units = [], list[str]()
    for line in text.split('\n'):
        cells = line.split('|')
        if not line.startswith('|'):
            units = []
        elif units:
            cells = [re.sub(rf'{NUMBER}(?!\s?(?:{UNIT}|x))', rf'\g<0> {unit}', cell) if unit else cell
                     for cell, unit in zip(cells, units)]
        else:
            units = [found[1] if (found := re.search(rf'(?<!\w)({UNIT})\s*$', cell)) else '' for cell in cells]
        lines.append('|'.join(cells))
    return '\n'.join(lines)


def loose(text: str) -> Iterator[tuple[int, str, str]]:
    """Yields (line, figure, what to do) of a page: calculations that are wrong, and figures with a unit that are in no
    record and in no calculation. What is code is passed over, and a figure counts wherever the page repeats it."""
    text = re.sub(r'^(```|~~~).*?^\1|`[^`\n]*`|<[^>]*>', blank, text, flags=re.M | re.S)
    known = {' '.join(link[1].split()) for link in LINK.finditer(text)}
    plain = with_units(re.sub(r'\[([^\]]*)\]\([^)]*\)', lambda link: link[1] if LINK.match(link[0]) else blank(link), text))
    for found in SUM.finditer(plain):
        left, right = re.split(r'\s=\s', ' '.join(found[0].split()))
        known |= {' '.join(term.split()) for term in re.findall(TERM, found[0])}
        said = value(right) or 0.0
        near = [abs(worked_out(left) * scale - said) <= CLOSE * said for scale in (1.0, SCALE[right.partition(' ')[2]])]
        if not any(near):  # a unit may be left out before the result: 284 + 60 = 344 MB
            yield plain.count('\n', 0, found.start()) + 1, f'{left} = {right}', 'is not so: work it out again'
    for found in FIGURE.finditer(SUM.sub(blank, plain)):
        if ' '.join(found[0].split()) not in known:
            yield plain.count('\n', 0, found.start()) + 1, ' '.join(found[0].split()), \
                'is in no record: make it a link to one, or a calculation (CONTRIBUTING.md, Figures)'


def main() -> None:
    """Brings the pages up to date, and names those that moved."""
    os.chdir(os.path.join(shipped('docs'), '..'))
    for page in pages():
        text, moved = disk.read_bytes(page).decode(), list[str]()
        new = filled(page, text, moved)
        if new != text:
            disk.save_bytes(page, new.encode())
        for line in moved:
            print(f'{page}: read it again: {line}, more than twice the noise')


if __name__ == '__main__':
    try:
        main()
    except Fault as fault:
        complain(str(fault))
        sys.exit(fault.status)
