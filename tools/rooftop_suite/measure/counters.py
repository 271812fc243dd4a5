"""`rooftop counters APP --rung R`: the work model of a rung against the counters of the GPU, kernel by kernel.

The rung is run once for its time and its work, and once under Nsight Compute (ncu) with --profile, whose second solve is
an NVTX range of the rung's name: checks and set-up are not counted, and the units of one solve are known. ncu empties
the caches before each launch: all that a kernel reads comes from DRAM, but some of what it wrote is still in L2 when
the counter is read. Each launch is timed too, at the clock of the run. `rooftop explain` shows what is added to the result.
"""
import argparse
import csv
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from typing import Any

from .. import ENVIRONMENT, INVALID, USAGE, VALID, Fault, Json, aligned, results
from ..cli import seconds
from ..results import Rung, disk, explain, figures
from ..results.records import Record, rule_of
from . import programs

MOST, LEAST = 0.03, 0.99  # flops may differ by that share; of the model's bytes, so much must be in DRAM's counters
SASS = 'sm__sass_thread_inst_executed_op_{}_pred_on.sum'
COUNTERS: dict[str, tuple[str, float]] = {  # metric: what it counts, and times what
    **{SASS.format(f'{t}{op}'): ('flop', times) for t in 'df' for op, times in (('add', 1), ('mul', 1), ('fma', 2))},
    'dram__bytes_read.sum': ('read_bytes', 1),
    'dram__bytes_write.sum': ('written_bytes', 1),
    'lts__t_sectors.sum': ('l2_bytes', 32),
    'l1tex__data_pipe_lsu_wavefronts_mem_shared.sum': ('shared_bytes', 128)}
# Not hadd, hmul and hfma: no rung computes in FP16 but on tensor cores, and compilers convert and load constants with them.
TENSOR = {f'sm__ops_path_tensor_src_{types}.sum'
          for types in ('fp64', 'tf32_dst_fp32', 'bf16_dst_fp32', 'fp16_dst_fp32', 'fp16_dst_fp16')}
# Why a warp does not issue; `not_selected`: because another does.
STALLS = {
    'memory_wait_seconds': 'long_scoreboard lg_throttle drain membar', 'barrier_wait_seconds': 'barrier',
    'shared_wait_seconds': 'short_scoreboard mio_throttle', 'sleep_seconds': 'sleeping', 'issue_wait_seconds':
    'wait math_pipe_throttle dispatch_stall no_instruction not_selected branch_resolve imc_miss misc tex_throttle'}
OPTIONAL: dict[str, tuple[str, float]] = {  # not each ncu has them
    'gpu__time_duration.sum': ('seconds', 1e-9), 'smsp__inst_executed.sum': ('instructions', 1),
    'sm__cycles_active.avg': ('active', 1), 'sm__cycles_elapsed.max': ('elapsed', 1),
    **{f'smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio': (of, 1)
       for of, reasons in STALLS.items() for reason in reasons.split()}, **dict.fromkeys(TENSOR, ('flop', 1))}


class Amount(Record, kind='counter'):
    """What a kernel does in a unit, by the model or, with launches as calls, by counters; its bytes are those of DRAM."""

    @property
    def moved(self) -> float:
        return float(self.read_bytes + self.written_bytes)


def total(amounts: Iterable[Amount]) -> Amount:
    """Returns the sums; of none, and of what none has, 0."""
    known, names = list(amounts), rule_of('counter')['properties'].keys() - {'kernel'}
    return Amount(**{name: sum(one.get(name, 0.0) for one in known) for name in sorted(names)})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('app', metavar='APP', help=', '.join(results.APPS))
    parser.add_argument('--rung', metavar='NAME', required=True, help='a rung of a GPU')
    parser.add_argument('--json', metavar='FILE', help='for the result with its counters (default: counters-APP-NAME.json)')
    parser.add_argument('--limit', type=seconds, default=600.0, metavar='S', help='most seconds per run (default 600)')
    programs.add_arguments(parser)


def profile(ncu: str, command: Sequence[str], name: str, limit: float, metrics: Sequence[str]) -> str:
    """Returns what ncu writes of the kernels in the range of this name; Fault if it cannot."""
    with tempfile.TemporaryDirectory(prefix='rooftop_') as folder:
        log = os.path.join(folder, 'log')
        ended = programs.run([ncu, '--nvtx', '--nvtx-include', f'{name}/', '--metrics', ','.join(metrics), '--csv',
                              '--page', 'raw', '--print-units', 'base', '--print-kernel-base', 'function',
                              '--clock-control', 'none', '--log-file', log, *command], limit=limit)
        text = disk.read_bytes(log).decode('utf-8', 'replace') if os.path.exists(log) else ''
    error = re.search(r'^==ERROR== (.*)', text + ended.text, re.M)
    if 'ERR_NVGPUCTRPERM' in text + ended.text:
        raise Fault(ENVIRONMENT, 'ncu: counters are for root here (ERR_NVGPUCTRPERM): be root, or see docs/profiling.md')
    if error or ended.exit != VALID:
        raise Fault(ENVIRONMENT, f'ncu: {error[1] if error else programs.reason(ended)}')
    return text


def kernel_of(row: Json, lines: Sequence[str]) -> str:
    """Returns the line of the model that a launch belongs to, by its ranges, innermost first, or by a word of its name,
    `sweeps` for `sweep` too; the name itself if there is none. A model of one line stands for all kernels."""
    ranges = next((value for head, value in row.items() if 'Push/Pop_Range' in head), '')
    name = str(row['Kernel Name'])
    words = [*reversed(re.findall(r'"[^":]*:([^":]*)', ranges)), *name.split('_')]
    known: list[str] = [line for word in words for line in (word, word.rstrip('s')) if line in lines]
    return lines[0] if len(lines) == 1 else known[0] if known else name


def of_launch(row: Json, units: float, metrics: Json) -> Amount:
    """Returns what a launch adds to a unit. While there are blocks, time goes by the stalls of their warps."""
    amounts = dict.fromkeys(['active', 'elapsed', *total([])], 0.0)
    for metric, (what, times) in metrics.items():
        amounts[what] += times * float(row[metric].replace(',', ''))
    active, elapsed, stalls = amounts.pop('active'), amounts.pop('elapsed'), sum(amounts[of] for of in STALLS)
    share = min(1.0, active / elapsed) if elapsed else 1.0
    amounts['tail_seconds'] = amounts['seconds'] * (1 - share)
    for of in STALLS:
        amounts[of] *= amounts['seconds'] * share / stalls if stalls else 0.0
    return Amount(**{**{what: amount / units for what, amount in amounts.items()}, 'calls': 1 / units})


def counted(text: str, lines: Sequence[str], units: float) -> tuple[dict[str, Amount], list[str]]:
    """Returns what kernels did in a unit, and what was not counted, from a raw page of ncu, whose second row has no ID."""
    page = csv.DictReader([line for line in text.splitlines(keepends=True) if not line.startswith('==')])
    rows, found = [row for row in page if row.get('ID')], dict[str, list[Amount]]()
    if not rows:
        raise Fault(ENVIRONMENT, 'ncu saw no kernel in the profiled solve: was the program built with NVTX?')
    lacks = {metric for row in rows for metric in (*COUNTERS, *OPTIONAL) if not re.match(r'\d', row.get(metric) or '')}
    if lacks & COUNTERS.keys():
        raise Fault(ENVIRONMENT, f'ncu: {min(lacks & COUNTERS.keys())} was not counted')
    known = {metric: of for metric, of in {**COUNTERS, **OPTIONAL}.items() if metric not in lacks}
    for row in rows:
        found.setdefault(kernel_of(row, lines), []).append(of_launch(row, units, known))
    return {kernel: total(launches) for kernel, launches in found.items()}, sorted(lacks)


def faults(name: str, model: Amount, seen: Amount, touched: float, cache: float) -> list[str]:
    """Returns what is wrong. cache: bytes of L2, where some may stay: what a launch wrote, and what one that is several
    calls of the model reads again."""
    stays = min(model.written_bytes, seen.calls * cache) + max(0.0, model.calls - seen.calls) * cache
    low = touched > cache > 0 and seen.moved + stays < LEAST * model.moved
    differs = abs(seen.flop - model.flop) > MOST * model.flop > 0
    return [*([f'{name}: {100 * (seen.flop / model.flop - 1):+.1f} % flops, more than {100 * MOST:g} %'] if differs else []),
            *([f'{name}: DRAM {1e-6 * seen.moved:.1f} MB, less than the least of the model'] if low else [])]


def compare(row: Rung, found: dict[str, Amount], cache: float) -> list[str]:
    """Prints the table; returns what is wrong."""
    parts = ('flop', 'read_bytes', 'written_bytes')
    models = {one.kernel: Amount(calls=one.calls, **{name: one.calls * one[name] for name in parts}) for one in row.work}
    names = [*dict.fromkeys([*models, *found]), 'all']
    visible = {name: one for name, one in models.items() if one.flop or name in found}  # ncu sees no memset: r = 0 of alya-rhs
    model, seen = ([*(of.get(name, total([])) for name in names[:-1]), total(part.values())]
                   for of, part in ((models, visible), (found, found)))
    columns: list[Any] = [names]
    for pairs in ([(m.flop, s.flop) for m, s in zip(model, seen)], [(m.moved, s.moved) for m, s in zip(model, seen)]):
        columns += [figures.column([value or None for value in values], 1e6) for values in zip(*pairs)]
        columns.append([f'{new / old:.3f}' if old and new else figures.DASH for old, new in pairs])
    columns += [figures.column([one[name] or None for one in seen], 1e6) for name in ('l2_bytes', 'shared_bytes')]
    heads = ('kernel', 'Mflop', 'counted', 'ratio', 'MB', 'DRAM', 'ratio', 'L2', 'shared')
    print('\n'.join(aligned([heads, *zip(*columns)], (0,))))
    touched = {one.kernel: one.read_bytes + one.written_bytes for one in row.work}
    return [fault for name, m, s in zip(names, model, seen) if m.calls and s.calls
            for fault in faults(name, m, s, touched.get(name) or max(touched.values()), cache)]


def main(args: argparse.Namespace) -> int:
    program, ncu = programs.find(args.app, args.bindir), shutil.which('ncu')
    path = args.json or f'counters-{args.app}-{args.rung}.json'
    words = [f'--rung={args.rung}', '--quiet', *args.passed]
    if not ncu:
        raise Fault(ENVIRONMENT, "there is no ncu on PATH: it is NVIDIA's Nsight Compute; counters of a CPU are not read")
    got = programs.measure(program, words, path, limit=args.limit)
    if not got.result:
        raise Fault(programs.status_of(got.ended), f'{args.app}: {got.why}')
    row, result = got.result.rungs[0], figures.Result(got.result)
    if result.rungs[0].processor == 'cpu':
        raise Fault(ENVIRONMENT, f'{args.rung}: counters of a CPU are not read, by LIKWID or perf: name a rung of a GPU')
    if not (row.work and row.units_per_solve):
        raise Fault(USAGE, f'{args.rung} has no work by kernels, or no time: give --seconds above 0')
    named = programs.run([ncu, '--query-metrics'], limit=args.limit).text.split()  # an unknown name would end it
    metrics = [*COUNTERS, *(metric for metric in OPTIONAL if metric.rpartition('.')[0] in named)]
    text = profile(ncu, [program, *words, '--seconds', '0', '--profile'], args.rung, args.limit, metrics)
    found, lacks = counted(text, [one.kernel for one in row.work], row.units_per_solve)
    value = disk.parse(path)
    value['rungs'][0]['counters'] = [{'kernel': kernel, **one} for kernel, one in found.items()]
    disk.save(path, value)
    print(f"{args.rung}: per {row.unit}, by the work model and by ncu's counters, caches empty before each kernel")
    cache = max(of.l2_bytes or 0 if of else 0 for of in (result.ceilings('gpu'), explain.machine_of(got.result.gpu)))
    wrong = compare(row, found, cache)
    print(*wrong, *(f'this ncu has no counter {metric}' for metric in lacks if metric not in TENSOR),
          *(['flops of tensor cores are not counted: this ncu has no counter of them'] if TENSOR <= {*lacks} else []),
          *([] if cache else ['DRAM is not judged: the size of L2 is not known']), f'{path}: with counters', sep='\n')
    return INVALID if wrong else VALID
