"""What a machine is, by asking the system and not the programs, so that a result can be checked against both."""
import functools
import glob
import json
import os
import platform
import re
import subprocess
from collections.abc import Collection
from typing import NamedTuple, Optional

from .. import Json

FOREIGN = ('LD_PRELOAD', 'LD_AUDIT', 'ROOFTOP_INPUTS')  # variables that bring code or inputs that are not a program's


def read(path: str) -> str:
    """Returns the text of a file, or '' if it cannot be read."""
    try:
        with open(path, encoding='utf-8', errors='replace') as file:
            return file.read()
    except OSError:
        return ''


def said(*command: str, limit: float = 30) -> str:
    """Returns what a command prints, or ''."""
    try:
        asked = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               encoding='utf-8', errors='replace', timeout=limit)
    except (OSError, subprocess.TimeoutExpired):
        return ''
    return asked.stdout if asked.returncode == 0 else ''


GPU_COLUMNS = ('name', 'uuid', 'driver_version', 'memory.total', 'power.limit', 'clocks.max.sm', 'mig.mode.current',
               'compute_cap')


def said_json(*command: str) -> Json:
    """Returns the object that a command prints, or {}."""
    try:
        value = json.loads(said(*command) or '{}')
        return value if isinstance(value, dict) else {}
    except ValueError:
        return {}


def amd_gpus() -> list[dict[str, str]]:
    """Returns the cards of rocm-smi."""
    cards = said_json('rocm-smi', '--showproductname', '--showuniqueid', '--showmeminfo', 'vram', '--showmaxpower',
                      '--showdriverversion', '--json')
    driver = str(cards.get('system', {}).get('Driver version', ''))
    found = []
    for _, card in sorted((name, card) for name, card in cards.items() if re.fullmatch(r'card\d+', name)):
        lower = {name.lower(): str(value) for name, value in card.items()}
        memory = lower.get('vram total memory (b)', '')
        watts = lower.get('max graphics package power (w)', '')
        found.append({'name': f'AMD {lower.get("card series", "GPU")}', 'uuid': lower.get('unique id', ''),
                      'driver_version': driver, 'memory.total': f'{int(memory) >> 20} MiB' if memory.isdigit() else '',
                      'power.limit': f'{watts} W' if watts else ''})
    return found


def intel_gpus() -> list[dict[str, str]]:
    """Returns the devices of xpu-smi."""
    devices = said_json('xpu-smi', 'discovery', '-j').get('device_list', [])
    return [{'name': str(device.get('device_name', 'Intel GPU')), 'uuid': str(device.get('uuid', ''))}
            for device in devices]


def gpus() -> list[dict[str, str]]:
    """Returns the GPUs that nvidia-smi, rocm-smi and xpu-smi list, with '' for what a tool does not say."""
    rows = said('nvidia-smi', f'--query-gpu={",".join(GPU_COLUMNS)}', '--format=csv,noheader').splitlines()
    nvidia = [dict(zip(GPU_COLUMNS, [word.strip() for word in row.split(',')])) for row in rows if row.count(',') >= 7]
    return nvidia + [{name: row.get(name, '') for name in GPU_COLUMNS} for row in amd_gpus() + intel_gpus()]


def memory() -> tuple[int, int]:
    """Returns bytes of memory: (all, available)."""
    rows = dict(re.findall(r'^(\w+):\s+(\d+) kB', read('/proc/meminfo'), re.M))
    return int(rows.get('MemTotal', 0)) << 10, int(rows.get('MemAvailable', 0)) << 10


def cpu() -> str:
    found = re.search(r'^(?:model name|CPU part|cpu)\s*:\s*(.*)', read('/proc/cpuinfo'), re.M)
    return found[1] if found else platform.machine()


def last_cache() -> int:
    """Returns bytes of all last-level caches together; 0 if they are not known."""
    found = {read(f'{at}/shared_cpu_list'): read(f'{at}/size') for at in glob.glob('/sys/devices/system/cpu/cpu*/cache/index3')}
    return sum(int(size.rstrip('K\n') or 0) << 10 for size in found.values())


def governors() -> list[str]:
    """Returns the frequency governors of the cores, each once."""
    return sorted({read(path).strip() for path in glob.glob('/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor')})


def system() -> str:
    found = re.search(r'^PRETTY_NAME="?([^"\n]*)', read('/etc/os-release'), re.M)
    return found[1] if found else platform.platform()


def cores(cpus: Optional[Collection[int]] = None) -> int:
    """Returns how many cores these CPUs are (default: those that this process may use). Threads of a core count once."""
    def core(cpu: int) -> tuple[str, str]:
        at = f'/sys/devices/system/cpu/cpu{cpu}/topology'
        return read(f'{at}/physical_package_id').strip(), read(f'{at}/core_id').strip() or f'cpu{cpu}'
    return len({core(cpu) for cpu in (os.sched_getaffinity(0) if cpus is None else cpus)})


def ticks(stat: str, cpus: Collection[int]) -> tuple[int, int, int]:
    """Returns the clock ticks of these CPUs since boot from the text of /proc/stat: all, those without work, those that a
    hypervisor gave to other machines."""
    whole = idle = stolen = 0
    for line in stat.splitlines():
        name, *numbers = line.split()
        if re.fullmatch(r'cpu\d+', name) and int(name[3:]) in cpus:
            spent = [int(number) for number in numbers[:8]]  # the other columns are part of the first two
            whole += sum(spent)
            idle += spent[3] + spent[4]
            stolen += spent[7] if len(spent) > 7 else 0
    return whole, idle, stolen


def ticks_now() -> tuple[int, int, int]:
    """Returns the ticks of the CPUs that this process may use."""
    return ticks(read('/proc/stat'), os.sched_getaffinity(0))


class Use(NamedTuple):
    """What happened to CPUs: how many were busy with processes, and the share of time that a hypervisor took."""
    busy: float
    stolen: float


def use_since(before: tuple[int, int, int]) -> Use:
    """Returns how the CPUs that this process may use were used. Without /proc/stat: by the load average."""
    whole, idle, stolen = (now - then for now, then in zip(ticks_now(), before))
    if whole <= 0:
        return Use(os.getloadavg()[0], 0.0)
    return Use(max(0.0, len(os.sched_getaffinity(0)) * (1 - (idle + stolen) / whole)), stolen / whole)


def interconnect() -> list[str]:
    """Returns the networks of this node, and what joins its GPUs, each with its speed as the system names it."""
    found = []
    for port in sorted(glob.glob('/sys/class/infiniband/*/ports/*')):
        if 'ACTIVE' in read(f'{port}/state'):
            found.append(f'{port.split("/")[4]}: {read(f"{port}/link_layer").strip()} {read(f"{port}/rate").strip()}')
    for device in sorted(glob.glob('/sys/class/net/*/device')):
        name = device.split('/')[4]
        speed = read(f'/sys/class/net/{name}/speed').strip()
        if speed.isdigit() and read(f'/sys/class/net/{name}/operstate').strip() == 'up':
            found.append(f'{name}: network {int(speed) / 1000:g} Gb/s')
    topology = said('nvidia-smi', 'topo', '-m')
    if re.search(r'^GPU1\b', topology, re.M):
        links = sorted(set(re.findall(r'\bNV\d+\b', topology)))
        found.append(f'GPUs: {", ".join(f"NVLink {link[2:]}x" for link in links) or "PCI Express"}')
    return found


@functools.lru_cache(maxsize=None)
def launcher() -> str:
    """Returns the first line of mpirun's version."""
    return (said('mpirun', '--version').splitlines() or [''])[0]


def environment() -> Json:
    """Returns the "environment" of a run."""
    return {'host': platform.node(), 'system': system(), 'kernel': platform.release(), 'machine': platform.machine(),
            'cpu': cpu(), 'cores': len(os.sched_getaffinity(0)), 'memory_bytes': memory()[0], 'gpus': gpus(),
            'governors': governors(), 'interconnect': interconnect(),
            'load': round(os.getloadavg()[0], 2), 'mpi': launcher(), 'python': platform.python_version(),
            'variables': {name: value for name, value in sorted(os.environ.items())
                          if re.match(r'(OMP|KMP|GOMP|OMPI_MCA|PRTE_MCA|CUDA|NVIDIA(?!_REQUIRE)|NCCL|UCX|'
                                      r'SLURM_(N|CPU|GPU|JOB_NUM)|KOKKOS|OPENBLAS|MKL|LD_|GLIBC_TUNABLES|MALLOC_|ROOFTOP_)', name)}}
