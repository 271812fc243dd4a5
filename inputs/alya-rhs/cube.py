#!/usr/bin/env python3
"""Writes the unit cube, 2 x 2 x 2 cells of 6 tetrahedra each, as Gmsh 4.1, ASCII and binary.

Nodes are in a scrambled order, their numbers have gaps, and no element uses the first node. There
are points, lines and triangles to skip, and sections to ignore. The mesh is the same in both files,
so that tests/alya-rhs/cli.sh can compare them. Usage: python3 cube.py [folder]
"""
import itertools
import struct
import sys

N = 2
at = {p: k for k, p in enumerate(itertools.product(range(N + 1), repeat=3))}
order = sorted(at, key=lambda p: 10 * at[p] % 27)  # a permutation, because 10 and 27 have no common factor
xyz = [(9.0, 9.0, 9.0)] + [tuple((c / N) ** 1.3 for c in p) for p in order]
number = {p: k + 1 for k, p in enumerate(order)}  # position in the file

tets = []
for cell in itertools.product(range(N), repeat=3):
    for perm in itertools.permutations(range(3)):
        path = [cell]
        for axis in perm:
            step = list(path[-1])
            step[axis] += 1
            path.append(tuple(step))
        if perm not in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):  # an odd permutation would be inverted
            path[1], path[2] = path[2], path[1]
        tets.append([number[p] for p in path])
# type, nodes: a point, a line and two triangles
others = [(15, [1]), (1, [1, 2]), (2, [1, 2, 3]), (2, [3, 2, 4])]
dense = [(17 * k) % 28 + 1 for k in range(28)]  # tags
sparse = [1000 * t + 7 for t in dense]


def section(name, body):
    return b"$" + name + b"\n" + body + (b"" if body.endswith(b"\n") else b"\n") + b"$End" + name + b"\n"


def text(rows):
    return "".join(" ".join(repr(v) for v in row) + "\n" for row in rows).encode()


names = section(b"PhysicalNames", b'1\n3 1 "fluid"\n')


def gmsh41(tag, binary):
    def row(kinds, *v):
        return struct.pack("=" + kinds, *v) if binary else text([v])
    body = row("4Q", 4, 28, min(tag), max(tag))
    # a point, a face with parameters, an empty block, and all others
    for dim, first, last, param in ((0, 0, 1, 0), (2, 1, 9, 1), (1, 9, 9, 0), (3, 9, 28, 0)):
        body += row("3iQ", dim, 1, param, last - first)
        for k in range(first, last):
            body += row("Q", tag[k])
        for k in range(first, last):
            more = (0.25, 0.75) if param else ()
            body += row("%dd" % (3 + len(more)), *xyz[k], *more)
    lines = row("4Q", 5, len(others) + len(tets), 1, len(others) + len(tets))
    e = 0
    for dim, t, group in ((0, 15, others[:1]), (1, 1, others[1:2]), (2, 2, others[2:]),
                          (3, 4, [(4, n) for n in tets[:20]]), (3, 4, [(4, n) for n in tets[20:]])):
        lines += row("3iQ", dim, 1, t, len(group))
        for _, n in group:
            e += 1
            lines += row("%dQ" % (1 + len(n)), e, *(tag[k] for k in n))
    head = b"4.1 1 8\n" + struct.pack("=i", 1) if binary else b"4.1 0 8\n"
    entities = row("4Q", 1, 0, 0, 0) + row("i3dQ", 1, 9.0, 9.0, 9.0, 0)
    return (section(b"MeshFormat", head) + names + section(b"Entities", entities)
            + section(b"Nodes", body) + section(b"Elements", lines)
            + section(b"Unknown", b"anything\n"))


folder = sys.argv[1] if len(sys.argv) > 1 else "."
for name, data in (("cube-4.1.msh", gmsh41(dense, False)), ("cube-4.1-binary.msh", gmsh41(sparse, True))):
    with open(folder + "/" + name, "wb") as file:
        file.write(data)
