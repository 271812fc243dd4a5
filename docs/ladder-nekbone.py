#!/usr/bin/env python3
"""Draws docs/ladder-nekbone.svg, the picture in README.md, with the plots of the suite.

    python3 docs/ladder-nekbone.py >docs/ladder-nekbone.svg

The times are those of the tables in apps/nekbone/README.md ("Measured" and "Beyond the paper on the GPU"): NVIDIA H200,
4096 elements of degree 9. Flops and bytes per point are those of the rungs' work models (work.c, fused.cu, onepass.cuh).
Needs matplotlib.
"""
import pathlib
import re
import sys
import typing

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'tools'))
from rooftop_suite import plots  # noqa: E402

POINTS = 4096 * 10**3
CREDITED = 12 * 10 + 34  # flops per point
SHARED = 0.463  # the share of the points that elements have in common
BANDWIDTH, FP64 = 4300, 33000  # GB/s and GFlop/s, the ceilings of the same runs
COLOURS = {'ink': '#1b1d1f', 'soft': '#55595e', 'grid': '#dedfda', 'paper': '#ffffff', 'band': '#e9ebe4',
           'cpu': '#0b63a8', 'cuda': '#b8480a', 'kokkos': '#0c7458', 'bad': '#b3121d',
           'sans': 'system-ui, Helvetica, Arial, sans-serif'}


class Rung(typing.NamedTuple):
    name: str
    kind: str
    microseconds: float  # per iteration
    flops: float  # per point
    bytes: float
    step: str = ''
    valid: bool = True
    ladder: str = ''

    @property
    def fom(self) -> float:
        return CREDITED * POINTS / (self.microseconds * 1e-6)

    @property
    def rate(self) -> float:
        return self.flops * POINTS / (self.microseconds * 1e3)  # GFlop/s

    @property
    def intensity(self) -> float:
        return self.flops / self.bytes


CG = (149 + SHARED, 176 + 20 * SHARED)
RUNGS = [Rung('global', 'cuda', 350.1, CG[0], CG[1] + 48),
         Rung('shared', 'cuda', 308.9, *CG, '1.13x'),
         Rung('layered', 'cuda', 244.9, *CG, '1.26x'),
         Rung('packed', 'cuda', 225, *CG, '1.09x'),
         Rung('fused', 'cuda', 164, 118, 120 + 16 * SHARED, '1.37x'),
         Rung('onepass', 'cuda', 127.1, 122.5 + 2 * SHARED, 104 + 16 * SHARED, '1.29x'),
         Rung('kokkos', 'kokkos', 433.0, *CG, '0.57x of layered')]


def panel(svg: str, heading: str, top: float) -> tuple[str, float]:
    """Returns the wide form of a plot below a heading, and where the next panel can begin."""
    wide = svg[:svg.index('</svg>') + 6]
    wide = wide[wide.index('<svg'):]
    box = re.search(r'viewBox="0 0 \S+ ([\d.]+)"', wide)
    assert box
    height = float(box[1])
    wide = re.sub(r'var\(--(\w+)\)', lambda match: COLOURS[match[1]], wide)
    wide = wide.replace('<svg ', f'<svg y="{top + 26}" width="{plots.WIDE}" height="{height}" ', 1)
    text = f'<text x="4" y="{top + 16}" fill="{COLOURS["ink"]}" font-size="13" font-weight="600">{heading}</text>'
    return f'{text}\n{wide}\n', top + 26 + height + 10


def main() -> None:
    if not plots.matplotlib():
        sys.exit('ladder-nekbone.py: matplotlib is missing (Debian: python3-matplotlib)')
    ladder, top = panel(plots.climb('climb', 'The ladder of nekbone on an H200', RUNGS,
                                    'GFlop/s of credited work', 1e9),
                        'The ladder: nekbone, NVIDIA H200, 4096 elements of degree 9', 0)
    roofs = {'bandwidth': (f'bandwidth {BANDWIDTH:,} GB/s', BANDWIDTH), 'fp64': (f'FP64 FMA {FP64:,}', FP64)}
    roof, top = panel(plots.roofline('roofline', 'The same rungs below the roofline', RUNGS, roofs),
                      'The roofline: the same rungs below the ceilings of the machine', top)
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {plots.WIDE} {top:g}" width="{plots.WIDE}" '
          f'height="{top:g}" font-family="{COLOURS["sans"]}">\n<rect width="100%" height="100%" fill="#ffffff"/>\n'
          f'{ladder}{roof}</svg>')


if __name__ == '__main__':
    main()
