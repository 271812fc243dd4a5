"""grade.py and attempt.py: what is said of a solution, and which builds it is linked with."""
import contextlib
import io
import os
import pathlib
import random
import unittest
from unittest import mock

import helper
from rooftop_suite import ENVIRONMENT, INVALID, Fault, cli, results
from rooftop_suite.course import attempt, grade
from rooftop_suite.measure import programs
from rooftop_suite.results import figures, records
from test_explain import WORK, value


def outcome(noise, ratio=1.0, disturbed=lambda: False):
    """Returns what is said of programs of which ours is `ratio` times as fast, each time with its own noise."""
    def runner(speed):
        return lambda: mock.Mock(rungs=[mock.Mock(row=mock.Mock(seconds_per_unit=noise() / speed,
                                                                disturbed=['a load'] * disturbed()))])
    return grade.speed(runner(ratio), runner(1.0))


class Speed(unittest.TestCase):
    def test_same_program_under_load_is_never_ranked(self):
        """A program against itself, with another process beside it that doubles every fifth time: not one of a hundred
        is called faster or slower, though single turns differ by factors."""
        random.seed(2)
        for _ in range(100):
            self.assertRegex(outcome(lambda: random.gauss(1, 0.02) * random.choice((1, 1, 1, 1, 2))), 'the same|too noisy')

    def test_a_real_difference_is_seen(self):
        random.seed(3)
        for ratio, word in ((0.9, 'slower'), (1.12, 'faster'), (1.01, 'the same'), (13.0, 'faster')):
            said = outcome(lambda: random.gauss(1, 0.01), ratio)
            self.assertAlmostEqual(float(said.split()[0]), ratio, delta=0.03 * ratio)
            self.assertIn(f': {word}', said)

    def test_no_mark(self):
        self.assertIn('no mark: the machine was disturbed in 7 of 7 turns (a load)', outcome(lambda: 1.0, 1.0, lambda: True))
        runs = iter(range(99))
        self.assertIn('1.00 of the repository', outcome(lambda: 1.0, 1.0, lambda: next(runs) < 12))  # six of thirteen turns


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
            task = mock.Mock(ranks=ranks)
            task.rung.name = 'scalar'
            with mock.patch.object(programs, 'run', lambda *command, **limits: ended), self.assertRaises(Fault) as fault:
                grade.run(task, 'nekbone', [], 1)
            self.assertEqual(fault.exception.status, status)

    def test_rates(self):
        """What the solution reaches of the ceilings is said, and where its time goes if that was asked for."""
        first = figures.Result(helper.program('ladder-nekbone', profile=[
            {'timer': 'reference', 'calls': 1, 'seconds': 2.0, 'slowest_seconds': 2.0, 'bytes': 0.0},
            {'timer': 'reference/ax', 'calls': 1, 'seconds': 1.0, 'slowest_seconds': 1.0, 'bytes': 0.0}]))
        said = grade.rates_of(first)
        self.assertRegex(said[0], r'^yours: .* per iteration; .* % of bandwidth; .* % of FP64 FMA$')
        self.assertIn('50.0 %', said[2])
        first.rungs[0].row.disturbed = ['a load']
        self.assertTrue(grade.rates_of(first)[0].endswith(', on a disturbed machine'))


class Predictions(helper.InFolder):
    @staticmethod
    def graded(text, disturbed=0):
        """Returns the status and what is said of a prediction of 300 us, 47 of them unexplained, after disturbed runs."""
        pathlib.Path('prediction').write_text(text)
        runs = iter(range(99))

        def run(task, *_):
            members = {'disturbed': ['a load'] * (next(runs) < disturbed), 'name': task.rung.name}
            return figures.Result(results.Program(**value(3e-4, WORK, {}, **members)))
        with mock.patch.object(grade, 'run', run), mock.patch.object(attempt, 'find_build', lambda *_: ''), \
                mock.patch.object(attempt, 'repository_program', lambda *_: 'nekbone'), \
                contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            status = cli.main('grade nekbone global prediction --predict'.split())
        return status, out.getvalue() + err.getvalue()

    def test_marks(self):
        """Full within 10 %, half within 25 %, on either side; then the budget."""
        for number, off, marks in ((300, '0.0', 'full'), (330, '10.0', 'full'), (331, '10.3', 'half'), (360, '20.0', 'half'),
                                   (225, '25.0', 'half'), (224, '25.3', 'none'), (600, '100.0', 'none'), (150, '50.0', 'none')):
            status, said = self.graded(f'# 1 s\n\nglobal {number} us\n', disturbed=2)
            self.assertEqual(status, 0, said)
            self.assertRegex(said, rf'(?s): {off} % (longer|shorter)\nmarks: {marks}\n.*bound by memory; 84.3 % explained')
            self.assertEqual('hint:' in said, marks != 'full')
        for unit, number in (('s', 3e-4), ('ms', 0.3), ('ns', 3e5), ('µs', 300)):
            self.assertIn('marks: full', self.graded(f'global {number} {unit}')[1])
        self.assertIn('of the budget, unexplained, 47.0 us, is nearest', self.graded('global 253 us')[1])
        self.assertIn('of the budget, arithmetic, 50.0 us, is nearest', self.graded('global 350 us')[1])
        self.assertIn('no mark: the machine was disturbed in 7 runs (a load)', self.graded('global 300 us', 7)[1])

    def test_refused(self):
        for text, why in (('', 'one line is needed'), ('# global 1 us\n', 'one line is needed'), ('global 300', 'one line'),
                          ('global 1 us\nglobal 2 us', 'one line'), ('shared 300 us', 'a prediction of shared, not of global'),
                          *((f'global {bad}', 'is not a time') for bad in ('x us', 'nan us', 'inf s', '0 us', '-3 us', '3 h'))):
            status, said = self.graded(text)
            self.assertEqual((status, said.count('\n')), (2, 1), said)
            self.assertIn(why, said)

    def test_folder(self):
        """It has no number yet, and check.sh says that it is a prediction, of these options."""
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(cli.main('exercise nekbone jammed --predict -- --degree 5'.split()), 0)
        self.assertIn('one line is needed', self.graded(pathlib.Path('nekbone-jammed-prediction/prediction').read_text())[1])
        self.assertIn(' --predict -- --degree 5 "$@"', pathlib.Path('nekbone-jammed-prediction/check.sh').read_text())


class Builds(helper.InFolder):
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
