"""`rooftop reproduce PAPER`: what a paper's figures and tables are on this machine, beside them.

The runs of inputs/papers/PAPER.json are steps of a folder of `rooftop run`; those that are not there are made, and a folder
that has them all, such as a record, is only read. PAPER.html and PAPER.md in the folder have each figure and table.
"""
import argparse
import os
import shlex
from collections.abc import Container

from .. import ENVIRONMENT, INVALID, USAGE, VALID, Fault, Json, cli
from ..cli import count
from ..pages import papers as pages
from ..results import Folder, disk, papers
from . import plan, programs, run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    run.add_limits(parser)
    parser.epilog = 'Exit status: 0; 1 a run is INVALID; 3 a run failed. What a machine cannot run is said in the page.'
    add = parser.add_argument
    add('paper', metavar='PAPER', choices=[*papers.names(), 'all'], help=f'{", ".join(papers.names())}, or all')
    add('--size', choices=papers.SIZES, help="the paper's; fits: a CPU, in minutes; tiny: a test; long: every point of "
        "cresta's study, hours (default: paper with a GPU, else fits)")
    add('--into', metavar='DIR', help='result folder, of which only what is missing is run (default rooftop-papers-SIZE)')
    add('--ranks', type=count, metavar='N', help='of MPI (default 1)')
    add('--device', metavar='LIST', help='cpu, or GPU ordinals, as the programs take it')
    programs.add_launcher(parser)


def forget(folder: Folder, names: Container[str]) -> None:
    """Takes steps that were not run out of the folder: the same command adds them again."""
    run = folder.manifest
    run.steps = [step for step in folder.steps if step.name not in names]
    run.settings['also'] = {name: text for name, text in run.settings['also'].items() if name not in names}
    run.state = 'complete' if all(step.state == 'done' for step in run.steps) else 'running'
    folder.save()


def status_of(folder: Folder, mine: dict[str, str]) -> int:
    """Returns the status of these steps: one that needs more memory than there is did not fail."""
    failed = [step.exit for step in folder.steps if step.name in mine and step.state == 'failed' and step.exit != 4]
    return VALID if not failed else INVALID if set(failed) & {VALID, INVALID} else ENVIRONMENT


def main(args: argparse.Namespace) -> int:
    options: Json = {name: getattr(args, name) for name in ('launcher', 'ranks', 'device', 'bindir') if getattr(args, name)}
    wanted = [papers.read(name) for name in (papers.names() if args.paper == 'all' else [args.paper])]
    made = plan.Plan(options)
    size = args.size or ('paper' if made.gpu else 'fits')
    into = args.into or f'rooftop-papers-{size}'
    mine = {name: text for paper in wanted for name, text in paper.steps(size, made.gpu).items()}
    if not mine:
        raise Fault(USAGE, f'{args.paper} has no runs of the size {size}')
    new = not Folder.is_one(into)
    options.update(also=mine, **({'base': False} if new else {}))
    if args.dry_run:
        return run.list_steps(into, options)
    if new or args.minutes != 0:
        folder = run.fill(into, options, args, f'rooftop reproduce {args.paper} --size {size} --into {shlex.quote(into)}')
        forget(folder, [step.name for step in folder.steps if step.name in mine and step.state == 'waiting'])
    folder = Folder.open(into)
    tried = {step.name for step in folder.steps if folder.whole(step) or step.state == 'failed'}
    left = [name for name in mine if name not in tried]
    for paper in wanted:
        lines = papers.lines(paper, folder, size)
        path = os.path.join(into, f'{paper.name}.md')
        disk.save_bytes(path, pages.markdown(paper, lines, folder).encode('utf-8', 'replace'))
        try:
            disk.save_bytes(f'{path[:-3]}.html', pages.html(paper, lines, folder).encode('utf-8', 'replace'))
            path = f'{path[:-3]}.html'
        except Fault as fault:
            cli.complain(str(fault))
        print(f'{paper.name}: {sum(bool(line.values) for line in lines)} of {len(lines)} rows: {path}')
    if left:
        print(f'{len(left)} runs are missing: {", ".join(left)}; the same command continues')
    return status_of(folder, mine)
