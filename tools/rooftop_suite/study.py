"""`rooftop study`: repeats the study of CRESTA D3.5.2 (auto-tuning Nekbone) with nekbone: runs, tables and plots.

Each run leaves one result in DIR/runs, whole or not at all, and is not repeated when the command is given again. The
report (DIR/report.md) is made from these files alone. docs/auto-tuning.md explains the parts and the noise.
"""
import argparse
import glob
import json
import os
import re
import shlex
import statistics
import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Optional, Union

from . import ENVIRONMENT, INVALID, USAGE, VALID, Fault, Interrupted, disk, programs, results
from .cli import count, counts, minutes, seconds
from .programs import Rung
from .results import Program

PARTS = ('default-tuned', 'isolated', 'cases', 'products', 'compile-time')
PRODUCTS = ('mxm1', 'mxm2', 'mxm3')
CASES = ('vector', 'batched')  # rungs whose products cover the mesh, so that each has a timer of its own
VERSIONS = ('loops', 'rows', 'rows-n', 'tiles-n')  # of a product: n passed in two, known to the compiler in two
LEAST_NOISE = 0.01  # clocks and throttling: a smaller difference is none
LEAST_PAIRS = 5  # of runs of the same choice, to estimate the difference that chance makes
LADDER = 'iteration'  # what the report's study is about
DEVICES = {'cpu': 'cpu', 'cuda': 'gpu'}  # Kokkos has one, for GPUs alone
FILE = re.compile(r'(cpu|gpu)-([\w-]+)-n(\d+)-e(\d+)-([\w-]+?)-(\d+)\.(json|refused)')


def orders(text: str) -> list[int]:
    values = counts(text)
    if values[0] < 2 or values[-1] > 24:
        raise ValueError
    return values


orders.__name__ = 'list of 2 .. 24'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add('--into', default='rooftop-study', metavar='DIR', help='results and report; runs that are there are not '
        'repeated (default rooftop-study)')
    add('--orders', type=orders, default=orders('8,10,12,14,16,18,20'), metavar='N,N..',
        help='points per direction: degree + 1 (default 8,10,..,20)')
    add('--elements', type=counts, default=counts('32,64,128,256,512,1024,2048'), metavar='E,E..',
        help='elements of all ranks (default 32,64,..,2048)')
    add('--device', choices=('cpu', 'gpu', 'both'), help='(default: every device that has rungs)')
    add('--rungs', metavar='NAME,..', help=f'only these (default: those of the ladder {LADDER} but the reference)')
    add('--threads', type=count, metavar='N', help='per rank (default: its cores)')
    add('--ranks', type=count, default=1, metavar='N', help='of MPI (default 1)')
    programs.add_launcher(parser)
    add('--seconds', type=seconds, default=0.3, metavar='S', help='of timing per run (default 0.3)')
    add('--tune-seconds', type=seconds, default=10.0, metavar='S',
        help='per search: one rung at one point (default 10)')
    add('--iterations', type=count, default=100, metavar='N', help='of CG per solve (default 100)')
    add('--repeats', type=count, default=3, metavar='N',
        help='of each timing, alternating between variants; the median counts (default 3)')
    add('--only', choices=PARTS, metavar='PART', help='of the study: ' + ', '.join(PARTS))
    add('--report', action='store_true', help='run nothing: tables and plots of the runs that are there')
    programs.add_arguments(parser)


# ---- What is to be run ----

class Key(NamedTuple):
    """A rung at a point (n, elements), with its default or a choice of parameters."""
    device: str
    rung: str
    n: int
    elements: int
    variant: str

    def file(self, repeat: int) -> str:
        return f'{self.device}-{self.rung}-n{self.n:02d}-e{self.elements:04d}-{self.variant}-{repeat}'


def has_products(rung: Rung) -> bool:
    """Returns whether a rung is made of three products with versions to choose from."""
    return all('dgemm' in rung.parameters.get(name, ()) for name in PRODUCTS)


def choose_rungs(args: argparse.Namespace, rungs: list[Rung]) -> dict[str, list[Rung]]:
    """Returns the rungs of the study by device."""
    names = args.rungs.split(',') if args.rungs else [rung.name for rung in rungs if rung.name != 'reference'
                                                      and rung.ladder in ('', LADDER)]
    for name in names:
        if name not in [rung.name for rung in rungs]:
            raise Fault(USAGE, f'--rungs {name}: there is no such rung; known: {", ".join(r.name for r in rungs)}')
    chosen = {device: [rung for rung in rungs if DEVICES.get(rung.kind) == device and rung.name in names]
              for device in ('cpu', 'gpu') if args.device in (None, 'both', device)}
    if args.device in ('gpu', 'both') and not any(not rung.absent for rung in chosen['gpu']):
        why = next((rung.absent for rung in chosen['gpu']), 'this nekbone has no rung for it')
        if args.device == 'gpu':
            raise Fault(ENVIRONMENT, f'--device gpu: {why}')
        print(f'no GPU: {why}')
    return {device: [rung for rung in found if not rung.absent] for device, found in chosen.items()}


def box(elements: int) -> str:
    """Returns the extents nearest to a cube."""
    sides = [(x, y, elements // x // y) for x in range(1, elements + 1) if elements % x == 0
             for y in range(1, elements // x + 1) if elements // x % y == 0]
    best = min((x * y + y * z + x * z, sorted((x, y, z), reverse=True)) for x, y, z in sides)
    return 'x'.join(map(str, best[1]))


class Job(NamedTuple):
    key: Key
    rung: Rung
    repeat: int


class Study:
    def __init__(self, args: argparse.Namespace, program: str, rungs: dict[str, list[Rung]]) -> None:
        self.args, self.program, self.rungs = args, program, rungs
        self.launcher = programs.launcher_words(args.launcher, args.ranks)
        self.folder = os.path.join(args.into, 'runs')
        self.made: dict[str, Program] = {}  # by file name

    def jobs(self) -> Iterator[Job]:
        """Yields small problems first; variants to be compared alternate."""
        for n, e in sorted(((n, e) for n in self.args.orders for e in self.args.elements), key=lambda p: p[0]**3 * p[1]):
            for repeat in range(self.args.repeats):
                for swapped in (False, True):  # which need the choices of other rungs
                    for device, rungs in self.rungs.items():
                        for rung in rungs:
                            for variant in self.variants(rung):
                                if (variant == 'swapped') == swapped:
                                    yield Job(Key(device, rung.name, n, e, variant), rung, repeat)

    def variants(self, rung: Rung) -> list[str]:
        parts = {self.args.only} if self.args.only else set(PARTS)
        names = []
        if 'default-tuned' in parts:
            names += (['dgemm'] if has_products(rung) else []) + ['own']
        if rung.parameters and parts & {'default-tuned', 'isolated', 'products'}:
            names.append('tuned')
        if rung.parameters and 'isolated' in parts:
            names.append('isolated')
        if 'cases' in parts and rung.name in CASES:
            names += ['dgemm' if version == 'dgemm' else f'set-{version}' if i else 'own'
                      for i, version in enumerate(rung.parameters[PRODUCTS[0]])]
        if 'products' in parts and self.other(rung):
            names.append('swapped')
        if 'compile-time' in parts:
            names += [f'set-{version}' for version in self.sizes(rung)]
        return list(dict.fromkeys(names))

    def product_rungs(self) -> list[Rung]:
        return [rung for rung in self.rungs.get('cpu', []) if has_products(rung)]

    def other(self, rung: Rung) -> Optional[Rung]:
        """Returns the other rung that is made of the three products."""
        rungs = self.product_rungs()
        return next((r for r in rungs if r.name != rung.name), None) if rung in rungs else None

    def sizes(self, rung: Rung) -> list[str]:
        """Returns the versions in which n is passed, or known at compile time."""
        if has_products(rung):
            if 'lines' in rung.parameters[PRODUCTS[0]]:  # on a GPU
                return ['lines', 'loops']
            first = rung in self.product_rungs()[:1]
            return [version for version in VERSIONS if first and version in rung.parameters[PRODUCTS[0]]]
        return [value for values in rung.parameters.values() if 'any-n' in values for value in values]

    def found(self, key: Key) -> Optional[dict[str, str]]:
        """Returns the choice of a search, or None if it was refused or is not there."""
        result = self.made.get(key.file(0))
        return result.rungs[0].choice if result else None

    def choice(self, job: Job) -> Optional[dict[str, str]]:
        """Returns {parameter: value}, empty for the program's own; None: there is nothing to run."""
        variant, other = job.key.variant, self.other(job.rung)
        if variant == 'own':
            return {}
        if variant in ('tuned', 'isolated'):
            return self.found(job.key)
        if variant == 'swapped' and other:
            tuned = job.key._replace(variant='tuned')
            theirs = self.found(tuned._replace(rung=other.name))
            return theirs if theirs != self.found(tuned) else None  # the same choice would be the same run
        value = variant.replace('set-', '')
        if has_products(job.rung):
            return {name: value for name in PRODUCTS}
        return {name: value for name, values in job.rung.parameters.items() if 'any-n' in values}

    def command(self, job: Job) -> Optional[list[str]]:
        """Returns the words of a run; None: there is nothing to run."""
        args, key = self.args, job.key
        words = [self.program, '--rung', key.rung, '--elements', box(key.elements), '--degree', str(key.n - 1),
                 '--iterations', str(args.iterations), '--seconds', str(args.seconds), '--quiet']
        words += ['--device', 'cpu'] if key.device == 'cpu' else []
        words += ['--threads', str(args.threads)] if args.threads else []
        if key.variant in ('tuned', 'isolated') and job.repeat == 0:
            words += ['--tune-seconds', str(args.tune_seconds), '--tuning',
                      os.path.join(args.into, f'{key.variant}.tuning')]
            return words + ['--isolated'] * (key.variant == 'isolated')
        choice = self.choice(job)
        if choice is None:
            return None
        words += ['--profile'] if key.rung in CASES else []
        chosen = ['--choose', ','.join(f'{k}={v}' for k, v in choice.items())] if choice else []
        return words + ['--no-tuning'] + chosen

    # -- running it --

    def run(self, job: Job) -> bool:
        """Runs a job, if there is anything to run; returns whether there was."""
        words = self.command(job)
        if words is None:
            return False
        name = job.key.file(job.repeat)
        path = os.path.join(self.folder, f'{name}.json')
        part = disk.part_of(path)
        try:
            ended = programs.run(programs.launched([*words, '--json', part], self.launcher, self.args.ranks))
            why = programs.reason(ended)
            if ended.exit == 4 or 'cannot run this problem' in why:
                disk.save_bytes(os.path.join(self.folder, f'{name}.refused'), why.encode())
            elif ended.exit in (VALID, INVALID) and os.path.exists(part):
                self.made[name] = results.load(part, Program)
                disk.settle(part, path)
            else:
                raise Fault(USAGE if ended.exit == USAGE else ENVIRONMENT, f'{why}: {shlex.join(words)}')
        finally:
            disk.remove(part)
        return True

    def weight(self, job: Job) -> float:
        """Returns about how many seconds a run takes: the time left is estimated from it."""
        search = job.key.variant in ('tuned', 'isolated') and job.repeat == 0
        timed: float = self.args.seconds + search * self.args.tune_seconds
        return 0.3 + 2e-6 * job.key.n**3 * job.key.elements + timed

    def run_all(self) -> None:
        disk.make_folder(self.folder)
        there = read_runs(self.args.into)
        self.made = {key.file(repeat): result for key, repeat, result in there if isinstance(result, Program)}
        done = {key.file(repeat) for key, repeat, _ in there}
        todo = [job for job in self.jobs() if job.key.file(job.repeat) not in done]
        left, spent, made, begin = sum(map(self.weight, todo)), 0.0, 0, time.monotonic()
        for i, job in enumerate(todo, 1):
            rate = (time.monotonic() - begin) / spent if spent else 1
            key = job.key
            print(f'{i}/{len(todo)}  {key.device} {key.rung} n={key.n} elements={key.elements} {key.variant}'
                  f'{f" again ({job.repeat})" if job.repeat else ""}; {minutes((left - spent) * rate)} left', flush=True)
            made += self.run(job)
            spent += self.weight(job)
        print(f'{made} runs made, {len(done)} were there')


def check_settings(args: argparse.Namespace) -> None:
    """Refuses to mix runs with different settings in one folder."""
    path = os.path.join(args.into, 'study.json')
    mine = {name: getattr(args, name) for name in ('iterations', 'threads', 'ranks')}
    disk.make_folder(args.into, USAGE)
    if not os.path.exists(path):
        return disk.save_bytes(path, (json.dumps(mine) + '\n').encode())
    theirs = disk.parse(path)
    for name, value in mine.items():
        if theirs.get(name) != value:
            raise Fault(USAGE, f'{args.into} has runs with --{name} {theirs.get(name) or "(none)"}: give the same, or '
                        'another --into')


# ---- What was measured ----

Outcome = Union[Program, str]  # a string: why the program refused
Point = tuple[int, int]  # n, elements
Side = tuple[str, str]  # rung, variant


def read_runs(folder: str) -> list[tuple[Key, int, Outcome]]:
    """Returns all whole runs of a folder: key, repeat, outcome."""
    found: list[tuple[Key, int, Outcome]] = []
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), 'runs', '*'))):
        name = FILE.fullmatch(os.path.basename(path))
        if not name:
            continue
        key = Key(name[1], name[2], int(name[3]), int(name[4]), name[5])
        try:
            with open(path, encoding='utf-8') as file:
                outcome: Outcome = file.read() if name[7] == 'refused' else results.load(path, Program)
            found.append((key, int(name[6]), outcome))
        except Fault as fault:
            print(f'{fault}: it does not count')
    return found


class Value(NamedTuple):
    """Median of the repeats: seconds per iteration, and its noise as a share."""
    seconds: float
    gflops: float
    noise: float


def value_of(repeats: list[Program]) -> Value:
    rungs = [result.rungs[0] for result in repeats]
    times = [rung.seconds_per_unit or 0.0 for rung in rungs]
    middle = statistics.median(times)
    spread = statistics.median(rung.spread or 0.0 for rung in rungs)
    return Value(middle, (rungs[0].credited_flop_per_unit or 0.0) / middle / 1e9,
                 max(spread / 2, (max(times) - min(times)) / 2 / middle))


def case_times(result: Program) -> list[float]:
    """Returns the seconds of one product of each case, by the timers of --profile; [] without them."""
    timers = {row.timer.rpartition('/')[2]: row for row in result.rungs[0].profile if row.calls}
    rows = [timers[name] for name in PRODUCTS if name in timers]
    return [row.seconds * result.ranks / row.calls for row in rows] if len(rows) == len(PRODUCTS) else []


class Compared(NamedTuple):
    """Time of the new variant over time of the old one, and the noise of that ratio."""
    ratio: float
    noise: float

    @property
    def gain(self) -> float:
        """In per cent of speed."""
        return 100 * (1 / self.ratio - 1)


class Measured:
    """All runs of a folder."""

    def __init__(self, runs: Iterable[tuple[Key, int, Outcome]]) -> None:
        self.refused: list[tuple[Key, str]] = []
        self.invalid: list[tuple[Key, str]] = []  # with the verdict
        groups: dict[Key, list[Program]] = {}
        for key, _, outcome in runs:
            if isinstance(outcome, str):
                self.refused.append((key, outcome))
            elif outcome.verdict not in results.RIGHT or not outcome.rungs[0].seconds_per_unit:
                self.invalid.append((key, outcome.verdict))
            else:
                groups.setdefault(key, []).append(outcome)
        self.groups = groups
        self.first = {key: group[0] for key, group in groups.items()}
        self.values = {key: value_of(group) for key, group in groups.items()}
        self.orders = sorted({key.n for key in groups})
        self.elements = sorted({key.elements for key in groups})
        self.devices = sorted({key.device for key in groups})
        self.pairs = {device: self.differences(device) for device in self.devices}

    def rungs(self, device: str, variant: str) -> list[str]:
        return sorted({key.rung for key in self.values if (key.device, key.variant) == (device, variant)})

    def rates(self, device: str, side: Side) -> dict[Point, float]:
        """Returns {(n, elements): GFlop/s}."""
        return {(key.n, key.elements): value.gflops for key, value in self.values.items()
                if (key.device, key.rung, key.variant) == (device, *side)}

    def both(self, device: str, new: Side, old: Side) -> dict[Point, tuple[Key, Key]]:
        """Returns the keys at the points where both were measured."""
        points = [(n, e) for e in self.elements for n in self.orders]
        pairs = {p: (Key(device, new[0], *p, new[1]), Key(device, old[0], *p, old[1])) for p in points}
        return {p: pair for p, pair in pairs.items() if all(key in self.values for key in pair)}

    def same(self, a: Key, b: Key) -> bool:
        """Returns whether both are the same rung with the same choice."""
        return a.rung == b.rung and self.first[a].rungs[0].choice == self.first[b].rungs[0].choice

    def differences(self, device: str) -> list[float]:
        """Returns by what share tuned and default differ where they are the same program: this is chance."""
        return [abs(self.values[a].seconds / self.values[b].seconds - 1) for rung in self.rungs(device, 'tuned')
                for a, b in self.both(device, (rung, 'tuned'), (rung, 'own')).values() if self.same(a, b)]

    def chance(self, device: str) -> float:
        """Returns two standard deviations of the difference of two runs, from its median; 0: not known."""
        pairs = self.pairs.get(device, [])
        return 2 * 1.4826 * statistics.median(pairs) if len(pairs) >= LEAST_PAIRS else 0.0

    def compared(self, device: str, new: Side, old: Side) -> dict[Point, Compared]:
        """Compares two variants at all points. The same choice of the same rung is the same program: its ratio is 1."""
        least = max(LEAST_NOISE, self.chance(device))
        found = {}
        for point, (a, b) in self.both(device, new, old).items():
            ratio = 1.0 if self.same(a, b) else self.values[a].seconds / self.values[b].seconds
            found[point] = Compared(ratio, max(self.values[a].noise + self.values[b].noise, least))
        return found

    def cases(self, device: str, rung: str) -> dict[str, dict[str, dict[Point, float]]]:
        """Returns {version: {mxm1, mxm2, mxm3 or mean: {(n, elements): GFlop/s}}} of the products alone, from runs with one
        version for all three, one after the other. The mean over the cases is the harmonic one."""
        found: dict[str, dict[str, dict[Point, float]]] = {}
        for key, group in self.groups.items():
            choice = group[0].rungs[0].choice
            versions = {choice.get(name, '') for name in PRODUCTS}
            times = [statistics.median(case) for case in zip(*map(case_times, group))]
            if (key.device, key.rung) == (device, rung) and len(versions) == 1 and choice.get('streams', '1') == '1' and times:
                rates = found.setdefault(versions.pop(), {name: {} for name in (*PRODUCTS, 'mean')})
                flops = 2e-9 * key.n**4 * key.elements
                for name, s in zip(rates, (*times, sum(times) / len(times))):
                    rates[name][key.n, key.elements] = flops / s
        return found

    def alone(self, device: str, rung: str, tuned: bool) -> dict[Point, float]:
        """Returns {(n, elements): GFlop/s} of the operator alone, from the searches with --isolated."""
        found = {}
        for key, result in self.first.items():
            rows = result.tuning.get('rungs', [])
            if (key.device, key.rung, key.variant) == (device, rung, 'isolated') and rows and 'seconds' in rows[0]:
                s = rows[0]['seconds'] * (1 if tuned else rows[0]['gain'])
                found[key.n, key.elements] = key.elements * key.n**3 * (12 * key.n + 19) / s / 1e9
        return found


def main(args: argparse.Namespace) -> int:
    from .study_report import Report
    try:
        if not args.report:
            program = programs.find('nekbone', args.bindir)
            rungs = choose_rungs(args, programs.rungs(program))
            check_settings(args)
            Study(args, program, rungs).run_all()
    except Interrupted as interrupted:
        interrupted.hint = 'finished runs are kept: the same command continues'
        raise
    measured = Measured(read_runs(args.into))
    if not measured.values and not measured.invalid:
        raise Fault(ENVIRONMENT, f'{args.into}: no results to report')
    return VALID if Report(measured, args.into).make() else INVALID
