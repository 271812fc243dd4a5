"""The source manifest: which files this build was made of, and what tier that makes its results.

Every source file is of one class. `protected`: what makes the inputs, judges, times and decides when to stop, and this
suite; nobody may change it. `rungs`: what a vendor may rewrite (tier optimised). `glue`: build system and the runtime
that rungs stand on (tier ported). The rest (documents, tests) does not count.

The files are compared with source.sha256, which a release has (make dist), or else with the commit in git. An
installed suite has what make install found: source.json.

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

from . import Fault, results, shipped, source_tree

MANIFEST = 'source.sha256'
FOLDERS = ('apps', 'common', 'inputs', 'm4', 'tools')
TOP = ('configure.ac', 'Makefile.am', 'bootstrap')
CLASSES = (  # the first that fits; * goes over slashes
    (None, ('*.o', '*.a', '*.tmp', '*/rooftop.pc', '*/compiled_text.inc')),  # what make leaves in the source folder
    ('protected', ('apps/*/main.c', 'apps/*/app.c', 'apps/*/problem.c', 'apps/*/solve.c', 'apps/*/*verify.c',
                   'apps/*/judge*', 'apps/*/oracle.c', 'apps/*/work.c', 'apps/*/picture.c', 'apps/*/cpu/*reference.c',
                   'apps/*/mesh/*', 'apps/*/matrix/*', 'apps/*/model/*', 'apps/*/element.c', 'apps/*/predictor/fit.c',
                   'inputs/*', 'common/rt_app.*', 'common/rt_run.c', 'common/rt_driver.h', 'common/rt_study.c',
                   'common/rt_verify.*', 'common/rt_plausible.*', 'common/rt_timer.*', 'common/rt_ceiling*',
                   'common/rt_work.*', 'common/rt_report.*', 'common/rt_draft.*', 'common/rt_digest.*',
                   'common/rt_sha256.*', 'common/rt_energy.*', 'common/rt_opt.*', 'common/rt_inputs.*',
                   'common/rt_mesh*', 'tools/rooftop*')),
    (None, ('apps/*.md', 'apps/*.png', 'tools/*', '*/__pycache__/*', '*~')),
    ('rungs', ('apps/*/cpu/*', 'apps/*/cuda/*', 'apps/*/kokkos/*', 'apps/*/predictor/*', 'apps/*/ladder.def',
               'apps/*/rungs.c', 'apps/*/precond.c', 'apps/*/patches.*', 'apps/*/parity.h', 'apps/*/solver.h',
               'apps/*/box.c', 'apps/*/peers/*')),
    ('glue', ('apps/*.c', 'apps/*.h', 'apps/*/local.mk', 'common/*', 'm4/*') + TOP),
)
TIERS = {'protected': 'invalid', 'rungs': 'optimised', 'glue': 'ported'}


@functools.lru_cache(maxsize=None)
def class_of(path):
    for name, patterns in CLASSES:
        if any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns):
            return name
    return None


def files(root):
    """Paths of the files of a tree that count, in order."""
    found = [name for name in TOP if os.path.isfile(os.path.join(root, name))]
    for folder in FOLDERS:
        for at, folders, names in os.walk(os.path.join(root, folder)):
            folders[:] = [name for name in folders if name[0] != '.' and name != '__pycache__']
            paths = [os.path.relpath(os.path.join(at, name), root) for name in names if name[0] != '.']
            found += [path for path in paths if class_of(path)]
    return sorted(found)


def manifest(root):
    """Lines 'sha256  class  path' of a tree: what source.sha256 has."""
    return ''.join(f'{results.sha256_of(os.path.join(root, path))}  {class_of(path)}  {path}\n' for path in files(root))


def tier_of(changed):
    classes = {class_of(path) for path in changed}
    return next((tier for name, tier in TIERS.items() if name in classes), 'baseline')


def git(root, *words):
    """What git says, or None."""
    try:
        asked = subprocess.run(['git', '-C', root, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return asked.stdout if asked.returncode == 0 else None


def own_git(root):
    """Is the tree a git repository of its own, not a folder in another's?"""
    top = git(root, 'rev-parse', '--show-toplevel')
    return top is not None and os.path.realpath(top.decode().strip()) == os.path.realpath(root)


def changed_in_git(root):
    """[(path, whether git knows it)] of what differs from the commit, or None."""
    said = git(root, 'status', '--porcelain=v1', '-z', '--no-renames', '--untracked-files=all')
    if said is None:
        return None
    entries = [(entry[3:], entry[:2] != '??') for entry in said.decode('utf-8', 'replace').split('\0') if entry]
    return sorted(entry for entry in entries if class_of(entry[0]))


def diff():
    """The difference of the source tree to its commit, as bytes: first of what git knows, then whole new files."""
    root = source_tree()
    changed = changed_in_git(root) or []
    known = [path for path, tracked in changed if tracked]
    said = git(root, 'diff', 'HEAD', '--', *known) if known else b''
    for path, tracked in changed:
        if not tracked:
            with open(os.path.join(root, path), 'rb') as file:
                said += f'\n=== new file {path}\n'.encode() + file.read()
    return said


def released(root):
    """{path: sha256} of source.sha256, or None if the tree has none."""
    try:
        with open(os.path.join(root, MANIFEST), encoding='utf-8') as file:
            rows = [line.split(None, 2) for line in file.read().splitlines()]
    except OSError:
        return None
    return {row[2]: row[0] for row in rows if len(row) == 3}


def judge_tree(root):
    """(the manifest's "source", tier) of a source tree."""
    from .cli import version
    there = manifest(root)
    what = {'version': version(), 'commit': None, 'changed': [], 'diff_file': None,
            'tree_sha256': hashlib.sha256(there.encode()).hexdigest()}
    before = released(root)
    if before is not None:
        now = {row.split(None, 2)[2]: row.split(None, 2)[0] for row in there.splitlines()}
        what['changed'] = sorted(path for path in before.keys() | now.keys() if before.get(path) != now.get(path))
    elif own_git(root) and (git(root, 'rev-parse', 'HEAD') or b''):
        what['commit'] = git(root, 'rev-parse', 'HEAD').decode().strip()
        what['changed'] = [path for path, _ in changed_in_git(root) or ()]
        what['diff_file'] = 'source.diff' if what['changed'] else None
    else:
        return {**what, 'why': f'neither {MANIFEST} nor git says what the source was'}, 'unknown'
    tier = tier_of(what['changed'])
    if tier != 'baseline':
        worst = [path for path in what['changed'] if TIERS.get(class_of(path)) == tier]
        more = f' and {len(worst) - 3} more' if len(worst) > 3 else ''
        what['why'] = f'changed: {", ".join(worst[:3])}{more}'
    return what, tier


def judge():
    """The same of what this suite comes from: its source tree, or what make install wrote."""
    root = source_tree()
    if root:
        return judge_tree(root)
    try:
        _, said = results.parse(shipped('source.json'))
        return said['source'], said['tier']
    except (Fault, KeyError):
        from .cli import version
        return {'version': version(), 'commit': None, 'tree_sha256': None, 'changed': [], 'diff_file': None,
                'why': 'the suite was installed without source.json'}, 'unknown'


if __name__ == '__main__':
    if sys.argv[1:2] == ['manifest'] and len(sys.argv) == 3:
        sys.stdout.write(manifest(sys.argv[2]))
    elif sys.argv[1:] == ['judge']:
        source, tier = judge()
        source['diff_file'] = None  # an installed suite has no tree to make it from
        print(json.dumps({'source': source, 'tier': tier}, indent=1))
    else:
        sys.exit('usage: python3 -m rooftop_suite.source manifest ROOT | judge')
