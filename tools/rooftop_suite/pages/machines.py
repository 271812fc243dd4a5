"""The page of `rooftop table --html`: the machines, a bar for each per app, a table, and how far the portable rungs get."""
import math
import statistics
from collections.abc import Sequence

from ..results.collect import Row
from ..results.figures import percent
from . import plots
from .page import Markup, inline, join, listed, parts, render
from .sections import figure

Share = tuple[float, Row, Row]  # the fastest Kokkos rung of a machine's ladder, its fastest rung


def shares_of(rows: Sequence[Row]) -> dict[str, list[Share]]:
    """Returns {app and ladder: shares} of the ladders that have a Kokkos rung, the highest share first."""
    of, shares = dict[tuple[str, str], list[tuple[float, Row]]](), dict[str, list[Share]]()
    for row in rows:
        if row.run in ('ladder', 'single') and row.fom_gflop_per_s:
            of.setdefault((f'{row.app} {row.ladder}'.strip(), row.result), []).append((row.fom_gflop_per_s, row))
    for (label, _), rungs in of.items():
        rungs.sort(key=lambda one: -one[0])
        for speed, row in [one for one in rungs if one[1].kind == 'kokkos'][:1]:
            shares.setdefault(label, []).append((speed / rungs[0][0], row, rungs[0][1]))
    return {label: sorted(found, key=lambda one: -one[0]) for label, found in shares.items()}


def machine(row: Row) -> tuple[str, str]:
    said = (row.system, row.host, row.date[:10], f'size {row.size}' if row.size else '', 'official' if row.official == 'yes' else '',
            f'source {row.source}' if row.source else '', f'price {row.price:,.0f}' if row.price else '')
    return row.name, ' · '.join(filter(None, said))


def section(app: str, rows: Sequence[Row], heads: Sequence[str], cells: Sequence[Sequence[str]]) -> Markup:
    """Returns bars, and a table whose columns are those of the text after the verdict."""
    bars = [plots.Bar(row.name + ' peak' * (row.run == 'peak'), row.fom_gflop_per_s and 1e9 * row.fom_gflop_per_s, row.verdict,
                      row.kind or 'soft') for row in rows if row.run != 'ladder']
    at = heads.index('verdict')
    table = listed([('result', [row.name for row in rows]),
                    ('rung', [join([row.rung, inline('small', f'{row.run}, {row.precision}')], ' ') for row in rows]),
                    ('verdict', [parts.verdict(row.verdict) for row in rows]),
                    *zip(heads[at + 1:], zip(*(row[at + 1:] for row in cells)))], words=3)
    plot = plots.climb(f'{app}-machines', f'{app}: the machines', bars, math.inf)
    return parts.part(app, join([figure(plot, parts.of_machines()), table], '\n'))


def portable(shares: dict[str, list[Share]]) -> Markup:
    lines = {label: [100 * one[0] for one in found] for label, found in shares.items()}
    means = ', '.join(f'{label} {statistics.harmonic_mean(line):.0f}\u00a0%' for label, line in lines.items())
    rows = [(label, percent(share), row.name, row.rung + row.serial, join([best.rung, inline('small', best.precision)], ' '))
            for label, found in shares.items() for share, row, best in found]
    table = parts.table(['ladder', 'share', 'result', 'Kokkos rung', 'fastest rung'], rows, words=5)
    return parts.part('Portability', join([figure(plots.cascade(lines), parts.of_cascade(means)), table], '\n'))


def page(rows: Sequence[Row], every: Sequence[Row], heads: Sequence[str], cells: Sequence[Sequence[str]], notes: list[str]) -> str:
    """Returns the page of the rows to show and their cells. every: the rungs of ladders too."""
    first, shares = {row.result: row for row in reversed(every)}, shares_of(every)
    days, official = sorted({row.date[:10] for row in every}), {row.official == 'yes' for row in every}
    title = f'Rooftop on {", ".join(dict.fromkeys(row.processor for row in rows))}'
    lead = f'{len(first)} result{"s" * (len(first) > 1)}, ' \
           f'{"some of them " * (len(official) > 1)}{"" if True in official else "not "}official, ' \
           f'measured {" to ".join(dict.fromkeys([days[0], days[-1]]))}'
    sections = [section(app, [row for row in rows if row.app == app], heads, [row for row in cells if row[0] == app])
                for app in dict.fromkeys(row.app for row in rows)]
    return render('page.html', title=title, body=join([
        inline('h1', title), inline('p', lead), parts.facts([machine(row) for row in reversed(first.values())]),
        *sections, portable(shares) if shares else '', *(inline('p', note) for note in notes)], '\n'))
