"""The files of a result folder, read for a report, and what a reader must know before trusting them.

What is wrong with a file is what `rooftop verify` finds in it; a file that is not of the schema does not count.
"""
import os
import shlex
from typing import NamedTuple

from .. import ENVIRONMENT, Fault
from ..results import Program, Run, in_order, judge, verify
from ..results.figures import Result

PREFIXES = {'measured': '', 'peak': 'peak-', 'ladder': 'ladder-'}  # of the files of an app


class Flag(NamedTuple):
    """What a reader must know. bad: it makes the numbers worthless."""
    bad: bool
    text: str


class Evidence:
    """A result folder. here: its path in commands; files: by name; of: {'measured', 'peak' or 'ladder': {app: Result}}."""

    def __init__(self, path: str) -> None:
        self.path, self.here = path, shlex.quote(path)
        self.files = {os.path.basename(file.path): file for file in verify.judge_all(self.file('run.json'), None, Run)}
        run = self.files['run.json']
        if not isinstance(run.record, Run):
            raise Fault(ENVIRONMENT, f'{run.path}: {run.wrong[0]}: rooftop run --into {self.here} makes a folder of results')
        self.run = run.record
        self.apps = in_order(step.app for step in self.run.steps)
        records = {name: file.record for name, file in self.files.items()}
        self.of = {what: {app: Result(record) for app in self.apps for record in [records.get(f'{prefix}{app}.json')]
                          if isinstance(record, Program)} for what, prefix in PREFIXES.items()}
        self.flags = sorted(self.judge(), key=lambda flag: not flag.bad)

    def file(self, name: str) -> str:
        return os.path.join(self.path, name)

    def judge(self) -> list[Flag]:
        flags: list[Flag] = []
        for name, file in self.files.items():
            of = '' if name == 'run.json' else f'{name}: '
            more = [f'{of}and {len(file.wrong) - 3} more'] if of and len(file.wrong) > 3 else []
            flags += [Flag(True, line) for line in [of + line for line in file.wrong[:3 if of else None]] + more]
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

    def verdict(self) -> str:
        """Returns the verdict on all of it."""
        said = [result.program.verdict for store in ('measured', 'peak') for result in self.of[store].values()]
        return 'INVALID' if any(flag.bad for flag in self.flags) or not said else judge.worst(said)
