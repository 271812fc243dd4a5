"""`rooftop pack FOLDER`: a result folder and a filled form as one archive, FOLDER.tar.xz, that `rooftop verify` takes.

The form (submission.json) says what no program can see: whose system, how many nodes, joined by what, who tested it,
at what price. What a program can see is filled in from the run. unpack(path) reads such an archive from anyone: regular
files of plain names in one folder, of limited number and size, and exactly those that the form lists.
"""
import argparse
import atexit
import io
import lzma
import os
import re
import shutil
import tarfile
import tempfile
from typing import Optional

from . import ENVIRONMENT, INVALID, USAGE, VALID, Fault, disk, results
from .results import Folder, Run

FORM = {'system': 'name and maker of the machine', 'tester': 'who measured, and how to reach them',
        'nodes': 'how many, and what is in one (default: as seen)', 'interconnect': 'of the nodes (default: as seen)',
        'software': 'system, compilers, MPI, drivers (default: as seen)',
        'price': 'of what was measured, with its currency',
        'notes': 'what else a reader must know'}
NEEDED = ('system', 'tester')
NAME = re.compile(r'[A-Za-z0-9_][A-Za-z0-9_.+-]{0,100}')
MOST_FILES, MOST_BYTES, MOST_MEMORY = 1000, 256 << 20, 128 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add('folder', metavar='FOLDER', help='of a complete rooftop run')
    add('--form', metavar='FILE', help='with lines NAME = TEXT, of the names below')
    for name, what in FORM.items():
        add(f'--{name}', metavar='TEXT', help=what)
    add('--output', metavar='FILE', help='(default: FOLDER.tar.xz)')


# ---- The form ----

def read_form(path: str) -> dict[str, str]:
    try:
        with open(path, encoding='utf-8') as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Fault(USAGE, f'--form {path}: {getattr(error, "strerror", None) or "not UTF-8"}') from None
    form = {}
    for number, line in enumerate(lines, 1):
        name, equals, value = (part.strip() for part in line.partition('='))
        if line.strip() and not line.lstrip().startswith('#'):
            if not equals or name not in FORM:
                raise Fault(USAGE, f'{path}:{number}: not NAME = TEXT with a name of {", ".join(FORM)}')
            form[name] = value
    return form


def seen(run: Run) -> dict[str, str]:
    """Returns what the run itself says for the form."""
    here = run.environment
    nodes = here.get('nodes') or [here]
    gpus = [str(gpu.get('name')) for gpu in nodes[0].get('gpus', [])]
    compilers = sorted({str(program.version.get('compiler', '')) for program in run.programs.values()})
    drivers = sorted({str(gpu.get('driver_version')) for gpu in nodes[0].get('gpus', [])})
    software = [str(nodes[0].get(name, '')) for name in ('system', 'kernel', 'mpi')] + compilers
    software += [f'driver {driver}' for driver in drivers]
    return {'nodes': f'{len(nodes)}: {nodes[0].get("cpu")}, {nodes[0].get("cores")} CPUs'
                     + (f', {len(gpus)} x {gpus[0]}' if gpus else ''),
            'interconnect': '; '.join(map(str, nodes[0].get('interconnect', []))),
            'software': '; '.join(part for part in software if part)}


def filled(args: argparse.Namespace, run: Run) -> dict[str, str]:
    """Returns the form: what the run says, then the file, then the options."""
    form = {**seen(run), **(read_form(args.form) if args.form else {})}
    form.update({name: getattr(args, name) for name in FORM if getattr(args, name) is not None})
    missing = [name for name in NEEDED if not form.get(name, '').strip()]
    if missing:
        raise Fault(USAGE, f'the form lacks {" and ".join(missing)}: give --{" and --".join(missing)}, or --form FILE')
    return {name: form[name] for name in FORM if form.get(name)}


# ---- Writing ----

def listed(path: str) -> list[str]:
    """Returns the names of the regular files of a folder that go into its archive."""
    names = [name for name in sorted(os.listdir(path)) if not name.startswith('.') and name != 'submission.json']
    odd = [name for name in names if not NAME.fullmatch(name) or not os.path.isfile(os.path.join(path, name))
           or os.path.islink(os.path.join(path, name))]
    if odd:
        raise Fault(USAGE, f'{os.path.join(path, odd[0])}: not a regular file of a plain name: take it out of '
                    'the folder')
    return names


def archive(folder: Folder, names: list[str]) -> bytes:
    """Returns the archive's bytes: the files of a folder, in order, without owners."""
    whole, base = io.BytesIO(), os.path.basename(os.path.abspath(folder.path))
    base = base if NAME.fullmatch(base) else 'results'
    with tarfile.open(fileobj=whole, mode='w:xz', format=tarfile.PAX_FORMAT) as tar:
        for name in names:
            with open(folder.file(name), 'rb') as file:
                data = file.read(MOST_BYTES + 1)
            member = tarfile.TarInfo(f'{base}/{name}')
            member.size, member.mode = len(data), 0o644
            member.mtime = int(os.stat(folder.file(name)).st_mtime)
            tar.addfile(member, io.BytesIO(data))
    return whole.getvalue()


def main(args: argparse.Namespace) -> int:
    folder = Folder.open(args.folder)
    run = folder.manifest
    if run.state != 'complete':
        raise Fault(INVALID, f'{args.folder}: the run is not complete: rooftop run --into {args.folder} continues it')
    form, names = filled(args, run), listed(args.folder)
    disk.save(folder.file('submission.json'), {
        'schema': results.SCHEMA, 'kind': 'submission', 'form': form,
        'files': {name: disk.sha256_of(folder.file(name)) for name in names}}, run.nonce)
    output = args.output or f'{args.folder.rstrip("/")}.tar.xz'
    disk.save_bytes(output, archive(folder, [*names, 'submission.json']))
    for name, value in form.items():
        print(f'{name:14}{value}')
    print(f'pack: {output}, {len(names) + 1} files')
    return VALID


# ---- Reading what others packed ----

class Limited(io.RawIOBase):
    """What an .xz file unpacks to, up to MOST_BYTES; Fault beyond. Memory is limited too."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path, self.file, self.left = path, open(path, 'rb'), MOST_BYTES
        self.xz = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MOST_MEMORY)

    def read(self, size: int = -1) -> bytes:
        out = b''
        while len(out) < size and not self.xz.eof:
            data = self.file.read(1 << 16) if self.xz.needs_input else b''
            if self.xz.needs_input and not data:
                raise Fault(INVALID, f'{self.path}: cut short')
            out += self.xz.decompress(data, size - len(out))
        self.left -= len(out)
        if self.left < 0:
            raise Fault(INVALID, f'{self.path}: unpacks to more than {MOST_BYTES >> 20} MiB')
        return out

    def close(self) -> None:
        self.file.close()
        super().close()


def extract(path: str, into: str) -> str:
    """Writes the files of an archive into one new folder in `into`; returns it."""
    base: Optional[str] = None
    source = Limited(path)
    with source, tarfile.open(fileobj=source, mode='r|') as tar:
        for count, member in enumerate(tar, 1):
            top, _, name = member.name.partition('/')
            if not member.isreg() or not NAME.fullmatch(top) or not NAME.fullmatch(name) or base not in (None, top):
                raise Fault(INVALID, f'{path}: {member.name!r}: an archive has regular files of plain names in one '
                            'folder')
            if count > MOST_FILES or member.size > MOST_BYTES:
                raise Fault(INVALID, f'{path}: more than {MOST_FILES} files, or {MOST_BYTES >> 20} MiB')
            base = top
            at = os.path.join(into, base, name)
            disk.make_folder(os.path.dirname(at))
            data = tar.extractfile(member)
            with open(at, 'xb') as file:
                shutil.copyfileobj(data if data else io.BytesIO(), file)
    if base is None:
        raise Fault(INVALID, f'{path}: an empty archive')
    return os.path.join(into, base)


def check_form(path: str, folder: str) -> None:
    """Prints who submits what; Fault unless the files are those that the form lists."""
    data, value = disk.parse(os.path.join(folder, 'submission.json'))
    run = results.load(os.path.join(folder, 'run.json'), Run)
    files, form = value.get('files'), value.get('form')
    if not isinstance(files, dict) or not isinstance(form, dict) or not disk.seal_holds(data, run.nonce):
        raise Fault(INVALID, f'{path}: submission.json: not a form, or changed since it was written')
    names = {name for name in os.listdir(folder) if name != 'submission.json'}
    wrong = sorted(name for name in names | set(files)
                   if name not in names or disk.sha256_of(os.path.join(folder, name)) != files.get(name))
    if wrong:
        raise Fault(INVALID, f'{path}: {wrong[0]}: not the file that the form lists')
    print(f'{path}: ' + '; '.join(f'{name}: {form[name]}' for name in FORM if isinstance(form.get(name), str)))


def unpack(path: str) -> str:
    """Returns a folder with the results of an archive, which lasts as long as this process; Fault if it is not safe,
    not whole, or not what its form lists."""
    if not os.path.isfile(path):
        raise Fault(USAGE, f'{path}: no such file')
    into = tempfile.mkdtemp(prefix='rooftop-')
    try:
        folder = extract(path, into)
        check_form(path, folder)
    except BaseException as error:
        shutil.rmtree(into, True)
        if isinstance(error, OSError) and not isinstance(error, FileExistsError):
            raise Fault(ENVIRONMENT, f'{path}: {error.strerror}') from None
        if isinstance(error, (tarfile.TarError, lzma.LZMAError, EOFError, FileExistsError, ValueError)):
            raise Fault(INVALID, f'{path}: not an archive of rooftop pack: {error}') from None
        raise
    atexit.register(shutil.rmtree, into, True)
    return folder
