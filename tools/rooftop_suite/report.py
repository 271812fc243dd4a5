"""`rooftop report DIR`: a result folder as one HTML file that needs nothing else: no network, no script.

What it reads is what `rooftop run` leaves (run.json, APP.json, ladder-APP.json, pictures) and scale-*.json of `rooftop
scale`:

    {"kind": "scale", "app": APP, "over": "ranks" or "GPUs", "command": [...], "strong": [{"ranks", "valid",
     "seconds_per_unit", "fom_flop_per_s", "spread", "efficiency", "exposed_share", "why"}], "weak": [...]}

Any part may be missing: the report says so, and which command makes it. Every text of a file is escaped, every number
is checked to be one: a result file is not trusted. Numbers come from the programs' own files, never from the summary.
"""
import base64
import copy
import math
import os
import re
import shlex
import statistics
import struct
import unicodedata
import zlib
from html import escape

from . import ENVIRONMENT, VALID, Fault, page, plots, results, verify
from .programs import APPS

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
MOST_FAULTS = 3  # of a file that are told here; rooftop verify tells all
DRIFT = 0.10  # ceilings before and after that differ by more: something else was running
BEYOND = 1.02  # of a ceiling: more is not plausible


def add_arguments(parser):
    parser.add_argument('folder', metavar='DIR', help='of rooftop run')
    parser.add_argument('--output', metavar='FILE', help='the page (default DIR/report.html)')


def main(args):
    """VALID once the page is written, whatever verdict stands in it."""
    folder = Folder(args.folder)
    path = args.output or os.path.join(args.folder, 'report.html')
    report = Report(folder)
    results.save_bytes(path, report.page().encode('utf-8', 'replace'))
    print(f'report: {path}; {report.plots} plots' if plots.matplotlib() else
          f'report: {path}; no plots: matplotlib is missing (Debian: python3-matplotlib)')
    return VALID


# ---- Reading what cannot be trusted ----

def number(value):
    """A finite number, or None."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300 and value == value
    return float(value) if good else None


def text(value):
    """Text without what is not to be seen: controls, surrogates, marks that turn the direction of writing."""
    value = value if isinstance(value, str) else '' if value is None else str(value)
    return ''.join(c if unicodedata.category(c) not in ('Cc', 'Cf', 'Cs') or c == '\n' else '\ufffd' for c in value)


def members(value):
    return value if isinstance(value, dict) else {}


def items(value):
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def words(value):
    return [text(word) for word in value] if isinstance(value, list) else []


class Rung:
    """One rung of a result. Rates are of all ranks; shares are of what all ranks' processors can do."""

    def __init__(self, row, result):
        self.row = row
        self.name, self.kind = text(row.get('name')), text(row.get('kind'))
        self.kind = self.kind if self.kind in plots.KINDS else 'cpu'
        self.ladder, self.after, self.idea = (text(row.get(key)) for key in ('ladder', 'after', 'idea'))
        self.valid = row.get('valid') is True
        self.checks = items(row.get('checks'))
        self.unit = text(row.get('unit')) or 'unit'
        self.seconds, self.spread, self.energy = (number(row.get(key)) for key in (
            'seconds_per_unit', 'spread', 'energy_joules'))
        self.fom, self.points, self.bytes, self.flops = (number(row.get(key)) for key in (
            'fom_flop_per_s', 'points_per_s', 'bytes_per_s', 'flop_per_s'))
        self.windows = [s for s in map(number, row.get('window_seconds') if isinstance(
            row.get('window_seconds'), list) else ()) if s and s > 0]
        self.arithmetic = text(row.get('arithmetic'))
        gpu_kokkos = re.match('cuda|hip|sycl', text(result.get('kokkos_backend')).lower())
        self.processor = 'gpu' if self.kind == 'cuda' or self.kind == 'kokkos' and gpu_kokkos else 'cpu'
        self.step = ''
        self.share_bandwidth = self.share_flops = None

    @property
    def intensity(self):
        return self.flops / self.bytes if self.flops and self.bytes else None

    @property
    def rate(self):
        return self.flops / 1e9 if self.flops else None

    def shares(self):
        """[(share, of what)], the nearest ceiling first."""
        named = {'fp64': 'FP64 FMA', 'fp32': 'FP32 FMA'}.get(self.arithmetic, 'FMA')
        both = [(self.share_bandwidth, 'bandwidth'), (self.share_flops, named)]
        return sorted([pair for pair in both if pair[0]], reverse=True)


class Result:
    """A program's JSON: its rungs in order, and the ceilings of its job."""

    def __init__(self, value):
        self.value = value
        self.ranks = max(1, int(number(value.get('ranks')) or 1))
        self.rungs = [Rung(row, value) for row in items(value.get('rungs'))]
        self.absent = items(value.get('absent'))
        self.valid = value.get('verdict') == 'VALID'
        by_name = {rung.name: rung for rung in self.rungs}
        for rung in self.rungs:
            before = by_name.get(rung.after)
            if before and before.seconds and rung.seconds:
                ratio = before.seconds / rung.seconds
                rung.step = f'{ratio:.2f}×' if ratio < 10 else f'{ratio:,.1f}×'
            self.fill_shares(rung)

    def measured(self, processor, when):
        """{name: number} of the ceilings of a processor, of one rank."""
        row = members(self.value.get(f'ceilings_{processor}_{when}'))
        return {key: number(value) for key, value in row.items() if number(value)}

    def ceiling(self, processor, *names):
        """The highest of these in this job, before, after, or once more: what disturbed one must not flatter the
        rungs. Of all ranks; (value, name), or (None, '')."""
        rows = [self.measured(processor, when) for when in ('before', 'after')]
        rows += [members(r.row.get('ceilings_again')) for r in self.rungs if r.processor == processor]
        found = [(number(row.get(f'{name}_per_s')), name) for row in rows for name in names]
        value, name = max([pair for pair in found if pair[0]], default=(None, ''))
        return (value * self.ranks, name) if value else (None, '')

    def bandwidth(self, processor):
        return self.ceiling(processor, 'copy_bytes', 'triad_bytes', 'read_bytes')

    def fill_shares(self, rung):
        bandwidth, _ = self.bandwidth(rung.processor)
        if bandwidth and rung.bytes:
            rung.share_bandwidth = rung.bytes / bandwidth
        fma, _ = self.ceiling(rung.processor, {'fp64': 'fma64_flop', 'fp32': 'fma32_flop'}.get(rung.arithmetic, ''))
        if fma and rung.flops:
            rung.share_flops = rung.flops / fma

    def drift(self, processor):
        """By what share bandwidth before and after differ."""
        ends = []
        for when in ('before', 'after'):
            measured = self.measured(processor, when)
            rates = [measured[f'{name}_bytes_per_s'] for name in ('copy', 'triad', 'read')
                     if f'{name}_bytes_per_s' in measured]
            ends += [max(rates)] if rates else []
        return max(ends) / min(ends) - 1 if len(ends) == 2 else 0

    @property
    def processors(self):
        return [p for p in ('cpu', 'gpu') if any(rung.processor == p for rung in self.rungs)]

    def ladders(self):
        """{name: rungs}, in order."""
        found = {}
        for rung in self.rungs:
            found.setdefault(rung.ladder, []).append(rung)
        return found


class Point:
    """Of a scaling curve."""

    def __init__(self, row):
        self.ranks, self.fom, self.efficiency, self.seconds = (number(row.get(key)) for key in (
            'ranks', 'fom_flop_per_s', 'efficiency', 'seconds_per_unit'))
        self.exposed, self.spread, self.why = number(row.get('exposed_share')), number(row.get('spread')), text(
            row.get('why'))
        self.valid = row.get('valid') is not False
        self.whole = bool(self.ranks and self.ranks >= 1 and self.fom and self.fom > 0 and self.efficiency)
        self.ranks = int(self.ranks or 0)


class Folder:
    """What lies in a result folder, and what is wrong with it: flags, (bad, text) each."""

    def __init__(self, path):
        self.path, self.flags, self.of_programs = path, [], ()
        if not os.path.isdir(path):
            raise Fault(ENVIRONMENT, f'{path}: no such folder')
        self.manifest = self.read('run.json') or {}
        self.steps = items(self.manifest.get('steps'))
        self.hashes = {text(step.get('json')): step for step in self.steps}
        self.measured, self.ladders = {}, {}
        self.of_programs = [f'{kind}{app}.json' for app in APPS for kind in ('', 'ladder-')]
        for app in APPS:
            for store, name in ((self.measured, app), (self.ladders, f'ladder-{app}')):
                value = self.read(f'{name}.json')
                if value is not None:
                    store[app] = Result(value)
                    store[app].valid &= not any(bad and said.startswith(f'{name}.json:') for bad, said in self.flags)
        self.scales = {}
        for name in sorted(os.listdir(path)):
            if re.fullmatch(r'scale-.*\.json', name):
                value = self.read(name) or {}
                self.scales.setdefault(text(value.get('app')), []).append((name, value))
        if not (self.manifest or self.measured or self.ladders):
            raise Fault(ENVIRONMENT, f'{path}: no results in it: rooftop run --into {shlex.quote(path)} makes them')

    def file(self, name):
        return os.path.join(self.path, name)

    def read(self, name):
        """A JSON file's object, or None; what is wrong with it becomes a flag."""
        if not os.path.exists(self.file(name)):
            return None
        try:
            data, value = results.parse(self.file(name))
        except Fault as fault:
            self.flags.append((True, str(fault)))
            return None
        seal = results.seal_holds(data, text(value.get('nonce')))
        if seal is False:
            self.flags.append((True, f'{name}: its seal does not hold: the file is not as it was written.'))
        elif seal is None:
            self.flags.append((False, f'{name}: has no seal: whether it was changed cannot be told.'))
        if 'schema' in value and name in self.of_programs:
            faults = results.schema_errors(value, 'program') or verify.judge_program(value)
            more = f'; and {len(faults) - MOST_FAULTS} more' if len(faults) > MOST_FAULTS else ''
            self.flags += [(True, f'{name}: {"; ".join(faults[:MOST_FAULTS])}{more}.')] if faults else []
        step = self.hashes.get(name) if name != 'run.json' else None
        if step and step.get('state') == 'done' and step.get('sha256') != results.sha256_of(self.file(name)):
            self.flags.append((True, f'{name}: not the file that the run wrote.'))
        return value

    def pictures(self, app):
        return [name for name in sorted(os.listdir(self.path)) if name.startswith(f'{app}-picture.')]

    def step(self, name):
        return next((step for step in self.steps if step.get('name') == name), None)

    def apps(self):
        """Those of the run, and those of which something is there, be it broken; all, if there is no manifest."""
        return [app for app in APPS if not self.manifest or self.pictures(app) or
                any(step.get('app') == app for step in self.steps) or
                any(os.path.exists(self.file(f'{kind}{app}.json')) for kind in ('', 'ladder-'))]


# ---- Pictures ----

def png(width, height, rgb):
    """A PNG file of 8-bit RGB rows."""
    def chunk(kind, data):
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))

    rows = b''.join(b'\0' + rgb[3 * width * y:3 * width * (y + 1)] for y in range(height))
    return (b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', width, height, 8, 2, 0, 0, 0)) +
            chunk(b'IDAT', zlib.compress(rows, 9)) + chunk(b'IEND', b''))


def picture(path):
    """(width, height, PNG file); ValueError says what is wrong."""
    if os.path.getsize(path) > MOST_PICTURE:
        raise ValueError(f'larger than {MOST_PICTURE >> 20} MiB')
    with open(path, 'rb') as file:
        data = file.read()
    if data[:8] == b'\x89PNG\r\n\x1a\n' and len(data) > 24:
        return struct.unpack('>II', data[16:24]) + (data,)
    head = re.match(rb'P6\s+(?:#[^\n]*\s+)*(\d{1,5})\s+(\d{1,5})\s+255\s', data)
    if not head:
        raise ValueError('neither PNG nor PPM (P6)')
    width, height = int(head[1]), int(head[2])
    rgb = data[head.end():]
    if not width or not height or len(rgb) != 3 * width * height:
        raise ValueError(f'{len(rgb)} bytes are not {width} by {height} pixels')
    return width, height, png(width, height, rgb)


# ---- Parts of the page ----

def decimals(values):
    """So many that the smallest has three figures, and the largest not more than five."""
    good = [abs(v) for v in values if v]
    if not good:
        return 0
    most = 0 if max(good) >= 1e4 else 1 if max(good) >= 100 else 3
    return max(0, min(most, 2 - math.floor(math.log10(min(good)))))


def column(values):
    """Texts of numbers, with the same decimals; a dash for none."""
    places = decimals(values)
    return ['–' if v is None else f'{v:,.{places}f}' for v in values]


def percent(share, places=1):
    return '–' if share is None else f'{100 * share:.{places}f}\u00a0%'


def each(unit):
    """an iteration, a sweep"""
    return f'{"an" if unit[:1] in "aeiou" else "a"} {unit}'


def time_unit(values):
    good = [v for v in values if v]
    middle = statistics.median(good) if good else 1
    return next((scale, name) for scale, name in ((1, 's'), (1e-3, 'ms'), (1e-6, 'µs'), (1e-9, 'ns'))
                if middle >= scale or scale == 1e-9)


def verdict(valid):
    return f'<span class="verdict {"valid" if valid else "invalid"}">{"VALID" if valid else "INVALID"}</span>'


def table(heads, rows, caption='', words=1):
    """heads: texts; rows: cells that are HTML. The first `words` columns are text, the others numbers. What is too
    wide for the window scrolls in a box of its own."""
    kind = lambda i: '' if i < words else ' class="n"'
    out = ['<div class="scroll" tabindex="0" role="region" aria-label="table"><table>', '<thead><tr>' + ''.join(
        f'<th scope="col"{kind(i)}>{head}</th>' for i, head in enumerate(heads)) + '</tr></thead><tbody>']
    for row in rows:
        out.append('<tr>' + ''.join(f'<th scope="row">{cell}</th>' if i == 0 else f'<td{kind(i)}>{cell}</td>'
                                    for i, cell in enumerate(row)) + '</tr>')
    out.append('</tbody></table></div>')
    return '\n'.join(out + ([f'<p class="under">{caption}</p>'] if caption else []))


def facts(pairs):
    """Names and values, HTML; what has no value is left out."""
    rows = ''.join(f'<div><dt>{name}</dt><dd>{value}</dd></div>' for name, value in pairs if value)
    return f'<dl class="facts">{rows}</dl>'


def details(summary, body, open_=False):
    return f'<details{" open" if open_ else ""}><summary>{summary}</summary>\n{body}\n</details>'


def missing(what, command):
    return f'<p class="missing">{what} is not in this folder. <code>{escape(command)}</code> makes it.</p>'


def flatten(value, path=''):
    """[(name, text)] of nested members."""
    if isinstance(value, dict):
        return [pair for key, member in value.items() for pair in
                flatten(member, f'{path} {text(key)}'.strip())]
    if isinstance(value, list):
        if all(not isinstance(member, (dict, list)) for member in value):
            return [(path, ', '.join(map(text, value)))]
        return [pair for i, member in enumerate(value) for pair in flatten(member, f'{path} {i}'.strip())]
    shown = {True: 'yes', False: 'no', None: ''}.get(value) if isinstance(value, bool) or value is None else \
        f'{value:.6g}' if isinstance(value, float) else text(value)
    return [(path, shown)] if shown else []


class Report:
    def __init__(self, folder):
        self.folder, self.manifest, self.plots = folder, folder.manifest, 0
        self.here = shlex.quote(folder.path)

    def maker(self, step, command):
        """The command that makes what is missing: the run, if that is a step of it, else the program itself."""
        return f'rooftop run --into {self.here}' if self.folder.step(step) else command

    # -- figures --

    def figure(self, svg, caption):
        if svg:
            self.plots += 1
            return f'<figure>\n{svg}\n<figcaption>{caption}</figcaption></figure>'
        why = 'there is nothing in the files to draw' if plots.matplotlib() else \
            'matplotlib is missing (Debian: python3-matplotlib)'
        return f'<figure class="without"><p>No plot: {why}.</p><figcaption>{caption}</figcaption></figure>'

    def climb(self, app, ladder, rungs, number_):
        credited = 'GFlop/s of credited work'
        first, last = next((r for r in rungs if r.fom), None), [r for r in rungs if r.fom]
        best = max(last, key=lambda r: r.fom) if last else None
        gain = f' From {escape(first.name)} to {escape(best.name)}: <b>{best.fom / first.fom:,.1f}×</b>.' \
            if best and best is not first else ''
        svg = plots.climb(f'{app}-climb{number_}', f'{app}{" " + ladder if ladder else ""}: the climb', rungs,
                          credited, 1e9)
        return self.figure(svg, f'The climb: a bar a rung, its figure of merit in {credited}, then how much faster it '
                           f'is than the rung it is compared with.{gain}')

    def rooflines(self, app, result):
        out = []
        for processor in result.processors:
            rungs = [r for r in result.rungs if r.processor == processor]
            points = [r for r in rungs if r.valid and r.intensity and r.rate]
            rate, how = result.bandwidth(processor)
            roofs = {'bandwidth': (f'{how.split("_")[0]} {plots.figures(rate / 1e9)} GB/s', rate / 1e9)} if rate else {}
            for key, ceiling in (('fp64', 'fma64_flop'), ('fp32', 'fma32_flop')):
                value, _ = result.ceiling(processor, ceiling)
                if value:
                    label = f'{key.upper()} FMA {plots.figures(value / 1e9)}'
                    roofs[key] = (label, value / 1e9)
            name = processor.upper()
            svg = plots.roofline(f'{app}-roofline-{processor}', f'{app}: the {name} roofline', points, roofs)
            left_out = [r.name for r in rungs if r not in points]
            said = f' Not shown, for want of a valid rate: {escape(", ".join(left_out))}.' if left_out else ''
            missing_ = '' if roofs else ' The ceilings are not in the file: run with --seconds above 0.'
            tensor = ' Rungs on tensor cores can lie above the FP32 line: their own ceiling is not measured.' \
                if any(r.arithmetic in ('fp16-tensor', 'mixed') for r in points) else ''
            out.append(self.figure(svg, f'The roofline of the {name}, ceilings measured in the same job, bandwidth at '
                                   f"the run's working set. A rung climbs by going up at the same place (faster) or to "
                                   f'the right (fewer bytes a flop); no point can be above the line.{tensor}{said}'
                                   f'{missing_}'))
        return ''.join(out)

    def noise(self, app):
        """The windows of the measured run, and below those of the ladder."""
        rungs = []
        for result in filter(None, (self.folder.measured.get(app), self.folder.ladders.get(app))):
            rungs += result.rungs
        measured = self.folder.measured.get(app)
        if measured and measured.rungs:
            rungs[0] = copy.copy(rungs[0])
            rungs[0].name = 'measured run'
        if not any(rung.windows for rung in rungs):
            return '<h3>Noise</h3><p class="missing">No timed windows are in the files of this folder.</p>'
        svg = plots.windows(f'{app}-noise', f'{app}: the timed windows', rungs)
        return '<h3>Noise</h3>' + self.figure(svg, 'The noise: a dot a timed window, in per cent of the median of its '
                                              'rung. The band is the 3 % that a spread may have; what lies outside '
                                              'was disturbed, or depends on something that is not held fixed.')

    def convergence(self, app):
        series, over, value = {}, 'iteration', 'norm of the residual'
        result = self.folder.measured.get(app) or self.folder.ladders.get(app)
        for rung in result.rungs if result else ():
            history, sampled = rung.row.get('residual_history'), items(rung.row.get('residuals'))
            if isinstance(history, list):
                series[rung.name] = [(i, v) for i, v in enumerate(map(number, history)) if v is not None]
            elif sampled:
                over, value = 'sweep', 'residual, of the right-hand side'
                pairs = [(number(row.get('sweep')), number(row.get('residual'))) for row in sampled]
                series[rung.name] = [pair for pair in pairs if None not in pair]
        if not series:
            return ''
        svg = plots.history(f'{app}-history', f'{app}: the residual', dict(list(series.items())[:4]), over, value)
        return '<h3>Convergence</h3>' + self.figure(svg, f'The {value}, after each {over} of the timed solve. Every '
                                                    'rung solves the same system, so all would have this curve but '
                                                    'for rounding.')

    # -- an app --

    def ladder_table(self, rungs):
        scale, unit = time_unit([r.seconds for r in rungs])
        times = column([r.seconds and r.seconds / scale for r in rungs])
        foms = column([r.fom and r.fom / 1e9 for r in rungs])
        rates = column([r.bytes and r.bytes / 1e9 for r in rungs])
        flops = column([r.rate for r in rungs])
        joules = any(r.energy for r in rungs)
        rows = []
        for i, r in enumerate(rungs):
            name = escape(r.name) + (f'<span class="idea">{escape(r.idea)}</span>' if r.idea else '')
            noisy = ' class="flag"' if r.spread and 100 * r.spread > plots.NOISY else ''
            rows.append([name, plots.KINDS[r.kind], verdict(r.valid), times[i],
                         f'<span{noisy}>{percent(r.spread)}</span>', foms[i],
                         f'{r.step} <small>{escape(r.after)}</small>' if r.step else '–', rates[i],
                         percent(r.share_bandwidth), flops[i], percent(r.share_flops)] +
                        ([f'{r.energy:.3g}' if r.energy else '–'] if joules else []))
        heads = ['rung', 'device', 'verdict', f'{unit} {escape(each(rungs[0].unit))}', 'spread', 'FOM GFlop/s',
                 'step over', 'GB/s', 'of bandwidth', 'GFlop/s', 'of FMA'] + (['J'] if joules else [])
        return table(heads, rows, 'FOM: the work that every rung is credited with; GB/s and GFlop/s: what the rung '
                     'itself does, by its model; shares are of the ceilings measured in the same job.', words=3)

    def ladder(self, app):
        result = self.folder.ladders.get(app)
        if not result:
            return '<h3>The ladder</h3>' + missing(f'The ladder of {app}', self.maker(
                f'ladder-{app}', f'{app} --ladder --json {self.here}/ladder-{app}.json'))
        out = []
        ladders = result.ladders()
        for i, (ladder, rungs) in enumerate(ladders.items()):
            out.append(f'<h3>The ladder{": " + escape(ladder) if ladder else ""}</h3>')
            out.append(self.climb(app, ladder, rungs, i if len(ladders) > 1 else ''))
            out.append(self.ladder_table(rungs))
        if result.absent:
            rows = [[escape(text(row.get('name'))), escape(text(row.get('kind'))), escape(text(row.get('why')))]
                    for row in result.absent]
            out.append(details(f'{len(rows)} rungs that could not run here, and why',
                               table(['rung', 'kind', 'why'], rows, words=3)))
        out.append('<h3>The roofline</h3>' + self.rooflines(app, result) + self.ceilings(result))
        return '\n'.join(out)

    def ceilings(self, result):
        names = (('copy_bytes_per_s', 'copy GB/s'), ('triad_bytes_per_s', 'triad GB/s'),
                 ('read_bytes_per_s', 'read GB/s'), ('fma64_flop_per_s', 'FP64 GFlop/s'),
                 ('fma32_flop_per_s', 'FP32 GFlop/s'), ('message_bytes_per_s', 'message GB/s'))
        rows = []
        for processor in ('cpu', 'gpu'):
            for when in ('before', 'after'):
                measured = result.measured(processor, when)
                if measured:
                    size = measured.get('working_set_bytes')
                    rows.append([f'{processor.upper()}, {when}', f'{size / 2**20:,.1f} MiB' if size else '–'] +
                                [plots.figures(measured[key] / 1e9) if key in measured else '–' for key, _ in names])
        if not rows:
            return ''
        of = f' Of one of {result.ranks} ranks, all running side by side.' if result.ranks > 1 else ''
        return details('The ceilings, before and after', table(
            ['measured', 'working set'] + [head for _, head in names], rows,
            f'The higher of both counts.{of}'))

    def validation(self, app):
        out = []
        for result, what in ((self.folder.measured.get(app), 'The measured run'),
                             (self.folder.ladders.get(app), 'The ladder')):
            rungs = result.rungs if result else ()
            parts = [self.checks(rung) for rung in rungs]
            held = sum(check.get('held') is True for rung in rungs for check in rung.checks)
            total = sum(len(rung.checks) for rung in rungs)
            good = all(rung.valid for rung in rungs)
            if rungs:
                out.append(details(f'{what}: {held} of {total} checks held {verdict(good)}', '\n'.join(parts),
                                   open_=not good))
        return '<h3>Validation</h3>\n' + ('\n'.join(out) or '<p class="missing">No checks are in this folder.</p>')

    def checks(self, rung):
        rows = [[escape(text(check.get('name'))), scientific(check.get('value')), scientific(check.get('bound')),
                 'held' if check.get('held') is True else '<strong class="flag">FAILED</strong>']
                for check in rung.checks]
        body = table(['check', 'value', 'bound', 'held'], rows) if rows else \
            '<p class="missing">The file has no checks of this rung.</p>'
        return details(f'{escape(rung.name)} {verdict(rung.valid)}', body, open_=not rung.valid)

    def pictures(self, app):
        if app not in PICTURES:
            return ''
        out = []
        for name in self.folder.pictures(app):
            if not name.endswith(('.png', '.ppm')):
                out.append(f'<p><code>{escape(name)}</code> is in the folder too: for ParaView.</p>')
                continue
            try:
                width, height, data = picture(self.folder.file(name))
            except (OSError, ValueError) as error:
                out.append(f'<p class="missing"><code>{escape(name)}</code> cannot be shown: {escape(str(error))}.</p>')
                continue
            code = base64.b64encode(data).decode()
            out.append(f'<figure><img width="{width}" height="{height}" alt="{escape(PICTURES[app])}" '
                       f'src="data:image/png;base64,{code}"><figcaption>{escape(PICTURES[app])}</figcaption></figure>')
        command = f'{app} --seconds 0 --steps 40 --picture {self.here}/{app}-picture.png'
        return '<h3>Picture</h3>' + ('\n'.join(out) or missing('The picture', self.maker(f'picture-{app}', command)))

    def scaling(self, app):
        out = []
        for i, (name, value) in enumerate(self.folder.scales.get(app, ())):
            found = [(key, Point(row)) for key in ('strong', 'weak') for row in items(value.get(key))]
            series = {key: [p for kind, p in found if kind == key and p.whole and p.valid]
                      for key in ('strong', 'weak')}
            over = text(value.get('over')) or 'ranks'
            svg = plots.scaling(f'{app}-scaling{i}', f'{app}: scaling', series, 'GFlop/s', 1e9, over)
            out.append(self.figure(svg, f'Scaling over {escape(over)}. Left, the rate, and dashed what it would be if '
                                   f'each added as much as the first; right, that as efficiency, and dotted the share '
                                   f'of the time in which messages are waited for. From {escape(name)}.'))
            times = column([p.seconds and 1e3 * p.seconds for _, p in found])
            rates = column([p.fom and p.fom / 1e9 for _, p in found])
            rows = [[key, verdict(p.valid), str(p.ranks), times[k], rates[k], percent(p.spread),
                     percent(p.efficiency), percent(p.exposed)] for k, (key, p) in enumerate(found)]
            why = ' '.join(f'{p.ranks} {over}: {p.why}.' for _, p in found if p.why)
            out.append(table(['kind', 'verdict', escape(over), 'ms a unit', 'FOM GFlop/s', 'spread', 'efficiency',
                              'exposed'], rows, escape(why), words=2))
        return '<h3>Scaling</h3>' + ('\n'.join(out) or missing('Scaling', f'rooftop scale {app} --into {self.here}'))

    def repeat(self, app):
        commands = {text(step.get('name')): shlex.join(words(step.get('command'))) for step in self.folder.steps
                    if step.get('app') == app}
        for name, result in ((app, self.folder.measured.get(app)), (f'ladder-{app}', self.folder.ladders.get(app))):
            if result and name not in commands:
                commands[f'{name}, rebuilt from the options in its file'] = rebuilt(result)
        for _, value in self.folder.scales.get(app, ()):
            commands[f'scale-{app}'] = shlex.join(words(value.get('command')))
        out = [f'<p>{escape(name)}:</p><pre tabindex="0">{escape(command)}</pre>'
               for name, command in commands.items() if command]
        return '<h3>Repeat it</h3>' + '\n'.join(out) if out else ''

    def options(self, app):
        result = self.folder.measured.get(app) or self.folder.ladders.get(app)
        rows = [[escape(k), escape(v)] for k, v in flatten(members(result.value.get('options')))] if result else []
        return details(f'All {len(rows)} options of the problem', table(['option', 'value'], rows, words=2)) \
            if rows else ''

    def app(self, app):
        result = self.folder.measured.get(app)
        out = [f'<section id="{app}"><h2>{app} <span class="sub">{PURPOSES[app]}</span></h2>']
        if result and result.rungs:
            rung = result.rungs[0]
            scale, unit = time_unit([rung.seconds])
            out.append(facts([
                ('figure of merit', f'<b>{fom(rung)}</b> GFlop/s' if rung.fom else ''), ('rung', escape(rung.name)),
                ('verdict', verdict(result.valid and rung.valid)),
                (escape(each(rung.unit)), f'{plots.figures(rung.seconds / scale)} {unit}' if rung.seconds else ''),
                ('spread', percent(rung.spread) if rung.spread is not None else ''),
                ('windows', escape(text(rung.row.get('windows')))),
                ('of ceilings', ', '.join(f'{percent(share)} of {what}' for share, what in rung.shares())),
                ('drift in the soak', percent(number(members(members(self.manifest.get('soak')).get(app)).get('drift')))
                 if members(self.manifest.get('soak')).get(app) else ''),
                ('energy', f'{rung.energy:,.4g} J' if rung.energy else ''),
                ('launch parameters', escape(', '.join(f'{k} {v}' for k, v in flatten(rung.row.get('choice', {})))))]))
        else:
            out.append(missing(f'The measured run of {app}', self.maker(app, f'{app} --json {self.here}/{app}.json')))
        out += [part(app) for part in (self.ladder, self.noise, self.validation, self.convergence, self.pictures,
                                       self.scaling, self.repeat, self.options)]
        out.append('</section>')
        return '\n'.join(part for part in out if part)

    # -- the sheet --

    def headline(self):
        rows, ratios = [], members(members(self.manifest.get('aggregate')).get('ratios'))
        for app in self.folder.apps():
            result = self.folder.measured.get(app)
            link = f'<a href="#{app}">{app}</a>'
            if not result or not result.rungs:
                rows.append([link, 'not measured'] + ['–'] * (5 if ratios else 4))
                continue
            rung = result.rungs[0]
            share = rung.shares()
            noisy = ' class="flag"' if rung.spread and 100 * rung.spread > plots.NOISY else ''
            ratio = number(ratios.get(app))
            rows.append([link, escape(rung.name), verdict(result.valid and rung.valid),
                         f'<b>{fom(rung)}</b> GFlop/s', f'<span{noisy}>{percent(rung.spread)}</span>',
                         f'{percent(share[0][0])} of {share[0][1]}' if share else '–'] +
                        ([f'{ratio:.3f}' if ratio else '–'] if ratios else []))
        return table(['app', 'rung', 'verdict', 'figure of merit', 'spread', 'share of ceiling'] +
                     (['of reference'] if ratios else []), rows,
                     'Figure of merit: the work that the app credits to every rung alike, over the median time of its '
                     'windows. Spread: the slowest less the fastest window, of the median.', words=3)

    def about(self):
        m, source = self.manifest, members(self.manifest.get('source'))
        changed = words(source.get('changed'))
        aggregate = members(m.get('aggregate'))
        value = number(aggregate.get('value'))
        total = f'<b>{value:.3f}</b> of {escape(text(aggregate.get("reference")))}' if value else \
            'none' + (f': {escape(text(aggregate.get("why")))}' if aggregate.get('why') else '')
        seconds = sum(number(step.get('seconds')) or 0 for step in self.folder.steps)
        return facts([
            ('aggregate', total),
            ('size', escape(text(m.get('size')))), ('tier', escape(text(m.get('tier')))),
            ('official', 'yes' if m.get('official') is True else 'no'),
            ('nonce', f'<code>{escape(text(m.get("nonce")) or "none")}</code>' if m else ''),
            ('seed', escape(text(m.get('seed')))), ('ranks', escape(text(m.get('ranks')))),
            ('launcher', escape(shlex.join(words(m.get('launcher'))))),
            ('version', escape(text(source.get('version')) or ', '.join(sorted(
                {text(r.value.get('version')) for r in self.all_results()})))),
            ('commit', f'<code>{escape(text(source.get("commit"))[:12])}</code>' if source.get('commit') else ''),
            ('source SHA-256', f'<code>{escape(text(source.get("tree_sha256"))[:16])}…</code>'
             if source.get('tree_sha256') else ''),
            ('changed files', escape(', '.join(changed))), ('started', escape(text(m.get('started')))),
            ('finished', escape(text(m.get('finished')))),
            ('running time', f'{seconds:,.0f} s' if seconds else '')])

    def all_results(self):
        return [*self.folder.measured.values(), *self.folder.ladders.values()]

    def flags(self):
        """[(bad, text)]: what a reader must know before trusting the numbers."""
        found = list(self.folder.flags)
        m = self.manifest
        if not m:
            found.append((False, 'There is no run.json: who started these runs, with which source, is not known.'))
        elif m.get('state') != 'complete':
            found.append((True, f'The run is not complete: rooftop run --into {self.here} goes on with it.'))
        if m and m.get('official') is not True:
            found.append((False, 'This is not an official run: sizes, windows and warm-up need not be those of the '
                          'run rules.'))
        for step in self.folder.steps:
            if step.get('state') == 'failed':
                found.append((True, f'{text(step.get("name"))} failed: {text(step.get("why")) or "no word why"}; its '
                              f'output is in {text(step.get("output")) or "no file"}.'))
        summary = members(m.get('summary'))
        for app in APPS:
            mine = self.folder.measured.get(app)
            said = number(members(summary.get(app)).get('fom'))
            measured = mine.rungs[0].fom if mine and mine.rungs else None
            if said and measured and min(abs(said / measured * s - 1) for s in (1, 1e3, 1e6, 1e9, 1e12)) > 1e-6:
                found.append((True, f'{app}: the summary in run.json has another figure of merit ({said:.6g}) than '
                              f'{app}.json ({measured:.6g}).'))
            for result, what in ((mine, 'measured run'), (self.folder.ladders.get(app), 'ladder')):
                found += self.flags_of(app, result, what) if result else []
        return sorted(found, key=lambda flag: not flag[0])

    def flags_of(self, app, result, what):
        found = []
        where = f'{app}, {what}'
        wrong = [r.name for r in result.rungs if not r.valid]
        if wrong or not result.valid:
            found.append((True, f'{where}: INVALID{": " + ", ".join(wrong) if wrong else ""}.'))
        beyond = [f'{r.name} ({percent(s)} of {of})' for r in result.rungs for s, of in r.shares() if s > BEYOND]
        beyond += [r.name for r in result.rungs if r.row.get('plausible') is False and not r.shares()]
        if beyond:
            found.append((True, f'{where}: above 102 % of a ceiling, so not plausible until explained: '
                          f'{", ".join(beyond)}.'))
        noisy = [f'{r.name} {percent(r.spread)}' for r in result.rungs if r.spread and 100 * r.spread > plots.NOISY]
        if noisy:
            found.append((False, f'{where}: spread over 3 %: {", ".join(noisy)}.'))
        for processor in result.processors:
            drift = result.drift(processor)
            if drift > DRIFT:
                found.append((False, f'{where}: the bandwidth of the {processor.upper()} before and after differs by '
                              f'{percent(drift, 0)}: something else was running, or clocks moved.'))
        return found

    # -- the machine --

    def environment(self):
        names = ('host', 'cpu', 'threads', 'ranks', 'gpu', 'gpu_driver', 'mpi', 'kokkos', 'kokkos_backend', 'compiler',
                 'flags', 'version', 'date')
        rows = []
        for name in names:
            by_value = {}
            for app, result in [*self.folder.measured.items(), *self.folder.ladders.items()]:
                by_value.setdefault(text(result.value.get(name)), []).append(app)
            if len(by_value) == 1 or name == 'date':
                values = sorted(filter(None, by_value))
                shown = ' to '.join(sorted({values[0], values[-1]})) if values and name == 'date' else \
                    next(iter(by_value))
            else:
                shown = '; '.join(f'{value or "none"} ({", ".join(sorted(set(apps)))})'
                                  for value, apps in by_value.items())
            if shown and shown != '0':
                rows.append([escape(name.replace('_', ' ')), escape(shown)])
        rows += [[escape(name), escape(value)] for name, value in flatten(members(self.manifest.get('environment')))]
        doctor = self.folder.read('doctor.json')
        body = table(['of the machine and the build', ''], rows, words=2) if rows else \
            '<p class="missing">No environment is in this folder.</p>'
        if doctor:
            found = flatten({k: v for k, v in doctor.items() if k not in ('schema', 'kind', 'seal', 'nonce')})
            body += details('What rooftop doctor found', table(['', ''], [[escape(k), escape(v)] for k, v in found],
                                                               words=2))
        return f'<section id="environment"><h2>Environment</h2>\n{body}</section>'

    def page(self):
        apps = self.folder.apps()
        flags = self.flags()
        bad = sum(flag[0] for flag in flags)
        good = bool(self.folder.measured) and all(r.valid for r in self.all_results()) and not bad
        hosts = sorted({text(r.value.get('host')) for r in self.all_results()} - {''})
        chips = sorted({text(r.value.get(key)) for r in self.all_results() for key in ('gpu', 'cpu')} - {''})
        links = ''.join(f'<a href="#{app}">{app}</a>' for app in apps) + '<a href="#environment">environment</a>'
        date = text(self.manifest.get('started')) or min(
            (text(r.value.get('date')) for r in self.all_results()), default='')
        list_ = ''.join(f'<li{" class=bad" if worse else ""}>{"<b>Wrong.</b> " if worse else ""}{escape(said)}</li>'
                        for worse, said in flags)
        head = f'{bad} that make it worthless, ' if bad else ''
        trust = details(f'What to know before trusting these numbers ({head}{len(flags) - bad} to weigh)',
                        f'<ul class="flags">{list_}</ul>', open_=bool(bad)) if flags else \
            '<p>Nothing was found that speaks against these numbers.</p>'
        body = [f'<header><p class="mark">Rooftop</p><h1>Results of {escape(", ".join(hosts) or "a run")}</h1>',
                f'<p class="lead">{escape("; ".join(chips))}{" · " if chips and date else ""}{escape(date)} · '
                f'{verdict(good)}</p><nav aria-label="Parts of the report">{links}</nav></header>',
                '<main><section id="sheet"><h2>Figures of merit</h2>', self.headline(), self.about(), trust,
                '<p>Whether the files are as they were written, and their verdicts and figures follow from what is in '
                f'them: <code>rooftop verify {escape(self.here)}</code></p></section>',
                *map(self.app, apps), self.environment(), '</main>',
                f'<footer><p>Made by <code>rooftop report {escape(self.here)}</code> from the files in that folder. '
                'This page needs no network and no script.</p></footer>']
        return page.document(f'Rooftop: {", ".join(hosts) or "results"}', '\n'.join(body))


def fom(rung):
    return plots.figures(rung.fom / 1e9) if rung.fom else '–'


def scientific(value):
    value = number(value)
    return '–' if value is None else '0' if value == 0 else f'{value:.2e}'


def rebuilt(result):
    """The command of a result, from what it says of itself."""
    value = result.value
    command = [text(value.get('program'))]
    command += [f'--{name}={shown}' for name, shown in flatten(members(value.get('options')))]
    if len(result.rungs) == 1:
        command.append(f'--rung={result.rungs[0].name}')
    else:
        command.append('--ladder')
    if number(value.get('threads')):
        command.append(f'--threads={value["threads"]}')
    ranks = ['mpirun', '-n', str(result.ranks)] if result.ranks > 1 else []
    return shlex.join(ranks + command)
