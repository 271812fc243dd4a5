"""`rooftop verify`: is a result consistent and unchanged, and is it one that a buyer can accept?

judge.py computes again what follows from something else in a file; here a folder's files are held against each other
and against the source tree of this suite. The seal shows whether anything was changed since a file was written. With
--rerun the program here says what the result must say (rerun.py). Each fault is one line. What a file lacks to be
accepted is no fault. docs/run-rules.md says what all of this can show, and what it cannot.
"""
import argparse
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Optional

from . import (ENVIRONMENT, INVALID, USAGE, VALID, Fault, Json, aggregate, archive, disk, machine, one_line, programs,
               records, results, source, source_tree)
from .judge import judge_energy, judge_program, judge_scaling, near, watts
from .plan import FREE_OF
from .rerun import Rerun, measured
from .records import Mismatch
from .results import AnyResult, Folder, Program, Run, Scale, Step

HARMLESS = re.compile(r'-D(NDEBUG|_FORTIFY_SOURCE|_GLIBCXX_ASSERTIONS)(=\d)?$')
FOREIGN = re.compile(r'-D|-include|-imacros|-Wl,(--wrap|--defsym)|.*\.(o|a|so|c)$')  # words of flags that bring code
SLACK = 2.0  # seconds: dates are whole seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('files', nargs='+', metavar='FILE', help='a result, a run.json, a folder of rooftop run, or '
                        'an archive of rooftop pack')
    parser.add_argument('--nonce', metavar='TEXT', help='the nonce that must be in it: the one that the buyer gave')
    parser.add_argument('--rerun', action='store_true', help='make the inputs and checks here, and compare')
    programs.add_arguments(parser)


@dataclass(repr=False, eq=False)
class Judged:
    """A file: its faults, what it lacks to be accepted, and what a buyer should know. record: None: not read."""
    path: str
    record: Optional[AnyResult] = None
    wrong: list[str] = field(default_factory=list)
    lacks: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unreadable: bool = False
    step: Optional[Step] = None  # of a folder's run
    run: Optional[Run] = None


# ---- A run ----

def judge_summary(run: Run, loaded: dict[str, Program]) -> Iterator[str]:
    rows = [*run.summary.items(), *((f'peak-{app}', row) for app, row in run.peak.items())]
    for app, row in rows:
        result = loaded.get(app)
        rung = result.rungs[0] if result and result.rungs else None
        told = (row.verdict, row.fom, row.spread, row.rung)
        is_ = (result.verdict if result else None,
               *((rung.fom_flop_per_s, rung.spread, rung.name) if rung else (None, None, None)))
        for name, a, b in zip(('verdict', 'fom', 'spread', 'rung'), told, is_):
            if a != b:
                yield f'summary.{app}.{name} is {a}, {app}.json says {b}'


def judge_aggregate(run: Run) -> Iterator[str]:
    if run.aggregate.value is not None:
        value = aggregate.of(run).value
        if value is None or not near(value, run.aggregate.value):
            yield f'aggregate is {run.aggregate.value:.6g}, the reference here gives {value}'


def members(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def gpus(run: Run) -> list[Json]:
    rows = run.environment.get('gpus')
    return [members(row) for row in rows] if isinstance(rows, list) else []


def judge_environment(run: Run, result: Program) -> Iterator[str]:
    """Compares what the system said with what the program said."""
    if result.ranks != run.ranks:
        yield f'{result.ranks} ranks, run.json says {run.ranks}'
    if run.ranks == 1 and not run.launcher and result.host != run.environment.get('host'):
        yield f'host {result.host}, run.json says {run.environment.get("host")}'
    names = [row.get('name') for row in gpus(run) if row.get('compute_cap')]  # other makes' tools have names of their own
    if result.gpu and names and result.gpu not in names:
        yield f'gpu {result.gpu}, run.json says {names[0]}'
    built = run.programs.get(result.program)
    if built and built.version.get('version') != result.version:
        yield f'version {result.version}, run.json says {built.version.get("version")}'


def judge_step(run: Run, step: Step, result: Program) -> Iterator[str]:
    """Holds the times of a step against each other: windows <= timed <= step <= run."""
    begin, end = records.instant(run.started), records.instant(run.finished or run.started)
    date = records.instant(result.date)
    if begin is not None and end is not None and date is not None and run.finished:
        if not begin - SLACK <= date <= end + SLACK:
            yield f'{step.json}: dated {result.date}, the run was from {run.started} to {run.finished}'
    spent = sum((rung.warm_up_seconds or 0.0) + (rung.timed_seconds or 0.0) for rung in result.rungs)
    if step.seconds is not None and spent > step.seconds + SLACK:
        yield f'{step.json}: timed for {spent:.1f} s in a step of {step.seconds:.1f} s'
    limit = run.ranks * max((watts(row.get('power.limit')) for row in gpus(run)), default=0.0)
    for rung in result.rungs:
        yield from (f'{step.json}: {rung.name}: {line}' for line in judge_energy(rung, limit))


def judge_run_time(run: Run) -> Iterator[str]:
    begin, end = records.instant(run.started), records.instant(run.finished or '')
    spent = sum(step.seconds or 0.0 for step in run.steps if step.state == 'done')
    if begin is not None and end is not None and spent > end - begin + SLACK:
        yield f'its steps took {spent:.0f} s, the run {end - begin:.0f} s'


def unlike(loaded: dict[str, Program]) -> Iterator[str]:
    """Yields what all results of one machine have in common, and these have not."""
    rates = [rung.clocks.tsc_hz for result in loaded.values() for rung in result.rungs
             if rung.clocks and rung.clocks.tsc_hz and rung.clocks.monotonic_s >= 1]
    if rates and max(rates) > 1.01 * min(rates):
        yield f'the time-stamp counter ran at {min(rates) / 1e9:.3f} and at {max(rates) / 1e9:.3f} GHz'


def foreign(run: Run, loaded: dict[str, Program]) -> Iterator[str]:
    """Yields code that is in a measured program, or was loaded into it, and is not of the source."""
    found = [('rooftop', members(run.environment.get('variables')))]
    found += [(name, {**result.variables}) for name, result in loaded.items()]
    for name, variables in found:
        yield from (f'{name}: {key}={variables[key]}' for key in machine.FOREIGN if variables.get(key))
    for name, result in loaded.items():
        for flags in ('CC', 'CXX', 'CPPFLAGS', 'CFLAGS', 'CXXFLAGS', 'NVCCFLAGS', 'LDFLAGS', 'LIBS'):
            for word in result.build.get(flags, '').split():
                if FOREIGN.match(word) and not HARMLESS.match(word):
                    yield f'{name}: {flags} has {word}'


def judge_peaks(run: Run, loaded: dict[str, Program]) -> Iterator[str]:
    """Holds what was declared against what a choice may set: all other options are those of the base."""
    for app in run.peak:
        base, peak = loaded.get(app), loaded.get(f'peak-{app}')
        if not base or not peak:
            yield f'peak.{app}: no result of base and peak'
            continue
        for name in sorted(base.options.keys() | peak.options.keys()):
            told, known = peak.options.get(name), base.options.get(name)
            if told != known and name not in FREE_OF[peak.program]:
                yield f'peak-{app}.json: --{name} is {told}, and {known} in {app}.json: it is not free'


def judge_official(run: Run, verdicts: Mapping[str, Optional[str]], loaded: dict[str, Program]) -> Iterator[str]:
    """Checks a run against the rules for published results. verdicts: of its apps."""
    for app in results.APPS:
        if verdicts.get(app) != 'VALID':
            yield f'official: {app} is {verdicts[app]}' if verdicts.get(app) else f'official: no {app}'
    if run.size == 'tiny':
        yield 'official: size tiny is for tests'
    if run.tier == 'unknown':
        yield f'official: tier unknown: {run.source.why or "what was changed is not said"}'
    measured_ = {app: loaded[app] for app in results.APPS if app in loaded}
    yield from (f'official: {app}.json does not say how it was built' for app, result in measured_.items()
                if not result.build)
    yield from (f'official: {line}' for line in foreign(run, loaded))


# ---- The source ----

def unchanged(what: results.Source) -> Optional[str]:
    """Returns the tree_sha256 that the source of a result has if nothing was changed, by the source here; None: not
    known."""
    root = source_tree()
    if what.commit and root:
        there = source.tree_at(root, what.commit)
        return source.sha256(there) if there else None
    mine, tier = source.judge()
    return mine.tree_sha256 if tier == 'baseline' and mine.version == what.version else None


def judge_source(folder: Folder, lacks: list[str]) -> Iterator[str]:
    run = folder.manifest
    what, tier = run.source, run.tier
    if tier not in ('unknown', source.tier_of(what.changed)):
        yield f'tier is {tier}, the files that were changed say {source.tier_of(what.changed)}'
    if tier == 'invalid':
        yield f'tier invalid: {what.why or "protected files were changed"}'
    if what.diff_file and not folder.holds(what.diff_file, what.diff_sha256):
        yield f'{what.diff_file}: not the file that the run wrote'
    for app, built in run.programs.items():
        if str(built.version.get('version')).removesuffix('-dirty') != what.version.removesuffix('-dirty'):
            yield f'{app} is of version {built.version.get("version")}, the source is {what.version}: build it again'
    if tier != 'baseline':
        return
    known, name = unchanged(what), f'commit {what.commit[:12]}' if what.commit else f'release {what.version}'
    if known is None:
        lacks.append(f'a source that is known here ({name} is not: fetch it)')
    elif known != what.tree_sha256:
        yield f'tree_sha256 is {(what.tree_sha256 or "none")[:12]}.., {name} has {known[:12]}..: not baseline'
    mine = source.judge()[0]
    if mine.version == what.version and mine.generated_sha256 and what.generated_sha256 != mine.generated_sha256:
        yield 'configure, Makefile.in or build-aux are not those of the release: not baseline'


# ---- Files ----

def judge_steps(folder: Folder, files: list[Judged], loaded: dict[str, Program]) -> Iterator[str]:
    """Judges the files of all steps into `files` and `loaded`; yields what the manifest says wrongly of them."""
    run = folder.manifest
    for step in folder.steps:
        try:
            path = folder.file(step.json)
        except Fault as fault:
            yield f'{step.name}: {fault}'
            continue
        if step.state != 'done':
            yield f'{step.name}: {step.state}{": " if step.why else ""}{step.why}'
        elif not os.path.lexists(path):
            yield f'{step.json} is missing'
        else:
            if not folder.whole(step):
                yield f'{step.json}: not the file that the run wrote: its SHA-256 differs'
            judged = judge_file(path, run.nonce, files, run.official and measured(step), follow=False)
            judged.step, judged.run = step, run
            if isinstance(judged.record, Program):
                loaded[step.name] = judged.record
                if judged.record.program != step.app:
                    yield f'{step.json}: from {judged.record.program}, not {step.app}'
                yield from (f'{step.json}: {line}' for line in judge_environment(run, judged.record))
                yield from judge_step(run, step, judged.record)


def judge_alone(folder: Folder, judged: Judged) -> Iterator[str]:
    """Yields the faults of a manifest without the files that it names: what their results would say is not known."""
    run = folder.manifest
    judged.notes.append(f'a manifest alone: none of the {len(folder.steps)} results that it names is here, so that only '
                        'its seal, seed, times, source and summary could be checked')
    judged.lacks.append('the results that it names')
    yield from (f'{step.name}: {step.state}' for step in folder.steps if step.state != 'done')
    for app, row in [*run.summary.items(), *run.peak.items()]:
        if (row.verdict == 'VALID') != bool(row.fom):
            yield f'summary: {app} is {row.verdict}, and its figure of merit {row.fom}'
    if run.official:
        yield from judge_official(run, {app: row.verdict for app, row in run.summary.items()}, {})


def judge_results(folder: Folder, files: list[Judged]) -> Iterator[str]:
    """Yields the faults of the results of a run; adds them to files."""
    run = folder.manifest
    loaded: dict[str, Program] = {}
    yield from judge_steps(folder, files, loaded)
    yield from judge_summary(run, loaded)
    yield from unlike(loaded)
    yield from judge_peaks(run, loaded)
    if run.official:
        yield from judge_official(run, {name: result.verdict for name, result in loaded.items()}, loaded)


def judge_folder(folder: Folder, judged: Judged, files: list[Judged]) -> Iterator[str]:
    """Yields the faults of a run; adds its programs' results to files."""
    run = folder.manifest
    if run.nonce and run.seed != disk.seed_of(run.nonce):
        yield f"nonce '{run.nonce}' does not give the seed {run.seed}"
    if run.state != 'complete':
        yield 'the run is not complete'
    alone = os.path.basename(judged.path) != 'run.json' and folder.alone
    yield from judge_alone(folder, judged) if alone else judge_results(folder, files)
    yield from judge_run_time(run)
    yield from judge_aggregate(run)
    yield from judge_source(folder, judged.lacks)
    if not run.official:
        judged.lacks.append('--official')
    if run.size == 'tiny':
        judged.lacks.append('a size above tiny')
    judged.notes += [f'{step.name}: attempt {step.attempts} counts' for step in folder.steps if step.attempts > 1]


def judge_file(path: str, nonce: Optional[str], files: list[Judged], official: bool = False,
               follow: bool = True) -> Judged:
    """Judges a file, and those that it names, into files."""
    judged = Judged(path)
    try:
        data, value = disk.parse(path, follow)
        record = judged.record = results.record_of(value)
    except Fault as fault:
        judged.wrong, judged.unreadable = [str(fault).replace(f'{path}: ', '')], True
        files.append(judged)
        return judged
    except Mismatch as mismatch:
        judged.wrong = [f'not by docs/result-schema.json: {mismatch}']
        files.append(judged)
        return judged
    if nonce not in (None, record.nonce):
        judged.wrong.append(f"nonce is '{record.nonce}', not '{nonce}'")
    if isinstance(record, Run):
        judged.wrong += judge_folder(Folder(os.path.dirname(path) or '.', record), judged, files)
    else:
        judged.wrong += judge_scaling(record) if isinstance(record, Scale) else judge_program(record, official)
    if not disk.seal_holds(data, record.nonce):
        known = '' if judged.wrong else \
            '; the change is in a part that is only recorded, such as environment or options'
        judged.wrong.insert(0, f'the seal does not hold: the file was changed after it was written{known}')
    elif isinstance(record, Program) and record.verdict not in results.RIGHT and not judged.wrong:
        judged.wrong.append(f'consistent and unchanged, and its verdict is {record.verdict}')
    files.append(judged)
    return judged


def rerun(files: list[Judged], bindir: Optional[str]) -> None:
    """Compares all results with what the programs here say."""
    asked = Rerun(bindir)
    for judged in files:
        if isinstance(judged.record, Program):
            try:
                judged.wrong += asked.faults(judged.path, judged.record, judged.step, judged.run)
            except Fault as fault:
                judged.lacks.append(f'--rerun ({fault})')


def lacking(files: list[Judged], given: list[Judged]) -> list[str]:
    """Returns what files without faults lack to be accepted. given: those of the command line."""
    lacks = [line for judged in files for line in judged.lacks]
    lacks += ['a run of rooftop run'] if any(not isinstance(judged.record, Run) for judged in given) else []
    return list(dict.fromkeys(lacks))


def verdict(files: list[Judged], given: list[Judged], args: argparse.Namespace) -> str:
    """Returns what is said of all files that have no fault. given: those of the command line."""
    lacks = lacking(files, given) + ([] if args.nonce else ["the buyer's nonce (--nonce)"])
    if lacks:
        return f'consistent; lacks {", ".join(lacks + ([] if args.rerun else ["--rerun"]))}'
    runs = ', '.join(f'size {judged.record.size}, tier {judged.record.tier}' for judged in given
                     if isinstance(judged.record, Run))
    return f"official, {runs}, nonce '{args.nonce}': ACCEPTED" + (
        '' if args.rerun else '; not compared with the programs here: --rerun does')


def main(args: argparse.Namespace) -> int:
    files: list[Judged] = []
    given = []
    for one in archive.given(args.files):
        begin = len(files)
        path = os.path.join(one.at, 'run.json') if os.path.isdir(one.at) else one.at
        if not os.path.lexists(path):
            raise Fault(USAGE, f'{path}: no such file')
        given.append(judge_file(path, args.nonce, files))
        if one.form:
            print(one_line(f'{one.path}: ' + '; '.join(f'{name}: {text}' for name, text in one.form.items())))
        if args.rerun:
            rerun(files[begin:], args.bindir)
        for judged in files[begin:]:
            for line in (judged.wrong or ['consistent and unchanged']) + [f'note: {line}' for line in judged.notes]:
                print(one_line(f'{one.shown(judged.path)}: {line}'))
    bad = [judged for judged in files if judged.wrong]
    said = f'{len(bad)} with faults: NOT ACCEPTED' if bad else one_line(verdict(files, given, args))
    print(f'verify: {len(files)} file{"s" if len(files) > 1 else ""}, {said}')
    if any(judged not in given or not judged.unreadable for judged in bad):
        return INVALID
    return ENVIRONMENT if bad else VALID
