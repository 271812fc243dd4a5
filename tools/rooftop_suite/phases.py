"""Where the time of a profiled solve goes: computing, packing, messages, sums, waiting for late ranks."""
from collections.abc import Sequence
from typing import Optional

from .records import Record

PHASES = {'pack': 'pack', 'unpack': 'pack', 'messages': 'messages', 'sum': 'sums', 'waiting': 'waiting'}
PARTS = ('compute', *dict.fromkeys(PHASES.values()))
EXCHANGES = ('halo', 'gather-scatter')  # timers around an exchange


def phases_of(profile: Sequence[Record], ranks: int) -> Optional[dict[str, float]]:
    """Returns the seconds of each phase, of an average rank. What is in no timer of a phase is computing; an exchange
    on the stream of GPUs is not divided, and is messages. None: there is no profile, or there are several ranks and no
    timer of a phase, because a kernel does everything."""
    if not profile:
        return None
    seconds = {name: 0.0 for name in PARTS}
    told = ranks == 1
    for timer in profile:
        below = [other for other in profile if other.timer.rpartition('/')[0] == timer.timer]
        name = timer.timer.rpartition('/')[2]
        phase = PHASES.get(name, 'compute')
        if ranks > 1 and name in EXCHANGES and not below:
            phase = 'messages'
        told = told or phase != 'compute'
        seconds[phase] += max(0.0, timer.seconds - sum(other.seconds for other in below))
    return seconds if told else None
