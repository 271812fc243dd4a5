"""The files of a result folder, read for a report, and what a reader must know before trusting them.

A file counts only if it is whole, of the schema, and the one that the run wrote. What is wrong with it is a flag, one line.
"""
import os
import re
import shlex
from typing import NamedTuple, Optional, TypeVar

from .. import ENVIRONMENT, Fault
from ..results import APPS, Program, Run, Scale, Step, disk, judge
from ..results.figures import Result

K = TypeVar('K', Program, Run, Scale)
PREFIXES = {'measured': '', 'peak': 'peak-', 'ladder': 'ladder-'}  # of the files of an app


class Flag(NamedTuple):
    """What a reader must know. bad: it makes the numbers worthless."""
    bad: bool
    text: str


class Evidence:
    """A result folder. here: its path in commands; of: {'measured', 'peak' or 'ladder': {app:
    Result}}."""

    def __init__(self, path: str) -> None:
        self.path, self.here = path, shlex.quote(path)
        self.flags: list[Flag] = []
        if not os.path.isdir(path):
            raise Fault(ENVIRONMENT, f'{path}: no such folder')
        self.names = sorted(os.listdir(path))
        self.run: Optional[Run] = self.read('run.json', Run)
        self.steps: list[Step] = self.run.steps if self.run else []
        self.of: dict[str, dict[str, Result]] = {what: {} for what in PREFIXES}
        for what, prefix in PREFIXES.items():
            for app in APPS:
                program = self.read(f'{prefix}{app}.json', Program)
                if program:
                    self.of[what][app] = Result(program)
        self.scales: dict[str, list[tuple[str, Scale]]] = {}
        for name in self.names:
            scale = self.read(name, Scale) if re.fullmatch(r'scale-.*\.json', name) else None
            if scale:
                self.scales.setdefault(scale.app, []).append((name, scale))
        if not (self.run or self.flags or any(self.of.values())):
            raise Fault(ENVIRONMENT, f'{path}: no results in it: rooftop run --into {self.here} makes them')
        self.judge()

    def file(self, name: str) -> str:
        return os.path.join(self.path, name)

    def read(self, name: str, kind: type[K]) -> Optional[K]:
        """Returns the record in a file of the folder; None if it is not there or does not count."""
        if name not in self.names:
            return None
        judged = judge.judged(self.file(name), follow=False)
        record = judged.record if isinstance(judged.record, kind) else None
        faults: list[str] = judged.wrong if record or not judged.record else [f'not the result of a {kind.__name__.lower()}']
        steps: list[Step] = self.steps if isinstance(record, Program) else []
        step = next((one for one in steps if one.json == name), None)
        if step and step.state == 'done' and step.sha256 != disk.sha256_of(self.file(name)):
            faults = ['not the file that the run wrote', *faults]
        if faults:
            more = f'; and {len(faults) - 3} more' if len(faults) > 3 else ''
            self.say(True, f'{name}: {"; ".join(faults[:3])}{more}')
        return record

    def say(self, bad: bool, text: str) -> None:
        self.flags.append(Flag(bad, text))

    def step(self, name: str) -> Optional[Step]:
        return next((step for step in self.steps if step.name == name), None)

    def results(self, app: str) -> list[Result]:
        """Returns the results of an app, the measured run first, as far as they are there."""
        return [store[app] for store in self.of.values() if app in store]

    def all(self) -> list[Result]:
        return [result for store in self.of.values() for result in store.values()]

    def apps(self) -> list[str]:
        """Returns the apps of the run, and those with any file, even a broken one; all, if there is no manifest."""
        there = {step.app for step in self.steps}
        return [app for app in APPS if not self.run or app in there or f'{app}-picture.vti' in self.names or
                any(f'{prefix}{app}.json' in self.names for prefix in PREFIXES.values())]

    def verdict(self) -> str:
        """Returns the verdict on all of it."""
        said = [result.program.verdict for store in ('measured', 'peak') for result in self.of[store].values()]
        return 'INVALID' if any(flag.bad for flag in self.flags) or not said else judge.worst(said)

    # ---- what a reader must know ----

    def judge(self) -> None:
        run = self.run
        if not run:
            self.say(False, 'There is no run.json that counts: it is unknown how, and from which source, this was made')
        else:
            self.judge_run(run)
        for what, store in self.of.items():
            for app, result in store.items():
                self.judge_result(f'{app}, {"measured run" if what == "measured" else what}', result)
        self.flags.sort(key=lambda flag: not flag.bad)

    def judge_run(self, run: Run) -> None:
        if run.state != 'complete':
            self.say(True, f'The run is not complete: rooftop run --into {self.here} continues it')
        if not run.official:
            self.say(False, 'This is not an official run: sizes, windows and warm-up may differ from the run rules')
        for step in run.steps:
            if step.state == 'failed':
                self.say(True, f'{step.name} failed: {step.why or "no reason given"}; its output is in '
                         f'{step.output or "no file"}')
        for app, row in run.summary.items():
            result = self.of['measured'].get(app)
            fom = result.rungs[0].fom if result and result.rungs else None
            if result and row.fom != fom:
                self.say(True, f'{app}: run.json has the figure of merit {row.fom}, {app}.json has {fom}')

    def judge_result(self, where: str, result: Result) -> None:
        for verdict in ('INVALID', 'NOT CONVERGED', 'UNSTEADY'):  # the tables say why
            named = [rung.name for rung in result.rungs if rung.verdict == verdict]
            if named or result.program.verdict == verdict == 'INVALID':
                self.say(verdict == 'INVALID', f'{where}: {verdict}{": " if named else ""}{", ".join(named)}')
