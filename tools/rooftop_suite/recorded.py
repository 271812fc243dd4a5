"""Figures of recorded ladders: docs/reference/ladders.json, made from sealed results, and the lessons' links to them.

    ladders()            {app: Ladder}
    text_of(key)         a figure as text: 'nekbone.global' a time, 'nekbone.global.bandwidth' a share,
                         'nekbone.shared/global' how many times as fast as global shared is
    refreshed(text)      a lesson in which every link to the file has the text of its figure

A figure in a lesson is a link, [352 us](../reference/ladders.json#nekbone.global), so nobody types it: the first form
writes the file from results of --ladder, the second brings the lessons up to date.

    python3 -m rooftop_suite.recorded RESULT.json.. >docs/reference/ladders.json
    python3 -m rooftop_suite.recorded
"""
import functools
import json
import re
import sys
from typing import NamedTuple

from . import ENVIRONMENT, Fault, figures, results, shipped
from .programs import EXTENTS
from .results import APPS, sha256_of

FILE = ('docs', 'reference', 'ladders.json')
LINK = re.compile(r'\[([^\]]*)\]\(\.\./reference/ladders\.json#([\w./-]+)\)')


class Rung(NamedTuple):
    """seconds: per unit; bandwidth and flops: shares of the ceilings of the job, 0 where there is none."""
    seconds: float
    unit: str
    bandwidth: float
    flops: float


class Ladder(NamedTuple):
    machine: str
    date: str
    options: str
    rungs: dict[str, Rung]


def compact(path: str) -> dict[str, object]:
    """Returns what is kept of a result of --ladder, with the digest of its file."""
    result = figures.Result(results.load(path, results.Program))
    program = result.program
    rungs = {rung.name: [float(f'{rung.seconds:.5g}'), rung.unit, round(rung.share_bandwidth or 0, 4),
                         round(rung.share_flops or 0, 4)]
             for rung in result.rungs if rung.fom and rung.seconds}
    options = ' '.join(f'--{name}={program.options[name]}' for name in EXTENTS[program.program])
    return {'app': program.program, 'machine': program.gpu or program.cpu, 'date': program.date[:10],
            'options': options, 'version': program.version, 'result_sha256': sha256_of(path), 'rungs': rungs}


@functools.lru_cache(maxsize=None)
def ladders() -> dict[str, Ladder]:
    with open(shipped(*FILE), encoding='utf-8') as file:
        return {one['app']: Ladder(one['machine'], one['date'], one['options'], {
            name: Rung(*row) for name, row in one['rungs'].items()}) for one in json.load(file)}


def text_of(key: str) -> str:
    """Returns the text of a figure; Fault if there is none."""
    found = re.fullmatch(r'([\w-]+)\.([\w-]+)(?:/([\w-]+)|\.(bandwidth|flops))?', key)
    ladder = ladders().get(found[1]) if found else None
    if not found or not ladder or found[2] not in ladder.rungs or found[3] and found[3] not in ladder.rungs:
        raise Fault(ENVIRONMENT, f'{"/".join(FILE)}: nothing is recorded of {key}')
    rung = ladder.rungs[found[2]]
    if found[3]:
        return f'{ladder.rungs[found[3]].seconds / rung.seconds:.2f}'
    if found[4]:
        return f'{100 * (rung.bandwidth if found[4] == "bandwidth" else rung.flops):.0f} %'
    scale, unit = figures.time_unit([rung.seconds])
    return f'{figures.short(rung.seconds / scale)} {unit.replace("µ", "u")}'


def refreshed(text: str) -> str:
    return LINK.sub(lambda link: f'[{text_of(link[2])}](../reference/ladders.json#{link[2]})', text)


def main(paths: list[str]) -> None:
    if paths:
        rows = [json.dumps(compact(path)) for path in paths]
        print('[' + ',\n '.join(rows) + ']')
    for app in () if paths else APPS:
        lesson = shipped('docs', 'lessons', f'{app}.md')
        with open(lesson, encoding='utf-8') as file:
            text = file.read()
        if refreshed(text) != text:
            results.save_bytes(lesson, refreshed(text).encode())


if __name__ == '__main__':
    main(sys.argv[1:])
