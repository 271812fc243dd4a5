"""`rooftop climb APP`: the app's ladder, verified and timed here, as a lesson: lesson.html and lesson.md in a folder.

One page per rung: the one idea and a question to predict; folded away, the answer, what did not help, this machine's
figures and what limits the rung; then the diff from the rung before, next to its Kokkos twin. The text comes from
docs/lessons/APP.md, the figures from one job with --ladder and its ceilings, the diffs from the source tree.
"""
import argparse
import difflib
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass, field
from html import escape
from typing import Optional

from . import (ENVIRONMENT, INVALID, VALID, Fault, figures, lessons, page, plots, programs, results, sections,
               source_tree)
from .cli import minutes, seconds
from .page import Html, details, fill, inline, join, pre
from .progress import Line
from .prose import plain, prose

NEAR = 0.6  # of a ceiling: less, and something else sets the time
NCU = ('--section', 'SpeedOfLight', '--section', 'Occupancy', '--launch-skip', '20', '--launch-count', '3')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add('app', metavar='APP', help=', '.join(results.APPS))
    add('--size', choices=results.SIZES, help="of the problem (default: the program's)")
    add('--device', metavar='LIST', help='cpu, or GPU ordinals, as the programs take it')
    add('--seconds', type=seconds, metavar='S', help="of timing per rung (default: the program's)")
    add('--into', metavar='DIR', help='folder for the lesson (default: climb-APP)')
    add('--source', metavar='DIR', help='the source tree, for the diffs (default: that of this tool)')
    add('--no-counters', action='store_true', help='do not use Nsight Compute, which runs each CUDA rung once more')
    programs.add_arguments(parser)


# ---- The ladder, run ----

def arguments(args: argparse.Namespace) -> list[str]:
    given = (('size', args.size), ('device', args.device), ('seconds', args.seconds))
    words = [f'--{name}={value}' for name, value in given if value is not None]
    return [*words, *args.passed]


def run_ladder(program: str, words: list[str], folder: str) -> tuple[figures.Result, str]:
    """Returns the ladder's result and what the program printed."""
    json = os.path.join(folder, 'ladder.json')
    part = results.part_of(json)
    results.remove(part)

    line = Line()
    line.tick('ladder: every rung that can run here is verified and timed', 0)
    try:
        ended = programs.run([program, '--ladder', '--profile', '--quiet', '--json', part, *words],
                             output=os.path.join(folder, 'ladder.out'), tick=lambda so_far: line.tick(f'ladder: {so_far:.0f} s', so_far))
        line.say(f'ladder: {minutes(ended.seconds)}')
        if ended.exit not in (VALID, INVALID) or not os.path.exists(part):
            raise Fault(ended.exit if ended.exit in (2, 3, 4) else ENVIRONMENT, f'the ladder: {programs.reason(ended)}')
        program_result = results.load(part, results.Program)
        results.settle(part, json)
    finally:
        results.remove(part)
    return figures.Result(program_result), ended.text


def profiles(text: str) -> dict[str, str]:
    """Returns {rung: its table of timers} from what a program printed with --profile."""
    tables = re.findall(r'^timer +calls.*\n-+\n(?:(?!timer ).*@.*\n)+', text, re.M)
    return {table.splitlines()[2].split()[0]: table.rstrip() for table in tables}


# ---- What limits a rung ----

def limiter(rung: figures.Rung) -> str:
    """Returns one line on what limits a rung, from shares of the ceilings of the same job."""
    shares = rung.shares()
    if (rung.share_bandwidth or 0) > figures.MOST:
        return 'a cache: it moves more than memory can; that ceiling was measured over the working set of the whole run'
    if not shares:
        return 'unknown: it has no rates here'
    share, what = shares[0]
    said = ', '.join(f'{100 * s:.0f} % of {name}' for s, name in shares)
    if share >= NEAR:
        return f'{"memory" if what == "bandwidth" else "arithmetic"}: {said}'
    if rung.share_flops is None:
        return f'latency, or arithmetic, whose ceiling is not measured ({rung.precision}): {said}'
    waits = 'barriers, atomics or launches' if rung.processor == 'gpu' else 'dependent instructions or other threads'
    return f'latency: {said}, so neither is near its ceiling; it waits for memory, {waits}'


def tool(name: str) -> Optional[str]:
    """Returns the path of a tool of the CUDA toolkit, or None."""
    for place in (name, os.path.join(os.environ.get('CUDA_HOME', '/usr/local/cuda'), 'bin', name)):
        found = shutil.which(place)
        if found:
            return found
    return None


def said_by(words: list[str], limit: float) -> Optional[str]:
    """Returns what a tool prints, or None if it is missing or fails."""
    try:
        ran = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             encoding='utf-8', errors='replace', timeout=limit)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ran.stdout if ran.returncode == 0 else None


def launched(rung: figures.Rung) -> list[str]:
    """Returns lines on the kernels that ran, as the CUDA runtime reports them; none for a rung without any."""
    if not rung.row.kernels:
        return []
    return [f'{"blocks":>8} {"threads":>7} {"registers":>9} {"local":>6} {"shared":>7} {"resident":>8} {"occupancy":>9}  '
            'kernel (local: bytes per thread; shared: bytes per block; resident: blocks per multiprocessor)'] + [
        f'{kernel.blocks:8} {kernel.threads:7} {kernel.registers:9} {kernel.local_bytes:6} {kernel.shared_bytes:7} '
        f'{kernel.blocks_per_multiprocessor:8} {100 * kernel.occupancy:7.0f} %  {kernel.name}'
        for kernel in rung.row.kernels]


class Counters:
    """Nsight Compute, if it is installed and permitted; else the command that would run it."""

    def __init__(self, program: str, words: list[str], wanted: bool) -> None:
        self.program, self.words = program, words
        self.ncu = tool('ncu') if wanted else None
        self.why = '' if self.ncu else 'Nsight Compute was not used' if not wanted else 'no ncu on PATH'

    def of(self, rung: str) -> list[str]:
        command = [*NCU, self.program, '--rung', rung, '--seconds', '0', *self.words]
        if self.ncu:
            text = said_by([self.ncu, *command], 300) or ''
            lines = [line for line in text.splitlines() if line.startswith('  ') and not line.startswith('    ---')]
            if 'ERR_NVGPUCTRPERM' in text:
                self.ncu, self.why = None, 'the driver does not permit counters to this user'
            elif lines:
                return lines[:90]
            else:
                self.why = 'ncu printed nothing'
        return [f'{self.why}: {shlex.join(["ncu", *command])}']


# ---- A page per rung ----

@dataclass
class Page:
    """What is known of one rung."""
    name: str
    kind: str
    ladder: str
    lesson: Optional[lessons.Lesson]
    rung: Optional[figures.Rung]
    absent: str
    before: str = ''
    diff: list[str] = field(default_factory=list)
    path: str = ''
    text: str = ''
    twin: Optional['Page'] = None
    profile: str = ''
    resources: list[str] = field(default_factory=list)
    counters: list[str] = field(default_factory=list)


def pages_of(app: str, result: figures.Result, program: str) -> list[Page]:
    """Returns a page for every rung of the program, in order; with the reason where a rung did not run."""
    of = lessons.read(app).of
    ran = {rung.name: rung for rung in result.rungs}
    why = {row.name: row.why for row in result.program.absent}
    return [Page(rung.name, rung.kind, rung.ladder, of.get(rung.name), ran.get(rung.name),
                 '' if rung.name in ran else why.get(rung.name) or rung.absent or 'it was left out of this run')
            for rung in programs.rungs(program)]


def add_sources(app: str, pages: list[Page], tree: str) -> None:
    """Fills path, text, diff, before and twin from the source tree."""
    rungs = {rung.name: rung for rung in lessons.ladder(app, tree)}
    by_name = {one.name: one for one in pages}
    for one in pages:
        if one.name in rungs and one.lesson:
            one.path = lessons.source(rungs[one.name], one.lesson)
            one.text = lessons.text_of(os.path.join(tree, one.path))
            one.before = one.lesson.before or rungs[one.name].after
    for one in (one for one in pages if one.text and one.lesson):
        before, rung = by_name.get(one.before), rungs[one.name]
        if rung.kind == 'kokkos' and rung.after in by_name:
            by_name[rung.after].twin = one
        if before and before.text:
            # the other file to look at if this rung has one too, else the rung's own file
            path = before.path if one.lesson and one.lesson.source else lessons.own(rungs[before.name])
            text = lessons.text_of(os.path.join(tree, path))
            one.diff = list(difflib.unified_diff(text.splitlines(), one.text.splitlines(), path, one.path, lineterm=''))


def measured(one: Page) -> list[tuple[str, str]]:
    """Returns [(name, value)] of this machine."""
    rung = one.rung
    if not (rung and rung.seconds):
        return []
    scale, unit = figures.time_unit([rung.seconds])
    share = {what: share for share, what in rung.shares()}
    arithmetic = next((what for what in share if what != 'bandwidth'), '')

    def rate(value: Optional[float], what: str, ceiling: str = '') -> str:
        of = f', {100 * share[ceiling]:.0f} % of {ceiling}' if ceiling in share else ''
        return f'{figures.short(value / 1e9)} {what}{of}' if value else ''

    return [('time', f'{figures.short(rung.seconds / scale)} {unit} per {rung.unit}'),
            ('spread of the windows', f'{100 * rung.spread:.1f} %' if rung.spread is not None else ''),
            ('over ' + rung.after if rung.after else '', rung.step),
            ('figure of merit', rate(rung.fom, sections.CREDITED)),
            ('moved', rate(rung.bytes, 'GB/s', 'bandwidth')),
            ('done', rate(rung.flops, 'GFlop/s', arithmetic))]


def machine(one: Page) -> list[tuple[str, str]]:
    """Returns paragraphs and blocks on what was measured here: (text, block) pairs; either may be empty."""
    rung = one.rung
    if not rung:
        return [(f'Not run here: {one.absent}.', '')]
    if not rung.row.right:
        failed = [f'{check.name}: {"not finite" if check.value is None else check.value}, bound {check.bound}'
                  for check in rung.row.checks if not check.held]
        return [('INVALID here: it was not timed.', '\n'.join(failed))]
    named = '; '.join(f'{name}: {value}' for name, value in measured(one) if value)
    said = [(named or 'verified, not timed', ''),
            (f'{rung.verdict}, {len(rung.row.checks)} checks held. What limits it here: {limiter(rung)}.', '')]
    said += [('Where the time goes:', one.profile)] if one.profile else []
    said += [('Its kernels:', '\n'.join(one.resources))] if one.resources else []
    return said + ([('Counters:', '\n'.join(one.counters))] if one.counters else [])


# ---- The table of the whole climb ----

COLUMNS = ('us per unit', 'step', 'of bandwidth', 'of FMA')


def cells(one: Page) -> list[str]:
    rung = one.rung
    if not rung:
        return ['-'] * len(COLUMNS)
    return [f'{1e6 * rung.seconds:.2f}' if rung.seconds else '-', rung.step or '-',
            figures.share_text(rung.share_bandwidth), figures.share_text(rung.share_flops)]


def machine_line(result: figures.Result) -> str:
    program, said = result.program, []
    for processor in result.processors:
        rate, how = result.bandwidth(processor)
        fma = result.fma(processor, 'fp64')
        name = program.gpu if processor == 'gpu' else program.cpu
        said.append(f'{name}: {how} {figures.scaled(rate)} GB/s, FP64 FMA {figures.scaled(fma)} GFlop/s' if rate and fma
                    else f'{name}: ceilings were not measured')
    options = ', '.join(f'{name} {value}' for name, value in program.options.items())
    return f'Measured {program.date[:10]} on {"; ".join(said)}; ranks {program.ranks}, threads {program.threads}. ' \
           f'{options}.'


# ---- Markdown ----

def fenced(text: str, language: str = '') -> str:
    return f'```{language}\n{text}\n```'


def markdown_page(number: int, one: Page) -> list[str]:
    out = [f'## {number}. {one.name} ({plots.KINDS[one.kind]})']
    lesson = one.lesson
    out += [f'**Idea.** {plain(lesson.idea)}', f'**Predict.** {plain(lesson.predict)}'] if lesson else \
        ['There is no lesson on this rung.']
    out.append('<details><summary>The answer, and what this machine did</summary>\n')
    out += [plain(lesson.answer), f'**What did not help.** {plain(lesson.unhelpful)}'] if lesson else []
    for text, block in machine(one):
        out += [text] + ([fenced(block)] if block else [])
    out.append('</details>')
    out += [f'**Look at.** {plain(lesson.look)}'] if lesson else []
    if one.diff:
        out += [f'What changed since {one.before}:', fenced('\n'.join(one.diff), 'diff')]
    elif one.path:
        out.append(f'Source: `{one.path}`')
    if one.twin:
        out.append(f'Its Kokkos twin is {one.twin.name}: `{one.twin.path}`.')
    return out


def markdown(lesson: lessons.Lessons, result: figures.Result, pages: list[Page], command: str) -> str:
    head = [f'# {lesson.title}', plain(lesson.introduction), machine_line(result), f'`{command}`']
    body = [part for number, one in enumerate(pages, 1) for part in markdown_page(number, one)]
    rows = ['| rung | ' + ' | '.join(COLUMNS) + ' | |', '|---|' + '---:|' * len(COLUMNS) + '---|']
    rows += ['| ' + ' | '.join([one.name, *cells(one), 'not run' if not one.rung else
                                one.rung.verdict]) + ' |' for one in pages]
    return '\n\n'.join(head + body + ['## The whole climb', '\n'.join(rows)]) + '\n'


# ---- HTML ----

def diff_of(lines: list[str]) -> Html:
    kinds = {'+': 'add', '-': 'del', '@': 'at'}
    return pre(join(fill('line', kind=kinds.get(line[:1], 'same'), text=line) for line in lines), 'diff')


def titled(title: str, body: Html) -> Html:
    return fill('part', title=title, body=body)


def html_page(number: int, one: Page) -> Html:
    lesson = one.lesson
    out = [prose(lesson.idea), titled('Predict', prose(lesson.predict))] if lesson else []
    body = [prose(lesson.answer), prose(f'What did not help: {lesson.unhelpful}')] if lesson else []
    for text, block in machine(one):
        body += [inline('p', text)] + ([pre(block)] if block else [])
    out.append(details('The answer, and what this machine did', join(body, '\n')))
    out += [titled('Look at', prose(lesson.look))] if lesson else []
    if one.diff:
        out.append(details(f'What changed since {one.before}', diff_of(one.diff)))
    elif one.text:
        out.append(details(f'The source, {one.path}', pre(one.text)))
    if one.twin:
        both = join(fill('twin', path=twin.path, text=pre(twin.text)) for twin in (one, one.twin))
        out.append(details(f'Next to its Kokkos twin {one.twin.name}', fill('twins', both=both)))
    return fill('page of a rung', number=number, name=one.name, body=join(out, '\n'),
                under=plots.KINDS[one.kind] + (f', ladder {one.ladder}' if one.ladder else ''))


def html(app: str, lesson: lessons.Lessons, result: figures.Result, pages: list[Page], command: str) -> tuple[str, int]:
    """Returns the page and the number of its plots."""
    rows = [[one.name, *cells(one), page.verdict(one.rung.verdict) if one.rung else 'not run'] for one in pages]
    drawn = sections.Figures()
    climbs = [drawn.climb(app, ladder, rungs, str(i)) for i, (ladder, rungs) in enumerate(result.ladders().items())]
    body = fill('lesson', title=lesson.title, introduction=prose(lesson.introduction), machine=machine_line(result),
                command=command, links=join(page.link(f'rung-{i}', one.name) for i, one in enumerate(pages, 1)),
                rungs=join((html_page(i, one) for i, one in enumerate(pages, 1)), '\n'),
                table=page.table(['rung', *COLUMNS, ''], rows),
                figures=join([*climbs, drawn.rooflines(app, result)], '\n'))
    return page.document(lesson.title, body), drawn.plots


# ---- All of it ----

def main(args: argparse.Namespace) -> int:
    lesson = lessons.read(args.app)
    program = programs.find(args.app, args.bindir)
    tree = lessons.tree_of(args.source) if args.source or source_tree() else None
    folder = args.into or f'climb-{args.app}'
    results.make_folder(folder)
    words = arguments(args)
    result, text = run_ladder(program, words, folder)
    pages, tables = pages_of(args.app, result, program), profiles(text)
    if tree:
        add_sources(args.app, pages, tree)
    else:
        print('no diffs: this suite is installed; give --source DIR')
    counters = Counters(program, words, not args.no_counters)
    for one in pages:
        if one.rung and one.rung.row.right:
            one.profile = tables.get(one.name, '')
            one.resources = launched(one.rung)
            one.counters = counters.of(one.name) if one.kind == 'cuda' else []
    command = shlex.join([args.app, '--ladder', *words])
    page_text, drawn = html(args.app, lesson, result, pages, command)
    results.save_bytes(os.path.join(folder, 'lesson.html'), page_text.encode('utf-8', 'replace'))
    results.save_bytes(os.path.join(folder, 'lesson.md'), markdown(lesson, result, pages, command).encode())
    print(f'{os.path.join(folder, "lesson.html")}: {len(pages)} rungs, {sum(1 for one in pages if one.rung)} run here, '
          f'{drawn} plots; the same in lesson.md')
    for one in pages:
        if one.rung and not one.rung.row.right:
            print(f'{args.app}: {one.name}: INVALID')
    return VALID if result.program.verdict != 'INVALID' else INVALID
