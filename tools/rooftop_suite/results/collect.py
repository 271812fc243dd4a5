"""What is in the results that a command is given, as rows: one per rung of a program's result, and one per app of a
manifest whose results are not there. `table` prints rows, `compare` pairs those of two results.
"""
import os
import statistics
from collections.abc import Iterator
from typing import NamedTuple, Optional

from .. import Json, results
from ..cli import complain
from . import Folder, Program, Run, figures

LEAST_NOISE = 0.01
NOT_THE_PROBLEM = {'seed', 'ranks', 'partition', 'exchange', 'reorder', 'precond', 'coef', 'kernels',
                   'vectors', 'weights'}  # options that change how it is solved


class Row(NamedTuple):
    """A rung. Members that are not known are None. Rates and ceilings are of all ranks; without VALID there is no figure
    of merit. result: the name of what was given; run: base, peak, ladder, single for a result that is in no folder, or
    the step in a folder that has none of these, as one of reproduce. The members before `problem` are the columns of CSV."""
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
    fom_1_solve_gflop_per_s: Optional[float] = None  # with set-up
    fom_100_solves_gflop_per_s: Optional[float] = None
    setup_seconds: Optional[float] = None
    unit: Optional[str] = None
    seconds_per_unit: Optional[float] = None
    spread: Optional[float] = None  # None: of one window alone
    noise: Optional[float] = None  # None: it was not timed
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
    idle_watts: Optional[float] = None
    power_samples_per_s: Optional[float] = None
    problem: Optional[Json] = None  # the options of the problem
    ladder: str = ''
    serial: str = ''  # says so of Kokkos on one thread
    system: str = ''  # GPU and CPU
    price: Optional[float] = None

    @property
    def name(self) -> str:
        """The result without the folder that it is in."""
        return os.path.basename(self.result.rstrip('/'))


def noise_of(windows: list[float], spread: Optional[float]) -> float:
    """Returns the noise of a median of windows; spread counts where there are none."""
    windows = sorted(windows)
    inner = windows[1:-1] if len(windows) >= 5 else windows
    if inner:
        spread = (inner[-1] - inner[0]) / statistics.median(windows)
    return max(LEAST_NOISE, (spread or 0.0) / 2)


def giga(value: Optional[float]) -> Optional[float]:
    return None if value is None else value / 1e9


def of_folder(run: Optional[Run]) -> Json:
    """Returns the members of a row that a manifest has."""
    return dict(size=run.size, official='yes' if run.official else 'no', source=run.source.why or (
        'changed' if run.source.changed else 'unchanged')) if run else dict(size=None, official=None, source=None)


def rows_of_result(name: str, kind: str, program: Program, run: Optional[Run] = None, declared: str = '') -> list[Row]:
    """Returns the rows of a program's result. run: the manifest of its folder."""
    result, rows = figures.Result(program), []
    for rung in result.rungs:
        row, on = rung.row, rung.processor
        rows.append(Row(
            result=name, date=program.date, host=program.host, **of_folder(run),
            processor=program.gpu if on == 'gpu' else program.cpu, ranks=program.ranks, threads=program.threads,
            app=program.program, run=kind, rung=rung.name, kind=rung.kind, precision=rung.precision, declared=declared,
            verdict=row.verdict, disturbed='; '.join(row.disturbed), fom_gflop_per_s=giga(rung.fom), unit=row.unit,
            fom_1_solve_gflop_per_s=giga(rung.foms[0]), fom_100_solves_gflop_per_s=giga(rung.foms[1]),
            setup_seconds=row.setup_seconds,
            seconds_per_unit=row.seconds_per_unit, spread=row.spread if len(rung.windows) != 1 else None,
            noise=noise_of(rung.windows, row.spread) if rung.windows else None, timed_seconds=row.timed_seconds,
            bandwidth_gb_per_s=giga(result.bandwidth(on)[0]), fma64_gflop_per_s=giga(result.fma(on, 'fp64')),
            fma32_gflop_per_s=giga(result.fma(on, 'fp32')), achieved_gb_per_s=giga(rung.bytes),
            achieved_gflop_per_s=giga(rung.flops), joules_per_unit=row.joules_per_unit, watts=row.watts,
            gflop_per_s_per_watt=giga(row.flop_per_joule if rung.fom else None), energy_source=row.power('source'),
            idle_watts=row.power('idle_watts'), power_samples_per_s=row.power('samples_per_s'),
            ladder=rung.ladder, serial=rung.serial, system=', '.join(filter(None, (program.gpu, program.cpu))),
            problem={key: value for key, value in program.options.items() if key not in NOT_THE_PROBLEM}))
    return rows


def rows_of_manifest(name: str, run: Run) -> list[Row]:
    """Returns the rows of a manifest whose results are not here: what its summary says."""
    here = run.environment
    gpus = here.get('gpus') if run.settings.get('device') != 'cpu' else None
    processor = gpus[0].get('name') if isinstance(gpus, list) and gpus and isinstance(gpus[0], dict) else here.get('cpu')
    return [Row(result=name, date=run.started, host=str(here.get('host', '')), processor=str(processor or ''), ranks=run.ranks,
                threads=None, **of_folder(run), app=app, run=kind, rung=row.rung or '', kind='', precision=row.precision,
                declared=row.declared, verdict=row.verdict or 'no result', disturbed='',
                fom_gflop_per_s=giga(row.fom if row.verdict == 'VALID' else None), spread=row.spread,
                system=', '.join(dict.fromkeys(filter(None, (str(processor or ''), str(here.get('cpu') or ''))))),
                noise=noise_of([], row.spread))
            for kind, summary in (('base', run.summary), ('peak', run.peak)) for app, row in summary.items()]


def kind_of(step: results.Step) -> Optional[str]:
    """Returns what a step of a folder is to its app: base, peak or ladder; None if it is another run."""
    return {step.app: 'base', f'peak-{step.app}': 'peak', f'ladder-{step.app}': 'ladder'}.get(step.name)


def rows_of_folder(name: str, folder: Folder) -> Iterator[Row]:
    """Yields the rows of a folder with its results, and says what is left out."""
    run, others = folder.manifest, not any(map(kind_of, folder.steps))
    for step in folder.steps:
        kind = step.name if others else kind_of(step)
        result = folder.result(step.name) if kind else None
        if kind and result:
            declared = run.peak[step.app].declared if kind == 'peak' and step.app in run.peak else ''
            yield from rows_of_result(name, kind, result, run, declared)
        elif kind:
            why = 'its file is missing or was changed' if step.state == 'done' else step.why or step.state
            complain(f'{name}: {step.name} is left out: {why}')


def found(paths: list[str]) -> tuple[list[Row], list[str]]:
    """Reads the results of a command line; Fault if one is none. Returns their rows, and the names of manifests without the
    results that they name."""
    rows, alone = list[Row](), list[str]()
    for name in paths:
        path = results.manifest_of(name)
        value = results.read(path)
        if isinstance(value, Program):
            rows += rows_of_result(name, 'single', value)
        elif Folder.at(path, value).alone:
            alone.append(name)
            rows += rows_of_manifest(name, value)
        else:
            rows += rows_of_folder(name, Folder.at(path, value))
    return rows, alone
