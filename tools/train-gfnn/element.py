"""Element matrices of the unit cube, and the matrix of a time step made of them.

Corner a = x + 2 y + 4 z, row 3 a + c for component c, as in apps/gfnn-wave/gfnn.h.
"""
from dataclasses import dataclass
from math import pi
from typing import Any

import numpy as np

Array = Any  # of NumPy, whose types differ between versions


@dataclass(frozen=True)
class Case:
    """The medium and the time step that a file is trained for. Units: m, s, kg, Hz."""
    vp: float
    ds: float
    dt: float
    rho: float
    damping: float  # h of Rayleigh damping C = a M + b K, at f1 and at f2
    f1: float
    f2: float
    vs_min: float
    vs_max: float

    def shear(self) -> float:
        """Returns k in A = M + k Vp^2 K_L + k Vs^2 (K_M - 2 K_L)."""
        w1, w2 = 2 * pi * self.f1, 2 * pi * self.f2
        a = 2 * self.damping * w1 * w2 / (w1 + w2)
        b = 2 * self.damping / (w1 + w2)
        c0 = (4 / self.dt**2 + 2 * a / self.dt) * self.rho * self.ds**3
        return (1 + 2 * b / self.dt) * self.ds * self.rho / c0


def unit_cube() -> tuple[Array, Array, Array]:
    """Returns M (density 1), K_L (lambda 1), K_M (mu 1), each 24 x 24, by 2x2x2 Gauss points."""
    corner = np.array([[a & 1, a >> 1 & 1, a >> 2] for a in range(8)])
    sign = 2 * corner - 1
    M, KL, KM = np.zeros((3, 24, 24))
    for point in (0.5 + (corner - 0.5) / np.sqrt(3)):
        factor = np.where(corner == 1, point, 1 - point)
        value = factor.prod(1)
        slope = np.stack([sign[:, d] * np.delete(factor, d, 1).prod(1) for d in range(3)], 1)
        N = np.zeros((3, 24))
        strain = np.zeros((6, 24))  # xx, yy, zz, xy, yz, zx
        for c in range(3):
            N[c, c::3] = value
            strain[c, c::3] = slope[:, c]
            strain[3 + c, c::3] = slope[:, (c + 1) % 3]
            strain[3 + c, (c + 1) % 3::3] = slope[:, c]
        volume = strain[:3].sum(0)
        M += N.T @ N / 8
        KL += np.outer(volume, volume) / 8
        KM += strain.T @ np.diag([2, 2, 2, 1, 1, 1]) @ strain / 8
    return M, KL, KM


def affine(case: Case) -> tuple[Array, Array]:
    """Returns E0 and E1: the matrix of an element is E0 + Vs^2 E1."""
    M, KL, KM = unit_cube()
    k = case.shear()
    return M + k * case.vp**2 * KL, k * (KM - 2 * KL)
