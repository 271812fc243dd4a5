"""`rooftop verify`: is a result whole and consistent, and what does it lack to be official?

judge.py works out again what follows from other members of a file; here a folder's files are held against the SHA-256
sums and the summary of its manifest. Each fault is one line. What a result lacks to be official is no fault. A file
cannot show more than that: who buys a machine runs rooftop accept on it. docs/buyer.md has both.
"""
import argparse
import os
from collections.abc import Iterator
from typing import Optional

from .. import ENVIRONMENT, INVALID, USAGE, VALID, Fault, one_line, results
from . import AnyResult, Folder, Program, Run, Rung, disk
from .judge import Judged, judge_official, judge_program


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('files', nargs='+', metavar='FILE', help='a result, a run.json, or a folder of rooftop run')
    parser.add_argument('--nonce', metavar='TEXT', help='the nonce that must be in it: the one that the buyer gave')


def judge_summary(run: Run, loaded: dict[str, Program]) -> Iterator[str]:
    for name, row in [*run.summary.items(), *((f'peak-{app}', row) for app, row in run.peak.items())]:
        result = loaded.get(name)
        if not result and row.verdict:
            yield f'summary.{name}.verdict is {row.verdict}, and its result is not here'
        rung = result.rungs[0] if result and result.rungs else Rung()
        for member, a, b in (('verdict', row.verdict, result.verdict if result else None), ('fom', row.fom, rung.fom_flop_per_s),
                             ('spread', row.spread, rung.spread), ('rung', row.rung or '', rung.name)) if result else ():
            if a != b:
                yield f'summary.{name}.{member} is {a}, {name}.json says {b}'


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
        elif not disk.exists(path):
            yield f'{step.json} is missing'
        else:
            if not folder.whole(step):
                yield f'{step.json}: not the file that the run wrote: its SHA-256 differs'
            judged = judge_file(path, run.nonce, Program)
            files.append(judged)
            if isinstance(judged.record, Program):
                loaded[step.name] = judged.record
                if judged.record.program != step.app:
                    yield f'{step.json}: from {judged.record.program}, not {step.app}'
                if run.official and step.name in (step.app, f'peak-{step.app}'):
                    judged.lacks += [f'{line} ({step.name})' for rung in judged.record.rungs
                                     for line in judge_official(rung)]


def judge_manifest(run: Run) -> Iterator[str]:
    """Yields the faults of a manifest by itself."""
    if run.nonce and run.seed != disk.seed_of(run.nonce):
        yield f"nonce '{run.nonce}' does not give the seed {run.seed}"
    if run.state != 'complete':
        yield 'the run is not complete'
    for app, row in [*run.summary.items(), *run.peak.items()]:
        if (row.verdict == 'VALID') != bool(row.fom):
            yield f'summary: {app} is {row.verdict}, and its figure of merit {row.fom}'
    for app, built in run.programs.items():
        if str(built.version.get('version')).removesuffix('-dirty') != run.source.version.removesuffix('-dirty'):
            yield f'{app} is of version {built.version.get("version")}, the source is {run.source.version}: build it again'


def judge_folder(folder: Folder, judged: Judged, files: list[Judged]) -> None:
    """Judges a run; adds its programs' results to files."""
    run, loaded = folder.manifest, dict[str, Program]()
    judged.wrong += judge_manifest(run)
    judged.lacks += [] if run.official else ['--official']
    judged.lacks += [f'a VALID {app}' for app in results.APPS if app not in run.summary or run.summary[app].verdict != 'VALID']
    judged.lacks += ['a size above tiny'] if run.size == 'tiny' else []
    judged.lacks += [f'an unchanged source ({run.source.why or "files were changed"})'] \
        if run.source.why or run.source.changed else []
    if os.path.basename(judged.path) != 'run.json' and folder.alone:
        judged.notes.append(f'a manifest alone: none of the {len(folder.steps)} results that it names is here')
        judged.lacks.append('the results that it names')
        judged.wrong += [f'{step.name}: {step.state}' for step in folder.steps if step.state != 'done']
    else:
        judged.wrong += judge_steps(folder, files, loaded)
        judged.wrong += judge_summary(run, loaded)
    judged.notes += [f'{step.name}: attempt {step.attempts} counts' for step in folder.steps if (step.attempts or 0) > 1]


def judge_file(path: str, nonce: Optional[str], kind: Optional[type[AnyResult]] = None) -> Judged:
    """Returns a file with the faults that it has by itself. kind: what it must be."""
    try:
        record = results.read(path)
    except Fault as fault:
        return Judged(path, wrong=[str(fault).replace(f'{path}: ', '')], unreadable=fault.status == ENVIRONMENT)
    if kind and not isinstance(record, kind):
        return Judged(path, wrong=[f'not the result of a {kind.__name__.lower()}'])
    judged = Judged(path, record, judge_program(record) if isinstance(record, Program) else [])
    if nonce not in (None, record.nonce):
        judged.wrong.append(f"nonce is '{record.nonce}', not '{nonce}'")
    return judged


def judge_all(path: str, nonce: Optional[str], kind: Optional[type[AnyResult]] = None) -> list[Judged]:
    """Returns a file, and before it those that it names."""
    judged, files = judge_file(path, nonce, kind), list[Judged]()
    if isinstance(judged.record, Run):
        judge_folder(Folder.at(path, judged.record), judged, files)
    return [*files, judged]


def main(args: argparse.Namespace) -> int:
    files: list[Judged] = []
    given = []
    for path in map(results.manifest_of, args.files):
        if not disk.exists(path):
            raise Fault(USAGE, f'{path}: no such file')
        more = judge_all(path, args.nonce)
        files += more
        given.append(more[-1])
        for judged in more:
            for line in (judged.faults or ['consistent']) + [f'note: {line}' for line in judged.notes]:
                print(one_line(f'{judged.path}: {line}'))
    bad = [judged for judged in files if judged.faults]
    lacks = list(dict.fromkeys(line for judged in files for line in judged.lacks))
    lacks += ['a run of rooftop run'] if any(not isinstance(judged.record, Run) for judged in given) else []
    lacks += [] if args.nonce else ["the buyer's nonce (--nonce)"]
    said = f'{len(bad)} with faults: NOT CONSISTENT' if bad else one_line(
        f'consistent; lacks {", ".join(lacks)}' if lacks else f"consistent and official, nonce '{args.nonce}'")
    print(f'verify: {len(files)} file{"s" if len(files) > 1 else ""}, {said}')
    if any(judged not in given or not judged.unreadable for judged in bad):
        return INVALID
    return ENVIRONMENT if bad else VALID
