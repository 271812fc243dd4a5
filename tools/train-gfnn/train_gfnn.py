"""Trains the network of gfnn-wave's preconditioner: from nothing to a weights file. See README.md."""
import argparse
import math
import os
import sys
import time
from typing import Any

sys.dont_write_bytecode = True
sys.path.insert(1, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from rooftop_suite import ENVIRONMENT, INVALID, USAGE, Fault  # noqa: E402: only now is it on the path
from rooftop_suite.cli import Parser, count, seconds  # noqa: E402: seconds is a number from 0
from rooftop_suite.results import disk  # noqa: E402

# One thread in the BLAS gives the same sums, and so the same bits, on any number of cores.
for name in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS'):
    os.environ[name] = '1'

FORMS = ('gf8', 'gfm2', 'gfm3', 'gfm4', 'gfm5', 'gfm6', 'gfm7', 'gfm8')
SHIPPED = [(form, 3, dt) for form in ('gf8', 'gfm2', 'gfm4', 'gfm8') for dt in (20e-6, 15e-6)] + [
    (form, 6, 20e-6) for form in ('gf8', 'gfm2')]
VP, RHO, F1, F2 = 200.0, 1000.0, 500.0, 5000.0  # m/s, kg/m^3, Hz at which --damping holds: as in gfnn-wave
INPUTS = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../inputs/gfnn-wave'))


def number(text: str) -> float:
    value = seconds(text)
    if value == 0:
        raise ValueError
    return value


number.__name__ = 'number above 0'  # argparse: "invalid <name> value: 'x'"


def options() -> tuple[Parser, argparse.Namespace]:
    p = Parser(prog='train-gfnn', description='Trains a weights file of gfnn-wave.', allow_abbrev=False)
    p.add_argument('--form', choices=FORMS, help='of the predictor')
    p.add_argument('--reach', type=int, choices=range(3, 7), default=3, metavar='ND',
                   help='nodes to each side that a kernel reads, 3 to 6; 3')
    p.add_argument('--dt', type=number, metavar='S', help='time step')
    p.add_argument('--output', metavar='FILE', help='the weights file')
    p.add_argument('--all', action='store_true', help='all shipped files instead, into inputs/gfnn-wave')
    for name, value, text in (('ds', 1e-3, 'side of an element (m)'), ('vs-min', 50.0, 'least S-wave speed (m/s)'),
                              ('vs-max', 120.0, 'largest'), ('base', 80.0, "Vs of gf8's kernel")):
        p.add_argument(f'--{name}', type=number, default=value, metavar='X', help=f'{text}; {value:g}')
    p.add_argument('--damping', type=seconds, default=1e-3, metavar='H', help='h; 0.001')
    p.add_argument('--samples', type=count, default=2600, metavar='N', help='patches per training model; 2600')
    p.add_argument('--epochs', type=count, default=25, metavar='N', help='25')
    p.add_argument('--seed', type=count, default=1, metavar='N', help='1')
    return p, p.parse_args()


def check(p: Parser, o: argparse.Namespace) -> None:
    """Refuses options that do not fit together, before a minute of work."""
    for name in ('form', 'dt', 'output'):
        if o.all != (getattr(o, name) is None):
            p.error(f'--all and --{name} exclude each other' if o.all else f'--{name} is missing')
    if o.vs_min >= o.vs_max:
        p.error(f'--vs-min {o.vs_min:g} is not below --vs-max {o.vs_max:g}')
    if o.vs_max > VP / math.sqrt(2):
        p.error(f'--vs-max {o.vs_max:g} is above Vp / sqrt(2) = {VP / math.sqrt(2):g}: lambda would be negative')
    if not o.vs_min <= o.base <= o.vs_max:
        p.error(f'--base {o.base:g} is not in the range of Vs, {o.vs_min:g} to {o.vs_max:g}')
    if o.samples < 16:
        p.error(f'--samples {o.samples}: at least 16')
    folder = INPUTS if o.all else os.path.dirname(o.output) or '.'
    if not (os.path.isdir(folder) and os.access(folder, os.W_OK)):
        p.error(f'cannot write into {folder}')
    if not o.all:
        disk.check_writable(o.output)


def train(form: str, nd: int, dt: float, path: str, o: argparse.Namespace) -> None:
    """Makes one file, from the element matrices to the bytes."""
    import numpy as np
    import element, fit, kernels, media, network, weights
    start = time.monotonic()
    case = element.Case(VP, o.ds, dt, RHO, o.damping, F1, F2, o.vs_min, o.vs_max)
    E0, E1 = element.affine(case)
    rng = np.random.default_rng(o.seed)
    mu = media.sample(rng, case, o.samples, 2 * nd + 2)
    K = kernels.kernels(form, E0, E1, case, o.base, mu[rng.choice(len(mu), min(250, len(mu)), replace=False)])
    K = K.astype(np.float32).astype(np.float64)  # fit the kernels as the file stores them
    solve = fit.Fit(fit.basis(form, K), E0, E1)
    c, N = solve(mu)
    mean, L = c.mean(0), np.linalg.cholesky(N / len(mu))
    print(f'{form}, reach {nd}, dt = {dt * 1e6:g} us: {len(K)} kernels, {len(mu)} patches, {time.monotonic() - start:.0f} s',
          flush=True)
    reg, cls, centroid = network.both(network.inputs(mu, case), (c - mean) @ L, o.epochs, o.seed)
    # The distance from the fit on models outside the training: the share lost of the energy that varies between nodes.
    unseen = media.sample(np.random.default_rng(o.seed + 1), case, max(16, o.samples // 10), 2 * nd + 2)
    y = (solve(unseen)[0] - mean) @ L
    x = network.inputs(unseen, case)

    def lost(guess: Any) -> float:
        return float(100 * ((guess - y)**2).sum() / (y**2).sum())

    print(f'  unexplained: {lost(reg(x).detach().numpy()):.2f} % by nn-reg, '
          f'{lost(centroid[cls(x).argmax(1).numpy()]):.2f} % by nn-class', flush=True)
    content = weights.pack(form, case, K, mean, L, network.layers(reg), network.layers(cls), centroid)
    disk.save_bytes(path, content)
    print(f'  {path}: {os.path.getsize(path)} bytes, {time.monotonic() - start:.0f} s', flush=True)


def main() -> int:
    try:
        p, o = options()
        check(p, o)
        import numpy, torch
        for form, nd, dt in SHIPPED if o.all else [(o.form, o.reach, o.dt)]:
            reach = '' if nd == 3 else f'-nd{nd}'
            train(form, nd, dt, os.path.join(INPUTS, f'{form}{reach}-dt{dt * 1e6:.0f}us.gfnn') if o.all else o.output, o)
        return 0
    except ImportError as error:
        status, said = ENVIRONMENT, f'{error.name} is missing: install PyTorch and NumPy (Debian: apt-get install python3-torch)'
    except Fault as fault:
        status, said = fault.status, str(fault)
    except OSError as error:
        status, said = USAGE, f'{error.filename}: {error.strerror}'
    except ArithmeticError as error:
        status, said = INVALID, str(error)
    print(f'train-gfnn: {said}', file=sys.stderr)
    return status


if __name__ == '__main__':
    sys.exit(main())
