"""`rooftop predict RESULT --machine FILE`: the times of a result on another machine, and on many ranks of it.

Each part of explain's budget goes with its own ceiling: what was hidden is compared again, and bytes that stay in a
cache do not go with the memory. Launches, waits and what is unexplained stay as they are; the interval is what the time
would be if the unexplained part went with the clock, or with the kernels. A data sheet has peaks: of them the new
machine achieves the share that the result's own machine did. docs/running.md has the equations.
"""
import argparse
import math
import os
from collections.abc import Sequence
from typing import NamedTuple, Optional

from .. import USAGE, VALID, Fault, aligned
from ..cli import counts
from . import Ceilings, Program, explain, figures
from .explain import Budget, Machine, Traffic


def add_arguments(parser: argparse.ArgumentParser) -> None:
    explain.add_arguments(parser)
    parser.add_argument('--machine', metavar='FILE', required=True, help='a file as those of inputs/machines, or the '
                        'name of one: h100-sxm5')
    parser.add_argument('--ranks', type=counts, metavar='N,N..', help='weak scaling: the same work on each of N ranks')


# ---- One rank ----

class Time(NamedTuple):
    """Seconds per unit there: of the kernels, of all, and the ends of the interval."""
    kernels: float
    whole: float
    low: float
    high: float


def rate(machine: Ceilings, name: str) -> float:
    return machine.bandwidth()[0] if name == 'bandwidth' else float(getattr(machine, name, None) or 0)


def factor(name: str, here: Ceilings, there: Ceilings) -> float:
    """Returns how many times as long something takes there; 1 if a ceiling is not known."""
    old, new = rate(here, name), rate(there, name)
    return old / new if old and new else 1.0


def memory_factor(one: Budget, of: Ceilings, there: Machine, threads: int) -> float:
    """Returns the same of memory. What fits a cache here goes with that cache; if it fits none there, with the memory."""
    if not one.cache:
        return factor('bandwidth', of, there)
    sizes = [getattr(there, f'{name}_bytes') for name in explain.CACHES[there.processor]]
    if any(sizes) and not explain.fits(one.touched, there, there.processor, threads):
        here, peak, new = (rate(machine, 'bandwidth') for machine in (one.here, of, there))
        return one.rate / new * max(1.0, peak / here) if new and here else 1.0
    return factor(f'{one.cache}_bytes_per_s', of, there)


def time_there(one: Budget, sheet: Optional[Machine], there: Machine, threads: int) -> Time:
    """Returns the time of a rung there. sheet: of the machine of the result, if there is one."""
    of = sheet if sheet and there.source == 'data sheet' else one.here
    factors = {'memory': memory_factor(one, of, there, threads),
               **{name: factor(ceiling, of, there) for name, (_, ceiling, _) in explain.COUNTED.items()}}
    kernels = sum(max(seconds * (factors[name] if name in factors else factor(line.fma, of, there))
                      for name, seconds in line.of.items()) for line in one.lines)
    rest = sum(one.parts[name] for name in (*explain.FIXED, 'messages', 'sums'))
    unexplained = sum(one.parts[name] for name in explain.LEFT)
    if one.better:  # the model is too long by the same factor there
        whole = (kernels + rest) * one.seconds / (one.kernels + rest)
        return Time(kernels, whole, whole, whole)
    clock = factor('clock_hz', sheet, there) if sheet else 1.0
    ends = [unexplained * times for times in (1.0, clock, kernels / one.kernels if one.kernels else 1.0)]
    return Time(kernels, *(kernels + rest + end for end in (unexplained, min(ends), max(ends))))


# ---- Many ranks: LogGP ----

def box(ranks: int) -> tuple[int, int, int]:
    """Returns the box of ranks that is nearest to a cube."""
    return min(((a, b, ranks // a // b) for a in range(1, round(ranks ** (1 / 3)) + 1) if ranks % a == 0 and a**3 <= ranks
                for b in range(a, math.isqrt(ranks // a) + 1) if ranks // a % b == 0), key=sum)


def around(sides: Sequence[int], most: int) -> tuple[int, int]:
    """Returns how many faces a rank shares, and how many neighbours it has, with at most so many along a direction."""
    return sum(min(most, n - 1) for n in sides), math.prod(min(most, n - 1) + 1 for n in sides) - 1


def exchange_seconds(there: Machine, ranks: int, face: float) -> float:
    """Returns the time of an exchange of the busiest rank. Messages start in turn; both kinds of links are busy at once."""
    sides, node = box(ranks), box(min(ranks, there.ranks_per_node))
    faces, messages = around(sides, 2)
    inner_faces, inner = around([min(both) for both in zip(sides, node)], 1)
    starting, moving = 0.0, [0.0]
    for link, n, bytes_sent in ((there.within, inner, inner_faces * face),
                                (there.between, messages - inner, (faces - inner_faces) * face)):
        if n > 0:
            starting += n * max(link.gap_s, link.overhead_s)
            moving.append(link.latency_s + link.overhead_s + bytes_sent / link.bytes_per_s)
    return starting + max(moving)


def sum_seconds(there: Machine, ranks: int) -> float:
    """Returns the time of a sum over all ranks, by recursive doubling."""
    within = min(ranks, there.ranks_per_node)
    return sum(math.ceil(math.log2(n)) * float(link.latency_s + 2 * link.overhead_s)
               for link, n in ((there.within, within), (there.between, math.ceil(ranks / within))))


def apart(there: Machine, traffic: Traffic, measured: int, ranks: int) -> tuple[float, float]:
    """Returns the seconds of messages and of sums in a unit. measured: the ranks of the result."""
    exchanges, faces = traffic.exchanges or 1.0, max(1, around(box(measured), 2)[0])
    face = traffic.bytes / exchanges / faces
    sending = exchanges * exchange_seconds(there, ranks, face) if ranks > 1 and traffic.bytes else 0.0
    return sending, (traffic.sums or 0.0) * sum_seconds(there, ranks)


def scaling(one: Budget, got: Time, there: Machine, measured: int, ranks: list[int]) -> list[str]:
    """Returns lines of weak scaling."""
    own = got.kernels + sum(one.parts[name] for name in (*explain.FIXED, *explain.LEFT))
    alone = got.whole * own / (own + one.parts['messages'] + one.parts['sums'])
    scale, unit = figures.time_unit([alone])
    rows = [['ranks', unit, 'messages', 'sums', 'efficiency']]
    for there_are in ranks:
        parts = apart(there, one.traffic, measured, there_are)
        rows.append([str(there_are), *(figures.scaled(s, scale) for s in (alone + sum(parts), *parts)),
                     f'{100 * alone / (alone + sum(parts)):.0f} %'])
    counted = {'exchanges (taken as one)': one.traffic.exchanges, 'sums (left out)': one.traffic.sums}
    unknown = ', '.join(name for name, number in counted.items() if number is None)
    return [*aligned(rows, ()), *([f'not counted without --profile: {unknown}'] if unknown else [])]


def main(args: argparse.Namespace) -> int:
    known = explain.machines()
    if not (args.machine in known or os.path.exists(args.machine)):
        raise Fault(USAGE, f"there is no file '{args.machine}'; known by name: {', '.join(known)}")
    there, none = explain.machine_at(known.get(args.machine, args.machine)), True
    if args.ranks and not (there.within and there.between and there.ranks_per_node):
        raise Fault(USAGE, f'{args.machine}: --ranks needs its within, between and ranks_per_node')
    for path, result, found in explain.each(args.result, args.rung):
        chosen = [one for one in found if one.rung.processor == there.processor]
        if chosen:
            none = False
            if path != args.result:
                print(f'---- {path}')
            predicted(path, result.program, chosen, there, args.ranks)
    if none:
        raise Fault(USAGE, f'{args.result}: no rung of a {there.processor.upper()} in it, as {there.name} is')
    return VALID


def predicted(path: str, program: Program, chosen: list[Budget], there: Machine, ranks: list[int]) -> None:
    """Prints the times of a result there."""
    if ranks and program.ranks == 1:
        raise Fault(USAGE, f'{path}: --ranks needs a result of 2 ranks or more: one rank sends and sums nothing')
    device = program.gpu if there.processor == 'gpu' else program.cpu
    sheet = explain.machine_of(device)
    rows, tables = [['rung', 'here', 'there', 'from', 'to', 'speed']], list[str]()
    for one in chosen:
        got, (scale, unit) = time_there(one, sheet, there, program.threads), figures.time_unit([one.seconds])
        times = [f'{figures.short(s / scale)} {unit}' for s in (one.seconds, got.whole, got.low, got.high)]
        rows.append([one.rung.name, *times, f'{one.seconds / got.whole:.2f}x'])
        if ranks:
            tables += [f'\n{one.rung.name}, weak scaling:', *scaling(one, got, there, program.ranks, ranks)]
    print('\n'.join([f'{device} to {there.name} ({there.source})', *aligned(rows, (0,)), *tables]))
    unsteady = ', '.join(one.rung.name for one in chosen if one.rung.verdict != 'VALID')
    if unsteady:
        print(f'not VALID here: {unsteady}: no promise can rest on such a time')
    if not sheet and there.source == 'data sheet':
        print(f'no data sheet of {device}: the peaks of {there.name} are taken as achieved')
