"""The four programs: where they are, what they can do, and running one so that nothing of it outlives its end.

    program = find('nekbone')                    absolute path, or Fault
    options(program)                             {'--json', '--window', ...}: what this build understands
    version(program)                             {'version': '0.1.0', 'compiler': ..., 'CUDA': ...}
    rungs(program)                               [Rung(name, kind, ladder, idea, absent)]
    run(command, output=..., limit=...)          Ended: exit, why, seconds, text
    measure(program, arguments, json=...)        Measured: ended, result (dict or None), why

A run gets a session of its own. On its time limit, on SIGINT, SIGTERM or SIGHUP, and when this process itself is
killed, all of the session is ended: asked first, so that a launcher can end ranks on other machines, then killed.
"""
import collections
import functools
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from . import ENVIRONMENT, USAGE, Fault, machine, results

APPS = ('nekbone', 'alya-rhs', 'fun3d-mcpi', 'gfnn-wave')
GRACE = 10.0  # seconds between asking and killing
SIZES = ('tiny', 'small', 'medium', 'large', 'full')

Ended = collections.namedtuple('Ended', 'exit why seconds text')
Ended.__doc__ = """How a run ended. exit: status, or None if it was ended from here; why: '' or one line (time limit,
signal); seconds; text: what it said, standard output and error together."""
Measured = collections.namedtuple('Measured', 'ended result why')
Measured.__doc__ = """A run with --json. result: the JSON, if the run ended with 0 and all checks of results.load hold,
else None; why: one line on what is wrong, or ''."""
Rung = collections.namedtuple('Rung', 'name kind ladder idea absent')
Rung.__doc__ = """A line of --list. kind: cpu, cuda or kokkos; ladder: '' or which of the app's; absent: '' or why."""


# ---- Where they are ----

def add_arguments(parser):
    """--bindir, of every subcommand that runs programs."""
    parser.add_argument('--bindir', metavar='DIR', help='folder of the programs, or of a build (default: the build in '
                        'this folder or beside this tool, the folder of this tool, PATH)')


def find(app, bindir=None):
    """Absolute path of an app's program."""
    if app not in APPS:
        raise Fault(USAGE, f"there is no app '{app}'; known: {', '.join(APPS)}")
    tool = os.path.dirname(os.path.realpath(sys.argv[0]))
    if bindir:
        places = [os.path.join(bindir, app), os.path.join(bindir, 'apps', app, app)]
    else:
        places = [os.path.join('apps', app, app), os.path.join(tool, '..', 'apps', app, app), os.path.join(tool, app),
                  shutil.which(app) or '']
    for place in places:
        if os.path.isfile(place) and os.access(place, os.X_OK):
            return os.path.abspath(place)
    raise Fault(ENVIRONMENT, f'no program {app} in {bindir}' if bindir else
                f'no program {app} here, beside this tool or on PATH: run make, or give --bindir')


def find_all(apps=APPS, bindir=None):
    """{app: path} of these apps."""
    return {app: find(app, bindir) for app in apps}


# ---- What they can do ----

@functools.lru_cache(maxsize=None)
def ask(program, *arguments):
    """What a program says to --help, --version or --list."""
    try:
        asked = subprocess.run([program, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, encoding='utf-8', errors='replace', timeout=120)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Fault(ENVIRONMENT, f'{program} {shlex.join(arguments)}: {error}') from None
    if asked.returncode:
        said = (asked.stderr.strip().splitlines() or ['no word why'])[0]
        raise Fault(ENVIRONMENT, f'{program} {shlex.join(arguments)}: ended with {asked.returncode}: {said}')
    return asked.stdout


def options(program):
    """The names of all options that this build has."""
    names = set()
    for name in re.findall(r'^\s+--(\[no-\])?([\w-]+)', ask(program, '--help'), re.M):
        names.add(f'--{name[1]}')
    return names


def version(program):
    """Lines of --version by their first word; 'version' is the number."""
    lines = ask(program, '--version').splitlines()
    said = {'version': lines[0].split()[-1]} if lines else {}
    for line in lines[1:]:
        name, _, value = line.partition(' ')
        said[name] = value.strip()
    return said


def rungs(program):
    """The rungs in order, those that cannot run here too."""
    found, ladder = [], ''
    for line in ask(program, '--list').splitlines():
        rung = re.match(r'([\w-]+)\s+(cpu|cuda|kokkos)\s+(.*)', line)
        more = re.match(r'\s+absent: (.*)', line)
        head = re.match(r'([\w-]+):$', line)
        if head:
            ladder = head[1]
        elif rung:
            found.append(Rung(rung[1], rung[2], ladder, rung[3], ''))
        elif more and found:
            found[-1] = found[-1]._replace(absent=more[1])
    if not found:
        raise Fault(ENVIRONMENT, f'{program} --list: no rungs in it: is this a program of the suite?')
    return found


# ---- Running one ----

PLACED = re.compile(r'(OMPI|PRTE)_MCA_(hwloc_base_binding|rmaps_(base|default)_mapping|orte_default_hostfile)|'
                    r'(SLURM_JOB_ID|PBS_JOBID|LSB_JOBID|PE_HOSTFILE)$')


def mpirun(ranks):
    """mpirun for ranks of this host, each with its part of the cores: Open MPI by itself gives each of two ranks one
    core, however many there are. Nothing is added where the environment has placed ranks, or a scheduler will."""
    words, each = ['mpirun', '-n', str(ranks)], machine.cores() // ranks
    if each > 1 and 'Open MPI' in machine.launcher() and not any(map(PLACED.match, os.environ)):
        words += ['--map-by', f'slot:PE={each}', '--bind-to', 'core']
    return words


def launched(command, launcher=(), ranks=1):
    """The command under its launcher: words in which {ranks} stands for the number; by default mpirun if there are
    several ranks, nothing for one."""
    words = [word.replace('{ranks}', str(ranks)) for word in launcher]
    if not words and ranks > 1:
        words = mpirun(ranks)
    return words + list(command)


def members(session):
    """Processes of a session that are alive. Ranks have process groups of their own, but their launcher's session."""
    found = []
    for name in os.listdir('/proc'):
        if not name.isdigit():
            continue
        try:
            with open(f'/proc/{name}/stat', 'rb') as file:
                fields = file.read().rpartition(b')')[2].split()
        except OSError:  # it has just ended
            continue
        if int(fields[3]) == session and fields[0] not in (b'Z', b'X'):
            found.append(int(name))
    return found


def send(pids, signum):
    for pid in pids:
        try:
            os.kill(pid, signum)
        except OSError:
            pass


def end_session(session, grace=GRACE, reap=lambda: None):
    """Ends all processes of a session: asks, waits, kills. Returns how many had to be killed."""
    if not members(session):
        return 0
    try:
        os.killpg(session, signal.SIGTERM)  # the launcher's group first: it knows how to end its ranks
    except OSError:
        send(members(session), signal.SIGTERM)
    asked = time.monotonic()
    left = members(session)
    while left and time.monotonic() - asked < grace:
        if time.monotonic() - asked > min(1.0, grace / 2):  # what the launcher has not ended by now is asked itself
            send(left, signal.SIGTERM)
        time.sleep(0.05)
        reap()
        left = members(session)
    killed = len(left)
    for _ in range(100):
        if not left:
            break
        send(left, signal.SIGKILL)
        time.sleep(0.05)
        reap()
        left = members(session)
    return killed


def start_warden(session, grace):
    """A process that ends the session if this one dies without a word (kill -9). Returns (its pid, the end of a pipe:
    written to, all is well; closed, this process is gone)."""
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
            os.dup2(null, standard)  # who reads our output must not wait for the warden
        if not os.read(read, 1):
            end_session(session, grace)
    finally:
        os._exit(0)


def dismiss_warden(warden):
    pid, write = warden
    try:
        os.write(write, b'.')
    except OSError:  # it was killed: no loss, this process is alive
        pass
    os.close(write)
    os.waitpid(pid, 0)


def wait(process, limit, tick):
    """Exit status and '', or None and why it has to be ended."""
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


def run(command, output=None, limit=None, tick=None, env=None, grace=GRACE):
    """Runs a command to its end and returns Ended. output: file for what it says (None: only in Ended.text); limit:
    seconds; tick(seconds so far): called about once a second; env: variables beside this process's own. When this
    returns or raises (Interrupted), no process of the command is left."""
    begin = time.monotonic()
    said = open(output, 'w+b') if output else tempfile.TemporaryFile()
    with said:
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT,
                                       env={**os.environ, **(env or {})}, start_new_session=True)
        except OSError as error:
            raise Fault(ENVIRONMENT, f'{command[0]}: {error.strerror}') from None
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


def reason(ended):
    """One line on why a run did not end well: the program's own, if it gave one."""
    if ended.why:
        return ended.why
    lines = [line.strip() for line in ended.text.splitlines()]
    for line in lines:
        if re.match(rf'({"|".join(APPS)}): (?!VALID$|INVALID$)', line):
            return f'ended with {ended.exit}: {line}'
    for line in lines:
        if line.endswith(' FAILED'):
            return f'INVALID: {line}'
    signalled = re.search(r'exited on signal (\d+)', ended.text)  # mpirun's words
    return f'ended with {ended.exit}' + (f': a rank was ended by signal {signalled[1]}' if signalled else '')


def measure(program, arguments, json, output=None, launcher=(), ranks=1, nonce='', limit=None, tick=None, env=None,
            grace=GRACE):
    """Runs a program with --json and returns Measured. The file `json` is there afterwards only if the run counts:
    status 0, whole, of the schema, sealed (unless the program is too old to seal), VALID."""
    folder, name = os.path.split(os.path.abspath(json))
    part = os.path.join(folder, f'.part-{name}')
    results.remove(json)
    results.remove(part)
    command = launched([program, *arguments, '--json', part], launcher, ranks)
    try:
        ended = run(command, output, limit, tick, env, grace)
        if ended.exit != 0:
            return Measured(ended, None, reason(ended))
        try:
            result = results.load(part, nonce=nonce)
        except Fault as fault:
            return Measured(ended, None, str(fault).replace(part, json))
        if result['verdict'] != 'VALID':
            return Measured(ended, None, 'ended with 0, but its verdict is not VALID')
        results.settle(part, json)
        return Measured(ended, result, '')
    finally:
        results.remove(part)
