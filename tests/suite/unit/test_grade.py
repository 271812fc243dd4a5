"""grade.py, duel.py, sandbox.py and attempt.py: what is said of two programs' speed, and what a submission may do."""
import argparse
import contextlib
import copy
import os
import pathlib
import random
import tempfile
import time
import unittest
from unittest import mock

import helper
from rooftop_suite import ENVIRONMENT, INVALID, Fault
from rooftop_suite.course import attempt, duel, grade, sandbox
from rooftop_suite.measure import programs
from rooftop_suite.results import figures, records


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
        """The interval misses the true ratio in 1 of 100 cases, whatever the noise is."""
        random.seed(1)
        for draw in (lambda: random.gauss(1.3, 0.05), lambda: 1.3 * random.choice((0.5, 0.9, 1.1, 2, 4)) ** random.random()):
            middle = sorted(draw() for _ in range(20001))[10000]
            missed = sum(not one.low <= middle <= one.high
                         for one in (duel.speed([draw() for _ in range(duel.TURNS)]) for _ in range(1000)))
            self.assertLess(missed, 25)

    def test_same_program_under_load_is_never_ranked(self):
        """A program against itself, with another process beside it that doubles every fifth time: not one of a hundred
        is called faster or slower, though single turns differ by factors."""
        random.seed(2)
        for _ in range(100):
            with contextlib.suppress(Fault):
                self.assertEqual(outcome(lambda: random.gauss(1, 0.02) * random.choice((1, 1, 1, 1, 2))).word, 'same')

    def test_a_real_difference_is_seen(self):
        random.seed(3)
        for ratio, word in ((0.9, 'slower'), (1.12, 'faster'), (1.01, 'same'), (13.0, 'faster')):
            one = outcome(lambda: random.gauss(1, 0.01), ratio)
            self.assertEqual(one.word, word, one)
            self.assertTrue(one.low <= ratio <= one.high, one)

    def test_no_mark(self):
        random.seed(4)
        for said, noise, more in (('disturbed in 11 of 11 turns .a load.', lambda: 1.0, {'disturbed': lambda: True}),
                                  ('too noisy to tell', lambda: random.uniform(1, 9), {}),
                                  ('good turns of 11 in', lambda: time.sleep(0.02) or 1.0, {'seconds': 0.05})):
            with self.assertRaisesRegex(Fault, said):
                outcome(noise, **more)


class Words(unittest.TestCase):
    def test_what_a_check_says(self):
        for check, text in (({'bound': 1e-12, 'value': 0.3}, 'the error is 0.3, and rounding explains no more '
                             'than 1e-12'), ({'bound': 1e-12}, 'not finite')):
            made = records.made({'$ref': 'check'}, {'name': 'a = b', 'held': False, **check})
            self.assertIn(text, grade.explained(made))

    def test_how_a_run_ended(self):
        def said(status, why='', text=''):
            with self.assertRaises(Fault) as fault:
                grade.reading(programs.Ended(status, why, 1.0, text), '/none')
            return str(fault.exception)
        self.assertIn('a loop without an end', said(None, 'still running after its time limit of 1 s'))
        self.assertIn('outside of its arrays', said(-11, 'ended by SIGSEGV'))
        self.assertIn('out of memory', said(4, '', 'nekbone: host memory'))

    def test_a_launcher_that_refuses(self):
        """It ends with 1, and that is not the submission's fault; a program that ends so without a word is wrong."""
        ended = programs.Ended(1, '', 1.0, 'mpirun has detected an attempt to run as root')
        for ranks, status in ((2, ENVIRONMENT), (1, INVALID)):
            bench = grade.Bench(argparse.Namespace(time_limit=1), mock.Mock(ranks=ranks), '/build', '', [],
                                sandbox.Box())
            with mock.patch.object(programs, 'run', lambda *command, **limits: ended), \
                    tempfile.TemporaryDirectory() as scratch, self.assertRaises(Fault) as fault:
                bench.run('nekbone', scratch)
            self.assertEqual(fault.exception.status, status)

    def test_rates(self):
        """What the solution reaches of the ceilings is said, and where its time goes if that was asked for."""
        first = figures.Result(helper.program('ladder-nekbone', profile=[
            {'timer': 'reference', 'calls': 1, 'seconds': 2.0, 'slowest_seconds': 2.0, 'bytes': 0.0},
            {'timer': 'reference/ax', 'calls': 1, 'seconds': 1.0, 'slowest_seconds': 1.0, 'bytes': 0.0}]))
        said = grade.rates_of(first).splitlines()
        self.assertRegex(said[0], r'^yours: .* per iteration; .* % of bandwidth; .* % of FP64 FMA$')
        self.assertIn('50.0 %', said[2])
        first.rungs[0].row.disturbed = ['a load']
        self.assertTrue(grade.rates_of(first).splitlines()[0].endswith(', on a disturbed machine'))

    def test_like(self):
        self.assertTrue(grade.like('int a; /* one */\nint b;', 'int a;\n// two\nint   b;'))
        self.assertFalse(grade.like('f("/* a */")', 'f("/* b */")'))


class Sandboxed(helper.InFolder):
    def test_limits(self):
        """A process has its memory, as private or shared pages, and no more; --trust leaves these limits."""
        boxes = [sandbox.Box(memory=1 << 29, unconfined=True)]
        if sandbox.refused():
            print(f'skipped: a sandbox: {sandbox.refused()}')
        else:
            boxes.append(boxes[0]._replace(unconfined=False))
        try_it = 'try:\n x = {}\n print("done")\nexcept (OSError, MemoryError): print("refused")'
        for box in boxes:
            for size, said in (('1 << 36', 'refused\n'), ('1 << 20', 'done\n')):
                for what in (f'bytearray({size})', f'__import__("mmap").mmap(-1, {size})'):
                    ended = box.run(['/usr/bin/env', 'python3', '-S', '-c', try_it.format(what)], 60)
                    self.assertEqual(ended.text, said, (box.unconfined, what))

    def test_what_is_seen(self):
        """A folder that is hidden comes before those in it that are shown."""
        words = sandbox.Box(('/class',), ('/class/build', '/tmp/tree')).apart('/tmp/own/result', '/tmp/own/work')
        at = [words.index(path) for path in ('/class', '/class/build', '/tmp', '/tmp/own/result', '/tmp/own/work',
                                             '/tmp/tree')]
        self.assertEqual(at, sorted(at))
        self.assertEqual([words[i - 1] for i in at], ['--tmpfs', '--ro-bind', '--tmpfs', '--bind', '--tmpfs', '--ro-bind'])

    def test_refused(self):
        """Where there is no sandbox, one line says so before anything is built or run; --trust goes on."""
        args = argparse.Namespace(app='nekbone', name='scalar', files=[__file__], csv=None, trust=False)
        with mock.patch('shutil.which', lambda name: None), mock.patch.object(attempt, 'find_build') as build:
            self.assertRaisesRegex(Fault, 'cannot be confined here: bwrap is missing .*; --trust runs', grade.main, args)
            build.assert_not_called()

    def test_copied_build(self):
        """A build is one of the tree that it finds beside it, wherever both are now; what it recorded is where they were."""
        for folder, top in (('copy', '.'), ('other/build', '../../copy'), ('far', '/old/tree')):
            os.makedirs(folder)
            pathlib.Path(folder, 'config.status').write_text('')
            pathlib.Path(folder, 'Makefile').write_text(f'abs_top_srcdir = /old/tree\ntop_srcdir = {top}\n')
        os.symlink('copy', 'renamed')
        self.assertEqual([attempt.is_build_of(folder, 'copy') for folder in ('copy', 'renamed', 'other/build', 'far')],
                         [True, True, True, False])
        with self.assertRaisesRegex(Fault, '^--build far: not a build of copy: run copy/configure'):
            attempt.find_build('far', 'copy')
        with mock.patch.object(programs, 'run', lambda *words, **limits: programs.Ended(1, '', 1.0, 'error: a\nerror: b')), \
                self.assertRaisesRegex(Fault, r'^make apps/nekbone/nekbone failed \(1\): error: a; error: b$'):
            attempt.repository_program('copy', 'nekbone')


if __name__ == '__main__':
    unittest.main()
