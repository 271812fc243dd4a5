#!/usr/bin/env python3
"""Converts a mesh that meshio reads (SU2, Gmsh 2.2, CGNS, VTK, ...) to AFLR3, and keeps the tags of the boundary.

Usage: python3 to_ugrid.py MESH OUT.lb8.ugrid (needs Debian's python3-meshio)
"""
import sys
import meshio
import numpy

KINDS = {"triangle": [0, 1, 2], "quad": [0, 1, 2, 3], "tetra": [0, 1, 2, 3], "pyramid": [0, 3, 4, 1, 2],
         "wedge": [0, 1, 2, 3, 4, 5], "hexahedron": [0, 1, 2, 3, 4, 5, 6, 7]}  # our order of nodes to AFLR3's
mesh = meshio.read(sys.argv[1])
data = mesh.cell_data.get("su2:tag", mesh.cell_data.get("gmsh:physical", [[0] * len(b.data) for b in mesh.cells]))
nodes = {k: [b.data[:, KINDS[k]] + 1 for b in mesh.cells if b.type == k] for k in KINDS}
tags = [t for k in ("triangle", "quad") for b, t in zip(mesh.cells, data) if b.type == k]
counts = [len(mesh.points)] + [sum(map(len, nodes[k])) for k in KINDS]
faces, cells = (sum((nodes[k] for k in kinds), []) for kinds in (list(KINDS)[:2], list(KINDS)[2:]))
with open(sys.argv[2], "wb") as file:
    for part, kind in [(counts, "<i4"), (mesh.points, "<f8")] + [(p, "<i4") for p in faces + tags + cells]:
        file.write(numpy.asarray(part, dtype=kind).tobytes())
