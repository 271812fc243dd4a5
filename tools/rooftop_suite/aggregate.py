"""One number for a run: the weighted geometric mean of its FOMs over those of a published reference run of the same
size. docs/reference/SIZE.json is that run's manifest, as `rooftop run --official` wrote it."""
import math
import os

from . import Fault, results, shipped

WEIGHTS = {'nekbone': 0.25, 'alya-rhs': 0.25, 'fun3d-mcpi': 0.25, 'gfnn-wave': 0.25}


def none(why):
    return {'value': None, 'reference': None, 'why': why}


def reference(size):
    """(name, manifest) of the reference of a size; Fault if there is none, or it is not whole."""
    name = os.path.join('docs', 'reference', f'{size}.json')
    return name, results.load(shipped(*name.split(os.sep)))


def of(manifest):
    """The "aggregate" of a run's manifest: value, or why there is none; ratios and weights, for other weights."""
    missing = [app for app in WEIGHTS if not manifest['summary'].get(app, {}).get('valid')]
    if missing:
        return none(f'no valid result of {", ".join(missing)}')
    if manifest['tier'] == 'invalid':
        return none('protected files of the source were changed')
    try:
        name, base = reference(manifest['size'])
    except Fault as fault:
        return none(f'no reference result of size {manifest["size"]}' if 'is missing' in str(fault) else str(fault))
    ratios = {app: manifest['summary'][app]['fom'] / base['summary'][app]['fom'] for app in WEIGHTS}
    value = math.exp(sum(weight * math.log(ratios[app]) for app, weight in WEIGHTS.items()) / sum(WEIGHTS.values()))
    return {'value': value, 'reference': name, 'why': '', 'ratios': ratios, 'weights': WEIGHTS}
