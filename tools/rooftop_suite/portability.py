"""`rooftop portability RESULT...`: how near one source comes to the best of each machine (Pennycook's metric).

A platform is a processor with its threads and ranks. Folders of `rooftop run` have ladders, which count, and measured
runs, which are of another problem. A rung's share there is its figure of merit over the best one's on the same problem. The metric is the harmonic mean of a rung's shares over all platforms handed in: 0 if it cannot run
on one of them (S. J. Pennycook, J. D. Sewall, V. W. Lee, "Implications of a metric for performance portability", FGCS
92, 2019, with application efficiency).
"""
import argparse
import statistics
from typing import NamedTuple, Optional

from . import INVALID, USAGE, VALID, Fault, compare, figures, results, table
from .results import Program

Ladder = tuple[str, str]  # app, and ladder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add('results', nargs='+', metavar='RESULT', help='results of ladders, or folders of rooftop run that have them')
    add('--without', action='append', default=[], metavar='RUNG', help='leave a rung out, such as one for a special '
        'case of the problem (may be given again)')


class Cell(NamedTuple):
    """A rung on a platform. share None: it has no figure of merit, and `why` says why."""
    share: Optional[float]
    why: str = ''


class Row(NamedTuple):
    """A rung over the platforms. metric None: not known, because a machine was disturbed."""
    rung: str
    kind: str
    cells: dict[str, Cell]
    metric: Optional[float]


class Table(NamedTuple):
    """The rungs of a ladder that run on more than one platform, and the best rung of each platform."""
    app: str
    ladder: str
    platforms: list[str]
    best: dict[str, str]
    rows: list[Row]


class Platform:
    """What the rungs of one ladder reached on one platform."""

    def __init__(self) -> None:
        self.problem: Optional[compare.Figure] = None
        self.path = ''
        self.fom: dict[str, float] = {}
        self.why: dict[str, str] = {}

    def add(self, app: str, path: str, rung: figures.Rung, problem: compare.Figure) -> None:
        if self.problem:
            compare.same_problem(self.problem, problem, app, (self.path, path))
        else:
            self.problem, self.path = problem, path
        if rung.fom:
            self.fom[rung.name] = max(rung.fom, self.fom.get(rung.name, 0.0))
        else:
            self.why[rung.name] = rung.verdict


def platform_of(program: Program, rung: figures.Rung) -> str:
    """Returns the name of the platform that a rung ran on."""
    ranks = f', {program.ranks} ranks' if program.ranks > 1 else ''
    if rung.processor == 'gpu':
        return f'{program.gpu}{ranks}'
    return f'{program.cpu}, {program.threads} thread{"s" if program.threads > 1 else ""}{ranks}'


def collect(paths: list[str], without: list[str]) -> tuple[dict[Ladder, dict[str, Platform]], dict[str, str]]:
    """Returns the platforms of each ladder, and the kind of each rung."""
    found: dict[Ladder, dict[str, Platform]] = {}
    kinds: dict[str, str] = {}
    for place, program in table.collect(paths).programs:
        if place.run not in ('ladder', 'single'):
            continue
        problem = compare.Figure('', None, 0.0, {name: value for name, value in program.options.items()
                                                 if name not in compare.NOT_THE_PROBLEM})
        for rung in figures.Result(program).rungs:
            if rung.name in without or rung.row.right and not rung.windows:
                continue
            kinds[rung.name] = rung.kind
            platforms = found.setdefault((program.program, rung.ladder), {})
            platform = platforms.setdefault(platform_of(program, rung), Platform())
            platform.add(program.program, place.name, rung, problem)
    return found, kinds


def cell_of(platform: Platform, rung: str) -> Cell:
    if rung in platform.fom:
        return Cell(platform.fom[rung] / max(platform.fom.values()))
    return Cell(None, platform.why[rung]) if rung in platform.why else Cell(0.0, 'does not run here')


def metric_of(cells: dict[str, Cell]) -> Optional[float]:
    shares = [cell.share for cell in cells.values()]
    known = [share for share in shares if share is not None]
    if 0.0 in known:
        return 0.0
    return statistics.harmonic_mean(known) if len(known) == len(shares) else None


def tables_of(paths: list[str], without: list[str]) -> list[Table]:
    """Returns a table per ladder that was measured on two platforms or more, in the order of the apps."""
    found, kinds = collect(paths, without)
    tables = []
    for (app, ladder), platforms in sorted(found.items(), key=lambda item: results.APPS.index(item[0][0])):
        if len(platforms) < 2:
            continue
        names = list(dict.fromkeys(rung for platform in platforms.values() for rung in (*platform.fom, *platform.why)))
        rows = []
        for name in names:
            cells = {key: cell_of(platform, name) for key, platform in platforms.items()}
            if sum(cell.share != 0 for cell in cells.values()) > 1:
                rows.append(Row(name, kinds[name], cells, metric_of(cells)))
        best = {key: max(platform.fom, key=platform.fom.__getitem__) for key, platform in platforms.items()
                if platform.fom}
        tables.append(Table(app, ladder, list(platforms), best, rows))
    if not found:
        raise Fault(INVALID, f'{paths[0]}: no ladder in it was timed')
    if not tables:
        raise Fault(USAGE, 'no ladder was measured on two platforms: give results of several machines')
    return tables


def lines_of(one: Table) -> list[str]:
    """Returns a table as text."""
    lines = [f'{one.app}{", ladder " + one.ladder if one.ladder else ""}: share of the best rung on']
    lines += [f'  {chr(ord("A") + k)}  {name} (best: {one.best.get(name, "none")})'
              for k, name in enumerate(one.platforms)]
    width = max([4, *(len(row.rung) for row in one.rows)])
    letters = ''.join(f'{chr(ord("A") + k):>10}' for k in range(len(one.platforms)))
    lines.append(f'  {"rung":{width}}{letters}{"metric":>10}')
    for row in one.rows:
        cells = ''.join(f'{said(row.cells[name]):>10}' for name in one.platforms)
        lines.append(f'  {row.rung:{width}}{cells}{metric_text(row):>10}')
    if not one.rows:
        lines.append('  no rung runs on two of them')
    return lines


def said(cell: Cell) -> str:
    return cell.why if cell.share is None else f'{cell.share:.3f}' if cell.share else 'no'


def metric_text(row: Row) -> str:
    return '-' if row.metric is None else f'{row.metric:.3f}'


NOTE = ('metric: harmonic mean of the shares over all platforms (Pennycook, Sewall, Lee); 0 where a rung does not run '
        'on one of them, - where one has no figure of merit.')


def main(args: argparse.Namespace) -> int:
    tables = tables_of(args.results, args.without)
    print('\n'.join([line for one in tables for line in [*lines_of(one), '']] + [NOTE]))
    return VALID
