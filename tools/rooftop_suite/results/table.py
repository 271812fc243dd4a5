"""`rooftop table RESULTS...`: the results of many machines in one table, as text, HTML or CSV.

A row is a rung of an app on a machine. Text and HTML have the measured runs, the best first; with --ladders, and in
CSV, the rungs of ladders too, whose windows are shorter. What is left out is said on standard error.
docs/running.md explains the columns of CSV.
"""
import argparse
import csv
import io
import math
import re
import sys

from .. import INVALID, USAGE, VALID, Fault, aligned, number, results, without_empty
from . import disk, figures
from .collect import Row, found

COLUMNS = Row._fields[:Row._fields.index('problem')]  # of CSV
HEADS = ('app', 'result', 'processor', 'ranks', 'run', 'rung', 'precision', 'verdict', 'GFlop/s', 'time per unit',
         'per 1000 of price', '1 solve', '100 solves', 'set-up s', 'spread', 'noise',
         'of bandwidth', 'J per unit', 'W', 'idle W', 'GFlop/s per W')
WORDS = 8  # columns that are text
NOTE = ('FOM in GFlop/s of credited work, of all ranks, without set-up and with it, over 1 and 100 solves. No verdict but VALID '
        'has one. Ladders have short windows.')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add('results', nargs='+', metavar='RESULT', help='folders of rooftop run, their run.json, or results of programs')
    add('--csv', metavar='FILE', help='write CSV (- for standard output)')
    add('--html', metavar='FILE', help='write a page')
    add('--ladders', action='store_true', help='with the rungs of ladders')
    add('--price', action='append', default=[], metavar='RESULT=PRICE', help='of the machine of a result, in any one currency')


def priced(rows: list[Row], words: list[str]) -> list[Row]:
    """Returns the rows with the prices of --price."""
    prices = dict(word.rpartition('=')[::2] for word in words)
    for name, price in prices.items():
        if name not in {row.result for row in rows} or not re.fullmatch(r'0*[1-9]\d*', price):
            raise Fault(USAGE, f'--price {name}={price}: not RESULT=PRICE, a result as it was given and a whole number')
    return [row._replace(price=float(prices.get(row.result, 0)) or None) for row in rows]


def twice(rows: list[Row]) -> list[str]:
    """Returns what to say of runs that are in two results: one file was given twice."""
    of: dict[object, list[str]] = {}
    for row in rows:
        of.setdefault((row.host, row.date, row.app, row.rung, row.seconds_per_unit, row.run == 'ladder'), []).append(row.result)
    both = dict.fromkeys(tuple(dict.fromkeys(names)) for names in of.values())
    return [f'{" and ".join(names)} are not two machines: the same files are in both.' for names in both if len(names) > 1]


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
    time = figures.time_text(row.seconds_per_unit) if row.seconds_per_unit else '-'
    return [row.app, row.result, row.processor, str(row.ranks), row.run, row.rung, row.precision, row.verdict,
            figures.short(row.fom_gflop_per_s) if row.fom_gflop_per_s else '-', time,
            number(row.fom_gflop_per_s and row.price and 1000 * row.fom_gflop_per_s / row.price, '.4g'),
            number(row.fom_1_solve_gflop_per_s, '.4g'),
            number(row.fom_100_solves_gflop_per_s, '.4g'), number(row.setup_seconds, '.3g'),
            number(row.spread, '.1%'), number(row.noise, '.1%'),
            number(share if share and share <= figures.MOST else None, '.0%'), number(row.joules_per_unit, '.4g'),
            number(row.watts, '.4g'), number(row.idle_watts, '.4g'), number(row.gflop_per_s_per_watt, '.4g')]


def ordered(rows: list[Row], ladders: bool) -> list[Row]:
    """Returns the rows to show: by app, the measured ones first, the best first."""
    chosen = [row for row in rows if ladders or row.run != 'ladder' or all(other.run == 'ladder' for other in rows)]
    apps = results.in_order(row.app for row in chosen)
    return sorted(chosen, key=lambda row: (apps.index(row.app), row.run == 'ladder',
                                           -(row.fom_gflop_per_s or -math.inf)))


def main(args: argparse.Namespace) -> int:
    rows, alone = found(list(dict.fromkeys(args.results)))
    rows = priced(rows, args.price)
    if not rows:
        raise Fault(INVALID, f'{args.results[0]}: no results in it')
    if args.csv == '-':
        sys.stdout.write(csv_text(rows))
        return VALID
    some = ordered(rows, args.ladders)
    left, noun = len(rows) - len(some), 'rungs of ladders are' if len(rows) - len(some) > 1 else 'rung of a ladder is'
    notes = [NOTE] + [f'{left} {noun} not shown: --ladders shows them.'] * (left > 0) + [
        f'{name}: a manifest alone; the figures are those of its summary.' for name in alone] + twice(rows)
    cells = [shown(row) for row in some]
    if args.csv:
        disk.save_bytes(args.csv, csv_text(rows).encode('utf-8', 'backslashreplace'))
    if args.html:
        from ..pages import machines  # which needs Jinja2
        disk.save_bytes(args.html, machines.page(some, rows, HEADS, cells, notes).encode('utf-8', 'backslashreplace'))
    heads, cells, words = without_empty(HEADS, cells, WORDS)
    print('\n'.join([*aligned([heads, *cells], range(words)), *notes]))
    return VALID
