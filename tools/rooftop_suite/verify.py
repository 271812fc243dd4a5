"""`rooftop verify`: is a result consistent and unchanged?

Everything in a file that follows from something else in it is computed again: verdicts from checks, median and spread
from windows, the figure of merit from the credited work, the seed from the nonce. The seal shows whether anything was
changed since the file was written. A folder's manifest holds the SHA-256 of each file. With --rerun the program here
makes the inputs again and their digests are compared. docs/run-rules.md says what all of this can show, and what it
cannot. Each fault is one line.
"""
import argparse
import json
import math
import os
import statistics
from collections.abc import Iterator
from typing import NamedTuple, Optional

from . import ENVIRONMENT, INVALID, USAGE, VALID, Fault, aggregate, pack, programs, results, source
from .results import AnyResult, Ceilings, Folder, Mismatch, Program, Run, Rung, Scale
from .plan import OFFICIAL

ROUNDING = 1e-9  # of numbers that were written with 17 digits and computed again
MOST_SHARE, MOST_SPREAD, LEAST_SET = 1.02, 0.1, 65536


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('files', nargs='+', metavar='FILE', help='a result, a run.json, a folder of rooftop run, or the archive of rooftop pack')
    parser.add_argument('--nonce', metavar='TEXT', help='the nonce that must be in it: the one that the buyer gave')
    parser.add_argument('--rerun', action='store_true', help='make the inputs here and compare their digest')
    programs.add_arguments(parser)


def near(a: float, b: float) -> bool:
    return abs(a - b) <= ROUNDING * max(abs(a), abs(b))


# ---- A program's result ----

def judge_checks(rung: Rung) -> Iterator[str]:
    for check in rung.checks:
        held = check.value is not None and check.value <= check.bound
        if held != check.held:
            value = 'not finite' if check.value is None else check.value
            yield f"check '{check.name}': value {value} and bound {check.bound} say " \
                  f"{'held' if held else 'failed'}, the file says otherwise"
    if not rung.checks:
        yield 'no checks: nothing was verified'
    if rung.right != all(check.held for check in rung.checks):
        yield f'verdict is {rung.verdict}, its checks say otherwise'
    if (rung.verdict == 'UNSTEADY') != bool(rung.disturbed):
        yield f'verdict is {rung.verdict}, and what disturbed it: {"; ".join(rung.disturbed) or "nothing"}'


def judge_times(rung: Rung) -> Iterator[str]:
    windows = rung.window_seconds
    if not windows:
        if rung.fom_flop_per_s is not None:
            yield 'fom_flop_per_s without windows'
        return
    median = statistics.median(windows)
    spread = (max(windows) - min(windows)) / median
    for name, told, value in (('seconds_per_unit', rung.seconds_per_unit, median), ('spread', rung.spread, spread)):
        if told is not None and not near(told, value):
            yield f'{name} is {told:.9g}, its windows say {value:.9g}'
    if rung.windows not in (None, len(windows)):
        yield f'windows is {rung.windows}, there are {len(windows)}'
    if rung.valid and spread > MOST_SPREAD * (1 + ROUNDING):
        yield f'verdict is VALID, the spread is {100 * spread:.1f} %'
    if rung.fom_flop_per_s is not None and not rung.valid:
        yield f'verdict is {rung.verdict}, and there is a figure of merit'
    if rung.credited_flop_per_unit and rung.fom_flop_per_s is not None:
        fom = rung.credited_flop_per_unit / median
        if not near(rung.fom_flop_per_s, fom):
            yield f'fom_flop_per_s is {rung.fom_flop_per_s:.6g}, credited work over the median says {fom:.6g}'


def share_of(rung: Rung, ranks: int, ceilings: list[Ceilings]) -> float:
    """Returns the share of the ceilings, the nearest one, that a rung reaches. What its largest kernel touches may fit
    in a cache that no ceiling was measured for: then the arithmetic alone counts."""
    bandwidth = max(max(row.copy_bytes_per_s, row.triad_bytes_per_s, row.read_bytes_per_s) for row in ceilings)
    least = rung.ceilings_again.working_set_bytes if rung.ceilings_again else LEAST_SET
    if rung.touched_bytes is not None and rung.touched_bytes < least:
        bandwidth = 0.0
    flops = {'fp64': [row.fma64_flop_per_s for row in ceilings],
             'fp32': [row.fma32_flop_per_s for row in ceilings]}.get(rung.arithmetic, [0.0])
    time = ranks * (rung.seconds_per_unit or math.inf)
    rates = (((rung.bytes_per_unit or 0.0) / time, bandwidth), ((rung.flop_per_unit or 0.0) / time, max(flops)))
    return max(rate / ceiling if ceiling else 0.0 for rate, ceiling in rates)


def judge_plausible(result: Program, rung: Rung) -> Iterator[str]:
    """A timed rung that is VALID must be possible by the ceilings of its own file, on one of the processors that it may
    have run on."""
    if not rung.valid or not rung.window_seconds:
        return
    again = [rung.ceilings_again] if rung.ceilings_again else []
    places = {'cpu': ('cpu',), 'cuda': ('gpu',)}.get(rung.kind, ('gpu', 'cpu'))
    found = {'cpu': result.ceilings_cpu, 'gpu': result.ceilings_gpu}
    rows = [([row] if row else []) + again for row in map(found.get, places)]
    shares = [share_of(rung, result.ranks, ceilings) for ceilings in rows if ceilings]
    if not shares:
        yield 'the file has no ceilings to judge it by'
    elif min(shares) > MOST_SHARE * (1 + ROUNDING):
        yield f'VALID at {100 * min(shares):.0f} % of the ceilings in the file'


def judge_official(rung: Rung) -> Iterator[str]:
    """Checks a measured run against the rules for published results."""
    windows, timed, warm_up = len(rung.window_seconds or ()), rung.timed_seconds or 0.0, rung.warm_up_seconds or 0.0
    if windows < OFFICIAL.windows:
        yield f'official: fewer than {OFFICIAL.windows} windows'
    elif timed < OFFICIAL.window * windows * (1 - ROUNDING):
        yield f'official: windows of {timed / windows:.1f} s, not {OFFICIAL.window:g}'
    if warm_up < OFFICIAL.warm_up * (1 - ROUNDING):
        yield f'official: warm-up of {warm_up:.1f} s, not {OFFICIAL.warm_up:g}'


def worst(verdicts: list[str]) -> str:
    """Returns the verdict of a result whose rungs have these."""
    return max(verdicts, key=('VALID', 'UNSTEADY', 'INVALID').index, default='VALID')


def judge_program(result: Program, official: bool = False) -> list[str]:
    """Returns the faults of a program's result, one line each."""
    wrong = []
    for i, rung in enumerate(result.rungs):
        said = [*judge_checks(rung), *judge_times(rung), *judge_plausible(result, rung)]
        said += judge_official(rung) if official else []
        wrong += [f'rungs[{i}] {rung.name}: {line}' for line in said]
    verdict = worst([rung.verdict for rung in result.rungs])
    if result.rungs and result.verdict != verdict:
        wrong.append(f'verdict is {result.verdict}, its rungs say {verdict}')
    if result.nonce and result.seed != results.seed_of(result.nonce):
        wrong.append(f"nonce '{result.nonce}' gives the seed {results.seed_of(result.nonce)}, not {result.seed}")
    if result.options['seed'] != result.seed:
        wrong.append(f"options.seed is {result.options['seed']}, seed is {result.seed}")
    return wrong


def digest_here(result: Program, bindir: Optional[str]) -> str:
    """Returns the digest of the inputs that the program here makes for a result's problem."""
    words = [programs.find(result.program, bindir), '--digest']
    words += [f'--{name}={value}' for name, value in result.options.items() if name not in ('seed', 'ranks')]
    words += ['--nonce', result.nonce] if result.nonce else ['--seed', str(result.seed)]
    ended = programs.run(words, limit=1800)
    lines = ended.text.strip().splitlines()
    if ended.exit != 0 or not lines:
        raise Fault(ENVIRONMENT, f'{" ".join(words[:2])}: {programs.reason(ended)}')
    return lines[-1].strip()


def judge_scaling(scale: Scale) -> list[str]:
    """Returns the faults of efficiencies."""
    wrong = []
    for kind, all_points in (('strong', scale.strong), ('weak', scale.weak)):
        points = [point for point in all_points if point.verdict]
        for point in points:
            times, foms = ((points[0].seconds_per_unit, point.seconds_per_unit),
                           (point.fom_flop_per_s, points[0].fom_flop_per_s))
            more, less = times if kind == 'strong' else foms
            if not more or not less or point.efficiency is None:
                wrong.append(f'{kind}, {point.ranks} ranks: no rate or no efficiency')
                continue
            efficiency = more / less / (point.ranks / points[0].ranks)
            if not near(point.efficiency, efficiency):
                wrong.append(f'{kind}, {point.ranks} ranks: efficiency is {point.efficiency:.6g}, its times say '
                             f'{efficiency:.6g}')
    return wrong


# ---- A run ----

class Judged(NamedTuple):
    """A file and its faults. record: None if it could not be read."""
    path: str
    wrong: list[str]
    record: Optional[AnyResult]


def judge_summary(run: Run, loaded: dict[str, Program]) -> Iterator[str]:
    for app, row in run.summary.items():
        result = loaded.get(app)
        rung = result.rungs[0] if result and result.rungs else None
        told = (row.verdict, row.fom, row.spread, row.rung)
        is_ = (result.verdict if result else None,
               *((rung.fom_flop_per_s, rung.spread, rung.name) if rung else (None, None, None)))
        for name, a, b in zip(('verdict', 'fom', 'spread', 'rung'), told, is_):
            if a != b:
                yield f'summary.{app}.{name} is {a}, {app}.json says {b}'
    if run.aggregate.value is not None:
        value = aggregate.of(run).value
        if value is None or not near(value, run.aggregate.value):
            yield f'aggregate is {run.aggregate.value:.6g}, the reference here gives {value}'


def judge_environment(run: Run, result: Program) -> Iterator[str]:
    """Compares what the system said with what the program said."""
    there = run.environment
    if result.ranks != run.ranks:
        yield f'{result.ranks} ranks, run.json says {run.ranks}'
    if run.ranks == 1 and not run.launcher and result.host != there.get('host'):
        yield f'host {result.host}, run.json says {there.get("host")}'
    names = [gpu['name'] for gpu in there.get('gpus', ())]
    if result.gpu and names and result.gpu not in names:
        yield f'gpu {result.gpu}, run.json says {names[0]}'


def judge_source(folder: Folder) -> Iterator[str]:
    what, tier = folder.manifest.source, folder.manifest.tier
    if tier != 'unknown' and tier != source.tier_of(what.changed):
        yield f'tier is {tier}, the files that were changed say {source.tier_of(what.changed)}'
    if what.diff_file:
        try:
            same = results.sha256_of(folder.file(what.diff_file)) == what.diff_sha256
        except OSError:
            same = False
        if not same:
            yield f'{what.diff_file}: not the file that the run wrote'


def judge_steps(folder: Folder, files: list[Judged], loaded: dict[str, Program]) -> Iterator[str]:
    """Judges the files of all steps into `files` and `loaded`; yields what the manifest says wrongly of them."""
    run = folder.manifest
    for step in folder.steps:
        path = folder.file(step.json)
        if step.state != 'done':
            yield f'{step.name}: {step.state}{": " if step.why else ""}{step.why}'
        elif not os.path.isfile(path):
            yield f'{step.json} is missing'
        else:
            if not folder.whole(step):
                yield f'{step.json}: not the file that the run wrote: its SHA-256 differs'
            result = judge_file(path, run.nonce, files, run.official and step.name == step.app)
            if isinstance(result, Program):
                loaded[step.name] = result
                if result.program != step.app:
                    yield f'{step.json}: from {result.program}, not {step.app}'
                yield from (f'{step.json}: {line}' for line in judge_environment(run, result))


def judge_folder(folder: Folder, files: list[Judged]) -> list[str]:
    """Returns the faults of a run; adds its programs' results to files."""
    run, wrong = folder.manifest, []
    loaded: dict[str, Program] = {}
    if run.nonce and run.seed != results.seed_of(run.nonce):
        wrong.append(f"nonce '{run.nonce}' does not give the seed {run.seed}")
    if run.state != 'complete':
        wrong.append('the run is not complete')
    wrong += judge_steps(folder, files, loaded)
    return wrong + [*judge_summary(run, loaded), *judge_source(folder)]


def faults_of(record: AnyResult, path: str, files: list[Judged], official: bool) -> list[str]:
    if isinstance(record, Run):
        return judge_folder(Folder(os.path.dirname(path) or '.', record), files)
    return judge_scaling(record) if isinstance(record, Scale) else judge_program(record, official)


def judge_file(path: str, nonce: Optional[str], files: list[Judged], official: bool = False) -> Optional[AnyResult]:
    """Adds a file's faults to files; returns its record, or None if it cannot be read."""
    try:
        data, value = results.parse(path)
        record = results.record_of(value)
    except Fault as fault:
        files.append(Judged(path, [str(fault).replace(f'{path}: ', '')], None))
        return None
    except Mismatch as mismatch:
        files.append(Judged(path, [f'not by docs/result-schema.json: {mismatch}'], None))
        return None
    wrong = [] if nonce in (None, record.nonce) else [f"nonce is '{record.nonce}', not '{nonce}'"]
    wrong += faults_of(record, path, files, official)
    if not results.seal_holds(data, record.nonce):
        known = '' if wrong else '; the change is in a part that is only recorded, such as environment or options'
        wrong.insert(0, f'the seal does not hold: the file was changed after it was written{known}')
    elif isinstance(record, Program) and record.verdict == 'INVALID' and not wrong:
        wrong.append('consistent and unchanged, and its verdict is INVALID')
    files.append(Judged(path, wrong, record))
    return record


def rerun(files: list[Judged], bindir: Optional[str]) -> None:
    """Compares the digests of all results with those of inputs that are made here."""
    seen: dict[str, str] = {}
    for _, wrong, record in files:
        if not isinstance(record, Program):
            continue
        problem = json.dumps([record.program, record.options, record.nonce], sort_keys=True)
        if problem not in seen:
            seen[problem] = digest_here(record, bindir)
        if seen[problem] != record.inputs_digest:
            wrong.append(f'inputs_digest is {record.inputs_digest[:12]}.., the inputs made here have '
                         f'{seen[problem][:12]}..')


def main(args: argparse.Namespace) -> int:
    files: list[Judged] = []
    for path in args.files:
        path = pack.unpack(path) if path.endswith('.tar.xz') else path
        if os.path.isdir(path):
            path = os.path.join(path, 'run.json')
        if not os.path.isfile(path):
            raise Fault(USAGE, f'{path}: no such file')
        judge_file(path, args.nonce, files)
    if args.rerun:
        rerun(files, args.bindir)
    bad = sum(bool(judged.wrong) for judged in files)
    for judged in files:
        for line in judged.wrong or ['consistent and unchanged']:
            print(f'{judged.path}: {line}')
    print(f'verify: {len(files)} files, {bad} with faults: {"NOT ACCEPTED" if bad else "ACCEPTED"}')
    return INVALID if bad else VALID
