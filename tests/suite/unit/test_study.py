"""The study on known numbers, and the commands of its parts."""
import argparse
import contextlib
import io
import os
import unittest

from helper import InFolder, program

from rooftop_suite import Fault, results, study
from rooftop_suite.programs import Rung
from rooftop_suite.study import Key
from rooftop_suite.study_report import Report

PRODUCTS = {name: ['auto', 'loops', 'rows', 'rows-n', 'tiles-n', 'dgemm'] for name in study.PRODUCTS}
RUNGS = [Rung('reference', 'cpu', '', '', '', {}), Rung('scalar', 'cpu', '', '', '', PRODUCTS),
         Rung('vector', 'cpu', '', '', '', PRODUCTS), Rung('jammed', 'cpu', '', '', '', {'loops': ['tiles', 'lines', 'any-n']}),
         Rung('batched', 'cuda', '', '', '', {name: ['lines', 'loops', 'dgemm'] for name in study.PRODUCTS}),
         Rung('batched', 'cuda', '', '', '', {name: ['lines', 'loops', 'dgemm'] for name in study.PRODUCTS}),
         Rung('kokkos', 'kokkos', '', '', '', {})]


def arguments(*words):
    parser = argparse.ArgumentParser()
    study.add_arguments(parser)
    return parser.parse_args(words)


def result(seconds, spread=0.001, **choice):
    """Returns a run of so many seconds per iteration."""
    return program(seconds_per_unit=seconds, spread=spread, credited_flop_per_unit=1e9, choice=choice)


def made(spread, apart):
    """Returns runs with gains 2, 1.5 and 1 / 1.05. With apart: at five more points the choice is the same, with times
    apart by that share, once by 8 times it."""
    points = [(8, 2, 1, 'lines'), (10, 3, 2, 'lines'), (12, 1, 1.05, 'lines')]
    points += [(n, 1, 1 + apart * (8 if n == 22 else 1), 'tiles') for n in range(14, 24, 2) if apart]
    return [(Key('cpu', 'jammed', n, 32, variant), 0, result(seconds, spread, loops=loops))
            for n, default, tuned, choice in points
            for variant, seconds, loops in (('own', default, 'tiles'), ('tuned', tuned, choice))]


def timer(name, calls, seconds):
    return results.Timer.from_json({'timer': name, 'calls': calls, 'seconds': seconds, 'slowest_seconds': seconds, 'bytes': 0})


class Known(InFolder):
    def report(self, runs):
        """Returns the verdict, what is printed, and the report."""
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            good = Report(study.Measured(runs), '.').make()
        with open('report.md', encoding='utf-8') as file:
            return good, said.getvalue(), file.read()

    def test_within_windows(self):
        good, said, report = self.report(made(0.06, 0))
        self.assertTrue(good)
        self.assertIn('cpu jammed, tuned over own: median gain 1.500x, largest 2.000x (N = 8, nel = 32), worst 1.050 '
                      '(N = 12, nel = 32; noise 0.060), 0 of 3 points slower beyond the noise', said)
        self.assertNotIn('SLOWER', said)
        self.assertIn('| 32 | jammed 1.0 | jammed 0.5 | jammed 1.0 |', report)

    def test_slower(self):
        good, said, _ = self.report(made(0.04, 0))
        self.assertFalse(good)
        self.assertIn('SLOWER: cpu jammed at N = 12, nel = 32', said)

    def test_same_choice(self):
        """What is the same differs by 1 %: two standard deviations are 3 %, and the same choice is never slower."""
        good, said, _ = self.report(made(0.001, 0.01))
        self.assertFalse(good)
        self.assertIn('SLOWER: cpu jammed at N = 12, nel = 32', said)
        self.assertEqual(said.count('SLOWER'), 1)

    def test_chance(self):
        good, said, report = self.report(made(0.001, 0.02))
        self.assertTrue(good)
        self.assertIn('worst 1.050 (N = 12, nel = 32; noise 0.059)', said)
        self.assertIn('5 pairs: they differ by 2.0 % in the median', report)

    def test_invalid(self):
        runs = made(0.001, 0.02)
        runs[5][2].verdict = 'INVALID'
        good, said, _ = self.report(runs)
        self.assertFalse(good)
        self.assertIn('INVALID: cpu jammed at N = 12, nel = 32, tuned', said)

    def test_refused(self):
        _, _, report = self.report([*made(0.06, 0), (Key('cpu', 'scalar', 8, 32, 'own'), 0, 'too large')])
        self.assertIn('Refused: cpu scalar, own, at N = 8: 32; first: too large.', report)

    def test_sizes_on_a_gpu(self):
        """Twice as fast with n known."""
        _, _, report = self.report([(Key('gpu', 'batched', 10, 8, f'set-{name}'), 0, result(seconds, all=name))
                                    for name, seconds in (('loops', 2), ('lines', 1))])
        self.assertEqual(report.count('### batched: lines against loops'), 1)
        self.assertIn('+100.0 % (N = 10', report)

    def test_reference_blas(self):
        """The report's first line says that dgemm is a slow library's, if it is."""
        for name, unfair in (('the reference BLAS, which is slow, -lblas', True), ('OpenBLAS, -lopenblas', False)):
            runs = made(0.06, 0)
            runs[0][2].build['BLAS'] = name
            _, said, report = self.report(runs)
            self.assertEqual(report.startswith('NOT A FAIR COMPARISON: dgemm is that of the reference BLAS'), unfair)
            self.assertEqual('NOT A FAIR COMPARISON' in said, unfair)
            self.assertIn(f'BLAS: {name}', report)

    def test_cases(self):
        """Products of 2 x 10^4 x 32 flops in 1, 1 and 2 us by dgemm, half of that by lines: the harmonic mean counts the
        sum. Streams at once and mixed versions do not count, nor do timers of other names."""
        runs = []
        for version, scale, more in (('dgemm', 1, {}), ('lines', 0.5, {}), ('loops', 0.01, {'streams': '3'})):
            run = result(1.0, **dict.fromkeys(study.PRODUCTS, version), **more)
            run.rungs[0].profile = [timer(f'batched/ax/{name}', 200, 200e-6 * scale * us)
                                    for name, us in (('mxm1', 1), ('mxm2', 1), ('mxm3', 2), ('factors', 9))]
            runs += [(Key('gpu', 'batched', 10, 32, f'set-{version}'), 0, run)]
        mixed = result(1.0, mxm1='lines', mxm2='dgemm', mxm3='dgemm')
        mixed.rungs[0].profile = runs[0][2].rungs[0].profile
        runs += [(Key('gpu', 'batched', 10, 32, 'tuned'), 0, mixed)]
        cases = study.Measured(runs).cases('gpu', 'batched')
        self.assertEqual(set(cases), {'dgemm', 'lines'})
        for name, rate in (('mxm1', 640), ('mxm3', 320), ('mean', 480)):
            self.assertAlmostEqual(cases['dgemm'][name][10, 32], rate)
            self.assertAlmostEqual(cases['lines'][name][10, 32], 2 * rate)
        _, _, report = self.report(runs)
        self.assertIn('### batched, mean of the cases (GPU): dgemm', report)
        self.assertIn('Fastest version:\n\n| nel \\ N | 10 |\n|---:|---:|\n| 32 | lines |', report)

    def test_repeats(self):
        value = study.value_of([result(1.0), result(1.2), result(1.1)])
        self.assertEqual(value.seconds, 1.1)
        self.assertAlmostEqual(value.noise, 0.1 / 1.1)

    def test_alone(self):
        key, run = Key('cpu', 'scalar', 8, 32, 'isolated'), result(1.0)
        run.tuning = {'rungs': [{'seconds': 1e-3, 'gain': 2.0}]}
        measured = study.Measured([(key, 0, run)])
        self.assertAlmostEqual(measured.alone('cpu', 'scalar', True)[8, 32], 32 * 512 * 115 / 1e6)
        self.assertAlmostEqual(measured.alone('cpu', 'scalar', False)[8, 32], 32 * 512 * 115 / 2e6)


class Plans(InFolder):
    def plan(self, *words):
        args = arguments('--orders', '10', '--elements', '12', '--repeats', '1', *words)
        return study.Study(args, 'nekbone', study.choose_rungs(args, RUNGS))

    def test_box(self):
        self.assertEqual([study.box(e) for e in (8, 12, 2048, 7)], ['2x2x2', '3x2x2', '16x16x8', '7x1x1'])

    def test_variants(self):
        plan = self.plan('--device', 'cpu')
        names = {rung.name: plan.variants(rung) for rung in plan.rungs['cpu']}
        self.assertEqual(names['scalar'], ['dgemm', 'own', 'tuned', 'isolated', 'swapped', 'set-loops', 'set-rows',
                                           'set-rows-n', 'set-tiles-n'])
        self.assertEqual(names['vector'], ['dgemm', 'own', 'tuned', 'isolated', 'set-loops', 'set-rows', 'set-rows-n',
                                           'set-tiles-n', 'swapped'])
        self.assertEqual(names['jammed'], ['own', 'tuned', 'isolated', 'set-tiles', 'set-lines', 'set-any-n'])
        self.assertNotIn('reference', names)

    def test_commands(self):
        plan = self.plan('--device', 'gpu', '--only', 'cases')
        words = {job.key.variant: plan.command(job) for job in plan.jobs()}
        self.assertEqual(list(words), ['own', 'set-loops', 'dgemm'])
        self.assertTrue(all('--profile' in command for command in words.values()))
        self.assertEqual(words['set-loops'][-1], 'mxm1=loops,mxm2=loops,mxm3=loops')
        plan = self.plan('--device', 'gpu', '--only', 'compile-time')
        words = {job.key.variant: plan.command(job) for job in plan.jobs()}
        self.assertEqual(list(words), ['set-lines', 'set-loops'])
        self.assertIn('mxm1=loops,mxm2=loops,mxm3=loops', words['set-loops'])

    def test_searches(self):
        plan = self.plan('--device', 'cpu', '--rungs', 'scalar,vector')
        jobs = {(job.key.rung, job.key.variant): job for job in plan.jobs()}
        self.assertIn('--isolated', plan.command(jobs['scalar', 'isolated']))
        self.assertNotIn('--isolated', plan.command(jobs['scalar', 'tuned']))
        self.assertIn('mxm1=dgemm,mxm2=dgemm,mxm3=dgemm', plan.command(jobs['scalar', 'dgemm']))
        self.assertIsNone(plan.command(jobs['scalar', 'swapped']))  # nothing was tuned yet
        for rung, choice in (('scalar', 'rows'), ('vector', 'loops')):
            plan.made[jobs[rung, 'tuned'].key.file(0)] = result(1.0, mxm1=choice)
        self.assertEqual(plan.command(jobs['scalar', 'swapped'])[-1], 'mxm1=loops')
        plan.made[jobs['vector', 'tuned'].key.file(0)] = result(1.0, mxm1='rows')
        self.assertIsNone(plan.command(jobs['scalar', 'swapped']))

    def test_files(self):
        key = Key('cpu', 'cpu-fused', 8, 64, 'set-rows-n')
        name = study.FILE.fullmatch(key.file(2) + '.json')
        self.assertEqual(name.groups(), ('cpu', 'cpu-fused', '08', '0064', 'set-rows-n', '2', 'json'))

    def test_no_gpu(self):
        absent = [rung._replace(absent='no driver') if rung.kind == 'cuda' else rung for rung in RUNGS]
        with self.assertRaisesRegex(Fault, '--device gpu: no driver'):
            study.choose_rungs(arguments('--device', 'gpu'), absent)
        with contextlib.redirect_stdout(io.StringIO()) as said:
            chosen = study.choose_rungs(arguments('--device', 'both'), absent)
        self.assertEqual((said.getvalue(), chosen['gpu']), ('no GPU: no driver\n', []))
        self.assertFalse(os.path.exists('rooftop-study'))


if __name__ == '__main__':
    unittest.main()
