"""`rooftop scale`: an app over ranks (one GPU per rank, where there are GPUs), strong and weak.

Strong: the problem of one rank, at the size given, on more and more ranks; efficiency = t(1) / (p t(p)). nekbone gets
slightly fewer elements where the boxes of some number of ranks would not divide them. Weak: that size on every rank;
efficiency = FOM(p) / (p FOM(1)), because the shapes that fit p ranks are not exactly p times as large. The smallest
number of ranks takes the place of 1. One solve with the timers on says where the time of an average rank
goes. The result of each run is in the folder.
"""
import argparse
import itertools
import os
from collections.abc import Sequence
from typing import Optional

from .. import ENVIRONMENT, USAGE, VALID, Fault, aligned, number, results
from ..cli import complain, count, counts, seconds
from ..results import Program, disk
from ..results.records import Record
from . import machine, programs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add('app', metavar='APP', help=', '.join(results.APPS))
    add('--ranks', type=counts, metavar='N,N..', help='(default: 1, 2, 4 .. up to the GPUs, or the cores)')
    add('--size', choices=results.SIZES, default='tiny', help='of the problem of one rank (default tiny)')
    add('--seconds', type=seconds, default=2.0, metavar='S', help='of timing per run (default 2)')
    programs.add_launcher(parser)
    add('--device', metavar='LIST', help='cpu, or GPU ordinals')
    add('--threads', type=count, metavar='N', help='per rank, the same in all runs (default: the cores over the most '
        'ranks; with --launcher, the cores of the rank)')
    add('--into', metavar='DIR', help='for the results (default scale-APP)')
    add('--limit', type=seconds, default=1800.0, metavar='S', help='most seconds per run (default 1800)')
    programs.add_arguments(parser)


def divisor(ranks: list[int]) -> int:
    """Returns the least number such that for each of these numbers of ranks some box divides extents that are multiples
    of it: such a box is there if the cube of extents is a multiple of the number of ranks."""
    return next(k for k in itertools.count(1) if all(k**3 % number == 0 for number in ranks))


def divided(extents: str, by: int) -> str:
    """Returns '7x9x4' as multiples of `by`, the nearest below."""
    return 'x'.join(str(max(int(extent) // by, 1) * by) for extent in extents.split('x'))


def measured(args: argparse.Namespace, kind: str, ranks: int, problem: list[str]) -> Program:
    """Runs the program; Fault if that gives no result."""
    name = f'{kind}-{ranks}-{args.app}'
    path, words = os.path.join(args.into, name), [*problem, '--profile', f'--seconds={args.seconds:g}', *options(args)]
    complain(f'{name}: runs')
    got = programs.measure(programs.find(args.app, args.bindir), words, f'{path}.json', f'{path}.out',
                           programs.launcher_words(args.launcher, 2), ranks, limit=args.limit)
    if not got.result:
        raise Fault(programs.status_of(got.ended), f'{name}: {got.why} (see {path}.out)')
    if got.result.ranks != ranks:
        raise Fault(ENVIRONMENT, f'{name}: the program ran on {got.result.ranks} ranks: was it built with the MPI of '
                    'the launcher?')
    return got.result


def options(args: argparse.Namespace) -> list[str]:
    given = {'device': args.device, 'threads': args.threads}
    return [f'--{name}={value}' for name, value in given.items() if value is not None]


def fixed(args: argparse.Namespace) -> list[str]:
    """Returns the options of the problem that strong scaling divides: that of the size given, on one rank."""
    said = programs.preview([programs.find(args.app, args.bindir), '--size', args.size, *options(args)],
                            programs.launcher_words(args.launcher, 2))
    extents = {name: said.options[name] for name in programs.extents(args.app, said.options)}
    if args.app == 'nekbone':
        extents['elements'] = divided(extents['elements'], divisor(args.ranks))
    return [f'--{name}={value}' for name, value in extents.items()]


def series(args: argparse.Namespace, kind: str, problem: list[str]) -> tuple[list[Program], int]:
    """Returns the results of one kind, and the status. A number of ranks that fails ends them: earlier ones count."""
    found: list[Program] = []
    for ranks in args.ranks:
        try:
            found.append(measured(args, kind, ranks, problem))
        except Fault as fault:
            if not found:
                raise
            complain(str(fault))
            return found, fault.status
    return found, VALID


# ---- Where the time of a profiled solve goes ----

PHASES = {'pack': 'pack', 'unpack': 'pack', 'messages': 'messages', 'sum': 'sums', 'waiting': 'waiting'}
PARTS = ('compute', *dict.fromkeys(PHASES.values()))
EXCHANGES = ('halo', 'gather-scatter')  # timers around an exchange


def phases_of(profile: Sequence[Record], ranks: int) -> dict[str, float]:
    """Returns the share of each phase, of an average rank. What is in no timer of a phase is computing; an exchange
    on the stream of GPUs is not divided, and is messages. Nothing if there is no profile, or if several ranks have no
    timer of a phase, because a kernel does everything."""
    seconds = dict.fromkeys(PARTS, 0.0)
    told = ranks == 1
    for timer in profile:
        below = [other for other in profile if other.timer.rpartition('/')[0] == timer.timer]
        name = timer.timer.rpartition('/')[2]
        phase = 'messages' if ranks > 1 and name in EXCHANGES and not below else PHASES.get(name, 'compute')
        told = told or phase != 'compute'
        seconds[phase] += max(0.0, timer.seconds - sum(other.seconds for other in below))
    whole = sum(seconds.values())
    return {name: value / whole for name, value in seconds.items()} if told and whole else {}


# ---- The table ----

def efficiency_of(kind: str, first: Program, last: Program) -> Optional[float]:
    """Returns the parallel efficiency; None where one of the two has no figure of merit."""
    before, now = first.rungs[0], last.rungs[0]
    if not (before.fom_flop_per_s and now.fom_flop_per_s):
        return None
    gain = before.seconds_per_unit / now.seconds_per_unit if kind == 'strong' else \
        now.fom_flop_per_s / before.fom_flop_per_s
    return float(gain / (last.ranks / first.ranks))


def rows_of(kind: str, found: list[Program]) -> list[list[str]]:
    """Returns a row of text per number of ranks."""
    rows = []
    for ran in found:
        rung, phases = ran.rungs[0], phases_of(ran.rungs[0].profile, ran.ranks)
        rows.append([kind, str(ran.ranks), f'{1e3 * (rung.seconds_per_unit or 0):.3f}',
                     f'{rung.fom_flop_per_s / 1e9:.2f}' if rung.fom_flop_per_s else '-',
                     number(rung.spread if (rung.windows or 0) > 1 else None, '.1%'),
                     number(efficiency_of(kind, found[0], ran), '.1%'),
                     *(number(phases.get(name) if ran.ranks > 1 or name == 'compute' else None, '.1%') for name in PARTS),
                     '; '.join([rung.verdict, *rung.disturbed])])
    return rows


def main(args: argparse.Namespace) -> int:
    most = len(machine.gpus()) or len(os.sched_getaffinity(0))
    args.ranks, args.into = args.ranks or [1 << i for i in range(most.bit_length())], args.into or f'scale-{args.app}'
    if args.threads is None and not programs.launcher_words(args.launcher, 2):
        args.threads = max(1, machine.cores() // max(args.ranks))
    strong = fixed(args)
    disk.make_folder(args.into, USAGE)
    found = {kind: series(args, kind, problem) for kind, problem in (('strong', strong), ('weak', ['--size', args.size]))}
    heads = ['', 'ranks', 'ms per unit', 'GFlop/s', 'spread', 'efficiency', *PARTS, 'verdict']
    rows = [row for kind, (ran, _) in found.items() for row in rows_of(kind, ran)]
    print('\n'.join(aligned([heads, *rows], (0, len(heads) - 1))))
    return max(status for _, status in found.values())
