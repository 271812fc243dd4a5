"""grade.py, duel.py and confine.py: what is said of two programs' speed, and what a submission may do."""
import argparse
import copy
import random
import subprocess
import sys
import time
import unittest
from unittest import mock

import helper
from rooftop_suite import ENVIRONMENT, INVALID, confine, duel, figures, grade, programs, results, session


ROW = helper.program().rungs[0]  # read once: a duel takes thousands


def rung(seconds, disturbed=()):
    """Returns a rung that took so long."""
    row = copy.copy(ROW)
    row.seconds_per_unit, row.disturbed = seconds, list(disturbed)
    return row


def outcome(noise, ratio=1.0, seconds=3600.0, disturbed=lambda: False):
    """Returns the outcome between programs of which ours is `ratio` times as fast, each time with its own noise."""
    def runner(speed):
        return lambda: rung(1e-3 * noise() / speed, ['a load'] if disturbed() else [])
    return duel.fight(runner(ratio), runner(1.0), seconds)


class Duel(unittest.TestCase):
    def test_interval_covers_the_ratio(self):
        """The interval of 95 % misses the true ratio in about 5 of 100 cases, whatever the noise is."""
        random.seed(1)
        for draw in (lambda: random.gauss(1.3, 0.05), lambda: 1.3 * random.choice((0.5, 0.9, 1.1, 2, 4)) ** random.random()):
            middle = sorted(draw() for _ in range(20001))[10000]
            missed = sum(not one.low <= middle <= one.high
                         for one in (duel.speed([draw() for _ in range(15)]) for _ in range(1000)))
            self.assertLess(missed, 70)
        self.assertIsNone(duel.speed([1.0] * (duel.LEAST - 1)))
        self.assertEqual([duel.outer(n) for n in (8, 9, 12, 15, 100)], [0, 1, 2, 3, 39])

    def test_same_program_under_load_is_never_ranked(self):
        """A program against itself, with another process beside it that doubles every fifth time: not one of a hundred
        is called faster or slower, though single turns differ by factors."""
        random.seed(2)
        words = [(one.speed.word if one.speed else '') for one in
                 (outcome(lambda: random.gauss(1, 0.02) * random.choice((1, 1, 1, 1, 2))) for _ in range(100))]
        self.assertEqual(set(words) - {'same', ''}, set())
        self.assertGreater(words.count('same'), 80)

    def test_a_real_difference_is_seen(self):
        random.seed(3)
        for ratio, word in ((0.9, 'slower'), (1.12, 'faster'), (1.01, 'same'), (13.0, 'faster')):
            one = outcome(lambda: random.gauss(1, 0.02), ratio)
            self.assertEqual(one.speed.word, word, one)
            self.assertTrue(one.speed.low <= ratio <= one.speed.high, one)
        self.assertLess(len(outcome(lambda: 1.0, 0.9).turns), duel.LEAST + 1)  # no more turns than are needed

    def test_no_mark(self):
        random.seed(4)
        shaken = outcome(lambda: 1.0, 0.5, disturbed=lambda: True)
        self.assertIsNone(shaken.speed)
        self.assertIn('disturbed in 8 of 8 turns (a load)', shaken.why)
        with mock.patch.object(duel, 'MOST', 20):
            wild = outcome(lambda: random.uniform(1, 9))
        self.assertIsNone(wild.speed)
        self.assertIn('too noisy to tell', wild.why)
        self.assertIn('turns in', outcome(lambda: time.sleep(0.02) or 1.0, seconds=0.05).why)
        self.assertEqual(duel.fight(lambda: 'it crashed', lambda: rung(1.0), 1).why, 'it crashed')


class Words(unittest.TestCase):
    def test_what_a_check_says(self):
        for check, text in ((results.Check('a = b', False, 1e-12, 0.3), 'the error is 0.3, and rounding explains no more '
                             'than 1e-12'), (results.Check('a = b', False, 1e-12), 'not finite')):
            self.assertIn(text, grade.explained(check))

    def test_how_a_run_ended(self):
        def said(status, why='', text=''):
            return grade.reading(session.Ended(status, why, 1.0, text), '/none').why
        self.assertIn('a loop without an end', said(None, 'still running after its time limit of 1 s'))
        self.assertIn('outside of its arrays', said(-11, 'ended by SIGSEGV'))
        self.assertIn('out of memory', said(4, '', 'nekbone: host memory'))

    def test_a_launcher_that_refuses(self):
        """It ends with 1, and that is not the submission's fault; a program that ends so without a word is wrong."""
        ended = session.Ended(1, '', 1.0, 'mpirun has detected an attempt to run as root')
        for ranks, status in ((2, ENVIRONMENT), (1, INVALID)):
            bench = grade.Bench(argparse.Namespace(time_limit=1), mock.Mock(ranks=ranks), '', '', [], [], None)
            with mock.patch.object(programs, 'run', lambda *command, **limits: ended):
                self.assertEqual(bench.run('nekbone', 'scalar', [], '/none').status, status)

    def test_rates(self):
        """What the solution reaches of the ceilings is said, and where its time goes if that was asked for."""
        first = figures.Result(helper.program('ladder-nekbone', profile=[
            {'timer': 'reference', 'calls': 1, 'seconds': 2.0, 'slowest_seconds': 2.0, 'bytes': 0.0},
            {'timer': 'reference/ax', 'calls': 1, 'seconds': 1.0, 'slowest_seconds': 1.0, 'bytes': 0.0}]))
        found = grade.Found('a', 'a.c', 'VALID', held=3, seconds_per_unit=1.0)
        said = grade.lines_of(found, first)
        self.assertEqual(said[0], 'right: 3 checks held')
        self.assertRegex(said[1], r'^yours: .* per iteration; .* % of bandwidth; .* % of FP64 FMA$')
        self.assertIn('50.0 %', said[3])
        first.rungs[0].row.disturbed = ['a load']
        self.assertTrue(grade.lines_of(found, first)[1].endswith(', on a disturbed machine'))

    def test_like(self):
        self.assertTrue(grade.like('int a; /* one */\nint b;', 'int a;\n// two\nint   b;'))
        self.assertFalse(grade.like('f("/* a */")', 'f("/* b */")'))


class Confined(unittest.TestCase):
    def run_python(self, text, alone=True, memory=1 << 29):
        return subprocess.run([sys.executable, '-S', '-c', text], preexec_fn=confine.prepare(memory, alone),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding='utf-8', check=False).stdout

    def test_limits(self):
        try_it = 'try:\n {}\n print("done")\nexcept (OSError, MemoryError) as error: print(type(error).__name__)'
        self.assertEqual(self.run_python(try_it.format('x = bytearray(1 << 30)')), 'MemoryError\n')
        self.assertEqual(self.run_python(try_it.format('x = bytearray(1 << 20)')), 'done\n')
        if confine.blind():
            self.skipTest(confine.blind())
        for refused in ('import socket; socket.socket()', 'import socket; socket.socket(socket.AF_INET6)',
                        'import os; os.setsid()', 'import os; os.kill(os.getppid(), 0)'):
            self.assertEqual(self.run_python(try_it.format(refused)), 'PermissionError\n', refused)
        self.assertEqual(self.run_python(try_it.format('import socket; socket.socket(socket.AF_UNIX)')), 'done\n')
        self.assertEqual(self.run_python(try_it.format('import os, socket; socket.socket()'), alone=False), 'done\n')


if __name__ == '__main__':
    unittest.main()
