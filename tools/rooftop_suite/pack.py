"""`rooftop pack FOLDER`: a result folder and a filled form as one archive, FOLDER.tar.xz, which the other commands take.

The form (submission.json) says what no program can see: whose system, how many nodes, joined by what, who tested it,
at what price. What a program can see is filled in from the run. `rooftop verify` judges the folder first: one with
faults is not packed, and what a buyer would miss is said.
"""
import argparse
import io
import os
import tarfile

from . import INVALID, USAGE, VALID, Fault, disk, one_line, results, verify
from .archive import FORM, MOST_BYTES, NAME
from .results import Folder, Run

NEEDED = ('system', 'tester')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add('folder', metavar='FOLDER', help='of a complete rooftop run')
    add('--form', metavar='FILE', help='with lines NAME = TEXT, of the names below')
    for name, what in FORM.items():
        add(f'--{name}', metavar='TEXT', help=what)
    add('--output', metavar='FILE', help='(default: FOLDER.tar.xz)')


# ---- The form ----

def read_form(path: str) -> dict[str, str]:
    try:
        with open(path, encoding='utf-8') as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Fault(USAGE, f'--form {path}: {getattr(error, "strerror", None) or "not UTF-8"}') from None
    form = {}
    for number, line in enumerate(lines, 1):
        name, equals, value = (part.strip() for part in line.partition('='))
        if line.strip() and not line.lstrip().startswith('#'):
            if not equals or name not in FORM:
                raise Fault(USAGE, f'{path}:{number}: not NAME = TEXT with a name of {", ".join(FORM)}')
            form[name] = value
    return form


def seen(run: Run) -> dict[str, str]:
    """Returns what the run itself says for the form."""
    here = run.environment
    nodes = here.get('nodes') or [here]
    gpus = [str(gpu.get('name')) for gpu in nodes[0].get('gpus', [])]
    compilers = sorted({str(program.version.get('compiler', '')) for program in run.programs.values()})
    drivers = sorted({str(gpu.get('driver_version')) for gpu in nodes[0].get('gpus', [])})
    software = [str(nodes[0].get(name, '')) for name in ('system', 'kernel', 'mpi')] + compilers
    software += [f'driver {driver}' for driver in drivers]
    return {'nodes': f'{len(nodes)}: {nodes[0].get("cpu")}, {nodes[0].get("cores")} CPUs'
                     + (f', {len(gpus)} x {gpus[0]}' if gpus else ''),
            'interconnect': '; '.join(map(str, nodes[0].get('interconnect', []))),
            'software': '; '.join(part for part in software if part)}


def filled(args: argparse.Namespace, run: Run) -> dict[str, str]:
    """Returns the form: what the run says, then the file, then the options."""
    form = {**seen(run), **(read_form(args.form) if args.form else {})}
    form.update({name: getattr(args, name) for name in FORM if getattr(args, name) is not None})
    missing = [name for name in NEEDED if not form.get(name, '').strip()]
    if missing:
        raise Fault(USAGE, f'the form lacks {" and ".join(missing)}: give --{" and --".join(missing)}, or --form FILE')
    return {name: form[name] for name in FORM if form.get(name)}


# ---- Writing ----

def listed(path: str) -> list[str]:
    """Returns the names of the regular files of a folder that go into its archive."""
    names = [name for name in sorted(os.listdir(path)) if not name.startswith('.') and name != 'submission.json']
    odd = [name for name in names if not NAME.fullmatch(name) or not os.path.isfile(os.path.join(path, name))
           or os.path.islink(os.path.join(path, name))]
    if odd:
        raise Fault(USAGE, f'{os.path.join(path, odd[0])}: not a regular file of a plain name: take it out of '
                    'the folder')
    return names


def archive(folder: Folder, names: list[str]) -> bytes:
    """Returns the archive's bytes: the files of a folder, in order, without owners."""
    whole, base = io.BytesIO(), os.path.basename(os.path.abspath(folder.path))
    base = base if NAME.fullmatch(base) else 'results'
    with tarfile.open(fileobj=whole, mode='w:xz', format=tarfile.PAX_FORMAT) as tar:
        for name in names:
            with open(folder.file(name), 'rb') as file:
                data = file.read(MOST_BYTES + 1)
            member = tarfile.TarInfo(f'{base}/{name}')
            member.size, member.mode = len(data), 0o644
            member.mtime = int(os.stat(folder.file(name)).st_mtime)
            tar.addfile(member, io.BytesIO(data))
    return whole.getvalue()


def judge(path: str, run: Run) -> list[str]:
    """Returns what a buyer would miss in a folder; Fault if verify finds faults in it, which are printed."""
    files: list[verify.Judged] = []
    given = [verify.judge_file(os.path.join(path, 'run.json'), None, files)]
    faults = [one_line(f'{judged.path}: {line}') for judged in files for line in judged.wrong]
    if faults:
        print('\n'.join(faults))
        raise Fault(INVALID, f'{path}: not packed: a buyer would refuse it for {len(faults)} '
                    f'fault{"s" if len(faults) > 1 else ""}')
    rows = [*run.summary.items(), *((f'{app}, peak', row) for app, row in run.peak.items())]
    return verify.lacking(files, given) + ([] if run.nonce else ["the buyer's nonce (run --nonce)"]) + [
        f'a figure of merit of {name} ({row.verdict})' for name, row in rows if not row.fom]


def main(args: argparse.Namespace) -> int:
    folder = Folder.open(args.folder)
    run = folder.manifest
    if run.state != 'complete':
        raise Fault(INVALID, f'{args.folder}: the run is not complete: rooftop run --into {args.folder} continues it')
    form, names = filled(args, run), listed(args.folder)
    lacks = judge(args.folder, run)
    disk.save(folder.file('submission.json'), {
        'schema': results.SCHEMA, 'kind': 'submission', 'form': form,
        'files': {name: disk.sha256_of(folder.file(name)) for name in names}}, run.nonce)
    output = args.output or f'{args.folder.rstrip("/")}.tar.xz'
    disk.save_bytes(output, archive(folder, [*names, 'submission.json']))
    for name, value in form.items():
        print(f'{name:14}{value}')
    print(f'pack: {output}, {len(names) + 1} files' + (f'; a buyer will miss {", ".join(lacks)}' if lacks else ''))
    return VALID
