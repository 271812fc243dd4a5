#!/usr/bin/env python3
"""dump.py - computes the answers of the apps again from what --dump wrote, by the mathematics and none of their code.

usage: dump.py FOLDER [APP:RUNG=OTHER...]: the folder of the build; these runs alone, by OTHER instead of RUNG, on any device
(nekbone:cpu-fused=onepass). It needs NumPy and SciPy, else ends with 77.

Each run is judged, and then again with one value of each of its arrays changed: each of these has to be found.
"""
from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Tuple

try:
    import numpy as np
    import scipy.sparse as sparse
    from scipy.sparse.linalg import spsolve
except ImportError:
    print('skipped: no NumPy or no SciPy')
    sys.exit(77)

Arrays = Dict[str, Any]
Errors = Iterator[Tuple[str, Any, float]]  # what, how far off, at most
Judge = Callable[[Arrays, Dict[str, Any]], Errors]


def far(got: Any, want: Any) -> float:
    """Returns the largest difference, of the largest value."""
    return float(np.max(np.abs(got - want)) / np.max(np.abs(want)))


# ---- nekbone ----------------------------------------------------------------------------------

def nekbone_geometry(n: int, options: Dict[str, str]) -> Tuple[Any, Any]:
    """Returns D and G of the deformed box (apps/nekbone/input/geometry.c has the map)."""
    legendre = np.polynomial.legendre.Legendre.basis(n - 1)
    z = np.concatenate([[-1], np.sort(legendre.deriv().roots().real), [1]])
    w = 2 / (n * (n - 1) * legendre(z) ** 2)
    D = np.array([np.polynomial.Polynomial.fit(z, row, n - 1).deriv()(z) for row in np.eye(n)]).T
    E = [int(e) for e in options['elements'].split('x')]
    corner = 2 * np.array(list(np.ndindex(*E[::-1]))).reshape(-1, 1, 1, 1, 3)[..., ::-1]
    X = corner + 1 + np.stack(np.meshgrid(z, z, z, indexing='ij')[::-1], -1)
    bump = float(options['deform']) * np.prod(np.sin(np.pi * X / (2 * np.array(E))), -1)
    x = X + bump[..., None] * np.array([1, 1 / 2, -3 / 4])
    J = np.stack([np.einsum(f'{to}l,e{by}a->ekjia', D, x) for to, by in (('i', 'kjl'), ('j', 'kli'), ('k', 'lji'))], -2)
    inverse = np.linalg.inv(J)  # [a][d] = dr_d / dx_a
    weight = np.einsum('k,j,i,ekji->ekji', w, w, w, np.linalg.det(J))
    G = np.einsum('ekji,ekjiad,ekjiaf->edfkji', weight, inverse, inverse)
    return D, np.stack([G[:, d, f] for d in range(3) for f in range(d, 3)], 1)


def nekbone(a: Arrays, index: Dict[str, Any]) -> Errors:
    D, G, c, b = a['D'], a['G'], a['c'], a['b']
    options, n = index['options'], len(D)
    own_D, own_G = nekbone_geometry(n, options)
    yield 'D', far(D, own_D), 1e-12
    yield 'G', far(G, own_G), 1e-12
    ids, local = np.unique(a['id'], return_inverse=True)
    local = local.reshape(b.shape)
    boundary = 0
    extent = [int(e) * (n - 1) for e in options['elements'].split('x')]
    coordinates = np.unravel_index(ids, [e + 1 for e in extent[::-1]])
    for x, most in zip(coordinates, extent[::-1]):
        boundary = boundary | (x == 0) | (x == most)
    yield 'ids', len(ids) != math.prod(e + 1 for e in extent), 0
    yield 'c', far(c, ((1 - boundary) / np.bincount(local.ravel()))[local]), 0

    def A(p: Any) -> Any:
        along = (('i', 'kjl'), ('j', 'kli'), ('k', 'lji'))
        g = [np.einsum(f'{to}l,e{by}->ekji', D, p) for to, by in along]
        u = [sum(G[:, m] * g[f] for f, m in enumerate(row)) for row in ((0, 1, 2), (1, 3, 4), (2, 4, 5))]
        q = sum(np.einsum(f'l{to},e{by}->ekji', D, part) for (to, by), part in zip(along, u))
        return (c > 0) * (np.bincount(local.ravel(), q.ravel())[local] + float(options['lambda']) * p)

    def dot(x: Any, y: Any) -> float:
        return float(np.sum(c * x * y))

    Ab, y = A(b), np.random.default_rng(1).random(len(ids))[local] * (c > 0)
    yield 'A b', far(a['Ab'], Ab), 1e-13
    yield 'A symmetric', abs(dot(y, Ab) - dot(b, A(y))) / math.sqrt(dot(y, y) * dot(Ab, Ab)), 1e-14
    norm = math.sqrt(dot(b, b))
    yield 'r = b - A x', far(a['r'] + A(a['x']), b), 1e-13
    for k, r in ((0, b), (-1, a['r'])):
        yield f'history[{k}]', abs(a['history'][k] - math.sqrt(dot(r, r))) / norm, 1e-14
    if index['rung'].startswith('solve'):
        yield 'to the tolerance', a['history'][-1] / norm, float(options['tolerance'])
        return
    x, r, p, history = 0 * b, b, 0 * b, [norm]
    for k in range(int(options['iterations'])):
        rr = dot(r, r)
        p = r + (rr / history[k - 1] ** 2 if k else 0) * p
        q = A(p)
        alpha = rr / dot(p, q)
        x, r = x + alpha * p, r - alpha * q
        history.append(math.sqrt(dot(r, r)))
    yield 'history of CG', np.max(np.abs(a['history'] / history - 1)), 1e-12
    yield 'x of CG', far(a['x'], x), 1e-12


# ---- alya-rhs ---------------------------------------------------------------------------------

class Assembly(NamedTuple):
    """The mesh of alya-rhs, whole nodes being those of one id; r(u) by a product of Gauss rules on the collapsed cube."""
    node: Any
    rows: Any  # whole nodes of all corners
    corners: Any
    x: Any
    volume: Any
    gradient: Any  # [element][a][d] of N_a
    option: Dict[str, Any]

    def add(self, values: Any) -> Any:
        """Adds values [element][corner] over the elements of each whole node."""
        return np.bincount(self.rows, values.ravel())

    def r(self, u: Any) -> Tuple[Any, Any]:
        """Returns r [whole node][3], and its size: sum |r_e|."""
        option, gradient, U = self.option, self.gradient, u[self.corners]
        J = np.einsum('eai,eaj->eij', U, gradient)
        trace = np.trace(J, axis1=1, axis2=2)[:, None, None] * np.eye(3)
        form = {'conv': J, 'skew': J + trace / 2, 'cons': J + trace, 'emac': J + J.transpose(0, 2, 1) + trace}[option['form']]
        pairs = ((0, 1), (0, 2), (1, 2))
        minors = [J[:, i, k] * J[:, j, m] - J[:, i, m] * J[:, j, k] for i, j in pairs for k, m in pairs]
        width = option['filter-width'] or np.cbrt(self.volume)
        viscosity = option['mu'] + option['rho'] * option['vreman'] * width ** 2 * np.sqrt(
            sum(m ** 2 for m in minors) / np.maximum(np.sum(J ** 2, (1, 2)), 1e-300))
        r = -np.einsum('e,e,eij,eaj->eai', self.volume, viscosity, J + J.transpose(0, 2, 1), gradient)
        size = np.abs(r)
        points, weights = np.polynomial.legendre.leggauss(4)
        points, weights = (points + 1) / 2, weights / 2
        for i, p in enumerate(points):
            for j, q in enumerate(points):
                for k, s in enumerate(points):
                    N = np.array([(1 - p) * (1 - q) * (1 - s), p * (1 - q) * (1 - s), q * (1 - s), s])
                    weight = weights[i] * weights[j] * weights[k] * (1 - q) * (1 - s) ** 2 * 6
                    inertia = option['force'] - np.einsum('eij,eaj,a->ei', form, U, N)
                    part = option['rho'] * weight * np.einsum('e,ei,a->eai', self.volume, inertia, N)
                    r, size = r + part, size + np.abs(part)
        return [np.stack([self.add(of[:, :, d]) for d in range(3)], 1) for of in (r, size)]


def assembly(a: Arrays, index: Dict[str, Any]) -> Assembly:
    o = index['options']
    option: Dict[str, Any] = {name: float(o[name]) for name in ('rho', 'mu', 'vreman', 'filter-width')}
    option.update(form=o['form'], force=np.array([float(o['force-' + d]) for d in 'xyz']))
    _, node = np.unique(a['id'], return_inverse=True)
    X = a['x'][a['elements']]
    edges = X[:, 1:] - X[:, :1]
    gradient = np.linalg.inv(edges).transpose(0, 2, 1)  # of N_1 .. N_3
    gradient = np.concatenate([-gradient.sum(1, keepdims=True), gradient], 1)
    return Assembly(node, node[a['elements']].ravel(), a['elements'], X, np.linalg.det(edges) / 6, gradient, option)


def alya(a: Arrays, index: Dict[str, Any]) -> Errors:
    m = assembly(a, index)
    want, bound = m.r(a['u'])
    yield 'r (sum |r_e|)', np.max(np.abs(a['r'] - want[m.node]) / bound[m.node]), 1e-14
    yield 'draw', index['draw'], 0


def step(a: Arrays, index: Dict[str, Any]) -> Errors:
    """A time step: u* by three stages, L p = -(rho/dt) D u*, and what p makes of u*."""
    m = assembly(a, index)
    rho, dt, node = m.option['rho'], index['dt'], m.node
    V = m.add(np.broadcast_to(m.volume[:, None] / 4, m.corners.shape))
    moves = (a['fixed'][:, None] >> np.arange(3) & 1) == 0
    u = a['begin']
    for old in (0, 3 / 4, 1 / 3):
        k = (m.r(u)[0] / (rho * V[:, None]))[node]
        u = np.where(moves, old * a['begin'] + (1 - old) * (u + dt * k), a['begin'])
    div = np.einsum('eai,eai->e', u[m.corners], m.gradient)
    slope = np.einsum('ea,eai->ei', a['p'][m.corners], m.gradient)
    b = -rho / dt * m.add(np.broadcast_to((m.volume / 4 * div)[:, None], m.corners.shape))
    Lp = m.add(np.einsum('e,eai,ei->ea', m.volume, m.gradient, slope))
    free = np.ones(len(V), bool)
    free[node[a['fixed'] & 8 != 0]] = False
    yield 'residual of the pressure', np.linalg.norm((Lp - b)[free]) / np.linalg.norm(b[free]), 1.1 * float(index['options']['tolerance'])
    yield 'pressure where it is fixed', np.max(np.abs(a['p'][a['fixed'] & 8 != 0]) * (index['options']['mesh'] == 'hill')), 0
    G = np.stack([m.add(np.broadcast_to((m.volume / 4 * slope[:, d])[:, None], m.corners.shape)) for d in range(3)], 1)
    yield 'u after the step', far(a['u'], np.where(moves, u - dt / rho * (G / V[:, None])[node], u)), 1e-13


# ---- fun3d-mcpi -------------------------------------------------------------------------------

def fun3d(a: Arrays, index: Dict[str, Any]) -> Errors:
    start, colour = a['start'], a['colour_start']
    D, R = a['D'].transpose(0, 2, 1), a['R']
    O = sparse.bsr_matrix((a['O'].transpose(0, 2, 1), a['column'], start)).tocsr()
    rows, nb = R.shape
    of = np.repeat(np.arange(len(colour) - 1), np.diff(colour))
    yield 'rows of a colour are no neighbours', np.sum(np.repeat(of, np.diff(start)) - of[a['column']] == 0), 0
    yield 'every vertex once', np.sum(np.sort(a['vertex']) != np.arange(rows)), 0
    dQ = np.zeros((rows, nb))
    for _ in range(int(index['options']['sweeps'])):
        for first, last in zip(colour[:-1], colour[1:]):
            dr = R[first:last] - (O[first * nb:last * nb] @ dQ.ravel()).reshape(-1, nb)
            dQ[first:last] = np.linalg.solve(D[first:last], dr[..., None])[..., 0]
    full = sparse.block_diag(list(D)) + O
    residual = [np.linalg.norm(R.ravel() - full @ q.ravel()) / np.linalg.norm(R) for q in (a['dQ'], dQ)]
    yield 'dQ of the sweeps', far(a['dQ'], dQ), 1e-12
    yield 'their residual (|R|)', abs(residual[0] - residual[1]), 1e-14


def flow(a: Arrays, index: Dict[str, Any]) -> Errors:
    w = a['w']
    yield 'rows', w.shape != (a['colour_start'][-1], 5), 0
    yield 'every vertex once', np.sum(np.sort(a['vertex']) != np.arange(len(w))), 0
    yield 'density, pressure', np.sum(~(w[:, [0, 4]] > 0)), 0


# ---- gfnn-wave --------------------------------------------------------------------------------

def cube() -> Tuple[Any, Any, Any]:
    """Returns M, K_L and K_M of the unit cube as products of matrices of one direction."""
    mass, stiff, mixed = np.array([[2, 1], [1, 2]]) / 6, np.array([[1, -1], [-1, 1]]), np.array([[-1, -1], [1, 1]]) / 2

    def product(c: int, d: int) -> Any:  # integral of d_c N_a d_d N_b
        of = [stiff if e == c == d else mixed if e == c else mixed.T if e == d else mass for e in range(3)]
        return np.kron(of[2], np.kron(of[1], of[0]))
    B = np.array([[product(c, d) for d in range(3)] for c in range(3)])  # [c][d][a][b]
    M = np.kron(np.kron(mass, np.kron(mass, mass)), np.eye(3))
    KL = B.transpose(2, 0, 3, 1).reshape(24, 24)
    KM = B.transpose(2, 1, 3, 0).reshape(24, 24) + np.kron(sum(B[c, c] for c in range(3)), np.eye(3))
    return M, KL, KM


def gfnn(a: Arrays, index: Dict[str, Any]) -> Errors:
    o, m = index['options'], index['constants']
    dt, ds, ra, rb = float(o['dt']), m['ds'], m['rayleigh_a'], m['rayleigh_b']
    own = cube()
    for name, matrix in zip(('M', 'KL', 'KM'), own):
        yield name, far(a[name], matrix), 1e-15
    c0 = (4 / dt ** 2 + 2 * ra / dt) * m['rho'] * ds ** 3
    k = (1 + 2 * rb / dt) * ds * m['rho'] / c0
    own_constants = {'c0': c0, 'mass': 1, 'bulk': k * m['vp'] ** 2, 'shear': k}
    yield 'constants', max(abs(m[name] / value - 1) for name, value in own_constants.items()), 1e-14
    id3 = a['id'][0]
    N = np.array(id3.shape)
    at = np.argwhere(id3 != 255)
    nodes = np.stack([np.ravel_multi_index(((at + [c >> 2, c >> 1 & 1, c & 1]) % N).T, N) for c in range(8)], 1)
    rows = (nodes[:, :, None] + np.arange(3) * id3.size).reshape(-1, 24)
    square = a['vs'][id3[id3 != 255]][:, None, None] ** 2

    def assembled(mass: float, bulk: float, shear: float) -> Any:
        values = mass * a['M'] + bulk * a['KL'] + shear * square * (a['KM'] - 2 * a['KL'])
        shape = (3 * id3.size, 3 * id3.size)
        return sparse.csc_matrix((values.ravel(), (np.repeat(rows, 24, 1).ravel(), np.tile(rows, (1, 24)).ravel())), shape)
    A = assembled(1, m['bulk'], m['shear'])
    if 'x' in a:
        yield 'A x', far(a['y'].ravel(), A @ a['x'].ravel()), 1e-14
    if 'z' in a:
        yield 'P r', far(a['z'], predicted(a, o)), 1e-5
    if 'du' not in a:
        return
    du, f, u, v, acc = (a[n].ravel() for n in ('du', 'f', 'u', 'v', 'a'))
    yield 'A du = f', far(du, spsolve(A, f)), 1e-9
    u0, v0 = u - du, 2 * du / dt - v
    a0 = 4 * du / dt ** 2 - 4 * v0 / dt - acc
    internal = (assembled(1, 0, 0) @ (a0 + (4 / dt + ra) * v0) + assembled(0, m['vp'] ** 2, 1) @ (rb * v0 - u0) / ds ** 2)
    want = m['rho'] * ds ** 3 / c0 * internal
    phase = (math.pi * (float(o['frequency']) * dt * int(o['steps']) - 1)) ** 2
    E = [int(e) for e in o['elements'].split('x')]
    source = [int(share * e + 0.5) for share, e in zip((0.6, 0.6, 0.55), E)]
    want.reshape(3, *N)[(2, *source[::-1])] += (1 - 2 * phase) * math.exp(-phase) / c0
    yield 'f by Newmark', far(f, want), 1e-9


def predicted(a: Arrays, o: Dict[str, str]) -> Any:
    """Returns P r in a periodic box (apps/gfnn-wave/kernel.h)."""
    K, c, r = (a[n].astype(float) for n in ('kernels', 'coefficients', 'r'))
    reach = K.shape[-1] // 2
    z = np.zeros_like(r)
    for s in np.ndindex(K.shape[3:]):
        shift = np.array(s) - reach
        moved = np.roll(r, -shift, (1, 2, 3))
        G = K[(slice(None), slice(None), slice(None), *s)]
        if o['precond'].startswith('gfm'):
            z += np.einsum('mzyx,mij,jzyx->izyx', c, G, moved)
            continue
        slope = np.tensordot(shift[::-1] / reach, c.reshape(2, 4, *c.shape[1:])[:, 1:], (0, 1))
        same, other = c[0] + slope[0], c[4] + slope[1]
        z += np.einsum('ij,jzyx->izyx', G[0] * np.eye(3), moved) * same
        z += np.einsum('ij,jzyx->izyx', G[0] * (1 - np.eye(3)), moved) * other
    return z


# ---- runs -------------------------------------------------------------------------------------

FP64 = '--offdiagonal fp64 --dq fp64 --accumulate fp64 --surface 5 --layers 6'
FORCED = '--cells 4x3x3 --jitter 0.1 --mu 0.3 --force-x 1 --force-y -2 --force-z 0.5'
# App, judge, options, and arrays that the answer does not depend on, or that are not computed here.
CASES: List[Tuple[str, Judge, str, str]] = [
    ('nekbone', nekbone, '--elements 3x2x2 --degree 5 --deform 0.3 --iterations 20 --rung reference', ''),
    ('nekbone', nekbone, '--elements 2x3x2 --degree 4 --deform 0.2 --iterations 20 --rung cpu-fused', ''),
    ('nekbone', nekbone, '--elements 2x3x2 --degree 6 --deform 0.2 --rung solve-cpu', ''),
    ('alya-rhs', alya, f'{FORCED} --form conv --rung reference', ''),
    ('alya-rhs', alya, f'{FORCED} --form skew --rung cpu-closed', ''),
    ('alya-rhs', alya, f'{FORCED} --form cons --rung cpu-B --filter-width 3', ''),
    ('alya-rhs', alya, '--mesh box --cells 4x3x3 --jitter 0.1 --form emac --mu 0.01 --rung cpu-RSP', ''),
    ('alya-rhs', step, f'{FORCED} --steps 2 --tolerance 1e-11 --rung step-cpu-RSP', ''),
    ('alya-rhs', step, '--mesh box --cells 4x3x3 --jitter 0.1 --form skew --tolerance 1e-11 --rung step-cpu-closed', 'id'),
    ('fun3d-mcpi', fun3d, f'{FP64} --rung cpu-simd', ''),
    ('fun3d-mcpi', fun3d, f'{FP64} --rung reference --block-size 7', ''),
    ('fun3d-mcpi', flow, '--surface 5 --layers 6 --rung flow-simd', 'w'),
    ('gfnn-wave', gfnn, '--elements 7x8x6 --steps 3 --precond bj --vectors fp64 --tolerance 1e-11 --rung solve-simd', ''),
    ('gfnn-wave', gfnn, '--elements 6x7x8 --steps 2 --faces free --tolerance 1e-11 --rung solve-simd', ''),
    ('gfnn-wave', gfnn, '--elements 6x7x8 --faces free --precond bj --rung cpu-simd', ''),
    ('gfnn-wave', gfnn, '--elements 7x8x9 --precond gfm --rung predict-simd', 'id vs'),
    ('gfnn-wave', gfnn, '--elements 7x8x9 --precond gf8 --rung predict-simd --precision fp32', 'id vs'),
]


def wrong(judge: Judge, arrays: Arrays, index: Dict[str, Any]) -> Iterator[str]:
    """Yields what does not hold."""
    with np.errstate(all='ignore'):
        try:
            for what, error, most in judge(arrays, index):
                if not float(error) <= most:
                    yield f'{what}: {error:.3g}, at most {most:.3g}'
        except (ValueError, IndexError, RuntimeError, np.linalg.LinAlgError) as fault:  # a value that makes no sense
            yield str(fault)


def changed(array: Any) -> Any:
    """Returns the array with another largest value."""
    array = array.copy()
    at = np.argmax(np.abs(array.astype(float)))
    value = array.flat[at]
    array.flat[at] = value - 1 if array.dtype.kind in 'iu' else value * (1 + (1e-4 if array.itemsize == 8 else 1e-2))
    return array


def main(build: str, instead: Dict[str, str]) -> int:
    failed = 0
    for app, judge, options, others in CASES:
        rung = options.split('--rung ')[1].split()[0]
        other = instead.get(f'{app}:{rung}', '' if instead else f'{rung} --device cpu')
        if not other:
            continue
        options = options.replace(f'--rung {rung}', f'--rung {other}')
        with tempfile.TemporaryDirectory() as folder:
            words = [*options.split(), *'--no-tuning --seconds 0 --quiet --dump'.split(), f'{folder}/d']
            ran = subprocess.run([f'{build}/apps/{app}/{app}', *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 encoding='utf-8')
            if ran.returncode != 0:
                print(f'failed: {app} {options}: ended with {ran.returncode}: {ran.stdout}')
                failed += 1
                continue
            index = json.loads((Path(folder) / 'd/index.json').read_text())
            arrays = {row['name']: np.load(Path(folder) / 'd' / row['file']) for row in index['arrays']}
        faults = [f'{r["name"]}: not as the index says' for r in index['arrays']
                  if (list(arrays[r['name']].shape), arrays[r['name']].dtype.str) != (r['shape'], r['type'])]
        faults += wrong(judge, arrays, index)
        faults += [f'a wrong number in {name} is not found' for name in arrays if name not in others.split()
                   and not any(wrong(judge, {**arrays, name: changed(arrays[name])}, index))]
        print('failed:' if faults else 'as computed here:', app, options, *faults)
        failed += len(faults)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], dict(word.split('=') for word in sys.argv[2:])))
