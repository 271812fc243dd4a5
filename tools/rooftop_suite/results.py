"""Results: the form that a result has, and the folder with a manifest that `rooftop run` leaves.

    load(path, Program, nonce)    a program's result as a record; read(path): whatever kind the file is; else Fault
    Folder.create / Folder.open   a result folder: its manifest, steps and results

docs/result-schema.json says what their members mean and may be.
"""
import hashlib
import os
from dataclasses import dataclass, field
from typing import Any, Literal, Optional, TypeVar, Union, get_args

from . import INVALID, Fault, Json, disk
from .records import Mismatch, Record, check

SCHEMA = 2
App = Literal['nekbone', 'alya-rhs', 'fun3d-mcpi', 'gfnn-wave']
Kind = Literal['cpu', 'cuda', 'kokkos', 'openacc']
Verdict = Literal['VALID', 'UNSTEADY', 'NOT CONVERGED', 'INVALID']  # from the best to the worst
Size = Literal['tiny', 'small', 'medium', 'large', 'full']
SIZES: tuple[str, ...] = get_args(Size)
APPS: tuple[str, ...] = get_args(App)
VERDICTS: tuple[str, ...] = get_args(Verdict)
RIGHT = VERDICTS[:2]  # those of right answers


@dataclass(repr=False, eq=False)
class Check(Record):
    """value is absent where it was not finite: the check has failed then. convergence: if it alone fails, the run is not
    wrong."""
    name: str
    held: bool
    bound: float
    value: Optional[float] = None
    convergence: bool = False


@dataclass(repr=False, eq=False)
class Memory(Record):
    predicted: float
    high_water: float


@dataclass(repr=False, eq=False)
class Spaces(Record):
    host: Memory
    pinned: Memory
    device: Memory


@dataclass(repr=False, eq=False)
class Messages(Record):
    within_compute_nodes: float
    between_compute_nodes: float


@dataclass(repr=False, eq=False)
class Ceilings(Record):
    """What one rank's part of the machine can do: the highest of all samples of the job. spread: of their bandwidth;
    fma_spread: of the arithmetic."""
    working_set_bytes: int
    copy_bytes_per_s: float
    triad_bytes_per_s: float
    read_bytes_per_s: float
    fma64_flop_per_s: float
    fma32_flop_per_s: float
    samples: Optional[int] = None
    spread: Optional[float] = None
    fma_spread: Optional[float] = None
    latency_s: Optional[float] = None
    message_bytes_per_s: Optional[float] = None
    update_bytes_per_s: float = 0.0  # of CPUs

    def bandwidth(self) -> tuple[float, str]:
        """Returns the highest bandwidth, and the loop that has it."""
        return max((float(getattr(self, f'{name}_bytes_per_s')), name) for name in ('copy', 'triad', 'read', 'update'))


@dataclass(repr=False, eq=False)
class Clocks(Record):
    """The timed windows, and what lay between them, by every clock that the program could read."""
    monotonic_s: float
    raw_s: float
    realtime_s: float
    tsc_hz: Optional[float] = None
    gpu_s: Optional[float] = None


@dataclass(repr=False, eq=False)
class Residual(Record):
    sweep: int
    residual: float


@dataclass(repr=False, eq=False)
class NonlinearStep(Record):
    """A step of fun3d-mcpi's ladder flow: the residual before it, over the first one."""
    step: int
    residual: float


@dataclass(repr=False, eq=False)
class Timer(Record):
    """A timer of --profile, by its path 'cpu-fused/gather-scatter/pack'. calls, bytes: of all ranks; seconds: of an
    average rank, slowest_seconds: of the slowest."""
    timer: str
    calls: int
    seconds: float
    slowest_seconds: float
    bytes: float


@dataclass(repr=False, eq=False)
class Rung(Record):
    """A rung that ran. Times are absent if its answer is not right or it was not timed, the figures of merit if it is not VALID."""
    name: str
    kind: Kind
    verdict: Verdict
    disturbed: list[str]
    checks: list[Check]
    memory_bytes: Spaces
    processor: Literal['', 'cpu', 'gpu'] = ''
    after: str = ''
    idea: str = ''
    precision: str = ''
    ladder: str = ''
    ceilings_again: Optional[Ceilings] = None
    unit: Optional[str] = None
    arithmetic: str = ''
    window_seconds: Optional[list[float]] = None
    warm_up_seconds: Optional[float] = None
    timed_seconds: Optional[float] = None
    seconds_per_unit: Optional[float] = None
    spread: Optional[float] = None
    windows: Optional[int] = None
    solves: Optional[int] = None
    credited_flop_per_unit: Optional[float] = None
    fom_flop_per_s: Optional[float] = None
    points_per_s: Optional[float] = None
    touched_bytes: Optional[float] = None
    bytes_per_unit: Optional[float] = None
    flop_per_unit: Optional[float] = None
    message_bytes_per_unit: Optional[Messages] = None
    clocks: Optional[Clocks] = None
    energy_joules: Optional[float] = None
    energy_seconds: Optional[float] = None
    energy_source: str = ''
    profile: list[Timer] = field(default_factory=list)
    iterations: list[int] = field(default_factory=list)
    choice: dict[str, str] = field(default_factory=dict)
    choice_from: str = ''
    residual_history: list[float] = field(default_factory=list)
    residuals: list[Residual] = field(default_factory=list)
    steps: list[NonlinearStep] = field(default_factory=list)

    @property
    def watts(self) -> Optional[float]:
        """The mean power of the timed windows."""
        return self.energy_joules / self.energy_seconds if self.energy_joules and self.energy_seconds else None

    @property
    def joules_per_unit(self) -> Optional[float]:
        return self.watts * self.seconds_per_unit if self.watts and self.seconds_per_unit else None

    @property
    def flop_per_joule(self) -> Optional[float]:
        """The figure of merit per watt."""
        return self.fom_flop_per_s / self.watts if self.watts and self.fom_flop_per_s else None

    @property
    def valid(self) -> bool:
        return self.verdict == 'VALID'

    @property
    def right(self) -> bool:
        """Whether the answer is right, and so the times are there, on a quiet machine or not."""
        return self.verdict in RIGHT


@dataclass(repr=False, eq=False)
class InputFile(Record):
    """A file that the program read."""
    name: str
    sha256: str


@dataclass(repr=False, eq=False)
class Absent(Record):
    name: str
    kind: Kind
    why: str


@dataclass(repr=False, eq=False)
class Program(Record):
    """What a program writes with --json."""
    schema: Literal[2]
    program: App
    version: str
    date: str
    compiler: str
    flags: str
    mpi: str
    host: str
    kokkos: str
    kokkos_backend: str
    ranks: int
    cpu: str
    threads: int
    gpu: str
    gpu_driver: int
    options: dict[str, Union[str, int]]
    nonce: str
    seed: int
    inputs_digest: str
    verdict: Verdict
    rungs: list[Rung] = field(default_factory=list)
    absent: list[Absent] = field(default_factory=list)
    build: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    files: list[InputFile] = field(default_factory=list)
    roofline: list[Json] = field(default_factory=list)
    tuning: Json = field(default_factory=dict)
    compute_nodes: Optional[int] = None
    ceilings_cpu: Optional[Ceilings] = None
    ceilings_gpu: Optional[Ceilings] = None


@dataclass(repr=False, eq=False)
class Step(Record):
    """A run of one program."""
    name: str
    app: App
    command: list[str]
    state: Literal['waiting', 'running', 'done', 'failed']
    exit: Optional[int]
    seconds: Optional[float]
    json: str
    output: str
    sha256: Optional[str]
    why: str
    attempts: int = 0


@dataclass(repr=False, eq=False)
class Source(Record):
    version: str
    commit: Optional[str]
    changed: list[str]
    diff_file: Optional[str]
    diff_sha256: Optional[str] = None
    why: str = ''


@dataclass(repr=False, eq=False)
class ProgramFile(Record):
    path: str
    sha256: str
    version: Json


@dataclass(repr=False, eq=False)
class Summary(Record):
    fom: Optional[float]
    unit: str
    verdict: Optional[Verdict]
    spread: Optional[float]
    rung: Optional[str]
    precision: str = ''
    declared: str = ''


@dataclass(repr=False, eq=False)
class Aggregate(Record):
    value: Optional[float]
    why: str
    reference: Optional[str] = None
    ratios: dict[str, float] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)


@dataclass(repr=False, eq=False)
class Soak(Record):
    drift: float
    spread: float


@dataclass(repr=False, eq=False)
class Run(Record):
    """run.json: the manifest of a result folder of rooftop run."""
    schema: Literal[2]
    kind: Literal['run']
    started: str
    finished: Optional[str]
    state: Literal['running', 'complete']
    official: bool
    size: Size
    nonce: str
    seed: int
    source: Source
    launcher: list[str]
    ranks: int
    settings: Json
    programs: dict[str, ProgramFile]
    environment: Json
    steps: list[Step]
    summary: dict[str, Summary]
    aggregate: Aggregate
    peak: dict[str, Summary] = field(default_factory=dict)
    soak: dict[str, Soak] = field(default_factory=dict)


@dataclass(repr=False, eq=False)
class Point(Record):
    """A number of ranks of a scaling curve."""
    ranks: int
    verdict: Optional[Verdict]
    why: str = ''
    rung: str = ''
    spread: Optional[float] = None
    seconds_per_unit: Optional[float] = None
    fom_flop_per_s: Optional[float] = None
    efficiency: Optional[float] = None
    exposed_share: Optional[float] = None
    phases: dict[str, float] = field(default_factory=dict)


@dataclass(repr=False, eq=False)
class Scale(Record):
    """scale-APP.json: an app over ranks."""
    schema: Literal[2]
    kind: Literal['scale']
    app: App
    size: Size
    nonce: str
    over: Literal['ranks', 'GPUs']
    command: list[str]
    environment: Json
    strong: list[Point] = field(default_factory=list)
    weak: list[Point] = field(default_factory=list)


AnyResult = Union[Program, Run, Scale]


def record_of(value: Json) -> AnyResult:
    """Returns the record that a file's object is, by its "kind"; Mismatch if it is none."""
    kind = value.get('kind', 'program')
    kinds: dict[Any, type[AnyResult]] = {'program': Program, 'run': Run, 'scale': Scale}
    if not isinstance(kind, str) or kind not in kinds:
        raise Mismatch(f'kind: {kind!r} is not known')
    check({'$ref': kind}, value)
    return kinds[kind].from_json(value)


# ---- Reading ----

def read(path: str, nonce: Optional[str] = None, follow: bool = True) -> AnyResult:
    """Returns the record in a file. nonce: what must be in it (None: anything)."""
    try:
        record = record_of(disk.parse(path, follow))
    except Mismatch as mismatch:
        raise Fault(INVALID, f'{path}: not a result by docs/result-schema.json: {mismatch}') from None
    if nonce is not None and record.nonce != nonce:
        raise Fault(INVALID, f"{path}: its nonce is '{record.nonce}', not '{nonce}'")
    return record


K = TypeVar('K', Program, Run, Scale)


def load(path: str, kind: type[K], nonce: Optional[str] = None, follow: bool = True) -> K:
    """Returns the record of this kind in a file; Fault if the file holds another kind."""
    record = read(path, nonce, follow)
    if not isinstance(record, kind):
        raise Fault(INVALID, f'{path}: not the result of a {kind.__name__.lower()}')
    return record


# ---- Result folders ----

@dataclass(repr=False, eq=False)
class Folder:
    """A folder of `rooftop run`: run.json (the manifest) and the files that its steps name. It may come from someone
    else: none of them is outside the folder, a link, a pipe or a device."""
    path: str
    manifest: Run

    @classmethod
    def create(cls, path: str, manifest: Run) -> 'Folder':
        """Makes the folder and its manifest."""
        disk.make_folder(path)
        folder = cls(path, manifest)
        folder.save()
        return folder

    @classmethod
    def open(cls, path: str) -> 'Folder':
        """Returns the folder at a path; Fault if its manifest is not whole."""
        return cls(path, load(os.path.join(path, 'run.json'), Run, follow=False))

    @staticmethod
    def is_one(path: str) -> bool:
        return os.path.isfile(os.path.join(path, 'run.json'))

    def save(self) -> None:
        disk.save(self.file('run.json'), self.manifest.to_json())

    def file(self, name: str) -> str:
        """Returns the path of a file of the folder; Fault if the name leads elsewhere."""
        if not name or '/' in name or name in ('.', '..'):
            raise Fault(INVALID, f"{self.path}: '{name}' is no name of a file in this folder")
        return os.path.join(self.path, name)

    def holds(self, name: str, sha256: Optional[str]) -> bool:
        """Returns whether the file of this name is there and has this digest."""
        try:
            return hashlib.sha256(disk.read_bytes(self.file(name), follow=False)).hexdigest() == sha256
        except (OSError, Fault):
            return False

    @property
    def alone(self) -> bool:
        """Returns whether none of the results that the manifest names is here."""
        return not any(os.path.lexists(self.file(step.json)) for step in self.steps)

    @property
    def steps(self) -> list[Step]:
        return self.manifest.steps

    def whole(self, step: Step) -> bool:
        """Returns whether a step is done and its file is the one written then."""
        return step.state == 'done' and self.holds(step.json, step.sha256)

    def result(self, name: str) -> Optional[Program]:
        """Returns the result of the step of this name, or None if it is not done or its file is not whole."""
        for step in self.steps:
            if step.name == name and self.whole(step):
                return load(self.file(step.json), Program, follow=False)
        return None
