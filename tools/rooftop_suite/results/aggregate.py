"""One number for a run: the weighted geometric mean of its FOMs over those of a published reference run of the same
size. docs/reference/SIZE.json is that run's manifest, as `rooftop run --official` wrote it."""
import math
import os

from .. import Fault, results, shipped
from . import Aggregate, Run

WEIGHTS = {'nekbone': 0.25, 'alya-rhs': 0.25, 'fun3d-mcpi': 0.25, 'gfnn-wave': 0.25}


def none(why: str) -> Aggregate:
    return Aggregate(value=None, why=why)


def foms(run: Run) -> dict[str, float]:
    """Returns {app: figure of merit} of the apps with a valid result."""
    return {app: row.fom for app, row in run.summary.items() if row.verdict == 'VALID' and row.fom}


def mean(run: Run, base: Run, name: str) -> Aggregate:
    """Returns the aggregate of a run over a reference run, both with all four apps."""
    mine, theirs = foms(run), foms(base)
    ratios = {app: mine[app] / theirs[app] for app in WEIGHTS}
    value = math.exp(sum(weight * math.log(ratios[app]) for app, weight in WEIGHTS.items()) / sum(WEIGHTS.values()))
    return Aggregate(value=value, why='', reference=name, ratios=ratios, weights=dict(WEIGHTS))


def of(run: Run) -> Aggregate:
    """Returns the "aggregate" of a run: its value, or why there is none; ratios and weights, for other weights."""
    missing = [app for app in WEIGHTS if app not in foms(run)]
    if missing:
        return none(f'no valid result of {", ".join(missing)}')
    name = os.path.join('docs', 'reference', f'{run.size}.json')
    try:
        base = results.load(shipped(*name.split(os.sep)), Run)
    except Fault as fault:
        return none(f'no reference result of size {run.size}' if 'is missing' in str(fault) else str(fault))
    return mean(run, base, name)
