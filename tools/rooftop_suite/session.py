"""One command, run to its end, so that no process outlives it.

A run gets a session of its own. On its time limit, on SIGINT, SIGTERM or SIGHUP, and when this process itself is
killed, the whole session is ended: first asked to end, so that a launcher can end ranks on other machines, then killed.
"""
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Sequence
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


def members(session: int) -> list[int]:
    """Returns the live processes of a session. Ranks have process groups of their own, but their launcher's session."""
    found = []
    for name in os.listdir('/proc'):
        try:
            if not name.isdigit() or os.getsid(int(name)) != session:  # one call each: most are of others
                continue
            with open(f'/proc/{name}/stat', 'rb') as file:
                state = file.read().rpartition(b')')[2].split()[0]
        except OSError:  # it has just ended
            continue
        if state not in (b'Z', b'X'):
            found.append(int(name))
    return found


def send(pids: Iterable[int], signum: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, signum)
        except OSError:
            pass


def end_session(session: int, grace: float = GRACE, reap: Callable[[], object] = lambda: None) -> None:
    """Ends all processes of a session: asks, waits, kills."""
    if not members(session):
        return
    try:
        os.killpg(session, signal.SIGTERM)  # the launcher's group first: it knows how to end its ranks
    except OSError:
        send(members(session), signal.SIGTERM)
    asked = time.monotonic()
    left = members(session)
    while left and time.monotonic() - asked < grace:
        if time.monotonic() - asked > min(1.0, grace / 2):  # ask what the launcher has not ended
            send(left, signal.SIGTERM)
        time.sleep(0.05)
        reap()
        left = members(session)
    for _ in range(100):
        if not left:
            break
        send(left, signal.SIGKILL)
        time.sleep(0.05)
        reap()
        left = members(session)


def start_warden(session: int, grace: float) -> tuple[int, int]:
    """Starts a process that ends the session if this one is killed (kill -9). Returns its pid and the end of a pipe:
    a byte in it means all is well; if it closes without one, this process is gone."""
    read, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(read)
        return pid, write
    try:
        os.setsid()
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(signum, signal.SIG_IGN)
        os.close(write)
        null = os.open(os.devnull, os.O_RDWR)
        for standard in range(3):
            os.dup2(null, standard)  # a reader of our output must not wait for the warden
        if not os.read(read, 1):
            end_session(session, grace)
    finally:
        os._exit(0)


def dismiss_warden(warden: tuple[int, int]) -> None:
    pid, write = warden
    try:
        os.write(write, b'.')
    except OSError:  # it was killed: no loss, this process is alive
        pass
    os.close(write)
    os.waitpid(pid, 0)


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
    tick(seconds so far): called about once per second. When this returns or raises (Interrupted), no process of the
    command is left."""
    begin = time.monotonic()
    with (disk.create(output) if output else tempfile.TemporaryFile()) as said:
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT,
                                       start_new_session=True)
        except (OSError, subprocess.SubprocessError) as error:
            raise Fault(ENVIRONMENT, f'{command[0]}: {getattr(error, "strerror", None) or error}') from None
        warden = None
        try:
            warden = start_warden(process.pid, grace)
            status, why = wait(process, limit, tick)
        finally:
            blocked = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
            end_session(process.pid, grace, process.poll)
            process.wait()
            if warden:
                dismiss_warden(warden)
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        if status is not None and status < 0:
            why = f'ended by {signal.Signals(-status).name}'
        said.seek(0)
        text = said.read().decode('utf-8', 'replace')
    return Ended(status, why, time.monotonic() - begin, text)
