"""Archives of `rooftop pack`, and what else a command may be given as a result.

    given(paths)    where the files of each result are: an archive is unpacked once, and removed when this process ends

An archive may come from anyone: regular files of plain names in one folder, of limited number and size.
"""
import atexit
import functools
import lzma
import os
import re
import shutil
import tarfile
import tempfile
from typing import NamedTuple

from . import ENVIRONMENT, INVALID, USAGE, Fault, disk

ENDING = '.tar.xz'
FORM = {'system': 'name and maker of the machine', 'tester': 'who measured, and how to reach them',
        'price': 'of what was measured, with its currency',
        'notes': 'what else a reader must know, such as nodes, network and software'}
NAME = re.compile(r'[A-Za-z0-9_][A-Za-z0-9_.+-]{0,100}')
MOST_FILES, MOST_BYTES = 1000, 256 << 20


def extract(path: str, into: str) -> str:
    """Writes the files of an archive into one new folder in `into`; returns it."""
    base, left = '', MOST_BYTES
    with tarfile.open(path, 'r|xz') as tar:
        for count, member in enumerate(tar, 1):
            top, _, name = member.name.partition('/')
            data = tar.extractfile(member) if member.isreg() else None
            if not data or not NAME.fullmatch(top) or not NAME.fullmatch(name) or base not in ('', top):
                raise Fault(INVALID, f'{path}: {member.name!r}: an archive has regular files of plain names in one '
                            'folder')
            base, left = top, left - member.size
            if count > MOST_FILES or left < 0:
                raise Fault(INVALID, f'{path}: more than {MOST_FILES} files, or {MOST_BYTES >> 20} MiB')
            disk.make_folder(os.path.join(into, base))
            with open(os.path.join(into, base, name), 'xb') as file:
                shutil.copyfileobj(data, file)
    if not base:
        raise Fault(INVALID, f'{path}: an empty archive')
    return os.path.join(into, base)


@functools.lru_cache(maxsize=None)
def unpack(path: str) -> tuple[str, dict[str, str]]:
    """Returns a folder with the results of an archive, which lasts as long as this process, and its form; Fault if it
    is not safe or not whole."""
    if not os.path.isfile(path):
        raise Fault(USAGE, f'{path}: no such file')
    into = tempfile.mkdtemp(prefix='rooftop-')
    atexit.register(shutil.rmtree, into, True)
    try:
        folder = extract(path, into)
        form = disk.parse(os.path.join(folder, 'submission.json')).get('form')
    except Fault as fault:
        raise Fault(fault.status, str(fault).replace(into + os.sep, f'{path}: ')) from None
    except (tarfile.TarError, lzma.LZMAError, EOFError, FileExistsError, ValueError) as error:
        raise Fault(INVALID, f'{path}: not an archive of rooftop pack: {error}') from None
    except OSError as error:
        raise Fault(ENVIRONMENT, f'{path}: {error.strerror}') from None
    form = form if isinstance(form, dict) else {}
    return folder, {name: form[name] for name in FORM if isinstance(form.get(name), str)}


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
