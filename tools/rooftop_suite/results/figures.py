"""What follows from a program's result: rates, shares of the ceilings of its job, and steps from rung to rung.

Rates are of all ranks; shares are of what the processors of all ranks can do. A share above MOST is not printed.
"""
import math
import statistics
from collections.abc import Sequence
from typing import Optional

from .. import results
from . import Ceilings, Program

MOST = 1.02  # of a ceiling: more is not plausible
FMA = {'fp64': 'FP64 FMA', 'fp32': 'FP32 FMA'}
DASH = '–'


class Rung:
    """A rung of a result. fom is there only if it is VALID."""

    def __init__(self, row: results.Rung, of: 'Result') -> None:
        self.row, self.name, self.kind, self.verdict = row, row.name, row.kind, row.verdict
        self.ladder, self.after, self.idea, self.unit = row.ladder, row.after, row.idea, row.unit or 'unit'
        self.seconds: Optional[float] = row.seconds_per_unit
        self.spread: Optional[float] = row.spread
        self.fom: Optional[float] = row.fom_flop_per_s if row.valid else None
        self.foms: list[Optional[float]] = [row.fom_1_solve_flop_per_s, row.fom_100_solves_flop_per_s]  # with set-up
        self.windows: list[float] = row.window_seconds
        on_gpu = results.is_gpu_backend(of.program.kokkos_backend)
        of_kind = 'gpu' if self.kind == 'cuda' or self.kind == 'kokkos' and on_gpu else 'cpu'
        self.serial = ', 1 thread (Serial)' if (self.kind, of.program.kokkos_backend) == ('kokkos', 'Serial') else ''
        self.processor = row.processor or of_kind  # older results do not say it
        self.bytes, self.flops = (work / self.seconds if work and self.seconds else None
                                  for work in (row.bytes_per_unit, row.flop_per_unit))
        self.bandwidth, self.fma = of.bandwidth(self.processor)[0], of.fma(self.processor, row.arithmetic)  # the ceilings
        self.share_bandwidth, self.share_flops = of.share(self.bytes, self.bandwidth), of.share(self.flops, self.fma)
        self.step = ''  # how much faster than the rung before

    @property
    def intensity(self) -> Optional[float]:
        return self.flops / self.bytes if self.flops and self.bytes else None

    @property
    def precision(self) -> str:
        known = {'fp64': 'FP64', 'fp32': 'FP32', 'fp16-tensor': 'FP16, FP32 sums', 'mixed': 'several precisions'}
        return str(self.row.precision or known.get(self.row.arithmetic, self.row.arithmetic))

    def over(self, before: Optional['Rung']) -> str:
        """Returns how many times as fast as another rung it is; '' if one of them is not VALID."""
        if not (before and before.fom and self.fom and before.seconds and self.seconds):
            return ''
        ratio = before.seconds / self.seconds
        return f'{ratio:.2f}×' if ratio < 10 else f'{ratio:,.1f}×'

    def shares(self) -> list[tuple[float, str]]:
        """Returns [(share, of what)], the nearest ceiling first, without those above MOST: a cache has none."""
        both = [(self.share_bandwidth, 'bandwidth'), (self.share_flops, FMA.get(self.row.arithmetic, 'FMA'))]
        return sorted([(share, what) for share, what in both if share and share <= MOST], reverse=True)


class Result:
    """A program's result: its rungs in order."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.rungs = [Rung(row, self) for row in program.rungs]
        by_name = {rung.name: rung for rung in self.rungs}
        for rung in self.rungs:
            rung.step = rung.over(by_name.get(rung.after))

    @staticmethod
    def share(rate: Optional[float], ceiling: Optional[float]) -> Optional[float]:
        return rate / ceiling if rate and ceiling else None

    def ceilings(self, processor: str) -> Optional[Ceilings]:
        """Returns the ceilings of a processor in this job, of one rank: one for all rungs."""
        ceilings: Optional[Ceilings] = self.program.ceilings_gpu if processor == 'gpu' else self.program.ceilings_cpu
        return ceilings

    def bandwidth(self, processor: str) -> tuple[Optional[float], str]:
        """Returns the highest bandwidth, of all ranks, and the loop that has it; or (None, '')."""
        row = self.ceilings(processor)
        rate, name = row.bandwidth() if row else (0.0, '')
        return (rate * self.program.ranks, name) if rate else (None, '')

    def fma(self, processor: str, arithmetic: str) -> Optional[float]:
        """Returns the ceiling of this arithmetic, of all ranks; None for what has none, such as tensor cores."""
        row = self.ceilings(processor)
        if arithmetic not in FMA or not row:
            return None
        return float(getattr(row, f'fma{arithmetic[2:]}_flop_per_s')) * self.program.ranks or None

    @property
    def processors(self) -> list[str]:
        return [p for p in ('cpu', 'gpu') if any(rung.processor == p for rung in self.rungs)]

    def ladders(self) -> dict[str, list[Rung]]:
        """Returns {name: rungs}, in order."""
        found: dict[str, list[Rung]] = {}
        for rung in self.rungs:
            found.setdefault(rung.ladder, []).append(rung)
        return found


# ---- Numbers as text ----

def short(value: float) -> str:
    """Returns a value with three or four figures."""
    return f'{value:,.0f}' if value >= 1000 else f'{value:.1f}' if value >= 10 else f'{value:.3g}'


def scaled(value: Optional[float], scale: float = 1e9) -> str:
    return short(value / scale) if value else DASH


def column(values: Sequence[Optional[float]], scale: float = 1) -> list[str]:
    """Returns numbers with the same decimals: the smallest has three figures, the largest at most five."""
    good = [abs(v) / scale for v in values if v]
    most = 0 if max(good, default=0) >= 1e4 else 1 if max(good, default=0) >= 100 else 3
    places = max(0, min(most, 2 - math.floor(math.log10(min(good))))) if good else 0
    return [DASH if v is None else f'{v / scale:,.{places}f}' for v in values]


def percent(share: Optional[float], places: int = 1) -> str:
    return DASH if share is None else f'{100 * share:.{places}f}\u00a0%'


def share_text(share: Optional[float]) -> str:
    """Returns a share of a ceiling, unless it is beyond what is plausible."""
    return percent(share) if share and share <= MOST else DASH


def time_unit(values: Sequence[Optional[float]]) -> tuple[float, str]:
    good = [v for v in values if v]
    middle = statistics.median(good) if good else 1
    return next((scale, name) for scale, name in ((1, 's'), (1e-3, 'ms'), (1e-6, 'µs'), (1e-9, 'ns'))
                if middle >= scale or scale == 1e-9)


def time_text(seconds: float) -> str:
    """Returns a time in the unit that suits it, in plain characters."""
    scale, unit = time_unit([seconds])
    return f'{short(seconds / scale)} {unit.replace("µ", "u")}'
