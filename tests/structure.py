#!/usr/bin/env python3
"""Checks the structure of the tree: includes and calls, and a file for each rung.

Part of `make check` (structure.sh); by hand: tests/structure.py [SOURCES [BUILD]]. Prints a line for
each place that breaks a rule, and then ends with status 1. The rules are those of CONTRIBUTING.md:

  includes   a folder of common/ includes only folders above it in LAYERS; no app includes another app
  circles    no files include each other in a circle
  calls      the objects of common/ call each other by the same rule (nm), because a declaration can
             hide a call upward
  turns      no files of a folder call each other in a circle
  stages     an input that is a pipeline (STAGES) has no call from a later stage into an earlier one
  rungs      a rung's file is apps/APP/KIND/NAME, and `make asm` finds it; app.c alone includes ladder.def
  sizes      no folder has more lines than tests/size.tsv says

Each check first has to find a fault in a small broken tree: a check that cannot fail proves nothing.
"""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, Iterator, List, Mapping, NamedTuple, Optional, Set, Tuple

# Folders on one line do not see each other.
LAYERS = (("base",), ("io",), ("machine",), ("mesh", "halo", "measure", "judge"), ("app",), ("tune",), ("driver",))
RANK = {folder: rank for rank, folders in enumerate(LAYERS) for folder in folders}
SOURCES = (".c", ".cu", ".cpp")
HEADERS = (".h", ".cuh", ".hpp", ".def", ".inc")
# Kind of a rung in ladder.def -> its folder and the suffix of its file.
KINDS = {"CPU": ("cpu", ".c"), "CUDA": ("cuda", ".cu"),
         "KOKKOS": ("kokkos", ".cpp"), "OPENACC": ("openacc", ".c")}

# The files of an input in the order of the data; files that are not here call the stages, or serve them.
STAGES = {"apps/fun3d-mcpi/input": ("wing", "piece", "graph", "dual", "walls", "distance", "blocks",
                                    "colour", "order", "part", "system")}

Graph = Dict[str, Set[str]]


# ---- the files ----------------------------------------------------------------------------------

def files_of(root: Path, folder: str) -> List[str]:
    """Returns the C, CUDA and Kokkos files below root/folder, relative to root."""
    return sorted(str(path.relative_to(root)) for path in (root / folder).rglob("*")
                  if path.suffix in SOURCES + HEADERS)


def apps_of(root: Path) -> List[str]:
    return sorted(path.parent.name for path in root.glob("apps/*/ladder.def"))


GENERATED = ("config.h", "version.h", "build.h")


def includes_of(root: Path, file: str) -> Iterator[str]:
    """Yields the files of this tree that `file` includes; generated headers are not among them."""
    for name in re.findall(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', (root / file).read_text(), re.M):
        for folder in (os.path.dirname(file), "common", ""):
            found = os.path.normpath(os.path.join(folder, name))
            if (root / found).is_file():
                if found not in GENERATED:  # they are there after a build in the source tree
                    yield found
                break


def layer_of(file: str) -> Optional[str]:
    """Returns the folder of common/ that holds a file. rt.h includes all of them, so it counts as the top."""
    parts = file.split("/")
    if parts[0] != "common":
        return None
    return parts[1] if len(parts) > 2 else "driver"


def may_see(user: str, used: str) -> bool:
    """True if a file or object of layer `user` may include or call one of layer `used`."""
    return user == used or RANK[used] < RANK[user]


def circles_of(graph: Mapping[str, Set[str]]) -> List[List[str]]:
    """Returns the groups of nodes that reach each other (Tarjan). A node with an arrow to itself is not one."""
    index: Dict[str, int] = {}
    low: Dict[str, int] = {}
    stack: List[str] = []
    found: List[List[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(group) > 1:
                found.append(sorted(group))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


# ---- includes -----------------------------------------------------------------------------------

def check_includes(root: Path) -> List[str]:
    faults: List[str] = []
    graph: Graph = {}
    for file in files_of(root, "common"):
        graph[file] = set(includes_of(root, file))
        layer = layer_of(file)
        if layer not in RANK:
            faults.append(f"{file}: common/{layer} is not a layer")
            continue
        for used in sorted(graph[file]):
            if file == "common/rt.h":
                continue
            other = layer_of(used)
            if other not in RANK or not may_see(layer, other):
                faults.append(f"{file} includes {used}, which is not below it")
    for app in apps_of(root):
        for file in files_of(root, f"apps/{app}"):
            graph[file] = set(includes_of(root, file))
            for used in sorted(graph[file]):
                if used.startswith("apps/") and not used.startswith(f"apps/{app}/"):
                    faults.append(f"{file} includes {used}, a file of another app")
    # A textual template (.inc) may include the file that it is made for.
    solid = {file: {u for u in used if not u.endswith(".inc")} for file, used in graph.items()
             if not file.endswith(".inc")}
    faults += ["include each other: " + ", ".join(circle) for circle in circles_of(solid)]
    return faults


# ---- calls --------------------------------------------------------------------------------------

def symbols_of(build: Path, objects: List[str]) -> Dict[str, str]:
    """Returns the output of nm for each object; one nm reads them all."""
    symbols = {name: "" for name in objects}
    if not objects:
        return symbols
    made = subprocess.run(["nm", "-P", "-g", "-A", *objects], check=True, text=True, stdout=subprocess.PIPE, cwd=build)
    for line in made.stdout.splitlines(keepends=True):
        name, rest = line.split(": ", 1)
        symbols[name] += rest
    return symbols


def objects_of(root: Path, build: Path, folder: str) -> List[str]:
    """Returns the objects of the sources below root/folder that are built, relative to the build folder."""
    made = (os.path.splitext(file)[0] + ".o" for file in files_of(root, folder) if file.endswith(SOURCES))
    return sorted({name for name in made if (build / name).is_file()})


def calls_of(symbols: Mapping[str, str], makes: str = "TDBRC") -> Dict[Tuple[str, str], str]:
    """Returns (user, maker) -> a symbol that one object uses and the other defines; makes: its kinds by nm, T: functions."""
    maker: Dict[str, str] = {}
    used: List[Tuple[str, str]] = []
    for name, text in symbols.items():
        for line in text.splitlines():
            symbol, kind = line.split()[:2]
            if kind == "U":
                used.append((name, symbol))
            elif kind in makes:
                maker[symbol] = name
    return {(name, maker[symbol]): symbol for name, symbol in used if maker.get(symbol, name) != name}


def check_calls(symbols: Mapping[str, str]) -> List[str]:
    """Lists the calls in common/ that do not point down."""
    faults: List[str] = []
    for (user, maker), symbol in sorted(calls_of(symbols).items()):
        layer, other = layer_of(user), layer_of(maker)
        if layer not in RANK or other not in RANK or not may_see(layer, other):
            faults.append(f"{user} uses {symbol} of {maker}, which is not below it")
    return faults


def check_stages(folder: str, symbols: Mapping[str, str]) -> List[str]:
    """Lists the calls from a later stage of a folder into an earlier one."""
    rank = {f"{folder}/{stage}.o": k for k, stage in enumerate(STAGES[folder])}
    return [f"{user} calls back into {maker}: {symbol}" for (user, maker), symbol in sorted(calls_of(symbols).items())
            if rank.get(maker, len(rank)) < rank.get(user, -1)]


def turns_of(symbols: Mapping[str, str]) -> List[List[str]]:
    """Returns the groups of objects of one folder whose functions call each other in a circle."""
    graph: Graph = {}
    for user, maker in calls_of(symbols, "T"):
        if os.path.dirname(user) == os.path.dirname(maker):
            graph.setdefault(user, set()).add(maker)
    return circles_of(graph)


# ---- rungs --------------------------------------------------------------------------------------

def rungs_of(root: Path, app: str) -> List[Tuple[str, str]]:
    """Returns (name, kind) of each rung in the ladder of an app."""
    return re.findall(r"^RUNG\(\s*([\w-]+),\s*(\w+),", (root / f"apps/{app}/ladder.def").read_text(), re.M)


def kernel_of(name: str) -> str:
    """Returns the rung whose kernel it has: the time steps of alya-rhs have those of its assemblies."""
    return name[len("step-"):] if name.startswith("step-") else name


def check_rungs(root: Path) -> List[str]:
    faults: List[str] = []
    for app in apps_of(root):
        for name, kind in rungs_of(root, app):
            folder, suffix = KINDS[kind]
            file = f"apps/{app}/{folder}/{kernel_of(name).lower().replace('-', '_')}{suffix}"
            if not (root / file).is_file():
                faults.append(f"{file} is missing: the rung {name} of {app} should be there")
        table, user = f"apps/{app}/ladder.def", f"apps/{app}/app.c"
        faults += [f"{file} includes {table}, and a new rung would compile it: only {user} may" for file in
                   files_of(root, f"apps/{app}") if file != user and table in includes_of(root, file)]
    return faults


def check_asm(root: Path, build: Path) -> List[str]:
    """Checks that make finds the last rung of each kind in each app; makes nothing. One make names all their objects
    and one looks for their rules, for it takes make long to read the Makefile."""
    def ask(*words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(["make", "-C", str(build), *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={k: v for k, v in os.environ.items() if not k.startswith("MAKE")})

    rungs = [(app, kernel_of(name)) for app in apps_of(root) for name in {kind: name for name, kind in rungs_of(root, app)}.values()]
    echo = "".join(f"$(eval APP := {app})$(eval RUNG := {name})$(info object $(rt_rung_object))" for app, name in rungs)
    named = re.findall(r"^object (\S+)$", ask("-s", f"--eval=objects-of-asm:;@:{echo}", "objects-of-asm").stdout, re.M)
    faults = [f"make asm RUNG={name} APP={app}: makes {file}" for (app, name), file in zip(rungs, named)
              if not (file.startswith(f"apps/{app}/") and file.endswith("/" + name.lower().replace("-", "_") + ".o"))]
    for words in (["-n", *named], ["-n", "asm", f"APP={rungs[-1][0]}", f"RUNG={rungs[-1][1]}"]):
        done = ask(*words)
        if done.returncode != 0 or len(named) != len(rungs):
            faults.append(f"make {' '.join(words)}: {done.stdout.strip().splitlines()[-1:]}")
    return faults


# ---- sizes --------------------------------------------------------------------------------------

# A tarball also holds what configure and make wrote, in the root folder alone.
IN_TARBALL = (".ci/run", "bootstrap", "quickstart", *(f"{folder}/**/*" for folder in
              ("apps", "common", "inputs", "man", "packaging", "tests", "tools")))


def files_of_git(root: Path, *which: str) -> Set[str]:
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z", *which], text=True, stdout=subprocess.PIPE, check=True)
    return {name for name in listed.stdout.split("\0") if name and (root / name).exists()}


def lines_of(root: Path) -> Dict[str, int]:
    """Returns folder -> lines of its sources and scripts. `apps/x/.` and `common/.` are the files of the folder alone;
    `outside` is all but tests."""
    in_git = (root / ".git").exists() and shutil.which("git")
    files = files_of_git(root) if in_git else {str(path.relative_to(root)) for one in IN_TARBALL for path in root.glob(one)}
    lines: Dict[str, int] = {}
    for file in files:
        data = (root / file).read_bytes() if (root / file).is_file() else b""
        if Path(file).suffix not in SOURCES + HEADERS + (".py", ".sh", ".html") and \
                ("." in Path(file).name or not data.startswith(b"#!")):
            continue
        top, *rest = file.split("/")
        folders = {top if rest else ".", "tests" if top == "tests" else "outside"}
        if top in ("apps", "common") and rest:
            folders |= {"/".join([top, *rest[:1]]) if len(rest) > 1 else f"{top}/."}
        if top == "apps" and len(rest) == 2:
            folders |= {f"{top}/{rest[0]}/."}
        for folder in folders:
            lines[folder] = lines.get(folder, 0) + data.count(b"\n")
    return lines


def check_sizes(root: Path) -> List[str]:
    lines = lines_of(root)
    rows = [row.split("\t") for row in (root / "tests/size.tsv").read_text().splitlines() if not row.startswith("#")]
    return [f"{folder}: {lines.get(folder, 0)} lines, tests/size.tsv allows {most}" for folder, most in rows
            if lines.get(folder, 0) > int(most)]


# ---- the checks can fail ------------------------------------------------------------------------

class Sabotage(NamedTuple):
    """A file of the small tree, what is added to it, and words that the line about it must have."""
    file: str
    text: str
    says: str


SABOTAGE = (
    Sabotage("common/base/a.c", '#include "machine/m.h"\n', "not below it"),
    Sabotage("common/halo/h.h", '#include "mesh/g.h"\n', "not below it"),
    Sabotage("common/machine/m.h", '#include "rt.h"\n', "not below it"),
    Sabotage("common/machine/m.h", '#include "machine/n.h"\n', "include each other"),
    Sabotage("apps/one/app.c", '#include "../two/two.h"\n', "another app"),
    Sabotage("apps/two/two.h", '#include "ladder.def"\n', "would compile it"),
    Sabotage("apps/one/app.c", "\n" * 10, "apps/one: 11 lines, tests/size.tsv allows 10"),
    Sabotage("apps/one/ladder.def", 'RUNG(slow-one, CPU, "", t, "missing")\n', "slow_one.c is missing"),
)


def small_tree(root: Path) -> None:
    """Writes a tree that breaks no rule."""
    for file, text in {
        "common/rt.h": '#include "app/app.h"\n', "common/base/a.c": "", "common/halo/h.h": "",
        "common/machine/m.h": "", "common/machine/n.h": '#include "machine/m.h"\n', "common/mesh/g.h": "",
        "common/app/app.h": "",
        "common/app/app.c": '#include "app/app.h"\n', "common/driver/main.c": '#include "rt.h"\n',
        "apps/one/app.c": "", "apps/one/ladder.def": 'RUNG(Fast-one, CUDA, "", t, "idea")\n',
        "tests/size.tsv": "#folder\tlines at most\napps/one\t10\n",
        "apps/one/cuda/fast_one.cu": "", "apps/two/two.h": "", "apps/two/ladder.def": "",
    }.items():
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def check_sources(root: Path) -> List[str]:
    return check_includes(root) + check_rungs(root) + check_sizes(root)


def check_checks() -> List[str]:
    faults: List[str] = []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "tree"
        small_tree(root)
        faults += ["a tree without faults has one: " + fault for fault in check_sources(root)]
        for wrong in SABOTAGE:
            shutil.rmtree(root)
            small_tree(root)
            with (root / wrong.file).open("a") as file:
                file.write(wrong.text)
            found = check_sources(root)
            if not any(wrong.says in fault for fault in found):
                faults.append(f"not found: {wrong.text.strip()} in {wrong.file}; found instead: {found}")
    down = {"common/io/i.o": "f U\ng T 0 1\n", "common/base/b.o": "f T 0 1\n"}
    up = {**down, "common/base/c.o": "g U\nf U\n"}
    if check_calls(down) or len(check_calls(up)) != 1:
        faults.append("a call from base to io is not found")
    circle = {"a/x.o": "f U\nh T 0 1\n", "a/y.o": "f T 0 1\nh U\n", "b/z.o": "f U\n"}
    if turns_of(circle) != [["a/x.o", "a/y.o"]]:
        faults.append("files that call each other in a circle are not found")
    folder = "apps/fun3d-mcpi/input"
    if len(check_stages(folder, {f"{folder}/order.o": "f U\n", f"{folder}/graph.o": "f T 0 1\ng U\n",
                                 f"{folder}/part.o": "g T 0 1\n"})) != 1:
        faults.append("a call back into an earlier stage is not found")
    return faults


# ---- main ---------------------------------------------------------------------------------------

def main() -> int:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("abs_top_srcdir", "."))
    build = Path(sys.argv[2] if len(sys.argv) > 2 else os.environ.get("abs_top_builddir", str(root)))
    faults = check_checks() + check_sources(root)
    if (build / "Makefile").is_file() and shutil.which("nm"):
        symbols = {part: symbols_of(build, objects_of(root, build, part)) for part in
                   ("common", *(f"apps/{app}" for app in apps_of(root)))}
        faults += check_calls(symbols["common"])
        faults += ["call each other: " + ", ".join(circle) for part in symbols.values() for circle in turns_of(part)]
        for folder in STAGES:
            faults += check_stages(folder, {name: text for name, text in symbols["/".join(folder.split("/")[:2])].items()
                                            if name.startswith(folder + "/")})
        faults += check_asm(root, build)
    else:
        print("not checked: calls between objects and make asm (nothing is built)")
    for fault in faults:
        print(fault)
    print(f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
