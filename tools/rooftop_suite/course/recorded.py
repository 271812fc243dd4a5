"""Figures of recorded ladders: docs/reference/ladders.json, made from results, and the lessons' links to them.

    ladders()            {name: Ladder}: APP, or APP@what is different, as 'nekbone@512'
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
    nekbone.ceilings.gpu.read   of the job: read, copy, triad, fma64, fma32; gpu or cpu

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
from typing import NamedTuple, Optional

from .. import ENVIRONMENT, USAGE, Fault, Json, results, shipped
from ..cli import complain
from ..measure import programs
from ..measure.programs import EXTENTS
from ..results import APPS, disk, figures
from ..results.disk import sha256_of
from . import lessons

FILE = ('docs', 'reference', 'ladders.json')
LESSONS = (*APPS, 'primer')
LINK = re.compile(r'\[([^\]]*)\]\(\.\./reference/ladders\.json#([\w@:./-]+)\)')
KEY = re.compile(r'([\w@-]+)\.([\w-]+)(?:/([\w-]+)|:([\w-]+)|\.(bandwidth|flops|fom|rate|moved))?')
CEILING = re.compile(r'([\w@-]+)\.ceilings\.(gpu|cpu)\.(read|copy|triad|fma64|fma32)')
CEILINGS = ('read', 'copy', 'triad', 'fma64', 'fma32')
INTO = 'ladders.tmp'  # where results are left
RUNS = {  # what the lessons need, at the sizes of the apps' READMEs; @core: one core
    'nekbone': '--device 0 --elements 16x16x16 --degree 9 --ladder --only gpu --profile',
    'alya-rhs': '--device 0 --cells 240x200x28 --ladder --only gpu',
    'gfnn-wave': '--device 0 --elements 104x104x104 --ladder --only gpu',
    'fun3d-mcpi': '--device 0 --surface 55 --layers 27 --ladder --only sweeps',
    'nekbone@343': '--device 0 --elements 7x7x7 --degree 9 --ladder --only gpu',
    'fun3d-mcpi@fp16': '--device 0 --surface 55 --layers 27 --offdiagonal fp16 --ladder --only sweeps',
    'nekbone@lines': '--device 0 --elements 16x16x16 --degree 9 --rung batched --profile',
    'nekbone@dgemm': '--device 0 --elements 16x16x16 --degree 9 --rung batched --profile '
                     '--choose mxm1=dgemm,mxm2=dgemm,mxm3=dgemm',
    'nekbone@solve': '--device 0 --elements 8x8x8 --degree 9 --ladder --only solve',
    'gfnn-wave@bj': '--device 0 --elements 104x104x104 --rung solve-cuda --precond bj',
    'gfnn-wave@cheb': '--device 0 --elements 104x104x104 --rung solve-cuda --precond cheb7',
    'nekbone@core': '--device cpu --threads 1 --elements 8x8x8 --degree 9 --iterations 20 --ladder --only cpu',
    'alya-rhs@core': '--device cpu --threads 1 --cells 24x20x28 --ladder --only cpu',
    'fun3d-mcpi@core': '--device cpu --threads 1 --surface 29 --layers 25 --sweeps 3 --ladder --only sweeps',
    'gfnn-wave@core': '--device cpu --threads 1 --elements 32x32x32 --ladder --only operator',
    'gfnn-wave@core-predictor': '--device cpu --threads 1 --elements 32x32x32 --ladder --only predictor '
                                '--precision fp32',
    'nekbone@cpu': '--device cpu --elements 8x8x8 --degree 9 --ladder --only cpu'}


class Rung(NamedTuple):
    """seconds: per unit; bandwidth and flops: shares of the ceilings of the job, 0 where there is none; fom, rate,
    moved: per second. timers: seconds per call."""
    seconds: float
    unit: str
    bandwidth: float
    flops: float
    fom: float
    rate: float
    moved: float
    timers: dict[str, float]


class Ladder(NamedTuple):
    """ceilings: {'gpu' or 'cpu': rates in the order of CEILINGS}."""
    machine: str
    date: str
    options: str
    ceilings: dict[str, list[float]]
    rungs: dict[str, Rung]


# ---- What is kept of a result ----

def rounded(value: Optional[float]) -> float:
    return float(f'{value or 0:.4g}')


def timers_of(rung: figures.Rung) -> dict[str, float]:
    """Returns {timer: seconds per call} of the phases of a unit."""
    rows = [(row.timer.split('/')[1:], row) for row in rung.row.profile]
    return {path[0]: rounded(row.seconds / row.calls) for path, row in rows if len(path) == 1 and row.calls}


def compact(path: str) -> Json:
    """Returns what is kept of a result of --ladder, with the digest of its file: the rungs that are VALID."""
    result = figures.Result(results.load(path, results.Program))
    program = result.program
    rungs = {rung.name: [float(f'{rung.seconds:.5g}'), rung.unit, round(rung.share_bandwidth or 0, 4),
                         round(rung.share_flops or 0, 4), rounded(rung.fom), rounded(rung.flops), rounded(rung.bytes),
                         timers_of(rung)]
             for rung in result.rungs if rung.fom and rung.seconds}
    jobs = {'gpu': program.ceilings_gpu, 'cpu': program.ceilings_cpu}
    ceilings = {kind: [rounded(getattr(row, f'{name}_{"flop" if name.startswith("fma") else "bytes"}_per_s'))
                       for name in CEILINGS] for kind, row in jobs.items() if row}
    options = ' '.join(f'--{name}={program.options[name]}' for name in EXTENTS[program.program])
    return {'name': os.path.basename(path)[:-len('.json')], 'gpu': program.gpu, 'cpu': program.cpu,
            'threads': program.threads, 'date': program.date[:10], 'options': options, 'version': program.version,
            'result_sha256': sha256_of(path), 'ceilings': ceilings, 'rungs': rungs}


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
def ladders() -> dict[str, Ladder]:
    return {row['name']: Ladder(row['gpu'] or f'{row["cpu"]}, {row["threads"]} thread{"s" * (row["threads"] > 1)}',
                                row['date'], row['options'], row['ceilings'],
                                {name: Rung(*rung) for name, rung in row['rungs'].items()}) for row in rows()}


def rate(value: float, unit: str) -> str:
    scale, prefix = (1e12, 'T') if value >= 1e12 else (1e9, 'G')
    return f'{figures.short(value / scale)} {prefix}{unit}'


def time_text(seconds: float) -> str:
    scale, unit = figures.time_unit([seconds])
    return f'{figures.short(seconds / scale)} {unit.replace("µ", "u")}'


def text_of(key: str) -> str:
    """Returns the text of a figure; Fault if there is none."""
    missing = Fault(ENVIRONMENT, f'{"/".join(FILE)}: nothing is recorded of {key}')
    found = CEILING.fullmatch(key) or KEY.fullmatch(key)
    ladder = ladders().get(found[1]) if found else None
    if not found or not ladder:
        raise missing
    if found.re is CEILING:
        if found[2] not in ladder.ceilings:
            raise missing
        return rate(ladder.ceilings[found[2]][CEILINGS.index(found[3])],
                    'Flop/s' if found[3].startswith('fma') else 'B/s')
    _, name, other, timer, what = found.groups()
    rung = ladder.rungs.get(name)
    if not rung or other and other not in ladder.rungs or timer and timer not in rung.timers or \
            what and not getattr(rung, what) or what in ('bandwidth', 'flops') and getattr(rung, what) > figures.MOST:
        raise missing
    if other:
        return f'{ladder.rungs[other].seconds / rung.seconds:.3g}'
    if what in ('bandwidth', 'flops'):
        return f'{100 * getattr(rung, what):.0f} %'
    if what:
        return rate(getattr(rung, what), 'B/s' if what == 'moved' else 'Flop/s')
    return time_text(rung.timers[timer] if timer else rung.seconds)


def told(key: str) -> str:
    """Returns where a figure is from, in a line; the lesson says the size of the app's own ladder."""
    name = key.partition('.')[0]
    ladder = ladders().get(name)
    size = f', {ladder.options}' if ladder and '@' in name else ''
    return f'{ladder.machine}, {ladder.date}{size}' if ladder else 'not recorded'


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
