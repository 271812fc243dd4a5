"""Runs a program that someone else wrote where it can touch nothing: in namespaces of its own (bubblewrap) and with
limits (prlimit).

    sandbox.refused()                     '' or why this machine allows none
    box.run(command, limit, writable)     Ended, as programs.run

The program reads this machine's files, but for those in /tmp, /run and the hidden folders. It writes into /tmp and the
folder that it begins in, which are in memory and end with it, and into the one place that it is given. It has no
network, and neither sees nor signals processes outside. The limits are per process. The kernel does not limit how many
processes root has; they end with the program.
"""
import glob
import math
import os
import resource
import shutil
import signal
import tempfile
from collections.abc import Sequence
from typing import NamedTuple, Optional

from ..measure import programs

MIB = 1 << 20
FILE_BYTES = 256 * MIB  # the largest file, and all files in memory
PROCESSES, PER_CORE = 256, 8  # at a time, threads among them
APART = ['bwrap', '--unshare-user-try', '--unshare-ipc', '--unshare-pid', '--unshare-net', '--unshare-uts',
         '--die-with-parent', '--new-session', '--cap-drop', 'ALL', '--ro-bind', '/', '/', '--proc', '/proc',
         '--dev', '/dev']  # not the control group: it has the machine's limit of memory, which programs look up
IN_MEMORY = ['--size', str(FILE_BYTES), '--tmpfs']
GPUS = ('/dev/nvidia*', '/dev/kfd', '/dev/dri')


class Box(NamedTuple):
    """hidden: folders that are empty for the program; shown: folders inside of those that it sees; memory: bytes of a
    process; gpu: whether it uses one, which takes more addresses than there is memory; unconfined: without
    namespaces."""
    hidden: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    memory: int = 4096 * MIB
    gpu: bool = False
    unconfined: bool = False

    def limits(self, seconds: Optional[float]) -> list[str]:
        cores = len(os.sched_getaffinity(0))
        limits = {'data': self.memory, 'fsize': FILE_BYTES, 'core': 0}
        if seconds:
            limits['cpu'] = math.ceil(seconds * cores)
        if not self.gpu:
            limits['as'] = self.memory + 128 * MIB * (8 + cores)  # a thread reserves addresses that it does not use
        if not self.unconfined:
            limits['nproc'] = PROCESSES + PER_CORE * cores
        words = ['prlimit']
        for name, value in limits.items():
            hard = resource.getrlimit(getattr(resource, f'RLIMIT_{name.upper()}'))[1]  # none above those of this process
            words.append(f'--{name}={value if hard == resource.RLIM_INFINITY else min(value, hard)}')
        return words

    def apart(self, writable: str, work: str) -> list[str]:
        """Returns the words that put a command into namespaces. writable: '' or a file or folder; work: '' or a folder
        that is in memory, where the command begins."""
        usual = filter(os.path.isdir, ('/var/tmp', '/run', tempfile.gettempdir()))
        hidden = {os.path.realpath(path) for path in (*usual, *self.hidden)} - {'/tmp'}
        what = dict.fromkeys({'/tmp', *hidden}, '--tmpfs')
        what.update({os.path.realpath(path): '--ro-bind' for path in self.shown})
        what.update({path: how for path, how in ((writable, '--bind'), (work, '--tmpfs')) if path})
        words = list(APART)
        for path in sorted(what):  # a folder comes before those in it
            words += [*IN_MEMORY, path] if what[path] == '--tmpfs' else [what[path], path, path]
        for path in (path for pattern in GPUS for path in glob.glob(pattern)):
            words += ['--dev-bind', path, path]
        words += [*IN_MEMORY, '/dev/shm']
        for path in ('/dev', *sorted(hidden)):  # without what is mounted in it
            words += ['--remount-ro', path]
        return [*words, '--setenv', 'TMPDIR', '/tmp', '--chdir', work or '/tmp', '--']

    def run(self, command: Sequence[str], limit: Optional[float], writable: str = '', work: str = '') -> programs.Ended:
        """Runs a command to its end; limit: seconds, also of each processor."""
        words = [*([] if self.unconfined else self.apart(writable, work)), *self.limits(limit), *command]
        ended = programs.run(words, limit=limit)
        if ended.exit and ended.exit > 128 and ended.exit - 128 in list(signal.Signals):
            return ended._replace(why=f'ended by {signal.Signals(ended.exit - 128).name}')  # as a shell tells it
        return ended


def refused() -> str:
    """Returns '' or why this machine has no sandbox."""
    if not shutil.which('bwrap'):
        return 'bwrap is missing (Debian: apt install bubblewrap)'
    ended = Box().run(['true'], 60)
    return '' if ended.exit == 0 else (ended.text.splitlines() or [f'bwrap ended with {ended.exit}'])[0]
