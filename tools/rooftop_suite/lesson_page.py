"""A lesson as a page: what is known of each rung, as HTML and as Markdown.

First the picture of the whole climb and the roofline; then a page per rung that ran here: idea, drawing, question with
this machine's ceilings, and folded away the answer and what this machine did. Of the rungs that cannot run here it says
why, together at the end. Nothing is shown that cannot be: no share above 102 %, no rate without a ceiling.
"""
import re
from dataclasses import dataclass, field
from typing import Optional

from . import drawings, figures, lessons, page, plots, recorded, sections
from .page import Html, details, fill, inline, join, pre
from .programs import EXTENTS
from .prose import plain, prose

NEAR = 0.6  # of a ceiling: less, and something else sets the time
MOST_DIFF = 60  # lines
COLUMNS = ('us per unit', 'step', 'of bandwidth', 'of FMA')
H200 = (('bandwidth', 4.2e12, 4.5e12), ('fp64', 32.5e12, 33.9e12), ('fp32', 64e12, 66e12))  # its ceilings, in questions
RATE = re.compile(r'\b(\d+(?:\.\d+)?)\s(GB/s|TB/s|GFlop/s|TFlop/s)')


@dataclass
class Page:
    """What is known of one rung. changed: a diff of the functions that the lesson names."""
    name: str
    kind: str
    ladder: str
    lesson: Optional[lessons.Lesson]
    rung: Optional[figures.Rung]
    absent: str
    before: str = ''
    changed: list[str] = field(default_factory=list)
    path: str = ''
    text: str = ''
    functions: str = ''  # those of the text that the lesson names
    twin: Optional['Page'] = None
    profile: str = ''
    resources: list[str] = field(default_factory=list)
    counters: list[str] = field(default_factory=list)


@dataclass
class Lesson:
    """A whole lesson."""
    app: str
    text: lessons.Lessons
    result: figures.Result
    pages: list[Page]
    command: str

    @property
    def here(self) -> list[Page]:
        return [one for one in self.pages if one.rung]

    @property
    def elsewhere(self) -> list[Page]:
        return [one for one in self.pages if not one.rung]


# ---- Questions with this machine's ceilings ----

def ceiling(result: figures.Result, processor: str, what: str) -> Optional[float]:
    return result.bandwidth(processor)[0] if what == 'bandwidth' else result.fma(processor, what)


def here(text: str, result: figures.Result, processor: str) -> str:
    """Returns a question in which a ceiling of the H200 stands in brackets behind this machine's."""
    def both(found: 're.Match[str]') -> str:
        value = float(found[1]) * {'G': 1e9, 'T': 1e12}[found[2][0]]
        for what, low, high in H200:
            own = ceiling(result, processor, what) if (what == 'bandwidth') == found[2].endswith('B/s') else None
            if own and low <= value <= high:
                return f'{figures.short(own / 1e9)} G{found[2][1:]} (H200: {found[0]})'
        return found[0]
    return RATE.sub(both, text)


# ---- What this machine did ----

def limiter(rung: figures.Rung, threads: int) -> str:
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
    waits = 'memory, barriers, atomics or launches' if rung.processor == 'gpu' else \
        'caches or for one instruction after the other' + (', or for other threads' if threads > 1 else '')
    return f'latency: {said}, so neither is near its ceiling; it waits for {waits}'


def least(rung: figures.Rung, result: figures.Result) -> str:
    """Returns how long the work of a rung takes at least on this machine, by each ceiling."""
    bandwidth = ceiling(result, rung.processor, 'bandwidth')
    fma = result.fma(rung.processor, rung.row.arithmetic)
    if not (bandwidth and fma and rung.row.bytes_per_unit and rung.row.flop_per_unit):
        return ''
    by = [rung.row.bytes_per_unit / bandwidth, rung.row.flop_per_unit / fma]
    scale, unit = figures.time_unit(by[:1])
    return f'By this machine\'s ceilings, its bytes take at least {figures.short(by[0] / scale)} {unit} per ' \
           f'{rung.unit} ({figures.short(bandwidth / 1e9)} GB/s), its flops {figures.short(by[1] / scale)} {unit} ' \
           f'({figures.short(fma / 1e9)} GFlop/s): {"memory" if by[0] > by[1] else "arithmetic"} is the limit.'


def measured(one: Page) -> list[tuple[str, str]]:
    """Returns [(name, value)] of this machine."""
    rung = one.rung
    if not (rung and rung.seconds):
        return []
    scale, unit = figures.time_unit([rung.seconds])
    share = {what: share for share, what in rung.shares()}
    arithmetic = next((what for what in share if what != 'bandwidth'), '')

    def rate(value: Optional[float], what: str, of: str) -> str:
        return f'{figures.short(value / 1e9)} {what}, {100 * share[of]:.0f} % of {of}' if value and of in share else ''

    return [('time', f'{figures.short(rung.seconds / scale)} {unit} per {rung.unit}'),
            ('spread of the windows', f'{100 * rung.spread:.1f} %' if rung.spread is not None else ''),
            ('over ' + rung.after if rung.after else '', rung.step),
            ('figure of merit', f'{figures.short(rung.fom / 1e9)} {sections.CREDITED}' if rung.fom else ''),
            ('moved', rate(rung.bytes, 'GB/s', 'bandwidth')),
            ('done', rate(rung.flops, 'GFlop/s', arithmetic))]


def sane(profile: str) -> str:
    """Returns a table of timers without rates beyond their ceiling: those kernels work in a cache."""
    def line(text: str) -> str:
        found = re.fullmatch(r'(.*?)\s+\S+\s+\S+\s+([\d.]+) %', text)
        return f'{found[1]}  in a cache' if found and float(found[2]) > 100 * figures.MOST else text
    return '\n'.join(map(line, profile.splitlines()))


def elsewhere(app: str, name: str) -> str:
    """Returns what is recorded of a rung on other machines, or ''."""
    said = []
    for key, ladder in recorded.ladders().items():
        rung = ladder.rungs.get(name) if key.partition('@')[0] == app else None
        if rung:
            share = max((rung.bandwidth, 'of bandwidth'), (rung.flops, 'of FMA'))
            told = f', {100 * share[0]:.0f} % {share[1]}' if 0 < share[0] <= figures.MOST else ''
            said.append(f'{recorded.text_of(f"{key}.{name}")} per {rung.unit}{told} ({recorded.told(key)})')
    return f'Elsewhere: {"; ".join(said)}.' if said else ''


def machine(lesson: Lesson, one: Page) -> list[tuple[str, str]]:
    """Returns paragraphs and blocks on what was measured: (text, block) pairs; either may be empty."""
    rung, other = one.rung, elsewhere(lesson.app, one.name)
    recorded_too = [(other, '')] if other else []
    if not rung:
        return recorded_too
    if not rung.row.right:
        failed = [f'{check.name}: {"not finite" if check.value is None else check.value}, bound {check.bound}'
                  for check in rung.row.checks if not check.held]
        return [('INVALID here: it was not timed.', '\n'.join(failed))]
    named = '; '.join(f'{name}: {value}' for name, value in measured(one) if value)
    said = [(least(rung, lesson.result), ''), (f'On this machine: {named or "verified, not timed"}.', ''),
            (f'{rung.verdict}, {len(rung.row.checks)} checks held' + (f' ({"; ".join(rung.row.disturbed)})'
             if rung.row.disturbed else '') + '. What limits it here: '
             f'{limiter(rung, lesson.result.program.threads)}.', ''), *recorded_too]
    said += [('Where the time goes:', sane(one.profile))] if one.profile else []
    said += [('Its kernels:', '\n'.join(one.resources))] if one.resources else []
    return [pair for pair in said + ([('Counters:', '\n'.join(one.counters))] if one.counters else []) if any(pair)]


def report(result: figures.Result, before: list[figures.Rung]) -> list[str]:
    """Returns lines on the rung of a run, for a notebook."""
    rung = result.rungs[0]
    one = Page(rung.name, rung.kind, rung.ladder, None, rung, '')
    other = next((old for old in reversed(before) if old.name == rung.after), None)
    ratio = f'{other.seconds / rung.seconds:.2f} times as fast as {other.name}' \
        if other and other.seconds and rung.seconds and other.fom and rung.fom else ''
    said = [f'{name}: {value}' for name, value in measured(one) if value and not name.startswith('over ')]
    unsteady = f'UNSTEADY: {"; ".join(rung.row.disturbed)}' if rung.row.disturbed else ''
    return [line for line in (least(rung, result), *said, ratio, unsteady) if line]


# ---- What both forms share ----

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
    options = ', '.join(f'{name} {program.options[name]}' for name in EXTENTS[program.program])
    return f'Measured {program.date[:10]} on {"; ".join(said)}; ranks {program.ranks}, threads {program.threads}. ' \
           f'{options}.'


def reasons(lesson: Lesson) -> list[str]:
    """Returns a line per reason why rungs did not run here."""
    why: dict[str, list[str]] = {}
    for one in lesson.elsewhere:
        why.setdefault(one.absent, []).append(one.name)
    return [f'{", ".join(names)}: {reason}' for reason, names in why.items()]


def question(lesson: Lesson, one: Page, text: str) -> str:
    processor = one.rung.processor if one.rung else ''
    return here(text, lesson.result, processor) if processor else text


def answer(one: Page) -> list[str]:
    """Returns the paragraphs that are folded away."""
    if not one.lesson:
        return []
    return [one.lesson.answer, f'*What did not help.* {one.lesson.unhelpful}']


# ---- Markdown ----

def fenced(text: str, language: str = '') -> str:
    return f'```{language}\n{text}\n```'


def markdown_page(lesson: Lesson, number: int, one: Page) -> list[str]:
    out, text = [f'## {number}. {one.name} ({plots.KINDS[one.kind]})'], one.lesson
    if text:
        out += [f'**Idea.** {plain(text.idea)}', f'**Data.** {drawings.words(text.drawing)}.' if text.drawing else '',
                f'**Predict.** {plain(question(lesson, one, text.predict))}']
    out.append('<details><summary>The answer, and what this machine did</summary>\n')
    out += [plain(part) for part in answer(one)]
    for said, block in machine(lesson, one):
        out += [said] + ([fenced(block)] if block else [])
    out += ['</details>', f'**Look at.** {plain(text.look)}' if text else '']
    if one.changed:
        out += [f'What changed since {one.before}, in the functions that matter:',
                fenced('\n'.join(one.changed), 'diff')]
    out.append(f'Source: `{one.path}`' if one.path else '')
    return [part for part in out if part]


def markdown(lesson: Lesson) -> str:
    head = [f'# {lesson.text.title}', plain(lesson.text.introduction), machine_line(lesson.result),
            f'`{lesson.command}`']
    rows = ['| rung | ' + ' | '.join(COLUMNS) + ' | |', '|---|' + '---:|' * len(COLUMNS) + '---|']
    rows += ['| ' + ' | '.join([one.name, *cells(one), one.rung.verdict if one.rung else '']) + ' |'
             for one in lesson.here]
    body = [part for number, one in enumerate(lesson.here, 1) for part in markdown_page(lesson, number, one)]
    left = ['## What did not run here', *reasons(lesson), f'Their lessons are in docs/lessons/{lesson.app}.md.'] \
        if lesson.elsewhere else []
    return '\n\n'.join(head + ['## The whole climb', '\n'.join(rows)] + body + left) + '\n'


# ---- HTML ----

def labelled(label: str, text: str) -> Html:
    return prose(f'**{label}.** {text}')


def diff_of(lines: list[str]) -> Html:
    marks = {'+': 'ins', '-': 'del', '@': 'i'}
    return pre(join((inline(marks[line[0]], line) if line[:1] in marks else line for line in lines), '\n'), 'diff')


def drawing_of(one: Page) -> Html:
    if not (one.lesson and one.lesson.drawing):
        return Html()
    text = one.lesson.drawing
    spec, name = drawings.parsed(text), re.sub(r'\W', '-', f'data-{one.name}')
    places = join(fill('place', place=place, name='shared memory' if place == 'shared' else place, kept=kept)
                  for place, kept in spec.places)
    return fill('drawing', what=spec.what, cells=Html(drawings.cells(name, text)), who=drawings.shared_by(spec),
                places=places)


def html_page(lesson: Lesson, number: int, one: Page) -> Html:
    text = one.lesson
    out = [labelled('Idea', text.idea), drawing_of(one), labelled('Predict', question(lesson, one, text.predict))] \
        if text else []
    body = [prose(part) for part in answer(one)]
    for said, block in machine(lesson, one):
        body += [inline('p', said)] + ([pre(block)] if block else [])
    out.append(details('The answer, and what this machine did', join(body, '\n')))
    out += [labelled('Look at', text.look)] if text else []
    if one.changed:
        out.append(details(f'What changed since {one.before}, in the functions that matter', diff_of(one.changed)))
    if one.twin and one.twin.rung:
        both = join(fill('twin', path=twin.path, text=pre(twin.functions)) for twin in (one, one.twin))
        out.append(details(f'Next to its Kokkos twin {one.twin.name}', fill('twins', both=both)))
    out += [inline('p', join(['The source: ', inline('code', one.path)]))] if one.path else []
    return fill('page of a rung', number=number, name=one.name, body=join(out, '\n'),
                under=plots.KINDS[one.kind] + (f', ladder {one.ladder}' if one.ladder else ''))


def html(lesson: Lesson) -> tuple[str, int]:
    """Returns the page and the number of its plots."""
    drawn, numbers = sections.Figures(), {one.name: i for i, one in enumerate(lesson.here, 1)}
    rows = [[one.name, *cells(one), page.verdict(one.rung.verdict)] for one in lesson.here if one.rung]
    climbs = [drawn.climb(lesson.app, ladder, rungs, str(i))
              for i, (ladder, rungs) in enumerate(lesson.result.ladders().items())]
    absent = fill('not here', app=lesson.app, reasons=join(inline('li', reason) for reason in reasons(lesson))) \
        if lesson.elsewhere else ''
    body = fill('lesson', title=lesson.text.title, introduction=prose(lesson.text.introduction),
                machine=machine_line(lesson.result), command=lesson.command,
                links=join(page.link(f'rung-{numbers[one.name]}', one.name) for one in lesson.here),
                table=page.table(['rung', *COLUMNS, ''], rows),
                figures=join([*climbs, drawn.rooflines(lesson.app, lesson.result)], '\n'),
                rungs=join((html_page(lesson, numbers[one.name], one) for one in lesson.here), '\n'), absent=absent)
    return page.document(lesson.text.title, body), drawn.plots
