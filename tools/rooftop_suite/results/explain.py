"""`rooftop explain RESULT`: where the time of each rung goes, by its least work and the ceilings of the same job.

Nothing is fitted to the rung. A kernel takes the longest of its times in memory, in arithmetic and, where `rooftop
counters` has been, in other units; the next is hidden behind it: shown, not added. Launches, messages and sums come on
top, with counters also tails and waits of kernels. What is then left of the measured time is unexplained; if nothing is
left, the rung is better than the model. docs/running.md has the equation.
"""
import argparse
import functools
import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Optional

from .. import USAGE, VALID, Fault, aligned, results, shipped
from . import Ceilings, Folder, Program, disk, figures
from .records import Mismatch, Record, check

ARITHMETIC = {'fp64': 'fma64_flop_per_s', 'fp32': 'fma32_flop_per_s', 'fp16-tensor': 'fma16_tensor_flop_per_s'}
# By rooftop counters: the member, its ceiling, and what one takes of that. A warp's FP32 FMA is an instruction of 64
# flops, and where a multiprocessor has 128 lanes (sm_86, and all since) it issues no instruction faster.
COUNTED = {'L2': ('l2_bytes', 'l2_bytes_per_s', 1), 'shared memory': ('shared_bytes', 'shared_bytes_per_s', 1),
           'instructions': ('instructions', 'fma32_flop_per_s', 64)}
WAITS = {'tails': 'tail_seconds', 'waits for memory': 'memory_wait_seconds', 'waits for shared memory': 'shared_wait_seconds',
         'waits at barriers': 'barrier_wait_seconds', 'waits for dependences': 'issue_wait_seconds',
         'sleeping': 'sleep_seconds'}  # by rooftop counters; tails: a multiprocessor has no block
LEFT = (*WAITS, 'unexplained')  # what no ceiling is of
FIXED = ('launches', 'grid barriers', 'host waits')  # what does not go with bytes or flops
CACHES = {'cpu': ('l1', 'l2', 'llc'), 'gpu': ('l2', 'llc')}
OF_A_CORE = ('l1', 'l2')  # of a CPU


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('result', metavar='RESULT', help='what a program wrote with --json, also FOLDER/STEP.json; of a '
                        'folder all')
    parser.add_argument('--rung', metavar='NAME', help='that rung alone')


# ---- Machines ----

class Machine(Ceilings, kind='machine'):
    """A file of inputs/machines."""


def machine_at(path: str) -> Machine:
    try:
        value = disk.parse(path)
        check({'$ref': 'machine'}, value)
    except Mismatch as mismatch:
        raise Fault(USAGE, f'{path}: not a machine by docs/result-schema.json: {mismatch}') from None
    return Machine(**value)


def machines() -> dict[str, str]:
    """Returns {name: path} of the files that come with the suite."""
    folder = shipped('inputs', 'machines')
    return {name[:-5]: os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith('.json')}


@functools.cache  # asked for each rung
def machine_of(device: str) -> Optional[Machine]:
    """Returns the data sheet of a device, if there is a file of it."""
    return next((machine for machine in map(machine_at, machines().values()) if device in machine.devices), None)


def fits(touched: float, machine: Ceilings, processor: str, threads: int) -> str:
    """Returns the smallest cache that holds so many bytes of a rank, or ''."""
    for name in CACHES[processor]:
        cores = threads if processor == 'cpu' and name in OF_A_CORE else 1
        if touched <= cores * (getattr(machine, f'{name}_bytes') or 0):
            return name
    return ''


# ---- Budgets ----

class Line(NamedTuple):
    """Seconds of a kernel in a unit of the app, by COUNTED and two more; 0 where a ceiling is not known. By counters: dram,
    of its traffic; seen, of the kernel; waits, of the parts of that by WAITS."""
    kernel: str
    of: dict[str, float]
    fma: str  # the ceiling of its arithmetic
    launches: float
    barriers: float  # of the grid
    dram: float
    seen: float
    waits: dict[str, float]

    @property
    def bound(self) -> str:
        return max(self.of, key=lambda name: self.of[name])

    @property
    def longest(self) -> float:
        return self.of[self.bound]

    @property
    def hidden(self) -> float:
        return sorted(self.of.values())[-2]

    @property
    def rest(self) -> dict[str, float]:
        """Returns what no unit explains of the kernel, by WAITS: tails first, the rest in proportion to the waits."""
        left = max(0.0, self.seen - self.longest - self.barriers)
        tail, waiting = min(left, self.waits['tails']), sum(self.waits.values()) - self.waits['tails']
        return {name: tail if name == 'tails' else (left - tail) * seconds / waiting if waiting else 0.0
                for name, seconds in self.waits.items()}


class Traffic(NamedTuple):
    """What a rank sends in a unit; None: not counted in this run."""
    bytes: float
    exchanges: Optional[float]
    sums: Optional[float]


@dataclass(repr=False, eq=False)
class Budget:
    """name: of the rung, in a picture of several apps with the app's before it. cache: holds what the kernels touch; '':
    none. rate: bytes/s of a rank that memory times are of."""
    name: str
    rung: figures.Rung
    seconds: float
    here: Ceilings
    lines: list[Line]
    cache: str
    rate: float
    touched: float
    traffic: Traffic
    waits: dict[str, float]  # of the host, for messages, sums
    left_out: list[str]

    @property
    def kernels(self) -> float:
        return sum(line.longest for line in self.lines)

    @property
    def parts(self) -> dict[str, float]:
        """Returns seconds, none negative, whose sum without `better` is the time. ncu runs each kernel alone, with empty
        caches: what it saw of WAITS counts as far as the run has room for it."""
        parts = {**{name: sum(line.longest for line in self.lines if line.bound == name) for name in self.lines[0].of},
                 'launches': sum(line.launches for line in self.lines),
                 'grid barriers': sum(line.barriers for line in self.lines), **self.waits}
        left = max(0.0, self.seconds - sum(parts.values()))
        waits = {name: sum(line.rest[name] for line in self.lines) for name in WAITS}
        share = min(1.0, left / (sum(waits.values()) or math.inf))
        parts |= {name: share * seconds for name, seconds in waits.items()}
        return {**parts, 'unexplained': max(0.0, left - share * sum(waits.values()))}

    @property
    def better(self) -> float:
        modelled = sum(seconds for name, seconds in self.parts.items() if name not in LEFT)
        return max(0.0, modelled - self.seconds)


def per_unit(row: results.Rung, timer: str, ranks: int) -> Optional[float]:
    """Returns how often a rank is in a timer in a unit, if there is a profile with it."""
    calls = sum(one.calls for one in row.timers(timer))
    return calls / ranks / row.units_per_solve if calls and row.units_per_solve else None


def waits_of(row: results.Rung, here: Ceilings, ranks: int, left_out: list[str]) -> tuple[Traffic, dict[str, float]]:
    """Returns what is sent, and how long that takes by the ceilings of messages."""
    if ranks == 1:
        return Traffic(0.0, None, None), {'messages': 0.0, 'sums': 0.0}
    sent = row.message_bytes_per_unit
    traffic = Traffic(sum(sent.values()) / ranks, per_unit(row, 'pack', ranks), per_unit(row, 'sum', ranks))
    if not here.message_bytes_per_s:
        left_out.append('messages, which were not measured')
    elif traffic.exchanges is None:
        left_out.append('latency of messages: --profile counts them')
    if not (here.allreduce_s and traffic.sums):
        left_out.append('sums over ranks' + ('' if traffic.sums else ': --profile counts them'))
    return traffic, {'messages': (traffic.bytes / here.message_bytes_per_s if here.message_bytes_per_s else 0.0) +
                     (traffic.exchanges or 0.0) * (here.latency_s or 0.0),
                     'sums': (traffic.sums or 0.0) * (here.allreduce_s or 0.0)}


def launch_of(here: Ceilings, processor: str, threads: int, left_out: list[str]) -> float:
    """Returns the seconds that a call of a kernel costs besides its work."""
    if processor == 'cpu' and threads == 1:
        return 0.0
    seconds = (here.graph_node_s or here.launch_s) if processor == 'gpu' else here.thread_barrier_s
    if not seconds:
        left_out.append('launches' if processor == 'gpu' else 'barriers of threads')
    return float(seconds or 0.0)


def host_wait_of(row: results.Rung, here: Ceilings, launch: float, left_out: list[str]) -> float:
    """Returns the seconds per unit in which the host waits for a GPU at the end of a solve, besides a launch."""
    if not here.host_wait_s:
        left_out.append("the host's wait for a solve")
    return max(0.0, (here.host_wait_s or 0.0) - launch) / (row.units_per_solve or math.inf)


def line_of(kernel: str, memory: Optional[float], arithmetic: float, fma: str, launches: float, barriers: float,
            seen: Optional[Record], here: Ceilings) -> Line:
    """Returns a line with what counters saw of the kernel. memory: None of a kernel that the model does not have, as
    copies of what the judge asks for: that of its counted traffic."""
    dram = (seen.read_bytes + seen.written_bytes) / (here.bandwidth()[0] or math.inf) if seen else 0.0
    of = {'memory': dram if memory is None else memory, 'arithmetic': arithmetic}
    for name, (member, ceiling, times) in COUNTED.items():
        of[name] = times * (getattr(seen, member, None) or 0.0) / (getattr(here, ceiling) or math.inf)
    waits = {name: float(getattr(seen, member, None) or 0.0) for name, member in WAITS.items()}
    return Line(kernel, of, fma, launches, barriers, dram, getattr(seen, 'seconds', None) or 0.0, waits)


def budget(rung: figures.Rung, result: figures.Result) -> Optional[Budget]:
    """Returns the budget of a rung; None if it has no time, no work or no ceilings."""
    row, program, here = rung.row, result.program, result.ceilings(rung.processor)
    if not (rung.seconds and row.work and here):
        return None
    left_out: list[str] = []
    touched = max(work.read_bytes + work.written_bytes for work in row.work) / program.ranks
    sheet = machine_of(program.gpu if rung.processor == 'gpu' else program.cpu)
    cache = next((name for name in (fits(touched, machine, rung.processor, program.threads)
                                    for machine in (here, sheet) if machine) if name), '')
    rate = max(getattr(here, f'{cache}_bytes_per_s') or 0.0 if cache else 0.0, here.bandwidth()[0])
    if not rate:
        left_out.append('memory, whose ceiling was not measured')
    launch = launch_of(here, rung.processor, program.threads, left_out)
    traffic, waits = waits_of(row, here, program.ranks, left_out)
    waits['host waits'] = host_wait_of(row, here, launch, left_out) if rung.processor == 'gpu' else 0.0
    counters = {of.kernel: of for of in row.counters}
    lines = []
    for work in row.work:
        fma = ARITHMETIC.get(work.arithmetic or row.arithmetic, '')
        memory = work.calls * (work.read_bytes + work.written_bytes) / rate / program.ranks if rate else 0.0
        arithmetic = work.calls * work.flop / (getattr(here, fma, None) or math.inf) / program.ranks
        seen = counters.pop(work.kernel, None)
        calls = seen.calls if seen and work.launches in (None, 1) else work.calls * (work.launches or 1)
        if work.barriers and not here.grid_barrier_s:
            left_out.append('barriers of the grid')
        barriers = work.calls * (work.barriers or 0.0) * (here.grid_barrier_s or 0.0)
        lines.append(line_of(work.kernel, memory, arithmetic, fma, calls * launch, barriers, seen, here))
    if not all(getattr(here, line.fma, None) for line in lines):
        left_out.append(f'arithmetic, of which not all has a ceiling here ({rung.precision})')
    lines += [line_of(kernel, None, 0.0, '', seen.calls * launch, 0.0, seen, here) for kernel, seen in counters.items()]
    return Budget(rung.name, rung, rung.seconds, here, lines, cache, rate, touched, traffic, waits, left_out)


def budgets_of(rungs: Iterable[figures.Rung], result: figures.Result) -> list[Budget]:
    return [one for one in (budget(rung, result) for rung in rungs) if one]


# ---- As text ----

def table(one: Budget, scale: float) -> list[str]:
    """Returns lines of a table."""
    lines, names = one.lines, [name for name in one.lines[0].of if name not in COUNTED or one.rung.row.counters]
    columns = {name: [line.of[name] for line in lines] for name in names}
    columns |= {'hidden': [line.hidden for line in lines], 'launches': [line.launches for line in lines]}
    if one.rung.row.counters:
        columns |= {'DRAM, counted': [line.dram for line in lines], 'by ncu': [line.seen for line in lines]}
    texts = [figures.column([value or None for value in column], scale) for column in columns.values()]
    return aligned([['kernel', *columns], *([line.kernel, *row] for line, *row in zip(lines, *texts))], (0,))


def verdict(one: Budget) -> str:
    """Returns a line: the parts, what bounds the rung, and how much of its time is explained."""
    parts = {name: seconds / one.seconds for name, seconds in one.parts.items() if seconds}
    most = max(parts, key=lambda name: parts[name])
    bound = {'unexplained': 'no part that the model knows', 'memory': one.cache.upper() or 'memory'}.get(most, most)
    shares = ', '.join(f'{name} {100 * share:.1f} %' for name, share in parts.items())
    explained = f'better than the model by {100 * one.better / one.seconds:.1f} %' if one.better else \
        f'{100 * (1 - parts.get("unexplained", 0.0)):.1f} % explained'
    return f'{shares}; bound by {bound}; {explained}'


def said(one: Budget) -> list[str]:
    """Returns the whole budget as lines."""
    scale, unit = figures.time_unit([one.seconds])
    finer, below = figures.time_unit([max(line.longest for line in one.lines)])
    return [f'{one.name}: {figures.short(one.seconds / scale)} {unit} per {one.rung.unit}; below in {below}',
            *(f'  {line}' for line in table(one, finer)), f'  {verdict(one)}',
            *([f'  left out: {"; ".join(one.left_out)}'] if one.left_out else [])]


def budgets(path: str, name: Optional[str]) -> tuple[figures.Result, list[Budget]]:
    """Returns a file's result and its budgets; Fault if it has none."""
    result = figures.Result(results.load(path, Program))
    rungs = [rung for rung in result.rungs if name in (None, rung.name)]
    if not rungs:
        raise Fault(USAGE, f"{path}: no rung '{name}' in it")
    found = budgets_of(rungs, result)
    if not found:
        why = 'was timed' if not any(rung.seconds for rung in rungs) else \
            'has its work by kernels: an older version wrote it' if not any(rung.row.work for rung in rungs) else \
            'has ceilings: run with --seconds above 0'
        raise Fault(USAGE, f'{path}: no rung in it {why}')
    return result, found


def each(path: str, name: Optional[str]) -> Iterator[tuple[str, figures.Result, list[Budget]]]:
    """Yields (path, result, budgets) of a file, or of each result of a folder that has that rung; Fault if none has."""
    if results.manifest_of(path) == path:
        yield path, *budgets(path, name)
        return
    folder, none = Folder.open(path), True
    for step in folder.steps:
        program = folder.result(step.name)
        result = figures.Result(program) if program else None
        found = budgets_of([rung for rung in result.rungs if name in (None, rung.name)], result) if result else []
        if result and found:
            none = False
            yield os.path.join(path, step.json), result, found
    if none:
        raise Fault(USAGE, f'{path}: no result in it has work by kernels, ceilings and' + (f" a rung '{name}'" if name else ' a time'))


def main(args: argparse.Namespace) -> int:
    for path, result, found in each(args.result, args.rung):
        if path != args.result:
            print(f'---- {path}')
        for one in found:
            print('\n'.join(said(one)) + '\n')
        rest = ', '.join(rung.name for rung in result.rungs if rung not in [one.rung for one in found])
        if rest and not args.rung:
            print(f'without time, work or ceilings: {rest}')
    return VALID
