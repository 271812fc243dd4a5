"""Builds a solution in place of the source that it stands for.

It is compiled in a copy of the app's folder and linked before the library of a build, so the object of the library is
not used. Neither the source tree nor that build is written to, except by make, which brings the build up to date.
"""
import os
import shlex
import shutil
import subprocess
import sys
from typing import Callable, Optional

from . import ENVIRONMENT, USAGE, Fault, lessons, programs
from .tasks import Task

RULES = """include Makefile
rung = $(FOLDER)/rung.o
$(rung): $(FILE)
	$(COMPILE_{suffix}) -c -o $@ $<
COMPILE_c = $(COMPILE)
COMPILE_cu = $(NVCC) $(DEFS) $(AM_CPPFLAGS) $(CPPFLAGS) $(RT_NVCCFLAGS) $(NVCCFLAGS)
COMPILE_cpp = $(KOKKOS_CXX) $(DEFS) $(AM_CPPFLAGS) $(KOKKOS_CPPFLAGS) $(CPPFLAGS) $(KOKKOS_CXXFLAGS)
objects = $({app}_OBJECTS)
$(FOLDER)/{name}: $(rung) $(objects) $({app}_DEPENDENCIES)
	$(LINK) $(objects) $(rung) $({app}_LDADD) $(LIBS)
"""  # as in Makefile.am, without the dependency files
LIMIT = 1800  # seconds: a build of the suite that takes longer is taken to hang
COMPILING = 600  # seconds for one solution
Prepare = Optional[Callable[[], None]]


class NotBuilt(Exception):
    """The solution does not compile or link."""


def is_build_of(folder: str, tree: str) -> bool:
    """Returns whether this is a configured build of the tree."""
    status = os.path.join(folder, 'config.status')
    if not os.path.isfile(status):
        return False
    said = [line for line in lessons.text_of(os.path.join(folder, 'Makefile')).splitlines()
            if line.startswith('abs_top_srcdir = ')]
    return bool(said) and os.path.realpath(said[0].partition(' = ')[2]) == os.path.realpath(tree)


def said_by(ended: programs.Ended, source: str = '') -> str:
    """Returns the lines of a build that say what is wrong, at most five: those on the source first."""
    lines = sorted(ended.text.splitlines(), key=lambda line: bool(source) and source not in line)
    faults = ('error', 'undefined reference', 'multiple definition')
    wrong = [line for line in lines if any(fault in line for fault in faults)]
    return '\n'.join(wrong[:5] or ended.text.splitlines()[-5:])


def built(command: list[str], what: str) -> None:
    ended = programs.run(command, limit=LIMIT)
    if ended.exit != 0:
        raise Fault(ENVIRONMENT, f'{what} failed ({ended.why or f"{ended.exit}"}):\n{said_by(ended)}')


def find_build(given: Optional[str], configure: str, tree: str, scratch: str) -> str:
    """Returns a build of the tree, made if there is none."""
    if given and os.path.isdir(given) and os.listdir(given):
        if not is_build_of(given, tree):
            raise Fault(USAGE, f'--build {given}: not a build of {tree}')
        return str(os.path.abspath(given))
    if not given:
        for folder in (os.getcwd(), tree):
            if is_build_of(folder, tree):
                return os.path.abspath(folder)
    folder = os.path.abspath(given or os.path.join(scratch, 'build'))
    if not os.path.isfile(os.path.join(tree, 'configure')):
        raise Fault(ENVIRONMENT, f'{tree} has no configure: run ./bootstrap there, or give --build')
    print(f'no build of {tree} here: making one in {folder}, which takes minutes' +
          ('' if given else '; keep one with --build DIR'), file=sys.stderr, flush=True)
    os.makedirs(folder, exist_ok=True)
    words = shlex.join([os.path.join(tree, 'configure'), *shlex.split(configure)])
    built(['sh', '-c', f'cd {shlex.quote(folder)} && {words}'], 'configure')
    return folder


def repository_program(build: str, app: str) -> str:
    """Returns the program of a build, made if it is not there."""
    own = os.path.join('apps', app, app)
    if not os.path.isfile(os.path.join(build, own)):
        built(['make', '-C', build, f'-j{os.cpu_count() or 1}', own], f'make {own}')
    return os.path.join(build, own)


def copy_of_app(task: Task, file: str, scratch: str) -> str:
    """Copies the app's folder with the file in place of the task's. Returns the source to compile."""
    where = os.path.join(scratch, 'source')
    folder = os.path.join('apps', task.app)
    for place, _, names in os.walk(os.path.join(task.tree, folder)):  # copytree would copy a read-only mode too
        to = os.path.join(where, os.path.relpath(place, task.tree))
        os.makedirs(to)
        for name in names:
            if name.endswith(('.c', '.h', '.cu', '.cuh', '.cpp', '.hpp', '.def', '.inc')):
                shutil.copyfile(os.path.join(place, name), os.path.join(to, name))
    shutil.copyfile(file, os.path.join(where, task.file))
    return os.path.join(where, task.compiled)


def symbols(file: str) -> set[str]:
    """Returns the global symbols of an object, without those that C++ may define many times; none if nm is missing."""
    try:
        said = subprocess.run(['nm', '-g', '--defined-only', file], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              encoding='utf-8', errors='replace', timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return set()
    rows = [line.split() for line in said.stdout.splitlines()]
    return {row[2] for row in rows if len(row) == 3 and row[1] in 'TDBRGS'}


def build(task: Task, file: str, folder: str, scratch: str, prepare: Prepare = None) -> str:
    """Returns the program with the file in it, linked with the objects of the build in `folder`."""
    source = copy_of_app(task, file, scratch)
    rules = os.path.join(scratch, 'grade.mk')
    variable = f'apps_{task.app}_{task.app}'.replace('-', '_')
    with open(rules, 'w', encoding='utf-8') as out:
        out.write(RULES.replace('{app}', variable).replace('{name}', task.app).replace('{suffix}', task.suffix))
    program = os.path.join(scratch, task.app)
    ended = programs.run(['make', '-C', folder, '-f', rules, f'FOLDER={scratch}', f'FILE={source}', program],
                         limit=COMPILING, prepare=prepare)
    if ended.exit != 0:
        copy = os.path.join(scratch, 'source', task.file)
        said = said_by(ended, copy).replace(copy, file)
        raise NotBuilt(f'{ended.why}\n{said}' if ended.why else said)
    theirs = symbols(os.path.join(scratch, 'rung.o'))
    ours = symbols(os.path.join(folder, task.compiled.rpartition('.')[0] + '.o'))
    if theirs and ours and theirs - ours:
        raise NotBuilt(f'{file}: defines {", ".join(sorted(theirs - ours))}, which the original does not: make it '
                       'static')
    return program
