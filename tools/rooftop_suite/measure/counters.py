"""`rooftop counters APP --rung R`: the work model of a rung against the counters of the GPU, kernel by kernel.

The rung is run once for its time and its work, and once under Nsight Compute (ncu) with --profile, whose second solve is
an NVTX range of the rung's name: checks and set-up are not counted, and the units of one solve are known. ncu empties
the caches before each launch: all that a kernel reads comes from DRAM, but some of what it wrote is still in L2 when
the counter is read. The counters are added to the result; `rooftop explain` shows them.
"""
import argparse
import csv
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from .. import ENVIRONMENT, INVALID, USAGE, VALID, Fault, Json, aligned, results
from ..cli import seconds
from ..results import Rung, disk, explain, figures
from . import programs

MOST, LEAST = 0.03, 0.99  # flops may differ by that share; of the model's bytes, so much must be in DRAM's counters
SASS = 'sm__sass_thread_inst_executed_op_{}_pred_on.sum'
COUNTERS = {  # metric: what it counts, and times what
    **{SASS.format(f'{t}{op}'): ('flop', times) for t in 'df' for op, times in (('add', 1), ('mul', 1), ('fma', 2))},
    'dram__bytes_read.sum': ('read_bytes', 1),
    'dram__bytes_write.sum': ('written_bytes', 1),
    'lts__t_sectors.sum': ('l2_bytes', 32),
    'l1tex__data_pipe_lsu_wavefronts_mem_shared.sum': ('shared_bytes', 128)}
# Not hadd, hmul and hfma: no rung computes in FP16 but on tensor cores, and compilers convert and load constants with them.
TENSOR = {f'sm__ops_path_tensor_src_{types}.sum': ('flop', 1)
          for types in ('fp64', 'tf32_dst_fp32', 'bf16_dst_fp32', 'fp16_dst_fp32', 'fp16_dst_fp16')}


class Amount(NamedTuple):
    """What a kernel does in a unit, by the model or, with launches as calls, by counters; its bytes are those of DRAM."""
    calls: float = 0.0
    flop: float = 0.0
    read_bytes: float = 0.0
    written_bytes: float = 0.0
    l2_bytes: float = 0.0
    shared_bytes: float = 0.0

    @property
    def moved(self) -> float:
        return self.read_bytes + self.written_bytes


def total(amounts: Iterable[Amount]) -> Amount:
    return Amount(*map(sum, zip(Amount(), *amounts)))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('app', metavar='APP', help=', '.join(results.APPS))
    parser.add_argument('--rung', metavar='NAME', required=True, help='a rung of a GPU')
    parser.add_argument('--json', metavar='FILE', help='for the result with its counters (default: counters-APP-NAME.json)')
    parser.add_argument('--limit', type=seconds, default=600.0, metavar='S', help='most seconds per run (default 600)')
    programs.add_arguments(parser)


def profile(ncu: str, command: Sequence[str], name: str, limit: float, metrics: Json) -> str:
    """Returns what ncu writes of the kernels in the range of this name; Fault if it cannot."""
    with tempfile.TemporaryDirectory(prefix='rooftop_') as folder:
        log = os.path.join(folder, 'log')
        ended = programs.run([ncu, '--nvtx', '--nvtx-include', f'{name}/', '--metrics', ','.join(metrics), '--csv',
                              '--page', 'raw', '--print-units', 'base', '--print-kernel-base', 'function',
                              '--log-file', log, *command], limit=limit)
        text = disk.read_bytes(log).decode('utf-8', 'replace') if os.path.exists(log) else ''
    error = re.search(r'^==ERROR== (.*)', text + ended.text, re.M)
    if 'ERR_NVGPUCTRPERM' in text + ended.text:
        raise Fault(ENVIRONMENT, 'ncu: counters are for root here (ERR_NVGPUCTRPERM): be root, or see docs/profiling.md')
    if error or ended.exit != VALID:
        raise Fault(ENVIRONMENT, f'ncu: {error[1] if error else programs.reason(ended)}')
    return text


def kernel_of(row: Json, lines: Sequence[str]) -> str:
    """Returns the line of the model that a launch belongs to, by its ranges, innermost first, or by a word of its name;
    the name itself if there is none. A model of one line stands for all kernels."""
    ranges = next((value for head, value in row.items() if 'Push/Pop_Range' in head), '')
    words = [*reversed(re.findall(r'"[^":]*:([^":]*)', ranges)), *row['Kernel Name'].split('_')]
    return lines[0] if len(lines) == 1 else next((word for word in words if word in lines), row['Kernel Name'])


def counted(text: str, lines: Sequence[str], units: float, metrics: Json) -> dict[str, Amount]:
    """Returns what kernels did in a unit, from a raw page of ncu, whose second row has no ID."""
    found: dict[str, Amount] = {}
    for row in csv.DictReader([line for line in text.splitlines(keepends=True) if not line.startswith('==')]):
        if not row.get('ID'):
            continue
        amounts = {**dict.fromkeys(Amount._fields, 0.0), 'calls': 1 / units}
        for metric, (what, times) in metrics.items():
            try:
                amounts[what] += times * float(row[metric].replace(',', '')) / units
            except (KeyError, ValueError):
                raise Fault(ENVIRONMENT, f'ncu: {metric} was not counted: {row.get(metric)}') from None
        kernel = kernel_of(row, lines)
        found[kernel] = total([found.get(kernel, Amount()), Amount(**amounts)])
    if not found:
        raise Fault(ENVIRONMENT, 'ncu saw no kernel in the profiled solve: was the program built with NVTX?')
    return found


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
    models = {one.kernel: Amount(one.calls, *(one.calls * each for each in (one.flop, one.read_bytes, one.written_bytes)))
              for one in row.work}
    names = [*dict.fromkeys([*models, *found]), 'all']
    model, seen = ([*(of.get(name, Amount()) for name in names[:-1]), total(of.values())] for of in (models, found))
    columns: list[Any] = [names]
    for pairs in ([(m.flop, s.flop) for m, s in zip(model, seen)], [(m.moved, s.moved) for m, s in zip(model, seen)]):
        columns += [figures.column([value or None for value in values], 1e6) for values in zip(*pairs)]
        columns.append([f'{new / old:.3f}' if old and new else figures.DASH for old, new in pairs])
    columns += [figures.column([one or None for one in ones], 1e6) for ones in list(zip(*seen))[-2:]]
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
    tensor = {metric: of for metric, of in TENSOR.items() if metric[:-4] in named}
    metrics = {**COUNTERS, **tensor}
    text = profile(ncu, [program, *words, '--seconds', '0', '--profile'], args.rung, args.limit, metrics)
    found = counted(text, [one.kernel for one in row.work], row.units_per_solve, metrics)
    value = disk.parse(path)
    value['rungs'][0]['counters'] = [{'kernel': kernel, **one._asdict()} for kernel, one in found.items()]
    disk.save(path, value)
    print(f"{args.rung}: per {row.unit}, by the work model and by ncu's counters, caches empty before each kernel")
    cache = max(of.l2_bytes or 0 if of else 0 for of in (result.ceilings('gpu'), explain.machine_of(got.result.gpu)))
    wrong = compare(row, found, cache)
    print(*wrong, *([] if tensor else ['flops of tensor cores are not counted: this ncu has no counter of them']),
          *([] if cache else ['DRAM is not judged: the size of L2 is not known']), f'{path}: with counters', sep='\n')
    return INVALID if wrong else VALID
