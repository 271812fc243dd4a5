"""One command, run to its end in a session of its own, so that none of its processes outlives it.

On its time limit and on SIGINT, SIGTERM or SIGHUP it is first asked to end, so that a launcher can end its ranks, then
killed.
"""
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from typing import Callable, NamedTuple, Optional

from . import ENVIRONMENT, Fault, disk

GRACE = 10.0  # seconds between asking and killing

Tick = Callable[[float], None]


class Ended(NamedTuple):
    """How a run ended. exit: status, or None if it was ended from here; why: '' or one line (time limit, signal);
    text: what it printed, standard output and error together."""
    exit: Optional[int]
    why: str
    seconds: float
    text: str


def end(process: 'subprocess.Popen[bytes]', grace: float) -> None:
    """Ends what is left of a command: asks, waits, kills."""
    asked = time.monotonic()
    try:
        os.killpg(process.pid, signal.SIGTERM)
        while time.monotonic() - asked < grace:
            process.poll()
            os.killpg(process.pid, 0)  # OSError: nobody is left
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
    except OSError:
        pass
    process.wait()


def wait(process: 'subprocess.Popen[bytes]', limit: Optional[float], tick: Optional[Tick]) -> tuple[Optional[int], str]:
    """Returns exit status and '', or None and why the process has to be ended."""
    begin = told = time.monotonic()
    while True:
        try:
            return process.wait(timeout=0.1), ''
        except subprocess.TimeoutExpired:
            now = time.monotonic()
        if limit and now - begin > limit:
            return None, f'still running after its time limit of {limit:g} s'
        if tick and now - told >= 1:
            told = now
            tick(now - begin)


def run(command: Sequence[str], output: Optional[str] = None, limit: Optional[float] = None,
        tick: Optional[Tick] = None, grace: float = GRACE) -> Ended:
    """Runs a command to its end. output: file for what it prints (None: only in Ended.text); limit: seconds;
    tick(seconds so far): called about once per second."""
    begin = time.monotonic()
    with (disk.create(output) if output else tempfile.TemporaryFile()) as said:
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT,
                                       start_new_session=True)
        except (OSError, subprocess.SubprocessError) as error:
            raise Fault(ENVIRONMENT, f'{command[0]}: {getattr(error, "strerror", None) or error}') from None
        try:
            status, why = wait(process, limit, tick)
        finally:
            blocked = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
            end(process, grace)
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        if status is not None and status < 0:
            why = f'ended by {signal.Signals(-status).name}'
        said.seek(0)
        text = said.read().decode('utf-8', 'replace')
    return Ended(status, why, time.monotonic() - begin, text)
