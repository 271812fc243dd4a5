"""Energy fit: the coefficients c of a node for which sum over the rows i of g_i A g_i - 2 g_i,i(0) is least.

g_i = sum_p c_p B_p,i, so N c = b with N_pq = sum_i B_p,i A B_q,i. A is affine in the Vs^2 of the P^3 elements
that the kernels touch: N = Q0 + sum_e Vs_e^2 Q1_e, and the fit of many nodes is one matrix product.
"""
import numpy as np

from element import Array
from kernels import corners


def basis(form: str, K: Array) -> Array:
    """Returns what each coefficient multiplies: B [coefs][3][3][W][W][W]. gfm: the kernels. gf8: 0..3 are
    1, x/nd, y/nd, z/nd on the diagonal of the one kernel, 4..7 off it."""
    if form != 'gf8':
        return K
    nd = K.shape[-1] // 2
    z, y, x = np.meshgrid(*[np.arange(-nd, nd + 1) / nd] * 3, indexing='ij')
    diag = np.eye(3)[:, :, None, None, None]
    return np.stack([K[0] * where * f for where in (diag, 1 - diag) for f in (np.ones_like(x), x, y, z)])


class Fit:
    def __init__(self, B: Array, E0: Array, E1: Array) -> None:
        """Computes Q0 [coefs^2], Q1 [P^3][coefs^2], b [coefs]."""
        n, W = len(B), B.shape[-1]
        elements, middle = (W + 1)**3, (slice(None),) + (W // 2,) * 3
        self.coefs = n
        self.Q0: Array = np.zeros(n * n)
        self.Q1: Array = np.zeros((elements, n * n))
        for i in range(3):
            u = corners(np.pad(B[:, i], ((0, 0), (0, 0)) + ((1, 1),) * 3)).reshape(n, elements, 24)
            u = u.transpose(1, 0, 2)  # [element][coef][24]
            self.Q0 = self.Q0 + (u @ E0 @ u.transpose(0, 2, 1)).sum(0).reshape(n * n)
            self.Q1 = self.Q1 + (u @ E1 @ u.transpose(0, 2, 1)).reshape(elements, n * n)
        self.b: Array = B[:, 0, 0][middle] + B[:, 1, 1][middle] + B[:, 2, 2][middle]

    def __call__(self, mu: Array) -> tuple[Array, Array]:
        """Returns the coefficients [n][coefs] of the patches mu = Vs^2 [n][P][P][P], and the sum of their N."""
        N = self.Q0 + mu.reshape(len(mu), -1) @ self.Q1
        N = N.reshape(-1, self.coefs, self.coefs)
        b = np.broadcast_to(self.b[:, None], (len(mu), self.coefs, 1))
        return np.linalg.solve(N, b)[..., 0], N.sum(0)
