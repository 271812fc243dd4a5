"""Results: the form that a result has, and the folder with a manifest that `rooftop run` leaves.

    load(path, Program, nonce)    a program's result as a record; read(path): whatever kind the file is; else Fault
    Folder                        a result folder: its manifest, steps and results

docs/result-schema.json says what their members mean and may be.
"""
import hashlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Optional, TypeVar, Union

from .. import INVALID, USAGE, Fault, Json
from . import disk
from .records import Mismatch, Record, check

SCHEMA = 2
SIZES = ('tiny', 'small', 'medium', 'large', 'full')
APPS = ('nekbone', 'alya-rhs', 'fun3d-mcpi', 'gfnn-wave')  # of an official run; a build may have more: programs.known
VERDICTS = ('VALID', 'UNSTEADY', 'NOT CONVERGED', 'INVALID')  # from the best to the worst
RIGHT = VERDICTS[:2]  # those of right answers

# The least that published results are timed for: windows, and seconds of each window and of the warm-up.
WINDOWS, WINDOW, WARM_UP = 5, 10.0, 3.0


def in_order(apps: Iterable[str]) -> list[str]:
    """Returns the names of apps, each once, those of an official run first."""
    return sorted(set(apps), key=lambda app: (APPS.index(app) if app in APPS else len(APPS), app))


def is_gpu_backend(name: str) -> bool:
    """Returns whether a back-end of Kokkos works on a GPU: Cuda, HIP, Experimental::SYCL."""
    return bool(re.search('cuda|hip|sycl', name.lower()))


class Ceilings(Record, kind='ceilings'):
    """What one rank's part of the machine can do."""

    def bandwidth(self) -> tuple[float, str]:
        """Returns the highest bandwidth, and the loop that has it."""
        return max((float(getattr(self, f'{name}_bytes_per_s') or 0), name) for name in ('copy', 'triad', 'read', 'update'))


class Rung(Record, kind='rung'):
    """A rung that ran."""

    def power(self, name: str) -> Any:
        """Returns a member of the power meter, which measures most, or else of the machine's own counters."""
        return getattr(self, f'{"meter" if self.meter_joules else "energy"}_{name}')

    @property
    def watts(self) -> Optional[float]:
        """The mean power of the timed windows; that of the idle machine is not taken off."""
        joules, seconds = self.power('joules'), self.power('seconds')
        return float(joules / seconds) if joules and seconds else None

    @property
    def joules_per_unit(self) -> Optional[float]:
        return self.watts * float(self.seconds_per_unit) if self.watts and self.seconds_per_unit else None

    @property
    def flop_per_joule(self) -> Optional[float]:
        """The figure of merit per watt."""
        return float(self.fom_flop_per_s) / self.watts if self.watts and self.fom_flop_per_s else None

    def timers(self, name: str) -> list[Record]:
        """Returns the timers of --profile with this name, wherever they are nested."""
        return [timer for timer in self.profile if timer.timer.rpartition('/')[2] == name]

    @property
    def valid(self) -> bool:
        return bool(self.verdict == 'VALID')

    @property
    def right(self) -> bool:
        """Whether the answer is right, and so the times are there, on a quiet machine or not."""
        return self.verdict in RIGHT


class Program(Record, kind='program'):
    """What a program writes with --json."""


class Run(Record, kind='run'):
    """run.json: the manifest of a result folder of rooftop run."""


class Step(Record, kind='step'):
    """A run of one program."""


class Source(Record, kind='source'):
    """What the source of a run was."""


class Built(Record, kind='built'):
    """A program of a run."""


class Summary(Record, kind='summary'):
    """The figure of merit of an app."""


AnyResult = Union[Program, Run]


def record_of(value: Json) -> AnyResult:
    """Returns the record that a file's object is, by its "kind"; Mismatch if it is none."""
    kind = value.get('kind', 'program')
    if kind not in ('program', 'run'):
        raise Mismatch(f'kind: {kind!r} is not known')
    check({'$ref': kind}, value)
    return Run(**value) if kind == 'run' else Program(**value)


# ---- Reading ----

def manifest_of(path: str) -> str:
    """Returns the path of the manifest of a folder or an archive of one, or of the file that is given."""
    return os.path.join(path, 'run.json') if os.path.isdir(path) or disk.is_archive(path) else path


def read(path: str, nonce: Optional[str] = None) -> AnyResult:
    """Returns the record in a file. nonce: what must be in it (None: anything)."""
    try:
        record = record_of(disk.parse(path))
    except Mismatch as mismatch:
        raise Fault(INVALID, f'{path}: not a result by docs/result-schema.json: {mismatch}') from None
    if nonce is not None and record.nonce != nonce:
        raise Fault(INVALID, f"{path}: its nonce is '{record.nonce}', not '{nonce}'")
    return record


K = TypeVar('K', Program, Run)


def load(path: str, kind: type[K], nonce: Optional[str] = None) -> K:
    """Returns the record of this kind in a file; Fault if the file holds another kind."""
    if manifest_of(path) != path:
        steps = ', '.join(os.path.join(path, step.json) for step in Folder.open(path).steps[:len(APPS)])
        raise Fault(USAGE, f'{path}: a folder of many results: name one, such as {steps}')
    record = read(path, nonce)
    if not isinstance(record, kind):
        raise Fault(INVALID, f'{path}: not the result of a {kind.__name__.lower()}')
    return record


# ---- Result folders ----

@dataclass(repr=False, eq=False)
class Folder:
    """A folder of `rooftop run`: run.json (the manifest) and the files that its steps name. It may come from someone
    else: none of them is outside the folder."""
    path: str
    manifest: Run

    @classmethod
    def open(cls, path: str) -> 'Folder':
        """Returns the folder at a path; Fault if its manifest is not whole."""
        return cls(path, load(os.path.join(path, 'run.json'), Run))

    @classmethod
    def at(cls, path: str, manifest: Run) -> 'Folder':
        """Returns the folder of a manifest that was read from a path."""
        return cls(os.path.dirname(path) or '.', manifest)

    @staticmethod
    def is_one(path: str) -> bool:
        return os.path.isfile(os.path.join(path, 'run.json'))

    def save(self) -> None:
        disk.save(self.file('run.json'), self.manifest)

    def file(self, name: str) -> str:
        """Returns the path of a file of the folder; Fault if the name leads elsewhere."""
        if not name or '/' in name or name in ('.', '..'):
            raise Fault(INVALID, f"{self.path}: '{name}' is no name of a file in this folder")
        return os.path.join(self.path, name)

    @property
    def alone(self) -> bool:
        """Returns whether none of the results that the manifest names is here."""
        return not any(disk.exists(self.file(step.json)) for step in self.steps)

    @property
    def steps(self) -> list[Step]:
        steps: list[Step] = self.manifest.steps
        return steps

    def whole(self, step: Step) -> bool:
        """Returns whether a step is done and its file is the one written then."""
        try:
            digest = hashlib.sha256(disk.read_bytes(self.file(step.json))).hexdigest()
            return bool(step.state == 'done' and digest == step.sha256)
        except (OSError, Fault):
            return False

    def result(self, name: str) -> Optional[Program]:
        """Returns the result of the step of this name, or None if it is not done or its file is not whole."""
        for step in self.steps:
            if step.name == name and self.whole(step):
                return load(self.file(step.json), Program)
        return None
