"""`rooftop scale --simulate`: what an app would do on many ranks of a described machine, by SimGrid's SMPI.

The computing of a unit is measured: the time of one rank, on a problem of one rank. What ranks tell each other comes
from the program (--trace), for any number of ranks and without solving. Each step (an exchange, a sum) is replayed
once on the platform, from a common start; a unit takes its computing and all its steps, one after the other. So
nothing overlaps, no rank is late, and no network is shared with others.

What a message costs besides latency and bandwidth is fitted to measurements of the app on one and on two ranks: one
cost, and with three sizes or more the bandwidth too, by least squares. Two ranks cannot tell the latency of the link
from the time that its ends spend, so the platform's latency is believed, and the rest of the cost is spent by both
ends. Nor can they tell whether a rank with many neighbours pays it for each of them or once, so there are two
predictions: all of it for each message, the worst, and once per exchange, the best.
"""
import json
import math
import os
import re
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Optional

from . import ENVIRONMENT, USAGE, Fault, Json, disk, network, programs, results
from .network import Cost, Message, Platform
from .phases import phases_of
from .results import Fitted, Predicted, Program, Rung

# SimGrid's defaults are fitted to an old Ethernet. Small sends that end at once (detached) make thousands of ranks
# many times slower to simulate, and change nothing where receives are posted first.
SETTINGS = ('smpi/bw-factor:0:1', 'smpi/lat-factor:0:1', 'network/bandwidth-factor:1', 'network/latency-factor:1',
            'network/TCP-gamma:0', 'network/weight-S:0', 'network/crosstraffic:0', 'smpi/send-is-detached-thresh:0',
            'contexts/stack-size:256')
INSTALL = ('--simulate needs SimGrid, whose smpirun is not on PATH: install it (Debian: apt install libsimgrid-dev; '
           'Spack: simgrid)')
NEAR = 0.05  # a prediction for two ranks is near the measurement


class Step(NamedTuple):
    """An exchange (name, messages) or a sum (bytes) of a trace, and how often it happens in a unit."""
    name: str
    often: float
    size: int
    messages: list[Message]


class Trace(NamedTuple):
    """What --trace printed."""
    ranks: int
    boxes: list[int]
    remark: str
    steps: list[Step]


# ---- What was measured ----

@dataclass(repr=False, eq=False)
class Pair:
    """Results of one app on one rank, and on two ranks with twice the work. computing: of two ranks over one."""
    one: Program
    two: Optional[Program] = None
    computing: float = 1.0

    @property
    def rung(self) -> Rung:
        return self.one.rungs[0]

    @property
    def seconds(self) -> float:
        """The computing of a unit on each of two ranks."""
        return seconds_of(self.rung) * self.computing * (self.share if self.two else 1)

    @property
    def share(self) -> float:
        """The work of one of two ranks over that of one rank."""
        assert self.two
        return work_of(self.two) / work_of(self.one)


def seconds_of(rung: Rung) -> float:
    return rung.seconds_per_unit or math.nan


def work_of(program: Program) -> float:
    """Returns the credited work of a unit, per rank."""
    return (program.rungs[0].credited_flop_per_unit or math.nan) / program.ranks


def results_in(folders: Sequence[str]) -> Iterator[Program]:
    """Yields the VALID results of one rung in these folders."""
    for folder in folders:
        try:
            names = sorted(name for name in os.listdir(folder) if name.endswith('.json'))
        except OSError as error:
            raise Fault(USAGE, f'--measured {folder}: {error.strerror}') from None
        for name in names:
            try:
                record = results.read(os.path.join(folder, name))
            except Fault:
                continue
            if isinstance(record, Program) and len(record.rungs) == 1 and record.rungs[0].valid \
                    and record.rungs[0].seconds_per_unit:
                yield record


def pairs_of(found: Sequence[Program], over: str) -> list[Pair]:
    """Returns each result on one rank, with that on two ranks which has about as much work per rank, if there is one."""
    kinds = ('cuda', 'kokkos', 'openacc') if over == 'GPUs' else ('cpu',)
    found = [program for program in found if program.rungs[0].kind in kinds]
    pairs = []
    for one in (program for program in found if program.ranks == 1):
        twos = [two for two in found if two.ranks == 2 and two.program == one.program
                and two.rungs[0].name == one.rungs[0].name and abs(work_of(two) / work_of(one) - 1) < 0.1]
        pair = Pair(one, min(twos, key=lambda two: abs(work_of(two) / work_of(one) - 1), default=None))
        if pair.two:
            before, after = (phases_of(program.rungs[0].profile, program.ranks) for program in (one, pair.two))
            if before and after:  # cores of a node share its memory
                pair.computing = after['compute'] / before['compute'] / pair.share
        pairs.append(pair)
    return pairs


# ---- Traces ----

def trace_of(program: str, one: Program, ranks: int) -> Trace:
    """Asks the program for the trace of so many ranks, each with the problem of this result."""
    words = [f'--{name}={value}' for name, value in one.options.items() if name not in ('seed', 'ranks', 'size')]
    with tempfile.NamedTemporaryFile(prefix='rooftop-', suffix='.trace') as file:
        ended = programs.run([program, *words, '--rung', one.rungs[0].name, '--trace', str(ranks)], output=file.name)
        lines = file.read().decode('utf-8', 'replace').splitlines()
    try:
        value = json.loads(next(line for line in lines if line.startswith('{')))
    except (StopIteration, ValueError):
        raise Fault(programs.status_of(ended), f'--trace {ranks}: {programs.reason(ended)}') from None
    iterations = one.rungs[0].iterations
    each = sum(iterations) / len(iterations) if iterations else 0.0
    return Trace(ranks, value['boxes'], value['remark'],
                 [Step(step.get('name', 'sum'), step['per_unit'] + each * step['per_iteration'],
                       step.get('bytes', 0), step.get('messages', [])) for step in value['steps']])


# ---- The simulator ----

class Simulator:
    """Replays steps on a platform. seconds: what a message costs each of its ends."""

    def __init__(self, platform: Platform, seconds: float) -> None:
        self.platform, self.costs = platform, (Cost(seconds, True), Cost(seconds, False))
        self.smpirun = shutil.which('smpirun') or ''
        if not self.smpirun:
            raise Fault(ENVIRONMENT, INSTALL)

    def seconds(self, trace: Trace) -> dict[str, list[float]]:
        """Returns the worst and the best seconds of each step, by name; sums of one size are one step."""
        hosts = network.placed(trace.ranks, trace.boxes, self.platform.node_ranks)
        found: dict[str, list[float]] = {}
        with tempfile.TemporaryDirectory(prefix='rooftop-') as folder:
            write(folder, 'platform.xml', network.platform_xml(self.platform, max(hosts) + 1))
            write(folder, 'hosts', (f'h{host}' for host in hosts))
            for name, step in distinct(trace).items():
                rounds = network.exchange_rounds(trace.ranks, step.messages) if step.messages else \
                    network.sum_rounds(hosts, step.size)
                write(folder, 'list', [os.path.join(folder, 'all.ti')])
                for cost in self.costs[:2 if step.messages and self.costs[0].seconds > 0 else 1]:
                    write(folder, 'all.ti', network.trace_lines(rounds, cost))
                    found.setdefault(name, []).append(self.replay(folder, trace.ranks))
        return found

    def replay(self, folder: str, ranks: int) -> float:
        at = {name: os.path.join(folder, name) for name in ('platform.xml', 'hosts', 'list')}
        ended = programs.run([self.smpirun, '-np', str(ranks), '-platform', at['platform.xml'], '-hostfile', at['hosts'],
                              *(f'--cfg={one}' for one in SETTINGS), '-replay', at['list']])
        said = re.search(r'Simulation time ([\d.]+)', ended.text)
        if ended.exit or not said:
            lines = [line for line in ended.text.splitlines() if re.search('CRITICAL|rror', line)]
            raise Fault(ENVIRONMENT, f'smpirun ended with {ended.exit}: {(lines or ["gave no reason"])[0]}')
        return float(said[1]) * 1e-6


def write(folder: str, name: str, lines: 'Iterator[str] | Sequence[str]') -> None:
    with disk.create(os.path.join(folder, name)) as file:
        file.writelines(f'{line}\n'.encode() for line in lines)


def distinct(trace: Trace) -> dict[str, Step]:
    """Returns the steps by name; those of the same name and size are one, and happen as often as all."""
    steps: dict[str, Step] = {}
    for step in trace.steps:
        name = step.name if step.messages else f'sum of {step.size} bytes'
        before = steps[name].often if name in steps else 0.0
        steps[name] = step._replace(often=before + step.often)
    return steps


# ---- The fit ----

@dataclass(repr=False, eq=False)
class Fit:
    """per_message: seconds from end to end of an empty message, both ends included; bandwidth: bytes/s; pairs: what
    they were fitted to, none if nothing was measured on two ranks."""
    per_message: float
    bandwidth: float
    pairs: list[Fitted] = field(default_factory=list)


def rounds_and_bytes(trace: Trace) -> tuple[float, float]:
    """Returns the messages that follow one another in a unit of two ranks, and the bytes of the larger direction."""
    rounds = sum(step.often for step in trace.steps)
    size = sum(step.often * (max(message[2] for message in step.messages) if step.messages else step.size)
               for step in trace.steps)
    return rounds, size


def least_squares(rows: Sequence[tuple[float, float, float]], most: float) -> tuple[float, float]:
    """Returns s, g with the least sum of (a s + b g - y)^2 over rows (a, b, y), s >= 0, g >= most."""
    def best_s(g: float) -> float:
        up, down = (sum(a * x for (a, _, _), x in zip(rows, xs))
                    for xs in ([y - b * g for _, b, y in rows], [a for a, _, _ in rows]))
        return max(0.0, up / down) if down > 0 else 0.0

    def best_g(s: float) -> float:
        up, down = sum(b * (y - a * s) for a, b, y in rows), sum(b * b for _, b, _ in rows)
        return max(most, up / down) if down > 0 else most

    aa, ab, bb = (sum(x * y for x, y in zip(*pair)) for pair in (
        ([r[0] for r in rows], [r[0] for r in rows]), ([r[0] for r in rows], [r[1] for r in rows]),
        ([r[1] for r in rows], [r[1] for r in rows])))
    ay, by = sum(a * y for a, _, y in rows), sum(b * y for _, b, y in rows)
    determinant = aa * bb - ab * ab
    candidates = [(best_s(most), most), (0.0, best_g(0.0))]
    if determinant > 1e-12 * aa * bb:
        candidates.append(((ay * bb - by * ab) / determinant, (by * aa - ay * ab) / determinant))
    return min((c for c in candidates if c[0] >= 0 and c[1] >= most),
               key=lambda c: sum((a * c[0] + b * c[1] - y) ** 2 for a, b, y in rows))


def fit(platform: Platform, pairs: Sequence[Pair], traces: Sequence[Trace]) -> Fit:
    """Fits cost and bandwidth of messages to the pairs that were measured on two ranks; without any, believes the
    platform."""
    rows = []
    for pair, trace in zip(pairs, traces):
        assert pair.two
        rounds, size = rounds_and_bytes(trace)
        unit = seconds_of(pair.two.rungs[0])  # errors count relative to the unit
        rows.append((rounds / unit, size / unit, (unit - pair.seconds) / unit))
    if not rows:
        return Fit(platform.node.latency, platform.node.bandwidth)
    g = 1 / platform.node.bandwidth
    s, g = least_squares(rows if len(rows) > 2 else [(a, 0.0, y - b * g) for a, b, y in rows], g)
    out = Fit(s, 1 / g)
    for pair, trace in zip(pairs, traces):
        assert pair.two
        rounds, size = rounds_and_bytes(trace)
        out.pairs.append(Fitted(app=pair.one.program, rung=pair.rung.name, one_seconds=seconds_of(pair.rung),
                                computing_seconds=pair.seconds, two_seconds=seconds_of(pair.two.rungs[0]),
                                predicted_seconds=pair.seconds + rounds * s + size * g,
                                messages=rounds, bytes=size))
    return out


def fitted(platform: Platform, found: Fit) -> tuple[Platform, float]:
    """Returns the platform with the fitted bandwidth and latency in a node, and what a message costs each end."""
    node = network.Link(bandwidth=min(found.bandwidth, platform.node.bandwidth),
                        latency=min(found.per_message, platform.node.latency))
    return replace(platform, node=node), (found.per_message - node.latency) / 2


# ---- The prediction ----

def predict(simulator: Simulator, pair: Pair, program: str, ranks: int) -> Predicted:
    begin, spent = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    trace = trace_of(program, pair.one, ranks)
    each = simulator.seconds(trace)
    worst, best = ({name: step.often * each[name][which] for name, step in distinct(trace).items()} for which in (0, -1))
    one, computing = seconds_of(pair.rung), seconds_of(pair.rung) * pair.computing
    unit, least = computing + sum(worst.values()), computing + sum(best.values())
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak = max(now.ru_maxrss, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return Predicted(ranks=ranks, seconds_per_unit=unit, efficiency=one / unit, best_seconds_per_unit=least,
                     best_efficiency=one / least, computing_seconds=computing, steps=worst, best_steps=best,
                     remark=trace.remark,
                     simulator_seconds=time.monotonic() - begin, simulator_bytes=peak * 1024,
                     simulator_cpu_seconds=now.ru_utime + now.ru_stime - spent.ru_utime - spent.ru_stime)


class Prediction(NamedTuple):
    """Of one app: points, the pair they rest on, and the fit."""
    points: list[Predicted]
    pair: Pair
    fit: Fit


def main(app: str, platform_name: str, ranks: Sequence[int], folders: Sequence[str],
         bindir: Optional[str]) -> tuple[Prediction, Json]:
    """Predicts, and prints as it goes; returns the prediction, and what it rests on for the file."""
    platform = network.load(platform_name)
    if not shutil.which('smpirun'):
        raise Fault(ENVIRONMENT, INSTALL)
    pairs = pairs_of(list(results_in(folders)), platform.over)
    own = [pair for pair in pairs if pair.one.program == app]
    if not own:
        what = 'a GPU' if platform.over == 'GPUs' else 'one CPU rank'
        raise Fault(USAGE, f'--measured {" ".join(folders)}: no VALID result of {app} on {what}: '
                    f'rooftop scale {app} --weak --ranks 1,2 makes one, and what is fitted')
    pair, program = max(own, key=lambda pair: (pair.two is not None, work_of(pair.one))), programs.find(app, bindir)
    with_two = [other for other in own if other.two and other.rung.name == pair.rung.name]
    found = fit(platform, with_two, [trace_of(program, other.one, 2) for other in with_two])
    machine, end = fitted(platform, found)
    print_fit(found, machine, end)
    simulator, points = Simulator(machine, end), []
    for count in ranks:
        points.append(predict(simulator, pair, program, count))
        print(f'{count} {platform.over}: simulated in {points[-1].simulator_seconds:.0f} s, '
              f'{points[-1].simulator_bytes / 2 ** 20:.0f} MiB', file=sys.stderr, flush=True)
    basis: Json = {'platform': machine.to_json(), 'per_message_seconds': found.per_message,
                   'end_seconds': end, 'options': pair.one.options, 'rung': pair.rung.name,
                   'measured_on': pair.one.gpu or pair.one.cpu, 'settings': list(SETTINGS)}
    return Prediction(points, pair, found), basis


def print_fit(found: Fit, platform: Platform, end: float) -> None:
    print(f'platform  {platform.name}\n          assumed: {platform.assumed}')
    if not found.pairs:
        print('fit       nothing was measured on two ranks: messages cost what the platform says, and their ends nothing')
        return
    print(f'fit       a message takes {1e6 * found.per_message:.2f} us and 1 byte per {1e-9 * found.bandwidth:.3g} GB/s; '
          f'latency {1e6 * platform.node.latency:.2f} us, each end {1e6 * end:.2f} us')
    print(f'{"":10}{"app":12}{"rung":14}{"1 rank us":>12}{"2 ranks us":>12}{"predicted":>12}{"error":>8}')
    for one in found.pairs:
        error = one.predicted_seconds / one.two_seconds - 1
        print(f'{"":10}{one.app:12}{one.rung:14}{1e6 * one.one_seconds:12.2f}{1e6 * one.two_seconds:12.2f}'
              f'{1e6 * one.predicted_seconds:12.2f}{100 * error:+7.1f} %'
              f'{"" if abs(error) <= NEAR else "  far off: see docs/running.md"}')
    if len(found.pairs) == 1:
        print('          one number was fitted to one measurement: that they agree says nothing; measure another size too')


def between(low: float, high: float, width: int) -> str:
    text = f'{low:.1f}' if f'{low:.1f}' == f'{high:.1f}' else f'{low:.1f} to {high:.1f}'
    return f'{text:>{width}}'


def print_points(points: Sequence[Predicted], over: str) -> None:
    """Prints the predicted points, and what takes the time at each."""
    names = list(dict.fromkeys(name for point in points for name in point.steps))
    print(f'{"PREDICTED":10}{over:>6}{"us per unit":>22}{"efficiency":>19}{"compute us":>12}'
          + ''.join(f'{name:>22}' for name in names))
    for point in points:
        each = ''.join(between(1e6 * point.best_steps[name], 1e6 * point.steps[name], 22) for name in names)
        print(f'{"":10}{point.ranks:6}{between(1e6 * point.best_seconds_per_unit, 1e6 * point.seconds_per_unit, 22)}'
              f'{between(100 * point.efficiency, 100 * point.best_efficiency, 17)} %'
              f'{1e6 * point.computing_seconds:12.1f}{each}')
    for remark in dict.fromkeys(point.remark for point in points if point.remark):
        print(f'{"":10}trace: {remark}')
