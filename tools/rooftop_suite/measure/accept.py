"""`rooftop accept`: is the machine at hand the one that a result folder tells of?

Each app's measured rung is run once more, briefly, by the programs here and with a new nonce. The problem follows from
the folder's --size and from defaults, not from what its files name. Options, credited work, seconds per unit, ceilings
and processors are compared with the folder's. A file can be invented, a run in the buyer's presence cannot. A machine
that is slower beyond twice the noise is not the one of the folder.
"""
import argparse
import math
import os
import tempfile
from collections.abc import Iterator
from typing import NamedTuple

from .. import ENVIRONMENT, INVALID, USAGE, VALID, Fault, aligned, number
from ..cli import complain, seconds
from ..results import Folder, Program, Run, Step
from ..results.collect import noise_of
from . import programs
from .programs import extents

LEAST_CEILING = 0.05  # by which ceilings of short samples may be lower
CREDITED = 0.1  # by which the credited work of a unit may: gfnn-wave's follows its iterations
NOT_THE_PROBLEM = {'size', 'seed', 'ranks'}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add('folder', metavar='FOLDER', help='of rooftop run')
    add('--nonce', metavar='TEXT', required=True, help="a new word, not the folder's")
    add('--seconds', type=seconds, default=3.0, metavar='S', help='of timing per app (default 3)')
    programs.add_launcher(parser)
    programs.add_arguments(parser)


class Row(NamedTuple):
    """An app, there and here. wrong: what is not as the folder says; unsteady: why there is no verdict."""
    app: str
    cells: list[str]
    wrong: list[str]
    unsteady: str


def problem(there: Program, run: Run) -> list[str]:
    """Returns the arguments of the measured run's problem, and the choice that its rung made."""
    if run.size in ('large', 'full') or run.ranks > 1:
        words = [f'--{name}={there.options.get(name)}' for name in extents(there.program, there.options) if name != 'degree']
    else:
        words = ['--size', run.size]
    choice = ','.join(f'{name}={value}' for name, value in there.rungs[0].choice.items())
    return words + (['--choose', choice] if choice else []) + ['--no-tuning']


def measure(folder: Folder, step: Step, there: Program, args: argparse.Namespace) -> Program:
    """Returns the result of one short run here; Fault if there is none."""
    run = folder.manifest
    words = problem(there, run)
    # How it ran. A rung that was not named is not named here either: extents of a size are those that the candidates for a
    # default need.
    words += [word for name, value in zip(step.command, step.command[1:]) if name in ('--device', '--threads', '--rung')
              for word in (name, value)]
    words += ['--nonce', args.nonce, '--seconds', f'{args.seconds:g}', '--windows', '3', '--quiet']
    launcher = programs.launcher_words(args.launcher, run.ranks) or run.launcher
    with tempfile.TemporaryDirectory(prefix='rooftop_accept_') as place:
        got = programs.measure(programs.find(step.app, args.bindir), words, os.path.join(place, 'here.json'),
                               launcher=launcher, ranks=run.ranks, nonce=args.nonce, limit=1800)
    if not got.result:
        raise Fault(INVALID if got.ended.exit == INVALID else ENVIRONMENT, f'{step.app}: {got.why}')
    return got.result


def compare_problem(there: Program, here: Program) -> Iterator[str]:
    for name in sorted((there.options.keys() | here.options.keys()) - NOT_THE_PROBLEM):
        told, got = there.options.get(name), here.options.get(name)
        if told != got:
            yield f'--{name} is {told} there, and {got} by its size and defaults'
    if there.rungs[0].name != here.rungs[0].name:
        yield f'its rung is {there.rungs[0].name} there, {here.rungs[0].name} here'
    before, now = (result.rungs[0].credited_flop_per_unit or 0.0 for result in (there, here))
    if abs(before - now) > CREDITED * now:
        yield f'a unit is credited with {before:.6g} flops there, {now:.6g} here'


def compare_machine(there: Program, here: Program) -> Iterator[str]:
    """Yields what makes it another machine, whatever its speed."""
    for what in ('cpu', 'gpu', 'threads'):
        told, got = getattr(there, what), getattr(here, what)
        if told != got:
            yield f'{what} is {got or "none"} here, {told or "none"} there'
    for name in ('cpu', 'gpu'):
        before, now = (getattr(result, f'ceilings_{name}') for result in (there, here))
        allowed = max(LEAST_CEILING, before.spread or 0.0, now.spread or 0.0) if before and now else 1.0
        for what, unit, told, got in (('bandwidth', 'GB/s', before.bandwidth()[0], now.bandwidth()[0]),
                                      ('FP64 FMA', 'GFlop/s', before.fma64_flop_per_s, now.fma64_flop_per_s)) \
                if before and now else ():
            if got < told * (1 - allowed):
                yield f'{name.upper()} {what} is {got / 1e9:.1f} {unit} here, {told / 1e9:.1f} there'


def row_of(there: Program, here: Program) -> Row:
    told, got = there.rungs[0], here.rungs[0]
    noise = math.hypot(*(noise_of(rung.window_seconds, rung.spread) for rung in (told, got)))
    before, now = told.seconds_per_unit, got.seconds_per_unit
    wrong, unsteady = [*compare_problem(there, here)], ''
    if got.verdict == 'UNSTEADY' or not now:
        unsteady = '; '.join(got.disturbed) or 'it was not timed'
    else:
        wrong += compare_machine(there, here)
        if now > before * (1 + 2 * noise):
            wrong.insert(0, f'slower: {100 * (now / before - 1):.1f} % more time per unit, noise {100 * noise:.1f} %')
    said = '; '.join(wrong) or (f'no verdict: {unsteady}' if unsteady else 'as the folder says')
    return Row(there.program, [there.program, told.name, f'{1e6 * before:.1f}', f'{1e6 * now:.1f}' if now else '-',
                               number(before / now if now else None, '.3f'), number(noise, '.1%'), said], wrong, unsteady)


def main(args: argparse.Namespace) -> int:
    folder = Folder.open(args.folder)
    run = folder.manifest
    if not args.nonce or args.nonce == run.nonce:
        raise Fault(USAGE, f"--nonce: '{args.nonce}' must be a new word: the folder's is '{run.nonce}'")
    rows = []
    for step in folder.steps:
        there = folder.result(step.name) if step.name == step.app else None
        if there and there.rungs and there.rungs[0].seconds_per_unit:
            complain(f'{step.app} runs')
            rows.append(row_of(there, measure(folder, step, there, args)))
    if not rows:
        raise Fault(INVALID, f'{args.folder}: no measured run in it')
    heads = ['app', 'rung', 'us there', 'us here', 'speed', 'noise', '']
    print('\n'.join(aligned([heads, *(row.cells for row in rows)], (0, 1, 6))))
    wrong, unsteady = [row.app for row in rows if row.wrong], [row.app for row in rows if row.unsteady]
    if wrong:
        print(f'accept: {", ".join(wrong)}: not as {args.folder} says: NOT ACCEPTED')
        return INVALID
    if unsteady:
        print(f'accept: no verdict for {", ".join(unsteady)}: end what disturbs this machine, and try again')
        return ENVIRONMENT
    print(f"accept: {len(rows)} app{'s' * (len(rows) > 1)} as {args.folder} says, nonce '{args.nonce}': ACCEPTED")
    return VALID
