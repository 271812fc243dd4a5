"""`rooftop climb APP`: the app's ladder, verified and timed here, as a lesson: lesson.html in a folder.

The text comes from docs/lessons/APP.md, the figures from one job with --ladder and its ceilings, the code from the
source tree; lesson_page.py puts them together.
"""
import argparse
import difflib
import os
import shlex

from .. import INVALID, USAGE, VALID, Fault, results, source_tree
from ..cli import minutes, seconds
from ..measure import machine, programs
from ..measure.progress import Line
from ..results import disk, figures
from . import lesson_page, lessons
from .lesson_page import Page

CACHES = 4  # times the last-level caches: a problem that they do not hold
ALIKE = 0.4  # of the lines: with less in common, functions are shown and no diff


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add('app', metavar='APP', help=', '.join(results.APPS))
    add('--size', choices=results.SIZES, help="of the problem (default: the program's, or on a CPU one beyond its "
        'caches)')
    add('--device', metavar='LIST', help='cpu, or GPU ordinals, as the programs take it')
    add('--seconds', type=seconds, metavar='S', help="of timing per rung (default: the program's)")
    add('--into', metavar='DIR', help='folder for the lesson (default: climb-APP)')
    add('--result', metavar='FILE', help='run nothing: the lesson of a result of --ladder --json, or of '
        'a folder of rooftop run, of any machine')
    add('--slides', action='store_true', help='write slides.html too, without network or script')
    programs.add_arguments(parser)


# ---- The ladder, run ----

def fits_caches(program: str, words: list[str]) -> bool:
    """Returns whether a CPU's caches would hold much of the problem, so that its bytes cost less than the lesson says."""
    needed = programs.preview([program, '--ladder', *words]).memory
    return programs.bytes_of(needed) < CACHES * machine.last_cache()


def run_ladder(program: str, words: list[str], folder: str) -> figures.Result:
    """Returns the ladder's result."""
    line, path = Line(), os.path.join(folder, 'ladder')
    line.tick('ladder: every rung that can run here is verified and timed', 0)
    got = programs.measure(program, ['--ladder', '--profile', '--quiet', *words], f'{path}.json', f'{path}.out',
                           tick=lambda so_far: line.tick(f'ladder: {so_far:.0f} s', so_far), wrong=True)
    line.say(f'ladder: {minutes(got.ended.seconds)}')
    if not got.result:
        raise Fault(programs.status_of(got.ended), f'the ladder: {got.why}')
    return figures.Result(got.result)


# ---- A page per rung ----

def pages_of(app: str, result: figures.Result, program: str) -> list[Page]:
    """Returns a page for every rung of the program, in order; with the reason where a rung did not run."""
    of = lessons.read(app).of
    ran = {rung.name: rung for rung in result.rungs}
    why = {row.name: row.why for row in result.program.absent}
    return [Page(rung.name, rung.kind, rung.ladder, of.get(rung.name), ran.get(rung.name),
                 '' if rung.name in ran else why.get(rung.name) or rung.absent or 'it was left out of this run')
            for rung in programs.rungs(program)]


def named(one: Page) -> list[str]:
    """Returns the functions that a lesson says to look at."""
    return [word for word in lessons.code_in(one.lesson.look) if word.isidentifier()] if one.lesson else []


def add_sources(app: str, pages: list[Page]) -> None:
    """Fills path, functions, before and changed from the source tree."""
    rungs = {rung.name: rung for rung in lessons.ladder(app)}
    texts: dict[str, str] = {}
    for one in pages:
        if one.name in rungs and one.lesson:
            one.path = lessons.source(rungs[one.name], one.lesson)
            texts[one.name] = '\n\n'.join(lessons.text_of(os.path.join(lessons.tree(), path))
                                          for path in lessons.looked_at(rungs[one.name], one.lesson))
            one.functions = lessons.functions(texts[one.name], named(one))
            one.before = one.lesson.before or rungs[one.name].after
    by_name = {one.name: one for one in pages}
    for one in (one for one in pages if one.before in texts):
        theirs = lessons.functions(texts[one.before], named(one) + named(by_name[one.before])).splitlines()
        ours = one.functions.splitlines()
        if difflib.SequenceMatcher(None, theirs, ours).ratio() >= ALIKE:  # else a diff says nothing
            one.changed = list(difflib.unified_diff(theirs, ours, lineterm='', n=1))[2:]


# ---- All of it ----

def main(args: argparse.Namespace) -> int:
    lesson = lessons.read(args.app)
    program = programs.find(args.app, args.bindir)
    folder = args.into or f'climb-{args.app}'
    disk.make_folder(folder)
    given = (('size', args.size), ('device', args.device), ('seconds', args.seconds))
    words = [f'--{name}={value}' for name, value in given if value is not None] + args.passed
    on_cpu = args.device == 'cpu' or not programs.has_gpu(program)
    words += ['--size=small'] if on_cpu and not (args.size or args.passed or args.result) and fits_caches(program, words) else []
    if args.result:
        step = os.path.join(args.result, f'ladder-{args.app}.json')
        result = figures.Result(results.load(step if disk.exists(step) else args.result, results.Program))
    else:
        result = run_ladder(program, words, folder)
    if result.program.program != args.app:
        raise Fault(USAGE, f'--result {args.result}: of {result.program.program}, not of {args.app}')
    pages = pages_of(args.app, result, program)
    if source_tree():
        add_sources(args.app, pages)
    else:
        print('no code: this suite is installed; tools/rooftop of its source tree shows it')
    if args.result:
        words = [f'--{name}={result.program.options[name]}' for name in programs.extents(args.app, result.program.options)]
    whole = lesson_page.Lesson(args.app, lesson, result, pages, shlex.join([args.app, '--ladder', *words]))
    written = os.path.join(folder, 'lesson.html')
    disk.save_bytes(written, lesson_page.html(whole).encode('utf-8', 'replace'))
    if args.slides:
        disk.save_bytes(os.path.join(folder, 'slides.html'), lesson_page.html(whole, 'slides.html').encode('utf-8', 'replace'))
    print(f'{written}: {len(pages)} rungs, {len(whole.here)} run here')
    for one in pages:
        if one.rung and not one.rung.row.right:
            print(f'{args.app}: {one.name}: {one.rung.verdict}')
    return VALID if result.program.verdict in results.RIGHT else INVALID
