"""`rooftop table RESULTS...`: the results of many machines in one table, as text, HTML or CSV.

A row is a rung of an app on a machine. Text and HTML have the measured runs, the best first; with --ladders, and in
CSV, the rungs of ladders too, whose windows are shorter. docs/running.md explains the columns of CSV.
"""
import argparse
import csv
import io
import math
import os
import sys
from collections.abc import Iterator
from typing import NamedTuple, Optional, Union

from . import INVALID, VALID, Fault, disk, figures, page, results
from .compare import noise_of
from .results import Folder, Program, Run

Value = Union[str, float, int, None]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add('results', nargs='+', metavar='RESULT', help='folders of rooftop run, their run.json, or results of programs')
    add('--csv', metavar='FILE', help='write CSV (- for standard output)')
    add('--html', metavar='FILE', help='write a page')
    add('--ladders', action='store_true', help='with the rungs of ladders')


class Row(NamedTuple):
    """A rung, as CSV has it. Members that are not known are None."""
    result: str
    date: str
    host: str
    processor: str
    ranks: int
    threads: int
    size: Optional[str]
    official: Optional[str]
    tier: Optional[str]
    app: str
    run: str
    rung: str
    kind: str
    precision: str
    declared: str
    verdict: str
    disturbed: str
    fom_gflop_per_s: Optional[float]
    unit: Optional[str]
    seconds_per_unit: Optional[float]
    spread: Optional[float]
    noise: Optional[float]
    timed_seconds: Optional[float]
    bandwidth_gb_per_s: Optional[float]
    fma64_gflop_per_s: Optional[float]
    fma32_gflop_per_s: Optional[float]
    achieved_gb_per_s: Optional[float]
    achieved_gflop_per_s: Optional[float]
    joules_per_unit: Optional[float]
    watts: Optional[float]
    gflop_per_s_per_watt: Optional[float]
    energy_source: str


class Place(NamedTuple):
    """Where a program's result is from. run: base, peak, ladder, or single for a result that is in no folder."""
    path: str
    run: str
    folder: Optional[Run] = None
    declared: str = ''


def giga(value: Optional[float]) -> Optional[float]:
    return None if value is None else value / 1e9


def rows_of_result(place: Place, program: Program) -> list[Row]:
    """Returns the rows of a result. Rates and ceilings are of all ranks; without VALID there is no figure of merit."""
    result, run, rows = figures.Result(program), place.folder, []
    for rung in result.rungs:
        row, on = rung.row, rung.processor
        rows.append(Row(
            result=place.path, date=program.date, host=program.host,
            processor=program.gpu if on == 'gpu' else program.cpu, ranks=program.ranks, threads=program.threads,
            size=run.size if run else None, official=('yes' if run.official else 'no') if run else None,
            tier=run.tier if run else None, app=program.program, run=place.run, rung=rung.name, kind=rung.kind,
            precision=rung.precision, declared=place.declared, verdict=row.verdict, disturbed='; '.join(row.disturbed),
            fom_gflop_per_s=giga(rung.fom), unit=row.unit, seconds_per_unit=row.seconds_per_unit, spread=row.spread,
            noise=noise_of(rung.windows, row.spread or 0.0) if rung.windows else None, timed_seconds=row.timed_seconds,
            bandwidth_gb_per_s=giga(result.bandwidth(on)[0]), fma64_gflop_per_s=giga(result.fma(on, 'fp64')),
            fma32_gflop_per_s=giga(result.fma(on, 'fp32')), achieved_gb_per_s=giga(rung.bytes),
            achieved_gflop_per_s=giga(rung.flops), joules_per_unit=row.joules_per_unit, watts=row.watts,
            gflop_per_s_per_watt=giga(row.flop_per_joule if rung.fom else None), energy_source=row.energy_source))
    return rows


def programs_in(path: str) -> Iterator[tuple[Place, Program]]:
    """Yields the programs' results in a folder or file; those that must be there and are not whole are a Fault."""
    at = os.path.join(path, 'run.json') if os.path.isdir(path) else path
    value = results.read(at)
    if isinstance(value, Program):
        yield Place(path, 'single'), value
    elif isinstance(value, Run):
        folder = Folder(os.path.dirname(at) or '.', value)
        for step in folder.steps:
            kind = {step.app: 'base', f'peak-{step.app}': 'peak', f'ladder-{step.app}': 'ladder'}.get(step.name)
            result = folder.result(step.name) if kind else None
            if result and kind:
                declared = value.peak[step.app].declared if kind == 'peak' and step.app in value.peak else ''
                yield Place(path, kind, value, declared), result
    else:
        raise Fault(INVALID, f'{path}: not the result of a run or a program')


def rows_of(paths: list[str]) -> list[Row]:
    found = [one for path in paths for one in programs_in(path)]
    rows = [row for place, program in found for row in rows_of_result(place, program)]
    if not rows:
        raise Fault(INVALID, f'{paths[0]}: no results in it')
    return rows


# ---- Forms ----

def csv_text(rows: list[Row]) -> str:
    said = io.StringIO()
    writer = csv.writer(said, lineterminator='\n')
    writer.writerow(Row._fields)
    for row in rows:
        writer.writerow(['' if value is None else safe(value) for value in row])
    return said.getvalue()


def safe(value: Value) -> Value:
    """Returns a value that no spreadsheet takes for a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ('=', '+', '-', '@', '\t', '\r') else value


HEADS = ('app', 'result', 'processor', 'ranks', 'run', 'rung', 'precision', 'verdict', 'GFlop/s', 'spread', 'noise',
         'of bandwidth', 'J per unit', 'W', 'GFlop/s per W')
WORDS = 8  # columns that are text


def shown(row: Row) -> list[str]:
    def number(value: Optional[float], form: str = '.4g') -> str:
        return '-' if value is None else format(value, form)

    share = figures.Result.share(row.achieved_gb_per_s, row.bandwidth_gb_per_s)
    return [row.app, row.result, row.processor, str(row.ranks), row.run, row.rung, row.precision, row.verdict,
            number(row.fom_gflop_per_s), number(row.spread, '.1%'), number(row.noise, '.1%'),
            number(share if share and share <= figures.MOST else None, '.0%'), number(row.joules_per_unit), number(row.watts),
            number(row.gflop_per_s_per_watt)]


def ordered(rows: list[Row], ladders: bool) -> list[Row]:
    """Returns the rows to show: by app, the measured ones first, the best first."""
    chosen = [row for row in rows if ladders or row.run != 'ladder' or all(other.run == 'ladder' for other in rows)]
    return sorted(chosen, key=lambda row: (results.APPS.index(row.app), row.run == 'ladder',
                                           -(row.fom_gflop_per_s or -math.inf)))


NOTES = ('FOM in GFlop/s of credited work, of all ranks. No verdict but VALID has one. Ladders have short windows.',)


def text(rows: list[Row]) -> str:
    lines = [list(HEADS)] + [shown(row) for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADS))]
    return '\n'.join('  '.join(f'{cell:{width}}' if column < WORDS else f'{cell:>{width}}'
                               for column, (cell, width) in enumerate(zip(line, widths))).rstrip() for line in lines)


def html(rows: list[Row]) -> str:
    cells = [[*shown(row)[:7], page.verdict(row.verdict), *shown(row)[8:]] for row in rows]
    return page.document('Results of Rooftop', page.table(HEADS, cells, NOTES[0], WORDS))


def main(args: argparse.Namespace) -> int:
    rows = rows_of(args.results)
    if args.csv == '-':
        sys.stdout.write(csv_text(rows))
        return VALID
    some = ordered(rows, args.ladders)
    for path, written in ((args.csv, csv_text(rows)), (args.html, html(some))):
        if path:
            disk.save_bytes(path, written.encode('utf-8', 'backslashreplace'))
    print('\n'.join([text(some), *NOTES]))
    return VALID
