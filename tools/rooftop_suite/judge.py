"""Is one result consistent? What follows from something else in the file is computed again: verdicts from checks,
median and spread from windows, the figure of merit from the credited work, what is possible from the ceilings, the seed
from the nonce; times, clocks and energy are held against each other. Each fault is one line.
"""
import math
import re
import statistics
from collections.abc import Iterator, Sequence

from . import disk
from .results import VERDICTS, Ceilings, Program, Rung, Scale
from .plan import OFFICIAL


ROUNDING = 1e-9  # of numbers that were written with 17 digits and computed again
MOST_SHARE, MOST_SPREAD = 1.02, 0.1
CLOCKS = 0.01  # by which the clocks of a computer may differ
TICK = 0.01  # seconds: what lies between the readings of two clocks
MOST_POWER, LONG = 1.05, 10.0  # of a board's limit, over so many seconds: over less, its meter tells too little


def near(a: float, b: float) -> bool:
    return abs(a - b) <= ROUNDING * max(abs(a), abs(b))


def judge_checks(rung: Rung) -> Iterator[str]:
    for check in rung.checks:
        held = check.value is not None and 0 <= check.value <= check.bound
        if held != check.held:
            value = 'not finite' if check.value is None else check.value
            yield f"check '{check.name}': value {value} and bound {check.bound} say " \
                  f"{'held' if held else 'failed'}, the file says otherwise"
    if not rung.checks:
        yield 'no checks: nothing was verified'
    failed = [check for check in rung.checks if not check.held]
    wrong = 'NOT CONVERGED' if all(check.convergence for check in failed) else 'INVALID'
    if rung.right == bool(failed) or (failed and rung.verdict != wrong):
        yield f'verdict is {rung.verdict}, its checks say otherwise'
    if (rung.verdict == 'UNSTEADY') != bool(rung.disturbed):
        yield f'verdict is {rung.verdict}, and what disturbed it: {"; ".join(rung.disturbed) or "nothing"}'


def judge_times(rung: Rung) -> Iterator[str]:
    windows = rung.window_seconds
    if rung.fom_flop_per_s is not None:
        needed = ('window_seconds', 'seconds_per_unit', 'spread', 'windows', 'solves', 'unit',
                  'credited_flop_per_unit', 'bytes_per_unit', 'flop_per_unit', 'arithmetic')
        yield from (f'fom_flop_per_s without {name}' for name in needed if getattr(rung, name) in (None, ''))
    if not windows:
        return
    median = statistics.median(windows)
    spread = (max(windows) - min(windows)) / median
    for name, told, value in (('seconds_per_unit', rung.seconds_per_unit, median), ('spread', rung.spread, spread)):
        if told is not None and not near(told, value):
            yield f'{name} is {told:.9g}, its windows say {value:.9g}'
    if rung.windows not in (None, len(windows)):
        yield f'windows is {rung.windows}, there are {len(windows)}'
    if rung.valid and spread > MOST_SPREAD * (1 + ROUNDING):
        yield f'verdict is VALID, the spread is {100 * spread:.1f} %'
    if rung.fom_flop_per_s is not None and not rung.valid:
        yield f'verdict is {rung.verdict}, and there is a figure of merit'
    if rung.credited_flop_per_unit and rung.fom_flop_per_s is not None:
        fom = rung.credited_flop_per_unit / median
        if not near(rung.fom_flop_per_s, fom):
            yield f'fom_flop_per_s is {rung.fom_flop_per_s:.6g}, credited work over the median says {fom:.6g}'


def judge_clocks(rung: Rung) -> Iterator[str]:
    """Holds the times of a rung against each other: windows, their sum, and all clocks."""
    windows, timed, clocks = rung.window_seconds or [], rung.timed_seconds, rung.clocks
    if windows and timed is not None:
        least = statistics.fmean(windows) * (rung.solves or len(windows))  # a solve has at least one unit
        if least > timed * (1 + ROUNDING + (max(windows) - min(windows)) / min(windows)):
            yield f'its windows took {least:.4g} s or more, timed_seconds is {timed:.4g}'
    if not clocks:
        return
    if timed is not None and timed > clocks.monotonic_s * (1 + CLOCKS) + TICK:
        yield f'timed_seconds is {timed:.4g}, and {clocks.monotonic_s:.4g} s passed'
    for name, value in (('raw_s', clocks.raw_s), ('realtime_s', clocks.realtime_s), ('gpu_s', clocks.gpu_s)):
        if value is not None and abs(value - clocks.monotonic_s) > CLOCKS * clocks.monotonic_s + TICK:
            yield f'clocks disagree: {name} is {value:.4g}, monotonic_s is {clocks.monotonic_s:.4g}'


def watts(text: object) -> float:
    """Returns the watts of nvidia-smi's text '700.00 W', or 0."""
    found = re.match(r'\d+(\.\d+)?', text) if isinstance(text, str) else None
    return float(found[0]) if found else 0.0


def judge_energy(rung: Rung, limit: float) -> Iterator[str]:
    """Compares the power of the GPUs with `limit`, the watts that they are allowed to take (0: not known): a slow clock
    shows here."""
    joules, seconds = rung.energy_joules, rung.energy_seconds
    if joules is None or not seconds:
        return
    if rung.timed_seconds is not None and seconds < rung.timed_seconds * (1 - CLOCKS) - TICK:
        yield f'energy_seconds is {seconds:.4g}, timed_seconds {rung.timed_seconds:.4g}'
    if limit and rung.energy_source != 'RAPL' and seconds >= LONG and joules / seconds > MOST_POWER * limit:
        yield f'{joules / seconds:.0f} W, and its GPUs may take {limit:.0f} W'


def least_of(place: str, threads: int) -> int:
    """Returns the bytes that the largest kernel must touch for bandwidth to bound it."""
    return threads << 20 if place == 'cpu' else 4 << 20


def share_of(rung: Rung, ranks: int, ceilings: list[Ceilings], least: int) -> float:
    """Returns the share of the ceilings, the nearest one, that a rung reaches. What its largest kernel touches may fit
    in a cache that no ceiling was measured for: then the arithmetic alone counts."""
    bandwidth = max(row.bandwidth()[0] for row in ceilings)
    if rung.ceilings_again:
        least = max(least, rung.ceilings_again.working_set_bytes)
    if rung.touched_bytes is not None and rung.touched_bytes < least:
        bandwidth = 0.0
    flops = {'fp64': [row.fma64_flop_per_s for row in ceilings],
             'fp32': [row.fma32_flop_per_s for row in ceilings]}.get(rung.arithmetic, [0.0])
    time = ranks * (rung.seconds_per_unit or math.inf)
    rates = (((rung.bytes_per_unit or 0.0) / time, bandwidth), ((rung.flop_per_unit or 0.0) / time, max(flops)))
    return max(rate / ceiling if ceiling else 0.0 for rate, ceiling in rates)


def judge_plausible(result: Program, rung: Rung) -> Iterator[str]:
    """A timed rung that is VALID must be possible by the ceilings of its own file, on one of the processors that it may
    have run on."""
    if not rung.valid or not rung.window_seconds:
        return
    again = [rung.ceilings_again] if rung.ceilings_again else []
    places = {'cpu': ('cpu',), 'cuda': ('gpu',)}.get(rung.kind, ('gpu', 'cpu'))
    found = {'cpu': result.ceilings_cpu, 'gpu': result.ceilings_gpu}
    rows = [(place, ([row] if row else []) + again) for place in places for row in [found[place]]]
    shares = [share_of(rung, result.ranks, ceilings, least_of(place, result.threads))
              for place, ceilings in rows if ceilings]
    if not shares:
        yield 'the file has no ceilings to judge it by'
    elif min(shares) > MOST_SHARE * (1 + ROUNDING):
        yield f'VALID at {100 * min(shares):.0f} % of the ceilings in the file'


def judge_official(rung: Rung) -> Iterator[str]:
    """Checks a measured rung against the rules for published results."""
    windows, timed, warm_up = len(rung.window_seconds or ()), rung.timed_seconds or 0.0, rung.warm_up_seconds or 0.0
    if windows < OFFICIAL.windows:
        yield f'official: fewer than {OFFICIAL.windows} windows'
    elif timed < OFFICIAL.window * windows * (1 - ROUNDING):
        yield f'official: windows of {timed / windows:.1f} s, not {OFFICIAL.window:g}'
    if warm_up < OFFICIAL.warm_up * (1 - ROUNDING):
        yield f'official: warm-up of {warm_up:.1f} s, not {OFFICIAL.warm_up:g}'
    if not rung.clocks:
        yield 'official: no clocks beside the monotonic one'


def worst(verdicts: Sequence[str]) -> str:
    """Returns the verdict of a result whose rungs have these."""
    return max(verdicts, key=VERDICTS.index, default='VALID')


def judge_program(result: Program, official: bool = False) -> list[str]:
    """Returns the faults of a program's result, one line each."""
    wrong = []
    for i, rung in enumerate(result.rungs):
        said = [*judge_checks(rung), *judge_times(rung), *judge_clocks(rung), *judge_plausible(result, rung)]
        said += judge_official(rung) if official else []
        wrong += [f'rungs[{i}] {rung.name}: {line}' for line in said]
    verdict = worst([rung.verdict for rung in result.rungs])
    if result.rungs and result.verdict != verdict:
        wrong.append(f'verdict is {result.verdict}, its rungs say {verdict}')
    if result.nonce and result.seed != disk.seed_of(result.nonce):
        wrong.append(f"nonce '{result.nonce}' gives the seed {disk.seed_of(result.nonce)}, not {result.seed}")
    if result.options['seed'] != result.seed:
        wrong.append(f"options.seed is {result.options['seed']}, seed is {result.seed}")
    return wrong


def judge_scaling(scale: Scale) -> list[str]:
    """Returns the faults of efficiencies."""
    wrong = []
    for kind, all_points in (('strong', scale.strong), ('weak', scale.weak)):
        points = [point for point in all_points if point.verdict]
        for point in points:
            times, foms = ((points[0].seconds_per_unit, point.seconds_per_unit),
                           (point.fom_flop_per_s, points[0].fom_flop_per_s))
            more, less = times if kind == 'strong' else foms
            if not more or not less or point.efficiency is None:
                if 'UNSTEADY' not in (points[0].verdict, point.verdict):
                    wrong.append(f'{kind}, {point.ranks} ranks: no rate or no efficiency')
                continue
            efficiency = more / less / (point.ranks / points[0].ranks)
            if not near(point.efficiency, efficiency):
                wrong.append(f'{kind}, {point.ranks} ranks: efficiency is {point.efficiency:.6g}, its times say '
                             f'{efficiency:.6g}')
    return wrong
