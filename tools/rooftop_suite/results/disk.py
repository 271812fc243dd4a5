"""Files that are whole or not there, and the JSON in them.

    create(path)                                 the one function that opens a file for writing
    save_bytes(path, data), save(path, value)    write a file whole or not at all; JSON
    read_bytes(path), parse(path)                what is in a regular file; a JSON object
"""
import errno
import hashlib
import json
import os
import stat
from typing import Any, BinaryIO

from .. import ENVIRONMENT, Fault, Json, one_line

MOST_BYTES = 64 << 20  # of a file that is read whole: a result has some 100 KB


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

def read_bytes(path: str) -> bytes:
    """Returns the bytes of a regular file; OSError for anything else, such as a pipe, a device or a file that would
    fill the memory."""
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
