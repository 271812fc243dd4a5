"""Two programs timed in turns: the ratio of their speeds with its 95 % interval, or why there is none.

A turn is a run of each, close together, so that what slows the machine slows both; which of them is first alternates.
The ratio is the median over the turns, its interval the sign test's: it supposes nothing about the noise. Turns go on
until the interval is known to PRECISE, or the time is over. A turn in which the machine was disturbed does not count.
"""
import itertools
import math
import statistics
import time
from collections.abc import Sequence
from typing import Callable, NamedTuple, Optional, Union

from .. import results

PRECISE = 0.03  # half of the interval, as a share of the ratio
SAME = 0.02  # ratios this near to 1 are the same: where the linker puts a loop can cost that much
LEAST, MOST = 8, 200  # turns; with 8, the interval is from the least to the largest ratio
MANY = 0.5  # of the turns: if more were disturbed, the machine was
RISK = 0.05  # that the true ratio is outside of the interval


class Speed(NamedTuple):
    """How fast one program is in units of another's speed. low, high: of the 95 % interval."""
    ratio: float
    low: float
    high: float
    turns: int

    @property
    def precise(self) -> bool:
        return (self.high - self.low) / 2 <= PRECISE * self.ratio

    @property
    def word(self) -> str:
        """'faster', 'slower', 'same', or '' where the interval allows more than one of them."""
        if self.low > 1 + SAME:
            return 'faster'
        if self.high < 1 / (1 + SAME):
            return 'slower'
        return 'same' if self.precise else ''


def outer(n: int) -> int:
    """Returns how many of n sorted values are outside of the interval of their median, at each end."""
    chances = itertools.accumulate(math.comb(n, below) / 2.0 ** n for below in range(n // 2 + 1))
    return max(sum(chance <= RISK / 2 for chance in chances) - 1, 0)


def speed(ratios: Sequence[float]) -> Optional[Speed]:
    """Returns the median of ratios with its interval; None for fewer than LEAST."""
    n, values = len(ratios), sorted(ratios)
    if n < LEAST:
        return None
    cut = outer(n)
    return Speed(statistics.median(values), values[cut], values[n - 1 - cut], n)


class Outcome(NamedTuple):
    """speed: None if there is no telling; why: then the reason, in one line."""
    speed: Optional[Speed]
    why: str
    turns: int


def judged(ratios: list[float], disturbed: list[str], spent: float) -> Outcome:
    """Returns what turns show: the ratios of quiet ones, and what disturbed each of the others."""
    found, turns, why = speed(ratios), len(ratios) + len(disturbed), ''
    if len(ratios) < MANY * turns or disturbed and not found:
        said = max(disturbed, key=disturbed.count)
        why = f'the machine was disturbed in {len(disturbed)} of {turns} turns ({said}): nothing is said about ' \
            'speed; grade again on a quiet machine'
    elif not found:
        why = f'only {turns} turns in {spent:.0f} s, and {LEAST} are needed: give more time (--seconds) or a smaller problem'
    elif not found.word:
        why = f'the ratio is between {found.low:.2f} and {found.high:.2f} after {found.turns} turns: the machine is too ' \
            'noisy to tell; grade again on a quiet one, or give more --seconds'
    return Outcome(None if why else found, why, turns)


Timed = Union[results.Rung, str]  # a rung with its time, or why there is none
Runner = Callable[[], Timed]


def fight(ours: Runner, theirs: Runner, seconds: float, told: Callable[[int], None] = lambda n: None) -> Outcome:
    """Times both in turns for at most so many seconds, as long as that is of use."""
    begin, ratios, disturbed = time.monotonic(), list[float](), list[str]()
    for turn in range(MOST):
        if turn and (time.monotonic() - begin) * (turn + 1) / turn > seconds:
            break
        pair: dict[Runner, results.Rung] = {}
        for run in (ours, theirs) if turn % 2 else (theirs, ours):
            got = run()
            if isinstance(got, str):
                return Outcome(None, got, turn)
            pair[run] = got
        if pair[ours].disturbed or pair[theirs].disturbed:
            disturbed.append('; '.join(dict.fromkeys(pair[ours].disturbed + pair[theirs].disturbed)))
        else:
            ratios.append(pair[theirs].seconds_per_unit / pair[ours].seconds_per_unit)
        told(turn + 1)
        found = speed(ratios)
        if found and found.precise and found.word or turn + 1 >= LEAST and not ratios:
            break  # it is known, or the machine is not quiet for one turn
    return judged(ratios, disturbed, time.monotonic() - begin)
