"""`rooftop report DIR`: a result folder as one HTML file that needs nothing else: no network, no script.

It reads run.json and the files that it names, any of which may be missing, and the picture. A result file is not
trusted: what does not count is not shown, but named, and every text is escaped. Numbers come from the programs' own
files, never from the summary.

`rooftop report LADDER.json` draws the picture of a ladder instead: the climb and the roofline, as an SVG file; of several
results it draws where the time of their rungs goes.
"""
import argparse
import os
import statistics
from collections.abc import Sequence

from .. import ENVIRONMENT, USAGE, VALID, Fault, results
from ..results import Program, disk, explain
from ..results.collect import kind_of
from ..results.figures import DASH, Result, Rung, percent, scaled, short
from . import plots
from .evidence import Evidence
from .page import Markup, inline, join, listed, parts, render
from .sections import PURPOSES, Section, powers, roofline

BUILD = ('cpu', 'threads', 'gpu', 'mpi', 'kokkos', 'kokkos_backend', 'compiler', 'flags')  # of a program's result


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('folder', metavar='DIR', help='of rooftop run, or an archive of one; or the JSON of a ladder, for its picture')
    parser.add_argument('more', metavar='JSON', nargs='*', help='with the JSON of a ladder, and --output: a picture of the times '
                        'of all their rungs')
    parser.add_argument('--output', metavar='FILE', help='the page (default DIR/report.html; of an archive '
                        'ARCHIVE.html, of a ladder LADDER.svg)')


def main(args: argparse.Namespace) -> int:
    """Returns VALID once the page is written, whatever verdict is in it."""
    if args.more:
        return times([args.folder, *args.more], args.output)
    if os.path.isfile(args.folder) and not disk.is_archive(args.folder):
        return picture(args.folder, args.output)
    evidence = Evidence(args.folder)
    if evidence.run.steps and not any(map(kind_of, evidence.run.steps)):
        raise Fault(USAGE, f'{args.folder}: no run of an app in it: rooftop reproduce makes the pages of papers, table shows rungs')
    page = Report(evidence).page()
    path = args.output or (f'{args.folder}.html' if disk.is_archive(args.folder) else os.path.join(args.folder, 'report.html'))
    disk.save_bytes(path, page.encode('utf-8', 'replace'))
    print(f'report: {path}; {page.count(plots.BEGIN)} plots')
    return VALID


def picture(name: str, output: str) -> int:
    """Writes the picture of a ladder."""
    program = results.load(name, Program)
    path, result = output or os.path.splitext(name)[0] + '.svg', Result(program)
    chip = program.gpu if result.processors == ['gpu'] else program.cpu if result.processors == ['cpu'] else \
        f'{program.gpu}, {program.cpu}'
    panels: list[tuple[str, str]] = []
    for ladder, rungs in result.ladders().items():
        panels.append((f'The ladder{" " + ladder if ladder else ""}: {program.program}, {chip}, {program.date[:10]}',
                       plots.climb(f'climb{len(panels)}', f'The ladder of {program.program}', rungs)))
    for processor in result.processors:
        panels.append((f'The roofline of the {processor.upper()}, by the ceilings of the job',
                       roofline(program.program, result, processor)[0]))
    panels.append(('Where the time goes, by least work and these ceilings',
                   plots.budget('budget', f'{program.program}: where the time goes', explain.budgets_of(result.rungs, result))))
    return drawn(path, panels, f'{name}: no rung in it has a steady rate, so there is nothing to draw')


def times(names: list[str], output: str) -> int:
    """Writes a picture of where the time of the rungs of several results goes."""
    if not output:
        raise Fault(USAGE, f'{len(names)} results: say with --output where their picture is to be')
    budgets, chips = list[explain.Budget](), set[str]()
    for name in names:
        result, found = explain.budgets(name, None)
        for one in found:
            one.name = f'{result.program.program} {one.name}'
            chips.add(result.program.gpu if one.rung.processor == 'gpu' else result.program.cpu)
        budgets += found
    title = f'Where the time goes: {", ".join(sorted(chips))}'
    return drawn(output, [(title, plots.budget('budget', title, budgets))], '')


def drawn(path: str, panels: list[tuple[str, str]], why: str) -> int:
    """Writes the picture of panels that are drawn; if none is, says why."""
    panels = [(heading, drawing) for heading, drawing in panels if drawing]
    if not panels:
        if plots.missing():
            return ENVIRONMENT
        raise Fault(USAGE, why)
    disk.save_bytes(path, plots.svg_file(*panels).encode('utf-8', 'replace'))
    print(f'picture: {path}; {len(panels)} plots')
    return VALID


def in_words(value: object, depth: int = 3) -> str:
    """Returns members with their names; what lies deeper is left out."""
    if isinstance(value, (dict, list)) and depth == 0:
        return '…'
    if isinstance(value, dict):
        return ', '.join(f'{name} {in_words(member, depth - 1)}' for name, member in value.items())
    return ', '.join(in_words(member, depth - 1) for member in value) if isinstance(value, list) else str(value)


def solve_row(program: Program, rung: Rung) -> list[str]:
    """Returns the row of a solve. gfnn-wave has options of precision, that of the network only if there is one."""
    row, options = rung.row, program.options
    asked = ('vectors', 'precision') if row.preconditioner.startswith('gf') else ('vectors',)
    precision = ', '.join(f'{name} {options[name]}' for name in asked if name in options) or rung.precision
    words = [program.program, rung.name, row.preconditioner, precision, str(options['tolerance'])]
    numbers = (statistics.mean(row.iterations), rung.seconds or 0.0, row.joules_per_unit or 0.0, row.watts or 0.0)
    return [*words, *map(short, numbers), row.power('source')]


class Report:
    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        # (app, or app and peak; result)
        self.lines = [(f'{app}{", peak" if what == "peak" else ""}', app, evidence.of[what][app])
                      for app in evidence.apps for what in ('measured', 'peak') if app in evidence.of[what]]
        self.lines = [line for line in self.lines if line[2].rungs]

    # -- all apps --

    def headline(self) -> Markup:
        run = self.evidence.run
        without = [app for app in self.evidence.apps if app not in {app for _, app, _ in self.lines}]
        rungs = [result.rungs[0] for _, _, result in self.lines]
        shares = [rung.shares() if rung.fom else [] for rung in rungs]
        declared = [run.peak[app].declared if name != app and app in run.peak else '' for name, app, _ in self.lines]
        rows = listed([
            ('app', [parts.link(app, name) for name, app, _ in self.lines]),
            ('rung', [join([rung.name, parts.reasons([said])]) for rung, said in zip(rungs, declared)]),
            ('precision', [rung.precision or DASH for rung in rungs]),
            ('verdict', [join([parts.verdict(rung.verdict), parts.reasons(rung.row.disturbed)]) for rung in rungs]),
            ('GFlop/s', [inline('b', scaled(rung.fom)) if rung.fom else DASH for rung in rungs]),
            ('over 1 solve', [scaled(rung.foms[0]) for rung in rungs]),
            ('100 solves', [scaled(rung.foms[1]) for rung in rungs]),
            ('spread', [percent(rung.spread if len(rung.windows) > 1 else None) for rung in rungs]),
            ('share of ceiling', [f'{percent(s[0][0])} of {s[0][1]}' if s else DASH for s in shares]),
            *powers(rungs)],
            parts.of_headline(), words=4) if rungs else Markup()
        return join([rows, parts.missing(f'Not measured: {", ".join(without)}.') if without else ''])

    def solves(self) -> Markup:
        """Joules per solve, of all results of the folder that have a solve to a tolerance and its energy."""
        programs = [file.record for file in self.evidence.files.values() if isinstance(file.record, Program)]
        rows = [solve_row(program, rung) for program in programs if 'tolerance' in program.options
                for rung in Result(program).rungs if rung.fom and rung.row.iterations and rung.row.joules_per_unit]
        heads = ['app', 'rung', 'preconditioner', 'precision', 'tolerance', 'iterations', 's per solve', 'J per solve', 'W', 'meter']
        return Markup(parts.part('Joules per solve', parts.table(heads, rows, parts.of_solves(), words=5))) if rows else Markup()

    def about(self) -> Markup:
        run = self.evidence.run
        source = run.source
        spent = sum(step.seconds or 0 for step in run.steps)
        return parts.facts([
            ('size', run.size), ('official', 'yes' if run.official else 'no'),
            ('nonce', inline('code', run.nonce) if run.nonce else 'none'), ('seed', str(run.seed)),
            ('ranks', str(run.ranks)), ('launcher', ' '.join(run.launcher)),
            ('version', source.version),
            ('commit', inline('code', source.commit[:12]) if source.commit else ''),
            ('changed files', ', '.join(source.changed)), ('started', run.started), ('finished', run.finished),
            ('running time', f'{spent:,.0f} s' if spent else '')])

    # -- the machine --

    def environment(self) -> list[tuple[str, str]]:
        """Returns what the programs say of themselves and their machine, with all that they say where they differ, and then what
        the suite found out about the machine, without what the programs said already."""
        rows = [(name.replace('_', ' '), '; '.join(dict.fromkeys(str(getattr(result.program, name)) or 'none'
                                                                 for result in self.evidence.all()))) for name in BUILD]
        there = dict(self.evidence.run.environment)
        memory, stolen, gpus, variables = (there.pop(name, None) for name in ('memory_bytes', 'stolen', 'gpus', 'variables'))
        rows += [(name, in_words(value)) for name, value in there.items() if name not in ('host', 'cpu', 'mpi')]
        rows.append(('memory', f'{memory / 2**30:.1f} GiB' if isinstance(memory, (int, float)) else ''))
        rows.append(('taken by the hypervisor', f'{100 * stolen:.1f} %' if isinstance(stolen, (int, float)) else ''))
        rows += [(f'GPU {i}', in_words(gpu)) for i, gpu in enumerate(gpus if isinstance(gpus, list) else [])]
        rows.append(('variables', ' '.join(f'{name}={value}' for name, value in variables.items())
                     if isinstance(variables, dict) else ''))
        return [(name, value) for name, value in rows if value not in ('', 'none')]

    def page(self) -> str:
        evidence, every, run = self.evidence, self.evidence.all(), self.evidence.run
        apps = evidence.apps
        sections = {app: Section(app, evidence).html() for app in apps}
        used: Sequence[Result] = [result for _, _, result in self.lines] or every
        chips = sorted({getattr(result.program, chip) for result in used for chip in result.processors} - {''})
        lead = [', '.join(sorted({result.program.host for result in every})), f'size {run.size}',
                'official' if run.official else '', run.started, parts.verdict(evidence.verdict())]
        on = ' and '.join(chips)
        title = f'Rooftop on {on}' if on else 'Rooftop'
        return render('report.html', title=title, lead=join(lead, ' · '), sections=sections,
                      headline=self.headline(), solves=self.solves(), about=self.about(), flags=evidence.flags, folder=evidence.here,
                      purposes=PURPOSES, environment=self.environment())
