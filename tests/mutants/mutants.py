#!/usr/bin/env python3
"""Changes the source, one fault at a time; the program must find each of them: the verdict must be INVALID.

    tests/mutants/mutants.py [--build FOLDER] [--count N] [--jobs N] [--verbose] [WORD..]

The tables are tests/mutants/APP.txt. A mutant there is its name, and what replaces what in a file:

    @ apps/nekbone/cpu/scalar.c: --rung scalar --n 4     file and options of the mutants that follow
    one term dropped
    - a + b
    + a

`@ FILE in OBJECT.c` (or .cpp, .cu) changes a header for that one object. Blanks and line ends match any others; what is searched is
in the file exactly once, or the table is wrong. More pairs of - and + may follow. `2 ranks` before the options starts
MPI. `% NAME=TEXT` defines a macro for what replaces. `--seconds 0` is added to options without --seconds. Lines that begin with # are comments.

The changed file is compiled with the flags of the build, from links to the sources, and linked before the libraries of
the build. First the unchanged program must be VALID with the same options, with every check five times below its bound;
a mutant must exceed some bound ten times, so nothing depends on luck, or be a loop of the ceilings that finds itself wrong. Where that program cannot run (no GPU, no MPI:
status 3) its mutants are skipped. --count N takes N mutants, others after each commit; WORD those whose name, file or
options have it.
"""
from __future__ import annotations

import argparse
import concurrent.futures
import hashlib
import os
import queue
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, Iterable, List, NamedTuple, Set, Tuple

SOURCE = Path(os.environ.get("abs_top_srcdir") or Path(__file__).parents[2]).resolve()
TIME_LIMIT = 600  # seconds for a compiler or a tiny problem on a busy machine


class Mutant(NamedTuple):
    name: str
    app: str
    file: str
    object: str  # the object that is compiled, by the name of its source
    options: str
    macros: List[str]
    changes: List[Tuple[str, str]]


def mutants_of(table: Path) -> List[Mutant]:
    found: List[Mutant] = []
    file = made = options = last = ""
    macros: List[str] = []
    for line in table.read_text().splitlines():
        mark, text = line[:2], line[2:]
        if mark == "@ ":
            file, options = (part.strip() for part in text.split(":", 1))
            file, _, made = file.partition(" in ")
        elif mark == "% ":
            macros.append("#define " + text.replace("=", " ", 1))
        elif mark == "- ":
            changes = found[-1].changes
            if last == "- ":
                changes[-1] = (changes[-1][0] + "\n" + text, "")
            else:
                changes.append((text, ""))
        elif mark.strip() == "+":
            searched, new = found[-1].changes[-1]
            found[-1].changes[-1] = (searched, new + text + "\n")
        elif line and mark[0] != "#":
            found.append(Mutant(line, table.stem, file, made or file, options, macros, []))
        last = mark
    return found


def changed(text: str, mutant: Mutant) -> str:
    for searched, new in mutant.changes:
        pattern = r"\s+".join(map(re.escape, searched.split()))
        places = list(re.finditer(pattern, text))
        if len(places) != 1:
            raise ValueError(f"{mutant.file} has {len(places)} places like: {searched}")
        text = text[:places[0].start()] + new.rstrip("\n") + text[places[0].end():]
    return text


def fault_of_row(mutant: Mutant) -> str:
    try:
        return "" if changed((SOURCE / mutant.file).read_text(), mutant) else "nothing is left"
    except (OSError, ValueError) as error:
        return f"{mutant.app}: {mutant.name}: {error}"


# ---- building -----------------------------------------------------------------------------------

def commands_of(build: Path, sources: Iterable[str], apps: Iterable[str]) -> Dict[str, List[str]]:
    """Returns what make would run to compile these sources and to link these apps, by the file that it makes. Commands
    that compile are for a folder that has the sources beside what configure made."""
    made = {os.path.splitext(source)[0] + ".o": source for source in sources}
    words = ["make", "-n", "V=1", "--eval=asked:;@:$(info srcdir $(srcdir))", "asked", *made, *(f"apps/{app}/{app}" for app in apps)]
    for source in made.values():
        beside = [source] if (build / source).exists() else [os.path.relpath(SOURCE / source, build), str(SOURCE / source)]
        words += [word for name in beside for word in ("-W", name)]
    done = subprocess.run(words, cwd=build, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))})
    folder = re.search(r"^srcdir (.*)$", done.stdout, re.M)
    found: Dict[str, List[str]] = {}
    for line in re.split(r"\n|&&|`;", done.stdout.replace("\\\n", " ")):
        output = re.search(r" -o (\S+)", line)
        if output and folder and " -c " in line:
            line = re.sub(r" -M\w+ -MD -MP| -M[TF] \S+| -MD| -MP| -c -o .*", "", line)
            found[made.get(output[1], "")] = shlex.split(re.sub(rf"-I{re.escape(folder[1])}(?=[/ ])", "-I.", line))
        elif output:
            found[output[1]] = shlex.split(line)
    missing = {*made.values(), *(f"apps/{app}/{app}" for app in apps)} - set(found)
    if missing or done.returncode != 0:
        raise SystemExit(f"make says no command for {', '.join(sorted(missing))}: {done.stdout[-400:]}")
    return found


def links(build: Path, folder: Path) -> Path:
    """Fills the folder with links to the sources, and to what configure made."""
    for top in ("apps", "common", "tests/mutants"):
        for path in (SOURCE / top).rglob("*"):
            if path.suffix in (".c", ".h", ".cu", ".cuh", ".cpp", ".hpp", ".def", ".inc"):
                link = folder / path.relative_to(SOURCE)
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(path.resolve())
    for name in ("config.h", "version.h", "build.h"):
        (folder / name).symlink_to((build / name).resolve())
    return folder


def run(words: List[str], folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(words, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIME_LIMIT)


def build_mutant(mutant: Mutant, build: Path, folder: Path, commands: Dict[str, List[str]]) -> Path:
    """Returns the program; raises ValueError if the table is wrong."""
    place, program = folder / mutant.file, folder / "program"
    text = changed((SOURCE / mutant.file).read_text(), mutant)
    place.unlink()
    place.write_text(text)
    (folder / "macros.h").write_text("\n".join([*mutant.macros, ""]))  # nvcc would split -D at its commas
    try:
        done = run([*commands[mutant.object], *(["-O0", "-g0"] if mutant.object.endswith((".c", ".cpp")) else []), "-w", "-include", "macros.h", "-c", "-o", "changed.o", mutant.object], folder)
    finally:
        place.unlink()
        place.symlink_to((SOURCE / mutant.file).resolve())
    app = f"apps/{mutant.app}/{mutant.app}"
    if done.returncode == 0:
        words = [str(program) if word == app else word for word in commands[app]]
        first = next(i for i, word in enumerate(words) if word.endswith(".a"))
        done = run([*words[:first], str(folder / "changed.o"), *words[first:], "-Wl,-S"], build)  # no symbols for debuggers
    if done.returncode != 0:
        raise ValueError("does not compile: " + done.stdout[-1500:])
    return program


# ---- judging ------------------------------------------------------------------------------------

def judge(program: Path, options: str, folder: Path) -> Tuple[int, float, float, str]:
    """Runs a program: exit status, the largest value / bound of its failed checks, that of the others, its output."""
    words = shlex.split(options) + ([] if "--seconds" in options else ["--seconds", "0"])
    if words[1:2] == ["ranks"] and os.environ.get("MPIRUN") == "":
        return 3, 0, 0, "this build has no MPI"
    if words[1:2] == ["ranks"]:
        words = [*shlex.split(os.environ.get("MPIRUN") or "mpirun"), "-n", words[0], str(program), *words[2:]]
    else:
        words = [str(program), *words]
    done = subprocess.run(words, cwd=folder, text=True, timeout=TIME_LIMIT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    worst = {"FAILED": 0.0, "held": 0.0}
    for name, value, bound, said in re.findall(r"^ *(.*\S) +(\S+)  bound +(\S+)  (FAILED|held)$", done.stdout, re.M):
        if name.startswith("plausible") and said == "held":  # a share of what the machine can do
            continue
        plain = 0 <= float(value) < float("inf") and float(bound) > 0
        ratio = float(value) / float(bound) if plain else float("inf") if said == "FAILED" else 0
        worst[said] = max(worst[said], ratio)
    return done.returncode, worst["FAILED"], worst["held"], done.stdout


class Court:
    def __init__(self, build: Path, mutants: List[Mutant], folders: List[Path]) -> None:
        self.build = build
        self.commands = commands_of(build, {m.object for m in mutants}, {m.app for m in mutants})
        self.folders: "queue.Queue[Path]" = queue.Queue()
        for folder in folders:
            self.folders.put(links(build, folder))
        self.skipped: Set[Tuple[str, str]] = set()

    def honest(self, app: str, options: str) -> str:
        """Judges the unchanged program; returns a fault, or nothing."""
        folder = self.folders.get()
        try:
            status, _, most, text = judge(self.build / f"apps/{app}/{app}", options, folder)
        finally:
            self.folders.put(folder)
        if status == 3:
            self.skipped.add((app, options))
            return ""
        return "" if status == 0 and most <= 0.2 else f"{app} {options}: unchanged, status {status}, {most:.2g} of a bound\n{text}"

    def mutant(self, mutant: Mutant) -> Tuple[str, str]:
        """Judges one mutant; returns a fault, or nothing, and what was seen."""
        folder = self.folders.get()
        try:
            program = build_mutant(mutant, self.build, folder, self.commands)
            status, most, _, text = judge(program, mutant.options, folder)
            program.unlink()
            seen = f"{mutant.app}: {mutant.name}: status {status}, {most:.2g} of a bound"
            found = most >= 10 or "ceiling loop" in text  # which ends the program
            return ("" if status == 1 and found else f"{seen} ({mutant.file}: {mutant.options})\n{text}"), seen
        except (ValueError, subprocess.TimeoutExpired) as error:
            return f"{mutant.app}: {mutant.name}: {error}", ""
        finally:
            self.folders.put(folder)


def chosen(mutants: List[Mutant], count: int) -> List[Mutant]:
    """Takes `count` mutants, others after each commit."""
    if not count or count >= len(mutants):
        return mutants
    head = subprocess.run(["git", "-C", str(SOURCE), "rev-parse", "HEAD"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout \
        if (SOURCE / ".git").exists() and shutil.which("git") else b""
    return sorted(mutants, key=lambda m: hashlib.sha256(head + repr(m).encode()).digest())[:count]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    here = Path.cwd() if Path("Makefile").is_file() else SOURCE
    parser.add_argument("--build", type=Path, default=Path(os.environ.get("abs_top_builddir") or here))
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("word", nargs="*")
    options = parser.parse_args()
    build = options.build.resolve()
    if not (build / "Makefile").is_file():
        parser.error(f"{build} is no build: run this in the folder of one, or give --build FOLDER")
    os.environ["OMP_NUM_THREADS"] = "1"  # a mutant that more threads show says --threads
    tables = sorted((SOURCE / "tests/mutants").glob("*.txt"))
    mutants = [m for table in tables for m in mutants_of(table)
               if any(word in f"{m.app} {m.name} {m.file} {m.options}" for word in options.word or [""])]
    faults = [fault for fault in map(fault_of_row, mutants) if fault]
    mutants = chosen([m for m in mutants if not fault_of_row(m)], options.count)
    with tempfile.TemporaryDirectory(prefix="mutants.", suffix=".tmp", dir=build) as work:
        folders = [Path(work) / str(i) for i in range(options.jobs)]
        court = Court(build, mutants, folders)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            runs = sorted({(m.app, m.options) for m in mutants})
            faults += [fault for fault in pool.map(lambda run: court.honest(*run), runs) if fault]
            mutants = [m for m in mutants if (m.app, m.options) not in court.skipped]
            for fault, seen in pool.map(court.mutant, mutants):
                faults += [fault] if fault else []
                if options.verbose and not fault:
                    print(seen, flush=True)
    print("\n".join(faults))
    if court.skipped:
        print("SKIP: cannot run here:", "; ".join(f"{app} {what}" for app, what in sorted(court.skipped)))
    print(f"{len(mutants)} mutants, {len(faults)} faults")
    return 1 if faults or not mutants else 0


if __name__ == "__main__":
    sys.exit(main())
