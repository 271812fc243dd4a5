"""Tables of rooftop study, and its report on known numbers."""
import contextlib
import io
import unittest
from unittest import mock

from helper import InFolder, program

from rooftop_suite import Fault
from rooftop_suite.measure import study

TABLE = """# two series
POINTS = --degree {7,9,11} --seconds 0.1
own: nekbone --rung jammed $POINTS --elements {4x4x2,4x4x4}
tuned / own: nekbone --rung jammed --tune-seconds 5 --isolated $POINTS --elements {4x4x2,4x4x4}
"""


def result(seconds, spread=0.001, **choice):
    """Returns a run of that number of seconds per unit."""
    return program(seconds_per_unit=seconds, spread=spread, window_seconds=[], credited_flop_per_unit=1e9, choice=choice)


class Tables(unittest.TestCase):
    def test_points(self):
        own, tuned = study.series_of(TABLE, 'x')
        self.assertEqual((own.name, own.bases, own.app, tuned.bases), ('own', [], 'nekbone', ['own']))
        self.assertEqual(list(own.points), [f'{n} {e}' for n in (7, 9, 11) for e in ('4x4x2', '4x4x4')])
        self.assertEqual(own.points['9 4x4x4'][2:], ['--degree', '9', '--seconds', '0.1', '--elements', '4x4x4'])
        jobs = study.jobs_of([own, tuned], 2)
        self.assertEqual([job.name for job in jobs[:4]], ['own-7-4x4x2-0', 'tuned-7-4x4x2-0', 'own-7-4x4x2-1',
                                                          'tuned-7-4x4x2-1'])

    def test_refused(self):
        for text, said in (('', 'x: no series in it'), ('what', "x:1: not 'NAME: APP OPTIONS'"),
                           ('a: nekbone $B', r'x:1: no line above says what \$B is'), ('a / b: nekbone -x', "x:1: 'a' must be"),
                           ('a: nekbone -x\na: nekbone -y', "x:2: 'a' must be a new"), ("a: nekbone '", 'No closing')):
            with self.subTest(text), self.assertRaisesRegex(Fault, said):
                study.series_of(text, 'x')

    def test_search(self):
        """A series that is tuned runs the choice of its search from the second time on."""
        job = study.Job(study.series_of(TABLE, 'x')[1], '7 4x4x2', 0)
        self.assertEqual(study.options_of(job, 'd')[-2:], ['--tuning', 'd/tuned.tuning'])
        with mock.patch.object(study, 'read', lambda *_: (result(1.0, loops='lines'), '')):
            words = study.options_of(job._replace(repeat=1), 'd')
        self.assertEqual((words[-2:], '--no-tuning' in words), (['--choose', 'loops=lines'], True))
        self.assertFalse({'--tune-seconds', '--isolated', '5'} & set(words))


class Known(InFolder):
    def report(self, runs):
        """Returns the verdict, what is printed, and the report; runs: {name of a job: (result, why there is none)}."""
        with contextlib.redirect_stdout(io.StringIO()) as said, \
                mock.patch.object(study, 'read', lambda _, name: runs.get(name)):
            good = study.Report(study.series_of(TABLE, 'x'), '.', 3).make()
        with open('report.md', encoding='utf-8') as file:
            return good, said.getvalue(), file.read()

    def runs(self, spread):
        """Returns runs with gains 2 and 1 / 1.06; elsewhere both are the same."""
        points = [(7, 2, 2, 1), (9, 2, 1, 1.06), (7, 4, 1, 1), (9, 4, 1, 1), (11, 2, 1, 1), (11, 4, 1, 1)]
        return {f'{name}-{n}-4x4x{e}-{repeat}': (result(seconds, spread), '') for n, e, old, new in points
                for name, seconds in (('own', old), ('tuned', new)) for repeat in range(3)}

    def test_verdicts(self):
        good, said, report = self.report(self.runs(0.04))
        self.assertFalse(good)
        self.assertIn('tuned / own: 6 points, median gain 1.000x, largest 2.000x (7 4x4x2), least 0.943x (9 4x4x2); beyond '
                      'the noise faster at 1, slower at 1\n', said)
        self.assertIn('| 7 4x4x2 | 0.5 | 1.0 (+100.0 %, faster) |', report)
        good, said, _ = self.report(self.runs(0.06))
        self.assertTrue(good)
        self.assertIn('slower at 0\n', said)

    def test_failed(self):
        good, said, _ = self.report({**self.runs(0.06), 'own-7-4x4x2-0': (None, 'INVALID: sum FAILED')})
        self.assertEqual((good, 'FAILED: own-7-4x4x2-0: INVALID: sum FAILED' in said), (False, True))
        self.assertTrue(self.report({**self.runs(0.06), 'own-7-4x4x2-0': (None, 'too large')})[0])

    def test_reference_blas(self):
        for name, unfair in (('the reference BLAS, which is slow, -lblas', True), ('OpenBLAS, -lopenblas', False)):
            runs = self.runs(0.06)
            runs['own-7-4x4x2-0'][0].build = {'BLAS': name}
            report = self.report(runs)[2]
            self.assertEqual(report.startswith('NOT A FAIR COMPARISON: dgemm is that of the reference BLAS'), unfair)
            self.assertIn(f'BLAS: {name}', report)


if __name__ == '__main__':
    unittest.main()
