"""The section of an app in a report: ladder, roofline, noise, checks, convergence, picture, scaling, commands."""
import base64
import copy
import shlex
from collections.abc import Sequence
from typing import Optional

from . import USAGE, Fault, disk, picture, plots
from .evidence import Evidence
from .figures import DASH, Result, Rung, column, percent, scaled, share_text, short, time_unit
from .page import Html, details, facts, fill, inline, join, pre, table, verdict
from .phases import PARTS
from .results import Program, Scale

PURPOSES = {
    'nekbone': 'Poisson equation on spectral elements, conjugate gradients',
    'alya-rhs': 'right-hand side of the Navier-Stokes momentum equation on tetrahedra',
    'fun3d-mcpi': 'multicolour point-implicit sweeps of a block-sparse system',
    'gfnn-wave': "implicit elastic waves, preconditioned by a network of Green's functions"}
MOST_PICTURE = 8 << 20  # bytes of a file that is drawn for the page
CREDITED = 'GFlop/s of credited work'
SAME = 0.01  # two figures of one rung that differ by less agree
Columns = list[tuple[str, Sequence[object]]]
Series = dict[str, list[tuple[float, float]]]


def missing(what: str, command: str) -> Html:
    return fill('missing', text=fill('made', what=what, command=command))


def small(lines: Sequence[str]) -> Html:
    return join(fill('reason', text=line) for line in lines if line)


def power(rung: Rung) -> list[str]:
    """Returns watts, joules per unit, and GFlop/s of credited work per watt."""
    row = rung.row
    return [short(row.watts) if row.watts else DASH, f'{row.joules_per_unit:.3g}' if row.joules_per_unit else DASH,
            scaled(row.flop_per_joule)]


def powers(rungs: Sequence[Rung]) -> Columns:
    """Returns the columns of power(); none if nothing was read from a meter."""
    unit = rungs[0].unit if len({rung.unit for rung in rungs}) == 1 else 'unit'
    heads = ('W', f'J per {unit}', 'GFlop/s per W')
    return list(zip(heads, zip(*map(power, rungs)))) if any(rung.row.watts for rung in rungs) else []


def listed(columns: Columns, under: object = '', words: int = 1) -> Html:
    """Returns a table of columns. One that holds nothing but dashes is left out."""
    full = [(head, cells) for head, cells in columns if set(cells) - {DASH, ''}]
    words -= sum(not set(cells) - {DASH, ''} for _, cells in columns[:words])
    return table([head for head, _ in full], list(zip(*(cells for _, cells in full))), under, words)


# ---- Figures ----

class Figures:
    """Plots with their captions, counted. There is no caption without its plot. small: only in their narrow form."""

    def __init__(self, small: bool = False) -> None:
        self.plots, self.small = 0, small

    def figure(self, plot: str, caption: object) -> Html:
        self.plots += bool(plot)
        return fill('figure', drawing=Html(plot), caption=caption) if plot else Html()

    def climb(self, app: str, ladder: str, rungs: list[Rung], suffix: str) -> Html:
        timed = [(rung.fom, rung.name) for rung in rungs if rung.fom]
        gain: list[object] = []
        if timed and max(timed) != timed[0]:
            most, best = max(timed)
            gain = [f' From {timed[0][1]} to {best}: ', inline('b', f'{most / timed[0][0]:,.1f}×'), '.']
        plot = plots.climb(f'{app}-climb{suffix}', f'{app}{" " + ladder if ladder else ""}: the climb', rungs,
                           CREDITED, 1e9, self.small)
        return self.figure(plot, join([fill('of the climb'), *gain])) or fill(
            'missing', text=timed and plots.missing() or 'No rung here has a figure of merit, so there is no climb.')

    def rooflines(self, app: str, result: Result) -> Html:
        return join(self.roofline(app, result, processor) for processor in result.processors)

    def roofline(self, app: str, result: Result, processor: str) -> Html:
        plot, left_out = roofline(app, result, processor, self.small)
        tensor = any(r.row.arithmetic in ('fp16-tensor', 'mixed') for r in result.rungs
                     if r.name not in left_out and r.processor == processor == 'gpu')
        return self.figure(plot, join([
            fill('of a roofline', processor=processor.upper()), fill('of tensor cores') if tensor else '',
            f'Not shown, because they have no steady rate: {", ".join(left_out)}.' if left_out else ''], ' '))


def roofline(app: str, result: Result, processor: str, narrow: bool = False) -> tuple[str, list[str]]:
    """Returns the drawing, and the names of the rungs that are not in it."""
    rungs = [r for r in result.rungs if r.processor == processor]
    points = [plots.Dot(r.name, r.kind, r.ladder, r.intensity, r.flops / 1e9) for r in rungs
              if r.fom and r.intensity and r.flops]
    rate, how = result.bandwidth(processor)
    roofs = {'bandwidth': (f'{how} {scaled(rate)} GB/s', rate / 1e9)} if rate else {}
    for key in ('fp64', 'fp32'):
        value = result.fma(processor, key)
        if value:
            roofs[key] = (f'{key.upper()} FMA {scaled(value)}', value / 1e9)
    plot = plots.roofline(f'{app}-roofline-{processor}', f'{app}: the {processor.upper()} roofline', points, roofs,
                          narrow)
    shown = {point.name for point in points}
    return plot, [r.name for r in rungs if r.name not in shown]


# ---- The section ----

class Section:
    """What a report says of one app."""

    def __init__(self, app: str, evidence: Evidence, figures: Figures) -> None:
        self.app, self.evidence, self.figures = app, evidence, figures
        self.measured, self.ladder = (evidence.of[what].get(app) for what in ('measured', 'ladder'))

    def html(self) -> Html:
        if not self.evidence.results(self.app):
            step = self.evidence.step(self.app)
            command = f'rooftop run --into {self.evidence.here}' if step else \
                f'{self.app} --json {self.evidence.here}/{self.app}.json'
            body = missing(f'Any result of {self.app}', command)
        else:
            parts = (self.sheet, self.climb, self.rooflines, self.noise, self.validation, self.convergence)
            body = join((part() for part in parts), '\n')
        more = (self.picture, self.scaling, self.repeat, self.options)
        return fill('section', name=self.app, title=fill('app', app=self.app, purpose=PURPOSES[self.app]),
                    body=join([body, *(part() for part in more)], '\n'))

    def sheet(self) -> Html:
        """The facts of a measured run that the table of all apps does not have."""
        if not self.measured or not self.measured.rungs:
            return Html()
        rung, run = self.measured.rungs[0], self.evidence.run
        row, soak = rung.row, run.soak.get(self.app) if run else None
        scale, unit = time_unit([rung.seconds])
        windows = len(rung.windows)
        each = f', each of {short(row.timed_seconds / windows)} s' if row.timed_seconds and windows else ''
        return facts([
            (f'time per {rung.unit}', f'{short(rung.seconds / scale)} {unit}' if rung.seconds else ''),
            ('windows', f'{windows}{each}' if windows else ''),
            ('of ceilings', ', '.join(f'{percent(share)} of {what}' for share, what in rung.shares())),
            ('drift in the soak', percent(soak.drift) if soak else ''), ('meter of energy', row.energy_source),
            ('launch parameters', ', '.join(f'{name} {value}' for name, value in row.choice.items()))])

    # -- the ladder --

    def ladder_table(self, rungs: list[Rung]) -> Html:
        scale, unit = time_unit([r.seconds for r in rungs])
        alike = rungs[0].precision if len({r.precision for r in rungs}) == 1 else ''
        return listed([
            ('rung', [fill('rung', name=r.name, idea=r.idea) for r in rungs]),
            ('device', [plots.KINDS[r.kind] + r.serial for r in rungs]),
            ('precision', [DASH if alike else r.precision for r in rungs]),
            ('verdict', [join([verdict(r.verdict), small(r.row.disturbed)]) for r in rungs]),
            (f'{unit} per {rungs[0].unit}', column([r.seconds for r in rungs], scale)),
            ('spread', [percent(r.spread if len(r.windows) > 1 else None) for r in rungs]),
            ('FOM GFlop/s', column([r.fom for r in rungs], 1e9)),
            ('step over', [join([f'{r.step} ', inline('small', r.after)]) if r.step else DASH for r in rungs]),
            ('GB/s', column([r.bytes for r in rungs], 1e9)),
            ('of bandwidth', [share_text(r.share_bandwidth) for r in rungs]),
            ('GFlop/s', column([r.flops for r in rungs], 1e9)),
            ('of FMA', [share_text(r.share_flops) for r in rungs]), *powers(rungs)],
            join([fill('of the ladder'), alike and f'All rungs compute in {alike}.', self.agreement(rungs)], ' '),
            words=4)

    def agreement(self, rungs: list[Rung]) -> str:
        """Returns how the measured run of a rung differs from the ladder's, and why."""
        mine = self.measured.rungs[0] if self.measured and self.measured.rungs else None
        same = next((r for r in rungs if mine and r.name == mine.name), None)
        if not (mine and same and self.measured and self.ladder and mine.fom and same.fom):
            return ''
        ours, theirs = (result.program.options for result in (self.measured, self.ladder))
        other = [f'--{name}={theirs.get(name)}, not {ours[name]}' for name in ours if ours[name] != theirs.get(name)]
        if other:
            return f'The ladder was run with other options than the measured run ({"; ".join(other)}): do not compare ' \
                   f'their figures of {mine.name}.'
        off = same.fom / mine.fom - 1
        if abs(off) <= SAME:
            return f'The figure of {mine.name} is that of the measured run within {100 * SAME:.0f} %.'
        times = [f'for {short(r.row.timed_seconds)} s' if r.row.timed_seconds else f'in {len(r.windows)} windows'
                 for r in (same, mine)]
        return f'{mine.name} was timed {times[0]} here and {times[1]} in the measured run: {100 * off:+.1f} %. The ' \
               'longer one counts.'

    def climb(self) -> Html:
        if not self.ladder:
            command = f'{self.app} --ladder --json {self.evidence.here}/ladder-{self.app}.json'
            if self.evidence.step(f'ladder-{self.app}'):
                command = f'rooftop run --into {self.evidence.here}'
            return fill('part', title='The ladder', body=missing(f'The ladder of {self.app}', command))
        ladders = self.ladder.ladders()
        out = [fill('part', title=f'The ladder{": " + ladder if ladder else ""}', body=join([
            self.figures.climb(self.app, ladder, rungs, str(i) if len(ladders) > 1 else ''), self.ladder_table(rungs)],
            '\n')) for i, (ladder, rungs) in enumerate(ladders.items())]
        why: dict[str, list[str]] = {}
        for row in self.ladder.program.absent:
            why.setdefault(row.why, []).append(row.name)
        if why:
            rows = [[reason, ', '.join(names)] for reason, names in why.items()]
            out.append(details(f'What could not run here, and why ({len(self.ladder.program.absent)})',
                               table(['why', 'rungs'], rows, words=2)))
        return join(out, '\n')

    def rooflines(self) -> Html:
        result = self.ladder or self.measured
        if not result:
            return Html()
        names = (('copy_bytes_per_s', 'copy GB/s'), ('triad_bytes_per_s', 'triad GB/s'),
                 ('read_bytes_per_s', 'read GB/s'), ('update_bytes_per_s', 'update GB/s'),
                 ('fma64_flop_per_s', 'FP64 GFlop/s'), ('fma32_flop_per_s', 'FP32 GFlop/s'),
                 ('message_bytes_per_s', 'message GB/s'))
        rows = [(processor, row) for processor in ('cpu', 'gpu') for row in [result.ceilings(processor)] if row]
        if not rows:
            return fill('part', title='The roofline', body=fill(
                'missing', text='The ceilings are not in the file: run with --seconds above 0.'))
        ranks = result.program.ranks
        ceilings = listed([
            ('measured', [processor.upper() for processor, _ in rows]),
            ('working set', [f'{row.working_set_bytes / 2**20:,.1f} MiB' for _, row in rows]),
            *((head, [scaled(getattr(row, name)) for _, row in rows]) for name, head in names),
            ('samples', [str(row.samples or DASH) for _, row in rows]),
            ('spread', [percent(row.spread) for _, row in rows])],
            'The highest of all samples counts.' + (
                f' Values are of one of {ranks} ranks, all running at the same time.' if ranks > 1 else ''))
        return fill('part', title='The roofline', body=join([self.figures.rooflines(self.app, result),
                                                             details('The ceilings', ceilings)]))

    # -- noise, checks, convergence --

    def noise(self) -> Html:
        """The windows of the measured run, those of the peak run, and below those of the ladder."""
        rungs = []
        for what, store in self.evidence.of.items():
            for rung in store[self.app].rungs if self.app in store else ():
                rungs.append(copy.copy(rung))
                rungs[-1].name = rung.name if what == 'ladder' else f'{what} run'
        plot = plots.windows(f'{self.app}-noise', f'{self.app}: the timed windows', rungs)
        body = self.figures.figure(plot, fill('of the noise', spread=f'{plots.SPREAD:.0f}'))
        return fill('part', title='Noise', body=body) if body else Html()

    def validation(self) -> Html:
        out = []
        for what, title in (('measured', 'The measured run'), ('peak', 'The peak run'), ('ladder', 'The ladder')):
            result = self.evidence.of[what].get(self.app)
            rungs = result.rungs if result else []
            held = [check.held for rung in rungs for check in rung.row.checks]
            good = all(rung.row.right for rung in rungs)
            if rungs:
                said = join([f'{title}: {sum(held)} of {len(held)} checks held ', '' if good else verdict(result.program.verdict if result else '')])
                out.append(details(said, join(map(self.checks, rungs), '\n'), not good))
        return fill('part', title='Validation', body=join(out, '\n'))

    @staticmethod
    def checks(rung: Rung) -> Html:
        rows = [[check.name, f'{check.value:.2e}' if check.value is not None else DASH, f'{check.bound:.2e}',
                 'held' if check.held else inline('strong', 'not converged' if check.convergence else 'FAILED', 'flag')] for check in rung.row.checks]
        return details(join([f'{rung.name} ', verdict(rung.verdict)]), table(['check', 'value', 'bound', 'held'], rows),
                       not rung.row.right)

    def convergence(self) -> Html:
        series: Series = {}
        count, value = 'iteration', 'norm of the residual'
        for rung in [rung for result in self.evidence.results(self.app)[:1] for rung in result.rungs][:4]:
            if rung.row.residual_history:
                series[rung.name] = [(float(i), v) for i, v in enumerate(rung.row.residual_history)]
            elif rung.row.residuals:
                count, value = 'sweep', 'residual, of the right-hand side'
                series[rung.name] = [(float(row.sweep), row.residual) for row in rung.row.residuals]
            elif rung.row.steps:
                count, value = 'step', 'residual, of the first one'
                series[rung.name] = [(float(row.step), row.residual) for row in rung.row.steps]
        plot = plots.curves(f'{self.app}-history', f'{self.app}: the residual', series, count, value, log_y=True)
        return fill('part', title='Convergence', body=self.figures.figure(
            plot, f'The {value}, after each {count} of the timed solve.')) if plot else Html()

    # -- picture and scaling --

    def picture(self) -> Html:
        name = f'{self.app}-picture.vti'
        if name not in self.evidence.names:
            return Html()
        try:
            data = disk.read_bytes(self.evidence.file(name), follow=False)
            if len(data) > MOST_PICTURE:
                raise Fault(USAGE, f'larger than {MOST_PICTURE >> 20} MiB')
            drawn = picture.png(data)
        except (OSError, Fault) as error:
            return fill('part', title='Picture', body=fill(
                'missing', text=join([inline('code', name), f' is in the folder, and is not drawn here: {error}.'])))
        made = self.evidence.read(f'picture-{self.app}.json', Program)
        said = [f' {made.options.get("elements")} elements, {made.options.get("frequency")} Hz, after '
                f'{made.options.get("steps")} time steps of {made.options.get("dt")} s.'] if made else []
        return fill('part', title='Picture', body=fill(
            'picture', width=picture.WIDTH, height=picture.HEIGHT, what=fill('of the picture'), more=join(said),
            data=base64.b64encode(drawn).decode()))

    def scaling(self) -> Html:
        scales = self.evidence.scales.get(self.app, ())
        out = [self.scaling_of(i, name, scale) for i, (name, scale) in enumerate(scales)]
        return fill('part', title='Scaling', body=join(out, '\n')) if out else Html()

    def scaling_of(self, i: int, name: str, scale: Scale) -> Html:
        found = [(key, p) for key, points in (('strong', scale.strong), ('weak', scale.weak)) for p in points]
        rates: Series = {}
        efficiencies: Series = {}
        for key, p in found:
            if p.verdict == 'VALID' and p.fom_flop_per_s and p.efficiency:
                rates.setdefault(key, []).append((float(p.ranks), p.fom_flop_per_s / 1e9))
                efficiencies.setdefault(key, []).append((float(p.ranks), 100 * p.efficiency))
                if p.exposed_share is not None:
                    efficiencies.setdefault(f'{key}: not computing', []).append((float(p.ranks), 100 * p.exposed_share))
        for key, points in list(rates.items()):
            rates[f'{key}: ideal'] = [(ranks, points[0][1] / points[0][0] * ranks) for ranks, _ in points]
        drawn = join([self.figures.figure(
            plots.curves(f'{self.app}-rates{i}', f'{self.app}: scaling', rates, scale.over, 'GFlop/s', True, True),
            fill('of scaling', over=scale.over, name=name)), self.figures.figure(
            plots.curves(f'{self.app}-share{i}', f'{self.app}: efficiency', efficiencies, scale.over, '%', log_x=True),
            fill('of efficiency'))])
        why = ' '.join(f'{p.ranks} {scale.over}: {p.why}.' for _, p in found if p.why)
        return join([drawn, listed([
            ('kind', [key for key, _ in found]), ('verdict', [verdict(p.verdict or 'not run') for _, p in found]),
            (scale.over, [str(p.ranks) for _, p in found]),
            ('ms per unit', column([p.seconds_per_unit for _, p in found], 1e-3)),
            ('FOM GFlop/s', column([p.fom_flop_per_s for _, p in found], 1e9)),
            ('spread', [percent(p.spread) for _, p in found]),
            ('efficiency', [percent(p.efficiency) for _, p in found]),
            *((name, [percent(p.phases.get(name)) for _, p in found]) for name in PARTS)], why, words=2)], '\n')

    # -- commands --

    def repeat(self) -> Html:
        commands = {step.name: shlex.join(step.command) for step in self.evidence.steps if step.app == self.app}
        commands.update({f'scale-{self.app}': shlex.join(scale.command)
                         for _, scale in self.evidence.scales.get(self.app, ())})
        out = [join([inline('p', f'{name}:'), pre(command)]) for name, command in commands.items()]
        return fill('part', title='Repeat it', body=join(out, '\n')) if out else Html()

    def options(self) -> Html:
        result: Optional[Result] = next(iter(self.evidence.results(self.app)), None)
        if not result:
            return Html()
        rows = [(name, str(value)) for name, value in result.program.options.items()]
        return details(f'All {len(rows)} options of the problem', table(['option', 'value'], rows, words=2))
