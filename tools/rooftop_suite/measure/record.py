"""`rooftop record --into DIR`: all that the pages of this suite say of a machine, as one folder of `rooftop run`.

An official run of size small, base and peak; the ladders that lessons and READMEs quote (inputs/record.json); and the runs
of the papers (inputs/papers). docs/reference has such a folder per machine, from which `make docs` fills the pages.
"""
import argparse
import time

from .. import Json, shipped
from ..results import disk
from . import plan, reproduce, run

PEAK = ['nekbone: --rung trilinear', 'fun3d-mcpi: --offdiagonal fp16']  # on a GPU


def add_arguments(parser: argparse.ArgumentParser) -> None:
    run.add_limits(parser)
    add = parser.add_argument
    add('--into', metavar='DIR', required=True, help='its folder; what is there of this record is kept')
    add('--device', metavar='LIST', help='cpu, or GPU ordinals, as the programs take it')
    add('--trial', action='store_true', help='in a few minutes, of size tiny, and not official')


def options_of(args: argparse.Namespace) -> Json:
    """Returns what `rooftop run` is to run."""
    given = {name: getattr(args, name) for name in ('device', 'bindir') if getattr(args, name)}
    gpu = plan.Plan(given).gpu
    steps: dict[str, str] = disk.parse(shipped('inputs', 'record.json'))
    also = {name: text for name, text in steps.items() if gpu or '--device 0' not in text} if not args.trial else {}
    rules = {'size': 'tiny', 'seconds': 0.2} if args.trial else {'size': 'small', 'official': True}
    return {**rules, 'no_ladders': True, **({'peak': PEAK} if gpu else {}), 'also': also, **given}


def main(args: argparse.Namespace) -> int:
    begin = time.monotonic()
    status = run.carry_out(args.into, options_of(args), args)
    if args.dry_run:
        return status
    left = None if args.minutes is None else max(0.0, args.minutes - (time.monotonic() - begin) / 60)
    more = argparse.Namespace(**{**vars(args), 'minutes': left, 'paper': 'all', 'size': 'tiny' if args.trial else None,
                                 'launcher': None, 'ranks': None})
    return max(status, reproduce.main(more))
