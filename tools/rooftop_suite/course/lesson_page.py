"""A lesson as a page (lesson.html) or as slides (slides.html): what is known of each rung.

First the picture of the whole climb and the roofline; then a section per rung that ran here: idea, drawing, question
with this machine's ceilings, and folded away the answer and what this machine did. Of the rungs that cannot run here it says
why, together at the end. Nothing is shown that cannot be: no share above 102 %, no rate without a ceiling.
"""
import re
from dataclasses import dataclass, field
from typing import Optional

from ..measure.programs import extents
from ..pages import plots
from ..results import explain, figures
from . import drawings, lessons

NEAR = 0.6  # of a ceiling: less, and something else sets the time
MOST_CODE = 25  # lines per rung
RATE = re.compile(r'([\d.]+)\s([GT])(B|Flop)/s')


@dataclass(repr=False, eq=False)
class Page:
    """What is known of one rung. functions: those that the lesson names, their source; changed: a diff of them, if they
    have much in common with those of `before`."""
    name: str
    kind: str
    ladder: str
    lesson: Optional[lessons.Lesson]
    rung: Optional[figures.Rung]
    absent: str
    before: str = ''
    changed: list[str] = field(default_factory=list)
    path: str = ''
    functions: str = ''

    def code(self) -> tuple[str, list[str]]:
        """Returns what it is, and the first lines of the diff, or else of the functions."""
        lines = self.changed or self.functions.splitlines()
        left = len(lines) - MOST_CODE
        more = [f'@@ {left} lines more are in {self.path} @@'] if left > 0 else []
        return (f'What changed since {self.before}' if self.changed else 'The functions to look at'), \
            lines[:MOST_CODE] + more


@dataclass(repr=False, eq=False)
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


# ---- Questions with this machine's ceilings ----

def question(one: Page, text: str) -> str:
    """Returns a question, and where it names the H200's ceilings those of this machine too."""
    rung = one.rung
    rates = ((rung.bandwidth, 'GB/s'), (rung.fma, 'GFlop/s')) if rung and RATE.search(text) else ()
    said = [f'{figures.short(rate / 1e9)} {unit}' for rate, unit in rates if rate]
    return f'{text} And on this machine, with {" and ".join(said)}?' if said else text


# ---- What this machine did ----

def limiter(rung: figures.Rung, threads: int) -> str:
    """Returns what limits a rung, in words, from shares of the ceilings of the same job."""
    shares = rung.shares()
    if (rung.share_bandwidth or 0) > figures.MOST:
        return 'a cache: it moves more than memory can (the ceiling is that of the working set of the whole run)'
    if rung.row.disturbed or not shares:
        return 'unknown: ' + ('the machine was disturbed' if rung.row.disturbed else 'it has no rates here')
    share, what = shares[0]
    if share >= NEAR:
        return 'memory' if what == 'bandwidth' else 'arithmetic'
    if rung.share_flops is None:
        return f'latency, or arithmetic, whose ceiling is not measured ({rung.precision})'
    waits = 'memory, barriers, atomics or launches' if rung.processor == 'gpu' else \
        'caches or for one instruction after the other' + (', or for other threads' if threads > 1 else '')
    return f'latency: neither ceiling is near; it waits for {waits}'


def least(rung: figures.Rung, asked: str = '') -> str:
    """Returns what this machine's ceilings allow a rung. asked: a question, which may name those of another machine."""
    if not (rung.bandwidth and rung.fma and rung.row.bytes_per_unit and rung.row.flop_per_unit):
        return ''
    by = [rung.row.bytes_per_unit / rung.bandwidth, rung.row.flop_per_unit / rung.fma]
    scale, unit = figures.time_unit(by[:1])
    intensity = rung.row.flop_per_unit / rung.row.bytes_per_unit
    there = {of: float(value) * (1e12 if giga == 'T' else 1e9) for value, giga, of in RATE.findall(asked)}
    here, other = ('memory' if intensity * bandwidth < fma else 'arithmetic' for bandwidth, fma in (
        (rung.bandwidth, rung.fma), (there.get('B', rung.bandwidth), there.get('Flop', rung.fma))))
    said = [figures.short(value) for value in (intensity, rung.bandwidth / 1e9, intensity * rung.bandwidth / 1e9, rung.fma / 1e9,
                                               by[0] / scale, by[1] / scale)]
    side = f', and not {other} as on the machine of the question: the balance is on the other side' if other != here else ''
    return f"By this machine's ceilings: {said[0]} flops per byte x {said[1]} GB/s are {said[2]} GFlop/s, and arithmetic allows " \
           f'{said[3]}: {here} is the limit here{side}. The bytes of one {rung.unit} take at least {said[4]} {unit}, its flops {said[5]}.'


def measured(rung: Optional[figures.Rung]) -> list[str]:
    """Returns what was measured on this machine."""
    if not (rung and rung.seconds):
        return []
    scale, unit = figures.time_unit([rung.seconds])
    share = {what: share for share, what in rung.shares()}
    arithmetic = next((what for what in share if what != 'bandwidth'), '')

    def rate(value: Optional[float], what: str, of: str) -> str:
        return f'{figures.short(value / 1e9)} {what}, {100 * share[of]:.0f} % of {of}' if value and of in share else ''

    said = [f'{figures.short(rung.seconds / scale)} {unit} per {rung.unit}',
            f'spread {100 * rung.spread:.1f} %' if rung.spread is not None and len(rung.windows) > 1 else '',
            f'{rung.step} over {rung.after}' if rung.step else '',
            f'{figures.short(rung.fom / 1e9)} {plots.CREDITED}' if rung.fom else '',
            rate(rung.bytes, 'GB/s', 'bandwidth'), rate(rung.flops, 'GFlop/s', arithmetic)]
    return [line for line in said if line]


def timers(rung: figures.Rung, result: figures.Result) -> list[str]:
    """Returns a table of the phases of a solve; there is no rate of what works in a cache."""
    ranks, lines = result.program.ranks, []
    whole = max((row.seconds for row in rung.row.profile), default=0)
    for row in rung.row.profile:
        path = row.timer.split('/')
        if len(path) == 2 and row.seconds and row.calls:
            share = row.bytes / row.seconds / rung.bandwidth if rung.bandwidth else 0
            moved = 'in a cache' if share > figures.MOST else f'{100 * share:.0f} %' if share else ''
            lines.append(f'{100 * row.seconds / whole:6.1f} %  {figures.time_text(row.seconds * ranks / row.calls):>8}  '
                         f'{moved:>12}  {path[1]}')
    return [f'{"of time":>8}  {"per call":>8}  {"of bandwidth":>12}', *lines] if lines else []


def machine(lesson: Lesson, one: Page) -> list[tuple[str, str]]:
    """Returns paragraphs and blocks on what was measured: (text, block) pairs; either may be empty."""
    rung = one.rung
    if not rung:
        return []
    if not rung.row.right:
        failed = [f'{check.name}: {"not finite" if check.value is None else check.value}, bound {check.bound}'
                  for check in rung.row.checks if not check.held]
        return [(f'{rung.verdict} here: it was not timed.', '\n'.join(failed))]
    named = '; '.join(measured(rung)) or 'verified, not timed'
    disturbed = f' ({"; ".join(rung.row.disturbed)})' if rung.row.disturbed else ''
    said = [(least(rung, one.lesson.predict if one.lesson else ''), ''), (f'On this machine: {named}.', ''),
            (f'{rung.verdict}, {len(rung.row.checks)} checks held{disturbed}. What limits it here: '
             f'{limiter(rung, lesson.result.program.threads)}.', '')]
    said.append(('Where the time goes:' if rung.row.profile else '', '\n'.join(timers(rung, lesson.result))))
    return [pair for pair in said if any(pair)]


# ---- What a page takes ----

def budgets(lesson: Lesson) -> str:
    """Returns where the time goes in the first and the fastest rung of each ladder, as far as the result says it."""
    said = []
    for rungs in lesson.result.ladders().values():
        found = explain.budgets_of(rungs, lesson.result)
        ends = dict.fromkeys([*found[:1], *sorted(found, key=lambda one: one.seconds)[:1]])
        said += ['\n'.join(explain.said(one)) for one in ends]
    return '\n\n'.join(said)


def machine_line(result: figures.Result) -> str:
    program, said = result.program, []
    for processor in result.processors:
        rate, how = result.bandwidth(processor)
        fma = result.fma(processor, 'fp64')
        name = program.gpu if processor == 'gpu' else program.cpu
        said.append(f'{name}: {how} {figures.scaled(rate)} GB/s, FP64 FMA {figures.scaled(fma)} GFlop/s' if rate and fma
                    else f'{name}: ceilings were not measured')
    options = ', '.join(f'{name} {program.options[name]}' for name in extents(program.program, program.options))
    return f'Measured {program.date[:10]} on {"; ".join(said)}; ranks {program.ranks}, threads {program.threads}. ' \
           f'{options}.'


def reasons(lesson: Lesson) -> list[str]:
    """Returns a line per reason why rungs did not run here."""
    why: dict[str, list[str]] = {}
    for one in lesson.pages:
        if not one.rung:
            why.setdefault(one.absent, []).append(one.name)
    return [f'{", ".join(names)}: {reason}' for reason, names in why.items()]


def answer(one: Page) -> list[str]:
    """Returns the paragraphs that are folded away."""
    return [one.lesson.answer, f'*What did not help.* {one.lesson.unhelpful}'] if one.lesson else []


# ---- Pages ----

def html(lesson: Lesson, template: str = 'lesson.html') -> str:
    """Returns the page, or slides: after the slide that asks, one says what this machine did, with the climb up to this
    rung."""
    from ..pages import page, sections
    from .prose import prose
    result = lesson.result

    def climb(number: int, one: Page) -> page.Markup:
        so_far = [other.rung for other in lesson.here[:number] if other.rung and other.ladder == one.ladder]
        return sections.climb(lesson.app, one.ladder, so_far, f'-{number}')

    climbs = [sections.climb(lesson.app, ladder, rungs, str(i)) for i, (ladder, rungs) in enumerate(result.ladders().items())]
    rows = [[rung.name, f'{1e6 * rung.seconds:.2f}' if rung.seconds else '-', rung.step or '-',
             figures.share_text(rung.share_bandwidth), figures.share_text(rung.share_flops), page.parts.verdict(rung.verdict)]
            for rung in [one.rung for one in lesson.here] if rung]
    return page.render(template, title=lesson.text.title, lesson=lesson, prose=prose, kinds=plots.KINDS, question=question,
                       machine=machine, answer=answer, reasons=reasons(lesson), machine_line=machine_line(result),
                       parsed=drawings.parsed, budgets=budgets(lesson), climb=climb, climbs=page.join(climbs, '\n'), rows=rows,
                       rooflines=sections.rooflines(lesson.app, result), without_plots=plots.missing())
