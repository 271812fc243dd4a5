"""Builds a solution in place of the source that it stands for.

It is compiled in a copy of the app's folder and linked before the library of a build, so the object of the library is
not used. Neither the source tree nor that build is written to, except by make, which first brings the build up to date.
"""
import argparse
import os
import re
from typing import Optional

from .. import ENVIRONMENT, INVALID, USAGE, Fault
from ..measure import programs
from ..results import disk
from . import lessons
from .tasks import Task

RULES = """include Makefile
rung = $(FOLDER)/rung.o
$(rung): $(FILE)
	$(COMPILE_{suffix}) -c -o $@ $<
COMPILE_c = $(COMPILE)
COMPILE_cu = $(NVCC) $(DEFS) $(AM_CPPFLAGS) $(CPPFLAGS) $(RT_NVCCFLAGS) $(NVCCFLAGS)
COMPILE_host = $(rt_host_cxx)
COMPILE_cpp = $(KOKKOS_CXX) $(DEFS) $(AM_CPPFLAGS) $(KOKKOS_CPPFLAGS) $(CPPFLAGS) $(KOKKOS_CXXFLAGS)
objects = $({app}_OBJECTS)
$(FOLDER)/{name}: $(rung)
	$(LINK) $(objects) $(rung) $({app}_LDADD) $(LIBS)
"""  # as in Makefile.am
LIMIT = 1800  # seconds: a build of the suite that takes longer is taken to hang
COMPILING = 600  # seconds for one solution


def is_build_of(folder: str, tree: str) -> bool:
    """Returns whether this is a configured build of the tree, which may have been copied together with it."""
    if not all(os.path.isfile(os.path.join(folder, name)) for name in ('config.status', 'Makefile')):
        return False
    said = re.search('^top_srcdir = (.*)', lessons.text_of(os.path.join(folder, 'Makefile')), re.M)
    return said is not None and os.path.realpath(os.path.join(folder, said[1])) == os.path.realpath(tree)


def said_by(ended: programs.Ended, source: str = '') -> str:
    """Returns the lines of a build that say what is wrong, at most five: those on the source first."""
    lines = sorted(ended.text.splitlines(), key=lambda line: bool(source) and source not in line)
    faults = ('error: ', 'undefined reference', 'multiple definition')
    wrong = [line for line in lines if any(fault in line for fault in faults)]
    return '\n'.join(wrong[:5] or ended.text.splitlines()[-5:])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('--build', metavar='DIR', help='build of the source tree whose objects are used (default: this '
                        'folder, or the tree)')


def find_build(given: Optional[str], tree: str, needed: bool = True) -> str:
    """Returns the folder of a build of the tree: the one that is given, else this folder or the tree; '' if there is none
    and none is needed."""
    for folder in (given,) if given else (os.getcwd(), tree):
        if is_build_of(folder, tree):
            return os.path.abspath(folder)
    if not needed:
        return ''
    raise Fault(USAGE, f'--build {given or os.getcwd()}: not a build of {tree}: run {tree}/configure and make there')


def repository_program(build: str, app: str) -> str:
    """Returns the program of a build, brought up to date; that of someone else's build as it is."""
    own = os.path.join('apps', app, app)
    if os.access(build, os.W_OK) or not os.path.isfile(os.path.join(build, own)):
        ended = programs.run(['make', '-C', build, f'-j{os.cpu_count() or 1}', own], limit=LIMIT)
        if ended.exit != 0:
            said = '; '.join(said_by(ended).splitlines())
            raise Fault(ENVIRONMENT, f'make {own} failed ({ended.why or ended.exit}): {said}')
    return os.path.join(build, own)


def copy_of_app(task: Task, text: str, scratch: str) -> str:
    """Copies the app's folder with a text in place of the task's file. Returns the folder that stands for the tree."""
    where = os.path.join(scratch, 'source')
    folder = os.path.join('apps', task.app)
    for place, _, names in os.walk(os.path.join(lessons.tree(), folder)):  # copytree would copy a read-only mode too
        to = os.path.join(where, os.path.relpath(place, lessons.tree()))
        os.makedirs(to)
        for name in names:
            if name.endswith(('.c', '.h', '.cu', '.cuh', '.cpp', '.hpp', '.def', '.inc')):
                with disk.create(os.path.join(to, name)) as copy:
                    copy.write(disk.read_bytes(os.path.join(place, name)))
    disk.save_bytes(os.path.join(where, task.file), text.encode('utf-8', 'replace'))
    return where


def build(task: Task, text: str, name: str, folder: str, scratch: str) -> str:
    """Returns the program with a solution in it, linked with the objects of the build in `folder`; Fault, INVALID, if it
    does not compile or link. name: of the solution in what is said."""
    where = copy_of_app(task, text, scratch)
    rules = os.path.join(scratch, 'grade.mk')
    variable = f'apps_{task.app}_{task.app}'.replace('-', '_')
    made = RULES.replace('{app}', variable).replace('{name}', task.app).replace('{suffix}', task.suffix)
    disk.save_bytes(rules, made.encode())
    program = os.path.join(scratch, task.app)
    ended = programs.run(['make', '-C', folder, '-f', rules, f'FOLDER={scratch}', f'FILE={os.path.join(where, task.compiled)}',
                          program], limit=COMPILING)
    if ended.exit != 0:
        copy = os.path.join(where, task.file)
        why = f'{ended.why}\n' if ended.why else ''
        raise Fault(INVALID, f'it is not built: {why}{said_by(ended, copy).replace(copy, name)}')
    return program
