"""What `rooftop run` is to run: the options in force, and the steps they make.

Base: each app with its default options, which are the fastest known on that kind of machine. Peak: each app that a
choice was declared for, with this choice, on the same problem. Also: what `rooftop record` and `reproduce` add by name.
`Plan.ask` has the programs preview their steps, so that what they would refuse is refused before a folder is made.
"""
import argparse
import os
import re
import shlex
from collections.abc import Container, Iterator
from typing import Any

from .. import USAGE, Fault, Json, aligned, results
from ..cli import count, seconds
from ..results import WARM_UP, WINDOW, Step
from . import machine, programs


DEFAULTS = {'windows': 5, 'seconds': 5.0, 'ladder_seconds': 0.3, 'ranks': 1, 'nonce': '', 'peak': [], 'base': True, 'also': {}}
PICTURES = {'gfnn-wave': ('vti', '--elements 48x48x48 --frequency 5000 --steps 14'),
            'alya-rhs': ('vtu', '--rung step-cpu-closed --cells 24x20x14 --steps 16 --tolerance 1e-3')}
SHORTER = {'gfnn-wave': ['--steps', '1']}  # of ladders on CPUs: its reference solve is 24 times slower than the rung's
# What a choice of peak may set: how an app computes, not what.
FREE = {'rung', 'choose', 'tuning', 'no-tuning', 'transport', 'threads'}
FREE_OF = {'nekbone': {'ranks'}, 'alya-rhs': {'reorder'},
           'fun3d-mcpi': {'offdiagonal', 'dq', 'accumulate'},
           'gfnn-wave': {'precond', 'coef', 'precision', 'vectors', 'ranks'}}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options that decide what is run."""
    add = parser.add_argument
    add('--size', choices=results.SIZES, help='memory per rank: see a program\'s --help (default: small with a GPU, '
        'tiny without)')
    add('--apps', metavar='APP,..', help='only these (default: all four)')
    add('--rung', metavar='NAME', help='this rung instead of the default one; with --apps APP')
    add('--official', action='store_true', default=None, help='under the rules for results that are published: '
        'warm-up of 3 s, windows of 10 s, all apps, size small or above')
    add('--peak', action='append', metavar="'APP: OPTIONS'", help="the choice for an app, timed beside its defaults: "
        "'alya-rhs: --rung patch --tuning FILE'; once per app")
    add('--seconds', type=seconds, metavar='S', help='of timing per app, in all windows (default 5)')
    add('--windows', type=count, metavar='N', help='timed windows, 5 or more (default 5)')
    add('--no-ladders', action='store_true', default=None, help='leave out the ladders and pictures')
    add('--ladder-seconds', type=seconds, metavar='S', help='of timing per rung (default 0.3)')
    add('--nonce', metavar='TEXT', help='a word from the buyer: it seeds all inputs and is recorded in every result')
    add('--power', metavar='FILE', help='to which a power meter writes while the measured runs are timed: docs/running.md')
    programs.add_launcher(parser)
    add('--ranks', type=count, metavar='N', help='of MPI (default 1)')
    add('--device', metavar='LIST', help='cpu, or GPU ordinals, as the programs take it')
    add('--threads', type=count, metavar='N', help='per rank (default: its cores)')


GIVEN = ('size', 'apps', 'rung', 'official', 'peak', 'seconds', 'windows', 'no_ladders', 'ladder_seconds',
         'nonce', 'power', 'launcher', 'ranks', 'device', 'threads', 'bindir')  # options that decide what is run


def given(args: argparse.Namespace) -> Json:
    """Returns the options on the command line, by name."""
    return {name: getattr(args, name) for name in GIVEN if getattr(args, name) is not None}


def choices_of(declared: list[str]) -> dict[str, list[str]]:
    """Returns {app: options} of --peak 'APP: OPTIONS'."""
    found: dict[str, list[str]] = {}
    for text in declared:
        app, colon, rest = text.partition(':')
        app = app.strip()
        try:
            words = [part for word in shlex.split(rest)
                     for part in (word.split('=', 1) if word.startswith('--') else [word])]
        except ValueError as error:
            raise Fault(USAGE, f'--peak {text}: {error}') from None
        if not app or not colon or not words:
            raise Fault(USAGE, f"--peak {text}: write 'APP: --option value ..'")
        if app in found:
            raise Fault(USAGE, f'--peak {app}: declared twice')
        free = FREE | FREE_OF.get(app, set())
        for name in [word for word in words if word.startswith('-')]:
            if name[2:] not in free:
                raise Fault(USAGE, f'--peak {app}: {name} is not free; a choice may set '
                            f'{", ".join(f"--{one}" for one in sorted(free))}')
        found[app] = words
    return found


class Plan:
    """The options in force, and the steps they make."""

    def __init__(self, options: Json) -> None:
        get: Any = {**DEFAULTS, **options}.get
        self.given = options
        self.official = bool(get('official'))
        self.apps: list[str] = options['apps'].split(',') if 'apps' in options else programs.known(options.get('bindir'))
        self.programs = {app: programs.find(app, options.get('bindir')) for app in self.apps}
        self.gpu = get('device') != 'cpu' and any(map(programs.has_gpu, self.programs.values()))
        self.size: str = get('size') or ('small' if self.gpu else 'tiny')
        self.ladder_size: str = self.size if self.gpu else 'tiny'
        self.windows: int = get('windows')
        self.ladder_seconds: float = get('ladder_seconds')
        self.seconds: float = WINDOW * self.windows if self.official else get('seconds')
        self.ranks: int = get('ranks')
        self.nonce: str = get('nonce')
        self.launcher = programs.launcher_words(get('launcher'), self.ranks)
        self.peak = choices_of(get('peak'))
        self.with_base: bool = get('base')
        self.more: dict[str, str] = get('also')  # {name: 'APP OPTIONS'}
        self.previews: dict[str, programs.Preview] = {}  # by step; see ask
        for wrong, why in self.refusals():
            if wrong:
                raise Fault(USAGE, why)

    def refusals(self) -> Iterator[tuple[bool, str]]:
        """Yields (whether it is so, why these options are refused)."""
        given, first = self.given, self.apps[0]
        yield len(set(self.apps)) != len(self.apps), f'--apps {given.get("apps")}: an app is listed twice'
        yield not 5 <= self.windows <= 64, f'--windows {self.windows}: the median is of 5 to 64'
        yield self.seconds <= 0, '--seconds must be above 0'
        yield 'nonce' in given and not self.nonce.strip(), '--nonce: give it a word'
        yield not self.nonce.isprintable(), f"--nonce '{self.nonce}': give it letters and digits"
        if 'rung' in given:
            yield len(self.apps) > 1, f'--rung {given["rung"]}: add --apps APP, the app that has it'
            names = [rung.name for rung in programs.rungs(self.programs[first])]
            yield given['rung'] not in names, f'--rung {given["rung"]}: {first} has {", ".join(names)}'
        if self.official:
            for name, why in (('seconds', 'windows are of 10 s'), ('apps', 'all four are run')):
                yield name in given, f'--official and --{name} exclude each other: {why}'
            for name in machine.FOREIGN:
                yield bool(os.environ.get(name)), \
                    f'--official and {name}={os.environ.get(name)} exclude each other: unset it'
            yield self.size == 'tiny', '--official needs --size small or above: tiny is for tests'
        yield bool(self.peak) and self.size in ('large', 'full'), \
            f'--peak needs a fixed problem, and --size {self.size} depends on the memory that is free'
        for app in self.peak:
            yield app not in self.apps, f'--peak {app}: --apps leaves it out'

    # ---- Steps ----

    def common(self, arguments: list[str]) -> list[str]:
        """Returns the arguments of all steps that these do not set themselves."""
        words = []
        for name in ('nonce', 'device', 'threads'):
            words += [f'--{name}', str(self.given[name])] if name in self.given and f'--{name}' not in arguments else []
        return words

    def timing(self) -> list[str]:
        words = ['--seconds', f'{self.seconds:g}', '--windows', str(self.windows)]
        if self.official:
            words += ['--warm-up', f'{WARM_UP:g}', '--window', f'{WINDOW:g}']
        return words + (['--power', self.given['power']] if 'power' in self.given else [])

    def base(self) -> list[Step]:
        if not self.with_base:
            return []
        rung = ['--rung', self.given['rung']] if 'rung' in self.given else []
        return [self.step(app, app, ['--size', self.size, *rung, *self.timing()]) for app in self.apps]

    def peaks(self) -> list[Step]:
        """Returns the steps of declared choices, with the extents of base. Call ask first."""
        return [self.step(f'peak-{app}', app, [*self.extents(app), *self.peak[app], *self.timing()])
                for app in self.apps if app in self.peak]

    def extents(self, app: str) -> list[str]:
        there = self.previews[app].options
        return [word for name in programs.extents(app, there) for word in (f'--{name}', there[name])]

    def others(self) -> list[Step]:
        """Returns what is not a figure of merit: ladders and pictures."""
        steps: list[Step] = []
        for app in self.apps if self.with_base and not self.given.get('no_ladders') else ():
            less = ['--only', 'gpu'] if self.gpu else SHORTER.get(app, [])
            steps.append(self.step(f'ladder-{app}', app, [
                '--ladder', *less, '--size', self.ladder_size, '--seconds', f'{self.ladder_seconds:g}']))
        for app, (end, options) in PICTURES.items() if steps else ():
            if app in self.apps:
                steps.append(self.step(f'picture-{app}', app, [
                    *options.split(), '--seconds', '0', '--picture', f'{app}-picture.{end}']))
        return steps

    def rest(self) -> list[Step]:
        words = {name: shlex.split(text) for name, text in self.more.items()}
        return self.others() + [self.step(name, app, options) for name, (app, *options) in words.items()]

    def steps(self) -> list[Step]:
        """Returns the steps, all measured runs first: if time runs out, they are what counts."""
        return self.base() + self.peaks() + self.rest()

    def step(self, name: str, app: str, arguments: list[str]) -> Step:
        command = [self.programs[app], *arguments, *self.common(arguments)]
        return Step(name=name, app=app, command=programs.launched(command, self.launcher, self.ranks), state='waiting',
                    exit=None, seconds=None, json=f'{name}.json', output=f'{name}.out', sha256=None, why='', attempts=0)

    # ---- What the programs say of them ----

    def preview(self, step: Step) -> programs.Preview:
        at = step.command.index(self.programs[step.app])
        try:
            return programs.preview(step.command[at:], step.command[:at], self.ranks)
        except Fault as fault:
            raise Fault(fault.status, f'{step.name}: {str(fault).removeprefix(f"{step.app}: ")}') from None

    def ask(self, everything: bool = False) -> None:
        """Has the programs preview the measured steps, or all steps; Fault if one would be refused."""
        for steps in (self.base, self.peaks, self.rest if everything else list):  # peaks need what base says
            self.previews.update({step.name: self.preview(step) for step in steps()})

    def listing(self, done: Container[str] = ()) -> str:
        """Returns a table of the steps, for --dry-run, without those that are done: memory, command. Call ask first."""
        steps = [step for step in self.steps() if step.name not in done]
        rows = [(step.name, re.sub(r' of [\d.]+ \w+ free', '', self.previews[step.name].memory), shlex.join(step.command))
                for step in steps]
        return '\n'.join([*aligned(rows, range(3)), f'{len(steps)} step{"s" * (len(steps) != 1)}'])
