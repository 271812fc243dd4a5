"""The four programs: where they are, what they can do, and how to run one so that no process outlives the run.

    program = find('nekbone')                    absolute path, or Fault
    version(program)                             {'version': '0.1.0', 'compiler': ..., 'CUDA': ...}
    rungs(program)                               [Rung]: what --list --ladder says
    run(command, output=..., limit=...)          Ended: exit, why, seconds, text
    measure(program, arguments, json=...)        Measured: ended, result (or None), why
    preview(command)                             Preview: memory and problem, by --dry-run; Fault if it is refused
"""
import argparse
import functools
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from typing import Any, Callable, NamedTuple, Optional

from .. import ENVIRONMENT, INVALID, MEMORY, USAGE, VALID, Fault, results
from ..results import APPS, Program, disk
from . import machine

# Options that --size chooses. Of other apps all options are given again.
EXTENTS = {'nekbone': ('elements', 'degree'), 'alya-rhs': ('cells',), 'fun3d-mcpi': ('surface', 'layers'),
           'gfnn-wave': ('elements',)}

GRACE = 10.0  # seconds between asking and killing

Tick = Callable[[float], None]


class Ended(NamedTuple):
    """How a run ended. exit: status, or None if it was ended from here; why: '' or one line (time limit, signal);
    text: what it printed, standard output and error together."""
    exit: Optional[int]
    why: str
    seconds: float
    text: str


class Measured(NamedTuple):
    """A run with --json. result: set if the run ended with 0 and results.load accepts the file; why: one line on what
    is wrong, or ''."""
    ended: Ended
    result: Optional[Program]
    why: str


class Rung(NamedTuple):
    """A rung of --list --ladder. ladder: '' or which of the app's; absent: '' or why it cannot run here."""
    name: str
    kind: str
    ladder: str
    absent: str


# ---- Where they are ----

def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds --bindir, for every subcommand that runs programs."""
    parser.add_argument('--bindir', metavar='DIR', help='folder of the programs, or of a build (default: the build in '
                        'this folder or that of this tool, the folder of this tool, PATH)')


def add_launcher(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('--launcher', metavar='COMMAND', help="starts the ranks: 'srun -n {ranks}' (default: mpirun)")


def launcher_words(launcher: Optional[str], ranks: int) -> list[str]:
    """Returns the words of --launcher; Fault if several ranks would not fit in."""
    try:
        words = shlex.split(launcher or '')
    except ValueError as error:
        raise Fault(USAGE, f'--launcher {launcher}: {error}') from None
    if words and ranks > 1 and not any('{ranks}' in word for word in words):
        raise Fault(USAGE, "--launcher: say where the number of ranks stands: 'srun -n {ranks}'")
    if words and not shutil.which(words[0]):
        raise Fault(USAGE, f'--launcher: there is no program {words[0]} here')
    return words


started = set(APPS)  # the names with which programs begin a line that is theirs


def known(bindir: Optional[str] = None) -> list[str]:
    """Returns the apps of an official run, and what else was built: the programs apps/NAME/NAME of a build."""
    roots = [bindir] if bindir else ['.', os.path.join(os.path.dirname(os.path.realpath(sys.argv[0])), '..')]
    built = (path.name for root in roots for path in pathlib.Path(root, 'apps').glob('*') if os.access(path / path.name, os.X_OK))
    return results.in_order((*APPS, *built))


def extents(app: str, options: dict[str, Any]) -> list[str]:
    """Returns the names of the options that --size has chosen."""
    return list(EXTENTS.get(app) or (name for name in options if name != 'seed'))


def find(app: str, bindir: Optional[str] = None) -> str:
    """Returns the absolute path of an app's program."""
    tool = os.path.dirname(os.path.realpath(sys.argv[0]))
    if bindir:
        places = [os.path.join(bindir, app), os.path.join(bindir, 'apps', app, app)]
    else:
        places = [os.path.join('apps', app, app), os.path.join(tool, '..', 'apps', app, app), os.path.join(tool, app), app]
    for path in [shutil.which(place) for place in places]:
        if path:
            started.add(app)
            return os.path.abspath(path)
    if app not in APPS:
        raise Fault(USAGE, f"there is no app '{app}'; known: {', '.join(known(bindir))}; --bindir FOLDER: of another build")
    raise Fault(ENVIRONMENT, f'no program {app} in {bindir}' if bindir else
                f'no program {app} in this folder, near this tool or on PATH: run make, or give --bindir')


# ---- What they can do ----

@functools.lru_cache(maxsize=None)
def ask(program: str, *arguments: str) -> str:
    """Returns what a program prints for --help, --version or --list, with long lines that are not wrapped."""
    try:
        asked = subprocess.run([program, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, encoding='utf-8', errors='replace', timeout=120,
                               env={**os.environ, 'COLUMNS': '10000'})
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Fault(ENVIRONMENT, f'{program} {shlex.join(arguments)}: {error}') from None
    if asked.returncode:
        said = (asked.stderr.strip().splitlines() or ['gave no reason'])[0]
        raise Fault(ENVIRONMENT, f'{program} {shlex.join(arguments)}: ended with {asked.returncode}: {said}')
    return asked.stdout


SLOW_BLAS = 'the reference BLAS'  # as configure names it


def version(program: str) -> dict[str, str]:
    """Returns the lines of --version by their first word; 'version' is the number."""
    lines = ask(program, '--version').splitlines()
    said = {'version': lines[0].split()[-1]} if lines else {}
    for line in lines[1:]:
        name, _, value = line.partition(' ')
        said[name] = value.strip()
    return said


def rungs(program: str) -> list[Rung]:
    """Returns the rungs in order, with those that cannot run here."""
    found: list[Rung] = []
    ladder = ''
    for line in ask(program, '--list', '--ladder').splitlines():
        rung = re.match(r'([\w-]+)\s+(cpu|cuda|kokkos|openacc)\s', line)
        absent = re.match(r'\s+absent: (.*)', line)
        head = re.match(r'([\w-]+):$', line)
        if head:
            ladder = head[1]
        elif rung:
            found.append(Rung(rung[1], rung[2], ladder, ''))
        elif absent and found:
            found[-1] = found[-1]._replace(absent=absent[1])
    if not found:
        raise Fault(ENVIRONMENT, f'{program} --list: no rungs in it: is this a program of the suite?')
    return found


def has_gpu(program: str) -> bool:
    """Returns whether a rung of the program runs on a GPU here."""
    kinds = {rung.kind for rung in rungs(program) if not rung.absent}
    return 'cuda' in kinds or 'kokkos' in kinds and results.is_gpu_backend(version(program).get('Kokkos', ''))


# ---- Running a command in a session of its own, so that none of its processes outlives it ----

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
    begin = time.monotonic()
    while True:
        try:
            return process.wait(timeout=min(1.0, limit or 1.0)), ''
        except subprocess.TimeoutExpired:
            so_far = time.monotonic() - begin
        if limit and so_far > limit:
            return None, f'still running after its time limit of {limit:g} s'
        if tick:
            tick(so_far)


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


# ---- Running a program ----

PLACED = re.compile(r'(OMPI|PRTE)_MCA_(hwloc_base_binding|rmaps_(base|default)_mapping|orte_default_hostfile)|'
                    r'(SLURM_JOB_ID|PBS_JOBID|LSB_JOBID|PE_HOSTFILE)$')


def mpirun(ranks: int) -> list[str]:
    """Returns mpirun for ranks of this host, each with its part of the cores: by default Open MPI gives each of two ranks
    one core, however many there are. Nothing is added where the environment or a scheduler places the ranks."""
    words, each = ['mpirun', '-n', str(ranks)], machine.cores() // ranks
    if each > 1 and 'Open MPI' in machine.launcher() and not any(map(PLACED.match, os.environ)):
        words += ['--map-by', f'slot:PE={each}', '--bind-to', 'core']
    return words


def launched(command: Iterable[str], launcher: Iterable[str] = (), ranks: int = 1) -> list[str]:
    """Returns the command under its launcher, with {ranks} replaced by the number; the default is mpirun for several
    ranks, nothing for one."""
    words = [word.replace('{ranks}', str(ranks)) for word in launcher]
    if not words and ranks > 1:
        words = mpirun(ranks)
    return words + list(command)


REMEDIES = (('not enough slots', 'use fewer ranks, or set OMPI_MCA_rmaps_base_oversubscribe=1'),
            ('as root', 'set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1'))


def launcher_words_on(text: str) -> str:
    """Returns in one line what a launcher printed when it could not start ranks, with what to do about it."""
    paragraphs = [' '.join(part.split()) for part in re.split(r'\n\s*\n|^-{3,}$', text, flags=re.M)]
    said = next((part for part in paragraphs if part), '').rstrip(' .:')
    remedy = next((remedy for sign, remedy in REMEDIES if sign in ' '.join(paragraphs)), '')
    return (said if len(said) <= 200 else f'{said[:200]}..') + (f'; {remedy}' if remedy else '')


def reason(ended: Ended) -> str:
    """Returns one line on why a run did not end well: the program's own, if it gave one, or the launcher's."""
    if ended.why:
        return ended.why
    lines = [line.strip() for line in ended.text.splitlines()]
    for line in lines:
        if re.match(rf'({"|".join(started)}): (?!({"|".join(results.VERDICTS)})$)', line):
            return f'ended with {ended.exit}: {line}'
    for end, verdict in ((' FAILED', 'INVALID'), (' not converged', 'NOT CONVERGED')):
        for line in lines:
            if line.endswith(end):
                return f'{verdict}: {line}'
    signalled = re.search(r'exited on signal (\d+)', ended.text)  # mpirun's words
    if signalled:
        return f'ended with {ended.exit}: a rank was ended by signal {signalled[1]}'
    said = '' if judged(ended) else launcher_words_on(ended.text)
    return f'ended without a verdict: {said}' if said else f'ended with {ended.exit}'


def judged(ended: Ended) -> bool:
    """Returns whether the program came to a verdict."""
    return re.search(rf'\b({"|".join(started)}): ({"|".join(results.VERDICTS)})\b', ended.text) is not None


def settled(ended: Ended) -> Ended:
    """Returns a run with the status that it deserves: a launcher that cannot start ranks ends with 1 too, which is
    INVALID only if the program says so."""
    return ended._replace(exit=ENVIRONMENT) if ended.exit == INVALID and not judged(ended) else ended


def status_of(ended: Ended) -> int:
    """Returns the status of a command whose run gave no result."""
    if ended.exit in (VALID, INVALID):
        return INVALID
    return ended.exit if ended.exit in (USAGE, MEMORY) else ENVIRONMENT


class Preview(NamedTuple):
    """What a program says of a run without running it. memory: what its rungs will need, '' if nothing; options:
    those of its problem."""
    memory: str
    options: dict[str, str]


def preview(command: Sequence[str], launcher: Sequence[str] = (), ranks: int = 1) -> Preview:
    """Returns what --dry-run says of a command; Fault, with the program's reason and status, if it is refused."""
    ended = settled(run(launched([*command, '--dry-run'], launcher, ranks), limit=300))
    if ended.exit != VALID:
        raise Fault(ended.exit if ended.exit in (USAGE, ENVIRONMENT, MEMORY) else ENVIRONMENT,
                    reason(ended).partition(': ')[2] or reason(ended))
    needs = re.findall(r'^memory +\S+ will need: (.*)', ended.text, re.M)
    given = re.search(r'^options +(--.*)', ended.text, re.M)
    return Preview(max(needs, key=bytes_of, default=''),
                   dict(re.findall(r'--([\w-]+)=(\S*)', given[1])) if given else {})


def bytes_of(need: str) -> float:
    """Returns the sum of the amounts in 'host 1.5 GiB of 20 GiB free, device 1 GiB of ..'."""
    units = {'B': 0, 'KiB': 10, 'MiB': 20, 'GiB': 30, 'TiB': 40}
    return sum(float(amount) * 2.0 ** units[unit] for amount, unit in re.findall(r'([\d.]+) ([KMGT]?i?B) of', need))


def measure(program: str, arguments: Sequence[str], json: str, output: Optional[str] = None,
            launcher: Sequence[str] = (), ranks: int = 1, nonce: str = '', limit: Optional[float] = None,
            tick: Optional[Tick] = None, grace: float = GRACE, wrong: bool = False) -> Measured:
    """Runs a program with --json. The file `json` is there afterwards only if the run counts: status 0, whole, of the
    schema and VALID. wrong: whether an INVALID one counts too."""
    part = disk.part_of(json)
    disk.remove(json)
    disk.remove(part)
    ended = None
    try:
        ended = settled(run(launched([program, *arguments, '--json', part], launcher, ranks), output, limit, tick, grace))
        if ended.exit != VALID and not (wrong and ended.exit == INVALID and os.path.exists(part)):
            return Measured(ended, None, reason(ended).replace(part, json))
        result = results.load(part, Program, nonce)
        if result.verdict not in results.RIGHT and not wrong:
            return Measured(ended, None, f'ended with 0, but its verdict is {result.verdict}')
        disk.settle(part, json)
        return Measured(ended, result, '')
    except Fault as fault:
        if not ended:
            raise
        return Measured(ended, None, str(fault).replace(part, json))
    finally:
        disk.remove(part)
