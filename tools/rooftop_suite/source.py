"""The source manifest: which files this build was made of, and which tier its results have.

Every source file is of one class. `protected`: what makes the inputs, judges, times and decides when to stop, and this
suite; it must not be changed. `rungs`: what a vendor may rewrite (tier optimised). `glue`: the build system and the
runtime below the rungs (tier ported). The rest (documents, tests) does not count.

The files are compared with source.sha256, which is part of a release (make dist), or else, byte by byte, with the
commit in git. A release also has what ./bootstrap made (configure, Makefile.in): glue that a clone makes anew. An
installed suite uses what make install found: source.json.

    python3 -m rooftop_suite.source manifest ROOT    source.sha256 of a tree, to standard output
    python3 -m rooftop_suite.source judge            source.json of this tree, to standard output
"""
import difflib
import fnmatch
import functools
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator
from typing import Optional

from . import Fault, disk, records, shipped, source_tree
from .results import Source

MANIFEST = 'source.sha256'
FOLDERS = ('apps', 'common', 'inputs', 'm4', 'tools')
TOP = ('configure.ac', 'Makefile.am', 'bootstrap')
GENERATED = ('configure', 'Makefile.in', 'aclocal.m4', 'config.h.in', 'build-aux/*')  # by ./bootstrap
CLASSES = (  # the first that fits; * matches slashes too
    (None, ('*.o', '*.a', '*.tmp', '*/rooftop.pc', '*/__pycache__/*')),  # left by make and Python
    ('protected', ('apps/*/judge/*', 'apps/*/input/*', 'apps/*/cpu/*reference.c', 'inputs/*', 'tools/rooftop*',
                   'common/machine/timer.*', 'common/machine/energy.*')),
    (None, ('apps/*.md', 'apps/*.png', 'tools/*', '*~')),
    ('rungs', ('apps/*/cpu/*', 'apps/*/cuda/*', 'apps/*/kokkos/*', 'apps/*/openacc/*', 'apps/*/peers/*',
               'apps/*/ladder.def', 'apps/*/kernel.h', 'apps/*.hpp', 'apps/*/precond.c', 'apps/*/patch*',
               'apps/*/parity.h', 'apps/*/node.h', 'apps/*/boxes.h', 'apps/*/baseline.h', 'apps/*/box.c')),
    ('protected', ('apps/*.c',)),  # the problem, the solvers' loops, the work models
    ('glue', ('apps/*.h', 'apps/*/local.mk', 'common/machine/*', 'common/halo/*', 'common/tune/*', 'common/base/mem.*',
              'common/local.mk', 'm4/*') + TOP + GENERATED),
    ('protected', ('common/*',)),
)
TIERS = {'protected': 'invalid', 'rungs': 'optimised', 'glue': 'ported'}


@functools.lru_cache(maxsize=None)
def class_of(path: str) -> Optional[str]:
    for name, patterns in CLASSES:
        if any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns):
            return name
    return None


Tree = dict[str, str]  # {path: sha256}


def files(root: str, generated: bool = False) -> list[str]:
    """Returns the paths of the files of a tree that count, in order: those that people wrote, or those of GENERATED."""
    def under(folder: str) -> Iterator[str]:
        for at, folders, names in os.walk(os.path.join(root, folder)):
            folders[:] = [name for name in folders if name[0] != '.' and name != '__pycache__']
            yield from (os.path.relpath(os.path.join(at, name), root) for name in names if name[0] != '.')
    top = [name for name in (GENERATED if generated else TOP) if os.path.isfile(os.path.join(root, name))]
    folders = ('build-aux',) if generated else FOLDERS
    return sorted(top + [path for folder in folders for path in under(folder) if class_of(path)])


def tree(root: str, generated: bool = False) -> Tree:
    return {path: disk.sha256_of(os.path.join(root, path)) for path in files(root, generated)}


def lines(there: Tree) -> str:
    return ''.join(f'{there[path]}  {class_of(path)}  {path}\n' for path in sorted(there))


def manifest(root: str) -> str:
    """Returns lines 'sha256  class  path' of a tree: the text of source.sha256."""
    return lines({**tree(root), **tree(root, generated=True)})


def sha256(there: Tree) -> str:
    """Returns the digest of a tree: of its manifest."""
    return hashlib.sha256(lines(there).encode()).hexdigest()


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


@functools.lru_cache(maxsize=None)
def committed(root: str, commit: str = 'HEAD') -> Optional[dict[str, bytes]]:
    """Returns {path: bytes} of the files of a commit that count, or None if git does not have it. What git says of the
    working tree is not asked: files can be hidden from it (git update-index --assume-unchanged)."""
    archive = git(root, 'archive', '--format=tar', '--end-of-options', commit) if own_git(root) else None
    if archive is None:
        return None
    found = {}
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            opened = tar.extractfile(member) if member.isfile() else None
            name = member.name
            if opened and (name in TOP or name.split('/')[0] in FOLDERS and '/.' not in name) and class_of(name):
                found[name] = opened.read()
    return found


def tree_at(root: str, commit: str) -> Optional[Tree]:
    """Returns the tree of a commit, or None."""
    there = committed(root, commit)
    return {path: hashlib.sha256(data).hexdigest() for path, data in there.items()} if there else None


def changes(before: Tree, now: Tree) -> list[str]:
    return sorted(path for path in before.keys() | now.keys() if before.get(path) != now.get(path))


def diff() -> bytes:
    """Returns the difference of the source tree to its commit."""
    root = source_tree()
    before = committed(root) if root else None
    if not root or before is None:
        return b''
    said: list[str] = []
    for path in changes(tree_at(root, 'HEAD') or {}, tree(root)):
        here = os.path.join(root, path)
        now = disk.read_bytes(here) if os.path.isfile(here) else b''
        old, new = (data.decode('utf-8', 'replace').splitlines(keepends=True) for data in (before.get(path, b''), now))
        said += difflib.unified_diff(old, new, f'a/{path}', f'b/{path}')
    return ''.join(said).encode()


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
    now = tree(root)
    what = Source(version=version(), commit=None, changed=[], diff_file=None, tree_sha256=sha256(now))
    release, before = released(root), tree_at(root, 'HEAD')
    if release is not None:
        made = tree(root, generated=True)
        what.generated_sha256 = sha256(made)
        what.changed = changes(release, {**now, **made})
    elif before is not None:
        what.commit = (git(root, 'rev-parse', 'HEAD') or b'').decode().strip()
        what.changed = changes(before, now)
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
        _, said = disk.parse(shipped('source.json'))
        return Source.from_json(said['source']), str(said['tier'])
    except (Fault, KeyError, records.Mismatch):
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
