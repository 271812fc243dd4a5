"""`rooftop climb APP`: the app's ladder, verified and timed here, as a lesson: lesson.html and lesson.md in a folder.

A page a rung: the one idea, a question to predict; folded away until somebody asks, the answer, what did not help,
this machine's figures and what limits the rung; the source diff from the rung before, the Kokkos twin beside it. What
is said comes from docs/lessons/APP.md, what is measured from one job with --ladder and its ceilings, what is compared
from the source tree.
"""
import difflib
import os
import re
import shlex
import shutil
import subprocess
import sys
from html import escape

from . import ENVIRONMENT, INVALID, VALID, Fault, lessons, page, plots, programs, report, results, source_tree
from .cli import seconds

NEAR = 0.6  # of a ceiling: less, and something else sets the time
NCU = ('--section', 'SpeedOfLight', '--section', 'Occupancy', '--launch-skip', '20', '--launch-count', '3')
STYLE = '''
.diff span { display: block; min-height: 1.5em; }
.diff .add { background: color-mix(in srgb, var(--good) 16%, transparent); }
.diff .del { background: color-mix(in srgb, var(--bad) 14%, transparent); } .diff .at { color: var(--soft); }
.twins { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 1rem; }
.twins pre { max-height: 40rem; overflow: auto; }
details > summary { font-weight: 600; } .rung { break-before: page; }
@media (max-width: 900px) { .twins { grid-template-columns: minmax(0, 1fr); } }
'''


def add_arguments(parser):
    add = parser.add_argument
    add('app', metavar='APP', help=', '.join(programs.APPS))
    add('--size', choices=programs.SIZES, help="of the problem (default: the program's)")
    add('--device', metavar='LIST', help='cpu, or GPU ordinals, as the programs take it')
    add('--seconds', type=seconds, metavar='S', help="of timing each rung (default: the program's)")
    add('--into', metavar='DIR', help='folder for the lesson (default: climb-APP)')
    add('--source', metavar='DIR', help='the source tree, for the diffs (default: that of this tool)')
    add('--no-counters', action='store_true', help='do not ask Nsight Compute, which runs each CUDA rung once more')
    programs.add_arguments(parser)
    lessons.pass_on(parser)


# ---- The ladder, run ----

def arguments(args):
    given = (('size', args.size), ('device', args.device), ('seconds', args.seconds))
    words = [f'--{name}={value}' for name, value in given if value is not None]
    return words + args.passed


def run_ladder(program, words, folder):
    """(report.Result, what the program said)."""
    json, part = os.path.join(folder, 'ladder.json'), os.path.join(folder, '.part-ladder.json')
    results.remove(part)
    live = sys.stderr.isatty()
    tick = (lambda so_far: print(f'\r{so_far:.0f} s', end='', file=sys.stderr, flush=True)) if live else None
    try:
        ended = programs.run([program, '--ladder', '--profile', '--quiet', '--json', part, *words],
                             output=os.path.join(folder, 'ladder.out'), tick=tick)
        if ended.exit not in (VALID, INVALID) or not os.path.exists(part):
            raise Fault(ended.exit if ended.exit in (2, 3, 4) else ENVIRONMENT, f'the ladder: {programs.reason(ended)}')
        value = results.load(part)
        results.settle(part, json)
    finally:
        results.remove(part)
    return report.Result(value), ended.text


def profiles(text):
    """{rung: its table of timers} of what a program said with --profile."""
    tables = re.findall(r'^timer +calls.*\n-+\n(?:(?!timer ).*@.*\n)+', text, re.M)
    return {table.splitlines()[2].split()[0]: table.rstrip() for table in tables}


# ---- What limits a rung ----

def limiter(rung):
    """One line, from shares of the ceilings of the same job."""
    shares = rung.shares()
    if not shares:
        return 'not known: it has no rates here'
    share, what = shares[0]
    said = ', '.join(f'{100 * s:.0f} % of {name}' for s, name in shares)
    if share > report.BEYOND:
        return f'a cache: {said}; the ceiling was measured over the working set of the whole run'
    if share >= NEAR:
        return f'{"memory" if what == "bandwidth" else "arithmetic"}: {said}'
    if rung.share_flops is None:
        return f'latency, or arithmetic, whose ceiling is not measured ({rung.arithmetic or "kind not known"}): {said}'
    return f'latency: {said}, so neither is near its ceiling; it waits, for memory, barriers, atomics, launches or ' \
           'other threads'


def tool(name):
    """Path of a tool of the CUDA toolkit, or None."""
    for place in (name, os.path.join(os.environ.get('CUDA_HOME', '/usr/local/cuda'), 'bin', name)):
        found = shutil.which(place)
        if found:
            return found
    return None


def said_by(words, limit):
    """What a tool says, or None if it is not there or fails."""
    try:
        ran = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             encoding='utf-8', errors='replace', timeout=limit)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ran.stdout if ran.returncode == 0 else None


def launched(rung):
    """Lines on the kernels that ran, as the CUDA runtime has them; none of a rung without."""
    kernels = report.items(rung.row.get('kernels'))
    if not kernels:
        return []

    def value(kernel, key):
        return report.number(kernel.get(key)) or 0

    return [f'{"blocks":>8} {"threads":>7} {"registers":>9} {"local":>6} {"shared":>7} {"resident":>8} {"occupancy":>9}  '
            'kernel (local: bytes a thread; shared: bytes a block; resident: blocks a multiprocessor)'] + [
        f'{value(kernel, "blocks"):8.0f} {value(kernel, "threads"):7.0f} {value(kernel, "registers"):9.0f} '
        f'{value(kernel, "local_bytes"):6.0f} {value(kernel, "shared_bytes"):7.0f} '
        f'{value(kernel, "blocks_per_multiprocessor"):8.0f} {100 * value(kernel, "occupancy"):7.0f} %  '
        f'{report.text(kernel.get("name"))}' for kernel in kernels]


class Counters:
    """Nsight Compute, if it is there and permitted; else the command."""

    def __init__(self, program, words, wanted):
        self.program, self.words = program, words
        self.ncu = tool('ncu') if wanted else None
        self.why = '' if self.ncu else 'Nsight Compute was not asked' if not wanted else 'no ncu on PATH'

    def of(self, rung):
        command = [*NCU, self.program, '--rung', rung, '--seconds', '0', *self.words]
        if self.ncu:
            text = said_by([self.ncu, *command], 300) or ''
            lines = [line for line in text.splitlines() if line.startswith('  ') and not line.startswith('    ---')]
            if 'ERR_NVGPUCTRPERM' in text:
                self.ncu, self.why = None, 'the driver does not permit counters to this user'
            elif lines:
                return lines[:90]
            else:
                self.why = 'ncu had nothing to say'
        return [f'{self.why}: {shlex.join(["ncu", *command])}']


# ---- A page a rung ----

class Page:
    """What is known of one rung."""

    def __init__(self, name, kind, ladder, lesson, rung, absent):
        self.name, self.kind, self.ladder, self.lesson = name, kind, ladder, lesson
        self.rung, self.absent = rung, absent
        self.before, self.diff, self.path, self.text, self.twin = '', [], '', '', None
        self.profile, self.resources, self.counters = '', [], []


def pages_of(app, result, program):
    """A page for every rung of the program, in order: of those that did not run, why."""
    of = lessons.read(app).of
    ran = {rung.name: rung for rung in result.rungs}
    why = {row.get('name'): report.text(row.get('why')) for row in result.absent}
    return [Page(rung.name, rung.kind, rung.ladder, of.get(rung.name), ran.get(rung.name),
                 '' if rung.name in ran else why.get(rung.name) or rung.absent or 'it was left out of this run')
            for rung in programs.rungs(program)]


def add_sources(app, pages, tree):
    """Fills path, text, diff, before and twin from the source tree."""
    rungs = {rung.name: rung for rung in lessons.ladder(app, tree)}
    by_name = {one.name: one for one in pages}
    for one in (one for one in pages if one.name in rungs and one.lesson):
        one.path = lessons.source(rungs[one.name], one.lesson, tree)
        one.text = lessons.text_of(os.path.join(tree, one.path))
        one.before = one.lesson.before or rungs[one.name].after
    for one in (one for one in pages if one.text):
        before, rung = by_name.get(one.before), rungs[one.name]
        if rung.kind == 'kokkos' and rung.after in by_name:
            by_name[rung.after].twin = one
        if before and before.text and lessons.defining(rungs[before.name], tree) != lessons.defining(rung, tree):
            # with the file to look at if this one's is another than its table's too, else table with table
            path = before.path if one.lesson.source else lessons.defining(rungs[before.name], tree)
            text = lessons.text_of(os.path.join(tree, path))
            one.diff = list(difflib.unified_diff(text.splitlines(), one.text.splitlines(), path, one.path, lineterm=''))


def figures(one):
    """[(name, value)] of this machine."""
    rung = one.rung
    if not (rung and rung.seconds):
        return []
    scale, unit = report.time_unit([rung.seconds])
    rate = lambda value, what: f'{plots.figures(value / 1e9)} {what}' if value else ''
    share = dict((what, s) for s, what in rung.shares())
    of = lambda what: f', {100 * share[what]:.0f} % of {what}' if what in share else ''
    arithmetic = next((what for what in share if what != 'bandwidth'), '')
    return [('time', f'{plots.figures(rung.seconds / scale)} {unit} {report.each(rung.unit)}'),
            ('spread of the windows', f'{100 * rung.spread:.1f} %' if rung.spread is not None else ''),
            ('over ' + rung.after if rung.after else '', rung.step),
            ('figure of merit', rate(rung.fom, 'GFlop/s of credited work')),
            ('moved', rate(rung.bytes, 'GB/s') + of('bandwidth')),
            ('done', rate(rung.flops, 'GFlop/s') + of(arithmetic))]


def plain(text):
    """Links of a lesson as their text: where they lead is not beside the page."""
    return re.sub(r'\[([^\]]*)\]\([^)]*\)', r'`\1`', re.sub(r'\[`([^\]]*)`\]\([^)]*\)', r'[\1]()', text))


def machine(one):
    """Paragraphs and blocks on what was seen here: (text, block) pairs, either may be empty."""
    rung = one.rung
    if not rung:
        return [(f'Not run here: {one.absent}.', '')]
    if not rung.valid:
        failed = [f'{check.get("name")}: {check.get("value", "not finite")}, bound {check.get("bound")}'
                  for check in rung.checks if check.get('held') is not True]
        return [('INVALID here: it was not timed.', '\n'.join(failed))]
    named = '; '.join(f'{name}: {value}' for name, value in figures(one) if value)
    said = [(named or 'verified, not timed', ''),
            (f'VALID, {len(rung.checks)} checks held. What limits it here: {limiter(rung)}.', '')]
    said += [('Where the time goes:', one.profile)] if one.profile else []
    said += [('Its kernels:', '\n'.join(one.resources))] if one.resources else []
    return said + ([('Counters:', '\n'.join(one.counters))] if one.counters else [])


# ---- Markdown ----

def fenced(text, language=''):
    return f'```{language}\n{text}\n```'


def markdown_page(number, one):
    out = [f'## {number}. {one.name} ({plots.KINDS[one.kind]})']
    if not one.lesson:
        out.append('There is no lesson on this rung.')
    else:
        out += [plain(one.lesson.idea), f'**Predict.** {plain(one.lesson.predict)}']
    out.append('<details><summary>The answer, and what this machine did</summary>\n')
    out += [plain(one.lesson.answer), f'**What did not help.** {plain(one.lesson.unhelpful)}'] if one.lesson else []
    for text, block in machine(one):
        out += [text] + ([fenced(block)] if block else [])
    out.append('</details>')
    if one.lesson:
        out.append(f'**Look at.** {plain(one.lesson.look)}')
    if one.diff:
        out += [f'What changed since {one.before}:', fenced('\n'.join(one.diff), 'diff')]
    elif one.path:
        out.append(f'Source: `{one.path}`')
    if one.twin:
        out.append(f'Its Kokkos twin is {one.twin.name}: `{one.twin.path}`.')
    return out


def markdown(lesson, result, pages, command):
    head = [f'# {lesson.title}', plain(lesson.introduction), machine_line(result), f'`{command}`']
    body = [part for number, one in enumerate(pages, 1) for part in markdown_page(number, one)]
    rows = ['| rung | ' + ' | '.join(name for name, _ in COLUMNS) + ' | |', '|---|' + '---:|' * len(COLUMNS) + '---|']
    rows += ['| ' + ' | '.join([one.name] + [cell(one) for _, cell in COLUMNS] + [state(one)]) + ' |' for one in pages]
    return '\n\n'.join(head + body + ['## The whole climb', '\n'.join(rows)]) + '\n'


COLUMNS = (('us a unit', lambda one: f'{1e6 * one.rung.seconds:.2f}' if one.rung and one.rung.seconds else '-'),
           ('step', lambda one: one.rung.step or '-' if one.rung else '-'),
           ('of bandwidth', lambda one: report.percent(one.rung.share_bandwidth) if one.rung else '-'),
           ('of FMA', lambda one: report.percent(one.rung.share_flops) if one.rung else '-'))


def state(one):
    return 'not run' if not one.rung else 'VALID' if one.rung.valid else 'INVALID'


def machine_line(result):
    value, said = result.value, []
    for processor in result.processors:
        rate, how = result.bandwidth(processor)
        fma, _ = result.ceiling(processor, 'fma64_flop')
        name = report.text(value.get('gpu' if processor == 'gpu' else 'cpu'))
        said.append(f'{name}: {how.split("_")[0]} {plots.figures(rate / 1e9)} GB/s, FP64 FMA '
                    f'{plots.figures(fma / 1e9)} GFlop/s' if rate and fma else f'{name}: ceilings were not measured')
    options = ', '.join(f'{name} {text}' for name, text in report.flatten(value.get('options', {})))
    return f'Measured {report.text(value.get("date"))[:10]} on {"; ".join(said)}; ranks {value.get("ranks")}, ' \
           f'threads {value.get("threads")}. {options}.'


# ---- HTML ----

def prose(text):
    marked = re.sub(r'`([^`]+)`', r'<code>\1</code>', escape(plain(text), quote=False))
    return ''.join(f'<p>{part}</p>' for part in re.sub(r'\*([^*\n]+)\*', r'<em>\1</em>', marked).split('\n\n'))


def pre(text, kind=''):
    return f'<pre tabindex="0"{kind}>{escape(text, quote=False)}</pre>'


def diff_of(lines):
    kinds = {'+': 'add', '-': 'del', '@': 'at'}
    spans = [f'<span class="{kinds.get(line[:1], "same")}">{escape(line, quote=False)}</span>' for line in lines]
    return f'<pre tabindex="0" class="diff">{"".join(spans)}</pre>'


def html_page(number, one):
    under = plots.KINDS[one.kind] + (f', ladder {escape(one.ladder)}' if one.ladder else '')
    out = [f'<section class="rung" id="rung-{number}">',
           f'<h2>{number}. {escape(one.name)}<span class="sub">{under}</span></h2>']
    if one.lesson:
        out += [prose(one.lesson.idea), '<h3>Predict</h3>', prose(one.lesson.predict)]
    body = [prose(one.lesson.answer), prose(f'What did not help: {one.lesson.unhelpful}')] if one.lesson else []
    for text, block in machine(one):
        body += [f'<p>{escape(text, quote=False)}</p>'] + ([pre(block)] if block else [])
    out.append(report.details('The answer, and what this machine did', '\n'.join(body)))
    if one.lesson:
        out += ['<h3>Look at</h3>', prose(one.lesson.look)]
    if one.diff:
        out.append(report.details(f'What changed since {escape(one.before)}', diff_of(one.diff)))
    elif one.text:
        out.append(report.details(f'The source, {escape(one.path)}', pre(one.text)))
    if one.twin:
        both = ''.join(f'<div><p><code>{escape(twin.path)}</code></p>{pre(twin.text)}</div>'
                       for twin in (one, one.twin))
        out.append(report.details(f'Beside it, its Kokkos twin {escape(one.twin.name)}',
                                  f'<div class="twins">{both}</div>'))
    return '\n'.join(out + ['</section>'])


class Drawer(report.Report):
    """The report's figures, without its folder."""

    def __init__(self):
        self.plots = 0


def html(app, lesson, result, pages, command):
    links = ''.join(f'<a href="#rung-{i}">{escape(one.name)}</a>' for i, one in enumerate(pages, 1))
    head = f'<p class="mark">Rooftop</p><h1>{escape(lesson.title)}</h1>{prose(lesson.introduction)}' \
           f'<p class="lead">{escape(machine_line(result))}</p><p><code>{escape(command)}</code></p>' \
           f'<nav>{links}</nav>'
    verdict = lambda one: report.verdict(one.rung.valid) if one.rung else 'not run'
    rows = [[escape(one.name)] + [cell(one) for _, cell in COLUMNS] + [verdict(one)] for one in pages]
    drawer = Drawer()
    figures_ = [drawer.climb(app, ladder, rungs, i) for i, (ladder, rungs) in enumerate(result.ladders().items())]
    end = ['<h2>The whole climb</h2>', report.table(['rung'] + [name for name, _ in COLUMNS] + [''], rows), *figures_,
           drawer.rooflines(app, result)]
    body = '\n'.join([head] + [html_page(i, one) for i, one in enumerate(pages, 1)] + end)
    return page.document(lesson.title, body).replace('</style>', STYLE + '</style>', 1), drawer.plots


# ---- All of it ----

def main(args):
    lesson = lessons.read(args.app)
    program = programs.find(args.app, args.bindir)
    tree = lessons.tree_of(args.source) if args.source or source_tree() else None
    folder = args.into or f'climb-{args.app}'
    os.makedirs(folder, exist_ok=True)
    words = arguments(args)
    result, text = run_ladder(program, words, folder)
    pages, tables = pages_of(args.app, result, program), profiles(text)
    if tree:
        add_sources(args.app, pages, tree)
    else:
        print('no diffs: this suite is installed; give --source DIR')
    counters = Counters(program, words, not args.no_counters)
    for one in (one for one in pages if one.rung and one.rung.valid):
        one.profile = tables.get(one.name, '')
        one.resources = launched(one.rung)
        if one.kind == 'cuda':
            one.counters = counters.of(one.name)
    command = shlex.join([args.app, '--ladder', *words])
    page_text, drawn = html(args.app, lesson, result, pages, command)
    results.save_bytes(os.path.join(folder, 'lesson.html'), page_text.encode('utf-8', 'replace'))
    results.save_bytes(os.path.join(folder, 'lesson.md'), markdown(lesson, result, pages, command).encode())
    without = '' if plots.matplotlib() else ', no plots: matplotlib is missing (Debian: python3-matplotlib)'
    print(f'{os.path.join(folder, "lesson.html")}: {len(pages)} rungs, {sum(1 for one in pages if one.rung)} run here, '
          f'{drawn} plots{without}; the same in lesson.md')
    for one in pages:
        if one.rung and not one.rung.valid:
            print(f'{args.app}: {one.name}: INVALID')
    return VALID if result.valid else INVALID
