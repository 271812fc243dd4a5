#!/usr/bin/env python3
"""Makes two result folders from tests/suite/samples, where the JSON has no seals so that it can be edited: ./whole, in
which everything is right except that fun3d-mcpi has no ladder, and ./hostile, with names that are HTML, numbers that are
not numbers, and files that are cut short or were changed.

    samples.py SOURCE        folder of the sources, with tools/ and tests/
"""
import json
import os
import sys

source = sys.argv[1]
sys.path.insert(0, os.path.join(source, 'tools'))
from rooftop_suite import results  # noqa: E402

NAMES = ['<script>alert(1)</script>', '"><img src=http://evil/x onerror=alert(1)>', '$\\frac{1}{0}$ & url(http://evil)',
         'a' * 300, 'bell\a null\0 \ud800 \u202e', "' onmouseover='alert(1)", 'id="x" href="#y"']
EVIL = '</style></title></pre><script src="http://evil/x.js"></script>'


def sample(name):
    with open(os.path.join(source, 'tests', 'suite', 'samples', f'{name}.json'), encoding='utf-8') as file:
        return json.load(file)


def write(name, data):
    with open(name, 'wb') as file:
        file.write(data)


def whole():
    os.mkdir('whole')
    run = sample('run')
    for step in run['steps']:
        path = os.path.join('whole', step['json'])
        results.save(path, sample(step['name']), run['nonce'])
        step['sha256'] = results.sha256_of(path)
    results.save('whole/run.json', run, run['nonce'])
    results.save('whole/scale-nekbone.json', sample('scale-nekbone'))
    write('whole/gfnn-wave-picture.ppm', b'P6\n# a slice\n3 2\n255\n' + bytes(range(18)))
    write('whole/gfnn-wave-picture.vti', b'<VTKFile/>')


def hostile():
    os.mkdir('hostile')
    ladder = sample('ladder-nekbone')
    for rung, name in zip(ladder['rungs'], NAMES):
        rung.update(name=name, idea=EVIL, after=NAMES[0], unit=EVIL, checks=[
            {'name': EVIL, 'held': 'yes', 'value': EVIL, 'bound': [1]}], energy_joules=EVIL)
    ladder['rungs'][1].update(spread=1e999, seconds_per_unit=-1, fom_flop_per_s='1', window_seconds=[0, EVIL, None])
    ladder['rungs'][2].update(verdict='INVALID', bytes_per_unit=0, flop_per_unit=-5)
    ladder.update(host=EVIL, gpu=EVIL, compiler=EVIL, ranks='many', options={EVIL: EVIL},
                  absent=[{'name': EVIL, 'why': EVIL}, 7], ceilings_cpu=[EVIL])
    write('hostile/ladder-nekbone.json', json.dumps(ladder).replace('Infinity', '1e999').encode())
    run = dict(sample('run'), nonce=EVIL, tier=EVIL, environment={EVIL: [{EVIL: EVIL}]}, aggregate={'value': EVIL},
               summary=[EVIL], launcher=EVIL, source=EVIL, steps=[{'name': EVIL, 'state': 'failed', 'why': EVIL}, EVIL])
    write('hostile/run.json', json.dumps(run).encode())
    write('hostile/gfnn-wave.json', json.dumps(sample('gfnn-wave'))[:400].encode())
    changed = json.dumps({**sample('fun3d-mcpi'), 'seal': '0' * 64}, indent=1).encode()
    write('hostile/fun3d-mcpi.json', changed)
    write('hostile/scale-x.json', json.dumps({'app': 'nekbone', 'over': EVIL, 'strong': [
        {'ranks': 0}, {'ranks': EVIL}, {'ranks': 2, 'fom_flop_per_s': 1e9, 'efficiency': 0.5}]}).encode())
    write('hostile/gfnn-wave-picture.png', b'\x89PNG no picture')
    write('hostile/gfnn-wave-picture.ppm', b'P6 99999 99999 255\n')


whole()
hostile()
