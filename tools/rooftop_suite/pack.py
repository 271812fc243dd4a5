"""`rooftop pack FOLDER`: a result folder and a form as one archive, FOLDER.tar.xz, which the other commands take.

The form (submission.json) says what no program can see: whose system, who tested it, at what price. `rooftop verify`
judges the folder first: one with faults is not packed, and what it lacks is said.
"""
import argparse
import io
import os
import tarfile

from . import INVALID, USAGE, VALID, Fault, disk, one_line, results, verify
from .archive import FORM, NAME
from .results import Folder, Run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add('folder', metavar='FOLDER', help='of a complete rooftop run')
    for name, what in FORM.items():
        add(f'--{name}', metavar='TEXT', required=name in ('system', 'tester'), help=what)
    add('--output', metavar='FILE', help='(default: FOLDER.tar.xz)')


def listed(path: str) -> list[str]:
    """Returns the names of the files of a folder that go into its archive."""
    names = [name for name in sorted(os.listdir(path)) if not name.startswith('.')]
    for name in names:
        at = os.path.join(path, name)
        if not NAME.fullmatch(name) or not os.path.isfile(at) or os.path.islink(at):
            raise Fault(USAGE, f'{at}: not a regular file of a plain name: take it out of the folder')
    return names


def judge(path: str, run: Run) -> list[str]:
    """Returns what a folder lacks to be official; Fault if verify finds faults in it, which are printed."""
    files: list[verify.Judged] = []
    given = [verify.judge_file(os.path.join(path, 'run.json'), None, files)]
    faults = [one_line(f'{judged.path}: {line}') for judged in files for line in judged.wrong]
    if faults:
        print('\n'.join(faults))
        raise Fault(INVALID, f'{path}: not packed: a buyer would refuse it for {len(faults)} '
                    f'fault{"s" if len(faults) > 1 else ""}')
    return verify.lacking(files, given) + ([] if run.nonce else ["the buyer's nonce (run --nonce)"])


def without_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ''
    return member


def main(args: argparse.Namespace) -> int:
    folder = Folder.open(args.folder)
    lacks = judge(args.folder, folder.manifest)
    form = {name: getattr(args, name) for name in FORM if getattr(args, name)}
    disk.save(folder.file('submission.json'), {'schema': results.SCHEMA, 'kind': 'submission', 'form': form})
    names, base = listed(args.folder), os.path.basename(os.path.abspath(folder.path))
    output = args.output or f'{args.folder.rstrip("/")}.tar.xz'
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode='w:xz') as tar:
        for name in names:
            tar.add(folder.file(name), f'{base if NAME.fullmatch(base) else "results"}/{name}', filter=without_owner)
    disk.save_bytes(output, whole.getvalue())
    print(f'pack: {output}, {len(names)} files' + (f'; it lacks {", ".join(lacks)}' if lacks else ''))
    return VALID
