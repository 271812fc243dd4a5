"""Two programs timed alternately: the ratio of their speeds with its interval, or why there is none.

A turn is a run of each, close together, so that what slows the machine slows both; which of them is first alternates.
The ratio is the median over the turns, its interval all but the lowest and the highest: by the sign test the true
ratio is outside of it in 1.2 % of cases, whatever the noise is. A turn in which the machine was disturbed does not
count.
"""
import statistics
import time
from collections.abc import Sequence
from typing import Callable, NamedTuple

from .. import ENVIRONMENT, Fault, results

TURNS = 11
PRECISE = 0.05  # half of the interval, as a share of the ratio: wider says nothing
SAME = 0.02  # ratios this near to 1 are the same: where the linker puts a loop can cost that much


class Speed(NamedTuple):
    """How fast one program is in units of another's speed. low, high: of the interval."""
    ratio: float
    low: float
    high: float

    @property
    def word(self) -> str:
        """'faster', 'slower', 'same', or '' where the interval allows more than one of them."""
        if self.low > 1 + SAME:
            return 'faster'
        if self.high < 1 / (1 + SAME):
            return 'slower'
        return 'same' if self.high - self.low <= 2 * PRECISE * self.ratio else ''


def speed(ratios: Sequence[float]) -> Speed:
    values = sorted(ratios)
    return Speed(statistics.median(values), values[1], values[-2])


Runner = Callable[[], results.Rung]


def fight(ours: Runner, theirs: Runner, seconds: float, progress: Callable[[int], None] = lambda n: None) -> Speed:
    """Times both alternately, for at most that number of seconds; Fault, in one line, if there is no telling."""
    begin, turn, ratios, disturbed = time.monotonic(), 0, list[float](), list[str]()
    while len(ratios) < TURNS and len(disturbed) < TURNS:
        if turn and (time.monotonic() - begin) * (turn + 1) / turn > seconds:
            break
        turn += 1
        pair = {run: run() for run in ((ours, theirs) if turn % 2 else (theirs, ours))}
        said = pair[ours].disturbed + pair[theirs].disturbed
        if said:
            disturbed.append('; '.join(dict.fromkeys(said)))
        else:
            ratios.append(pair[theirs].seconds_per_unit / pair[ours].seconds_per_unit)
        progress(turn)
    if len(ratios) == TURNS:
        found = speed(ratios)
        if not found.word:
            raise Fault(ENVIRONMENT, f'the ratio is between {found.low:.2f} and {found.high:.2f}: the machine is too noisy '
                        'to tell')
        return found
    if len(disturbed) > len(ratios):
        raise Fault(ENVIRONMENT, f'the machine was disturbed in {len(disturbed)} of {turn} turns '
                    f'({max(disturbed, key=disturbed.count)}): grade again on a quiet machine')
    raise Fault(ENVIRONMENT, f'only {len(ratios)} good turns of {TURNS} in {seconds:g} s: give more --seconds, or a smaller '
                'problem')
