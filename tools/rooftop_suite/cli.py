"""The command line of `rooftop`: a table of subcommands, each a module that is imported only when it is needed.

A module has add_arguments(parser) and main(args) -> exit status; args.passed is what follows --.
"""
import argparse
import importlib
import io
import math
import os
import re
import signal
import sys
from typing import Callable, NamedTuple, NoReturn

from . import ENVIRONMENT, MEMORY, USAGE, VALID, Fault, Interrupted, one_line, shipped, source_tree


class Command(NamedTuple):
    module: str
    what: str
    passes: bool = False  # the words after -- go to the program


COMMANDS = {
    'doctor': Command('measure.doctor', 'what this machine and this build can do, and what to fix'),
    'run': Command('measure.run', 'run the four apps under the run rules: one result folder, one table'),
    'record': Command('measure.record', 'run all that pages and papers say of a machine: one folder for docs/reference'),
    'verify': Command('results.verify', 'is a result whole and consistent, and what does it lack to be official'),
    'accept': Command('measure.accept', 'rerun a result briefly on this machine, and compare'),
    'compare': Command('results.compare', 'ratios of results, with their noise'),
    'table': Command('results.table', 'the results of many machines in one table: text, HTML, CSV'),
    'explain': Command('results.explain', 'where the time of each rung goes, by its work and the ceilings'),
    'predict': Command('results.predict', 'the times of a result on another machine, and on many ranks of it'),
    'counters': Command('measure.counters', "a rung's work model against the counters of a GPU, by Nsight Compute", True),
    'report': Command('pages.report', 'a result folder as one HTML file'),
    'picture': Command('pages.picture', 'what --picture of an app wrote, as a PNG file: needs matplotlib'),
    'climb': Command('course.climb', "an app's ladder as a lesson, with this machine's figures", True),
    'exercise': Command('course.exercise', 'a part of the suite to write yourself, with task, hints and test', True),
    'grade': Command('course.grade', 'is a solution right, and is it faster', True),
    'scale': Command('measure.scale', 'an app over ranks or GPUs: efficiency, and where time goes'),
    'new-app': Command('measure.new_app', 'write the sources of a small app that works, to make another of it'),
    'reproduce': Command('measure.reproduce', "a paper's figures and tables on this machine, beside its values: a page"),
}


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Fault(USAGE, f'{message}; see {self.prog} --help')


# Types of arguments; argparse says "invalid <name> value: 'x'".
def seconds(text: str) -> float:
    value = float(text)
    if not (math.isfinite(value) and value >= 0):
        raise ValueError
    return value


def count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def counts(text: str) -> list[int]:
    return sorted({count(word) for word in text.split(',')})


for kind, said in ((seconds, 'number from 0'), (count, 'count from 1'), (counts, 'list of counts')):
    kind.__name__ = said


def minutes(s: float) -> str:
    """Returns a duration in words."""
    return f'{s:.0f} s' if s < 120 else f'{s / 60:.0f} min' if s < 7200 else f'{s / 3600:.1f} h'


def version() -> str:
    """Returns the version of the source tree as the programs print theirs, or what make install wrote."""
    from .measure import machine
    tree = source_tree()
    try:
        said = machine.said('sh', os.path.join(tree, 'tools', 'version-gen'), tree) if tree else machine.read(shipped('VERSION'))
    except Fault:
        said = ''
    return said.strip() or 'unknown'


def overview() -> str:
    return '\n'.join(['Usage: rooftop COMMAND [ARGUMENT...]', 'Four mini-apps that climb to the roofline, as one suite.', '',
                      *(f'  {name:13}{command.what}' for name, command in COMMANDS.items()), '',
                      'rooftop COMMAND --help lists the options of a command.',
                      'Exit status: 0 valid, 1 invalid, 2 usage, 3 environment (of run also: no app has a figure of merit),',
                      '4 memory; 128 and more: ended by a signal.'])


def check(words: list[str]) -> None:
    """Refuses arguments that argparse would take for something else, and those that no result could record."""
    for word in words:
        if re.fullmatch(r'--[\w-]+=--', word):
            raise Fault(USAGE, f"{word}: '--' is not a value")
        if not word.isprintable() and word.encode('utf-8', 'replace').decode() != word:
            raise Fault(USAGE, f'{ascii(word)}: not UTF-8; give it letters and digits')


Main = Callable[[argparse.Namespace], int]


def parse(words: list[str]) -> tuple[Main, argparse.Namespace]:
    """Returns the subcommand's main and its arguments."""
    name = words[0]
    check(words[:words.index('--')] if '--' in words else words)
    if name not in COMMANDS:
        raise Fault(USAGE, f"there is no command '{name}'; known: {', '.join(COMMANDS)}")
    command = COMMANDS[name]
    code = importlib.import_module(f'rooftop_suite.{command.module}')
    parser = Parser(prog=f'rooftop {name}', description=command.what, allow_abbrev=False)
    code.add_arguments(parser)
    end = len(words)
    if command.passes:
        parser.epilog = 'Words after -- go to the program: -- --elements 4x4x4 --seconds 1'
        end = words.index('--') if '--' in words else end
    args = parser.parse_args(words[1:end])
    args.passed = words[end + 1:]
    return code.main, args


def on_signal(signum: int, _: object) -> None:
    raise Interrupted(signum)


def complain(text: str) -> None:
    print(f'rooftop: {one_line(text)}', file=sys.stderr)


def main(words: list[str]) -> int:
    for stream in (sys.stdout, sys.stderr):  # a locale without some letters must not end a run
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors='backslashreplace')
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
        complain(str(fault))
        return fault.status
    except Interrupted as interrupted:
        hint = f'; {interrupted.hint}' if interrupted.hint else ''
        print(f'rooftop: ended by {signal.Signals(interrupted.signum).name}{hint}', file=sys.stderr)
        return 128 + interrupted.signum
    except BrokenPipeError:  # the reader of a pipe has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ENVIRONMENT
    except OSError as error:
        complain(f'{error.filename}: {error.strerror}' if error.filename else str(error.strerror or error))
        return ENVIRONMENT
    except MemoryError:
        complain('out of memory')
        return MEMORY
    except Exception as error:  # a fault of this suite; 1 would mean that a result is INVALID
        if os.environ.get('ROOFTOP_TRACEBACK'):
            raise
        complain(f'fault of the suite: {type(error).__name__}: {error}; ROOFTOP_TRACEBACK=1 shows where')
        return ENVIRONMENT
