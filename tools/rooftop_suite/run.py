"""`rooftop run`: the apps under the run rules, into one result folder that can be resumed.

Each step is one program's run. Its JSON counts only if the program ended with 0 and the file is whole and of the
schema; the manifest is written anew, whole or not at all, before and after each step. So the folder is right at any
moment, whatever is killed, and the same command continues where it stopped.
"""
import argparse
import fcntl
import functools
import hashlib
import os
import shlex
import shutil
import socket
import sys
import time
from typing import Optional

from . import (ENVIRONMENT, INVALID, USAGE, VALID, Fault, Interrupted, Json, aggregate, cli, disk, machine, plan,
               programs, quiet, results, source)
from .cli import seconds
from .plan import Plan
from .progress import Progress
from .results import Aggregate, Built, Folder, Program, Run, Soak, Step, Summary


LEAST_FREE = 16 << 20  # bytes on disk: a folder has a few MB


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = 'Exit status: 0; 1 something is INVALID; 3 something could not be run, or no app has a figure of merit.'
    plan.add_arguments(parser)
    add = parser.add_argument
    add('--dry-run', action='store_true', help='list the steps that would run, with their times, memory and commands, '
        'and stop')
    add('--force', action='store_true', help='do not wait for other processes on this machine to end')
    add('--into', metavar='DIR', help='result folder; a run that is there is resumed (default: a new one in '
        './rooftop-results)')
    add('--resume', action='store_true', help='resume the newest run in ./rooftop-results that is not complete')
    add('--limit', type=seconds, metavar='S', help='most seconds per step (default: by its timing and size)')
    add('--grace', type=seconds, default=programs.GRACE, metavar='S', help='between asking a step to end and killing '
        f'it (default {programs.GRACE:g}: a launcher needs some for ranks on other machines)')
    programs.add_arguments(parser)


# ---- The folder ----

def new_place() -> str:
    stamp = time.strftime('%Y-%m-%dT%H-%M-%SZ', time.gmtime())
    return os.path.join('rooftop-results', f'{stamp}-{socket.gethostname().split(".")[0]}')


def newest_incomplete() -> str:
    root = 'rooftop-results'
    for name in sorted(os.listdir(root) if os.path.isdir(root) else (), reverse=True):
        path = os.path.join(root, name)
        try:
            if Folder.is_one(path) and Folder.open(path).manifest.state != 'complete':
                return path
        except Fault as fault:
            print(f'rooftop: {fault}: passed over', file=sys.stderr)
    raise Fault(USAGE, '--resume: no run in ./rooftop-results that is not complete')


def now() -> str:
    return time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())


def lock(path: str) -> int:
    """Returns an open file that keeps other runs off this folder."""
    file = os.open(os.path.join(path, '.lock'), os.O_WRONLY | os.O_CREAT, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Fault(USAGE, f'{path}: another run is using this folder') from None
    except OSError:  # a file system without locks
        pass
    return file


def programs_now(what: Plan) -> dict[str, Built]:
    return {app: Built(path=path, sha256=disk.sha256_of(path), version=dict(programs.version(path)))
            for app, path in what.programs.items()}


def keep_tuning(path: str, made: Plan) -> None:
    """Copies the tuning files of declared choices into the folder: they are part of the choice."""
    for app in made.peak:
        if made.tuning(app):
            disk.copy(made.tuning(app), os.path.join(path, f'peak-{app}.tuning'))


def begin(path: str, made: Plan) -> Folder:
    """Starts a run: its folder and manifest."""
    options = made.given
    what = source.judge()
    keep_tuning(path, made)
    if what.diff_file:
        changes = source.diff()
        what.diff_sha256 = hashlib.sha256(changes).hexdigest()
        disk.save_bytes(os.path.join(path, what.diff_file), changes)
    manifest = Run.from_json({
        'schema': results.SCHEMA, 'kind': 'run', 'started': now(), 'finished': None, 'state': 'running',
        'official': made.official, 'size': made.size, 'nonce': made.nonce,
        'seed': disk.seed_of(made.nonce) if made.nonce else 1, 'source': what,
        'launcher': made.launcher, 'ranks': made.ranks, 'settings': options,
        'programs': programs_now(made),
        'environment': machine.environment(),
        'steps': made.steps(), 'summary': {},
        'aggregate': Aggregate(value=None, why='the run is not complete')})
    return Folder.create(path, manifest)


def resume(path: str, options: Json) -> tuple[Folder, Plan]:
    """Opens a run that was begun; refuses what would make its parts unlike."""
    folder = Folder.open(path)
    manifest = folder.manifest
    for name, value in options.items():
        if manifest.settings.get(name) != value:
            raise Fault(USAGE, f'{path} holds a run with other options (--{name.replace("_", "-")}): give another '
                        '--into, or the same options')
    made = Plan(manifest.settings)
    here = machine.environment()
    for name in ('host', 'cpu', 'gpus'):
        if here[name] != manifest.environment.get(name):
            raise Fault(USAGE, f'{path} was begun on another machine ({name}): give another --into')
    for app, program in programs_now(made).items():
        if app not in manifest.programs or program.sha256 != manifest.programs[app].sha256:
            raise Fault(USAGE, f'{path} was begun with another {app}: give another --into')
    there = [step.command for step in folder.steps if not step.name.startswith('peak-')]
    if there != [step.command for step in made.base() + made.others()]:
        raise Fault(USAGE, f'{path} holds a run with other steps: give another --into')
    return folder, made


def open_folder(args: argparse.Namespace) -> tuple[Folder, Plan, int]:
    path, options = place_of(args), plan.given(args)
    if Folder.is_one(path):
        held = lock(path)
        return (*resume(path, options), held)
    if os.path.isdir(path) and [name for name in os.listdir(path) if name != '.lock']:
        raise Fault(USAGE, f'--into {path}: a folder with other things in it')
    made = Plan(options)
    made.ask()  # a run that is refused makes no folder
    new = not os.path.isdir(path)
    disk.make_folder(path)
    held = lock(path)
    try:
        free = os.statvfs(path)
        if free.f_bavail * free.f_frsize < LEAST_FREE:
            raise Fault(ENVIRONMENT, f'{path}: the disk is full: less than {LEAST_FREE >> 20} MiB free')
        return begin(path, made), made, held
    except (Fault, OSError):
        os.close(held)
        shutil.rmtree(path) if new else disk.remove(os.path.join(path, '.lock'))
        raise


# ---- Running it ----

def in_folder(folder: Folder, arguments: list[str]) -> list[str]:
    """Returns a step's arguments with the path of the folder where they name a file in it: the program does not know
    the folder."""
    for option, names in (('--picture', None), ('--tuning', 'peak-')):
        if option in arguments[:-1]:
            at = arguments.index(option) + 1
            if not names or arguments[at].startswith(names):
                arguments[at] = folder.file(arguments[at])
    return arguments


def run_step(folder: Folder, made: Plan, step: Step, args: argparse.Namespace, tick: programs.Tick) -> None:
    """Runs one step; its state and the manifest record the outcome."""
    step.state, step.exit, step.seconds, step.sha256, step.why = 'running', None, None, None, ''
    step.attempts += 1
    folder.save()
    at = step.command.index(made.programs[step.app])
    try:
        got = programs.measure(made.programs[step.app], in_folder(folder, list(step.command[at + 1:])),
                               folder.file(step.json), folder.file(step.output), step.command[:at], made.ranks,
                               made.nonce, args.limit or made.limit(step), tick, args.grace)
    except Interrupted:
        step.state = 'waiting'
        folder.save()
        raise
    step.state, step.exit, step.why = 'done' if got.result else 'failed', got.ended.exit, got.why
    step.seconds = round(got.ended.seconds, 3)
    step.sha256 = disk.sha256_of(folder.file(step.json)) if got.result else None
    folder.save()


def run_all(folder: Folder, made: Plan, args: argparse.Namespace) -> None:
    todo = [step for step in folder.steps if not folder.whole(step)]
    there = len(folder.steps) - len(todo)
    if there:
        quiet.tell(f'{folder.path}: {there} of {len(folder.steps)} steps are done, {len(todo)} to go')
    if not todo:
        return
    seen = folder.manifest.environment
    seen['disturbed'] = sorted({*seen.get('disturbed', []), *quiet.wait(made.given.get('device'), args.force)})
    before = machine.ticks_now()
    progress = Progress(made, folder.steps, todo)
    for step in todo:
        progress.begin(step)
        run_step(folder, made, step, args, functools.partial(progress.tick, step))
        progress.end(step)
        if step.state == 'failed':
            quiet.tell(f'rooftop: {step.name}: {step.why} (see {folder.file(step.output)})')
    seen['stolen'] = max(round(machine.use_since(before).stolen, 4), seen.get('stolen', 0.0))


# ---- What came of it ----

def soak_of(windows: list[float]) -> Soak:
    """Returns the drift (last tenth of the windows over the first tenth, as a share of time) and spread of a soak."""
    tenth = max(1, len(windows) // 10)
    first, last = sorted(windows[:tenth]), sorted(windows[-tenth:])
    return Soak(drift=last[len(last) // 2] / first[len(first) // 2] - 1,
                spread=(max(windows) - min(windows)) / min(windows))


def summary_of(result: Optional[Program]) -> Summary:
    rung = result.rungs[0] if result and result.rungs else None
    return Summary(fom=rung.fom_flop_per_s if rung else None, unit='flop/s', verdict=result.verdict if result else None,
                   spread=rung.spread if rung else None, rung=rung.name if rung else None,
                   precision=rung.precision if rung else '')


def summarise(folder: Folder, made: Plan) -> None:
    """Fills the manifest's summary, peak, aggregate and soak."""
    manifest = folder.manifest
    manifest.summary = {app: summary_of(folder.result(app)) for app in made.apps}
    manifest.peak = {app: summary_of(folder.result(f'peak-{app}')) for app in made.apps if app in made.peak}
    for app, row in manifest.peak.items():
        row.declared = shlex.join(made.peak[app])
    manifest.aggregate = aggregate.of(manifest)
    for app in made.apps if made.soak else ():
        soak = folder.result(f'soak-{app}')
        if soak:
            manifest.soak[app] = soak_of(soak.rungs[0].window_seconds or [1.0])


def print_rows(rows: dict[str, Summary], named: str = '') -> None:
    for app, row in rows.items():
        fom = f'{row.fom / 1e9:.2f} GFlop/s' if row.fom else '-'
        spread = f'{100 * row.spread:.1f} %' if row.spread is not None else '-'
        declared = f' ({row.declared})' if row.declared else ''
        print(f'{app + named:17} {row.rung or "-":15} {fom:>15}  {spread:>8}  {row.verdict or "no result":9} '
              f'{row.precision}{declared}'.rstrip())


def print_unsteady(folder: Folder) -> None:
    """Says what disturbed the measured runs."""
    for step in folder.steps:
        result = folder.result(step.name) if step.name in (step.app, f'peak-{step.app}') else None
        if result and result.verdict == 'UNSTEADY':
            print(f'unsteady: {step.name}: {"; ".join(result.rungs[0].disturbed)}')


def print_table(folder: Folder) -> None:
    run = folder.manifest
    print(f'{"app":17} {"rung":15} {"FOM":>15}  {"spread":>8}  {"verdict":9} precision')
    print_rows(run.summary)
    print_rows(run.peak, ', peak')
    print_unsteady(folder)
    for app, soak in run.soak.items():
        print(f'soak: {app}: {100 * soak.drift:+.1f} % time per unit from the first windows to the last')
    for step in run.steps:
        if step.state == 'failed':
            print(f'failed: {step.name}: {step.why}')
    if run.environment.get('stolen', 0) > quiet.STOLEN:
        print(f'the hypervisor took {100 * run.environment["stolen"]:.1f} % of the time of this run')
    total = run.aggregate
    print(f'aggregate: {total.value:.3f} of {total.reference}' if total.value is not None else
          f'aggregate: none, {total.why}')
    official = 'official' if run.official else 'not official'
    print(f'size {run.size}, {official}' + (f', source {run.source.why}' if run.source.why else ''))


def status_of(run: Run) -> int:
    """Returns 0; 1: something is INVALID; 3: something could not be run, or no app has a figure of merit."""
    failed = [step for step in run.steps if step.state != 'done']
    if failed:
        return INVALID if any(step.exit in (0, 1) for step in failed) else ENVIRONMENT
    return VALID if any(row.fom for row in (*run.summary.values(), *run.peak.values())) else ENVIRONMENT


def place_of(args: argparse.Namespace) -> str:
    """Returns the path of the folder that the options name, which may be new."""
    if args.resume and args.into:
        raise Fault(USAGE, '--resume and --into exclude each other: --into alone resumes')
    return newest_incomplete() if args.resume else args.into or new_place()


def list_steps(args: argparse.Namespace) -> int:
    """--dry-run: the steps that the same command without it would run."""
    path, options = place_of(args), plan.given(args)
    done: set[str] = set()
    if Folder.is_one(path):
        folder, made = resume(path, options)
        done = {step.name for step in folder.steps if folder.whole(step)}
        print(f'{path}: {len(done)} of {len(folder.steps)} steps are done')
    else:
        made = Plan(options)
    made.ask(everything=True)
    print(made.listing(done))
    return VALID


def main(args: argparse.Namespace) -> int:
    if args.dry_run:
        return list_steps(args)
    folder, made, held = open_folder(args)
    run = folder.manifest
    hint = f'finished steps are kept: continue with rooftop run --into {shlex.quote(folder.path)}'
    try:
        run.state = 'running'
        quiet.tell(f'results go to {folder.path}')
        run_all(folder, made, args)
        summarise(folder, made)
        run.state, run.finished = 'complete' if all(step.state == 'done' for step in run.steps) else 'running', now()
        folder.save()
    except Fault as fault:
        raise Fault(fault.status, f'{fault}; {hint}') from None
    except Interrupted as interrupted:
        interrupted.hint = hint
        raise
    finally:
        os.close(held)
    print_table(folder)
    if run.state == 'complete' and status_of(run) != VALID:
        cli.complain('no app has a figure of merit: run this again on a quiet machine')
    return status_of(run)
