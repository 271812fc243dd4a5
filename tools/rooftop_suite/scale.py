"""`rooftop scale`: an app over ranks (a GPU each, where there are GPUs), strong and weak.

Strong: the problem of one rank, at the size given, on more and more ranks; efficiency = t(1) / (p t(p)). nekbone's has
a few elements less where boxes of all these ranks would not divide them. Weak: that size on every rank; efficiency =
FOM(p) / (p FOM(1)), for the shapes that fit p ranks are not exactly p times as large. The first number of ranks takes
the part of 1, if it is larger. Exposed communication is the share of a profiled solve that ranks, on average, spend in
the timers of messages: what work inside did not hide. It is of one solve with the timers on, and so a little too large.
Results are kept as in `rooftop run`: what is there is not run again.
"""
import math
import os
import re
import shlex
import sys

from . import ENVIRONMENT, INVALID, USAGE, VALID, Fault, machine, programs, results
from .cli import counts, seconds
from .run import lock, minutes

EXTENTS = {'nekbone': ('elements', 'degree'), 'alya-rhs': ('cells',), 'fun3d-mcpi': ('surface', 'layers'),
           'gfnn-wave': ('elements',)}  # options that --size chooses
MESSAGES = ('halo', 'gather-scatter', 'allreduce')  # timers of the programs


def add_arguments(parser):
    add = parser.add_argument
    add('app', metavar='APP', help=', '.join(programs.APPS))
    add('--ranks', type=counts, metavar='N,N..', help='(default: 1, 2, 4 .. up to the GPUs, or the cores)')
    add('--strong', action='store_true', help='strong scaling alone')
    add('--weak', action='store_true', help='weak scaling alone')
    add('--size', choices=programs.SIZES, default='tiny', help='of the problem of one rank (default tiny)')
    add('--seconds', type=seconds, default=2.0, metavar='S', help='of timing a run (default 2)')
    add('--launcher', metavar='COMMAND', help="starts the ranks: 'srun -n {ranks}' (default: mpirun)")
    add('--device', metavar='LIST', help='cpu, or GPU ordinals')
    add('--threads', type=int, metavar='N', help='of a rank (default: its part of the cores when the most ranks run, '
        'so that a rank has the same in all runs; with --launcher, its cores)')
    add('--nonce', metavar='TEXT', help='of the buyer')
    add('--into', metavar='DIR', default='.', help='for scale-APP.json and the runs it is made of (default .)')
    add('--limit', type=seconds, default=1800.0, metavar='S', help='most seconds of a run (default 1800)')
    programs.add_arguments(parser)


def default_ranks():
    most = len(machine.gpus()) or len(os.sched_getaffinity(0))
    return [1 << i for i in range(most.bit_length()) if 1 << i <= most]


def divisor(ranks):
    """What all extents of a box are to be multiples of, so that each of these numbers of ranks has a box that divides
    it: the prime factors of a number of ranks, shared out evenly over three directions."""
    needed = {}
    for number in ranks:
        factor, rest = 2, number
        while rest > 1:
            power = 0
            while rest % factor == 0:
                rest, power = rest // factor, power + 1
            needed[factor] = max(needed.get(factor, 0), -(-power // 3))
            factor += 1
    return math.prod(factor ** power for factor, power in needed.items())


def divided(extents, by):
    """'7x9x4' as multiples of `by`, the nearest below."""
    return 'x'.join(str(max(int(extent) // by, 1) * by) for extent in extents.split('x'))


def exposed_share(text, ranks):
    """Of --profile's table: time in timers of messages over that of the whole solve; None: no table, or none of
    these though there are several ranks (nekbone on GPUs of one host: a kernel sends, adds and takes)."""
    rows = re.findall(r'^ *([\w -]+?) +(\d+) +\S+@\d+ +\S+@\d+ +([\d.]+) ', text, re.M)
    if not rows or (ranks > 1 and not any(name in MESSAGES for name, _, _ in rows)):
        return None
    times = [(name, int(calls) * float(average)) for name, calls, average in rows]
    whole = times[0][1]
    return min(1.0, sum(time for name, time in times if name in MESSAGES) / whole) if whole > 0 else None


class Scaling:
    def __init__(self, args):
        self.args, self.program = args, programs.find(args.app, args.bindir)
        self.launcher = shlex.split(args.launcher or '')
        self.ranks = args.ranks or default_ranks()
        if self.launcher and not any('{ranks}' in word for word in self.launcher):
            raise Fault(USAGE, "--launcher: say where the number of ranks stands: 'srun -n {ranks}'")
        self.common = ['--seconds', f'{args.seconds:g}', '--profile']
        if args.threads is None and not self.launcher:
            args.threads = max(1, machine.cores() // max(self.ranks))
        for name in ('device', 'threads', 'nonce'):
            value = getattr(args, name)
            self.common += [f'--{name}', str(value)] if value is not None else []

    def there(self, json, output, command, words):
        """The result of a run that is there, with the same command, or None."""
        try:
            with open(output, encoding='utf-8', errors='replace') as file:
                text = file.read()
            with open(command, encoding='utf-8') as file:
                same = file.read() == shlex.join(words)
            return (results.load(json, self.args.nonce or ''), text) if same else None
        except (OSError, Fault):
            return None

    def run(self, kind, ranks, extents):
        """(result, what it said) of one run; Fault if it is none."""
        name = f'{kind}-{ranks}-{self.args.app}'
        json, output = (os.path.join(self.args.into, f'{name}.{end}') for end in ('json', 'out'))
        command = os.path.join(self.args.into, f'.{name}.command')
        words = extents + self.common
        kept = self.there(json, output, command, [self.program, *self.launcher, *words])
        if kept:
            return kept
        print(f'{name}: {self.args.app} on {ranks}', file=sys.stderr, flush=True)
        got = programs.measure(self.program, words, json, output, self.launcher, ranks, self.args.nonce or '',
                               self.args.limit)
        if not got.result:
            raise Fault(INVALID if got.ended.exit in (0, 1) else ENVIRONMENT, f'{name}: {got.why} (see {output})')
        if got.result['ranks'] != ranks:
            raise Fault(ENVIRONMENT, f'{name}: {got.result["ranks"]} ranks came to it: is this program built with the '
                        'MPI of the launcher?')
        results.save_bytes(command, shlex.join([self.program, *self.launcher, *words]).encode())
        print(f'{name}: {minutes(got.ended.seconds)}', file=sys.stderr, flush=True)
        return got.result, got.ended.text

    def fixed(self, ranks, result, text):
        """A result of the problem that strong scaling divides, what the program said, and the options that name it."""
        extents = {name: str(result['options'][name]) for name in EXTENTS[self.args.app]}
        fitting = dict(extents)
        if self.args.app == 'nekbone':
            fitting['elements'] = divided(extents['elements'], divisor(self.ranks))
        size = [word for name, value in fitting.items() for word in (f'--{name}', value)]
        if fitting != extents:
            result, text = self.run('strong', ranks, size)
        return result, text, size

    def series(self, kind):
        """Points of one kind. A number of ranks that fails ends it: what came before counts."""
        points, size = [], ['--size', self.args.size]
        for ranks in self.ranks:
            try:
                result, text = self.run('weak' if ranks == self.ranks[0] else kind, ranks, size)
            except Fault as fault:
                if not points:
                    raise
                print(f'rooftop: {fault}', file=sys.stderr)
                points.append({'ranks': ranks, 'valid': False, 'why': str(fault)})
                break
            if kind == 'strong' and not points:  # the same problem for all
                result, text, size = self.fixed(ranks, result, text)
            rung = result['rungs'][0]
            points.append({'ranks': ranks, 'valid': True, 'rung': rung['name'], 'spread': rung['spread'],
                           'seconds_per_unit': rung['seconds_per_unit'], 'fom_flop_per_s': rung['fom_flop_per_s'],
                           'exposed_share': exposed_share(text, ranks)})
            first, last = points[0], points[-1]
            share = ranks / first['ranks']
            last['efficiency'] = first['seconds_per_unit'] / last['seconds_per_unit'] / share if kind == 'strong' else \
                last['fom_flop_per_s'] / first['fom_flop_per_s'] / share
        return points


def print_series(kind, points):
    print(f'{kind:8}{"ranks":>6}{"ms a unit":>12}{"GFlop/s":>10}{"spread":>9}{"efficiency":>12}{"exposed":>9}')
    for point in points:
        if not point['valid']:
            print(f'{"":8}{point["ranks"]:6}  no result: {point["why"]}')
            continue
        exposed = f'{100 * point["exposed_share"]:.1f} %' if point['exposed_share'] is not None else '-'
        print(f'{"":8}{point["ranks"]:6}{1e3 * point["seconds_per_unit"]:12.3f}{point["fom_flop_per_s"] / 1e9:10.2f}'
              f'{100 * point["spread"]:7.1f} %{100 * point["efficiency"]:10.1f} %{exposed:>9}')


def main(args):
    scaling = Scaling(args)
    try:
        os.makedirs(args.into, exist_ok=True)
    except OSError as error:
        raise Fault(USAGE, f'--into {args.into}: {error.strerror}') from None
    held = lock(args.into)
    try:
        kinds = ['strong'] * (args.strong or not args.weak) + ['weak'] * (args.weak or not args.strong)
        found = {kind: scaling.series(kind) for kind in kinds}
        results.save(os.path.join(args.into, f'scale-{args.app}.json'), {
            'schema': results.SCHEMA, 'kind': 'scale', 'app': args.app, 'size': args.size, 'nonce': args.nonce or '',
            'over': 'GPUs' if machine.gpus() and args.device != 'cpu' else 'ranks',
            'command': ['rooftop', *sys.argv[1:]], **found, 'environment': machine.environment()}, args.nonce or '')
    finally:
        os.close(held)
    for kind, points in found.items():
        print_series(kind, points)
    return VALID if all(point['valid'] for points in found.values() for point in points) else INVALID
