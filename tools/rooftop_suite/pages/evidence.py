"""The files of a result folder, read for a report, and what a reader must know before trusting them.

What is wrong with a file is what `rooftop verify` finds in it; a file that is not of the schema does not count.
"""
import os
import shlex
from typing import NamedTuple, Optional

from .. import ENVIRONMENT, Fault
from ..results import APPS, AnyResult, Program, Run, Step, in_order, judge, verify
from ..results.figures import Result

PREFIXES = {'measured': '', 'peak': 'peak-', 'ladder': 'ladder-'}  # of the files of an app


class Flag(NamedTuple):
    """What a reader must know. bad: it makes the numbers worthless."""
    bad: bool
    text: str


class Evidence:
    """A result folder. here: its path in commands; of: {'measured', 'peak' or 'ladder': {app: Result}}."""

    def __init__(self, path: str) -> None:
        self.path, self.here = path, shlex.quote(path)
        if not os.path.isdir(path):
            raise Fault(ENVIRONMENT, f'{path}: no such folder')
        self.names = sorted(os.listdir(path))
        self.files: dict[str, judge.Judged] = {}  # by name
        self.read('run.json', Run)
        manifest = self.files['run.json'].record if 'run.json' in self.files else None
        known = in_order([*APPS, *(step.app for step in (manifest.steps if isinstance(manifest, Run) else []))])
        programs = {what: {app: f'{prefix}{app}.json' for app in known} for what, prefix in PREFIXES.items()}
        for name in [name for by_app in programs.values() for name in by_app.values()]:
            self.read(name, Program)
        records = {name: file.record for name, file in self.files.items()}
        run = records.get('run.json')
        self.run: Optional[Run] = run if isinstance(run, Run) else None
        self.steps: list[Step] = self.run.steps if self.run else []
        self.of = {what: {app: Result(record) for app, name in by_app.items()
                          for record in [records.get(name)] if isinstance(record, Program)}
                   for what, by_app in programs.items()}
        self.flags = sorted(self.judge(), key=lambda flag: not flag.bad)
        if not (self.run or any(flag.bad for flag in self.flags) or any(self.of.values())):
            raise Fault(ENVIRONMENT, f'{path}: no results in it: rooftop run --into {self.here} makes them')

    def file(self, name: str) -> str:
        return os.path.join(self.path, name)

    def read(self, name: str, kind: type[AnyResult]) -> None:
        """Reads and judges a file, if it is there, and those that it names."""
        if name in self.names and name not in self.files:
            for judged in verify.judge_all(self.file(name), None, kind):
                self.files[os.path.basename(judged.path)] = judged

    def judge(self) -> list[Flag]:
        flags = [] if self.run else [Flag(False, 'There is no run.json that counts: it is unknown how, and from which '
                                          'source, this was made')]
        for name, file in self.files.items():
            more = [f'and {len(file.wrong) - 3} more'] if len(file.wrong) > 3 and name != 'run.json' else []
            flags += [Flag(True, line) for line in file.wrong] if name == 'run.json' and self.run else [
                Flag(True, f'{name}: {"; ".join(file.wrong[:3] + more)}')] if file.wrong else []
            flags += [Flag(False, line) for line in file.notes]
        lacks = ', '.join(line for file in self.files.values() for line in file.lacks)
        flags += [Flag(False, f'This is not an official run: it lacks {lacks}')] if lacks else []
        for what, store in self.of.items():
            for app, result in store.items():
                for verdict in ('INVALID', 'NOT CONVERGED', 'UNSTEADY'):  # the tables say why
                    named = ', '.join(rung.name for rung in result.rungs if rung.verdict == verdict)
                    if named or result.program.verdict == verdict == 'INVALID':
                        flags.append(Flag(verdict == 'INVALID', f'{app}, {"measured run" if what == "measured" else what}: '
                                          f'{verdict}{": " if named else ""}{named}'))
        return flags

    def results(self, app: str) -> list[Result]:
        """Returns the results of an app, the measured run first, as far as they are there."""
        return [store[app] for store in self.of.values() if app in store]

    def all(self) -> list[Result]:
        return [result for store in self.of.values() for result in store.values()]

    def apps(self) -> list[str]:
        """Returns the apps of the run, and those with any file, even a broken one; all, if there is no manifest."""
        there = {step.app for step in self.steps}
        return [app for app in in_order([*APPS, *there]) if not self.run or app in there or f'{app}-picture.vti' in self.names or
                any(f'{prefix}{app}.json' in self.names for prefix in PREFIXES.values())]

    def verdict(self) -> str:
        """Returns the verdict on all of it."""
        said = [result.program.verdict for store in ('measured', 'peak') for result in self.of[store].values()]
        return 'INVALID' if any(flag.bad for flag in self.flags) or not said else judge.worst(said)
