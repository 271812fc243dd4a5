"""The two networks: one gives the (whitened) coefficients themselves, one of 16 classes of them."""
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable

import numpy as np
import torch

from element import Array, Case

HIDDEN, BATCH, RATE = 64, 512, 2e-3
CLASSES = 16
PATCH = 6  # elements per side that a network looks at


def inputs(mu: Array, case: Case) -> Any:
    """Returns the inner 6^3 elements, scaled to 0..1: [n][216] float. So a network does not grow with the kernels."""
    low, high = case.vs_min**2, case.vs_max**2
    cut = slice(mu.shape[-1] // 2 - PATCH // 2, mu.shape[-1] // 2 + PATCH // 2)
    inner = mu[:, cut, cut, cut].reshape(len(mu), -1)
    return torch.tensor((inner - low) / (high - low), dtype=torch.float32)


def network(outputs: int) -> Any:
    return torch.nn.Sequential(torch.nn.Linear(PATCH**3, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, outputs))


def train(net: Any, x: Any, y: Any, loss: Callable[[Any, Any], Any], epochs: int, seed: int) -> None:
    """Trains by Adam, with a rate that falls like a cosine, and with its own generator: both networks are trained at the
    same time."""
    order = torch.Generator().manual_seed(seed)
    adam = torch.optim.Adam(net.parameters(), lr=RATE)
    rate = torch.optim.lr_scheduler.CosineAnnealingLR(adam, epochs)
    for _ in range(epochs):
        for batch in torch.randperm(len(x), generator=order).split(BATCH):
            adam.zero_grad()
            loss(net(x[batch]), y[batch]).backward()
            adam.step()
        rate.step()


def nearest(y: Array, centroid: Array) -> Array:
    return np.asarray(((centroid**2).sum(1) - 2 * y @ centroid.T).argmin(1))


def k_means(y: Array, rng: np.random.Generator, rounds: int = 25) -> Array:
    centroid = y[rng.choice(len(y), CLASSES, replace=False)]
    for _ in range(rounds):
        label = nearest(y, centroid)
        for k in np.unique(label):
            centroid[k] = y[label == k].mean(0)
    return centroid


def both(x: Any, y: Array, epochs: int, seed: int) -> tuple[Any, Any, Array]:
    """Trains both on inputs x and whitened coefficients y; returns reg, cls, centroids."""
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(1)  # one thread per network; sums do not depend on the number of cores
    centroid = k_means(y, np.random.default_rng(seed))
    label = torch.tensor(nearest(y, centroid))
    reg, cls = network(y.shape[1]), network(CLASSES)
    scale = float(y.std())
    target = torch.tensor(y / scale, dtype=torch.float32)
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(train, reg, x, target, torch.nn.MSELoss(), epochs, seed),
                pool.submit(train, cls, x, label, torch.nn.CrossEntropyLoss(), epochs, seed)]
        for job in jobs:
            job.result()
    with torch.no_grad():
        for part in reg[2].parameters():
            part *= scale
    return reg, cls, centroid


def layers(net: Any) -> list[tuple[Array, Array]]:
    """Returns [(W [out][in], b [out])] as NumPy arrays."""
    return [(layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in net[::2]]
