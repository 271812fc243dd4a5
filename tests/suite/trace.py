"""Compares --trace with a profiled run on as many ranks: `trace.py MPIRUN APPS [long]`.

The bytes of all messages and the number of sums must be the same. A profile has the bytes of every exchange, so a
neighbour, a face or a value more or less shows. The iterations of gfnn-wave follow from its sums.
"""
import json
import subprocess
import sys

MPIRUN, APPS = sys.argv[1:3]
LONG = sys.argv[3:] == ['long']


def trace(app, ranks, words):
    asked = subprocess.run([f'{APPS}/{app}/{app}', *words, '--trace', str(ranks)], stdout=subprocess.PIPE, check=True)
    return json.loads(asked.stdout)


def measured(app, ranks, words):
    """Returns the bytes of messages, and the sums of a rank, in one solve."""
    subprocess.run([MPIRUN, '-n', str(ranks), f'{APPS}/{app}/{app}', *words, '--device', 'cpu', '--seconds', '0', '--profile',
                    '--quiet', '--threads', '1', '--json', 'result.json'], stdout=subprocess.DEVNULL, check=True)
    with open('result.json', encoding='utf-8') as file:
        profile = json.load(file)['rungs'][0]['profile']
    return (sum(row['bytes'] for row in profile if row['timer'].endswith('/messages')),
            sum(row['calls'] for row in profile if row['timer'].endswith('/sum')) / ranks)


def total(found, kind, units, iterations):
    return sum((step['per_unit'] * units + step['per_iteration'] * iterations)
               * (sum(message[2] for message in step['messages']) if kind == 'exchange' else 1)
               for step in found['steps'] if step['kind'] == kind)


def compare(app, ranks, one, both, units, near=0.0):
    """one: the extents of one rank; both: options of the trace and of the run."""
    found = trace(app, ranks, [*one, *both])
    if app == 'fun3d-mcpi':
        words = found['remark'].split()
        more, scaled = ['--surface', words[4], '--layers', words[6].rstrip(',')], float(words[-1])
    else:
        extents, scaled = [int(n) for n in one[1].split('x')], 1.0
        boxes = found['boxes'] or [ranks, 1, 1]
        more = [one[0], 'x'.join(str(n * b) for n, b in zip(extents, boxes))]
        more += ['--ranks', 'x'.join(map(str, boxes))] if found['boxes'] else []
    size, sums = measured(app, ranks, [*more, *both])
    once = 1 if app == 'nekbone' else 0  # a sum before or after all iterations
    iterations = 0.0
    if app == 'gfnn-wave':
        iterations = (sums - total(found, 'sum', units, 0)) / (total(found, 'sum', 0, 1))
    said = total(found, 'exchange', units, iterations) / scaled
    if abs(said - size) > near * size or total(found, 'sum', units, iterations) + once != sums or iterations % 1:
        print(f'{app} on {ranks} ranks, {" ".join(both)}: {size:.0f} bytes and {sums:g} sums; --trace says {said:.0f} '
              f'bytes and {total(found, "sum", units, iterations) + once:g} sums')
        return False
    return True


def main():
    good = True
    for ranks in (2, 3, 6, 8, 16) if LONG else (4,):
        cg = ['--degree', '5', '--iterations', '4']
        good &= compare('nekbone', ranks, ['--elements', '3x2x2'], [*cg, '--rung', 'cpu-fused'], 4)
        good &= compare('nekbone', ranks, ['--elements', '2x2x3'],
                        [*cg, '--rung', 'jammed', '--precond', 'jacobi'], 4)
        good &= compare('alya-rhs', ranks, ['--cells', '13x9x7'], ['--assemblies', '2', '--rung', 'cpu-RS'], 2)
        # colours are taken to be alike, and bytes rounded: 1 %
        good &= compare('fun3d-mcpi', ranks, ['--surface', '10', '--layers', '8'], ['--sweeps', '3'], 3, 0.01)
        for precond in ('gfm', 'cheb', 'bj', 'none') if LONG else ('gfm',):
            for faces, vectors in (('periodic', 'fp64'), ('periodic', 'fp32'), ('free', 'fp64'))[:None if LONG else 2]:
                good &= compare('gfnn-wave', ranks, ['--elements', '12x7x5'],
                                ['--precond', precond, '--faces', faces, '--vectors', vectors, '--steps', '2', '--rung',
                                 'solve-simd'], 2)
    large = trace('nekbone', 4096, ['--elements', '3x2x2'])
    messages = next(step['messages'] for step in large['steps'] if step['kind'] == 'exchange')
    if large['boxes'] != [16, 16, 16] or len(messages) != (3 * 16 - 2) ** 3 - 4096:
        print(f'4096 ranks: {len(messages)} messages in {large["boxes"]} boxes')
        good = False
    return 0 if good else 1


sys.exit(main())
