#!/usr/bin/env python3
"""Writes the sample inputs of fun3d-mcpi: one small mesh of mixed elements in every format.

The mesh has 3 x 3 x 2 cells with a bent bottom, the wall. From left to right there are hexahedra,
prisms, and cells with a vertex in the middle: pyramids towards the prisms and at the top,
tetrahedra elsewhere. Every file holds the same mesh in the same order, so dQ must be the same to
the last bit. Tags: 1 is the wall (bottom), 2 all other faces. Usage: python3 samples.py [folder]
"""
import itertools
import math
import struct
import sys

NX, NY, NZ = 3, 3, 2
points = []
for k, j, i in itertools.product(range(NZ + 1), range(NY + 1), range(NX + 1)):
    x, y = i / NX, j / NY
    points.append((x, y, (k / NZ) ** 1.5 + (1 - k / NZ) * 0.08 * math.sin(3 * x) * math.cos(2 * y)))


def at(i, j, k):
    return i + (NX + 1) * (j + (NY + 1) * k)


def volume(a, b, c, d):
    u, v, w = ([points[q][m] - points[a][m] for m in range(3)] for q in (b, c, d))
    return (u[0] * (v[1] * w[2] - v[2] * w[1]) + u[1] * (v[2] * w[0] - v[0] * w[2])
            + u[2] * (v[0] * w[1] - v[1] * w[0]))


# Vertices of the elements in CGNS order; vertices of faces as seen from outside.
tets, pyramids, prisms, hexas = [], [], [], []


def add_tet(a, b, c, d):
    tets.append((a, b, c, d) if volume(a, b, c, d) > 0 else (a, c, b, d))


# Faces of a cell with corners 0..7, as seen from outside.
CELL = ((0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7))


def split(face):
    """Splits a face along the diagonal from its least vertex, as both adjacent cells do."""
    s = face.index(min(face))
    a, b, c, d = face[s:] + face[:s]
    return (a, b, c), (a, c, d)


triangulated = set()


def add_star(h, keep):
    """Adds a vertex in the middle, with pyramids on the faces `keep` and tetrahedra on the others."""
    points.append(tuple(sum(points[v][m] for v in h) / 8 for m in range(3)))
    centre = len(points) - 1
    for f, corners in enumerate(CELL):
        face = tuple(h[c] for c in corners)
        if f in keep:
            pyramids.append(face[::-1] + (centre,))
        else:
            triangulated.add(frozenset(face))
            for triangle in split(face):
                add_tet(*triangle, centre)


boundary = []
for k, j, i in itertools.product(range(NZ), range(NY), range(NX)):
    h = [at(i, j, k), at(i + 1, j, k), at(i + 1, j + 1, k), at(i, j + 1, k)]
    h += [v + (NX + 1) * (NY + 1) for v in h]
    outside = [f for f, o in enumerate((k == 0, k == NZ - 1, j == 0, i == NX - 1, j == NY - 1, i == 0)) if o]
    if i == 0:
        hexas.append(tuple(h))
    elif i == 1:
        prisms.append((h[0], h[1], h[2], h[4], h[5], h[6]))
        prisms.append((h[0], h[2], h[3], h[4], h[6], h[7]))
    elif k == 0:  # quads towards the prisms only
        add_star(h, {5})
    else:  # a pyramid on the top too
        add_star(h, {5, 1})
    for f in outside:
        face = tuple(h[c] for c in CELL[f])
        tag = 1 if f == 0 else 2
        if i == 1 and f in (0, 1):  # ends of the prisms
            p = h[:4] if f == 0 else h[4:]
            halves = ((p[0], p[1], p[2]), (p[0], p[2], p[3]))
            boundary += [(t[::-1] if f == 0 else t, tag) for t in halves]
        elif frozenset(face) in triangulated:
            boundary += [(t, tag) for t in split(face)]
        else:
            boundary.append((face, tag))
boundary.sort(key=lambda b: (len(b[0]), b[1]))
triangles = [b for b in boundary if len(b[0]) == 3]
quads = [b for b in boundary if len(b[0]) == 4]


def gmsh41():
    """The surface with physical group t is the entity t; all volume elements are of entity 1."""
    blocks = [(2, tag, kind, [f for f, t in group if t == tag]) for kind, group in ((2, triangles), (3, quads)) for tag in (1, 2)]
    blocks += [(3, 1, kind, group) for kind, group in ((4, tets), (5, hexas), (6, prisms), (7, pyramids))]
    n, elements = len(points), sum(len(group) for *_, group in blocks)
    out = "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$PhysicalNames\n3\n2 1 \"wall\"\n2 2 \"far\"\n3 3 \"fluid\"\n$EndPhysicalNames\n"
    out += "$Entities\n0 0 2 1\n" + "".join("%d 0 0 0 1 1 1 1 %d 0\n" % (e, t) for e, t in ((1, 1), (2, 2), (1, 3))) + "$EndEntities\n"
    out += "$Nodes\n1 %d 1 %d\n3 1 0 %d\n" % (n, n, n) + "".join("%d\n" % (v + 1) for v in range(n))
    out += "".join("%r %r %r\n" % p for p in points) + "$EndNodes\n$Elements\n%d %d 1 %d\n" % (len(blocks), elements, elements)
    number = itertools.count(1)
    for dimension, tag, kind, group in blocks:
        out += "%d %d %d %d\n" % (dimension, tag, kind, len(group))
        out += "".join("%d %s\n" % (next(number), " ".join(str(v + 1) for v in e)) for e in group)
    return (out + "$EndElements\n").encode()


def ugrid(order):
    """AFLR3 stores a pyramid like a prism whose last node coincides with the third: see mesh/ugrid.c."""
    counts = [len(g) for g in (points, triangles, quads, tets, pyramids, prisms, hexas)]
    turned = [(p[0], p[3], p[4], p[1], p[2]) for p in pyramids]
    nodes = [v + 1 for group in ([f for f, _ in triangles], [f for f, _ in quads]) for f in group for v in f]
    tags = [t for _, t in triangles + quads]
    cells = [v + 1 for group in (tets, turned, prisms, hexas) for e in group for v in e]
    return (struct.pack(order + "7i", *counts)
            + b"".join(struct.pack(order + "3d", *p) for p in points)
            + struct.pack(order + "%di" % len(nodes + tags + cells), *nodes, *tags, *cells))


folder = sys.argv[1] if len(sys.argv) > 1 else "."
for name, data in (("mixed.msh", gmsh41()), ("mixed.b8.ugrid", ugrid(">")),
                   ("mixed.lb8.ugrid", ugrid("<"))):
    with open(folder + "/" + name, "wb") as file:
        file.write(data)
