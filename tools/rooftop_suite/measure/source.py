"""The source of a build: which of its files are not those of a release or a commit.

A release (make dist) has source.sha256, the SHA-256 of each file that counts; in a clone git says what differs from the
commit. An installed suite has what make install found: source.json.

    python3 -m rooftop_suite.measure.source manifest ROOT    source.sha256 of a tree, to standard output
    python3 -m rooftop_suite.measure.source judge            source.json of this tree, to standard output
"""
import json
import os
import subprocess
import sys
from typing import Optional

from .. import Fault, shipped, source_tree
from ..cli import version
from ..results import Source, disk

MANIFEST = 'source.sha256'
COUNTS = ('apps', 'common', 'inputs', 'm4', 'tools', 'docs/result-schema.json', 'configure.ac', 'Makefile.am', 'bootstrap',
          'configure', 'Makefile.in', 'aclocal.m4', 'config.h.in', 'build-aux')


def manifest(root: str) -> str:
    """Returns lines 'sha256  path', as sha256sum -c takes them, of the files of a tree that count."""
    paths = [name for name in COUNTS if os.path.isfile(os.path.join(root, name))]
    for folder in COUNTS:
        for at, _, names in os.walk(os.path.join(root, folder)):
            paths += [os.path.relpath(os.path.join(at, name), root) for name in names if '__pycache__' not in at]
    return ''.join(f'{disk.sha256_of(os.path.join(root, path))}  {path}\n' for path in sorted(paths))


def git(root: str, *words: str) -> Optional[str]:
    """Returns what git prints, or None."""
    try:
        return subprocess.run(['git', '-C', root, *words], check=True, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, encoding='utf-8', errors='replace', timeout=60).stdout
    except (OSError, subprocess.SubprocessError):
        return None


def judge_tree(root: str) -> Source:
    """Returns the manifest's "source" of a source tree."""
    what = Source(version=version(), commit=None, changed=[])
    try:
        with open(os.path.join(root, MANIFEST), encoding='utf-8') as file:
            rows = [line.rstrip('\n').split('  ', 1) for line in file]
        what.changed = [path for sha256, path in rows for at in [os.path.join(root, path)]
                        if not os.path.isfile(at) or disk.sha256_of(at) != sha256]
    except OSError:
        top, commit = git(root, 'rev-parse', '--show-toplevel'), git(root, 'rev-parse', 'HEAD')
        said = git(root, 'status', '--porcelain', '--no-renames', '-uall', '--', *COUNTS)
        if said is None or not commit or not top or not os.path.samefile(top.strip(), root):  # not a folder of another
            what.why = f'neither {MANIFEST} nor git says what the source was'
            return what
        what.commit, what.changed = commit.strip(), [line[3:] for line in said.splitlines()]
    if what.changed:
        more = f' and {len(what.changed) - 3} more' if len(what.changed) > 3 else ''
        what.why = f'changed: {", ".join(what.changed[:3])}{more}'
    return what


def judge() -> Source:
    """Returns the same for this suite: of its source tree, or what make install wrote."""
    root = source_tree()
    if root:
        return judge_tree(root)
    try:
        return Source(**disk.parse(shipped('source.json')))
    except (Fault, TypeError):
        return Source(version=version(), commit=None, changed=[],
                      why='the suite was installed without source.json')


if __name__ == '__main__':
    if sys.argv[1:2] == ['manifest'] and len(sys.argv) == 3:
        sys.stdout.write(manifest(sys.argv[2]))
    elif sys.argv[1:] == ['judge']:
        print(json.dumps(judge(), indent=1))
    else:
        sys.exit('usage: python3 -m rooftop_suite.measure.source manifest ROOT | judge')
