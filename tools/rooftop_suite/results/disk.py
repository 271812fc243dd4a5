"""Files that are whole or not there, and the JSON in them.

    create(path)                                 the one function that opens a file for writing
    save_bytes(path, data), save(path, value)    write a file whole or not at all; JSON
    read_bytes(path), parse(path)                what is in a regular file; a JSON object

What is read may be in an archive of a folder, which then stands for the folder: FOLDER.tar.xz/run.json.
"""
import errno
import functools
import hashlib
import io
import json
import lzma
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO, Callable

from .. import ENVIRONMENT, Fault, Json, one_line

MOST_BYTES = 64 << 20  # of a file that is read whole: a result has some 100 KB
MOST_UNPACKED = 4 * MOST_BYTES  # of an archive
ARCHIVES = ('.tar.gz', '.tgz', '.tar.xz', '.zip')


def remove(path: str) -> None:
    try:
        os.remove(path)
    except FileNotFoundError:
        pass


# ---- Writing ----

def check_writable(path: str) -> None:
    """Raises OSError if something other than a regular file has this name: to replace a device would take it from all
    users of the machine."""
    if os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode):
        raise OSError(errno.EINVAL, 'it is not a regular file; name one', path)


def create(path: str) -> BinaryIO:
    """Opens an empty file for reading and writing; OSError if something other than a regular file is there."""
    check_writable(path)
    return open(path, 'w+b')


def settle(part: str, path: str) -> None:
    """Renames a finished file to its final name; OSError if that is the name of no regular file."""
    check_writable(path)
    with open(part, 'rb') as file:
        os.fsync(file.fileno())
    os.replace(part, path)


def part_of(path: str) -> str:
    """Returns the name that a file has while it is being written."""
    folder, name = os.path.split(os.path.abspath(path))
    return os.path.join(folder, f'.part-{name}')


def make_folder(path: str, status: int = ENVIRONMENT) -> None:
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise Fault(status, f'{path}: {error.strerror}') from None


def save_bytes(path: str, data: bytes) -> None:
    """Writes a file whole or not at all. On a full disk: Fault, and the file that was there is unchanged."""
    part = part_of(path)
    try:
        with create(part) as file:
            file.write(data)
        settle(part, path)
    except OSError as error:
        if os.path.isfile(part):
            remove(part)
        raise Fault(ENVIRONMENT, f'{path}: {error.strerror}') from None


def save(path: str, value: Json) -> None:
    """Writes a JSON file."""
    save_bytes(path, (json.dumps(value, indent=1, allow_nan=False, ensure_ascii=False) + '\n').encode())


# ---- Reading ----

def is_archive(path: str) -> bool:
    return path.endswith(ARCHIVES) and os.path.isfile(path)


def members(path: str) -> Iterator[tuple[str, int, Callable[[], bytes]]]:
    """Yields (name, bytes, what reads it) of the files of an archive, without links and devices."""
    data = io.BytesIO(read_bytes(path))
    if path.endswith('.zip'):
        with zipfile.ZipFile(data) as folder:
            yield from ((one.filename, one.file_size, functools.partial(folder.read, one)) for one in folder.infolist())
    else:
        with tarfile.open(fileobj=data) as tar:
            yield from ((one.name, one.size, file.read) for one in tar for file in [one.isreg() and tar.extractfile(one)] if file)


@functools.lru_cache(maxsize=None)
def unpacked(path: str) -> dict[str, bytes]:
    """Returns the files beside the run.json in an archive, by name. They stay in memory, so a path in it leads nowhere."""
    folders: dict[str, dict[str, bytes]] = {}
    left = MOST_UNPACKED
    try:
        for name, size, content in members(path):
            left -= size
            if left < 0:
                raise ValueError(f'more than {MOST_UNPACKED >> 20} MiB')
            folders.setdefault(os.path.dirname(name), {})[os.path.basename(name)] = content()
        found, = [files for files in folders.values() if 'run.json' in files] or [{}]
    except (tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, zlib.error, EOFError, OSError, RuntimeError, ValueError) as error:
        raise OSError(errno.EINVAL, f'not an archive of one result folder: {error}', path) from None
    return found


def exists(path: str) -> bool:
    folder, name = os.path.split(path)
    return name in unpacked(folder) if is_archive(folder) else os.path.lexists(path)


def read_bytes(path: str) -> bytes:
    """Returns the bytes of a regular file; OSError for anything else, such as a pipe, a device or a file that would
    fill the memory."""
    folder, name = os.path.split(path)
    if is_archive(folder):
        if not exists(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return unpacked(folder)[name]
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), 'rb') as file:
        info = os.fstat(file.fileno())
        if not stat.S_ISREG(info.st_mode):
            raise OSError(errno.EINVAL, 'not a regular file', path)
        if info.st_size > MOST_BYTES:
            raise OSError(errno.EFBIG, f'larger than {MOST_BYTES >> 20} MiB', path)
        return file.read()


def sha256_of(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, 'rb') as file:
        for block in iter(lambda: file.read(1 << 20), b''):
            digest.update(block)
    return digest.hexdigest()


def seed_of(nonce: str) -> int:
    """Returns the seed that the programs derive from a nonce."""
    return int.from_bytes(hashlib.sha256(b'rooftop:' + nonce.encode()).digest()[:8], 'big') & ((1 << 62) - 1)


def printable(value: Any) -> Any:
    """Returns a JSON value in whose texts line ends, escape codes and halves of characters are written out: they end up
    on terminals and in reports."""
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, dict):
        return {one_line(name): printable(member) for name, member in value.items()}
    return [printable(member) for member in value] if isinstance(value, list) else value


def parse(path: str) -> Json:
    """Returns the value of a JSON file; Fault if it cannot be read or is not one JSON object."""
    try:
        value = printable(json.loads(read_bytes(path)))
    except OSError as error:
        raise Fault(ENVIRONMENT, f'{path}: {error.strerror}') from None
    except (ValueError, RecursionError) as error:
        raise Fault(ENVIRONMENT, f'{path}: not a whole JSON file: {error}') from None
    if not isinstance(value, dict):
        raise Fault(ENVIRONMENT, f'{path}: not a result: no object')
    return value
