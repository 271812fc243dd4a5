"""`rooftop verify --rerun`: what the program of this machine says of a result's problem, against what the result says.

The program makes the inputs again, verifies the rung, and prints its facts (--facts): options in force, digest of the
inputs, files, work of a unit, checks with their bounds. A measured run of a folder must have the options that its
--size gives, not those that its file names. docs/run-rules.md says what cannot be compared.
"""
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Optional

from . import ENVIRONMENT, Fault, one_line, programs
from .plan import FREE_OF
from .records import Digest, NotNegative, Positive, Record
from .results import Check, InputFile, Program, Run, Rung, Spaces, Step

EXTENTS = {'nekbone': ('elements',), 'alya-rhs': ('cells',), 'fun3d-mcpi': ('surface', 'layers'),
           'gfnn-wave': ('elements',)}
TARGETS = {'tiny': 2.0**26, 'small': 2.0**30, 'medium': 2.0**33}  # bytes per rank of a size
FREE = {'ranks', 'seed'}  # options that are not the problem's
# Options with which a peak run may declare how it solves the problem; all others are those of the size.
DECLARED = {app: {'rung', 'choose', *names} - FREE for app, names in FREE_OF.items()}
# Their bounds follow from how far rounding errors moved the reference here: they are relative errors, and below 1.
MOVING = {'|x - x_ref| / |x_ref|', 'short solve: |x - x_ref| / |x_ref|',
          "residual - the reference's, exact matrix (of |R|)", 'the timed steps end where the replay does (max |u|)'}
LOOSE = 0.03  # of the work of gfnn-wave, which has one iteration more or less by rounding
LIMIT = 1800.0  # seconds


@dataclass(repr=False, eq=False)
class RungFacts(Record):
    name: str
    unit: str
    credited_flop_per_unit: Positive
    bytes_per_unit: NotNegative
    flop_per_unit: NotNegative
    checks: list[Check]
    memory_bytes: Spaces


@dataclass(repr=False, eq=False)
class Facts(Record):
    options: dict[str, object]
    inputs_digest: Digest
    files: list[InputFile]
    rungs: list[RungFacts] = field(default_factory=list)


def measured(step: Optional[Step]) -> bool:
    """Returns whether a step is a measured run of its app: base, with the default options, or peak."""
    return step is not None and step.name in (step.app, f'peak-{step.app}')


def declared(step: Step) -> list[str]:
    """Returns the declared options of a step."""
    pairs = zip(step.command, step.command[1:]) if step.name != step.app else ()
    return [word for name, value in pairs if name[:2] == '--' and name[2:] in DECLARED[step.app]
            for word in (name, value)]


def problem_words(result: Program, step: Step, run: Run) -> list[str]:
    """Returns the arguments that make the problem of a measured run, and the choice that its rung made."""
    words, choice = declared(step), result.rungs[0].choice if result.rungs else {}
    if step.app == 'gfnn-wave' and '--precond' not in words and result.rungs:  # its default is that of the processor
        words += ['--precond', 'gfm' if result.rungs[0].kind == 'cuda' else 'cheb']
    if run.size in TARGETS and result.ranks == 1 and step.name == step.app:
        words += ['--size', run.size]
    else:
        words += [f'--{name}={result.options.get(name)}' for name in EXTENTS[step.app]]
    if choice and '--choose' not in words:
        words += ['--choose', ','.join(f'{name}={value}' for name, value in choice.items())]
    return words + ['--no-tuning']


def words_for(result: Program, step: Optional[Step], run: Optional[Run]) -> list[str]:
    """Returns the program's arguments: the problem that the result should be of, and its rung."""
    words = ['--nonce', result.nonce] if result.nonce else ['--seed', str(result.seed)]
    names = ','.join(rung.name for rung in result.rungs[:1]) or 'none'
    if run and step and measured(step):
        return problem_words(result, step, run) + words + ['--facts', names]
    words += [f'--{name}={value}' for name, value in result.options.items() if name not in FREE]
    return words + ['--no-tuning', '--facts', 'none' if step else names]


def ask(result: Program, words: list[str], bindir: Optional[str]) -> Facts:
    """Returns the facts that the program here prints; Fault if it prints none."""
    program = programs.find(result.program, bindir)
    ended = programs.run([program, *words], limit=LIMIT)
    lines = ended.text.strip().splitlines()
    if ended.exit != 0 or not lines:
        raise Fault(ENVIRONMENT, f'{program} --facts: {programs.reason(ended)}')
    try:
        return Facts.from_json(json.loads(lines[-1]))
    except ValueError as error:
        raise Fault(ENVIRONMENT, f'{program} --facts: {error}: build it again') from None


def same(told: Optional[float], known: float, loose: float) -> bool:
    return told is not None and abs(told - known) <= loose * max(abs(told), abs(known))


def compare_checks(rung: Rung, known: RungFacts) -> Iterator[str]:
    told = {check.name: check for check in rung.checks if not check.name.startswith('plausible')}
    bounds = {check.name: check.bound for check in known.checks}
    yield from (f"check '{name}' is missing" for name in bounds if name not in told)
    yield from (f"check '{name}' is not one that the program makes" for name in told if name not in bounds)
    for name in bounds.keys() & told.keys():
        bound, limit = told[name].bound, bounds[name]
        if not (bound <= 1 if name in MOVING else same(bound, limit, 0.5)):
            yield f"check '{name}': its bound is {bound:.6g}, the program's here {limit:.6g}"


def compare_rung(result: Program, rung: Rung, known: RungFacts, ranks: int) -> Iterator[str]:
    loose = LOOSE if result.program == 'gfnn-wave' else 1e-9
    if rung.right and rung.unit != known.unit:
        yield f'a unit is {rung.unit}, not {known.unit}'
    for name in ('credited_flop_per_unit', 'bytes_per_unit', 'flop_per_unit'):
        told, value = getattr(rung, name), getattr(known, name)
        alone = name != 'credited_flop_per_unit' and (known.name != rung.name or ranks > 1)
        if rung.window_seconds and not alone and not same(told, value, loose):
            yield f'{name} is {told}, the program here says {value:.9g}'
    if known.name == rung.name and ranks == 1:
        yield from compare_checks(rung, known)


def compare_options(result: Program, facts: Facts) -> Iterator[str]:
    told, known = result.options, facts.options
    for name in sorted((told.keys() | known.keys()) - FREE):
        if told.get(name) != known.get(name):
            yield f'--{name} is {told.get(name)}, and {known.get(name)} by its size and defaults'


def compare(result: Program, facts: Facts, step: Optional[Step], run: Optional[Run]) -> Iterator[str]:
    """Yields what a result says that the program here does not."""
    if facts.inputs_digest != result.inputs_digest:
        yield f'inputs_digest is {result.inputs_digest[:12]}.., the inputs made here have {facts.inputs_digest[:12]}..'
    if measured(step):
        yield from compare_options(result, facts)
    here = {(file.name, file.sha256) for file in facts.files}
    for file in result.files:
        if not file.name.endswith('.tuning') and (file.name, file.sha256) not in here:
            yield f'it read another {file.name} than the program here'
    for rung, known in zip(result.rungs, facts.rungs):
        yield from (f'rungs[0] {rung.name}: {line}' for line in compare_rung(result, rung, known, result.ranks))
        target = TARGETS.get(run.size) if run and measured(step) else None
        memory = known.memory_bytes.host.predicted / result.ranks
        if target and result.ranks > 1 and not 0.3 * target <= memory <= 1.3 * target:
            yield f'{memory / 2**20:.0f} MiB per rank are not size {run.size if run else ""}'


class Rerun:
    """Asks each program once per problem."""

    def __init__(self, bindir: Optional[str]) -> None:
        self.bindir, self.known = bindir, dict[str, Facts]()

    def faults(self, path: str, result: Program, step: Optional[Step], run: Optional[Run]) -> list[str]:
        """Returns the faults of a result; Fault if it cannot be rerun here."""
        words = words_for(result, step, run)
        key = json.dumps([result.program, words])
        if key not in self.known:
            print(f'{one_line(path)}: {result.program} makes its inputs and checks', file=sys.stderr, flush=True)
            self.known[key] = ask(result, words, self.bindir)
        return list(compare(result, self.known[key], step, run))
