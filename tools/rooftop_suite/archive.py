"""Archives of `rooftop pack`, and what else a command may be given as a result.

    given(paths)    where the files of each result are: an archive is unpacked once, and removed when this process ends

An archive may come from anyone: regular files of plain names in one folder, of limited number and size, and exactly
those that its form lists.
"""
import atexit
import functools
import io
import lzma
import os
import re
import shutil
import tarfile
import tempfile
from typing import NamedTuple, Optional

from . import ENVIRONMENT, INVALID, USAGE, Fault, disk, results
from .results import Run

ENDING = '.tar.xz'
FORM = {'system': 'name and maker of the machine', 'tester': 'who measured, and how to reach them',
        'nodes': 'how many, and what is in one (default: as seen)', 'interconnect': 'of the nodes (default: as seen)',
        'software': 'system, compilers, MPI, drivers (default: as seen)',
        'price': 'of what was measured, with its currency',
        'notes': 'what else a reader must know'}
NAME = re.compile(r'[A-Za-z0-9_][A-Za-z0-9_.+-]{0,100}')
MOST_FILES, MOST_BYTES, MOST_MEMORY = 1000, 256 << 20, 128 << 20


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


def read_form(path: str, folder: str) -> dict[str, str]:
    """Returns who submits what; Fault unless the files are those that the form lists."""
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
    return {name: form[name] for name in FORM if isinstance(form.get(name), str)}


@functools.lru_cache(maxsize=None)
def unpack(path: str) -> tuple[str, dict[str, str]]:
    """Returns a folder with the results of an archive, which lasts as long as this process, and its form; Fault if it
    is not safe, not whole, or not what its form lists."""
    if not os.path.isfile(path):
        raise Fault(USAGE, f'{path}: no such file')
    into = tempfile.mkdtemp(prefix='rooftop-')
    try:
        folder = extract(path, into)
        form = read_form(path, folder)
    except BaseException as error:
        shutil.rmtree(into, True)
        if isinstance(error, OSError) and not isinstance(error, FileExistsError):
            raise Fault(ENVIRONMENT, f'{path}: {error.strerror}') from None
        if isinstance(error, (tarfile.TarError, lzma.LZMAError, EOFError, FileExistsError, ValueError)):
            raise Fault(INVALID, f'{path}: not an archive of rooftop pack: {error}') from None
        if isinstance(error, Fault):
            raise Fault(error.status, str(error).replace(into + os.sep, f'{path}: ')) from None
        raise
    atexit.register(shutil.rmtree, into, True)
    return folder, form


class Given(NamedTuple):
    """A result that a command was given. at: its file or folder; name: its system by the form, else its path."""
    path: str
    at: str
    name: str
    form: dict[str, str]

    def shown(self, path: str) -> str:
        """Returns the path of a file in it as a user knows it."""
        return self.path + path[len(self.at):] if path.startswith(self.at) else path


def given(paths: list[str]) -> list[Given]:
    """Returns the results of a command line, in order."""
    found = []
    for path in paths:
        at, form = unpack(path) if path.endswith(ENDING) else (path, {})
        found.append(Given(path, at, form.get('system') or path, form))
    names = [one.name for one in found]
    return [one if one.name == one.path or names.count(one.name) == 1 else
            one._replace(name=f'{one.name} ({one.path})') for one in found]
