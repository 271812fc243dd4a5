"""Kernels K[m][i][j][z][y][x]: row i of the predictor reads component j of r, `nd` nodes to each side. The stencil has
W^3 nodes, W = 2 nd + 1, and P^3 elements touch them, P = W + 1; functions take these from the shapes of their arrays.

Galerkin kernel: row i is the g on the nodes of the stencil for which g A g - 2 g_i(0) is least, that
is A g = e_i on those nodes. It is not the Green's function cut off, which is twice as far from the best.
"""
from collections.abc import Iterator
from itertools import permutations, product

import numpy as np

from element import Array, Case

def corners(u: Array) -> Array:
    """Returns u [n][3][P+1][P+1][P+1] at the corners of the P^3 elements: [n][P][P][P][24]."""
    P = u.shape[-1] - 1
    parts = [u[:, c, a >> 2:P + (a >> 2), (a >> 1 & 1):P + (a >> 1 & 1), (a & 1):P + (a & 1)]
             for a in range(8) for c in range(3)]
    return np.stack(parts, -1)


def add_corners(v: Array) -> Array:
    """Applies the transpose of corners()."""
    P = v.shape[1]
    u = np.zeros((len(v), 3) + (P + 1,) * 3)
    for a in range(8):
        for c in range(3):
            u[:, c, a >> 2:P + (a >> 2), (a >> 1 & 1):P + (a >> 1 & 1), (a & 1):P + (a & 1)] += v[..., 3 * a + c]
    return u


def inner(u: Array) -> Array:
    return u[:, :, 1:-1, 1:-1, 1:-1]


def apply(E0: Array, E1: Array, mu: Array, g: Array) -> Array:
    """Returns A g on the nodes of the stencil, g [n][3][W][W][W] being 0 beyond; mu = Vs^2 [n][P][P][P]."""
    u = corners(np.pad(g, ((0, 0), (0, 0)) + ((1, 1),) * 3))
    v = u.reshape(-1, 24) @ np.hstack([E0, E1])
    v = v.reshape(u.shape[:-1] + (48,))
    return inner(add_corners(v[..., :24] + mu[..., None] * v[..., 24:]))


def diagonal(E0: Array, E1: Array, mu: Array) -> Array:
    return inner(add_corners(np.diag(E0) + mu[..., None] * np.diag(E1)))


def galerkin_rows(E0: Array, E1: Array, mu: Array, row: Array, tolerance: float = 1e-8) -> Array:
    """Returns row row[n] of the Galerkin kernel of each patch mu[n]: [n][3][W][W][W]. Jacobi CG, all at once."""
    def dot(a: Array, b: Array) -> Array:
        product: Array = np.einsum('ncxyz,ncxyz->n', a, b)
        return product[:, None, None, None, None]

    W = mu.shape[-1] - 1
    g = np.zeros((len(mu), 3, W, W, W))
    r = g.copy()
    r[np.arange(len(mu)), row, W // 2, W // 2, W // 2] = 1
    diag = diagonal(E0, E1, mu)
    z = r / diag
    p, rz = z, dot(r, z)
    for _ in range(500):
        q = apply(E0, E1, mu, p)
        alpha = rz / dot(p, q)
        g = g + alpha * p
        r = r - alpha * q
        if dot(r, r).max() < tolerance**2:
            return g
        z = r / diag
        old, rz = rz, dot(r, z)
        p = z + rz / old * p
    raise ArithmeticError('no Galerkin kernel: CG does not converge')


def uniform(E0: Array, E1: Array, vs: float, nd: int) -> Array:
    """Returns the Galerkin kernel of a uniform medium: [3][3][W][W][W]."""
    return galerkin_rows(E0, E1, np.full((3,) + (2 * nd + 2,) * 3, vs**2), np.arange(3))


def images(K: Array) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], Array]]:
    """Yields K [n][3][3][z][y][x] under each of the 48 rotations and reflections R of the cube: R moves the
    neighbours and turns the components, R^T K(R s) R. With perm and sign: (R v)_a = sign[a] v_perm[a]."""
    K = K.transpose(0, 1, 2, 5, 4, 3)  # x first, as the components
    for perm in permutations(range(3)):
        back = np.argsort(perm)
        for sign in product((1, -1), repeat=3):
            moved = np.flip(K, [3 + a for a in range(3) if sign[a] < 0]).transpose(0, 1, 2, *(3 + back))
            turned = moved[:, back][:, :, back] * np.outer(sign, sign)[back][:, back, None, None, None]
            yield perm, sign, turned.transpose(0, 1, 2, 5, 4, 3)


def scalars(K: Array) -> Array:
    """Returns the part of each K that all symmetries of the cube leave unchanged: [1][n]... ."""
    total: Array = np.sum([image for _, _, image in images(K)], 0)
    return total[None] / 48


def vectors(K: Array) -> Array:
    """Returns the parts of each K that the symmetries turn like the components x, y, z of a vector: [3][3 n]... ."""
    n = len(K)
    parts = np.zeros((3, 3 * n) + K.shape[1:])
    for perm, sign, image in images(K):
        for a in range(3):
            parts[perm[a], a * n:(a + 1) * n] += sign[a] * image / 16
    return parts


def leading(E0: Array, E1: Array, middle: float, parts: Array, count: int) -> Array:
    """Returns the `count` combinations of the snapshots parts [d][n]... that hold most of their energy in the medium
    mu = middle, d kernels each: [count d][3][3][W][W][W]. Those of one combination turn into each other."""
    X = parts[0]
    W = X.shape[-1]
    mu = np.full((1,) + (W + 1,) * 3, middle)
    energy = sum(np.einsum('ncxyz,mcxyz->nm', X[:, i], apply(E0, E1, mu, X[:, i]), optimize=True)
                 for i in range(3))
    value, vector = np.linalg.eigh((energy + energy.T) / 2)
    chosen = vector[:, ::-1][:, :count] / np.sqrt(value[::-1][:count])
    return np.einsum('nm,dnijzyx->mdijzyx', chosen, parts, optimize=True).reshape(-1, 3, 3, W, W, W)


def principal(E0: Array, E1: Array, patches: Array, case: Case, M: int) -> Array:
    """Returns the M kernels that span best, in energy, the Galerkin kernels of these patches mu and of uniform media.

    The set has all orientations of each patch, so its span has the symmetries of the cube. Its
    principal kernels are scalars, which represent how stiff a place is; the first others come three
    at a time, as a vector: they represent the direction in which it gets stiffer. From M = 5 on a set has
    one such three. Each kernel is even or odd in x, in y and in z.
    """
    speeds = np.linspace(case.vs_min, case.vs_max, 7)
    mu = np.concatenate([patches, np.broadcast_to((speeds**2)[:, None, None, None], (7,) + patches.shape[1:])])
    weight = np.concatenate([np.ones(len(patches)), np.full(7, 0.25 * np.sqrt(len(patches)))])
    row = np.arange(3)  # all three: a coefficient serves them together
    X = np.stack([galerkin_rows(E0, E1, np.stack([patch] * 3), row, 1e-6) for patch in mu])
    X *= weight[:, None, None, None, None, None]
    middle = case.vs_min * case.vs_max
    if M < 5:
        K = leading(E0, E1, middle, scalars(X), M)
    else:
        K = np.concatenate([leading(E0, E1, middle, scalars(X), M - 3), leading(E0, E1, middle, vectors(X), 1)])
    largest = np.abs(K).reshape(M, -1).argmax(1)
    return K * np.sign(K.reshape(M, -1)[np.arange(M), largest])[:, None, None, None, None, None]


def kernels(form: str, E0: Array, E1: Array, case: Case, base: float, patches: Array) -> Array:
    """Returns the kernels of gf8 or of gfm<M>: [M][3][3][W][W][W]; patches [n][P][P][P]."""
    nd = patches.shape[-1] // 2 - 1
    if form == 'gf8':
        G = uniform(E0, E1, base, nd)  # made symmetric, G_ij = G_ji, like the Green's function that it approximates;
        return (G + G.transpose(1, 0, 2, 3, 4))[None] / 2  # with a stencil of finite reach G is only nearly so
    if form == 'gfm2':
        return np.stack([uniform(E0, E1, vs, nd) for vs in (case.vs_min, case.vs_max)])
    return principal(E0, E1, patches, case, int(form[3:]))
