"""Confines a program that someone else wrote: its time, its memory, what it writes; no network, no signals to others.

    prepare(memory, alone)    what the child does between fork and exec
    blind()                   '' or why the network cannot be taken away on this machine

This stops accidents and pranks, not a burglar: the program still runs as you and can read what you can read.
"""
import ctypes
import functools
import os
import platform
import resource
import struct
from typing import Callable, NamedTuple

FILE_BYTES = 256 << 20  # the largest file that it may write
NO_NEW_PRIVS, SET_SECCOMP, FILTER = 38, 22, 2  # of prctl
ALLOW, REFUSE, END = 0x7fff0000, 0x00050000 | 1, 0x00050000 | 38  # EPERM; ENOSYS
LOAD, EQUAL, ATLEAST, RETURN = 0x20, 0x15, 0x35, 0x06  # instructions of a filter
NUMBER, ARCHITECTURE, FIRST = 0, 4, 16  # where a filter finds them
LOCAL = (1, 16)  # AF_UNIX and AF_NETLINK: families of sockets that stay on this machine


class Abi(NamedTuple):
    """Numbers of system calls. refused: setsid, kill, tkill, ptrace, pidfd_open."""
    architecture: int
    socket: int
    refused: tuple[int, ...]


ABIS = {'x86_64': Abi(0xC000003E, 41, (112, 62, 200, 101, 434)),
        'aarch64': Abi(0xC00000B7, 198, (157, 129, 130, 117, 434))}
IO_URING = 425  # on both; it could open sockets without a call


def step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack('HBBI', code, yes, no, value)


def refuse_if(code: int, value: int, how: int = REFUSE) -> bytes:
    return step(code, value, 0, 1) + step(RETURN, how)


def rules(abi: Abi) -> bytes:
    """Returns the filter: which system calls are refused."""
    text = step(LOAD, ARCHITECTURE) + step(EQUAL, abi.architecture, 1, 0) + step(RETURN, REFUSE)
    text += step(LOAD, NUMBER) + refuse_if(ATLEAST, 0x40000000) + refuse_if(EQUAL, IO_URING, END)
    text += b''.join(refuse_if(EQUAL, number) for number in abi.refused)
    families = b''.join(step(EQUAL, family, 0, 1) + step(RETURN, ALLOW) for family in LOCAL)
    inside = step(LOAD, FIRST) + families + step(RETURN, REFUSE)
    return text + step(EQUAL, abi.socket, 0, len(inside) // 8) + inside + step(RETURN, ALLOW)


def prepare(memory: int, alone: bool = True) -> Callable[[], None]:
    """Returns what sets the limits in a child. memory: bytes. alone: without network, in its own session for good; a
    launcher of ranks needs both."""
    abi = ABIS.get(platform.machine())
    text = rules(abi) if abi and alone else b''
    buffer = ctypes.create_string_buffer(text)
    program = struct.pack('HxxxxxxP', len(text) // 8, ctypes.addressof(buffer))
    call = ctypes.CDLL(None, use_errno=True).prctl

    def limit(kind: int, value: int) -> None:
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (value if hard == resource.RLIM_INFINITY else min(value, hard),) * 2)

    def confined() -> None:
        _ = buffer  # the program points into it
        limit(resource.RLIMIT_DATA, memory)  # not the address space: CUDA reserves more than there is
        limit(resource.RLIMIT_FSIZE, FILE_BYTES)
        limit(resource.RLIMIT_CORE, 0)
        if text and (call(NO_NEW_PRIVS, 1, 0, 0, 0) or call(SET_SECCOMP, FILTER, program, 0, 0)):
            raise OSError(ctypes.get_errno(), 'no seccomp filter')

    return confined


@functools.lru_cache(maxsize=None)
def blind() -> str:
    """Returns '' if a confined child has no network, or why it cannot be taken away."""
    if platform.machine() not in ABIS:
        return f'the network is not taken away on {platform.machine()}'
    ready = prepare(1 << 40)
    pid = os.fork()
    if pid == 0:
        try:
            ready()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return '' if os.waitpid(pid, 0)[1] == 0 else 'this kernel has no seccomp filters, so the network is not taken away'
