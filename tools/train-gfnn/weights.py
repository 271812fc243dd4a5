"""Writes the weights file, little endian, one part after the other; README.md has the table."""
import struct
import zlib

import numpy as np

from element import Array, Case

VERSION = 1
FORMS = dict(gf8=3, gfm=4)
Layers = list[tuple[Array, Array]]


def pack(form: str, case: Case, K: Array, mean: Array, L: Array, reg: Layers, cls: Layers, centroid: Array) -> bytes:
    """Returns the bytes of a file. reg, cls: [(W, b)]."""
    nets = [[reg[0][0].shape[1]] + [W.shape[0] for W, _ in reg], [cls[0][0].shape[1]] + [W.shape[0] for W, _ in cls]]
    parts = [b'GFNN', struct.pack('<8I', VERSION, K.shape[-1] // 2, FORMS[form[:3]], len(K), len(mean), len(reg),
                                  len(cls), len(centroid))]
    parts += [struct.pack(f'<{len(widths)}I', *widths) for widths in nets]
    parts += [struct.pack('<9d', case.vp, case.ds, case.dt, case.rho, case.damping, case.f1, case.f2, case.vs_min,
                          case.vs_max)]
    single = [array for net in (reg, cls) for layer in net for array in layer] + [centroid]
    parts += [K.astype('<f4').tobytes(), mean.astype('<f8').tobytes(), L.astype('<f8').tobytes()]
    parts += [array.astype('<f4').tobytes() for array in single]
    if not all(np.isfinite(array).all() for array in [K, mean, L] + single):
        raise ArithmeticError('a weight is not finite')
    content = b''.join(parts)
    return content + struct.pack('<I', zlib.crc32(content))
