"""`rooftop doctor`: each line says OK, or what to do. What can be tried is tried: MPI is started, ranks are asked where
they run, and device memory is sent through MPI."""
import argparse
import os
import platform
import re
import shlex
from typing import NamedTuple, Optional

from . import ENVIRONMENT, VALID, Fault, machine, programs, quiet, results
from .cli import count

ARCHITECTURES = re.compile(r'architectures ([\d,a-z]+)')


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


class Findings:
    def __init__(self) -> None:
        self.rows: list[Finding] = []

    def ok(self, name: str, text: str) -> None:
        self.rows.append(Finding('OK', name, text))

    def note(self, name: str, text: str, remedy: str = '') -> None:
        self.rows.append(Finding('NOTE', name, text, remedy))

    def fix(self, name: str, text: str, remedy: str) -> None:
        self.rows.append(Finding('FIX', name, text, remedy))


# ---- The programs ----

def check_programs(found: Findings, bindir: Optional[str]) -> dict[str, str]:
    """Returns {app: path} of the programs that start."""
    there: dict[str, str] = {}
    versions: set[str] = set()
    for app in results.APPS:
        try:
            program = programs.find(app, bindir)
            versions.add(programs.version(program)['version'])
            there[app] = program
        except Fault as fault:
            hint = 'install the NVIDIA driver, or configure with a Kokkos without CUDA' if 'libcuda' in str(fault) else \
                'run ./configure && make, or give --bindir'
            found.fix('programs', str(fault), hint)
    if len(versions) > 1:
        found.fix('programs', f'versions {", ".join(sorted(versions))} are mixed', 'build all four again')
    elif len(there) == len(results.APPS):
        missing = {'--window', '--nonce'} - programs.options(there['nekbone'])
        if missing:
            found.fix('programs', f'too old for {", ".join(sorted(missing))}', 'build them again')
        else:
            found.ok('programs', f'all four, version {versions.pop()}, {os.path.dirname(there["nekbone"])}')
    return there


# ---- GPU ----

def check_gpu(found: Findings, there: dict[str, str]) -> list[dict[str, str]]:
    """Returns the NVIDIA GPUs."""
    all_gpus = machine.gpus()
    gpus = [gpu for gpu in all_gpus if gpu['compute_cap']]
    kokkos = programs.version(there['nekbone']).get('Kokkos', '') if there.get('nekbone') else ''
    for i, gpu in enumerate(gpu for gpu in all_gpus if gpu not in gpus):
        what = ', '.join(text for text in (gpu['name'], gpu['memory.total']) if text)
        if machine.is_gpu_backend(kokkos):
            found.ok(f'GPU {i}', f'{what}: Kokkos rungs run on it')
        else:
            found.fix(f'GPU {i}', f'{what}: no rung can use it', 'build Kokkos with HIP or SYCL, then configure '
                      '--with-kokkos=DIR (docs/portability.md)')
    built = programs.version(there['nekbone']).get('CUDA', '') if there.get('nekbone') else ''
    has_cuda = bool(built) and 'not in this build' not in built
    if not all_gpus:
        where = 'an NVIDIA driver is loaded, but nvidia-smi lists no GPU' \
            if os.path.exists('/proc/driver/nvidia/version') else 'nvidia-smi, rocm-smi and xpu-smi list none'
        found.note('GPU', where, 'CPU rungs run without one' if not has_cuda else
                   'the programs have CUDA rungs: install the driver, or run where there is a GPU')
    for i, gpu in enumerate(gpus):
        found.ok(f'GPU {i}', f'{gpu["name"]}, {gpu["memory.total"]}, driver {gpu["driver_version"]}, '
                 f'compute capability {gpu["compute_cap"]}')
        if gpu['mig.mode.current'] == 'Enabled':
            found.note(f'GPU {i}', 'MIG is on: figures are of one part of the GPU')
    if gpus and not has_cuda and 'cuda' in kokkos.lower():
        found.ok('CUDA', f'the programs have no CUDA rungs; Kokkos rungs run on the GPU ({kokkos})')
    elif gpus and not has_cuda:
        found.fix('CUDA', 'the programs have no CUDA rungs', 'configure --with-cuda (CUDA Toolkit 12.3 or later)')
    elif has_cuda:
        check_architectures(found, built, gpus)
    return gpus


def check_architectures(found: Findings, built: str, gpus: list[dict[str, str]]) -> None:
    """Checks that the binary has machine code for these GPUs."""
    match = ARCHITECTURES.search(built)
    archs = match[1].split(',') if match else []
    wanted = sorted({gpu['compute_cap'].replace('.', '') for gpu in gpus})
    missing = [arch for arch in wanted if arch not in [re.sub(r'\D', '', a) for a in archs]]
    if missing:
        found.fix('architectures', f'the programs are for {",".join(archs) or "?"}, the GPU is {",".join(missing)}',
                   f'configure --with-cuda-arch={",".join(missing)}: else the driver compiles other code at start')
    else:
        found.ok('architectures', built)


def check_counters(found: Findings, gpus: list[dict[str, str]]) -> None:
    """Checks that users may read the GPU's counters (Nsight Compute)."""
    if not gpus:
        return
    ncu = machine.said('ncu', '--version').strip().splitlines()
    only_root = re.search(r'RmProfilingAdminOnly:\s*(\d)', machine.read('/proc/driver/nvidia/params'))
    if not ncu:
        found.note('counters', 'no ncu on PATH', 'install Nsight Compute: climb then prints its counters')
    elif only_root and only_root[1] == '1' and os.geteuid() != 0:
        found.fix('counters', 'only root may read them', 'options nvidia NVreg_RestrictProfilingToAdminUsers=0 in '
                   '/etc/modprobe.d, then load the driver again')
    else:
        found.ok('counters', ncu[-1])


# ---- MPI ----

def check_mpi(found: Findings, program: str, launcher: Optional[str], ranks: int) -> None:
    """Starts ranks, which print where they run."""
    words = programs.launcher_words(launcher, ranks)
    if 'this build has no MPI' in programs.version(program).get('MPI', ''):
        return found.note('MPI', 'the programs are built without it, for one rank', 'install libopenmpi-dev openmpi-bin, '
                          'then configure again')
    problem = ['--elements', '4x4x4', '--iterations', '1', '--seconds', '0', '--share-device']
    command = programs.launched([program, *problem], words, ranks)
    try:
        ended = programs.run(command, limit=120)
    except Fault as fault:
        return found.fix('MPI', str(fault), "install openmpi-bin, or give --launcher 'srun -n {ranks}'")
    if ended.exit != 0:
        said, _, remedy = programs.reason(ended).partition('; ')
        return found.fix('MPI', f'{shlex.join(command[:3])}: {said}', remedy or 'try the command by hand')
    library = re.search(r'^MPI\s+(.*)', ended.text, re.M)
    found.ok('MPI', f'{ranks} ranks by {shlex.join(command[:-1 - len(problem)])}; {library[1] if library else ""}')
    check_binding(found, ended.text, ranks)


def cores_of(text: str) -> set[int]:
    """Returns a set of cores, from '0-3,8'."""
    cores: set[int] = set()
    for first, last in re.findall(r'(\d+)(?:-(\d+))?', text):
        cores |= set(range(int(first), int(last or first) + 1))
    return cores


def check_binding(found: Findings, text: str, ranks: int) -> None:
    """Checks that the ranks of a host have cores of their own."""
    rows = re.findall(r'^rank (\d+): ([^,]+), .*?, cores ([\d,\- ]+?), \d+ thread', text, re.M)
    if len(rows) != ranks:
        return found.note('binding', 'the ranks do not print which cores they have')
    shared = [(a, b) for i, (a, host, mine) in enumerate(rows) for b, other, theirs in rows[i + 1:]
              if host == other and cores_of(mine) & cores_of(theirs)]
    if shared:
        return found.fix('binding', f'ranks {shared[0][0]} and {shared[0][1]} share cores',
                          'mpirun --bind-to core --map-by socket, srun --cpu-bind=cores')
    here = platform.node().split('.')[0]
    used = machine.cores(set().union(*(cores_of(mine) for _, host, mine in rows if host.split('.')[0] == here)))
    if 0 < 4 * used < 3 * machine.cores():
        return found.note('binding', f'{ranks} ranks have {used} of {machine.cores()} cores',
                          'mpirun --map-by slot:PE=CORES --bind-to core, srun --cpus-per-task=CORES')
    return found.ok('binding', '; '.join(f'rank {rank}: {host} cores {cores}' for rank, host, cores in rows[:4]) +
                    ('; ..' if ranks > 4 else ''))


# ---- The machine ----

def check_kokkos(found: Findings, program: str) -> None:
    said = programs.version(program).get('Kokkos', '')
    if said in ('', 'not in this build'):
        found.note('Kokkos', 'not in the programs', 'install Debian\'s libtrilinos-kokkos-dev or a Kokkos with CUDA, '
                   'then configure --with-kokkos=DIR')
    elif said.split()[-1] == 'Serial':
        found.note('Kokkos', f'{said}: one thread', 'a Kokkos with OpenMP or CUDA, configure --with-kokkos=DIR')
    else:
        found.ok('Kokkos', said)


def check_blas(found: Findings, program: str) -> None:
    """Checks that dgemm, which nekbone's own products are compared with, is of a fast library."""
    said = programs.version(program).get('BLAS', '')
    if said.startswith(programs.SLOW_BLAS):
        found.note('BLAS', f'{programs.SLOW_BLAS}: what `rooftop study` gains over dgemm says nothing',
                   'apt install libopenblas-dev (or BLIS, MKL), then configure again')
    elif said in ('', 'not in this build'):
        found.note('BLAS', 'none: nekbone has no dgemm', 'apt install libopenblas-dev, then configure again')
    else:
        found.ok('BLAS', said)


def check_machine(found: Findings) -> None:
    whole, free = machine.memory()
    cores = len(os.sched_getaffinity(0))
    line = f'{free / 2**30:.1f} of {whole / 2**30:.1f} GiB free, {cores} cores, {machine.cpu()}'
    if free < 1 << 30:
        found.fix('memory', line, 'end other programs, or use --size tiny')
    else:
        found.ok('memory', line)
    governors = machine.governors()
    if not governors:
        found.note('frequency', 'the system shows no governor (a virtual machine, or a fixed frequency)')
    elif governors == ['performance']:
        found.ok('frequency', 'governor performance')
    networks = machine.interconnect()
    found.note('network', 'the system names none') if not networks else found.ok('network', '; '.join(networks))
    disturbed = quiet.disturbances()
    for one in disturbed:
        found.fix('disturbed', one.text, one.remedy)
    if not any(one.passes for one in disturbed):
        found.ok('load', 'nothing else runs')


def examine(bindir: Optional[str] = None, launcher: Optional[str] = None, ranks: int = 2) -> list[Finding]:
    """Returns all findings."""
    found = Findings()
    there = check_programs(found, bindir)
    gpus = check_gpu(found, there)
    check_counters(found, gpus)
    if there.get('nekbone'):
        check_mpi(found, there['nekbone'], launcher, ranks)
        check_kokkos(found, there['nekbone'])
        check_blas(found, there['nekbone'])
    check_machine(found)
    return found.rows


def main(args: argparse.Namespace) -> int:
    rows = examine(args.bindir, args.launcher, args.ranks)
    wrong = [row for row in rows if row.state == 'FIX']
    for row in rows:
        print(f'{row.state:5}{row.name:14} {row.text}{" -> " if row.remedy else ""}{row.remedy}')
    print(f'doctor: {len(wrong)} to fix' if wrong else 'doctor: nothing to fix')
    return ENVIRONMENT if wrong else VALID
