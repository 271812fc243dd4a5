"""`rooftop table RESULTS...`: the results of many machines in one table, as text, HTML or CSV.

A row is a rung of an app on a machine. Text and HTML have the measured runs, the best first; with --ladders, and in
CSV, the rungs of ladders too, whose windows are shorter. What is left out is said on standard error.
docs/running.md explains the columns of CSV.
"""
import argparse
import csv
import io
import math
import sys

from .. import INVALID, VALID, Fault, aligned, number, results
from . import disk, figures
from .collect import Row, found

COLUMNS = Row._fields[:Row._fields.index('problem')]  # of CSV
HEADS = ('app', 'result', 'processor', 'ranks', 'run', 'rung', 'precision', 'verdict', 'GFlop/s', '1 solve', '100 solves', 'set-up s', 'spread', 'noise',
         'of bandwidth', 'J per unit', 'W', 'GFlop/s per W')
WORDS = 8  # columns that are text
NOTE = ('FOM in GFlop/s of credited work, of all ranks, without set-up and with it, over 1 and 100 solves. No verdict but VALID '
        'has one. Ladders have short windows.')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add('results', nargs='+', metavar='RESULT', help='folders of rooftop run, their run.json, or results of programs')
    add('--csv', metavar='FILE', help='write CSV (- for standard output)')
    add('--html', metavar='FILE', help='write a page')
    add('--ladders', action='store_true', help='with the rungs of ladders')


def csv_text(rows: list[Row]) -> str:
    said = io.StringIO()
    writer = csv.writer(said, lineterminator='\n')
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([safe(getattr(row, name)) for name in COLUMNS])
    return said.getvalue()


def safe(value: object) -> object:
    """Returns a value that no spreadsheet takes for a formula, '' for None."""
    if isinstance(value, str) and value[:1] in ('=', '+', '-', '@', '\t', '\r'):
        return f"'{value}"
    return '' if value is None else value


def shown(row: Row) -> list[str]:
    share = figures.Result.share(row.achieved_gb_per_s, row.bandwidth_gb_per_s)
    return [row.app, row.result, row.processor, str(row.ranks), row.run, row.rung, row.precision, row.verdict,
            number(row.fom_gflop_per_s, '.4g'), number(row.fom_1_solve_gflop_per_s, '.4g'),
            number(row.fom_100_solves_gflop_per_s, '.4g'), number(row.setup_seconds, '.3g'),
            number(row.spread, '.1%'), number(row.noise, '.1%'),
            number(share if share and share <= figures.MOST else None, '.0%'), number(row.joules_per_unit, '.4g'),
            number(row.watts, '.4g'), number(row.gflop_per_s_per_watt, '.4g')]


def ordered(rows: list[Row], ladders: bool) -> list[Row]:
    """Returns the rows to show: by app, the measured ones first, the best first."""
    chosen = [row for row in rows if ladders or row.run != 'ladder' or all(other.run == 'ladder' for other in rows)]
    apps = results.in_order(row.app for row in chosen)
    return sorted(chosen, key=lambda row: (apps.index(row.app), row.run == 'ladder',
                                           -(row.fom_gflop_per_s or -math.inf)))


def html(rows: list[Row], notes: list[str]) -> str:
    from ..pages import page  # which needs Jinja2
    cells = [[*shown(row)[:7], page.parts.verdict(row.verdict), *shown(row)[8:]] for row in rows]
    return page.render('page.html', title='Results of Rooftop', body=page.parts.table(HEADS, cells, ' '.join(notes), WORDS))


def main(args: argparse.Namespace) -> int:
    rows, alone = found(args.results)
    if not rows:
        raise Fault(INVALID, f'{args.results[0]}: no results in it')
    if args.csv == '-':
        sys.stdout.write(csv_text(rows))
        return VALID
    some = ordered(rows, args.ladders)
    left, noun = len(rows) - len(some), 'rungs of ladders are' if len(rows) - len(some) > 1 else 'rung of a ladder is'
    notes = [NOTE] + [f'{left} {noun} not shown: --ladders shows them.'] * (left > 0) + [
        f'{name}: a manifest alone; the figures are those of its summary.' for name in alone]
    if args.csv:
        disk.save_bytes(args.csv, csv_text(rows).encode('utf-8', 'backslashreplace'))
    if args.html:
        disk.save_bytes(args.html, html(some, notes).encode('utf-8', 'backslashreplace'))
    print('\n'.join([*aligned([HEADS, *map(shown, some)], range(WORDS)), *notes]))
    return VALID
