#!/usr/bin/env python3
"""options.py - gives every option of the programs, as --help lists them, hostile values. A program must end with 0, 2, 3 or
4, after one line on stderr if it is not 0, and never crash, hang or leave a file. It may also rate itself INVALID: a number
that is allowed can make a solver diverge.

usage: options.py [--long] PROGRAM...

The short form gives each option one value, which differs from option to option, and what all programs have to the first of
them alone; --long gives every value to every option of every program.
"""
from __future__ import annotations

import concurrent.futures
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
from typing import NamedTuple

VALUES = ['', ' ', '0', '-1', '1', '2147483648', '-9223372036854775808', '99999999999999999999', '1e308', '1e-320', '0x10', 'nan',
          'inf', '1,2', '2x2x2', '0x0x0', '2x2', '99999999x1x1', 'yes', 'none', 'auto', 'nosuch', '--help', '-', '=', '%s%n',
          '/', '/dev/null', '/dev/zero', '/dev/full', '/proc/kmsg', '/proc/self/mem', 'fifo', 'loop', 'dangling', 'empty',
          'text', 'folder', 'text/below', 'a' * 300, 'a' * 5000, 'a\nb', 'a\033[2J', '\u00fc', '\udcff']
# A problem that takes no time; every option of it is given a hostile value too.
SMALL = {'nekbone': ['--elements=2x2x2', '--degree=2', '--iterations=3'],
         'alya-rhs': ['--cells=3x3x3'],
         'fun3d-mcpi': ['--surface=4', '--layers=4', '--sweeps=2'],
         'gfnn-wave': ['--elements=4x4x4', '--steps=1']}
COMMON = ['--device=cpu', '--threads=1', '--seconds=0', '--quiet', '--no-tuning']
PATIENCE = 20  # seconds of processor time: a value may ask for much without being wrong


class Case(NamedTuple):
    program: str
    words: tuple[str, ...]


def options_of(program: str) -> list[tuple[str, bool]]:
    """Returns the options in --help, and whether each takes a value."""
    text = subprocess.run([program, '--help'], stdout=subprocess.PIPE, encoding='utf-8', check=True).stdout
    found = re.findall(r'^  --(\[no-\])?([\w-]+)( \S+)?', text, re.M)
    return [(name, bool(value.strip())) for _, name, value in found]


def cases(program: str, tried: set[str], long: bool) -> list[Case]:
    """Returns the cases of a program but for the options that have been tried; adds those of this one."""
    name = os.path.basename(program)
    made: list[Case] = []
    for i, (option, valued) in enumerate(options_of(program)):
        if option in tried and not long:
            continue
        tried.add(option)
        if option in ('tune', 'tune-seconds', 'roofline', 'window', 'warm-up', 'size') and not long:
            continue  # long, or as large as the machine
        own = [word for word in SMALL[name] + COMMON if not word.startswith(f'--{option}')]
        if option == 'tuning':
            own.remove('--no-tuning')
        picked = VALUES if long else [VALUES[(7 * i + 5 * len(name)) % len(VALUES)]]
        for value in picked if valued or long else picked[:1]:
            made.append(Case(program, (*own, f'--{option}={value}')))
        if not valued:
            made.append(Case(program, (*own, f'--{option}')))
    return made


def limits() -> None:
    """Keeps a value that asks for much from taking the machine."""
    resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 26, 1 << 26))


def judge(case: Case) -> str:
    """Runs the case in a folder of its own; returns '' or what is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        os.mkfifo(f'{folder}/fifo')
        os.symlink('loop', f'{folder}/loop')
        os.symlink('nothing', f'{folder}/dangling')
        os.mkdir(f'{folder}/folder')
        for name, text in (('empty', ''), ('text', 'no such = line\n')):
            with open(f'{folder}/{name}', 'w', encoding='utf-8') as file:
                file.write(text)
        before = set(os.listdir(folder))
        try:
            ran = subprocess.run([case.program, *case.words], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, timeout=4 * PATIENCE, preexec_fn=limits,
                                 env={**os.environ, 'XDG_CACHE_HOME': f'{folder}/cache'})
        except subprocess.TimeoutExpired:
            return 'hangs'
        if ran.returncode == -signal.SIGXCPU:
            return ''  # it was told to work for long
        # remarks on a tuning file, and on how far a run is, are no refusal
        lines = len(re.findall(rb'^(?!tuning |[a-z0-9-]+: \d+ s[:,] ).*\n', ran.stderr, re.M))
        said = ran.stderr[:200].decode(errors='replace')
        if ran.returncode == 1 and ran.stdout.endswith(b': INVALID\n'):
            return ''
        if ran.returncode not in (0, 2, 3, 4):
            return f'ends with {ran.returncode}: {said}'
        if lines != (ran.returncode != 0):
            return f'ends with {ran.returncode} after {lines} lines on stderr: {said}'
        left = [name for name in set(os.listdir(folder)) - before if name.startswith('.rooftop')]
        return f'leaves {left}' if left else ''


def main(words: list[str]) -> int:
    long = '--long' in words
    tried: set[str] = set()
    made = [case for program in words if program != '--long' for case in cases(os.path.abspath(program), tried, long)]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for case, wrong in zip(made, pool.map(judge, made)):
            if wrong:
                failed += 1
                print('failed:', os.path.basename(case.program), ' '.join(ascii(word)[:80] for word in case.words), wrong)
    print(f'{len(made)} cases, {failed} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
