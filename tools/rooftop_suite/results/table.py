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
from typing import NamedTuple, Optional, Union

from .. import INVALID, VALID, Fault, aligned, results
from . import Program, Run, disk, figures
from .collect import Found, Place, collect, noise_of

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
    threads: Optional[int]
    size: Optional[str]
    official: Optional[str]
    source: Optional[str]
    app: str
    run: str
    rung: str
    kind: str
    precision: str
    declared: str
    verdict: str
    disturbed: str
    fom_gflop_per_s: Optional[float]
    unit: Optional[str] = None
    seconds_per_unit: Optional[float] = None
    spread: Optional[float] = None
    noise: Optional[float] = None
    timed_seconds: Optional[float] = None
    bandwidth_gb_per_s: Optional[float] = None
    fma64_gflop_per_s: Optional[float] = None
    fma32_gflop_per_s: Optional[float] = None
    achieved_gb_per_s: Optional[float] = None
    achieved_gflop_per_s: Optional[float] = None
    joules_per_unit: Optional[float] = None
    watts: Optional[float] = None
    gflop_per_s_per_watt: Optional[float] = None
    energy_source: str = ''


def source_of(run: Run) -> str:
    """Returns what was changed in the source of a run, or 'unchanged'."""
    return run.source.why or ('changed' if run.source.changed else 'unchanged')


def giga(value: Optional[float]) -> Optional[float]:
    return None if value is None else value / 1e9


def rows_of_result(place: Place, program: Program) -> list[Row]:
    """Returns the rows of a result. Rates and ceilings are of all ranks; without VALID there is no figure of merit."""
    result, run, rows = figures.Result(program), place.folder, []
    for rung in result.rungs:
        row, on = rung.row, rung.processor
        rows.append(Row(
            result=place.name, date=program.date, host=program.host,
            processor=program.gpu if on == 'gpu' else program.cpu, ranks=program.ranks, threads=program.threads,
            size=run.size if run else None, official=('yes' if run.official else 'no') if run else None,
            source=source_of(run) if run else None, app=program.program, run=place.run, rung=rung.name, kind=rung.kind,
            precision=rung.precision, declared=place.declared, verdict=row.verdict, disturbed='; '.join(row.disturbed),
            fom_gflop_per_s=giga(rung.fom), unit=row.unit, seconds_per_unit=row.seconds_per_unit,
            spread=row.spread if len(rung.windows) != 1 else None,
            noise=noise_of(rung.windows, row.spread) if rung.windows else None, timed_seconds=row.timed_seconds,
            bandwidth_gb_per_s=giga(result.bandwidth(on)[0]), fma64_gflop_per_s=giga(result.fma(on, 'fp64')),
            fma32_gflop_per_s=giga(result.fma(on, 'fp32')), achieved_gb_per_s=giga(rung.bytes),
            achieved_gflop_per_s=giga(rung.flops), joules_per_unit=row.joules_per_unit, watts=row.watts,
            gflop_per_s_per_watt=giga(row.flop_per_joule if rung.fom else None), energy_source=row.energy_source))
    return rows


def rows_of_manifest(name: str, run: Run) -> list[Row]:
    """Returns the rows of a manifest whose results are not here: what its summary says."""
    here, rows = run.environment, []
    gpus = here.get('gpus') if run.settings.get('device') != 'cpu' else None
    processor = gpus[0].get('name') if isinstance(gpus, list) and gpus and isinstance(gpus[0], dict) else here.get('cpu')
    for kind, summary in (('base', run.summary), ('peak', run.peak)):
        for app, row in summary.items():
            fom = row.fom if row.verdict == 'VALID' else None
            rows.append(Row(
                result=name, date=run.started, host=str(here.get('host', '')), processor=str(processor or ''),
                ranks=run.ranks, threads=None, size=run.size, official='yes' if run.official else 'no', source=source_of(run),
                app=app, run=kind, rung=row.rung or '', kind='', precision=row.precision, declared=row.declared,
                verdict=row.verdict or 'no result', disturbed='', fom_gflop_per_s=giga(fom), spread=row.spread,
                noise=noise_of([], row.spread)))
    return rows


def rows_of(found: Found) -> list[Row]:
    return [row for place, program in found.programs for row in rows_of_result(place, program)] + [
        row for name, run in found.alone for row in rows_of_manifest(name, run)]


# ---- Forms ----

def csv_text(rows: list[Row]) -> str:
    said = io.StringIO()
    writer = csv.writer(said, lineterminator='\n')
    writer.writerow(Row._fields)
    for row in rows:
        writer.writerow(['' if value is None else safe(value) for value in row._asdict().values()])
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

    def percent(value: Optional[float], places: int) -> str:
        return '-' if value is None else f'{100 * value:.{places}f} %'

    share = figures.Result.share(row.achieved_gb_per_s, row.bandwidth_gb_per_s)
    return [row.app, row.result, row.processor, str(row.ranks), row.run, row.rung, row.precision, row.verdict,
            number(row.fom_gflop_per_s), percent(row.spread, 1), percent(row.noise, 1),
            percent(share if share and share <= figures.MOST else None, 0), number(row.joules_per_unit), number(row.watts),
            number(row.gflop_per_s_per_watt)]


def ordered(rows: list[Row], ladders: bool) -> list[Row]:
    """Returns the rows to show: by app, the measured ones first, the best first."""
    chosen = [row for row in rows if ladders or row.run != 'ladder' or all(other.run == 'ladder' for other in rows)]
    return sorted(chosen, key=lambda row: (results.APPS.index(row.app), row.run == 'ladder',
                                           -(row.fom_gflop_per_s or -math.inf)))


NOTE = 'FOM in GFlop/s of credited work, of all ranks. No verdict but VALID has one. Ladders have short windows.'


def html(rows: list[Row], notes: list[str]) -> str:
    from ..pages import page  # which needs Jinja2
    cells = [[*shown(row)[:7], page.parts.verdict(row.verdict), *shown(row)[8:]] for row in rows]
    return page.render('page.html', title='Results of Rooftop', body=page.parts.table(HEADS, cells, ' '.join(notes), WORDS))


def main(args: argparse.Namespace) -> int:
    found = collect(args.results)
    rows = rows_of(found)
    if not rows:
        raise Fault(INVALID, f'{args.results[0]}: no results in it')
    if args.csv == '-':
        sys.stdout.write(csv_text(rows))
        return VALID
    some = ordered(rows, args.ladders)
    left, noun = len(rows) - len(some), 'rungs of ladders are' if len(rows) - len(some) > 1 else 'rung of a ladder is'
    notes = [NOTE] + [f'{left} {noun} not shown: --ladders shows them.'] * (left > 0) + [f'{name}: a manifest alone; the '
             'figures are those of its summary.' for name, _ in found.alone]
    if args.csv:
        disk.save_bytes(args.csv, csv_text(rows).encode('utf-8', 'backslashreplace'))
    if args.html:
        disk.save_bytes(args.html, html(some, notes + found.said).encode('utf-8', 'backslashreplace'))
    print('\n'.join([*aligned([HEADS, *map(shown, some)], range(WORDS)), *notes]))
    return VALID
