"""Replaces a program of the suite: writes what a run does, and misbehaves as STANDIN says. standin.sh, which answers
questions without a run, calls it with the name of the app and the options.

STANDIN is 'HOW' or 'APP:HOW,..': hang, deaf (hang, with a child, and both ignore SIGTERM), fail, killed, invalid,
truncated, lie (ends with 0, its verdict is INVALID), unsteady.
STANDIN_CPU names its processor. It computes the seed by itself, as a check of the suite's. Each run adds a line to
STANDIN_LOG. With RANKS set it acts as that many ranks, which share boxes of elements as nekbone's do, at 80 % of the ideal speed.
"""
import hashlib
import json
import os
import signal
import sys
import time

app = sys.argv[1]
told = [word.rpartition(':') for word in os.environ.get('STANDIN', '').split(',')]
how = ''.join(how for only, _, how in told if only in ('', app))
words = [word for words in sys.argv[2:] for word in (words.split('=', 1) if words[:2] == '--' else [words])]


def value(name, default):
    return words[words.index(name) + 1] if name in words else default


if '--json' not in words:
    how = ''  # a run that is only timed
elif 'STANDIN_LOG' in os.environ:
    with open(os.environ['STANDIN_LOG'], 'a') as log:
        log.write(f'{app} {"ladder" if "--ladder" in words else "measured"}\n')
if how in ('hang', 'deaf'):
    if how == 'deaf':
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if os.fork():  # the child: a rank, deaf as its parent
        print('working', flush=True)
    os.execvp('sleep', ['sleep', '300'])
if how == 'killed':
    os.kill(os.getpid(), signal.SIGKILL)

nonce = value('--nonce', '')
seed = int(hashlib.sha256(f'rooftop:{nonce}'.encode()).hexdigest()[:16], 16) & 0x3fffffffffffffff if nonce else 1
digest = hashlib.sha256(f'{app} {seed} {value("--size", "tiny")}'.encode()).hexdigest()
if how == 'fail':
    print(f'{app}: the GPU is lost')
    sys.exit(3)
speed = float(os.environ.get('STANDIN_SPEED', '1'))
ranks = int(os.environ.get('RANKS', '1'))
elements = [int(extent) for extent in value('--elements', '7x7x7').split('x')]
boxes = [(x, y, ranks // x // y) for x in range(1, ranks + 1) for y in range(1, ranks + 1) if ranks % (x * y) == 0]
if '--elements' in words and not any(all(e % p == 0 for e, p in zip(elements, box)) for box in boxes):
    print(f'{app}: {ranks} ranks cannot share these elements')
    sys.exit(2)
share = elements[0] * elements[1] * elements[2] / 343 if '--elements' in words else ranks  # of 7x7x7 on one rank
verdict = {'invalid': 'INVALID', 'lie': 'INVALID', 'unsteady': 'UNSTEADY'}.get(how, 'VALID')


def rung(name, factor):
    bad = how in ('invalid', 'lie')
    row = {'name': name, 'kind': 'cpu', 'after': '', 'idea': 'a loop', 'precision': 'FP64', 'verdict': verdict,
           'disturbed': ['windows differ by 14.2 %'] if how == 'unsteady' else [],
           'checks': [{'name': 'sum = reference', 'held': not bad, 'value': 2.0 if bad else 0.5, 'bound': 1.0}],
           'memory_bytes': {space: {'predicted': 0.0, 'high_water': 0.0} for space in ('host', 'pinned', 'device')}}
    if value('--seconds', '') == '0':
        return row
    late = share / ranks / (0.8 if ranks > 1 else 1)
    windows = [w * late / factor / speed for w in (0.0100, 0.0101, 0.0100, 0.0102, 0.0100)]
    median = sorted(windows)[2]
    row.update({'unit': 'loop', 'arithmetic': 'fp64', 'seconds_per_unit': median,
                'spread': (max(windows) - min(windows)) / median, 'windows': 5, 'solves': 10,
                'fom_flop_per_s': 1e7 * share / median, 'points_per_s': 1e6 / median, 'bytes_per_unit': 8e6,
                'flop_per_unit': 1e7,
                'work': [{'kernel': 'loop', 'calls': 2.0, 'flop': 5e6, 'read_bytes': 3e6, 'written_bytes': 1e6}],
                'credited_flop_per_unit': 1e7 * share, 'window_seconds': windows, 'setup_seconds': 0.08, 'units_per_solve': 4.0,
                'fom_1_solve_flop_per_s': 1e7 * share / (median + 0.02), 'fom_100_solves_flop_per_s': 1e7 * share / (median + 2e-4),
                'warm_up_seconds': float(value('--warm-up', '0.1')) + 0.01,
                'timed_seconds': 5 * float(value('--window', '0.1')) + 0.01})
    if '--profile' in words:  # 80 % computing on several ranks
        parts = {'': 1.0, '/halo/messages': 0.15, '/halo/pack': 0.05, '/halo': 0.2} if ranks > 1 else {'': 1.0}
        row['profile'] = [{'timer': name + part, 'calls': ranks, 'seconds': share * late,
                           'slowest_seconds': share * late, 'bytes': 0.0}
                          for part, share in parts.items()]
    row['clocks'] = {'host_s': row['timed_seconds'] + 0.001}
    if verdict != 'VALID':
        for rate in ('fom_flop_per_s', 'fom_1_solve_flop_per_s', 'fom_100_solves_flop_per_s', 'points_per_s'):
            del row[rate]
    return row


ceilings = {'working_set_bytes': 1000, 'copy_bytes_per_s': 1e11, 'triad_bytes_per_s': 1e11, 'read_bytes_per_s': 1e11,
            'fma64_flop_per_s': 1e12, 'fma32_flop_per_s': 1e12, 'latency_s': 0.0, 'message_bytes_per_s': 0.0}
result = {'schema': 2, 'program': app, 'version': '0.1.0', 'date': time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime()), 'compiler': 'none',
          'flags': '', 'mpi': 'none', 'host': os.uname().nodename, 'kokkos': 'none', 'kokkos_backend': 'none',
          'ranks': ranks, 'cpu': os.environ.get('STANDIN_CPU', 'Stand-in'), 'threads': 1, 'gpu': '', 'gpu_driver': 0,
          'options': {'size': value('--size', 'tiny'), 'elements': 'x'.join(map(str, elements)), 'degree': '9',
                      'steps': value('--steps', '4'),
                      'seed': seed}, 'nonce': nonce, 'seed': seed,
          'inputs_digest': digest, 'build': {'CC': 'none', 'LIBS': '-lm'}, 'variables': {}, 'files': [],
          'rungs': [rung('plain', 1), rung('fast', 2)] if '--ladder' in words else [rung('fast', 2)],
          'absent': [{'name': 'big', 'kind': 'cuda', 'why': 'this build has no CUDA'}],
          'ceilings_cpu': ceilings,
          'verdict': verdict}
text = json.dumps(result, indent=2) + '\n'
path = value('--json', os.devnull)
try:
    with open(path, 'w') as file:
        file.write(text[:-100] if how == 'truncated' else text)
    if '--picture' in words:
        with open(value('--picture', ''), 'w') as file:
            file.write('a picture\n')
except OSError as error:
    print(f'{app}: {path}: {error.strerror}')
    sys.exit(3)
print(f'  sum = reference  {"2.0  bound 1.0  FAILED" if how == "invalid" else "0.5  bound 1.0  held"}')
print(f'{app}: {result["verdict"]}')
sys.exit(1 if how == 'invalid' else 0)
