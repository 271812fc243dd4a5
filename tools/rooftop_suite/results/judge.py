"""Is one result consistent? What follows from other members of the file is worked out again: verdicts from checks,
median, spread and figure of merit from the windows, the seed from the nonce. Each fault is one line.
"""
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Optional

from . import RIGHT, VERDICTS, WARM_UP, WINDOW, WINDOWS, AnyResult, Program, Rung, disk

ROUNDING = 1e-9  # of numbers that were written with 17 digits and computed again
MOST_SPREAD = 0.1


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
    windows, credited = rung.window_seconds, rung.credited_flop_per_unit
    setup = (rung.setup_seconds or 0.0) / (rung.units_per_solve or 1.0)
    foms = (('fom_flop_per_s', 0.0), ('fom_1_solve_flop_per_s', setup), ('fom_100_solves_flop_per_s', setup / 100))
    if not (rung.valid and windows and credited):
        for name, _ in foms:
            if getattr(rung, name) is not None:
                yield f'{name} of a rung that is {rung.verdict}, or without its windows or credited work'
    if not windows:
        return
    median = statistics.median(windows)
    spread = (max(windows) - min(windows)) / median
    if rung.valid and spread > MOST_SPREAD * (1 + ROUNDING):
        yield f'verdict is VALID, the spread is {100 * spread:.1f} %'
    for name, stated, value in (('seconds_per_unit', rung.seconds_per_unit, median), ('spread', rung.spread, spread),
                              ('windows', rung.windows, len(windows)),
                              *((name, getattr(rung, name), (credited or 0.0) / (median + more)) for name, more in foms)):
        if stated is not None and not math.isclose(stated, value, rel_tol=ROUNDING):
            yield f'{name} is {stated:.9g}, its windows say {value:.9g}'


def judge_energy(rung: Rung) -> Iterator[str]:
    for of in ('energy', 'meter'):
        seconds, samples, rate = (getattr(rung, f'{of}_{name}') for name in ('seconds', 'samples', 'samples_per_s'))
        if seconds is not None and seconds < (rung.timed_seconds or 0.0) * (1 - ROUNDING):
            yield f'{of}_seconds is {seconds:.9g}, the timed windows are of {rung.timed_seconds:.9g}'
        if seconds and samples and not math.isclose(rate or 0.0, samples / seconds, rel_tol=ROUNDING):
            yield f'{of}_samples_per_s is {rate or 0.0:.9g}, its samples say {samples / seconds:.9g}'


def judge_work(rung: Rung) -> Iterator[str]:
    for name, stated, value in (
            ('bytes_per_unit', rung.bytes_per_unit, sum(row.calls * (row.read_bytes + row.written_bytes) for row in rung.work)),
            ('flop_per_unit', rung.flop_per_unit, sum(row.calls * row.flop for row in rung.work))):
        if rung.work and not math.isclose(stated or 0.0, value, rel_tol=ROUNDING):
            yield f'{name} is {stated or 0.0:.9g}, the rows of its work say {value:.9g}'


def judge_official(rung: Rung) -> Iterator[str]:
    """Yields what a measured rung lacks by the rules for published results."""
    windows, timed, warm_up = len(rung.window_seconds or ()), rung.timed_seconds or 0.0, rung.warm_up_seconds or 0.0
    if windows < WINDOWS or timed < WINDOW * windows * (1 - ROUNDING):
        yield f'{WINDOWS} windows of {WINDOW:g} s'
    if warm_up < WARM_UP * (1 - ROUNDING):
        yield f'a warm-up of {WARM_UP:g} s'


def worst(verdicts: Sequence[str]) -> str:
    """Returns the verdict of a result whose rungs have these."""
    return max(verdicts, key=VERDICTS.index, default='VALID')


def judge_program(result: Program) -> list[str]:
    """Returns the faults of a program's result, one line each."""
    wrong = [f'rungs[{i}] {rung.name}: {line}' for i, rung in enumerate(result.rungs)
             for line in (*judge_checks(rung), *judge_times(rung), *judge_energy(rung), *judge_work(rung))]
    verdict = worst([rung.verdict for rung in result.rungs])
    if result.rungs and result.verdict != verdict:
        wrong.append(f'verdict is {result.verdict}, its rungs say {verdict}')
    if result.nonce and result.seed != disk.seed_of(result.nonce):
        wrong.append(f"nonce '{result.nonce}' gives the seed {disk.seed_of(result.nonce)}, not {result.seed}")
    if result.options['seed'] != result.seed:
        wrong.append(f"options.seed is {result.options['seed']}, seed is {result.seed}")
    return wrong


@dataclass(repr=False, eq=False)
class Judged:
    """A file: what is wrong in it, what it lacks to be official, and what a reader should know. record: None: not read."""
    path: str
    record: Optional[AnyResult] = None
    wrong: list[str] = field(default_factory=list)
    lacks: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unreadable: bool = False

    @property
    def faults(self) -> list[str]:
        """What is wrong, or else the verdict of a program if it is no right answer."""
        bad = isinstance(self.record, Program) and self.record.verdict not in RIGHT
        return self.wrong or ([f'consistent, and its verdict is {self.record.verdict}'] if bad and self.record else [])
