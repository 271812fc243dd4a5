"""The section of an app in a report: ladder, roofline, noise, checks, picture, commands."""
import base64
import copy
import shlex
from collections.abc import Sequence
from typing import Optional

from .. import USAGE, Fault
from ..results import Program, disk, explain
from ..results.figures import DASH, Result, Rung, column, percent, scaled, share_text, short, time_unit
from . import picture, plots
from .evidence import Evidence
from .page import Columns, Markup, inline, join, listed, parts

PURPOSES = {
    'nekbone': 'Poisson equation on spectral elements, conjugate gradients',
    'alya-rhs': 'right-hand side of the Navier-Stokes momentum equation on tetrahedra',
    'fun3d-mcpi': 'multicolour point-implicit sweeps of a block-sparse system',
    'gfnn-wave': "implicit elastic waves, preconditioned by a network of Green's functions"}
MOST_PICTURE = 8 << 20  # bytes of a file that is drawn for the page


def powers(rungs: Sequence[Rung]) -> Columns:
    """Returns columns of watts, those of the idle machine, joules per unit, and GFlop/s of credited work per watt."""
    unit = rungs[0].unit if len({rung.unit for rung in rungs}) == 1 else 'unit'
    rows = [rung.row for rung in rungs]
    return [('W', [short(row.watts) if row.watts else DASH for row in rows]),
            ('idle W', [scaled(row.power('idle_watts'), 1) for row in rows]),
            (f'J per {unit}', [f'{row.joules_per_unit:.3g}' if row.joules_per_unit else DASH for row in rows]),
            ('GFlop/s per W', [scaled(row.flop_per_joule) for row in rows])]


# ---- Figures ----

def figure(plot: str, caption: object) -> Markup:
    """Returns a plot with its caption. There is no caption without its plot."""
    return Markup(parts.figure(Markup(plot), caption)) if plot else Markup()


def climb(app: str, ladder: str, rungs: list[Rung], suffix: str) -> Markup:
    timed = [(rung.fom, rung.name) for rung in rungs if rung.fom]
    (low, first), (high, best) = (timed[0], max(timed)) if timed else ((1.0, ''), (1.0, ''))
    plot = plots.climb(f'{app}-climb{suffix}', f'{app}{" " + ladder if ladder else ""}: the climb', rungs)
    return figure(plot, parts.of_climb(first, best, f'{high / low:,.1f}×' if high > low else '')) or Markup(
        parts.missing(timed and plots.missing() or 'No rung here has a figure of merit, so there is no climb.'))


def rooflines(app: str, result: Result) -> Markup:
    drawn = Markup()
    for processor in result.processors:
        plot, left_out = roofline(app, result, processor)
        tensor = any(r.row.arithmetic in ('fp16-tensor', 'mixed') for r in result.rungs
                     if r.name not in left_out and r.processor == processor == 'gpu')
        drawn += figure(plot, parts.of_roofline(processor.upper(), tensor, left_out))
    return drawn


def roofline(app: str, result: Result, processor: str) -> tuple[str, list[str]]:
    """Returns the drawing, and the names of the rungs that are not in it."""
    rungs = [r for r in result.rungs if r.processor == processor]
    shown = [r for r in rungs if r.fom and r.intensity]
    rate, how = result.bandwidth(processor)
    roofs = {'bandwidth': (f'{how} {scaled(rate)} GB/s', rate / 1e9)} if rate else {}
    for key in ('fp64', 'fp32'):
        value = result.fma(processor, key)
        if value:
            roofs[key] = (f'{key.upper()} FMA {scaled(value)}', value / 1e9)
    plot = plots.roofline(f'{app}-roofline-{processor}', f'{app}: the {processor.upper()} roofline', shown, roofs)
    return plot, [r.name for r in rungs if r not in shown]


# ---- The section ----

class Section:
    """What a report says of one app."""

    def __init__(self, app: str, evidence: Evidence) -> None:
        self.app, self.evidence = app, evidence
        self.measured, self.ladder = (evidence.of[what].get(app) for what in ('measured', 'ladder'))

    def html(self) -> Markup:
        shown = (self.sheet, self.climb, self.rooflines, self.budgets, self.noise, self.validation) if self.evidence.results(self.app) else ()
        body = join((part() for part in shown), '\n') or parts.missing(f'This folder has no result of {self.app}.')
        return join([body, self.picture(), self.repeat(), self.options()], '\n')

    def sheet(self) -> Markup:
        """The facts of a measured run that the table of all apps does not have."""
        if not self.measured or not self.measured.rungs:
            return Markup()
        rung = self.measured.rungs[0]
        row = rung.row
        scale, unit = time_unit([rung.seconds])
        windows = len(rung.windows)
        each = f', each of {short(row.timed_seconds / windows)} s' if row.timed_seconds and windows else ''
        return parts.facts([
            (f'time per {rung.unit}', f'{short(rung.seconds / scale)} {unit}' if rung.seconds else ''),
            ('windows', f'{windows}{each}' if windows else ''),
            ('set-up', f'{short(row.setup_seconds)} s' if row.setup_seconds else ''),
            ('of ceilings', ', '.join(f'{percent(share)} of {what}' for share, what in rung.shares())),
            ('meter of energy', row.power('source') + (
                f', {row.power("samples_per_s"):.2g} samples per s' if row.power('samples_per_s') else '')),
            ('launch parameters', ', '.join(f'{name} {value}' for name, value in row.choice.items()))])

    # -- the ladder --

    def ladder_table(self, rungs: list[Rung]) -> Markup:
        scale, unit = time_unit([r.seconds for r in rungs])
        units = rungs[0].row.units_per_solve
        setup, setup_unit = time_unit([r.row.setup_seconds for r in rungs])
        alike = rungs[0].precision if len({r.precision for r in rungs}) == 1 else ''
        return listed([
            ('rung', [parts.rung(r.name, r.idea) for r in rungs]),
            ('device', [plots.KINDS[r.kind] + r.serial for r in rungs]),
            ('precision', [DASH if alike else r.precision for r in rungs]),
            ('verdict', [join([parts.verdict(r.verdict), parts.reasons(r.row.disturbed)]) for r in rungs]),
            (f'{unit} per {rungs[0].unit}', column([r.seconds for r in rungs], scale)),
            ('spread', [percent(r.spread if len(r.windows) > 1 else None) for r in rungs]),
            ('FOM GFlop/s', column([r.fom for r in rungs], 1e9)),
            ('over 1 solve', column([r.foms[0] for r in rungs], 1e9)),
            ('100 solves', column([r.foms[1] for r in rungs], 1e9)),
            (f'set-up {setup_unit}', column([r.row.setup_seconds for r in rungs], setup)),
            ('step over', [join([f'{r.step} ', inline('small', r.after)]) if r.step else DASH for r in rungs]),
            ('GB/s', column([r.bytes for r in rungs], 1e9)),
            ('of bandwidth', [share_text(r.share_bandwidth) for r in rungs]),
            ('GFlop/s', column([r.flops for r in rungs], 1e9)),
            ('of FMA', [share_text(r.share_flops) for r in rungs]), *powers(rungs)],
            join([parts.of_ladder(), units and f'A solve has {units:g} units: {rungs[0].unit}.',
                  alike and f'All rungs compute in {alike}.'], ' '),
            words=4)

    def climb(self) -> Markup:
        if not self.ladder:
            return parts.part('The ladder', parts.missing(f'This folder has no ladder of {self.app}.'))
        ladders = self.ladder.ladders()
        out = [parts.part(f'The ladder{": " + ladder if ladder else ""}', join([
            climb(self.app, ladder, rungs, str(i) if len(ladders) > 1 else ''), self.ladder_table(rungs)],
            '\n')) for i, (ladder, rungs) in enumerate(ladders.items())]
        why: dict[str, list[str]] = {}
        for row in self.ladder.program.absent:
            why.setdefault(row.why, []).append(row.name)
        if why:
            rows = [[reason, ', '.join(names)] for reason, names in why.items()]
            out.append(parts.details(f'What could not run here, and why ({len(self.ladder.program.absent)})',
                               parts.table(['why', 'rungs'], rows, words=2)))
        return join(out, '\n')

    def rooflines(self) -> Markup:
        result = self.ladder or self.measured
        if not result:
            return Markup()
        names = (('copy_bytes_per_s', 'copy GB/s'), ('triad_bytes_per_s', 'triad GB/s'),
                 ('read_bytes_per_s', 'read GB/s'), ('update_bytes_per_s', 'update GB/s'),
                 ('fma64_flop_per_s', 'FP64 GFlop/s'), ('fma32_flop_per_s', 'FP32 GFlop/s'),
                 ('message_bytes_per_s', 'message GB/s'))
        rows = [(processor, row) for processor in ('cpu', 'gpu') for row in [result.ceilings(processor)] if row]
        if not rows:
            return parts.part('The roofline', parts.missing(
                'The ceilings are not in the file: run with --seconds above 0.'))
        ranks = result.program.ranks
        ceilings = listed([
            ('measured', [processor.upper() for processor, _ in rows]),
            ('working set', [f'{row.working_set_bytes / 2**20:,.1f} MiB' for _, row in rows]),
            *((head, [scaled(getattr(row, name)) for _, row in rows]) for name, head in names),
            ('samples', [str(row.samples or DASH) for _, row in rows]),
            ('spread', [percent(row.spread) for _, row in rows])],
            'The highest of all samples counts.' + (
                f' Values are of one of {ranks} ranks, all running at the same time.' if ranks > 1 else ''))
        return parts.part('The roofline', join([rooflines(self.app, result), parts.details('The ceilings', ceilings)]))

    def budgets(self) -> Markup:
        """Where the time goes, if the programs said their work by kernels."""
        result = self.ladder or self.measured
        found = explain.budgets_of(result.rungs, result) if result else []
        body = figure(plots.budget(f'{self.app}-budget', f'{self.app}: where the time goes', found), parts.of_budget())
        table = parts.pre('\n\n'.join('\n'.join(explain.said(one)) for one in found))
        return parts.part('Where the time goes', join([body, parts.details('By kernels', table)])) if found else Markup()

    # -- noise, checks --

    def noise(self) -> Markup:
        """The windows of the measured run, those of the peak run, and below those of the ladder."""
        rungs = []
        for what, store in self.evidence.of.items():
            for rung in store[self.app].rungs if self.app in store else ():
                rungs.append(copy.copy(rung))
                rungs[-1].name = rung.name if what == 'ladder' else f'{what} run'
        plot = plots.windows(f'{self.app}-noise', f'{self.app}: the timed windows', rungs)
        body = figure(plot, parts.of_noise(f'{plots.SPREAD:.0f}'))
        return parts.part('Noise', body) if body else Markup()

    def validation(self) -> Markup:
        out = []
        for what, title in (('measured', 'The measured run'), ('peak', 'The peak run'), ('ladder', 'The ladder')):
            result = self.evidence.of[what].get(self.app)
            rungs = result.rungs if result else []
            held = [check.held for rung in rungs for check in rung.row.checks]
            good = all(rung.row.right for rung in rungs)
            if rungs:
                said = join([f'{title}: {sum(held)} of {len(held)} checks held ', '' if good else parts.verdict(result.program.verdict if result else '')])
                out.append(parts.details(said, join(map(self.checks, rungs), '\n'), not good))
        return parts.part('Validation', join(out, '\n'))

    @staticmethod
    def checks(rung: Rung) -> Markup:
        rows = [[check.name, f'{check.value:.2e}' if check.value is not None else DASH, f'{check.bound:.2e}',
                 'held' if check.held else parts.flag('not converged' if check.convergence else 'FAILED')] for check in rung.row.checks]
        return parts.details(join([f'{rung.name} ', parts.verdict(rung.verdict)]), parts.table(['check', 'value', 'bound', 'held'], rows),
                       not rung.row.right)

    # -- picture --

    def picture(self) -> Markup:
        names = [f'{self.app}-picture.{end}' for end in ('vti', 'vtu')]
        name = next((name for name in names if disk.exists(self.evidence.file(name))), '')
        if not name:
            return Markup()
        try:
            data = disk.read_bytes(self.evidence.file(name))
            if len(data) > MOST_PICTURE:
                raise Fault(USAGE, f'larger than {MOST_PICTURE >> 20} MiB')
            drawn = picture.png(data)
        except (OSError, Fault) as error:
            return parts.part('Picture', parts.missing(
                join([inline('code', name), f' is in the folder, and is not drawn here: {error}.'])))
        made = self.evidence.files.get(f'picture-{self.app}.json')
        options = made.record.options if made and isinstance(made.record, Program) else {}
        return parts.part('Picture', parts.picture(self.app, picture.WIDTH, picture.HEIGHT, options,
                                                   base64.b64encode(drawn).decode()))

    # -- commands --

    def repeat(self) -> Markup:
        commands = {step.name: shlex.join(step.command) for step in self.evidence.run.steps if step.app == self.app}
        out = [join([inline('p', f'{name}:'), parts.pre(command)]) for name, command in commands.items()]
        return parts.part('Repeat it', join(out, '\n')) if out else Markup()

    def options(self) -> Markup:
        result: Optional[Result] = next(iter(self.evidence.results(self.app)), None)
        if not result:
            return Markup()
        rows = [(name, str(value)) for name, value in result.program.options.items()]
        return parts.details(f'All {len(rows)} options of the problem', parts.table(['option', 'value'], rows, words=2))
