"""What disturbs a measurement on this machine now: other processes, the hypervisor, clocks, other users of the GPUs.

    disturbances(device)    what there is, each in one line
    wait(device, force)     says it, and gives what passes by itself a minute to pass
"""
import os
import re
import sys
import time
from typing import NamedTuple, Optional

from . import machine

LOOK = 0.5  # seconds of looking at the CPUs
MOST_WAIT, PAUSE = 60.0, 10.0  # seconds
BUSY_CPUS, BUSY_SHARE = 0.5, 0.02  # CPUs in use by others: the larger of both disturbs
STOLEN = 0.01  # of the time
BUSY_GPU = 5  # per cent of the time
SLOWED = 0xe8  # bits of "clocks throttle reasons": hardware slowdown, temperature, power brake


class Disturbance(NamedTuple):
    """text: one line; remedy: what to do; passes: whether waiting may help."""
    text: str
    remedy: str
    passes: bool = True


def of_gpus(device: Optional[str]) -> list[Disturbance]:
    """Looks at the GPUs that a run may use: those that are visible, or of these the ordinals in --device."""
    query = '' if device == 'cpu' else machine.said(
        'nvidia-smi', '--query-gpu=index,uuid,utilization.gpu,clocks_throttle_reasons.active', '--format=csv,noheader,nounits')
    gpus = [words for line in query.splitlines() for words in [re.split(r',\s*', line.strip())] if len(words) == 4]
    visible = os.environ.get('CUDA_VISIBLE_DEVICES')
    if visible is not None:
        names = [name for name in visible.split(',') if name]
        gpus = [words for words in gpus if any(words[0] == name or words[1].startswith(name) for name in names)]
    if device and re.fullmatch(r'\d+(,\d+)*', device):
        gpus = [gpus[int(at)] for at in device.split(',') if int(at) < len(gpus)]
    found = []
    query = machine.said('nvidia-smi', '--query-compute-apps=gpu_uuid,pid,process_name', '--format=csv,noheader') \
        if gpus else ''
    for ordinal, uuid, percent, reasons in gpus:
        others = [re.split(r',\s*', line, maxsplit=2)[1:] for line in query.splitlines() if line.startswith(uuid)]
        if others:
            named = ', '.join(f'{pid} ({os.path.basename(name)})' for pid, name in others[:3])
            found.append(Disturbance(f'GPU {ordinal}: other processes use it: {named}', 'end them, or take another GPU'))
        elif percent.isdigit() and int(percent) > BUSY_GPU:
            found.append(Disturbance(f'GPU {ordinal}: busy for {percent} % of the time', 'take another GPU'))
        if re.fullmatch(r'0x[0-9a-fA-F]+', reasons) and int(reasons, 16) & SLOWED:
            found.append(Disturbance(f'GPU {ordinal}: its clocks are held down by temperature or power supply',
                                     'cool it: nvidia-smi -q -d PERFORMANCE says why'))
    return found


def disturbances(device: Optional[str] = None) -> list[Disturbance]:
    """Returns what disturbs now. device: as in --device. Takes half a second."""
    before = machine.ticks_now()
    time.sleep(LOOK)
    use, cpus, found = machine.use_since(before), len(os.sched_getaffinity(0)), list[Disturbance]()
    if use.busy > max(BUSY_CPUS, BUSY_SHARE * cpus):
        found.append(Disturbance(f'other processes use {use.busy:.1f} of {cpus} CPUs', 'measure on an idle machine, or '
                                 'set OMP_WAIT_POLICY=passive and expect UNSTEADY'))
    if use.stolen > STOLEN:
        found.append(Disturbance(f'the hypervisor takes {100 * use.stolen:.1f} % of the time', 'measure on a machine '
                                 'of your own, or on dedicated CPUs'))
    found += of_gpus(device)
    slow = ', '.join(name for name in machine.governors() if name != 'performance')
    if slow:
        found.append(Disturbance(f'frequency governor {slow}', 'cpupower frequency-set -g performance', False))
    return found


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def wait(device: Optional[str] = None, force: bool = False) -> list[str]:
    """Says what disturbs, and waits up to a minute for what passes, unless `force`. Returns what is left."""
    begin, said = time.monotonic(), ''
    while True:
        found = disturbances(device)
        now = '; '.join(one.text for one in found)
        if now != said:
            said = now
            tell(f'disturbed: {said}' if found else 'the machine is quiet')
        waited = time.monotonic() - begin
        if force or waited >= MOST_WAIT or not any(one.passes for one in found):
            break
        tell(f'waiting for it to end: {waited:.0f} s of at most {MOST_WAIT:.0f} s (--force does not wait)')
        time.sleep(PAUSE)
    if found:
        tell('going on: results may be UNSTEADY')
    return [one.text for one in found]
