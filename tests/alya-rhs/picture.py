"""picture.py DUMP PICTURE [PICTURE]: the first picture, of one rank, must have the arrays that --dump wrote in the same run; one of
several ranks the same tetrahedra, with r but for the order of its sums. A line per fault; status 1."""
import re
import sys

import numpy as np

KINDS = {b'Float': 'f', b'Int': 'i', b'UInt': 'u'}


def read(path):
    """Returns the arrays of a .vtu file by their names, with as many rows as it says that it has points or cells."""
    with open(path, 'rb') as file:
        text, _, raw = file.read().partition(b'<AppendedData encoding="raw">\n_')
    points, cells = map(int, re.search(rb'NumberOfPoints="(\d+)" NumberOfCells="(\d+)"', text).groups())
    arrays = {}
    for kind, bits, name, offset in re.findall(rb'type="([A-Za-z]+)(\d+)" Name="(\w+)".* offset="(\d+)"/>', text):
        size, rows = int.from_bytes(raw[int(offset):][:8], 'little'), cells if kind != b'Float' else points
        arrays[name.decode()] = np.frombuffer(raw[int(offset) + 8:][:size], f'<{KINDS[kind]}{int(bits) // 8}').reshape(rows, -1)
    return arrays


def sorted_cells(a):
    """Returns x and u of the corners of each tetrahedron, in the order of its x, and r."""
    x, u, r = (a[name][a['connectivity']].reshape(-1, 12) for name in ('Points', 'velocity', 'r'))
    order = np.lexsort(x.T)
    return np.hstack([x, u])[order], r[order]


one = read(sys.argv[2])
dump = {name: np.load(f'{sys.argv[1]}/{name}.npy') for name in ('x', 'u', 'r', 'elements')}
held = {what: np.array_equal(one[name], dump[what]) for what, name in
        (('x', 'Points'), ('u', 'velocity'), ('r', 'r'), ('elements', 'connectivity'))}
held['tetrahedra'] = np.all(one['types'] == 10) and np.array_equal(one['offsets'][:, 0], 4 * np.arange(1, len(one['types']) + 1))
for path in sys.argv[3:]:
    (fixed, r), (other, sums) = sorted_cells(one), sorted_cells(read(path))
    held[path] = np.array_equal(fixed, other) and np.allclose(r, sums, 0, 1e-13 * np.abs(r).max())
print(*(f'{what} is not as it was' for what, right in held.items() if not right), sep='\n')
sys.exit(not all(held.values()))
