#!/usr/bin/env python3
"""Makes two result folders from tests/suite/samples, which can be edited: ./whole, in
which everything is right except that fun3d-mcpi has no ladder and one rung is UNSTEADY, and ./hostile, with names that
are HTML, a type that is wrong, and files that are cut short or were changed.

    samples.py SOURCE        folder of the sources, with tools/ and tests/
"""
import json
import os
import sys

source = sys.argv[1]
sys.path.insert(0, os.path.join(source, 'tools'))
from rooftop_suite.results import disk  # noqa: E402

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
    run['steps'].append({**run['steps'][0], 'name': 'peak-nekbone', 'json': 'peak-nekbone.json'})
    for step in run['steps']:
        path = os.path.join('whole', step['json'])
        disk.save(path, sample(step['name'].replace('peak-', '')))
        step['sha256'] = disk.sha256_of(path)
    disk.save('whole/run.json', run)
    write('whole/gfnn-wave-picture.vti', b'<VTKFile/>')


def hostile():
    os.mkdir('hostile')
    ladder = sample('ladder-nekbone')
    for rung, name in zip(ladder['rungs'], NAMES):
        rung.update(name=name, idea=EVIL, after=NAMES[0], unit=EVIL, precision=EVIL, energy_source=EVIL,
                    checks=[{'name': EVIL, 'held': True, 'value': 1, 'bound': 2}])
    ladder['rungs'][1].update(verdict='UNSTEADY', disturbed=[EVIL])
    ladder['rungs'][2].update(verdict='INVALID', checks=[{'name': EVIL, 'held': False, 'bound': 0}])
    ladder.update(host=EVIL, gpu=EVIL, compiler=EVIL, options={EVIL: EVIL, 'seed': 1},
                  absent=[{'name': EVIL, 'kind': 'cuda', 'why': EVIL}])
    write('hostile/ladder-nekbone.json', json.dumps(ladder).encode())  # disk.save cannot write half characters
    deep = []
    for _ in range(300):
        deep = [deep]
    failed = dict(sample('run')['steps'][0], name=EVIL, state='failed', why=EVIL, command=[EVIL], sha256=None)
    steps = [dict(failed, name=name, app=name.replace('ladder-', ''), json=f'{name}.json', state='done')
             for name in ('ladder-nekbone', 'alya-rhs', 'gfnn-wave', 'ladder-alya-rhs')]
    write('hostile/run.json', json.dumps(dict(sample('run'), nonce=EVIL, environment={EVIL: [{EVIL: EVIL}], 'gpus': EVIL,
                                                                          'variables': {EVIL: EVIL}, 'nodes': 7, 'deep': deep, 'memory_bytes': EVIL},
                                    launcher=[EVIL, '{ranks}'], steps=[failed, *steps])).encode())
    write('hostile/alya-rhs.json', json.dumps({**ladder, 'program': 'alya-rhs', 'ranks': EVIL}).encode())
    write('hostile/gfnn-wave.json', json.dumps(sample('gfnn-wave'))[:400].encode())
    os.mkfifo('hostile/ladder-alya-rhs.json')
    write('hostile/gfnn-wave-picture.vti', b'<VTKFile><x/></VTKFile>')


whole()
hostile()
