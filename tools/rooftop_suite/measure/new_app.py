"""A new app: writes the sources of a small one that works, to make another of it.

In the source tree: apps/NAME with its test, lesson and mutants, and a line in Makefile.am. With --into: a folder that
builds on an installed Rooftop. The sources are rooftop_suite/template, with NAME in place of `jacobi`.
"""
import argparse
import os
import pathlib
import re

from .. import USAGE, VALID, Fault, shipped, source_tree
from ..results import disk

PLACES = {'verify.c': 'judge/verify.c', 'reference.c': 'cpu/reference.c', 'global.cu': 'cuda/global.cu'}  # in the app
IN_TREE = {'cli.sh': 'tests/{}/cli.sh', 'lesson.md': 'docs/lessons/{}.md', 'mutants.txt': 'tests/mutants/{}.txt'}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('name', metavar='NAME', help="of the app: small letters, digits and '-'")
    parser.add_argument('--into', metavar='FOLDER', help='a new folder, to build on an installed Rooftop')


def renamed(text: str, name: str) -> str:
    """Returns a text of the template for an app of this name; in identifiers '_' stands for '-'."""
    word = name.replace('-', '_')
    return text.replace('jacobi_', f'{word}_').replace('JACOBI', word.upper()).replace('jacobi', name)


def main(args: argparse.Namespace) -> int:
    name, tree = args.name, pathlib.Path(source_tree() or '')
    if not re.fullmatch(r'[a-z][a-z0-9]*(-[a-z0-9]+)*', name):
        raise Fault(USAGE, f"{name}: a name has small letters, digits and '-'")
    if not args.into and not source_tree():
        raise Fault(USAGE, 'this suite is installed: say --into FOLDER')
    folder = pathlib.Path(args.into or tree / 'apps' / name)
    if os.path.lexists(folder):
        raise Fault(USAGE, f'{folder}: is there already')
    for source in pathlib.Path(shipped('template')).iterdir():
        if source.name in ({'local.mk', *IN_TREE} if args.into else {'Makefile'}):
            continue
        path = folder / PLACES.get(source.name, source.name.replace('jacobi', name))
        path = tree / IN_TREE[source.name].format(name) if source.name in IN_TREE else path
        path.parent.mkdir(parents=True, exist_ok=True)
        disk.save_bytes(str(path), renamed(source.read_text('utf-8'), name).encode())
    if args.into:
        print(f'{folder}: make check, with the folder of rooftop.pc in PKG_CONFIG_PATH')
        return VALID
    makefile = tree / 'Makefile.am'
    last = 'include tools/local.mk\n'
    lines = makefile.read_text('utf-8').replace(last, f'include apps/{name}/local.mk\n{last}', 1)
    disk.save_bytes(str(makefile), lines.encode())
    print(f'{folder}: make, make check TESTS=tests/{name}/cli.sh; what follows is in CONTRIBUTING.md, "A new app"')
    return VALID
