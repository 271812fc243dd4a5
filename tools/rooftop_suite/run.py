"""`rooftop run`: the apps under the run rules, into one result folder that can be resumed.

Each step is one program's run. Its JSON counts only if the program ended with 0 and the file is whole, of the schema
and sealed; the manifest is written anew, whole or not at all, before and after each step. So the folder is right at any
moment, whatever is killed, and the same command continues where it stopped.
"""
import argparse
import fcntl
import functools
import hashlib
import os
import shlex
import socket
import sys
import time
from collections.abc import Iterable
from typing import Any, NamedTuple, Optional

from . import (ENVIRONMENT, INVALID, USAGE, VALID, Fault, Interrupted, Json, aggregate, doctor, machine, programs,
               results, source)
from .cli import count, minutes, seconds
from .results import Aggregate, Folder, Program, ProgramFile, Run, Soak, Step, Summary


class Official(NamedTuple):
    windows: int = 5
    window: float = 10.0
    warm_up: float = 3.0


OFFICIAL = Official()
DEFAULTS = {'windows': 5, 'seconds': 5.0, 'ladder_seconds': 0.3, 'ranks': 1, 'soak': 0.0}
PICTURES = {'gfnn-wave': ['--elements', '48x48x48', '--frequency', '5000', '--steps', '14']}
SHORTER = {'gfnn-wave': ['--steps', '1']}  # of ladders on CPUs: its reference solve is 24 times slower than the rung's
LEAST_FREE = 16 << 20  # bytes on disk: a folder has a few MB


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add('--size', choices=results.SIZES, help='memory per rank: see a program\'s --help (default: small with a GPU, '
        'tiny without)')
    add('--apps', metavar='APP,..', help='only these (default: all four)')
    add('--official', action='store_true', default=None, help='under the rules for results that are published: '
        'warm-up of 3 s, windows of 10 s, all apps, size small or above')
    add('--seconds', type=seconds, metavar='S', help='of timing per app, in all windows (default 5)')
    add('--windows', type=count, metavar='N', help='timed windows, 5 or more (default 5)')
    add('--no-ladders', action='store_true', default=None, help='leave out the ladders and pictures')
    add('--ladder-size', choices=results.SIZES, help='(default: with a GPU --size, and only its rungs; else tiny)')
    add('--ladder-seconds', type=seconds, metavar='S', help='of timing per rung (default 0.3)')
    add('--soak', type=seconds, metavar='MINUTES', help="run each app's default rung for this long, and report how it "
        'drifts')
    add('--nonce', metavar='TEXT', help='a word from the buyer: it seeds all inputs and is recorded in every result')
    programs.add_launcher(parser)
    add('--ranks', type=count, metavar='N', help='of MPI (default 1)')
    add('--device', metavar='LIST', help='cpu, or GPU ordinals, as the programs take it')
    add('--threads', type=count, metavar='N', help='per rank (default: its cores)')
    add('--into', metavar='DIR', help='result folder; a run that is there is resumed (default: a new one in '
        './rooftop-results)')
    add('--resume', action='store_true', help='resume the newest run in ./rooftop-results that is not complete')
    add('--limit', type=seconds, metavar='S', help='most seconds per step (default: by its timing and size)')
    add('--grace', type=seconds, default=programs.GRACE, metavar='S', help='between asking a step to end and killing '
        f'it (default {programs.GRACE:g}: a launcher needs some for ranks on other machines)')
    programs.add_arguments(parser)


# ---- What is to be run ----

GIVEN = ('size', 'apps', 'official', 'seconds', 'windows', 'no_ladders', 'ladder_size', 'ladder_seconds', 'soak',
         'nonce', 'launcher', 'ranks', 'device', 'threads', 'bindir')  # options that decide what is run


def given(args: argparse.Namespace) -> Json:
    """Returns the options on the command line, by name."""
    return {name: getattr(args, name) for name in GIVEN if getattr(args, name) is not None}


class Plan:
    """The options in force, and the steps they make."""

    def __init__(self, options: Json) -> None:
        def get(name: str) -> Any:
            return options.get(name, DEFAULTS.get(name))

        self.given = options
        self.official = bool(options.get('official'))
        self.apps: list[str] = options['apps'].split(',') if 'apps' in options else list(results.APPS)
        self.programs = {app: programs.find(app, options.get('bindir')) for app in self.apps}
        self.gpu = self.has_gpu()
        self.size: str = options.get('size') or ('small' if self.gpu else 'tiny')
        self.ladder_size: str = options.get('ladder_size') or (self.size if self.gpu else 'tiny')
        self.windows: int = get('windows')
        self.ladder_seconds: float = get('ladder_seconds')
        self.soak: float = get('soak')
        self.seconds: float = OFFICIAL.window * self.windows if self.official else get('seconds')
        self.ranks: int = get('ranks')
        self.nonce: str = options.get('nonce', '')
        self.launcher = programs.launcher_words(options.get('launcher'), self.ranks)
        self.check()

    def has_gpu(self) -> bool:
        device = self.given.get('device')
        return device != 'cpu' and any(rung.kind == 'cuda' and not rung.absent
                                       for program in self.programs.values() for rung in programs.rungs(program))

    def check(self) -> None:
        if len(set(self.apps)) != len(self.apps):
            raise Fault(USAGE, f'--apps {self.given["apps"]}: an app is listed twice')
        if not self.nonce.isprintable():
            raise Fault(USAGE, f"--nonce '{self.nonce}': give it letters and digits")
        if self.windows < 5 or self.windows > 64:
            raise Fault(USAGE, f'--windows {self.windows}: the median is of 5 to 64')
        if self.seconds <= 0 or self.soak > 1440:
            raise Fault(USAGE, '--seconds must be above 0, and --soak at most a day')
        if self.official:
            for name, why in (('seconds', 'windows are of 10 s'), ('apps', 'all four are run')):
                if name in self.given:
                    raise Fault(USAGE, f'--official and --{name} exclude each other: {why}')
            for name in machine.FOREIGN:
                if os.environ.get(name):
                    raise Fault(USAGE, f'--official and {name}={os.environ[name]} exclude each other: unset it')
            if self.size == 'tiny':
                raise Fault(USAGE, '--official needs --size small or above: tiny is for tests')
        needed = {'--json'} | ({'--window', '--warm-up'} if self.official else set()) | \
            ({'--nonce'} if self.nonce else set())
        for program in self.programs.values():
            missing = sorted(needed - programs.options(program))
            if missing:
                raise Fault(ENVIRONMENT, f'{program} is too old for {", ".join(missing)}: build it again')

    def common(self) -> list[str]:
        """Returns the arguments of all steps."""
        words = []
        for name in ('nonce', 'device', 'threads'):
            words += [f'--{name}', str(self.given[name])] if name in self.given else []
        return words

    def timing(self) -> list[str]:
        words = ['--seconds', f'{self.seconds:g}', '--windows', str(self.windows)]
        if self.official:
            words += ['--warm-up', f'{OFFICIAL.warm_up:g}', '--window', f'{OFFICIAL.window:g}']
        return words

    def steps(self) -> list[Step]:
        """Returns the steps, all measured runs first: if time runs out, they are what counts."""
        steps = [self.step(app, app, ['--size', self.size] + self.timing()) for app in self.apps]
        if self.soak:
            steps += [self.step(f'soak-{app}', app, ['--size', self.size, '--seconds', f'{60 * self.soak:g}',
                                                     '--windows', '64']) for app in self.apps]
        if not self.given.get('no_ladders'):
            for app in self.apps:
                less = ['--only', 'gpu'] if self.gpu else SHORTER.get(app, [])
                words = ['--ladder', *less, '--size', self.ladder_size, '--seconds', f'{self.ladder_seconds:g}']
                steps.append(self.step(f'ladder-{app}', app, words))
            steps += [self.step(f'picture-{app}', app, PICTURES[app] + [
                '--seconds', '0', '--picture', f'{app}-picture.png']) for app in self.apps if app in PICTURES]
        return steps

    def step(self, name: str, app: str, arguments: list[str]) -> Step:
        command = [self.programs[app], *arguments, *self.common()]
        return Step.from_json({
            'name': name, 'app': app, 'command': programs.launched(command, self.launcher, self.ranks),
            'state': 'waiting', 'exit': None, 'seconds': None, 'json': f'{name}.json', 'output': f'{name}.out',
            'sha256': None, 'why': '', 'attempts': 0})

    def guess(self, step: Step) -> float:
        """Returns about how many seconds a step takes. Only the ratios count: the time left is scaled by the steps
        that are done."""
        size = {'tiny': 1, 'small': 6, 'medium': 40, 'large': 200, 'full': 400}
        if step.name.startswith('picture'):
            return 10
        if step.name.startswith('ladder'):
            slow = 1 if self.gpu else {'gfnn-wave': 20, 'alya-rhs': 12, 'nekbone': 9}.get(step.app, 1)
            return 10 * (self.ladder_seconds + 0.2) + slow + size[self.ladder_size]
        timed = 60 * self.soak if step.name.startswith('soak') else self.seconds
        return 1.1 * timed + 2 * size[self.size] + (OFFICIAL.warm_up if self.official else 0)

    def limit(self, step: Step) -> float:
        """Returns the seconds after which a step is taken to hang."""
        return 300 + 20 * self.guess(step)


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
    """Returns an open file that keeps other runs off this folder. Waits for a run that was killed and is still
    ending."""
    file = os.open(os.path.join(path, '.lock'), os.O_WRONLY | os.O_CREAT, 0o644)
    for second in range(60):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
        except BlockingIOError:
            if second == 0:
                print(f'{path}: waiting for the run that is using this folder', file=sys.stderr, flush=True)
            time.sleep(1)
        except OSError:  # a file system without locks
            return file
    raise Fault(USAGE, f'{path}: another run is using this folder')


def programs_now(plan: Plan) -> dict[str, ProgramFile]:
    return {app: ProgramFile(path, results.sha256_of(path), dict(programs.version(path)))
            for app, path in plan.programs.items()}


def begin(path: str, options: Json) -> tuple[Folder, Plan]:
    """Starts a run: its folder and its plan."""
    plan = Plan(options)
    what, tier = source.judge()
    if what.diff_file:
        changes = source.diff()
        what.diff_sha256 = hashlib.sha256(changes).hexdigest()
        results.save_bytes(os.path.join(path, what.diff_file), changes)
    manifest = Run.from_json({
        'schema': results.SCHEMA, 'kind': 'run', 'started': now(), 'finished': None, 'state': 'running',
        'official': plan.official, 'size': plan.size, 'nonce': plan.nonce,
        'seed': results.seed_of(plan.nonce) if plan.nonce else 1, 'tier': tier, 'source': what.to_json(),
        'launcher': plan.launcher, 'ranks': plan.ranks, 'settings': options, 'programs': results.plain(programs_now(plan)),
        'environment': machine.environment(), 'steps': results.plain(plan.steps()), 'summary': {},
        'aggregate': Aggregate(None, 'the run is not complete').to_json(), 'seal': results.ZEROS})
    if plan.official:
        found = doctor.examine(options.get('bindir'), options.get('launcher'), max(2, plan.ranks))
        results.save(os.path.join(path, 'doctor.json'), {'schema': results.SCHEMA, 'kind': 'doctor',
                                                         'findings': [row._asdict() for row in found]})
    return Folder.create(path, manifest), plan


def resume(path: str, options: Json) -> tuple[Folder, Plan]:
    """Opens a run that was begun; refuses what would make its parts unlike."""
    folder = Folder.open(path)
    manifest = folder.manifest
    for name, value in options.items():
        if manifest.settings.get(name) != value:
            raise Fault(USAGE, f'{path} holds a run with other options (--{name.replace("_", "-")}): give another '
                        '--into, or the same options')
    plan = Plan(manifest.settings)
    here = machine.environment()
    for name in ('host', 'cpu', 'gpus'):
        if here[name] != manifest.environment.get(name):
            raise Fault(USAGE, f'{path} was begun on another machine ({name}): give another --into')
    for app, program in programs_now(plan).items():
        if app not in manifest.programs or program.sha256 != manifest.programs[app].sha256:
            raise Fault(USAGE, f'{path} was begun with another {app}: give another --into')
    if [step.command for step in plan.steps()] != [step.command for step in folder.steps]:
        raise Fault(USAGE, f'{path} holds a run with other steps: give another --into')
    return folder, plan


def open_folder(args: argparse.Namespace) -> tuple[Folder, Plan, int]:
    options = given(args)
    if args.resume and args.into:
        raise Fault(USAGE, '--resume and --into exclude each other: --into alone resumes')
    path = newest_incomplete() if args.resume else args.into or new_place()
    there = Folder.is_one(path)
    if not there and os.path.isdir(path) and [name for name in os.listdir(path) if name != '.lock']:
        raise Fault(USAGE, f'--into {path}: a folder with other things in it')
    if not there:
        Plan(options)  # a run that is refused makes no folder
    results.make_folder(path)
    free = os.statvfs(path)
    if free.f_bavail * free.f_frsize < LEAST_FREE:
        raise Fault(ENVIRONMENT, f'{path}: the disk is full: less than {LEAST_FREE >> 20} MiB free')
    held = lock(path)
    return (*(resume if there else begin)(path, options), held)


# ---- Running it ----

class Progress:
    """One line on stderr: the step, and how long all remaining steps will take."""

    def __init__(self, plan: Plan, todo: Iterable[Step]) -> None:
        self.plan, self.todo, self.done = plan, list(todo), 0.0
        self.spent, self.live = 0.0, sys.stderr.isatty()

    def rate(self) -> float:
        return self.spent / self.done if self.done else 1

    def show(self, step: Step, so_far: float) -> None:
        left = sum(map(self.plan.guess, self.todo)) * self.rate()
        left += max(0.0, self.plan.guess(step) * self.rate() - so_far)
        if self.live:
            print(f'\r\x1b[K{step.name}: {so_far:.0f} s; {minutes(left)} left', end='', file=sys.stderr, flush=True)
        elif so_far == 0:
            print(f'{step.name}; {minutes(left)} left', file=sys.stderr, flush=True)

    def finish(self, step: Step) -> None:
        self.done += self.plan.guess(step)
        self.spent += step.seconds or 0.0
        if self.live:
            print('\r\x1b[K', end='', file=sys.stderr, flush=True)


def run_step(folder: Folder, plan: Plan, step: Step, args: argparse.Namespace, tick: programs.Tick) -> None:
    """Runs one step; its state and the manifest record the outcome."""
    step.state, step.exit, step.seconds, step.sha256, step.why = 'running', None, None, None, ''
    step.attempts += 1
    folder.save()
    at = step.command.index(plan.programs[step.app])
    arguments = list(step.command[at + 1:])
    if '--picture' in arguments:  # the program does not know the folder
        picture = arguments.index('--picture') + 1
        arguments[picture] = folder.file(arguments[picture])
    try:
        got = programs.measure(plan.programs[step.app], arguments, folder.file(step.json),
                               folder.file(step.output), step.command[:at], plan.ranks, plan.nonce,
                               args.limit or plan.limit(step), tick, args.grace)
    except Interrupted:
        step.state = 'waiting'
        folder.save()
        raise
    step.state, step.exit, step.why = 'done' if got.result else 'failed', got.ended.exit, got.why
    step.seconds = round(got.ended.seconds, 3)
    step.sha256 = results.sha256_of(folder.file(step.json)) if got.result else None
    folder.save()


def run_all(folder: Folder, plan: Plan, args: argparse.Namespace) -> None:
    todo = [step for step in folder.steps if not folder.whole(step)]
    there = len(folder.steps) - len(todo)
    if there:
        print(f'{folder.path}: {there} of {len(folder.steps)} steps are done, {len(todo)} to go', file=sys.stderr)
    progress = Progress(plan, todo)
    for step in todo:
        progress.todo.remove(step)
        progress.show(step, 0)
        run_step(folder, plan, step, args, functools.partial(progress.show, step))
        progress.finish(step)
        if step.state == 'failed':
            print(f'rooftop: {step.name}: {step.why} (see {folder.file(step.output)})', file=sys.stderr)


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
                   spread=rung.spread if rung else None, rung=rung.name if rung else None)


def summarise(folder: Folder, plan: Plan) -> None:
    """Fills the manifest's summary, aggregate and soak."""
    manifest = folder.manifest
    manifest.summary = {app: summary_of(folder.result(app)) for app in plan.apps}
    manifest.aggregate = aggregate.of(manifest)
    for app in plan.apps if plan.soak else ():
        soak = folder.result(f'soak-{app}')
        if soak:
            manifest.soak[app] = soak_of(soak.rungs[0].window_seconds or [1.0])


def print_table(run: Run) -> None:
    print(f'{"app":12}{"rung":16}{"FOM":>16}  {"spread":>8}  verdict')
    for app, row in run.summary.items():
        fom = f'{row.fom / 1e9:.2f} GFlop/s' if row.fom else '-'
        spread = f'{100 * row.spread:.1f} %' if row.spread is not None else '-'
        print(f'{app:12}{row.rung or "-":16}{fom:>16}  {spread:>8}  {row.verdict or "no result"}')
    for app, soak in run.soak.items():
        print(f'soak: {app}: {100 * soak.drift:+.1f} % time per unit from the first windows to the last')
    for step in run.steps:
        if step.state == 'failed':
            print(f'failed: {step.name}: {step.why}')
    total = run.aggregate
    print(f'aggregate: {total.value:.3f} of {total.reference}' if total.value is not None else
          f'aggregate: none, {total.why}')
    official = 'official' if run.official else 'not official'
    print(f'size {run.size}, {official}, tier {run.tier}' + (f' ({run.source.why})' if run.source.why else ''))


def status_of(run: Run) -> int:
    """Returns 0: all valid; 1: something is INVALID; 3: something could not be run."""
    failed = [step for step in run.steps if step.state != 'done']
    if not failed:
        return VALID
    return INVALID if any(step.exit in (0, 1) for step in failed) else ENVIRONMENT


def main(args: argparse.Namespace) -> int:
    folder, plan, held = open_folder(args)
    run = folder.manifest
    hint = f'finished steps are kept: continue with rooftop run --into {shlex.quote(folder.path)}'
    try:
        run.state = 'running'
        print(f'results go to {folder.path}', file=sys.stderr, flush=True)
        run_all(folder, plan, args)
        summarise(folder, plan)
        run.state, run.finished = 'complete' if status_of(run) == VALID else 'running', now()
        folder.save()
    except Fault as fault:
        raise Fault(fault.status, f'{fault}; {hint}') from None
    except Interrupted as interrupted:
        interrupted.hint = hint
        raise
    finally:
        os.close(held)
    print_table(run)
    return status_of(run)
