"""The command line of `rooftop`: a table of subcommands, each a module that is imported only when it is wanted.

A module has add_arguments(parser) and main(args) -> exit status; one that serves two subcommands has
add_arguments_NAME and main_NAME for each. args.command is the subcommand's name.
"""
import argparse
import importlib
import math
import os
import signal
import subprocess
import sys

from . import ENVIRONMENT, USAGE, VALID, Fault, Interrupted, shipped, source_tree

COMMANDS = (  # name, module, what it does
    ('doctor', 'doctor', 'what this machine and this build can do, and what to mend'),
    ('run', 'run', 'the four apps under the run rules: one result folder, one table'),
    ('verify', 'verify', 'whether a result, or a folder of them, says what was measured'),
    ('compare', 'compare', 'ratios of results, with their noise'),
    ('report', 'report', 'a result folder as one HTML file'),
    ('climb', 'climb', "an app's ladder as a lesson, with this machine's figures"),
    ('exercise', 'exercise', 'a rung with the part to write taken out'),
    ('grade', 'exercise', 'builds, verifies and times what was written'),
    ('scale', 'scale', 'an app over ranks or GPUs: efficiency, exposed communication'),
)


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Fault(USAGE, f'{message}; see {self.prog} --help')


# Types of arguments; argparse says "invalid <name> value: 'x'".
def seconds(text):
    value = float(text)
    if not (math.isfinite(value) and value >= 0):
        raise ValueError
    return value


def count(text):
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def counts(text):
    return sorted({count(word) for word in text.split(',')})


for kind, said in ((seconds, 'number from 0'), (count, 'count from 1'), (counts, 'list of counts')):
    kind.__name__ = said


def version():
    """Of the source that this lies in, as the programs say theirs, or what make install wrote."""
    tree = source_tree()
    try:
        if not tree:
            with open(shipped('VERSION'), encoding='utf-8') as file:
                return file.read().strip()
        return subprocess.run(['sh', os.path.join(tree, 'tools', 'version-gen'), tree], check=True, encoding='utf-8',
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=60).stdout.strip()
    except (OSError, Fault, subprocess.SubprocessError):
        return 'unknown'


def overview():
    lines = ['Usage: rooftop COMMAND [ARGUMENT...]', 'Four mini-apps that climb to the roofline, as one suite.', '']
    lines += [f'  {name:10}{what}' for name, _, what in COMMANDS]
    lines += ['', 'rooftop COMMAND --help says more.',
              'Exit status: 0 valid, 1 invalid, 2 usage, 3 environment, 4 memory; 128 and more: ended by a signal.']
    return '\n'.join(lines)


def parse(words):
    """(the subcommand's main, its arguments)."""
    name = words[0]
    found = [(module, what) for known, module, what in COMMANDS if known == name]
    if not found:
        raise Fault(USAGE, f"there is no command '{name}'; known: {', '.join(known for known, _, _ in COMMANDS)}")
    module, what = found[0]
    try:
        code = importlib.import_module(f'rooftop_suite.{module}')
    except ModuleNotFoundError as error:
        if error.name != f'rooftop_suite.{module}':
            raise
        raise Fault(ENVIRONMENT, f'this suite lacks {module}.py: install it again (make install)') from None
    parser = Parser(prog=f'rooftop {name}', description=what, allow_abbrev=False)
    own = name.replace('-', '_')
    (getattr(code, f'add_arguments_{own}', None) or code.add_arguments)(parser)
    args = parser.parse_args(words[1:])
    args.command = name
    return getattr(code, f'main_{own}', None) or code.main, args


def on_signal(signum, _):
    raise Interrupted(signum)


def main(words):
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, on_signal)
    try:
        if not words or words[0] in ('--help', '-h', 'help'):
            print(overview())
            return VALID if words else USAGE
        if words[0] == '--version':
            print(f'rooftop (Rooftop) {version()}')
            return VALID
        command, args = parse(words)
        return command(args)
    except Fault as fault:
        print(f'rooftop: {fault}', file=sys.stderr)
        return fault.status
    except Interrupted as interrupted:
        hint = f'; {interrupted.hint}' if interrupted.hint else ''
        print(f'rooftop: ended by {signal.Signals(interrupted.signum).name}{hint}', file=sys.stderr)
        return 128 + interrupted.signum
    except BrokenPipeError:  # the reader of a pipe has gone: no more to say
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ENVIRONMENT
    except OSError as error:
        where = f'{error.filename}: ' if error.filename else ''
        print(f'rooftop: {where}{error.strerror or error}', file=sys.stderr)
        return ENVIRONMENT
