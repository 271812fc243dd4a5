#!/usr/bin/env python3
"""Writes the sample model of gfnn-wave: a ball with a hard shell in a soft filling, 12 x 10 x 8 voxels.

The ball is off centre, so that a reader that swaps or mirrors x, y or z gets another model. Ids are
not consecutive, as in segmented scans. The format is described in apps/gfnn-wave/input/voxel.c.
Usage: python3 samples.py [folder]
"""
import itertools
import sys

SIZE = NX, NY, NZ = 12, 10, 8
CENTRE = 5.2, 4.7, 3.4
VOID, CORE, SHELL = 0, 3, 7


def tissue(*voxel):
    distance2 = sum((i + 0.5 - c) ** 2 for i, c in zip(voxel, CENTRE))
    return CORE if distance2 < 2.2 ** 2 else SHELL if distance2 < 3.3 ** 2 else VOID


def ball():
    header = ("gfnn-voxels 1\n# a ball in a soft filling: samples.py\nsize %d %d %d\nspacing 0.001\n"
              "material %d 50 void\nmaterial %d 80 core\nmaterial %d 120 shell\ndata\n"
              % (*SIZE, VOID, CORE, SHELL))
    voxels = (tissue(i, j, k) for k, j, i in itertools.product(range(NZ), range(NY), range(NX)))
    return header.encode() + bytes(voxels)


folder = sys.argv[1] if len(sys.argv) > 1 else "."
with open(folder + "/ball.voxels", "wb") as file:
    file.write(ball())
