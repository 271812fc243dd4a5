"""`rooftop portability RESULT...`: how near one source comes to the best of each machine (Pennycook's metric).

A platform is a processor with its threads and ranks. Folders of `rooftop run` have ladders, which count, and measured
runs, which are of another problem. A rung's share there is its figure of merit over the best one's on the same problem.
The metric is the harmonic mean of a rung's shares over all platforms handed in: 0 if it cannot run on one of them (S. J.
Pennycook, J. D. Sewall, V. W. Lee, "Implications of a metric for performance portability", FGCS 92, 2019, with
application efficiency).
"""
import argparse
import statistics
from collections.abc import Iterator
from typing import NamedTuple, Optional, Union

from .. import INVALID, USAGE, VALID, Fault, Json, aligned, results
from . import Program, collect, compare, figures

Ladder = tuple[str, str]  # app, and ladder
Value = Union[float, str]  # a figure of merit or a share of the best one, or why there is none


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add('results', nargs='+', metavar='RESULT', help='results of ladders, or folders of rooftop run that have them')
    add('--without', action='append', default=[], metavar='RUNG', help='leave a rung out, such as one for a special '
        'case of the problem (may be given again)')


class Row(NamedTuple):
    """A rung's share on each platform. metric None: not known, because a machine was disturbed."""
    rung: str
    shares: list[Value]
    metric: Optional[float]


class Table(NamedTuple):
    """The rungs of a ladder that run on more than one platform, and the best rung of each platform."""
    ladder: Ladder
    best: dict[str, str]
    rows: list[Row]


def platform_of(program: Program, rung: figures.Rung) -> str:
    """Returns the name of the platform that a rung ran on."""
    threads = '' if rung.processor == 'gpu' else f', {program.threads} thread{"s" * (program.threads > 1)}'
    ranks = f', {program.ranks} ranks' if program.ranks > 1 else ''
    return f'{program.gpu if rung.processor == "gpu" else program.cpu}{threads}{ranks}'


def values_of(paths: list[str], without: list[str]) -> dict[Ladder, dict[str, dict[str, Value]]]:
    """Returns {ladder: {platform: {rung: its figure of merit}}}."""
    found: dict[Ladder, dict[str, dict[str, Value]]] = {}
    seen: dict[tuple[Ladder, str], tuple[Json, str]] = {}
    for place, program in collect.collect(paths).programs:
        problem = compare.problem_of(program)
        for rung in figures.Result(program).rungs if place.run in ('ladder', 'single') else ():
            if rung.name in without or rung.row.right and not rung.windows:
                continue
            ladder, platform = (program.program, rung.ladder), platform_of(program, rung)
            before, path = seen.setdefault((ladder, platform), (problem, place.name))
            compare.same_problem(before, problem, program.program, (path, place.name))
            values = found.setdefault(ladder, {}).setdefault(platform, {})
            old = values.setdefault(rung.name, rung.fom or rung.verdict)
            if rung.fom:
                values[rung.name] = max(rung.fom, old) if isinstance(old, float) else rung.fom
    return found


def row_of(rung: str, platforms: list[dict[str, Value]], best: list[float]) -> Row:
    values = [values.get(rung, 0.0) for values in platforms]
    shares: list[Value] = [value if isinstance(value, str) else value / most for value, most in zip(values, best)]
    known = [share for share in shares if isinstance(share, float)]
    metric = 0.0 if 0.0 in known else statistics.harmonic_mean(known) if len(known) == len(shares) else None
    return Row(rung, shares, metric)


def tables_of(paths: list[str], without: list[str]) -> list[Table]:
    """Returns a table per ladder that was measured on two platforms or more, in the order of the apps."""
    found, tables = values_of(paths, without), []
    for ladder, platforms in sorted(found.items(), key=lambda item: results.APPS.index(item[0][0])):
        if len(platforms) < 2:
            continue
        timed = [{rung: value for rung, value in values.items() if isinstance(value, float)}
                 for values in platforms.values()]
        best = [max(values, key=values.__getitem__, default='') for values in timed]
        most = [values.get(rung, 1.0) for values, rung in zip(timed, best)]
        rows = [row_of(rung, list(platforms.values()), most) for rung in dict.fromkeys(
            rung for values in platforms.values() for rung in values)]
        tables.append(Table(ladder, dict(zip(platforms, best)),
                            [row for row in rows if sum(share != 0 for share in row.shares) > 1]))
    if not found:
        raise Fault(INVALID, f'{paths[0]}: no ladder in it was timed')
    if not tables:
        raise Fault(USAGE, 'no ladder was measured on two platforms: give results of several machines')
    return tables


def lines_of(one: Table) -> Iterator[str]:
    """Yields a table as text."""
    app, ladder = one.ladder
    yield f'{app}{", ladder " + ladder if ladder else ""}: share of the best rung on'
    letters = [chr(ord('A') + k) for k in range(len(one.best))]
    for letter, (platform, best) in zip(letters, one.best.items()):
        yield f'  {letter}  {platform} (best: {best or "none"})'
    rows = [['rung', *letters, 'metric']]
    rows += [[row.rung, *(share if isinstance(share, str) else f'{share:.3f}' if share else 'no' for share in row.shares),
              '-' if row.metric is None else f'{row.metric:.3f}'] for row in one.rows]
    yield from (f'  {line}' for line in aligned(rows, (0,)))
    if not one.rows:
        yield '  no rung runs on two of them'
    yield ''


def main(args: argparse.Namespace) -> int:
    for one in tables_of(args.results, args.without):
        print('\n'.join(lines_of(one)))
    print('metric: harmonic mean of the shares over all platforms (Pennycook, Sewall, Lee); 0 where a rung does not run '
          'on one of them, - where one has no figure of merit.')
    return VALID
