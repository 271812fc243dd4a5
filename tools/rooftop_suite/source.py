"""The source manifest: which files this build was made of, and which tier its results have.

Every source file is of one class. `protected`: what makes the inputs, judges, times and decides when to stop, and this
suite; it must not be changed. `rungs`: what a vendor may rewrite (tier optimised). `glue`: the build system and the
runtime below the rungs (tier ported). The rest (documents, tests) does not count.

The files are compared with source.sha256, which is part of a release (make dist), or else with the commit in git. An
installed suite uses what make install found: source.json.

    python3 -m rooftop_suite.source manifest ROOT    source.sha256 of a tree, to standard output
    python3 -m rooftop_suite.source judge            source.json of this tree, to standard output
"""
import fnmatch
import functools
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from typing import Optional

from . import Fault, results, shipped, source_tree
from .results import Source

MANIFEST = 'source.sha256'
FOLDERS = ('apps', 'common', 'inputs', 'm4', 'tools')
TOP = ('configure.ac', 'Makefile.am', 'bootstrap')
CLASSES = (  # the first that fits; * matches slashes too
    (None, ('*.o', '*.a', '*.tmp', '*/rooftop.pc', '*/compiled_text.inc', '*/__pycache__/*')),  # left by make and Python
    ('protected', ('apps/*/judge/*', 'apps/*/input/*', 'apps/*/cpu/*reference.c', 'inputs/*', 'tools/rooftop*',
                   'common/machine/timer.*', 'common/machine/energy.*')),
    (None, ('apps/*.md', 'apps/*.png', 'tools/*', '*~')),
    ('rungs', ('apps/*/cpu/*', 'apps/*/cuda/*', 'apps/*/kokkos/*', 'apps/*/openacc/*', 'apps/*/peers/*',
               'apps/*/ladder.def', 'apps/*/kernel.h', 'apps/*.hpp', 'apps/*/precond.c', 'apps/*/patch*',
               'apps/*/parity.h', 'apps/*/node.h', 'apps/*/baseline.h', 'apps/*/box.c')),
    ('protected', ('apps/*.c',)),  # the problem, the solvers' loops, the work models
    ('glue', ('apps/*.h', 'apps/*/local.mk', 'common/machine/*', 'common/halo/*', 'common/tune/*', 'common/base/mem.*',
              'common/local.mk', 'm4/*') + TOP),
    ('protected', ('common/*',)),
)
TIERS = {'protected': 'invalid', 'rungs': 'optimised', 'glue': 'ported'}


@functools.lru_cache(maxsize=None)
def class_of(path: str) -> Optional[str]:
    for name, patterns in CLASSES:
        if any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns):
            return name
    return None


def files(root: str) -> list[str]:
    """Returns the paths of the files of a tree that count, in order."""
    found = [name for name in TOP if os.path.isfile(os.path.join(root, name))]
    for folder in FOLDERS:
        for at, folders, names in os.walk(os.path.join(root, folder)):
            folders[:] = [name for name in folders if name[0] != '.' and name != '__pycache__']
            paths = [os.path.relpath(os.path.join(at, name), root) for name in names if name[0] != '.']
            found += [path for path in paths if class_of(path)]
    return sorted(found)


def manifest(root: str) -> str:
    """Returns lines 'sha256  class  path' of a tree: the text of source.sha256."""
    return ''.join(f'{results.sha256_of(os.path.join(root, path))}  {class_of(path)}  {path}\n' for path in files(root))


def tier_of(changed: Iterable[str]) -> str:
    classes = {class_of(path) for path in changed}
    return next((tier for name, tier in TIERS.items() if name in classes), 'baseline')


def git(root: str, *words: str) -> Optional[bytes]:
    """Returns what git prints, or None."""
    try:
        asked = subprocess.run(['git', '-C', root, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return asked.stdout if asked.returncode == 0 else None


def own_git(root: str) -> bool:
    """Returns whether the tree is a git repository of its own, not a folder inside another."""
    top = git(root, 'rev-parse', '--show-toplevel')
    return top is not None and os.path.realpath(top.decode().strip()) == os.path.realpath(root)


def changed_in_git(root: str) -> list[tuple[str, bool]]:
    """Returns [(path, whether git tracks it)] of the files that differ from the commit."""
    said = git(root, 'status', '--porcelain=v1', '-z', '--no-renames', '--untracked-files=all')
    if said is None:
        return []
    entries = [(entry[3:], entry[:2] != '??') for entry in said.decode('utf-8', 'replace').split('\0') if entry]
    return sorted(entry for entry in entries if class_of(entry[0]))


def diff() -> bytes:
    """Returns the difference of the source tree to its commit: tracked files first, then new files in full."""
    root = source_tree()
    if not root:
        return b''
    changed = changed_in_git(root)
    known = [path for path, tracked in changed if tracked]
    said = git(root, 'diff', 'HEAD', '--', *known) or b'' if known else b''
    for path, tracked in changed:
        if not tracked:
            with open(os.path.join(root, path), 'rb') as file:
                said += f'\n=== new file {path}\n'.encode() + file.read()
    return said


def released(root: str) -> Optional[dict[str, str]]:
    """Returns {path: sha256} of source.sha256, or None if the tree has none."""
    try:
        with open(os.path.join(root, MANIFEST), encoding='utf-8') as file:
            rows = [line.split(None, 2) for line in file.read().splitlines()]
    except OSError:
        return None
    return {row[2]: row[0] for row in rows if len(row) == 3}


def judge_tree(root: str) -> tuple[Source, str]:
    """Returns the manifest's "source" and the tier of a source tree."""
    from .cli import version
    there = manifest(root)
    what = Source(version=version(), commit=None, changed=[], diff_file=None,
                  tree_sha256=hashlib.sha256(there.encode()).hexdigest())
    before, head = released(root), git(root, 'rev-parse', 'HEAD')
    if before is not None:
        now = {row.split(None, 2)[2]: row.split(None, 2)[0] for row in there.splitlines()}
        what.changed = sorted(path for path in before.keys() | now.keys() if before.get(path) != now.get(path))
    elif own_git(root) and head:
        what.commit = head.decode().strip()
        what.changed = [path for path, _ in changed_in_git(root)]
        what.diff_file = 'source.diff' if what.changed else None
    else:
        what.why = f'neither {MANIFEST} nor git says what the source was'
        return what, 'unknown'
    tier = tier_of(what.changed)
    if tier != 'baseline':
        worst = [path for path in what.changed if TIERS.get(class_of(path) or '') == tier]
        more = f' and {len(worst) - 3} more' if len(worst) > 3 else ''
        what.why = f'changed: {", ".join(worst[:3])}{more}'
    return what, tier


def judge() -> tuple[Source, str]:
    """Returns the same for this suite: from its source tree, or from what make install wrote."""
    root = source_tree()
    if root:
        return judge_tree(root)
    try:
        _, said = results.parse(shipped('source.json'))
        return Source.from_json(said['source']), str(said['tier'])
    except (Fault, KeyError, results.Mismatch):
        from .cli import version
        return Source(version=version(), commit=None, tree_sha256=None, changed=[], diff_file=None,
                      why='the suite was installed without source.json'), 'unknown'


if __name__ == '__main__':
    if sys.argv[1:2] == ['manifest'] and len(sys.argv) == 3:
        sys.stdout.write(manifest(sys.argv[2]))
    elif sys.argv[1:] == ['judge']:
        source, tier = judge()
        source.diff_file = None  # an installed suite has no tree to make it from
        print(json.dumps({'source': source.to_json(), 'tier': tier}, indent=1))
    else:
        sys.exit('usage: python3 -m rooftop_suite.source manifest ROOT | judge')
