"""What is in the results that a command is given: programs' results, from folders or alone, and manifests."""
import statistics
from typing import NamedTuple, Optional

from .. import INVALID, Fault, results
from ..cli import complain
from . import Folder, Program, Run, disk

LEAST_NOISE = 0.01


def noise_of(windows: list[float], spread: Optional[float]) -> float:
    """Returns the noise of a median of windows; spread counts where there are none."""
    windows = sorted(windows)
    inner = windows[1:-1] if len(windows) >= 5 else windows
    if inner:
        spread = (inner[-1] - inner[0]) / statistics.median(windows)
    return max(LEAST_NOISE, (spread or 0.0) / 2)


class Place(NamedTuple):
    """Where a program's result is from. name: of what was given; run: base, peak, ladder, or single for a result that is
    in no folder."""
    name: str
    run: str
    folder: Optional[Run] = None
    declared: str = ''


class Found:
    """What is in results. alone: manifests without the results that they name. Copies of one result count once; said:
    what is left out, and why."""

    def __init__(self) -> None:
        self.programs: list[tuple[Place, Program]] = []
        self.alone: list[tuple[str, Run]] = []
        self.said: list[str] = []
        self.seen: dict[str, str] = {}  # by SHA-256: the name of what has this file

    def is_new(self, path: str, name: str) -> bool:
        """Returns whether none of the files before is a copy of this one."""
        sha256 = disk.sha256_of(path)
        if sha256 not in self.seen:
            self.seen[sha256] = name
            return True
        said = f'{name}: the same results as {self.seen[sha256]}: they count once'
        self.said += [said] if said not in self.said else []
        return False

    def add(self, name: str) -> None:
        """Adds the results of a folder or file; Fault if it has none."""
        path = results.manifest_of(name)
        value = results.read(path)
        if isinstance(value, Run):
            folder = Folder.at(path, value)
            if not folder.alone:
                self.add_folder(name, folder)
            elif self.is_new(path, name):
                self.alone.append((name, value))
        elif not isinstance(value, Program):
            raise Fault(INVALID, f'{name}: not the result of a run or a program')
        elif self.is_new(path, name):
            self.programs.append((Place(name, 'single'), value))

    def add_folder(self, name: str, folder: Folder) -> None:
        run = folder.manifest
        for step in folder.steps:
            kind = {step.app: 'base', f'peak-{step.app}': 'peak', f'ladder-{step.app}': 'ladder'}.get(step.name)
            result = folder.result(step.name) if kind else None
            if kind and not result:
                why = 'its file is missing or was changed' if step.state == 'done' else step.why or step.state
                self.said.append(f'{name}: {step.name} is left out: {why}')
            elif kind and result and self.is_new(folder.file(step.json), name):
                declared = run.peak[step.app].declared if kind == 'peak' and step.app in run.peak else ''
                self.programs.append((Place(name, kind, run, declared), result))


def collect(paths: list[str]) -> Found:
    """Returns what is in the results of a command line; says what is left out."""
    found = Found()
    for path in paths:
        found.add(path)
    for line in found.said:
        complain(line)
    return found
