"""Figures of recorded ladders: docs/reference/ladders.json, made from results, and the lessons' links to them.

    ladders()            {name: Result}: APP, or APP@what is different, as 'nekbone@512'
    text_of(key)         a figure as text, or Fault
    refreshed(text)      a lesson in which every link to the file has the text of its figure
    keep(folder)         writes the file anew from the results in a folder, and the lessons after it

A figure in a lesson is a link, [352 us](../reference/ladders.json#nekbone.global), so nobody types it. Its key is a
ladder and a rung, and then what of it:

    nekbone.global              seconds per unit            nekbone.global:ax    of a timer, per call
    nekbone.global.bandwidth    share of that ceiling       nekbone.global.flops      of the FMA ceiling
    nekbone.global.fom          figure of merit             nekbone.global.rate       flops that it does per second
    nekbone.global.moved        bytes that it moves per second
    nekbone.shared/global       how many times as fast as global shared is

`make ladders` runs the ladders and keeps what is VALID; a ladder that this machine cannot run stays as it was recorded.
`python3 -m rooftop_suite.course.recorded`, in tools/, only brings the lessons up to date.
"""
import functools
import glob
import json
import os
import re
import subprocess
import sys
from typing import Optional

from .. import ENVIRONMENT, USAGE, Fault, Json, results, shipped
from ..cli import complain
from ..measure import programs
from ..measure.programs import extents
from ..results import APPS, disk, figures
from ..results.disk import sha256_of
from . import lessons

FILE = ('docs', 'reference', 'ladders.json')
LESSONS = (*APPS, 'primer')
LINK = re.compile(r'\[([^\]]*)\]\(\.\./reference/ladders\.json#([\w@:./-]+)\)')
KEY = re.compile(r'([\w@-]+)\.([\w-]+)(?:/([\w-]+)|:([\w-]+)|\.(bandwidth|flops|fom|rate|moved))?')
INTO = 'ladders.tmp'  # where results are left
RUNS = {  # what the lessons need, at the sizes of the apps' READMEs; @core: one core
    'nekbone': '--device 0 --elements 16x16x16 --degree 9 --ladder --only gpu --profile',
    'alya-rhs': '--device 0 --cells 240x200x28 --ladder --only gpu',
    'gfnn-wave': '--device 0 --elements 104x104x104 --ladder --only gpu',
    'fun3d-mcpi': '--device 0 --surface 55 --layers 27 --ladder --only sweeps',
    'nekbone@343': '--device 0 --elements 7x7x7 --degree 9 --ladder --only gpu',
    'nekbone@lines': '--device 0 --elements 16x16x16 --degree 9 --rung batched --profile',
    'nekbone@dgemm': '--device 0 --elements 16x16x16 --degree 9 --rung batched --profile '
                     '--choose mxm1=dgemm,mxm2=dgemm,mxm3=dgemm',
    'nekbone@core': '--device cpu --threads 1 --elements 8x8x8 --degree 9 --iterations 20 --ladder --only cpu',
    'alya-rhs@core': '--device cpu --threads 1 --cells 24x20x28 --ladder --only cpu',
    'fun3d-mcpi@core': '--device cpu --threads 1 --surface 29 --layers 25 --sweeps 3 --ladder --only sweeps',
    'gfnn-wave@core': '--device cpu --threads 1 --elements 32x32x32 --ladder --only operator'}


PROGRAM = ('gpu', 'cpu', 'threads', 'ranks', 'date', 'version', 'ceilings_gpu', 'ceilings_cpu')  # what is kept of a result
RUNG = ('name', 'kind', 'processor', 'verdict', 'unit', 'arithmetic', 'seconds_per_unit', 'bytes_per_unit', 'flop_per_unit',
        'fom_flop_per_s')
WHAT = {'bandwidth': 'share_bandwidth', 'flops': 'share_flops', 'fom': 'fom', 'rate': 'flops', 'moved': 'bytes'}


# ---- What is kept of a result ----

def compact(path: str) -> Json:
    """Returns what is kept of a result of --ladder, with the digest of its file: the rungs that are VALID, with the
    phases of a unit."""
    program, rungs = results.load(path, results.Program), []
    for row in program.rungs:
        if row.valid and row.fom_flop_per_s:
            phases = [{name: timer[name] for name in ('timer', 'calls', 'seconds')} for timer in row.profile
                      if timer.timer.count('/') == 1 and timer.calls]
            rungs.append({**{name: row[name] for name in RUNG if name in row}, **({'profile': phases} if phases else {})})
    return {'name': os.path.basename(path)[:-len('.json')], **{name: program[name] for name in PROGRAM if name in program},
            'options': {name: program.options[name] for name in extents(program.program, program.options)},
            'result_sha256': sha256_of(path), 'rungs': rungs}


def rows() -> list[Json]:
    found: list[Json] = json.loads(lessons.text_of(shipped(*FILE)))
    return found


def keep(folder: str) -> list[str]:
    """Replaces the ladders whose results are in the folder, and brings the lessons up to date. Returns their names."""
    new = {row['name']: row for row in map(compact, sorted(glob.glob(os.path.join(folder, '*.json')))) if row['rungs']}
    whole = sorted([row for row in rows() if row['name'] not in new] + [*new.values()], key=lambda row: str(row['name']))
    text = '[' + ',\n '.join(json.dumps(row) for row in whole) + ']\n'
    disk.save_bytes(shipped(*FILE), text.encode())
    ladders.cache_clear()
    refresh()
    return list(new)


# ---- What lessons take from it ----

@functools.lru_cache(maxsize=None)
def ladders() -> dict[str, figures.Result]:
    return {row['name']: figures.Result(results.Program(**row)) for row in rows()}


def rate(value: float, unit: str) -> str:
    scale, prefix = (1e12, 'T') if value >= 1e12 else (1e9, 'G')
    return f'{figures.short(value / scale)} {prefix}{unit}'


def time_text(seconds: float) -> str:
    scale, unit = figures.time_unit([seconds])
    return f'{figures.short(seconds / scale)} {unit.replace("µ", "u")}'


def text_of(key: str) -> str:
    """Returns the text of a figure; Fault if there is none."""
    found, ladder = KEY.fullmatch(key), ladders().get(key.partition('.')[0])
    rungs = {rung.name: rung for rung in ladder.rungs} if ladder else {}
    said = figure_of(rungs, *found.groups()[1:]) if found and found[2] in rungs else ''
    if not said:
        raise Fault(ENVIRONMENT, f'{"/".join(FILE)}: nothing is recorded of {key}')
    return said


def figure_of(rungs: dict[str, figures.Rung], name: str, other: str, timer: str, what: str) -> str:
    """Returns the text of a rung's figure, or ''."""
    rung = rungs[name]
    if timer:
        return next((time_text(row.seconds / row.calls) for row in rung.row.profile if row.timer.endswith(f'/{timer}')), '')
    if other:
        before = rungs[other].seconds if other in rungs else None
        return f'{before / rung.seconds:.3g}' if before and rung.seconds else ''
    value: Optional[float] = getattr(rung, WHAT[what]) if what else rung.seconds
    if not value or what in ('bandwidth', 'flops') and value > figures.MOST:
        return ''
    return time_text(value) if not what else f'{100 * value:.0f} %' if what in ('bandwidth', 'flops') else rate(
        value, 'B/s' if what == 'moved' else 'Flop/s')


def refreshed(text: str) -> str:
    """Returns a lesson with the figures that are recorded. A link to what is no longer recorded stays as it is: the
    unit tests name it."""
    def figure(link: 're.Match[str]') -> str:
        try:
            said = text_of(link[2])
        except Fault:
            return link[0]
        return link[0] if link[1].split() == said.split() else f'[{said}](../reference/ladders.json#{link[2]})'
    return LINK.sub(figure, text)


def refresh() -> None:
    """Brings the lessons up to date."""
    for name in LESSONS:
        lesson = shipped('docs', 'lessons', f'{name}.md')
        text = lessons.text_of(lesson)
        if refreshed(text) != text:
            disk.save_bytes(lesson, refreshed(text).encode())


def run(folder: str, bindir: str, names: list[str]) -> None:
    """Runs these ladders, or all, and leaves their results in the folder."""
    unknown = [name for name in names if name not in RUNS]
    if unknown:
        raise Fault(USAGE, f"there is no ladder '{unknown[0]}'; known: {', '.join(RUNS)}")
    disk.make_folder(folder)
    for name in names or RUNS:
        program = programs.find(name.partition('@')[0], bindir)
        subprocess.run([program, *RUNS[name].split(), '--no-tuning', '--quiet', '--seconds=0.2', '--json',
                        os.path.join(folder, f'{name}.json')], check=False)


if __name__ == '__main__':  # [BINDIR [NAME..]]
    try:
        if len(sys.argv) > 1:
            run(INTO, sys.argv[1], sys.argv[2:])
            print('kept:', *keep(INTO))
        refresh()
    except Fault as fault:
        complain(str(fault))
        sys.exit(fault.status)
