"""Results: the form that a result has, and the folder with a manifest that `rooftop run` leaves.

    load(path, Program, nonce)    a program's result as a record; read(path): whatever kind the file is; else Fault
    Folder.create / Folder.open   a result folder: its manifest, steps and results

docs/result-schema.json says the same of the records for other programs.
"""
import hashlib
import os
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Optional, TypeVar, Union, get_args

from . import INVALID, Fault, Json, disk
from .records import (MOST, Count, Date, Digest, Mismatch, Natural, NotNegative, Positive, Record, Rule, Share, Text,
                      matches)

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
    closed = True
    name: str
    held: bool
    bound: float
    value: Optional[float] = None
    convergence: bool = False


@dataclass(repr=False, eq=False)
class Memory(Record):
    closed = True
    predicted: NotNegative
    high_water: NotNegative


@dataclass(repr=False, eq=False)
class Spaces(Record):
    host: Memory
    pinned: Memory
    device: Memory


@dataclass(repr=False, eq=False)
class Messages(Record):
    closed = True
    within_compute_nodes: NotNegative
    between_compute_nodes: NotNegative


@dataclass(repr=False, eq=False)
class Kernel(Record):
    closed = True
    name: str
    blocks: Count
    threads: Count
    registers: Natural
    local_bytes: Natural
    shared_bytes: Natural
    blocks_per_multiprocessor: Natural
    occupancy: NotNegative


@dataclass(repr=False, eq=False)
class Ceilings(Record):
    """What one rank's part of the machine can do: the highest of all samples of the job. spread: of their bandwidth;
    fma_spread: of the arithmetic."""
    working_set_bytes: Natural
    copy_bytes_per_s: NotNegative
    triad_bytes_per_s: NotNegative
    read_bytes_per_s: NotNegative
    fma64_flop_per_s: NotNegative
    fma32_flop_per_s: NotNegative
    samples: Optional[Count] = None
    spread: Optional[NotNegative] = None
    fma_spread: Optional[NotNegative] = None
    latency_s: Optional[NotNegative] = None
    message_bytes_per_s: Optional[NotNegative] = None
    update_bytes_per_s: NotNegative = 0.0  # of CPUs, since 1.0

    def bandwidth(self) -> tuple[float, str]:
        """Returns the highest bandwidth, and the loop that has it."""
        return max((float(getattr(self, f'{name}_bytes_per_s')), name) for name in ('copy', 'triad', 'read', 'update'))


@dataclass(repr=False, eq=False)
class Clocks(Record):
    """The timed windows, and what lay between them, by every clock that the program could read."""
    closed = True
    monotonic_s: Positive
    raw_s: Positive
    realtime_s: Annotated[float, Rule('is not possible', lambda value: abs(value) <= MOST)]
    tsc_hz: Optional[Positive] = None
    gpu_s: Optional[NotNegative] = None


@dataclass(repr=False, eq=False)
class Residual(Record):
    sweep: Natural
    residual: NotNegative


@dataclass(repr=False, eq=False)
class NonlinearStep(Record):
    """A step of fun3d-mcpi's ladder flow: the residual before it, over the first one."""
    step: Natural
    residual: NotNegative


@dataclass(repr=False, eq=False)
class Timer(Record):
    """A timer of --profile, by its path 'cpu-fused/gather-scatter/pack'. calls, bytes: of all ranks; seconds: of an
    average rank, slowest_seconds: of the slowest."""
    closed = True
    timer: Text
    calls: Natural
    seconds: NotNegative
    slowest_seconds: NotNegative
    bytes: NotNegative


@dataclass(repr=False, eq=False)
class Rung(Record):
    """A rung that ran. Times are absent if its answer is not right or it was not timed, the figures of merit if it is not VALID."""
    name: Text
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
    unit: Optional[Text] = None
    arithmetic: str = ''
    window_seconds: Optional[Annotated[list[Positive], Rule('is empty', bool)]] = None
    warm_up_seconds: Optional[NotNegative] = None
    timed_seconds: Optional[NotNegative] = None
    seconds_per_unit: Optional[Positive] = None
    spread: Optional[NotNegative] = None
    windows: Optional[Count] = None
    solves: Optional[Count] = None
    credited_flop_per_unit: Optional[Positive] = None
    fom_flop_per_s: Optional[Positive] = None
    points_per_s: Optional[NotNegative] = None
    touched_bytes: Optional[NotNegative] = None
    bytes_per_unit: Optional[NotNegative] = None
    flop_per_unit: Optional[NotNegative] = None
    message_bytes_per_unit: Optional[Messages] = None
    clocks: Optional[Clocks] = None
    energy_joules: Optional[NotNegative] = None
    energy_seconds: Optional[NotNegative] = None
    energy_source: str = ''
    kernels: list[Kernel] = field(default_factory=list)
    profile: list[Timer] = field(default_factory=list)
    iterations: list[Natural] = field(default_factory=list)
    choice: dict[str, str] = field(default_factory=dict)
    choice_from: str = ''
    residual_history: list[NotNegative] = field(default_factory=list)
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
    sha256: Digest


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
    version: Text
    date: Date
    compiler: str
    flags: str
    mpi: str
    host: str
    kokkos: str
    kokkos_backend: str
    ranks: Count
    cpu: str
    threads: Count
    gpu: str
    gpu_driver: Natural
    options: dict[str, Union[str, int]]
    nonce: str
    seed: Natural
    inputs_digest: Digest
    verdict: Verdict
    rungs: list[Rung] = field(default_factory=list)
    absent: list[Absent] = field(default_factory=list)
    build: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    files: list[InputFile] = field(default_factory=list)
    roofline: list[Json] = field(default_factory=list)
    tuning: Json = field(default_factory=dict)
    compute_nodes: Optional[Count] = None
    ceilings_cpu: Optional[Ceilings] = None
    ceilings_gpu: Optional[Ceilings] = None

    def __post_init__(self) -> None:
        if not isinstance(self.options.get('seed'), int) or int(self.options['seed']) < 0:
            raise Mismatch('options.seed: not a whole number from 0')


@dataclass(repr=False, eq=False)
class Step(Record):
    """A run of one program."""
    closed = True
    name: Text
    app: App
    command: list[str]
    state: Literal['waiting', 'running', 'done', 'failed']
    exit: Optional[int]
    seconds: Optional[NotNegative]
    json: str
    output: str
    sha256: Optional[Digest]
    why: str
    attempts: Natural = 0


@dataclass(repr=False, eq=False)
class Source(Record):
    version: str
    commit: Optional[Annotated[str, matches('^[0-9a-f]{7,64}$')]]
    changed: list[str]
    diff_file: Optional[str]
    diff_sha256: Optional[Digest] = None
    why: str = ''


@dataclass(repr=False, eq=False)
class ProgramFile(Record):
    path: str
    sha256: Digest
    version: Json


@dataclass(repr=False, eq=False)
class Summary(Record):
    fom: Optional[Positive]
    unit: str
    verdict: Optional[Verdict]
    spread: Optional[NotNegative]
    rung: Optional[str]
    precision: str = ''
    declared: str = ''


@dataclass(repr=False, eq=False)
class Aggregate(Record):
    value: Optional[Positive]
    why: str
    reference: Optional[str] = None
    ratios: dict[str, Positive] = field(default_factory=dict)
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
    started: Date
    finished: Optional[Date]
    state: Literal['running', 'complete']
    official: bool
    size: Size
    nonce: str
    seed: Natural
    source: Source
    launcher: list[str]
    ranks: Count
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
    closed = True
    ranks: Count
    verdict: Optional[Verdict]
    why: str = ''
    rung: str = ''
    spread: Optional[NotNegative] = None
    seconds_per_unit: Optional[Positive] = None
    fom_flop_per_s: Optional[Positive] = None
    efficiency: Optional[NotNegative] = None
    exposed_share: Optional[Share] = None
    phases: dict[str, NotNegative] = field(default_factory=dict)


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
