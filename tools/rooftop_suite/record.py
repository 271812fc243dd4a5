"""Runs the ladders whose figures the lessons quote, and keeps them in docs/reference/ladders.json (recorded.py).

    python3 -m rooftop_suite.record [--bindir DIR] [--into DIR] [--limit S] [--run | --keep] [NAME..]

`make ladders` does it with the programs of the build. A ladder that this machine cannot run, or not within the limit,
stays as it was recorded. The results are left in --into: --run only writes them, --keep only reads them.
"""
import argparse
import os
import sys
import time
from typing import NamedTuple, Optional

from . import ENVIRONMENT, INVALID, USAGE, VALID, Fault, disk, machine, programs, recorded, results
from .cli import complain, seconds
from .progress import Line

WORDS = ('--no-tuning', '--quiet', '--seconds=0.2')
LEAST = 5.0  # seconds: with less left, no ladder is begun


class Run(NamedTuple):
    """A ladder to record. name: APP, or APP@what differs from it; gpu: whether it needs one."""
    name: str
    gpu: bool
    options: str

    @property
    def app(self) -> str:
        return self.name.partition('@')[0]


# What the lessons need, the most important first. The sizes are those of the apps' READMEs; @core: one core.
RUNS = (
    Run('nekbone', True, '--elements 16x16x16 --degree 9 --ladder --only gpu --profile'),
    Run('alya-rhs', True, '--cells 240x200x28 --ladder --only gpu'),
    Run('gfnn-wave', True, '--elements 104x104x104 --ladder --only gpu'),
    Run('fun3d-mcpi', True, '--surface 55 --layers 27 --ladder --only sweeps'),
    Run('nekbone@343', True, '--elements 7x7x7 --degree 9 --ladder --only gpu'),
    Run('fun3d-mcpi@fp16', True, '--surface 55 --layers 27 --offdiagonal fp16 --ladder --only sweeps'),
    Run('nekbone@lines', True, '--elements 16x16x16 --degree 9 --rung batched --profile'),
    Run('nekbone@dgemm', True, '--elements 16x16x16 --degree 9 --rung batched --profile '
        '--choose mxm1=dgemm,mxm2=dgemm,mxm3=dgemm'),
    Run('nekbone@solve', True, '--elements 8x8x8 --degree 9 --ladder --only solve'),
    Run('gfnn-wave@bj', True, '--elements 104x104x104 --rung solve-cuda --precond bj'),
    Run('gfnn-wave@cheb', True, '--elements 104x104x104 --rung solve-cuda --precond cheb --degree 7'),
    Run('nekbone@core', False, '--elements 8x8x8 --degree 9 --iterations 20 --ladder --only cpu --threads 1'),
    Run('alya-rhs@core', False, '--cells 24x20x28 --ladder --only cpu --threads 1'),
    Run('fun3d-mcpi@core', False, '--surface 29 --layers 25 --sweeps 3 --ladder --only sweeps --threads 1'),
    Run('gfnn-wave@core', False, '--elements 32x32x32 --ladder --only operator --threads 1'),
    Run('gfnn-wave@core-predictor', False, '--elements 32x32x32 --ladder --only predictor --precision fp32 '
        '--threads 1'),
    Run('nekbone@cpu', False, '--elements 8x8x8 --degree 9 --ladder --only cpu'),
)


def measured(run: Run, program: str, file: str, limit: Optional[float]) -> str:
    """Runs a ladder and writes its result. Returns '' or why there is none."""
    part = disk.part_of(file)
    disk.remove(part)
    command = [program, *run.options.split(), '--device', '0' if run.gpu else 'cpu', *WORDS, '--json', part]
    ended = programs.run(command, limit=limit)
    try:
        if ended.exit not in (VALID, INVALID) or not os.path.exists(part):
            return ended.why or programs.reason(ended)
        results.load(part, results.Program)
        disk.settle(part, file)
    except Fault as fault:
        return str(fault)
    finally:
        disk.remove(part)
    return ''


def chosen(names: list[str]) -> list[Run]:
    """Returns the runs of these names, or all that this machine can do."""
    known = {run.name: run for run in RUNS}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise Fault(USAGE, f"there is no ladder '{unknown[0]}'; known: {', '.join(known)}")
    return [known[name] for name in names] or [run for run in RUNS if not run.gpu or machine.gpus()]


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog='record', description='run and keep the ladders that lessons quote')
    parser.add_argument('names', nargs='*', metavar='NAME', help='ladders to run (default: all that can run here)')
    parser.add_argument('--bindir', metavar='DIR', help='folder with the programs, or a build')
    parser.add_argument('--into', metavar='DIR', default='ladders.tmp', help='folder for the results (ladders.tmp)')
    parser.add_argument('--limit', type=seconds, metavar='S', help='begin no ladder after this time, and end the last')
    parser.add_argument('--run', action='store_true', help='only run: leave what is recorded as it is')
    parser.add_argument('--keep', action='store_true', help='run nothing: keep the results that are in --into')
    args = parser.parse_args(words)
    disk.make_folder(args.into)
    begin, line, failed = time.monotonic(), Line(), 0
    for run in () if args.keep else chosen(args.names):
        left = args.limit - (time.monotonic() - begin) if args.limit else None
        if left is not None and left < LEAST:
            print(f'{run.name}: not begun, the time is over')
            failed += 1
            continue
        line.tick(run.name, time.monotonic() - begin)
        at = time.monotonic()
        why = measured(run, programs.find(run.app, args.bindir), os.path.join(args.into, f'{run.name}.json'), left)
        failed += bool(why)
        line.say(f'{run.name}: {time.monotonic() - at:.0f} s' + (f': {why}' if why else ''))
    if not args.run:
        kept = recorded.keep(args.into)
        print(f'{len(kept)} ladders kept in {"/".join(recorded.FILE)}')
    return ENVIRONMENT if failed else VALID


if __name__ == '__main__':
    try:
        sys.exit(main(sys.argv[1:]))
    except Fault as fault:
        complain(str(fault))
        sys.exit(fault.status)
