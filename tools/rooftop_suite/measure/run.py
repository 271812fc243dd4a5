"""`rooftop run`: the apps under the run rules, into one result folder that can be resumed.

Each step is one program's run. Its JSON counts only if the program ended with 0 and the file is whole and of the
schema; the manifest is written anew, whole or not at all, before and after each step. So the folder is right at any
moment, whatever is killed, and the same command continues where it stopped.
"""
import argparse
import fcntl
import math
import os
import shlex
import shutil
import socket
import time
from typing import Optional

from .. import ENVIRONMENT, INVALID, USAGE, VALID, Fault, Interrupted, Json, aligned, cli, number, results
from ..cli import minutes, seconds
from ..results import Built, Folder, Program, Run, Step, Summary, disk
from . import machine, plan, programs, quiet, source
from .plan import Plan
from .progress import Line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    plan.add_arguments(parser)
    add_limits(parser)
    parser.add_argument('--into', metavar='DIR', help='result folder; a run that is there is resumed (default: a new one in '
                        './rooftop-results)')


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Adds the options that decide how the steps are carried out."""
    parser.epilog = 'Exit status: 0; 1 something is INVALID; 3 something could not be run, or no app has a figure of merit.'
    add = parser.add_argument
    add('--dry-run', action='store_true', help='list the steps that would run, with their memory and commands, and '
        'stop')
    add('--force', action='store_true', help='do not wait for other processes on this machine to end')
    add('--minutes', type=seconds, metavar='M', help='begin no step after so long; the same command continues')
    add('--limit', type=seconds, metavar='S', help='most seconds per step (default: two hours and its timing)')
    add('--grace', type=seconds, default=programs.GRACE, metavar='S', help='between asking a step to end and killing '
        f'it (default {programs.GRACE:g}: a launcher needs some for ranks on other machines)')
    programs.add_arguments(parser)


# ---- The folder ----

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


def begin(path: str, made: Plan) -> Folder:
    """Starts a run: its folder and manifest."""
    manifest = Run(
        schema=results.SCHEMA, kind='run', started=now(), finished=None, state='running', official=made.official,
        size=made.size, nonce=made.nonce, seed=disk.seed_of(made.nonce) if made.nonce else 1, source=source.judge(),
        launcher=made.launcher, ranks=made.ranks, settings=made.given, programs=programs_now(made),
        environment=machine.environment(), steps=made.steps(), summary={})
    folder = Folder(path, manifest)
    folder.save()
    return folder


def resume(path: str, options: Json) -> tuple[Folder, Plan]:
    """Opens a run that was begun, with more steps of `also`; refuses what would make its parts unlike."""
    def refuse(why: str) -> None:
        raise Fault(USAGE, f'{path} {why}: give another --into')

    folder = Folder.open(path)
    manifest = folder.manifest
    there = manifest.settings.get('also', {})
    more = {name: text for name, text in options.get('also', {}).items() if there.get(name) != text}
    for name, value in options.items():
        if name != 'also' and manifest.settings.get(name) != value:
            refuse(f'holds a run with other options (--{name.replace("_", "-")})')
    for name in more.keys() & there.keys():
        refuse(f'has {name} with other options')
    made, here = Plan({**manifest.settings, 'also': {**there, **more}}), machine.environment()
    for name in ('host', 'cpu', 'gpus'):
        if here[name] != manifest.environment.get(name):
            refuse(f'was begun on another machine ({name})')
    for app, program in programs_now(made).items():
        if app not in manifest.programs or program.sha256 != manifest.programs[app].sha256:
            refuse(f'was begun with another {app}')
    steps = made.base() + made.rest()
    if [step.command for step in folder.steps if not step.name.startswith('peak-')] != \
            [step.command for step in steps if step.name not in more]:
        refuse('holds a run with other steps')
    manifest.settings, manifest.steps = made.given, folder.steps + [step for step in steps if step.name in more]
    return folder, made


def open_folder(path: str, options: Json) -> tuple[Folder, Plan, int]:
    """Returns a folder, new or resumed, its plan, and the lock on it."""
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
        return begin(path, made), made, held
    except (Fault, OSError):
        os.close(held)
        shutil.rmtree(path) if new else disk.remove(os.path.join(path, '.lock'))
        raise


# ---- Running it ----

def run_step(folder: Folder, made: Plan, step: Step, args: argparse.Namespace, tick: programs.Tick) -> None:
    """Runs one step; its state and the manifest record the outcome."""
    step.state, step.exit, step.seconds, step.sha256, step.why = 'running', None, None, None, ''
    step.attempts += 1
    folder.save()
    at = step.command.index(made.programs[step.app])
    words = [folder.file(word) if name == '--picture' else word  # the program does not know the folder
             for name, word in zip(step.command[at:], step.command[at + 1:])]
    try:
        got = programs.measure(made.programs[step.app], words, folder.file(step.json), folder.file(step.output),
                               step.command[:at], made.ranks, made.nonce, args.limit or 7200 + made.seconds, tick, args.grace)
    except Interrupted:
        step.state = 'waiting'
        folder.save()
        raise
    step.state, step.exit, step.why = 'done' if got.result else 'failed', got.ended.exit, got.why
    step.seconds = round(got.ended.seconds, 3)
    step.sha256 = disk.sha256_of(folder.file(step.json)) if got.result else None
    folder.save()


def run_steps(folder: Folder, made: Plan, todo: list[Step], args: argparse.Namespace) -> None:
    """Runs these steps, and says how far they are."""
    count, line = len(folder.steps), Line()
    until = time.monotonic() + (math.inf if args.minutes is None else 60 * args.minutes)
    for i, step in enumerate(todo, count - len(todo) + 1):
        def tick(so_far: float, at: str = f'[{i}/{count}] {step.name}') -> None:
            line.tick(f'{at}  {so_far:.0f} s', so_far)

        if time.monotonic() > until:
            line.say(f'{count - i + 1} steps are left after {args.minutes:g} min: the same command continues')
            break
        tick(0)
        run_step(folder, made, step, args, tick)
        line.say(f'[{i}/{count}] {step.name}  {step.state}, {minutes(step.seconds or 0)}')
        if step.state == 'failed':
            quiet.tell(f'rooftop: {step.name}: {step.why} (see {folder.file(step.output)})')


def run_all(folder: Folder, made: Plan, args: argparse.Namespace) -> None:
    todo = [step for step in folder.steps if not folder.whole(step)]
    if len(todo) < len(folder.steps):
        quiet.tell(f'{folder.path}: {len(folder.steps) - len(todo)} of {len(folder.steps)} steps are done, '
                   f'{len(todo)} to go')
    if not todo:
        return
    seen = folder.manifest.environment
    seen['disturbed'] = sorted({*seen.get('disturbed', []), *quiet.wait(made.given.get('device'), args.force)})
    before = machine.ticks_now()
    run_steps(folder, made, todo, args)
    seen['stolen'] = max(round(machine.use_since(before).stolen, 4), seen.get('stolen', 0.0))


# ---- What came of it ----

def summary_of(result: Optional[Program], declared: str = '') -> Summary:
    if not result or not result.rungs:
        return Summary(fom=None, unit='flop/s', verdict=result.verdict if result else None, spread=None, rung=None,
                       declared=declared)
    rung = result.rungs[0]
    return Summary(fom=rung.fom_flop_per_s, unit='flop/s', verdict=result.verdict, spread=rung.spread, rung=rung.name,
                   precision=rung.precision, declared=declared)


def summarise(folder: Folder, made: Plan) -> None:
    """Fills the manifest's summary and peak."""
    run = folder.manifest
    run.summary = {app: summary_of(folder.result(app)) for app in made.apps if made.with_base}
    run.peak = {app: summary_of(folder.result(f'peak-{app}'), shlex.join(made.peak[app]))
                for app in made.apps if app in made.peak}


def rows_of(rows: dict[str, Summary], named: str = '') -> list[list[str]]:
    return [[app + named, row.rung or '-', f'{row.fom / 1e9:.2f} GFlop/s' if row.fom else '-',
             number(row.spread, '.1%'), row.verdict or 'no result',
             row.precision + (f' ({row.declared})' if row.declared else '')] for app, row in rows.items()]


def print_table(folder: Folder) -> None:
    run = folder.manifest
    heads = ['app', 'rung', 'FOM', 'spread', 'verdict', 'precision']
    rows = [*rows_of(run.summary), *rows_of(run.peak, ', peak')]
    print('\n'.join(aligned([heads, *rows], (0, 1, 4, 5)) if rows else ()))
    for step in run.steps:
        result = folder.result(step.name) if step.name in (step.app, f'peak-{step.app}') else None
        if result and result.verdict == 'UNSTEADY':
            print(f'unsteady: {step.name}: {"; ".join(result.rungs[0].disturbed)}')
    for step in run.steps:
        if step.state == 'failed':
            print(f'failed: {step.name}: {step.why}')
    if run.environment.get('stolen', 0) > quiet.STOLEN:
        print(f'the hypervisor took {100 * run.environment["stolen"]:.1f} % of the time of this run')
    official = 'official' if run.official else 'not official'
    print(f'size {run.size}, {official}' + (f', source {run.source.why}' if run.source.why else ''))


def status_of(run: Run) -> int:
    """Returns 0; 1: something is INVALID; 3: something could not be run, or no app has a figure of merit."""
    failed = [step for step in run.steps if step.state != 'done']
    if failed:
        return INVALID if any(step.exit in (0, 1) for step in failed) else ENVIRONMENT
    return VALID if not run.summary or any(row.fom for row in (*run.summary.values(), *run.peak.values())) else ENVIRONMENT


def list_steps(path: str, options: Json) -> int:
    """--dry-run: the steps that the same command without it would run."""
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
    new = f'{now().replace(":", "-")}-{socket.gethostname().split(".")[0]}'
    return carry_out(args.into or os.path.join('rooftop-results', new), plan.given(args), args)


def carry_out(path: str, options: Json, args: argparse.Namespace) -> int:
    """Runs what these options ask for into the folder, or what is left of it. args: those of add_limits."""
    if args.dry_run:
        return list_steps(path, options)
    folder = fill(path, options, args, f'rooftop run --into {shlex.quote(path)}')
    run = folder.manifest
    print_table(folder)
    if run.state == 'complete' and status_of(run) != VALID:
        cli.complain('no app has a figure of merit: run this again on a quiet machine')
    return status_of(run)


def fill(path: str, options: Json, args: argparse.Namespace, again: str) -> Folder:
    """Returns the folder with the steps that these options ask for. again: the command that continues."""
    folder, made, held = open_folder(path, options)
    run = folder.manifest
    hint = f'finished steps are kept: continue with {again}'
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
    return folder
