"""`rooftop doctor`: each line says OK, or what to do. What can be tried is tried: MPI is started, and ranks are asked
where they run."""
import argparse
import os
import platform
import re
import shlex
from collections.abc import Iterator
from typing import NamedTuple, Optional

from .. import ENVIRONMENT, VALID, Fault, results
from ..cli import count
from . import machine, programs, quiet


def add_arguments(parser: argparse.ArgumentParser) -> None:
    programs.add_launcher(parser)
    parser.add_argument('--ranks', type=count, default=2, metavar='N', help='to try MPI with (default 2)')
    programs.add_arguments(parser)


class Finding(NamedTuple):
    """state: OK; NOTE: something is limited here, nothing to fix; FIX: what to do."""
    state: str
    name: str
    text: str
    remedy: str = ''


Findings = Iterator[Finding]


# ---- The programs ----

def check_programs(there: dict[str, str], bindir: Optional[str]) -> Findings:
    """Fills `there` with {app: path} of the programs that start."""
    versions: set[str] = set()
    for app in results.APPS:
        try:
            program = programs.find(app, bindir)
            versions.add(programs.version(program)['version'])
            there[app] = program
        except Fault as fault:
            yield Finding('FIX', 'programs', str(fault), 'install the NVIDIA driver, or configure with a Kokkos without CUDA'
                          if 'libcuda' in str(fault) else 'run ./configure && make, or give --bindir')
    if len(versions) > 1:
        yield Finding('FIX', 'programs', f'versions {", ".join(sorted(versions))} are mixed', 'build all four again')
    elif len(there) == len(results.APPS):
        yield Finding('OK', 'programs', f'all four, version {versions.pop()}, {os.path.dirname(there["nekbone"])}')


def check_libraries(program: str) -> Findings:
    """Says how fast the program's Kokkos and dgemm are. nekbone's own products are compared with dgemm."""
    for name, cure in (('Kokkos', 'a Kokkos with OpenMP or CUDA (Debian: libtrilinos-kokkos-dev has one thread)'),
                       ('BLAS', 'libopenblas-dev (or BLIS, MKL): else `rooftop reproduce cresta` says nothing on dgemm')):
        said = programs.version(program).get(name, 'not in this build')
        slow = said == 'not in this build' or said.endswith('Serial') or said.startswith(programs.SLOW_BLAS)
        yield Finding('NOTE' if slow else 'OK', name, said, f'install {cure}, then configure again' if slow else '')


# ---- GPU ----

def check_gpus(program: Optional[str]) -> Findings:
    """Checks that the programs have rungs for the GPUs."""
    gpus, said = machine.gpus(), programs.version(program) if program else {}
    kokkos, cuda = said.get('Kokkos', ''), said.get('CUDA', 'not in this build')
    has_cuda = 'not in this build' not in cuda
    if not gpus:
        yield Finding('NOTE', 'GPU', 'nvidia-smi, rocm-smi and xpu-smi list none', 'CPU rungs run without one' if not has_cuda else
                      'the programs have CUDA rungs: install the driver, or run where there is a GPU')
    for i, gpu in enumerate(gpus):
        what = ', '.join(filter(None, [gpu['name'], gpu['memory.total'], f'driver {gpu["driver_version"]}',
                                       gpu['compute_cap'] and f'compute capability {gpu["compute_cap"]}']))
        if gpu['compute_cap'] and has_cuda or results.is_gpu_backend(kokkos):
            yield Finding('OK', f'GPU {i}', what)
        else:
            yield Finding('FIX', f'GPU {i}', f'{what}: no rung can use it', 'configure --with-cuda (CUDA Toolkit 12.3 or later)'
                          if gpu['compute_cap'] else 'build Kokkos with HIP or SYCL, then configure --with-kokkos=DIR '
                          '(docs/portability.md)')
        if gpu['mig.mode.current'] == 'Enabled':
            yield Finding('NOTE', f'GPU {i}', 'MIG is on: figures are of one part of the GPU')
    if has_cuda:
        built = set(re.findall(r'\d+', cuda.partition('architectures')[2]))
        missing = ','.join(sorted({gpu['compute_cap'].replace('.', '') for gpu in gpus} - {'', *built}))
        yield Finding('FIX', 'architectures', f'the programs are for {", ".join(sorted(built))}, the GPU is {missing}',
                      f'configure --with-cuda-arch={missing}: else the driver compiles other code at start') \
            if missing else Finding('OK', 'architectures', cuda)


# ---- MPI ----

def check_mpi(program: str, launcher: Optional[str], ranks: int) -> Findings:
    """Starts ranks, which print where they run."""
    words = programs.launcher_words(launcher, ranks)
    if 'this build has no MPI' in programs.version(program).get('MPI', ''):
        yield Finding('NOTE', 'MPI', 'the programs are built without it, for one rank', 'install libopenmpi-dev openmpi-bin, '
                      'then configure again')
        return
    command = programs.launched([program, '--elements=4x4x4', '--iterations=1', '--seconds=0', '--share-device'], words, ranks)
    try:
        ended = programs.run(command, limit=120)
    except Fault as fault:
        yield Finding('FIX', 'MPI', str(fault), "install openmpi-bin, or give --launcher 'srun -n {ranks}'")
        return
    if ended.exit != 0:
        said, _, remedy = programs.reason(ended).partition('; ')
        yield Finding('FIX', 'MPI', f'{shlex.join(command[:3])}: {said}', remedy or 'try the command by hand')
        return
    library = re.search(r'^MPI\s+(.*)', ended.text, re.M)
    yield Finding('OK', 'MPI', f'{ranks} ranks by {shlex.join(command[:-5])}; {library[1] if library else ""}')
    yield check_binding(ended.text, ranks)


def cores_of(text: str) -> set[int]:
    """Returns a set of cores, from '0-3,8'."""
    return {core for first, last in re.findall(r'(\d+)(?:-(\d+))?', text) for core in range(int(first), int(last or first) + 1)}


def check_binding(text: str, ranks: int) -> Finding:
    """Checks that the ranks of a host have cores of their own."""
    rows = re.findall(r'^rank (\d+): ([^,]+), .*?, cores ([\d,\- ]+?), \d+ thread', text, re.M)
    if len(rows) != ranks:
        return Finding('NOTE', 'binding', 'the ranks do not print which cores they have')
    shared = [(a, b) for i, (a, host, mine) in enumerate(rows) for b, other, theirs in rows[i + 1:]
              if host == other and cores_of(mine) & cores_of(theirs)]
    if shared:
        return Finding('FIX', 'binding', f'ranks {shared[0][0]} and {shared[0][1]} share cores',
                       'mpirun --bind-to core --map-by socket, srun --cpu-bind=cores')
    here = platform.node().split('.')[0]
    used = machine.cores(set().union(*(cores_of(mine) for _, host, mine in rows if host.split('.')[0] == here)))
    if 0 < 4 * used < 3 * machine.cores():
        return Finding('NOTE', 'binding', f'{ranks} ranks have {used} of {machine.cores()} cores',
                       'mpirun --map-by slot:PE=CORES --bind-to core, srun --cpus-per-task=CORES')
    return Finding('OK', 'binding', '; '.join(f'rank {rank}: {host} cores {cores}' for rank, host, cores in rows[:4]) +
                   ('; ..' if ranks > 4 else ''))


# ---- The machine ----

def check_machine() -> Findings:
    whole, free = machine.memory()
    line = f'{free / 2**30:.1f} of {whole / 2**30:.1f} GiB free, {len(os.sched_getaffinity(0))} cores, {machine.cpu()}'
    if free < 1 << 30:
        yield Finding('FIX', 'memory', line, 'end other programs, or use --size tiny')
    else:
        yield Finding('OK', 'memory', line)
    governors, networks, disturbed = machine.governors(), machine.interconnect(), quiet.disturbances()
    if not governors:
        yield Finding('NOTE', 'frequency', 'the system shows no governor (a virtual machine, or a fixed frequency)')
    elif governors == ['performance']:
        yield Finding('OK', 'frequency', 'governor performance')
    yield Finding('OK' if networks else 'NOTE', 'network', '; '.join(networks) or 'the system names none')
    for one in disturbed:
        yield Finding('FIX', 'disturbed', one.text, one.remedy)
    if not any(one.passes for one in disturbed):
        yield Finding('OK', 'load', 'nothing else runs')


def examine(args: argparse.Namespace) -> Findings:
    there: dict[str, str] = {}
    yield from check_programs(there, args.bindir)
    nekbone = there.get('nekbone')
    yield from check_gpus(nekbone)
    if nekbone:
        yield from check_mpi(nekbone, args.launcher, args.ranks)
        yield from check_libraries(nekbone)
    yield from check_machine()


def main(args: argparse.Namespace) -> int:
    wrong = 0
    for row in examine(args):
        wrong += row.state == 'FIX'
        print(f'{row.state:5}{row.name:14} {row.text}{" -> " if row.remedy else ""}{row.remedy}')
    print(f'doctor: {wrong} to fix' if wrong else 'doctor: nothing to fix')
    return ENVIRONMENT if wrong else VALID
