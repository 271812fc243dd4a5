"""`rooftop run`: the apps under the run rules, into one result folder that can be gone on with.

Each step is one program's run. Its JSON counts only if the program ended with 0 and the file is whole, of the schema
and sealed; the manifest is written anew, whole or not at all, before and after each step. So whatever is killed, what
is in the folder is true, and the same command goes on where it stopped.
"""
import fcntl
import hashlib
import os
import shlex
import socket
import sys
import time

from . import (ENVIRONMENT, INVALID, USAGE, VALID, Fault, Interrupted, aggregate, doctor, machine, programs, results,
               source)
from .cli import count, seconds

OFFICIAL = {'windows': 5, 'window': 10.0, 'warm_up': 3.0}
DEFAULTS = {'windows': 5, 'seconds': 5.0, 'ladder_seconds': 0.3, 'ranks': 1, 'soak': 0.0}
PICTURES = {'alya-rhs': ['--cells', '120x100x28', '--steps', '40'],
            'gfnn-wave': ['--elements', '48x48x48', '--steps', '16']}
SHORTER = {'gfnn-wave': ['--steps', '1']}  # of ladders on CPUs: its reference solve is 24 times slower than the rung's
LEAST_FREE = 16 << 20  # bytes on disk: a folder has a few MB


def add_arguments(parser):
    add = parser.add_argument
    add('--size', choices=programs.SIZES, help='memory of a rank: see a program\'s --help (default: small with a GPU, '
        'tiny without)')
    add('--apps', metavar='APP,..', help='these alone (default: all four)')
    add('--official', action='store_true', default=None, help='under the rules for results that are published: '
        'warm-up of 3 s, windows of 10 s, all apps, size small or above')
    add('--seconds', type=seconds, metavar='S', help='of timing an app, in all windows (default 5)')
    add('--windows', type=count, metavar='N', help='timed windows, 5 or more (default 5)')
    add('--no-ladders', action='store_true', default=None, help='leave out the ladders and pictures')
    add('--ladder-size', choices=programs.SIZES, help='(default: with a GPU --size, and its rungs alone; else tiny)')
    add('--ladder-seconds', type=seconds, metavar='S', help='of timing each rung (default 0.3)')
    add('--soak', type=seconds, metavar='MINUTES', help='go on with the default rung of each app for so long, and say '
        'how it drifts')
    add('--nonce', metavar='TEXT', help='of the buyer: seeds all inputs and comes back in every result')
    add('--launcher', metavar='COMMAND', help="starts the ranks: 'srun -n {ranks}' (default with several: mpirun)")
    add('--ranks', type=count, metavar='N', help='of MPI (default 1)')
    add('--device', metavar='LIST', help='cpu, or GPU ordinals, as the programs take it')
    add('--threads', type=count, metavar='N', help='of a rank (default: its cores)')
    add('--into', metavar='DIR', help='result folder; a run that is in it is gone on with (default: a new one in '
        './rooftop-results)')
    add('--resume', action='store_true', help='go on with the newest run in ./rooftop-results that is not complete')
    add('--limit', type=seconds, metavar='S', help='most seconds of one step (default: by its timing and size)')
    add('--grace', type=seconds, default=programs.GRACE, metavar='S', help='between asking a step to end and killing '
        f'it (default {programs.GRACE:g}: a launcher needs some for ranks on other machines)')
    programs.add_arguments(parser)


# ---- What is to be run ----

GIVEN = ('size', 'apps', 'official', 'seconds', 'windows', 'no_ladders', 'ladder_size', 'ladder_seconds', 'soak',
         'nonce', 'launcher', 'ranks', 'device', 'threads', 'bindir')  # options that decide what is run


def given(args):
    """The options that the command line has, by name."""
    return {name: getattr(args, name) for name in GIVEN if getattr(args, name) is not None}


class Plan:
    """The options in force, and the steps they make."""

    def __init__(self, options):
        self.given = options
        get = lambda name: options.get(name, DEFAULTS.get(name))
        self.official = bool(options.get('official'))
        self.apps = options['apps'].split(',') if 'apps' in options else list(programs.APPS)
        self.programs = programs.find_all(self.apps, options.get('bindir'))
        self.gpu = self.has_gpu()
        self.size = options.get('size') or ('small' if self.gpu else 'tiny')
        self.ladder_size = options.get('ladder_size') or (self.size if self.gpu else 'tiny')
        self.windows, self.ladder_seconds, self.soak = get('windows'), get('ladder_seconds'), get('soak')
        self.seconds = OFFICIAL['window'] * self.windows if self.official else get('seconds')
        self.ranks, self.nonce = get('ranks'), options.get('nonce', '')
        self.launcher = shlex.split(options.get('launcher', ''))
        self.check()

    def has_gpu(self):
        device = self.given.get('device')
        return device != 'cpu' and any(rung.kind == 'cuda' and not rung.absent
                                       for program in self.programs.values() for rung in programs.rungs(program))

    def check(self):
        if len(set(self.apps)) != len(self.apps):
            raise Fault(USAGE, f'--apps {self.given["apps"]}: an app stands there twice')
        if self.windows < 5 or self.windows > 64:
            raise Fault(USAGE, f'--windows {self.windows}: the median is of 5 to 64')
        if self.seconds <= 0 or self.soak > 1440:
            raise Fault(USAGE, '--seconds must be above 0, and --soak at most a day')
        if self.launcher and self.ranks > 1 and not any('{ranks}' in word for word in self.launcher):
            raise Fault(USAGE, "--launcher: say where the number of ranks stands: 'srun -n {ranks}'")
        if self.official:
            for name, why in (('seconds', 'windows are of 10 s'), ('apps', 'all four are run')):
                if name in self.given:
                    raise Fault(USAGE, f'--official and --{name} exclude each other: {why}')
            if self.size == 'tiny':
                raise Fault(USAGE, '--official needs --size small or above: tiny is for tests')
        needed = {'--json'} | ({'--window', '--warm-up'} if self.official else set()) | \
            ({'--nonce'} if self.nonce else set())
        for program in self.programs.values():
            missing = sorted(needed - programs.options(program))
            if missing:
                raise Fault(ENVIRONMENT, f'{program} is too old for {", ".join(missing)}: build it again')

    def common(self):
        """Arguments of all steps."""
        words = []
        for name in ('nonce', 'device', 'threads'):
            words += [f'--{name}', str(self.given[name])] if name in self.given else []
        return words

    def timing(self):
        words = ['--seconds', f'{self.seconds:g}', '--windows', str(self.windows)]
        if self.official:
            words += ['--warm-up', f'{OFFICIAL["warm_up"]:g}', '--window', f'{OFFICIAL["window"]:g}']
        return words

    def steps(self):
        """All apps' measured runs first: should time run out, they are what counts."""
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

    def step(self, name, app, arguments):
        command = [self.programs[app], *arguments, *self.common()]
        return {'name': name, 'app': app, 'command': programs.launched(command, self.launcher, self.ranks),
                'state': 'waiting', 'exit': None, 'seconds': None, 'json': f'{name}.json', 'output': f'{name}.out',
                'sha256': None, 'why': ''}

    def guess(self, step):
        """Seconds a step takes, about: only their ratios count, for what is left is measured in steps done."""
        size = {'tiny': 1, 'small': 6, 'medium': 40, 'large': 200, 'full': 400}
        if step['name'].startswith('picture'):
            return 10
        if step['name'].startswith('ladder'):
            slow = 1 if self.gpu else {'gfnn-wave': 20, 'alya-rhs': 12, 'nekbone': 9}.get(step['app'], 1)
            return 10 * (self.ladder_seconds + 0.2) + slow + size[self.ladder_size]
        timed = 60 * self.soak if step['name'].startswith('soak') else self.seconds
        return 1.1 * timed + 2 * size[self.size] + (OFFICIAL['warm_up'] if self.official else 0)

    def limit(self, step):
        """A step that runs longer than this hangs."""
        return 300 + 20 * self.guess(step)


# ---- The folder ----

def new_place():
    stamp = time.strftime('%Y-%m-%dT%H-%M-%SZ', time.gmtime())
    return os.path.join('rooftop-results', f'{stamp}-{socket.gethostname().split(".")[0]}')


def newest_incomplete():
    root = 'rooftop-results'
    for name in sorted(os.listdir(root) if os.path.isdir(root) else (), reverse=True):
        path = os.path.join(root, name)
        if results.Folder.is_one(path) and results.Folder.open(path).manifest['state'] != 'complete':
            return path
    raise Fault(USAGE, '--resume: no run in ./rooftop-results that is not complete')


def now():
    return time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())


def lock(path):
    """Nobody else works on this folder, nor is anything of a run that was killed still ending there."""
    file = os.open(os.path.join(path, '.lock'), os.O_WRONLY | os.O_CREAT, 0o644)
    for second in range(60):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
        except BlockingIOError:
            if second == 0:
                print(f'{path}: waiting for the run that is at work there', file=sys.stderr, flush=True)
            time.sleep(1)
        except OSError:  # a file system without locks
            return file
    raise Fault(USAGE, f'{path}: another run is at work there')


def programs_now(plan):
    return {app: {'path': path, 'sha256': results.sha256_of(path), 'version': programs.version(path)}
            for app, path in plan.programs.items()}


def begin(path, options):
    """(folder, plan) of a run that starts."""
    plan = Plan(options)
    what, tier = source.judge()
    changes = source.diff() if what['diff_file'] else b''
    what['diff_sha256'] = hashlib.sha256(changes).hexdigest() if changes else None
    manifest = {
        'schema': results.SCHEMA, 'kind': 'run', 'started': now(), 'finished': None, 'state': 'running',
        'official': plan.official, 'size': plan.size, 'nonce': plan.nonce,
        'seed': results.seed_of(plan.nonce) if plan.nonce else 1, 'tier': tier, 'source': what,
        'launcher': plan.launcher, 'ranks': plan.ranks, 'settings': options, 'programs': programs_now(plan),
        'environment': machine.environment(), 'steps': plan.steps(), 'summary': {},
        'aggregate': {'value': None, 'why': 'the run is not complete'}}
    if what['diff_file']:
        results.save_bytes(os.path.join(path, what['diff_file']), changes)
    if plan.official:
        found = doctor.examine(options.get('bindir'), options.get('launcher'), max(2, plan.ranks))
        results.save(os.path.join(path, 'doctor.json'), {'schema': results.SCHEMA, 'kind': 'doctor', 'findings': found})
    return results.Folder.create(path, manifest), plan


def go_on(path, options):
    """(folder, plan) of a run that is there; what would make its parts unlike is refused."""
    folder = results.Folder.open(path)
    manifest = folder.manifest
    for name, value in options.items():
        if manifest['settings'].get(name) != value:
            raise Fault(USAGE, f'{path} holds a run with other options (--{name.replace("_", "-")}): give another '
                        '--into, or the same options')
    plan = Plan(manifest['settings'])
    here = machine.environment()
    for name in ('host', 'cpu', 'gpus'):
        if here[name] != manifest['environment'].get(name):
            raise Fault(USAGE, f'{path} was begun on another machine ({name}): give another --into')
    for app, program in programs_now(plan).items():
        if program['sha256'] != manifest['programs'][app]['sha256']:
            raise Fault(USAGE, f'{path} was begun with another {app}: give another --into')
    if [step['command'] for step in plan.steps()] != [step['command'] for step in folder.steps]:
        raise Fault(USAGE, f'{path} holds a run with other steps: give another --into')
    return folder, plan


def open_folder(args):
    options = given(args)
    if args.resume and args.into:
        raise Fault(USAGE, '--resume and --into exclude each other: --into alone goes on')
    path = newest_incomplete() if args.resume else args.into or new_place()
    there = results.Folder.is_one(path)
    if not there and os.path.isdir(path) and [name for name in os.listdir(path) if name != '.lock']:
        raise Fault(USAGE, f'--into {path}: a folder with other things in it')
    if not there:
        Plan(options)  # nothing is made for a run that is refused
    try:
        os.makedirs(path, exist_ok=True)
        free = os.statvfs(path)
    except OSError as error:
        raise Fault(ENVIRONMENT, f'{path}: {error.strerror}') from None
    if free.f_bavail * free.f_frsize < LEAST_FREE:
        raise Fault(ENVIRONMENT, f'{path}: the disk is full: less than {LEAST_FREE >> 20} MiB free')
    held = lock(path)
    return (go_on if there else begin)(path, options) + (held,)


# ---- Running it ----

def minutes(s):
    return f'{s:.0f} s' if s < 120 else f'{s / 60:.0f} min' if s < 7200 else f'{s / 3600:.1f} h'


class Progress:
    """One line on stderr: the step, and how long all that are left will take."""

    def __init__(self, plan, todo):
        self.plan, self.todo, self.done = plan, list(todo), 0.0
        self.spent, self.live = 0.0, sys.stderr.isatty()

    def rate(self):
        return self.spent / self.done if self.done else 1

    def show(self, step, so_far, end=False):
        left = sum(map(self.plan.guess, self.todo)) * self.rate()
        left += max(0.0, self.plan.guess(step) * self.rate() - so_far)
        if self.live:
            print(f'\r\x1b[K{step["name"]}: {so_far:.0f} s; {minutes(left)} left', end='\n' if end else '',
                  file=sys.stderr, flush=True)
        elif so_far == 0:
            print(f'{step["name"]}; {minutes(left)} left', file=sys.stderr, flush=True)

    def finish(self, step, took):
        self.done += self.plan.guess(step)
        self.spent += took
        if self.live:
            print('\r\x1b[K', end='', file=sys.stderr, flush=True)


def run_step(folder, plan, step, args, tick):
    """One step; its state and the manifest say what came of it."""
    step.update(state='running', exit=None, seconds=None, sha256=None, why='')
    folder.save()
    at = step['command'].index(plan.programs[step['app']])
    arguments = list(step['command'][at + 1:])
    if '--picture' in arguments:  # the program does not know the folder
        picture = arguments.index('--picture') + 1
        arguments[picture] = folder.file(arguments[picture])
    try:
        got = programs.measure(plan.programs[step['app']], arguments, folder.file(step['json']),
                               folder.file(step['output']), step['command'][:at], plan.ranks, plan.nonce,
                               args.limit or plan.limit(step), tick, grace=args.grace)
    except Interrupted:
        step['state'] = 'waiting'
        folder.save()
        raise
    step.update(state='done' if got.result else 'failed', exit=got.ended.exit, seconds=round(got.ended.seconds, 3),
                sha256=results.sha256_of(folder.file(step['json'])) if got.result else None, why=got.why)
    folder.save()


def run_all(folder, plan, args):
    todo = [step for step in folder.steps if not folder.whole(step)]
    there = len(folder.steps) - len(todo)
    if there:
        print(f'{folder.path}: {there} of {len(folder.steps)} steps are there, {len(todo)} to go', file=sys.stderr)
    progress = Progress(plan, todo)
    for step in todo:
        progress.todo.remove(step)
        progress.show(step, 0)
        run_step(folder, plan, step, args, lambda so_far, step=step: progress.show(step, so_far))
        progress.finish(step, step['seconds'])
        if step['state'] == 'failed':
            print(f'rooftop: {step["name"]}: {step["why"]} (see {folder.file(step["output"])})', file=sys.stderr)


# ---- What came of it ----

def drift(result):
    """(last tenth of the windows to their first tenth, as a share of time; spread) of a soak."""
    windows = result['rungs'][0]['window_seconds']
    tenth = max(1, len(windows) // 10)
    first, last = sorted(windows[:tenth]), sorted(windows[-tenth:])
    return last[len(last) // 2] / first[len(first) // 2] - 1, (max(windows) - min(windows)) / min(windows)


def summarise(folder, plan):
    """Fills the manifest's summary, aggregate and soak."""
    manifest = folder.manifest
    for app in plan.apps:
        result = folder.app(app)
        rung = result['rungs'][0] if result and result['rungs'] else {}
        manifest['summary'][app] = {'fom': rung.get('fom_flop_per_s'), 'unit': 'flop/s',
                                    'valid': bool(result) and result['verdict'] == 'VALID',
                                    'spread': rung.get('spread'), 'rung': rung.get('name')}
    manifest['aggregate'] = aggregate.of(manifest)
    if plan.soak:
        soaks = {app: folder.result(f'soak-{app}') for app in plan.apps}
        manifest['soak'] = {app: dict(zip(('drift', 'spread'), drift(soak))) for app, soak in soaks.items() if soak}


def print_table(folder):
    manifest = folder.manifest
    print(f'{"app":12}{"rung":16}{"FOM":>16}  {"spread":>8}  verdict')
    for app, row in manifest['summary'].items():
        fom = f'{row["fom"] / 1e9:.2f} GFlop/s' if row['fom'] else '-'
        spread = f'{100 * row["spread"]:.1f} %' if row['spread'] is not None else '-'
        flag = ' (spread above 3 %)' if row['spread'] and row['spread'] > 0.03 else ''
        verdict = 'VALID' if row['valid'] else 'no result'
        print(f'{app:12}{row["rung"] or "-":16}{fom:>16}  {spread:>8}  {verdict}{flag}')
    for app, soak in manifest.get('soak', {}).items():
        print(f'soak: {app}: {100 * soak["drift"]:+.1f} % time a unit from the first windows to the last')
    for step in folder.steps:
        if step['state'] == 'failed':
            print(f'failed: {step["name"]}: {step["why"]}')
    total = manifest['aggregate']
    print(f'aggregate: {total["value"]:.3f} of {total["reference"]}' if total['value'] is not None else
          f'aggregate: none, {total["why"]}')
    official = 'official' if manifest['official'] else 'not official'
    print(f'size {manifest["size"]}, {official}, tier {manifest["tier"]}' +
          (f' ({manifest["source"]["why"]})' if manifest['source'].get('why') else ''))


def status_of(folder):
    """0: all valid; 1: something is INVALID; 3: something could not be run."""
    failed = [step for step in folder.steps if step['state'] != 'done']
    if not failed:
        return VALID
    wrong = any(step['exit'] in (0, 1) for step in failed)
    return INVALID if wrong else ENVIRONMENT


def main(args):
    folder, plan, held = open_folder(args)
    hint = f'what is done is kept: rooftop run --into {shlex.quote(folder.path)} goes on'
    try:
        folder.manifest['state'] = 'running'
        print(f'results go to {folder.path}', file=sys.stderr, flush=True)
        run_all(folder, plan, args)
        summarise(folder, plan)
        folder.manifest.update(state='complete' if status_of(folder) == VALID else 'running', finished=now())
        folder.save()
    except Fault as fault:
        raise Fault(fault.status, f'{fault}; {hint}') from None
    except Interrupted as interrupted:
        interrupted.hint = hint
        raise
    finally:
        os.close(held)
    print_table(folder)
    return status_of(folder)
