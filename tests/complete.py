#!/usr/bin/env python3
"""Checks that what goes together is all there, and that tests do not depend on who runs them.

Part of `make check` (structure.sh); by hand: tests/complete.py [SOURCES [BUILD]]. Prints a line for
each thing that is missing, and then ends with status 1:

  lessons      docs/lessons/APP.md has a section for each rung of APP, and no other
  work         work.c, or that of a part, has rows for each rung, and for no other
  mutants      tests/mutants/APP.txt has wrong programs for each rung that runs anywhere, but for the references
  ladder       a table of apps/APP/README.md names or links each rung in a first cell, but for those of OpenACC
  options      the table in apps/APP/README.md names the options of apps/APP/app.c, and no other
  example      each RUNG(..) of CONTRIBUTING.md is a line of a ladder.def
  tarball      `make distdir` takes every file that git tracks, and nothing that a build leaves
  environment  what a user exported, such as OMP_PROC_BIND, does not reach a test

Each of the first six first has to find a fault in a copy of these files with one changed.
"""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Iterable, Iterator, List, NamedTuple, Set

from structure import apps_of, files_of_git, kernel_of, rungs_of

IN_GIT_ALONE = {".gitignore"}
GENERATED = re.compile(r"Makefile\.in|aclocal\.m4|config\.h\.in|configure|build-aux/")  # by bootstrap, for a release
EXPORTED = {"OMP_PROC_BIND": "close", "OMP_PLACES": "cores", "KMP_AFFINITY": "compact", "GOMP_CPU_AFFINITY": "0",
            "KOKKOS_NUM_THREADS": "1", "ROOFTOP_INPUTS": "/none", "OMPI_MCA_rmaps_base_mapping_policy": "core",
            "PRTE_MCA_rmaps_default_mapping_policy": "core", "OMPI_COMM_WORLD_RANK": "0", "SLURM_JOB_ID": "1"}
KEPT = {"CUDA_VISIBLE_DEVICES": "none", "NCCL_DEBUG": "WARN", "RT_CHECK_LONG": "0"}


def differences(what: str, needed: Iterable[str], found: Set[str], missing: str, surplus: str) -> Iterator[str]:
    names = set(needed)
    yield from (f"{what}: {name} {missing}" for name in sorted(names - found))
    yield from (f"{what}: {name} {surplus}" for name in sorted(found - names))


def check_lessons(root: Path, app: str) -> Iterator[str]:
    lesson = root / f"docs/lessons/{app}.md"
    sections = set(re.findall(r"^## (\S+)$", lesson.read_text(), re.M))
    yield from differences(f"docs/lessons/{app}.md", (name for name, _ in rungs_of(root, app)), sections,
                           "has no section", "is no rung")


def check_work(root: Path, app: str) -> Iterator[str]:
    named: Set[str] = set()
    for file in (root / f"apps/{app}").rglob("work.c"):
        text = file.read_text()
        texts = re.findall(r'^#define [A-Z_]+\s+(?:\\\n\s*)?(".*)', text, re.M) + re.findall(r'^    \{(?:\.rung = )?(".*?"),', text, re.M)
        named |= {name for names in texts for name in re.findall(r"[\w-]+", names)}
    yield from differences(f"apps/{app}/work.c", (kernel_of(name) for name, _ in rungs_of(root, app)), named, "has no row", "is no rung")


def check_mutants(root: Path, app: str) -> Iterator[str]:
    tried = set(re.findall(r"--rung ([\w-]+)", (root / f"tests/mutants/{app}.txt").read_text()))
    yield from (f"tests/mutants/{app}.txt: {name} has no rows" for name, kind in rungs_of(root, app)
                if kind == "CPU" and "reference" not in name and kernel_of(name) not in tried)


def check_ladder(root: Path, app: str) -> Iterator[str]:
    cells = "".join(re.findall(r"^\|.*?\|", (root / f"apps/{app}/README.md").read_text(), re.M))
    yield from (f"apps/{app}/README.md, ladder: {name} has no row" for name, kind in rungs_of(root, app)
                if kind != "OPENACC" and f"`{name}`" not in cells and f"/{name.lower().replace('-', '_')}." not in cells)


def check_options(root: Path, app: str) -> Iterator[str]:
    options = re.findall(r'RT_[A-Z]+\(\s*CONFIG,\s*\w+,\s*"([a-z0-9-]+)"', (root / f"apps/{app}/app.c").read_text())
    section = re.search(r"^## Options\n(.*?)^## ", (root / f"apps/{app}/README.md").read_text(), re.M | re.S)
    cells = re.findall(r"^\| (`--[^|]*)\|", section[1] if section else "", re.M)
    named = {name.replace("no-", "", 1) if name.startswith("no-") else name
             for cell in cells for name in re.findall(r"`--([a-z0-9-]+)", cell)}
    yield from differences(f"apps/{app}/README.md, options", options, named, "has no row", "is no option of app.c")


def check_example(root: Path) -> Iterator[str]:
    def plain(text: str) -> str:
        return " ".join(text.split())

    ladders = " ".join(plain((root / f"apps/{app}/ladder.def").read_text()) for app in apps_of(root))
    examples = re.findall(r"^ +RUNG\(.*?\)$", (root / "CONTRIBUTING.md").read_text(), re.M | re.S)
    if not examples:
        yield "CONTRIBUTING.md: no example of a line of ladder.def"
    yield from (f"CONTRIBUTING.md: not a line of any ladder.def: {plain(example)}"
                for example in examples if plain(example) not in ladders)


def check_sources(root: Path) -> List[str]:
    faults = list(check_example(root))
    for app in apps_of(root):
        faults += [*check_lessons(root, app), *check_work(root, app), *check_mutants(root, app),
                   *check_ladder(root, app), *check_options(root, app)]
    return faults


# ---- the tarball and the environment --------------------------------------------------------------

def of_make(build: Path, recipe: str) -> List[str]:
    """Returns the lines that a recipe prints, which may use the variables of the Makefile."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    made = subprocess.run(["make", "-s", "-C", str(build), f"--eval=asked-by-test:;@{recipe}", "asked-by-test"],
                          text=True, stdout=subprocess.PIPE, env={**environment, **EXPORTED, **KEPT}, check=True)
    return made.stdout.splitlines()


def check_tarball(root: Path, build: Path) -> List[str]:
    try:
        if not (root / ".git").exists():  # a release may lie within another clone, as in distcheck
            raise FileNotFoundError
        tracked, ignored = files_of_git(root), files_of_git(root, "-o", "-i", "--exclude-standard")
    except (OSError, subprocess.CalledProcessError):
        print("not checked: the files of the tarball (this is no git clone, or there is no git)")
        return []
    files = of_make(build, ":$(info $(DISTFILES))")[-1].split()
    found = [os.path.realpath(build / file if (build / file).exists() else root / file) for file in files]
    taken = {os.path.relpath(path, os.path.realpath(root)) for path in found}
    return [f"{name}: git tracks it, and `make dist` leaves it out: name it in EXTRA_DIST"
            for name in sorted(tracked - taken - IN_GIT_ALONE)] + \
        [f"{name}: git ignores it, and `make dist` takes it: a wildcard in EXTRA_DIST is too wide"
         for name in sorted(taken & ignored) if not GENERATED.match(name)]


def check_environment(build: Path) -> List[str]:
    seen = dict(line.split("=", 1) for line in of_make(build, "$(AM_TESTS_ENVIRONMENT) env") if "=" in line)
    return [f"a test sees {name}={value} of the user" for name, value in EXPORTED.items() if seen.get(name) == value] + \
        [f"a test does not see {name}={value} of the user" for name, value in KEPT.items() if seen.get(name) != value]


# ---- the checks can fail ------------------------------------------------------------------------

class Sabotage(NamedTuple):
    """A file, what is replaced in it by what, and words that the line about it must have."""
    file: str
    old: str
    new: str
    says: str


SABOTAGE = (
    Sabotage("docs/lessons/nekbone.md", "\n## scalar\n", "\n## skalar\n", "scalar has no section"),
    Sabotage("docs/lessons/nekbone.md", "\n## scalar\n", "\n## skalar\n", "skalar is no rung"),
    Sabotage("apps/alya-rhs/work.c", '.rung = "cpu-closed"', '.rung = "cpu-open"', "cpu-closed has no row"),
    Sabotage("apps/nekbone/work.c", "reference scalar shared", "reference shared", "scalar has no row"),
    Sabotage("tests/mutants/gfnn-wave.txt", "--rung cpu-atomic", "--rung cpu-simd", "cpu-atomic has no rows"),
    Sabotage("apps/nekbone/README.md", "| `scalar` |", "| |", "ladder: scalar has no row"),
    Sabotage("apps/nekbone/README.md", "`--lambda X`", "`--mu X`", "lambda has no row"),
    Sabotage("apps/nekbone/README.md", "`--lambda X`", "`--mu X`", "mu is no option"),
    Sabotage("CONTRIBUTING.md", " RUNG(", " RUNG(no-", "not a line of any ladder.def"),
)


def check_checks(root: Path) -> List[str]:
    faults: List[str] = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        names = ("docs/lessons/{}.md", "tests/mutants/{}.txt", *(f"apps/{{}}/{name}" for name in
                 ("ladder.def", "work.c", "app.c", "README.md")))
        files = ["CONTRIBUTING.md", "apps/fun3d-mcpi/flow/work.c", *(name.format(app) for app in apps_of(root) for name in names)]
        for file in files:
            (copy / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / file, copy / file)
        for wrong in SABOTAGE:
            text = (copy / wrong.file).read_text()
            (copy / wrong.file).write_text(text.replace(wrong.old, wrong.new, 1))
            if not any(wrong.says in fault for fault in check_sources(copy)):
                faults.append(f"not found in {wrong.file}: {wrong.new.strip()}")
            (copy / wrong.file).write_text(text)
    return faults


def main() -> int:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("abs_top_srcdir", ".")).resolve()
    build = Path(sys.argv[2] if len(sys.argv) > 2 else os.environ.get("abs_top_builddir", str(root))).resolve()
    faults = check_checks(root) + check_sources(root)
    if (build / "Makefile").is_file():
        faults += check_tarball(root, build) + check_environment(build)
    for fault in faults:
        print(fault)
    print(f"{len(faults)} things are missing")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
