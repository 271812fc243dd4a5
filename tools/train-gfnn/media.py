"""The training data of the networks: random heads, blobs, and patches of P^3 elements cut out of them."""
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from element import Array, Case

SIDE = 40  # elements per side of a training model
TISSUES = dict(void=50, scalp=70, skull=120, fluid=50, grey=80, white=100, ventricle=55, stem=90)


def tissue(case: Case, name: str) -> float:
    """Returns Vs; if the range is not that of the named tissues, they are mapped into it."""
    return case.vs_min + (TISSUES[name] - 50) / 70 * (case.vs_max - case.vs_min)


def head(rng: np.random.Generator, case: Case, zoom: int) -> Array:
    """Returns nested ellipsoids of random proportions and orientation; zoom > 1: a part of a larger head."""
    edge = 2 / zoom
    corner = rng.uniform(-0.9, 0.9 - edge, 3) if zoom > 1 else np.full(3, -1.0)
    z, y, x = np.meshgrid(*[c + edge * (np.arange(SIDE) + 0.5) / SIDE for c in corner], indexing='ij')
    x, y, z = (v - rng.uniform(-0.05, 0.05) for v in (x, y, z))
    skin = np.array([0.80, 0.92, 0.86]) * rng.uniform(0.9, 1.05, 3)

    def distance(scale: float) -> Array:
        terms: list[Array] = [(v / (s * scale))**2 for v, s in zip((x, y, z), skin)]
        return terms[0] + terms[1] + terms[2]

    vs = np.full(x.shape, tissue(case, 'void'))
    shell = 1.0
    for name, thickness in (('scalp', 0), ('skull', 0.07), ('fluid', 0.11)):
        shell -= thickness * rng.uniform(0.7, 1.3)
        vs[distance(shell) < 1] = tissue(case, name)
    angle = np.arctan2(y, x)
    for name, thickness, depth, turns in (('grey', 0.06, 0.05, 7), ('white', 0.15, 0.12, 14)):
        shell -= thickness * rng.uniform(0.8, 1.2)
        fold = np.sin(rng.integers(7, 12) * angle + rng.uniform(0, 6)) * np.sin(turns * z + rng.uniform(0, 6))
        vs[distance(shell) < 1 + depth * fold] = tissue(case, name)
    for side in (-1, 1):
        a, b, c = np.array([0.10, 0.28, 0.12]) * rng.uniform(0.8, 1.2, 3)
        vs[((x - 0.13 * side) / a)**2 + (y / b)**2 + ((z - 0.08) / c)**2 < 1] = tissue(case, 'ventricle')
    vs[(x / 0.16)**2 + ((y - 0.15) / 0.13)**2 + ((z + 0.62) / 0.3)**2 < 1] = tissue(case, 'stem')
    return np.flip(vs.transpose(rng.permutation(3)), np.flatnonzero(rng.integers(2, size=3)))


def blobs(rng: np.random.Generator, case: Case) -> Array:
    """Returns smooth noise cut at three levels: four materials, of tissues or of any Vs of the range."""
    k2 = sum(f**2 for f in np.meshgrid(*[np.fft.fftfreq(SIDE)] * 3, indexing='ij'))
    size = rng.uniform(2.5, 6)
    noise = np.fft.ifftn(np.fft.fftn(rng.standard_normal((SIDE,) * 3)) * np.exp(-k2 * (np.pi * size)**2)).real
    levels = np.sort(rng.normal(0, 0.8, 3))
    if rng.integers(2):
        vs = np.array([tissue(case, name) for name in rng.choice(list(TISSUES), 4)])
    else:
        vs = rng.uniform(case.vs_min, case.vs_max, 4)
    return vs[np.digitize(noise / noise.std(), levels)]


def spread(vs: Array, P: int) -> Array:
    """Returns the largest less the smallest Vs of every patch of P^3 elements."""
    low = high = vs
    for axis in range(3):
        low = sliding_window_view(low, P, axis).min(-1)
        high = sliding_window_view(high, P, axis).max(-1)
    return high - low


def patches(rng: np.random.Generator, vs: Array, count: int, P: int) -> Array:
    """Returns Vs^2 of up to `count` patches with an interface in them and 1/16 as many without: [n][P][P][P]."""
    differ = spread(vs, P) > 0.5
    chosen = []
    for where, number in ((differ, count), (~differ, count // 16)):
        nodes = np.argwhere(where)
        chosen.append(nodes[rng.permutation(len(nodes))[:number]])
    z, y, x = np.concatenate(chosen).T
    return sliding_window_view(vs**2, (P, P, P))[z, y, x]


def sample(rng: np.random.Generator, case: Case, count: int, P: int) -> Array:
    """Returns patches of P^3 elements of 8 heads, 14 blobs and uniform media: `count` per model."""
    models = [head(rng, case, zoom) for zoom in (1, 1, 1, 1, 1, 2, 4, 6)] + [blobs(rng, case) for _ in range(14)]
    uniform = rng.uniform(case.vs_min, case.vs_max, count // 2)
    uniform = np.broadcast_to((uniform**2)[:, None, None, None], (len(uniform),) + (P,) * 3)
    return np.concatenate([patches(rng, vs, count, P) for vs in models] + [uniform])
