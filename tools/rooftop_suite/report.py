"""`rooftop report DIR`: a result folder as one HTML file that needs nothing else: no network, no script.

It reads what `rooftop run` writes (run.json, APP.json, ladder-APP.json, pictures) and scale-*.json of `rooftop scale`.
Any part may be missing: the report then names the command that makes it. A result file is not trusted: every text is
escaped and every number is checked to be one. Numbers come from the programs' own files, never from the summary.
"""
import argparse
import base64
import hashlib
import copy
import math
import os
import re
import shlex
import statistics
import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

from . import ENVIRONMENT, VALID, Fault, Json, judge, plots, results
from .page import Html, attribute, details, document, facts, fill, inline, join, link, pre, table, verdict
from .results import APPS, Mismatch, Program

PURPOSES = {
    'nekbone': 'Poisson equation on spectral elements, conjugate gradients',
    'alya-rhs': 'right-hand side of the Navier-Stokes momentum equation on tetrahedra',
    'fun3d-mcpi': 'multicolour point-implicit sweeps of a block-sparse system',
    'gfnn-wave': "implicit elastic waves, preconditioned by a network of Green's functions"}
PICTURES = {'gfnn-wave': 'The wave: size of the displacement in a slice through the head, over its tissues. It should '
                         'spread from one point, bend at the skull and be smooth where the tissue is.',
            'alya-rhs': 'The flow: speed of the wind in a vertical slice. It should be slow behind the hill and on '
                        'the ground, and uniform high above.'}
MOST_PICTURE = 8 << 20  # bytes of a picture that is put into the page
BEYOND = 1.02  # of a ceiling: more is not plausible
CREDITED = 'GFlop/s of credited work'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('folder', metavar='DIR', help='of rooftop run')
    parser.add_argument('--output', metavar='FILE', help='the page (default DIR/report.html)')


def main(args: argparse.Namespace) -> int:
    """Returns VALID once the page is written, whatever verdict is in it."""
    folder = Folder(args.folder)
    path = args.output or os.path.join(args.folder, 'report.html')
    report = Report(folder)
    results.save_bytes(path, report.page().encode('utf-8', 'replace'))
    print(f'report: {path}; {plots.count_of(report.figures.plots)}')
    return VALID


# ---- Reading what cannot be trusted ----

def number(value: Any) -> Optional[float]:
    """Returns a finite number, or None."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300 and value == value
    return float(value) if good else None


def text(value: Any) -> str:
    """Returns text without invisible characters: controls, surrogates, marks that change the writing direction."""
    value = value if isinstance(value, str) else '' if value is None else str(value)
    return ''.join(c if unicodedata.category(c) not in ('Cc', 'Cf', 'Cs') or c == '\n' else '\ufffd' for c in value)


def members(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Json]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def words(value: Any) -> list[str]:
    return [text(word) for word in value] if isinstance(value, list) else []


class Rung:
    """A rung of a result. Rates are of all ranks; shares are of what the processors of all ranks can do."""

    def __init__(self, row: Json, result: Json) -> None:
        self.row = row
        self.name, self.kind = text(row.get('name')), text(row.get('kind'))
        self.kind = self.kind if self.kind in plots.KINDS else 'cpu'
        self.ladder, self.after, self.idea = (text(row.get(key)) for key in ('ladder', 'after', 'idea'))
        self.verdict = text(row.get('verdict'))
        self.valid, self.right = self.verdict == 'VALID', self.verdict in ('VALID', 'UNSTEADY')
        self.checks = items(row.get('checks'))
        self.unit = text(row.get('unit')) or 'unit'
        self.seconds, self.spread, self.energy = (number(row.get(key)) for key in (
            'seconds_per_unit', 'spread', 'energy_joules'))
        self.fom = number(row.get('fom_flop_per_s'))
        work = (number(row.get(key)) for key in ('bytes_per_unit', 'flop_per_unit'))
        self.bytes, self.flops = (one / self.seconds if one and self.seconds else None for one in work)
        windows = row.get('window_seconds')
        self.windows = [s for s in map(number, windows if isinstance(windows, list) else ()) if s and s > 0]
        self.arithmetic = text(row.get('arithmetic'))
        gpu_kokkos = re.match('cuda|hip|sycl', text(result.get('kokkos_backend')).lower())
        self.processor = 'gpu' if self.kind == 'cuda' or self.kind == 'kokkos' and gpu_kokkos else 'cpu'
        self.step = ''
        self.share_bandwidth: Optional[float] = None
        self.share_flops: Optional[float] = None

    @property
    def intensity(self) -> Optional[float]:
        return self.flops / self.bytes if self.flops and self.bytes else None

    @property
    def rate(self) -> Optional[float]:
        return self.flops / 1e9 if self.flops else None

    @property
    def noisy(self) -> bool:
        return bool(self.spread and 100 * self.spread > plots.NOISY)

    def shares(self) -> list[tuple[float, str]]:
        """Returns [(share, of what)], the nearest ceiling first."""
        named = {'fp64': 'FP64 FMA', 'fp32': 'FP32 FMA'}.get(self.arithmetic, 'FMA')
        both = [(self.share_bandwidth, 'bandwidth'), (self.share_flops, named)]
        return sorted([(share, what) for share, what in both if share], reverse=True)


class Result:
    """A program's JSON: its rungs in order, and the ceilings of its job."""

    def __init__(self, value: Json) -> None:
        self.value = value
        self.ranks = max(1, int(number(value.get('ranks')) or 1))
        self.rungs = [Rung(row, value) for row in items(value.get('rungs'))]
        self.absent = items(value.get('absent'))
        self.verdict = text(value.get('verdict'))
        self.right = self.verdict in ('VALID', 'UNSTEADY')
        by_name = {rung.name: rung for rung in self.rungs}
        for rung in self.rungs:
            before = by_name.get(rung.after)
            if before and before.seconds and rung.seconds:
                ratio = before.seconds / rung.seconds
                rung.step = f'{ratio:.2f}×' if ratio < 10 else f'{ratio:,.1f}×'
            self.fill_shares(rung)

    def measured(self, processor: str) -> dict[str, float]:
        """Returns {name: number} of the ceilings of a processor, of one rank."""
        row = members(self.value.get(f'ceilings_{processor}'))
        found = {key: number(value) for key, value in row.items()}
        return {key: value for key, value in found.items() if value}

    def ceiling(self, processor: str, *names: str) -> tuple[Optional[float], str]:
        """Returns the highest of these in this job, those that were measured again for a rung included. Of all ranks;
        (value, name), or (None, '')."""
        rows = [self.measured(processor)]
        rows += [members(r.row.get('ceilings_again')) for r in self.rungs if r.processor == processor]
        found = [(number(row.get(f'{name}_per_s')), name) for row in rows for name in names]
        value, name = max([(value, name) for value, name in found if value], default=(0.0, ''))
        return (value * self.ranks, name) if value else (None, '')

    def bandwidth(self, processor: str) -> tuple[Optional[float], str]:
        return self.ceiling(processor, 'copy_bytes', 'triad_bytes', 'read_bytes')

    def fill_shares(self, rung: Rung) -> None:
        bandwidth, _ = self.bandwidth(rung.processor)
        if bandwidth and rung.bytes:
            rung.share_bandwidth = rung.bytes / bandwidth
        fma, _ = self.ceiling(rung.processor, {'fp64': 'fma64_flop', 'fp32': 'fma32_flop'}.get(rung.arithmetic, ''))
        if fma and rung.flops:
            rung.share_flops = rung.flops / fma

    @property
    def processors(self) -> list[str]:
        return [p for p in ('cpu', 'gpu') if any(rung.processor == p for rung in self.rungs)]

    def ladders(self) -> dict[str, list[Rung]]:
        """Returns {name: rungs}, in order."""
        found: dict[str, list[Rung]] = {}
        for rung in self.rungs:
            found.setdefault(rung.ladder, []).append(rung)
        return found


class Point:
    """A point of a scaling curve."""

    def __init__(self, row: Json) -> None:
        ranks, self.fom, self.efficiency, self.seconds = (number(row.get(key)) for key in (
            'ranks', 'fom_flop_per_s', 'efficiency', 'seconds_per_unit'))
        self.exposed, self.spread, self.why = number(row.get('exposed_share')), number(row.get('spread')), text(
            row.get('why'))
        self.verdict = text(row.get('verdict')) or 'INVALID'
        self.valid = self.verdict == 'VALID'
        self.whole = bool(ranks and ranks >= 1 and self.fom and self.fom > 0 and self.efficiency)
        self.ranks = int(ranks or 0)


class Flag(NamedTuple):
    """What a reader must know. bad: it makes the numbers worthless."""
    bad: bool
    text: str


def faults_of(value: Json) -> Optional[str]:
    """Returns what a program's result says wrongly of itself, the first of it."""
    try:
        faults = judge.judge_program(Program.from_json(value))
    except Mismatch as mismatch:
        return f'{mismatch}'
    more = f'; and {len(faults) - 3} more' if len(faults) > 3 else ''
    return '; '.join(faults[:3]) + more if faults else None


class Folder:
    """The files of a result folder, and what is wrong with them."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.flags: list[Flag] = []
        if not os.path.isdir(path):
            raise Fault(ENVIRONMENT, f'{path}: no such folder')
        self.manifest = self.read('run.json') or {}
        self.steps = items(self.manifest.get('steps'))
        self.measured: dict[str, Result] = {}
        self.ladders: dict[str, Result] = {}
        for app in APPS:
            for store, name in ((self.measured, app), (self.ladders, f'ladder-{app}')):
                value = self.read(f'{name}.json', program=True)
                if value is not None:
                    store[app] = Result(value)
                    store[app].right &= not any(bad and said.startswith(f'{name}.json:') for bad, said in self.flags)
        self.scales: dict[str, list[tuple[str, Json]]] = {}
        for name in sorted(os.listdir(path)):
            if re.fullmatch(r'scale-.*\.json', name):
                value = self.read(name) or {}
                self.scales.setdefault(text(value.get('app')), []).append((name, value))
        if not (self.manifest or self.measured or self.ladders):
            raise Fault(ENVIRONMENT, f'{path}: no results in it: rooftop run --into {shlex.quote(path)} makes them')

    def file(self, name: str) -> str:
        return os.path.join(self.path, name)

    def read(self, name: str, program: bool = False) -> Optional[Json]:
        """Returns a JSON file's object, or None; what is wrong with it becomes a flag."""
        if not os.path.exists(self.file(name)):
            return None
        try:
            data, value = results.parse(self.file(name), follow=False)
        except Fault as fault:
            self.flags.append(Flag(True, str(fault)))
            return None
        seal = results.seal_holds(data, text(value.get('nonce')))
        if seal is False:
            self.flags.append(Flag(True, f'{name}: its seal does not hold: the file was changed after it was written.'))
        elif seal is None:
            self.flags.append(Flag(False, f'{name}: has no seal: it is not known whether it was changed.'))
        wrong = faults_of(value) if program and 'schema' in value else None
        self.flags += [Flag(True, f'{name}: {wrong}.')] if wrong else []
        step = next((step for step in items(self.manifest.get('steps')) if step.get('json') == name), {}) \
            if name != 'run.json' else {}
        if step.get('state') == 'done' and step.get('sha256') != hashlib.sha256(data).hexdigest():
            self.flags.append(Flag(True, f'{name}: not the file that the run wrote.'))
        return value

    def pictures(self, app: str) -> list[str]:
        return [name for name in sorted(os.listdir(self.path)) if name.startswith(f'{app}-picture.')]

    def step(self, name: str) -> Optional[Json]:
        return next((step for step in self.steps if step.get('name') == name), None)

    def results(self, app: str) -> list[Result]:
        """Returns the measured run and the ladder of an app, as far as they are there."""
        return [store[app] for store in (self.measured, self.ladders) if app in store]

    def apps(self) -> list[str]:
        """Returns the apps of the run, and those with any file, even a broken one; all, if there is no manifest."""
        return [app for app in APPS if not self.manifest or self.pictures(app) or
                any(step.get('app') == app for step in self.steps) or
                any(os.path.exists(self.file(f'{kind}{app}.json')) for kind in ('', 'ladder-'))]


# ---- Numbers as text ----

def decimals(values: list[Optional[float]]) -> int:
    """Returns as many decimals as give the smallest value three figures, and the largest at most five."""
    good = [abs(v) for v in values if v]
    if not good:
        return 0
    most = 0 if max(good) >= 1e4 else 1 if max(good) >= 100 else 3
    return max(0, min(most, 2 - math.floor(math.log10(min(good)))))


def column(values: list[Optional[float]]) -> list[str]:
    """Returns numbers with the same decimals; a dash for none."""
    places = decimals(values)
    return ['–' if v is None else f'{v:,.{places}f}' for v in values]


def over(value: Optional[float], scale: float) -> Optional[float]:
    return value and value / scale


def percent(share: Optional[float], places: int = 1) -> str:
    return '–' if share is None else f'{100 * share:.{places}f}\u00a0%'


def time_unit(values: list[Optional[float]]) -> tuple[float, str]:
    good = [v for v in values if v]
    middle = statistics.median(good) if good else 1
    return next((scale, name) for scale, name in ((1, 's'), (1e-3, 'ms'), (1e-6, 'µs'), (1e-9, 'ns'))
                if middle >= scale or scale == 1e-9)


def fom(rung: Rung) -> str:
    return plots.figures(rung.fom / 1e9) if rung.fom else '–'


def scientific(value: Any) -> str:
    value = number(value)
    return '–' if value is None else '0' if value == 0 else f'{value:.2e}'


def spread_of(rung: Rung) -> Html:
    return inline('span', percent(rung.spread), 'flag' if rung.noisy else '')


def flatten(value: Any, path: str = '') -> list[tuple[str, str]]:
    """Returns [(name, text)] of nested members."""
    if isinstance(value, dict):
        return [pair for key, member in value.items() for pair in
                flatten(member, f'{path} {text(key)}'.strip())]
    if isinstance(value, list):
        if all(not isinstance(member, (dict, list)) for member in value):
            return [(path, ', '.join(map(text, value)))]
        return [pair for i, member in enumerate(value) for pair in flatten(member, f'{path} {i}'.strip())]
    shown = ('yes' if value else 'no') if isinstance(value, bool) else \
        f'{value:.6g}' if isinstance(value, float) else text(value)
    return [(path, shown)] if shown else []


def missing(what: str, command: str) -> Html:
    return fill('missing', text=fill('made', what=what, command=command))


def rebuilt(result: Result) -> str:
    """Returns the command of a result, from what it says about itself."""
    value = result.value
    command = [text(value.get('program'))]
    command += [f'--{name}={shown}' for name, shown in flatten(members(value.get('options')))]
    command.append(f'--rung={result.rungs[0].name}' if len(result.rungs) == 1 else '--ladder')
    if number(value.get('threads')):
        command.append(f'--threads={value["threads"]}')
    ranks = ['mpirun', '-n', str(result.ranks)] if result.ranks > 1 else []
    return shlex.join(ranks + command)


# ---- Figures ----

def png_size(data: bytes) -> tuple[int, int]:
    """Returns width and height of a PNG file; ValueError says what is wrong."""
    if data[:8] != b'\x89PNG\r\n\x1a\n':
        raise ValueError('not a PNG file')
    if data[12:16] != b'IHDR' or data[-8:-4] != b'IEND':
        raise ValueError('not a whole PNG file')
    return int.from_bytes(data[16:20], 'big'), int.from_bytes(data[20:24], 'big')


class Figures:
    """Plots with their captions, counted."""

    def __init__(self) -> None:
        self.plots = 0

    def figure(self, svg: Optional[str], caption: object) -> Html:
        if svg:
            self.plots += 1
            return fill('figure', drawing=Html(svg), caption=caption)
        why = 'the files have nothing to draw' if plots.matplotlib() else plots.MISSING
        return fill('without', why=why, caption=caption)

    def climb(self, app: str, ladder: str, rungs: list[Rung], suffix: str) -> Html:
        timed = [(rung.fom, rung.name) for rung in rungs if rung.fom]
        gain: list[object] = []
        if timed and max(timed) != timed[0]:
            gain = [f' From {timed[0][1]} to {max(timed)[1]}: ', inline('b', f'{max(timed)[0] / timed[0][0]:,.1f}×'), '.']
        svg = plots.climb(f'{app}-climb{suffix}', f'{app}{" " + ladder if ladder else ""}: the climb', rungs,
                          CREDITED, 1e9)
        return self.figure(svg, join([f'The climb: one bar per rung, its figure of merit in {CREDITED}, then how much '
                                      'faster it is than the rung it is compared with.', *gain]))

    def rooflines(self, app: str, result: Result) -> Html:
        return join(self.roofline(app, result, processor) for processor in result.processors)

    def roofline(self, app: str, result: Result, processor: str) -> Html:
        rungs = [r for r in result.rungs if r.processor == processor]
        points = [plots.Dot(r.name, r.kind, r.ladder, r.intensity, r.rate) for r in rungs
                  if r.valid and r.intensity and r.rate and r.intensity > 0 and r.rate > 0]
        rate, how = result.bandwidth(processor)
        roofs = {'bandwidth': (f'{how.split("_")[0]} {plots.figures(rate / 1e9)} GB/s', rate / 1e9)} if rate else {}
        for key, ceiling in (('fp64', 'fma64_flop'), ('fp32', 'fma32_flop')):
            value, _ = result.ceiling(processor, ceiling)
            if value:
                roofs[key] = (f'{key.upper()} FMA {plots.figures(value / 1e9)}', value / 1e9)
        name, shown = processor.upper(), {point.name for point in points}
        svg = plots.roofline(f'{app}-roofline-{processor}', f'{app}: the {name} roofline', points, roofs)
        left_out = [r.name for r in rungs if r.name not in shown]
        tensor = any(r.arithmetic in ('fp16-tensor', 'mixed') for r in rungs if r.name in shown)
        return self.figure(svg, join([
            f'The roofline of the {name}. The ceilings were measured in the same job, bandwidth at the working set of '
            'the run. A rung climbs by going up at the same place (faster) or to the right (fewer bytes per flop); no '
            'point can be above the line.',
            ' Rungs on tensor cores can lie above the FP32 line: their own ceiling is not measured.' if tensor else '',
            f' Not shown, because they have no valid rate: {", ".join(left_out)}.' if left_out else '',
            '' if roofs else ' The ceilings are not in the file: run with --seconds above 0.']))


# ---- The page ----

class Report:
    def __init__(self, folder: Folder) -> None:
        self.folder, self.manifest = folder, folder.manifest
        self.figures = Figures()
        self.here = shlex.quote(folder.path)

    def maker(self, step: str, command: str) -> str:
        """Returns the command that makes what is missing: the run, if it is a step of it, else the program itself."""
        return f'rooftop run --into {self.here}' if self.folder.step(step) else command

    def noise(self, app: str) -> Html:
        """The windows of the measured run, and below those of the ladder."""
        rungs = [rung for result in self.folder.results(app) for rung in result.rungs]
        measured = self.folder.measured.get(app)
        if measured and measured.rungs:
            rungs[0] = copy.copy(rungs[0])
            rungs[0].name = 'measured run'
        if not any(rung.windows for rung in rungs):
            body = fill('missing', text='The files of this folder have no timed windows.')
        else:
            svg = plots.windows(f'{app}-noise', f'{app}: the timed windows', rungs)
            body = self.figures.figure(svg, 'The noise: one dot per timed window, in per cent of the median of its '
                                       'rung. The band is the 3 % that a spread may have. A dot outside was disturbed, '
                                       'or depends on something that is not held fixed.')
        return fill('part', title='Noise', body=body)

    def convergence(self, app: str) -> Html:
        series: dict[str, list[tuple[float, float]]] = {}
        count, value = 'iteration', 'norm of the residual'
        for rung in [rung for result in self.folder.results(app)[:1] for rung in result.rungs]:
            history, sampled = rung.row.get('residual_history'), items(rung.row.get('residuals'))
            pairs: list[tuple[Optional[float], Optional[float]]] = []
            if isinstance(history, list):
                pairs = [(i, number(v)) for i, v in enumerate(history)]
            elif sampled:
                count, value = 'sweep', 'residual, of the right-hand side'
                pairs = [(number(row.get('sweep')), number(row.get('residual'))) for row in sampled]
            else:
                continue
            series[rung.name] = [(x, y) for x, y in pairs if x is not None and y is not None]
        if not series:
            return Html()
        svg = plots.history(f'{app}-history', f'{app}: the residual', dict(list(series.items())[:4]), count, value)
        return fill('part', title='Convergence', body=self.figures.figure(
            svg, f'The {value}, after each {count} of the timed solve. Every rung solves the same system, so all curves '
            'would be equal but for rounding.'))

    # -- an app --

    def ladder_table(self, rungs: list[Rung]) -> Html:
        scale, unit = time_unit([r.seconds for r in rungs])
        times = column([over(r.seconds, scale) for r in rungs])
        foms = column([over(r.fom, 1e9) for r in rungs])
        rates = column([over(r.bytes, 1e9) for r in rungs])
        flops = column([r.rate for r in rungs])
        joules = any(r.energy for r in rungs)
        rows = []
        for i, r in enumerate(rungs):
            step = join([f'{r.step} ', inline('small', r.after)]) if r.step else '–'
            rows.append([fill('rung', name=r.name, idea=r.idea), plots.KINDS[r.kind], verdict(r.verdict), times[i],
                         spread_of(r), foms[i], step, rates[i], percent(r.share_bandwidth), flops[i],
                         percent(r.share_flops)] + ([f'{r.energy:.3g}' if r.energy else '–'] if joules else []))
        heads = ['rung', 'device', 'verdict', f'{unit} per {rungs[0].unit}', 'spread', 'FOM GFlop/s',
                 'step over', 'GB/s', 'of bandwidth', 'GFlop/s', 'of FMA'] + (['J'] if joules else [])
        return table(heads, rows, 'FOM: the work that every rung is credited with; GB/s and GFlop/s: the work that the '
                     'rung itself does, by its model; shares are of the ceilings measured in the same job.', words=3)

    def ladder(self, app: str) -> Html:
        result = self.folder.ladders.get(app)
        if not result:
            command = self.maker(f'ladder-{app}', f'{app} --ladder --json {self.here}/ladder-{app}.json')
            return fill('part', title='The ladder', body=missing(f'The ladder of {app}', command))
        ladders = result.ladders()
        out = [fill('part', title=f'The ladder{": " + ladder if ladder else ""}', body=join([
            self.figures.climb(app, ladder, rungs, str(i) if len(ladders) > 1 else ''), self.ladder_table(rungs)], '\n'))
            for i, (ladder, rungs) in enumerate(ladders.items())]
        if result.absent:
            rows = [[text(row.get(key)) for key in ('name', 'kind', 'why')] for row in result.absent]
            out.append(details(f'{len(rows)} rungs that could not run here, and why',
                               table(['rung', 'kind', 'why'], rows, words=3)))
        out.append(fill('part', title='The roofline', body=join([self.figures.rooflines(app, result),
                                                                 self.ceilings(result)])))
        return join(out, '\n')

    def ceilings(self, result: Result) -> Html:
        names = (('copy_bytes_per_s', 'copy GB/s'), ('triad_bytes_per_s', 'triad GB/s'),
                 ('read_bytes_per_s', 'read GB/s'), ('fma64_flop_per_s', 'FP64 GFlop/s'),
                 ('fma32_flop_per_s', 'FP32 GFlop/s'), ('message_bytes_per_s', 'message GB/s'))
        rows = []
        for processor in ('cpu', 'gpu'):
            measured = result.measured(processor)
            if measured:
                size, samples = measured.get('working_set_bytes'), measured.get('samples')
                rows.append([processor.upper(), f'{size / 2**20:,.1f} MiB' if size else '–'] +
                            [plots.figures(measured[key] / 1e9) if key in measured else '–' for key, _ in names] +
                            [f'{samples:.0f}' if samples else '–', percent(measured.get('spread'))])
        if not rows:
            return Html()
        ranks = f' Values are of one of {result.ranks} ranks, all running at the same time.' if result.ranks > 1 else ''
        return details('The ceilings', table(
            ['measured', 'working set'] + [head for _, head in names] + ['samples', 'spread'], rows,
            f'The highest of all samples counts.{ranks}'))

    def validation(self, app: str) -> Html:
        out = []
        for store, what in ((self.folder.measured, 'The measured run'), (self.folder.ladders, 'The ladder')):
            rungs = store[app].rungs if app in store else []
            checks = [check.get('held') is True for rung in rungs for check in rung.checks]
            good = all(rung.right for rung in rungs)
            if rungs:
                out.append(details(join([f'{what}: {sum(checks)} of {len(checks)} checks held ', verdict('VALID' if good else 'INVALID')]),
                                   join(map(self.checks, rungs), '\n'), open_=not good))
        body = join(out, '\n') or fill('missing', text='This folder has no checks.')
        return fill('part', title='Validation', body=body)

    def checks(self, rung: Rung) -> Html:
        rows = [[text(check.get('name')), scientific(check.get('value')), scientific(check.get('bound')),
                 'held' if check.get('held') is True else inline('strong', 'FAILED', 'flag')] for check in rung.checks]
        body = table(['check', 'value', 'bound', 'held'], rows) if rows else \
            fill('missing', text='The file has no checks of this rung.')
        return details(join([f'{rung.name} ', verdict(rung.verdict)]), body, open_=not rung.right)

    def picture(self, app: str, name: str) -> Html:
        try:
            if os.path.getsize(self.folder.file(name)) > MOST_PICTURE:
                raise ValueError(f'larger than {MOST_PICTURE >> 20} MiB')
            data = results.read_bytes(self.folder.file(name), follow=False)
            width, height = png_size(data)
        except (OSError, ValueError) as error:
            return fill('missing', text=join([inline('code', name), f' cannot be shown: {error}.']))
        return fill('picture', width=width, height=height, what=PICTURES[app], data=base64.b64encode(data).decode())

    def pictures(self, app: str) -> Html:
        if app not in PICTURES:
            return Html()
        shown = [self.picture(app, name) if name.endswith('.png') else inline('p', join([
            inline('code', name), ' is in the folder too: ' + (
                'a build with libpng writes a PNG, which this page can show.' if name.endswith('.ppm')
                else 'open it with ParaView.')])) for name in self.folder.pictures(app)]
        command = f'{app} --seconds 0 --steps 40 --picture {self.here}/{app}-picture.png'
        body = join(shown, '\n') or missing('The picture', self.maker(f'picture-{app}', command))
        return fill('part', title='Picture', body=body)

    def scaling(self, app: str) -> Html:
        out = [self.scaling_of(app, i, name, value) for i, (name, value) in enumerate(self.folder.scales.get(app, ()))]
        body = join(out, '\n') or missing('Scaling', f'rooftop scale {app} --into {self.here}')
        return fill('part', title='Scaling', body=body)

    def scaling_of(self, app: str, i: int, name: str, value: Json) -> Html:
        found = [(key, Point(row)) for key in ('strong', 'weak') for row in items(value.get(key))]
        series = {key: [plots.Mark(p.ranks, p.fom, p.efficiency, p.exposed) for kind, p in found
                        if kind == key and p.whole and p.valid and p.fom and p.efficiency]
                  for key in ('strong', 'weak')}
        ranks = text(value.get('over')) or 'ranks'
        svg = plots.scaling(f'{app}-scaling{i}', f'{app}: scaling', series, 'GFlop/s', 1e9, ranks)
        drawn = self.figures.figure(svg, f'Scaling over {ranks}. Left: the rate, and dashed the rate if each of them '
                                    'added as much as the first. Right: the same as efficiency, and dotted the share '
                                    f'of the time spent waiting for messages. From {name}.')
        times = column([over(p.seconds, 1e-3) for _, p in found])
        rates = column([over(p.fom, 1e9) for _, p in found])
        rows = [[key, verdict(p.verdict), str(p.ranks), times[k], rates[k], percent(p.spread),
                 percent(p.efficiency), percent(p.exposed)] for k, (key, p) in enumerate(found)]
        why = ' '.join(f'{p.ranks} {ranks}: {p.why}.' for _, p in found if p.why)
        return join([drawn, table(['kind', 'verdict', ranks, 'ms per unit', 'FOM GFlop/s', 'spread', 'efficiency',
                                   'exposed'], rows, why, words=2)], '\n')

    def repeat(self, app: str) -> Html:
        commands = {text(step.get('name')): shlex.join(words(step.get('command'))) for step in self.folder.steps
                    if step.get('app') == app}
        for name, store in ((app, self.folder.measured), (f'ladder-{app}', self.folder.ladders)):
            if app in store and name not in commands:
                commands[f'{name}, rebuilt from the options in its file'] = rebuilt(store[app])
        for _, value in self.folder.scales.get(app, ()):
            commands[f'scale-{app}'] = shlex.join(words(value.get('command')))
        out = [join([inline('p', f'{name}:'), pre(command)]) for name, command in commands.items() if command]
        return fill('part', title='Repeat it', body=join(out, '\n')) if out else Html()

    def options(self, app: str) -> Html:
        rows = [pair for result in self.folder.results(app)[:1]
                for pair in flatten(members(result.value.get('options')))]
        return details(f'All {len(rows)} options of the problem', table(['option', 'value'], rows, words=2)) \
            if rows else Html()

    def sheet(self, app: str, result: Result) -> Html:
        """The facts of a measured run."""
        rung = result.rungs[0]
        scale, unit = time_unit([rung.seconds])
        soak = members(members(self.manifest.get('soak')).get(app))
        return facts([
            ('figure of merit', join([inline('b', fom(rung)), ' GFlop/s']) if rung.fom else ''), ('rung', rung.name),
            ('verdict', verdict(rung.verdict if result.right else 'INVALID')),
            (f'time per {rung.unit}', f'{plots.figures(rung.seconds / scale)} {unit}' if rung.seconds else ''),
            ('spread', percent(rung.spread) if rung.spread is not None else ''),
            ('windows', text(rung.row.get('windows'))),
            ('of ceilings', ', '.join(f'{percent(share)} of {what}' for share, what in rung.shares())),
            ('drift in the soak', percent(number(soak.get('drift'))) if soak else ''),
            ('energy', f'{rung.energy:,.4g} J' if rung.energy else ''),
            ('launch parameters', ', '.join(f'{k} {v}' for k, v in flatten(rung.row.get('choice', {}))))])

    def app(self, app: str) -> Html:
        result = self.folder.measured.get(app)
        head = self.sheet(app, result) if result and result.rungs else \
            missing(f'The measured run of {app}', self.maker(app, f'{app} --json {self.here}/{app}.json'))
        parts = (self.ladder, self.noise, self.validation, self.convergence, self.pictures, self.scaling, self.repeat,
                 self.options)
        return fill('section', name=app, title=fill('app', app=app, purpose=PURPOSES[app]),
                    body=join([head, *(part(app) for part in parts)], '\n'))

    # -- the sheet --

    def headline(self) -> Html:
        ratios = members(members(self.manifest.get('aggregate')).get('ratios'))
        rows: list[Sequence[object]] = []
        for app in self.folder.apps():
            result = self.folder.measured.get(app)
            if not result or not result.rungs:
                rows.append([link(app, app), 'not measured'] + ['–'] * (5 if ratios else 4))
                continue
            rung = result.rungs[0]
            share, ratio = rung.shares(), number(ratios.get(app))
            rows.append([link(app, app), rung.name, verdict(rung.verdict if result.right else 'INVALID'),
                         join([inline('b', fom(rung)), ' GFlop/s']), spread_of(rung),
                         f'{percent(share[0][0])} of {share[0][1]}' if share else '–'] +
                        ([f'{ratio:.3f}' if ratio else '–'] if ratios else []))
        return table(['app', 'rung', 'verdict', 'figure of merit', 'spread', 'share of ceiling'] +
                     (['of reference'] if ratios else []), rows,
                     'Figure of merit: the work that the app credits to every rung alike, over the median time of its '
                     'windows. Spread: the slowest less the fastest window, as a share of the median.', words=3)

    def about(self) -> Html:
        m, source = self.manifest, members(self.manifest.get('source'))
        aggregate = members(m.get('aggregate'))
        value, why = number(aggregate.get('value')), text(aggregate.get('why'))
        total: object = join([inline('b', f'{value:.3f}'), f' of {text(aggregate.get("reference"))}']) if value else \
            'none' + (f': {why}' if why else '')
        seconds = sum(number(step.get('seconds')) or 0 for step in self.folder.steps)
        versions = sorted({text(r.value.get('version')) for r in self.all_results()})
        return facts([
            ('aggregate', total), ('size', text(m.get('size'))), ('tier', text(m.get('tier'))),
            ('official', 'yes' if m.get('official') is True else 'no'),
            ('nonce', inline('code', text(m.get('nonce')) or 'none') if m else ''),
            ('seed', text(m.get('seed'))), ('ranks', text(m.get('ranks'))),
            ('launcher', shlex.join(words(m.get('launcher')))),
            ('version', text(source.get('version')) or ', '.join(versions)),
            ('commit', inline('code', text(source.get('commit'))[:12]) if source.get('commit') else ''),
            ('source SHA-256', inline('code', text(source.get('tree_sha256'))[:16] + '…')
             if source.get('tree_sha256') else ''),
            ('changed files', ', '.join(words(source.get('changed')))), ('started', text(m.get('started'))),
            ('finished', text(m.get('finished'))), ('running time', f'{seconds:,.0f} s' if seconds else '')])

    def all_results(self) -> list[Result]:
        return [*self.folder.measured.values(), *self.folder.ladders.values()]

    def flags(self) -> list[Flag]:
        """Returns what a reader must know before trusting the numbers, the worst first."""
        found, m = list(self.folder.flags), self.manifest
        if not m:
            found.append(Flag(False, 'There is no run.json: it is not known how and from which source these runs were '
                              'made.'))
        elif m.get('state') != 'complete':
            found.append(Flag(True, f'The run is not complete: rooftop run --into {self.here} continues it.'))
        if m and m.get('official') is not True:
            found.append(Flag(False, 'This is not an official run: sizes, windows and warm-up may differ from the run '
                              'rules.'))
        found += [Flag(True, f'{text(step.get("name"))} failed: {text(step.get("why")) or "no reason given"}; its output '
                       f'is in {text(step.get("output")) or "no file"}.')
                  for step in self.folder.steps if step.get('state') == 'failed']
        summary = members(m.get('summary'))
        for app in APPS:
            mine = self.folder.measured.get(app)
            said = number(members(summary.get(app)).get('fom'))
            measured = mine.rungs[0].fom if mine and mine.rungs else None
            if said and measured and min(abs(said / measured * s - 1) for s in (1, 1e3, 1e6, 1e9, 1e12)) > 1e-6:
                found.append(Flag(True, f'{app}: the summary in run.json has another figure of merit ({said:.6g}) than '
                                  f'{app}.json ({measured:.6g}).'))
            for result, what in ((mine, 'measured run'), (self.folder.ladders.get(app), 'ladder')):
                found += self.flags_of(f'{app}, {what}', result) if result else []
        return sorted(found, key=lambda flag: not flag.bad)

    def flags_of(self, where: str, result: Result) -> list[Flag]:
        found = []
        wrong = [r.name for r in result.rungs if not r.right]
        if wrong or not result.right:
            found.append(Flag(True, f'{where}: INVALID{": " + ", ".join(wrong) if wrong else ""}.'))
        beyond = [f'{r.name} ({percent(s)} of {of})' for r in result.rungs for s, of in r.shares() if s > BEYOND]
        if beyond:
            found.append(Flag(True, f'{where}: above 102 % of a ceiling, so not plausible until explained: '
                              f'{", ".join(beyond)}.'))
        noisy = [f'{r.name} {percent(r.spread)}' for r in result.rungs if r.noisy]
        if noisy:
            found.append(Flag(False, f'{where}: spread over 3 %: {", ".join(noisy)}.'))
        found += [Flag(False, f'{where}: {r.name} is UNSTEADY: {"; ".join(words(r.row.get("disturbed")))}.')
                  for r in result.rungs if r.verdict == 'UNSTEADY']
        return found

    # -- the machine --

    def environment(self) -> Html:
        names = ('host', 'cpu', 'threads', 'ranks', 'gpu', 'gpu_driver', 'mpi', 'kokkos', 'kokkos_backend', 'compiler',
                 'flags', 'version', 'date')
        rows: list[tuple[str, str]] = []
        for name in names:
            by_value: dict[str, list[str]] = {}
            for app, result in [*self.folder.measured.items(), *self.folder.ladders.items()]:
                by_value.setdefault(text(result.value.get(name)), []).append(app)
            values = sorted(filter(None, by_value))
            if name == 'date':
                shown = ' to '.join(sorted({values[0], values[-1]})) if values else ''
            else:
                shown = next(iter(by_value)) if len(by_value) == 1 else '; '.join(
                    f'{value or "none"} ({", ".join(sorted(set(apps)))})' for value, apps in by_value.items())
            rows += [(name.replace('_', ' '), shown)] if shown and shown != '0' else []
        rows += flatten(members(self.manifest.get('environment')))
        body = table(['of the machine and the build', ''], rows, words=2) if rows else \
            fill('missing', text='This folder has no environment.')
        doctor = self.folder.read('doctor.json')
        if doctor:
            found = flatten({k: v for k, v in doctor.items() if k not in ('schema', 'kind', 'seal', 'nonce')})
            body = join([body, details('What rooftop doctor found', table(['', ''], found, words=2))])
        return fill('section', name='environment', title='Environment', body=body)

    def trust(self) -> Html:
        """The flags, in a box that is open if one is bad."""
        flags = self.flags()
        bad = sum(flag.bad for flag in flags)
        if not flags:
            return inline('p', 'Nothing was found that speaks against these numbers.')
        head = f'{bad} that make them worthless, ' if bad else ''
        list_ = join(fill('flag', bad=attribute('class', 'bad') if flag.bad else '', text=join(
            [inline('b', 'Wrong.'), f' {flag.text}'] if flag.bad else [flag.text])) for flag in flags)
        return details(f'What to know before trusting these numbers ({head}{len(flags) - bad} to consider)',
                       fill('flags', items=list_), open_=bool(bad))

    def page(self) -> str:
        apps, every = self.folder.apps(), self.all_results()
        good = bool(self.folder.measured) and all(r.right for r in every) and not any(f.bad for f in self.flags())
        hosts = ', '.join(sorted({text(r.value.get('host')) for r in every} - {''}))
        chips = '; '.join(sorted({text(r.value.get(key)) for r in every for key in ('gpu', 'cpu')} - {''}))
        date = text(self.manifest.get('started')) or min((text(r.value.get('date')) for r in every), default='')
        body = fill('report', hosts=hosts or 'a run', chips=chips, date=date, verdict=verdict('VALID' if good else 'INVALID'),
                    links=join(link(name, name) for name in (*apps, 'environment')), headline=self.headline(),
                    about=self.about(), trust=self.trust(), folder=self.here, apps=join(map(self.app, apps), '\n'),
                    environment=self.environment())
        return document(f'Rooftop: {hosts or "results"}', body)
