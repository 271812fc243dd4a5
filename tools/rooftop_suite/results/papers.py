"""The papers that the apps come from: inputs/papers/NAME.json, and what a result folder has beside their figures.

    read(name)                a Paper, held against the schema of results: Fault if a row names a run or a value that is none
    paper.steps(size, gpu)    {step: 'APP OPTIONS'}, what `rooftop run` takes as `also`
    lines(paper, folder, size)  its rows with the values of the runs in the folder, or why there is none

A file has runs {NAME: app, gpu, options by size}, points {NAME: what is on the x axis, and its values}, rows, and items, the
rows of docs/papers.md. A run with lists {VALUE:WORD,..} in its options is one for each combination: NAME-VALUE-VALUE.

A row has an id (a figure, table or section), a quantity, a unit, the paper's machine and value (null: only a curve is
printed), and `here`: products and quotients of numbers and RUN:RUNG:VALUE, where VALUE is a member of the rung in the result,
one of FIGURES, or profile.TIMER (seconds per call); without a RUNG it is one of the result. With `along`, a @ stands for each
of these points: a curve, or its mean beside the paper's value. `ours` is a number of the model that no result has. `not_here`
says why there is no row.
"""
import functools
import glob
import itertools
import os
import re
import statistics
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Callable, NamedTuple, Optional

from .. import INVALID, USAGE, Fault, Json, results, shipped
from . import Ceilings, Folder, Program, disk, figures

ORDER = ('karp', 'cresta', 'alya', 'fun3d', 'fujita')
SIZES = ('paper', 'fits', 'tiny', 'long')
TOKEN = re.compile(r'([\w@-]+):([\w-]*):([\w.]+)')
DOCUMENT = ('docs', 'papers.md')
RECORD = ('docs', 'reference', 'h200')  # of all runs
MORE = '% more'  # a unit: a quotient as what is gained


def per_second(work: Optional[float], seconds: Optional[float]) -> Optional[float]:
    return work / seconds if work and seconds else None


FIGURES: dict[str, Callable[[figures.Rung], Optional[float]]] = {  # what follows from a rung, steady or not
    'seconds': lambda rung: rung.seconds,
    'fom': lambda rung: per_second(rung.row.credited_flop_per_unit, rung.seconds),
    'flop_rate': lambda rung: per_second(rung.row.flop_per_unit, rung.seconds),
    'byte_rate': lambda rung: per_second(rung.row.bytes_per_unit, rung.seconds),
    'share_flops': lambda rung: rung.share_flops, 'share_bandwidth': lambda rung: rung.share_bandwidth,
    'iterations': lambda rung: float(statistics.mean(rung.row.iterations)) if rung.row.iterations else None}
COUNTS = ('elements', 'flop_per_unit', 'bytes_per_unit', 'iterations')  # no other program can disturb these
ROOFLINE: dict[str, Callable[[Json], Optional[float]]] = {  # of a row of --roofline
    'fom': lambda row: per_second(row.get('credited_flop_per_unit'), row.get('seconds')),
    'roofline': lambda row: per_second(row.get('credited_flop_per_unit'), row.get('roofline_seconds')),
    'share': lambda row: row.get('share')}


class Missing(Exception):
    """There is no value, and the text says why."""


# ---- What is in the file ----

@dataclass
class Paper:
    name: str
    title: str
    authors: str
    section: str  # of docs/papers.md
    points: dict[str, Json]
    runs: dict[str, Json]
    rows: list[Json]
    items: list[list[str]]
    note: str = ''

    def expanded(self, size: str) -> Iterator[tuple[str, str, bool]]:
        """Yields (name, 'APP OPTIONS', whether it needs a GPU) of the runs of a size."""
        for name, run in self.runs.items():
            parts = re.split(r'\{([^{}]*)\}', run['options'].get(size, ''))
            for values in itertools.product(*(part.split(',') for part in parts[1::2])) if parts[0] else ():
                pairs = [value.partition(':') for value in values]
                text = ''.join(itertools.chain(*zip(parts[::2], [*(word for _, _, word in pairs), ''])))
                yield '-'.join([name, *(value for value, _, _ in pairs)]), f'{run["app"]} {text}', run['gpu']

    def steps(self, size: str, gpu: bool) -> dict[str, str]:
        """Returns the steps of a size on a machine with or without a GPU."""
        return {f'{self.name}-{name}': text for name, text, needs in self.expanded(size) if gpu or not needs}

    @functools.cached_property
    def every(self) -> dict[str, bool]:
        """Returns {run: whether it needs a GPU}, of all sizes."""
        return {name: needs for size in SIZES for name, _, needs in self.expanded(size)}

    def at(self, row: Json) -> list[Any]:
        """Returns the points of a row; [''] where it has none."""
        return list(self.points[row['along']]['at']) if 'along' in row else ['']

    def check(self) -> None:
        """Fault if a row names a run, or a member of a result, that is none."""
        for row in self.rows:
            def refuse(why: str, of: Json = row) -> None:
                raise Fault(INVALID, f'inputs/papers/{self.name}.json: {of.get("id")}, {of.get("quantity")}: {why}')

            if 'not_here' in row or 'ours' in row:
                continue
            if not {'id', 'quantity', 'unit', 'paper', 'here', 'why'} <= row.keys():
                refuse('not a whole row')
            if row.get('along', None) not in (None, *self.points):
                refuse(f"there are no points '{row['along']}'")
            for word in row['here'].split()[::2]:
                found = TOKEN.fullmatch(word)
                if not found and not re.fullmatch(r'[\d.]+(e-?\d+)?|@', word):
                    refuse(f"'{word}' is no RUN:RUNG:VALUE")
                elif found:
                    names = [found[1].replace('@', str(point)) for point in self.at(row)]
                    gone = [name for name in names if name not in self.every]
                    if gone:
                        refuse(f"there is no run '{gone[0]}'")
                    if not known(found[2], found[3]):
                        refuse(f"no result has '{found[3]}'")


def value_of(rung: figures.Rung, path: str) -> Any:
    """Returns a value of a rung by its name in a row; None if it has none."""
    head, _, timer = path.partition('.')
    if head != 'profile':
        return FIGURES[path](rung) if path in FIGURES else getattr(rung.row, path)
    found = rung.row.timers(timer)
    return sum(one.seconds for one in found) / sum(one.calls for one in found) if found else None


def known(rung: str, path: str) -> bool:
    """Returns whether a rung, or a result, has such a value."""
    head, _, rest = path.partition('.')
    try:
        if not rung:
            Program.member(head)
            return not rest or bool(Ceilings.member(rest))
        return path in FIGURES or path in ROOFLINE or bool(results.Rung.member(head if head == 'profile' else path))
    except AttributeError:
        return False


def names() -> list[str]:
    """Returns the papers."""
    there = [os.path.basename(path)[:-len('.json')] for path in glob.glob(os.path.join(shipped('inputs', 'papers'), '*.json'))]
    return sorted(there, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))


def read(name: str) -> Paper:
    if name not in names():
        raise Fault(USAGE, f"there is no paper '{name}'; known: {', '.join(names())}, all")
    paper = Paper(name, **disk.parse(shipped('inputs', 'papers', f'{name}.json')))
    paper.check()
    return paper


# ---- What a folder has beside it ----

@dataclass
class Line:
    """A row with what was measured here. values: by point."""
    row: Json
    values: dict[Any, float] = field(default_factory=dict)
    why: str = ''  # there is no value
    unsteady: bool = False

    @property
    def paper(self) -> Optional[float]:
        value: Optional[float] = self.row.get('paper', {}).get('value')
        return value

    @property
    def curve(self) -> bool:
        return 'along' in self.row and self.paper is None

    @property
    def here(self) -> Optional[float]:
        """The value beside the paper's; of a curve the median."""
        found = list(self.values.values())
        return (statistics.median(found) if self.curve else statistics.mean(found)) if found else None

    @property
    def ratio(self) -> Optional[float]:
        return self.here / self.paper if self.here is not None and self.paper else None


class Source(NamedTuple):
    paper: Paper
    folder: Folder
    size: str

    def value(self, name: str, rung: str, path: str) -> tuple[float, bool]:
        """Returns a value of a run, and whether it is steady."""
        result = result_of(self, name)
        if not rung:
            head, _, rest = path.partition('.')
            record = getattr(result, head)
            found = getattr(record, rest) if rest and record else record
            return number_of(found, f'{head} was not measured'), True
        for one in figures.Result(result).rungs:
            if one.name == rung:
                steady = one.verdict == 'VALID' or (one.verdict == 'UNSTEADY' and path in COUNTS)
                return number_of(value_of(one, path), f'{rung} has no {path}' if steady else f'{rung} is {one.verdict}'), steady
        row = next((row for row in result.roofline if row.get('rung') == rung), None)
        if row:
            return number_of(ROOFLINE[path](row) if path in ROOFLINE else None, f'no {path} in it'), result.verdict == 'VALID'
        reason = next((one.why for one in result.absent if one.name == rung), f'{rung} did not run')
        raise Missing(reason)


def number_of(found: Any, why: str) -> float:
    if not isinstance(found, (int, float)):
        raise Missing(why)
    return float(found)


def result_of(source: Source, name: str) -> Program:
    """Returns the result of a run; Missing says why there is none."""
    step = next((step for step in source.folder.steps if step.name == f'{source.paper.name}-{name}'), None)
    if step is None:
        lacks = source.paper.every[name] and not source.folder.manifest.environment.get('gpus')
        there = name in [run for run, _, _ in source.paper.expanded(source.size)]
        raise Missing('needs a GPU' if lacks else 'not run yet' if there else 'not at this size')
    result = read_result(source.folder.path, step.name, step.sha256 or '') if source.folder.whole(step) else None
    if not result:
        raise Missing(step.why or 'not run yet')
    return result


@functools.lru_cache(maxsize=None)
def read_result(folder: str, name: str, _: str) -> Program:
    return results.load(os.path.join(folder, f'{name}.json'), Program)


def product(source: Source, text: str, point: str) -> tuple[float, bool]:
    """Returns the value of `here` at a point, and whether all of it is steady."""
    words, value, steady = text.replace('@', point).split(), 1.0, True
    for sign, word in zip(['*', *words[1::2]], words[::2]):
        found = TOKEN.fullmatch(word)
        term, quiet = source.value(*found.groups()) if found else (float(word), True)
        if not term and sign == '/':
            raise Missing('a quotient by 0')
        value, steady = value * term if sign == '*' else value / term, steady and quiet
    return value, steady


def line_of(source: Source, row: Json) -> Line:
    line = Line(row)
    if 'not_here' in row:
        line.why = row['not_here']
    elif 'ours' in row:
        line.values[''] = row['ours']
    for point in source.paper.at(row) if row.get('here') else ():
        try:
            value, steady = product(source, row['here'], str(point))
            line.values[point] = 100 * (value - 1) if row['unit'] == MORE else value
            line.unsteady |= not steady
        except Missing as missing:
            line.why = line.why or str(missing)
    return line


def lines(paper: Paper, folder: Folder, size: str) -> list[Line]:
    """Returns the rows of a paper with what the folder has of a size."""
    source = Source(paper, folder, size)
    return [line_of(source, row) for row in paper.rows]


# ---- docs/papers.md ----

def document() -> str:
    """Returns docs/papers.md: its own text down to the first paper, then the items of all papers."""
    text, papers = disk.read_bytes(shipped(*DOCUMENT)).decode(), [read(name) for name in names()]
    out = [text[:text.index(f'## {papers[0].section}')].rstrip()]
    for paper in papers:
        rows = [f'| {" | ".join(item)} |'.replace('|  |', '| |') for item in paper.items]
        out += [f'## {paper.section}', *([textwrap.fill(paper.note, 100)] if paper.note else []),
                f'Its figures beside ours: `rooftop reproduce {paper.name}`; '
                f'[on an H200]({"/".join(RECORD[1:])}/{paper.name}.md).',
                '\n'.join(['| the paper | here | see it |', '|---|---|---|', *rows])]
    return '\n\n'.join(out) + '\n'


if __name__ == '__main__':  # python3 -m rooftop_suite.results.papers: brings docs/papers.md up to date
    disk.save_bytes(shipped(*DOCUMENT), document().encode())
