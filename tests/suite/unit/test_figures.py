"""Ratios, efficiencies and drifts on known numbers."""
import math
import unittest

from helper import program

from rooftop_suite import Fault, results
from rooftop_suite.measure import scale
from rooftop_suite.results import collect, compare, figures, judge, table


def row(fom, result='a', **changed):
    """Returns a row with a figure of merit in GFlop/s."""
    made = collect.rows_of_result(result, 'base', program())[0]
    return made._replace(fom_gflop_per_s=fom, noise=0.01, spread=0.0, bandwidth_gb_per_s=None)._replace(**changed)


class Compare(unittest.TestCase):
    def test_noise(self):
        self.assertAlmostEqual(collect.noise_of([1.0, 0.98, 1.02, 0.5, 9.0], 0), 0.02)  # shortest and longest are left out
        self.assertEqual(collect.noise_of([1.0, 1.001, 1.0, 1.0, 1.0], 0), collect.LEAST_NOISE)
        self.assertAlmostEqual(collect.noise_of([], 0.1), 0.05)
        self.assertAlmostEqual(collect.noise_of([1.0, 1.2, 1.0], 0), 0.1)

    def test_verdict(self):
        noise = math.hypot(0.01, 0.01)
        for ratio, *verdict in ((1 + 2.1 * noise, 'faster', ''), (1 + 1.9 * noise, 'no verdict', compare.WITHIN),
                                (1 / (1 + 1.9 * noise), 'no verdict', compare.WITHIN),
                                (1 / (1 + 2.1 * noise), 'slower', '')):
            with self.subTest(ratio):
                got = compare.judge(row(1), row(ratio))
                self.assertAlmostEqual(got[0], ratio)
                self.assertAlmostEqual(got[1], noise)
                self.assertEqual(list(got[2:]), verdict)

    def test_disturbed(self):
        """No verdict beside an UNSTEADY side, or if the same processor had another bandwidth; another one may have."""
        unsteady = row(None, 'b', verdict='UNSTEADY', disturbed='windows differ by 43.0 %')
        self.assertEqual(compare.judge(row(1), unsteady)[::2], (None, 'no verdict'))
        self.assertEqual(compare.judge(row(1), unsteady)[3], 'b: UNSTEADY: windows differ by 43.0 %')
        here, slow = (row(fom, processor='EPYC', bandwidth_gb_per_s=rate) for fom, rate in ((2, 200), (1, 100)))
        self.assertEqual(compare.judge(here, slow)[2:], ('no verdict', 'the bandwidth of the same processor differs by 100 %'))
        self.assertEqual(compare.judge(here, slow._replace(processor='Xeon'))[2], 'slower')
        self.assertEqual(compare.judge(here, slow._replace(processor='Xeon', spread=None))[2], 'no verdict')

    def test_problem(self):
        compare.check_same_problem(row(1), row(2, 'b'))
        self.assertNotIn('seed', row(1).problem)
        with self.assertRaisesRegex(Fault, 'nekbone: --degree is 9 in a and 7 in b'):
            compare.check_same_problem(row(1, problem={'degree': '9'}), row(1, 'b', problem={'degree': '7'}))

    def test_peak(self):
        """Peak is compared with peak, and not with base or a ladder."""
        side = compare.Side('a', [row(1), row(1, run='peak')])
        self.assertEqual([(pair.measured, pair.rung) for pair in compare.compare(side, side)], [
            (True, program().rungs[0].name), (False, f'{program().rungs[0].name} (peak)')])


class Shares(unittest.TestCase):
    def test_shares(self):
        """All shares are of the job's ceilings; what is in several precisions has no ceiling; none above 102 %."""
        value = program()
        row = {**value['rungs'][0], 'bytes_per_unit': 1e9, 'flop_per_unit': 1e9, 'seconds_per_unit': 1.0}
        ceilings = {'working_set_bytes': 1, 'copy_bytes_per_s': 2e9, 'triad_bytes_per_s': 1e9, 'read_bytes_per_s': 1e9,
                    'fma64_flop_per_s': 4e9, 'fma32_flop_per_s': 8e9}
        for arithmetic, again, wanted in (
                ('fp64', 1e9, [(0.5, 'bandwidth'), (0.25, 'FP64 FMA')]), ('fp32', 4e9, [(0.5, 'bandwidth'), (0.125, 'FP32 FMA')]),
                ('mixed', 1e9, [(0.5, 'bandwidth')])):
            rung = {**row, 'arithmetic': arithmetic, 'ceilings_again': {**ceilings, 'copy_bytes_per_s': again}}
            rungs = [rung, {**row, 'arithmetic': 'mixed'}]  # what was measured again changes no share
            got = figures.Result(results.Program(**{**value, 'ceilings_cpu': ceilings, 'rungs': rungs}))
            self.assertEqual([one.shares() for one in got.rungs], [wanted, [(0.5, 'bandwidth')]])
        less = {**ceilings, 'copy_bytes_per_s': 0.9e9, 'triad_bytes_per_s': 0.0, 'read_bytes_per_s': 0.0}
        got = figures.Result(results.Program(**{**value, 'ceilings_cpu': less, 'rungs': [{
            name: member for name, member in row.items() if name != 'ceilings_again'}]}))
        self.assertNotIn('bandwidth', [what for _, what in got.rungs[0].shares()])
        self.assertEqual(figures.share_text(got.rungs[0].share_bandwidth), figures.DASH)


class Scale(unittest.TestCase):
    def test_divisor(self):
        """Every number of ranks has a box that divides the extents, which are not made smaller than needed."""
        for ranks in range(1, 129):
            k = scale.divisor([ranks])
            boxes = [(x, y) for x in range(1, ranks + 1) for y in range(1, ranks + 1) if ranks % (x * y) == 0]
            self.assertTrue(any(k % x == k % y == k % (ranks // x // y) == 0 for x, y in boxes), ranks)
        self.assertEqual([scale.divisor(ranks) for ranks in ([1], [8], [64], [2, 3])], [1, 2, 4, 6])

    def test_rows(self):
        """Strong: the same work in less time; weak: more work in the same time. UNSTEADY has no efficiency, and one
        window no spread."""
        first = program(seconds_per_unit=1.0, fom_flop_per_s=1e9, windows=5, spread=0.0)
        last = program(seconds_per_unit=0.5, fom_flop_per_s=3e9)
        last.ranks = 4
        self.assertAlmostEqual(scale.efficiency_of('strong', first, last), 0.5)
        self.assertAlmostEqual(scale.efficiency_of('weak', first, last), 0.75)
        made = program(verdict='UNSTEADY', disturbed=['windows differ by 43.0 %'], windows=1, fom_flop_per_s=None)
        self.assertEqual(scale.rows_of('weak', [first, made])[1][3:6] + scale.rows_of('weak', [made])[0][-1:],
                         ['-', '-', '-', 'UNSTEADY; windows differ by 43.0 %'])


class Table(unittest.TestCase):
    def test_row(self):
        """What CSV has of a rung follows from its result; energy is per unit and per second, not of all windows."""
        made = program(energy_joules=600.0, energy_seconds=2.0, energy_source='NVML')
        rung = made.rungs[0]
        row = collect.rows_of_result('=1+1', 'base', made)[0]
        self.assertEqual((row.watts, row.joules_per_unit), (300.0, 300.0 * rung.seconds_per_unit))
        self.assertEqual((row.energy_source, row.idle_watts), ('NVML', 41.3))
        metered = collect.rows_of_result('x', 'base', program(
            energy_joules=600.0, energy_seconds=2.0, energy_source='NVML', energy_idle_watts=70.0, meter_joules=1000.0,
            meter_seconds=2.0, meter_source='meter', meter_idle_watts=90.0, meter_samples=4, meter_samples_per_s=2.0))[0]
        self.assertEqual((metered.watts, metered.energy_source, metered.idle_watts, metered.power_samples_per_s), (500.0, 'meter', 90.0, 2.0))
        pair = compare.compare(compare.Side('a', [row]), compare.Side('b', [metered]))[0]
        self.assertEqual(pair.cells('gflop_per_s_per_watt', '.3g'), ['-', '-'])  # a node is not a board
        self.assertEqual(list(judge.judge_energy(results.Rung(timed_seconds=3.0, energy_seconds=2.0, meter_seconds=4.0, meter_samples=6,
                                                              meter_samples_per_s=2.0))),
                         ['energy_seconds is 2, the timed windows are of 3', 'meter_samples_per_s is 2, its samples say 1.5'])
        self.assertAlmostEqual(row.gflop_per_s_per_watt, rung.fom_flop_per_s / 300e9)
        self.assertAlmostEqual(row.achieved_gb_per_s, rung.bytes_per_unit / rung.seconds_per_unit / 1e9)
        lines = table.csv_text([row]).splitlines()
        self.assertEqual(lines[0].split(','), list(table.COLUMNS))
        self.assertTrue(lines[1].startswith("'=1+1,"))  # no formula
        unsteady = collect.rows_of_result('x', 'base', program(verdict='UNSTEADY'))[0]
        self.assertEqual((unsteady.fom_gflop_per_s, unsteady.verdict), (None, 'UNSTEADY'))

    def test_order(self):
        """The best of an app first; ladders only when asked for."""
        rows = [collect.rows_of_result(name, run, program(fom_flop_per_s=fom))[0]
                for name, run, fom in (('slow', 'base', 1e9), ('fast', 'peak', 2e9), ('rung', 'ladder', 3e9))]
        self.assertEqual([row.result for row in table.ordered(rows, False)], ['fast', 'slow'])
        self.assertEqual([row.result for row in table.ordered(rows, True)], ['fast', 'slow', 'rung'])


if __name__ == '__main__':
    unittest.main()
