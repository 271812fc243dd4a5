"""`rooftop climb APP`: the app's ladder, verified and timed here, as a lesson: lesson.html and lesson.md in a folder.

The text comes from docs/lessons/APP.md, the figures from one job with --ladder and its ceilings, the diffs from the
source tree; lesson_page.py puts them together.
"""
import argparse
import difflib
import os
import re
import shlex
import shutil
import subprocess
from typing import Optional

from . import ENVIRONMENT, INVALID, USAGE, VALID, Fault, figures, lesson_page, lessons, notebook, programs, results
from . import slides, source_tree
from .cli import minutes, seconds
from .lesson_page import MOST_DIFF, Page
from .progress import Line

LONGEST = 80  # letters of a kernel's name
NCU = ('--section', 'SpeedOfLight', '--section', 'Occupancy', '--launch-skip', '20', '--launch-count', '3')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add('app', metavar='APP', help=', '.join(results.APPS))
    add('--size', choices=results.SIZES, help="of the problem (default: the program's)")
    add('--device', metavar='LIST', help='cpu, or GPU ordinals, as the programs take it')
    add('--seconds', type=seconds, metavar='S', help="of timing per rung (default: the program's)")
    add('--into', metavar='DIR', help='folder for the lesson (default: climb-APP)')
    add('--result', metavar='FILE', help='run nothing: the lesson of a result of --ladder --json, of any machine')
    add('--source', metavar='DIR', help='the source tree, for the diffs (default: that of this tool)')
    add('--no-counters', action='store_true', help='do not use Nsight Compute, which runs each CUDA rung once more')
    add('--notebook', action='store_true', help='write lesson.ipynb too: a Jupyter notebook that runs the rungs')
    add('--slides', action='store_true', help='write slides.html too: a slide per rung, without network or script')
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
                             output=os.path.join(folder, 'ladder.out'),
                             tick=lambda so_far: line.tick(f'ladder: {so_far:.0f} s', so_far))
        line.say(f'ladder: {minutes(ended.seconds)}')
        if ended.exit not in (VALID, INVALID) or not os.path.exists(part):
            raise Fault(ended.exit if ended.exit in (2, 3, 4) else ENVIRONMENT, f'the ladder: {programs.reason(ended)}')
        program_result = results.load(part, results.Program)
        results.settle(part, json)
    finally:
        results.remove(part)
    return figures.Result(program_result), ended.text


def given_ladder(app: str, path: str) -> figures.Result:
    """Returns the ladder of a file that a program wrote elsewhere."""
    program = results.load(path, results.Program)
    if program.program != app:
        raise Fault(USAGE, f'--result {path}: of {program.program}, not of {app}')
    return figures.Result(program)


def profiles(text: str) -> dict[str, str]:
    """Returns {rung: its table of timers} from what a program printed with --profile."""
    tables = re.findall(r'^timer +calls.*\n-+\n(?:(?!timer ).*@.*\n)+', text, re.M)
    return {table.splitlines()[2].split()[0]: table.rstrip() for table in tables}


# ---- Tools of the CUDA toolkit ----

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


def kernel_name(name: str) -> str:
    """Returns the name of a kernel without what Kokkos puts around it."""
    inner = re.sub(r'^Kokkos::Impl::\w+<(?:Kokkos::Impl::)?', '', name)
    return inner if len(inner) <= LONGEST else inner[:LONGEST - 1] + '…'


def launched(rung: figures.Rung) -> list[str]:
    """Returns lines on the kernels that ran, as the CUDA runtime reports them; none for a rung without any."""
    if not rung.row.kernels:
        return []
    return [f'{"blocks":>8} {"threads":>7} {"registers":>9} {"local":>6} {"shared":>7} {"resident":>8} '
            f'{"occupancy":>9}  kernel (local: bytes per thread; shared: bytes per block; resident: blocks per multiprocessor)'] + [
        f'{kernel.blocks:8} {kernel.threads:7} {kernel.registers:9} {kernel.local_bytes:6} {kernel.shared_bytes:7} '
        f'{kernel.blocks_per_multiprocessor:8} {100 * kernel.occupancy:7.0f} %  {kernel_name(kernel.name)}'
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

def pages_of(app: str, result: figures.Result, program: str) -> list[Page]:
    """Returns a page for every rung of the program, in order; with the reason where a rung did not run."""
    of = lessons.read(app).of
    ran = {rung.name: rung for rung in result.rungs}
    why = {row.name: row.why for row in result.program.absent}
    return [Page(rung.name, rung.kind, rung.ladder, of.get(rung.name), ran.get(rung.name),
                 '' if rung.name in ran else why.get(rung.name) or rung.absent or 'it was left out of this run')
            for rung in programs.rungs(program)]


def named(one: Page) -> list[str]:
    """Returns the functions that a lesson names."""
    if not one.lesson:
        return []
    written = one.lesson.exercise.names if one.lesson.exercise else []
    return list(dict.fromkeys([*written, *(word for word in lessons.code_in(one.lesson.look) if word.isidentifier())]))


def difference(path: str, text: str, before: Page, one: Page) -> list[str]:
    """Returns a diff of the functions that matter: those that this rung's lesson names, or that of the rung before."""
    ours, theirs = one.functions, lessons.functions(text, named(one) + named(before))
    lines = list(difflib.unified_diff(theirs.splitlines(), ours.splitlines(), path, one.path, lineterm='', n=1)) \
        if ours and theirs else []
    return lines if len(lines) <= MOST_DIFF else [*lines[:MOST_DIFF], f'@@ and {len(lines) - MOST_DIFF} lines more @@']


def add_sources(app: str, pages: list[Page], tree: str) -> None:
    """Fills path, text, diff, before and twin from the source tree."""
    rungs = {rung.name: rung for rung in lessons.ladder(app, tree)}
    by_name = {one.name: one for one in pages}
    for one in pages:
        if one.name in rungs and one.lesson:
            one.path = lessons.source(rungs[one.name], one.lesson)
            one.text = lessons.text_of(os.path.join(tree, one.path))
            one.functions = lessons.functions(one.text, named(one))
            one.before = one.lesson.before or rungs[one.name].after
    for one in (one for one in pages if one.text and one.lesson):
        before, rung = by_name.get(one.before), rungs[one.name]
        if rung.kind == 'kokkos' and rung.after in by_name:
            by_name[rung.after].twin = one
        if before and before.text:
            # the other file to look at if this rung has one too, else the rung's own file
            path = before.path if one.lesson and one.lesson.source else lessons.own(rungs[before.name])
            text = lessons.text_of(os.path.join(tree, path))
            one.changed = difference(path, text, before, one)


# ---- All of it ----

def main(args: argparse.Namespace) -> int:
    lesson = lessons.read(args.app)
    program = programs.find(args.app, args.bindir)
    tree = lessons.tree_of(args.source) if args.source or source_tree() else None
    folder = args.into or f'climb-{args.app}'
    results.make_folder(folder)
    words = arguments(args)
    result, text = (given_ladder(args.app, args.result), '') if args.result else run_ladder(program, words, folder)
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
            one.counters = counters.of(one.name) if one.kind == 'cuda' and not args.result else []
    if args.result:
        words = [f'--{name}={result.program.options[name]}' for name in programs.EXTENTS[args.app]]
    whole = lesson_page.Lesson(args.app, lesson, result, pages, shlex.join([args.app, '--ladder', *words]))
    text, drawn = lesson_page.html(whole)
    results.save_bytes(os.path.join(folder, 'lesson.html'), text.encode('utf-8', 'replace'))
    results.save_bytes(os.path.join(folder, 'lesson.md'), lesson_page.markdown(whole).encode())
    if args.notebook:
        results.save_bytes(os.path.join(folder, 'lesson.ipynb'), notebook.notebook(whole, program, words).encode())
    if args.slides:
        results.save_bytes(os.path.join(folder, 'slides.html'), slides.slides(whole).encode('utf-8', 'replace'))
    print(f'{os.path.join(folder, "lesson.html")}: {len(pages)} rungs, {sum(1 for one in pages if one.rung)} run here, '
          f'{drawn} plots; the same in lesson.md')
    for one in pages:
        if one.rung and not one.rung.row.right:
            print(f'{args.app}: {one.name}: INVALID')
    return VALID if result.program.verdict != 'INVALID' else INVALID
