"""Platforms, traces and the fit of rooftop scale --simulate, without SimGrid; and phases of a profile."""
import unittest
import xml.etree.ElementTree as xml
from unittest import mock

from helper import program

from rooftop_suite import Fault, network, simulate
from rooftop_suite.phases import phases_of
from rooftop_suite.results import Timer


def timers(**seconds):
    return [Timer(timer=path.replace('__', '/').replace('_', '-'), calls=1, seconds=value, slowest_seconds=value,
                  bytes=0.0) for path, value in seconds.items()]


class Phases(unittest.TestCase):
    def test_phases(self):
        """What is in no phase's timer is computing, wherever it is; nothing counts twice."""
        rows = timers(cg=10.0, cg__pass=5.0, cg__gather_scatter=3.0, cg__gather_scatter__pack=0.5,
                      cg__gather_scatter__messages=1.0, cg__gather_scatter__waiting=0.25, cg__sum=0.75)
        found = phases_of(rows, 2)
        self.assertEqual(found, {'compute': 7.5, 'pack': 0.5, 'messages': 1.0, 'sums': 0.75, 'waiting': 0.25})
        self.assertEqual(sum(found.values()), 10.0)

    def test_not_told(self):
        """An exchange that is not divided is messages, but not on one rank; a kernel that does everything is not told."""
        rows = timers(solve=10.0, solve__halo=4.0)
        self.assertEqual(phases_of(rows, 2)['messages'], 4.0)
        self.assertEqual(phases_of(rows, 1)['compute'], 10.0)
        self.assertIsNone(phases_of(timers(cg=10.0), 2))
        self.assertIsNone(phases_of([], 1))


class Network(unittest.TestCase):
    def setUp(self):
        self.gpus = network.load('gpu-fat-tree')

    def test_platform(self):
        """Every rank has a host, every link in a route exists, and no part is larger than it must be."""
        for ranks, zones in ((2, 1), (8, 1), (24, 5), (8 * 17, 1 + 2 * 2 + 17 + 1)):
            tree = xml.fromstring('\n'.join(network.platform_xml(self.gpus, ranks)))
            hosts = {host.get('id') for host in tree.iter('host')}
            self.assertEqual(hosts, {f'h{i}' for i in range(-(-ranks // 8) * 8)})
            self.assertEqual(len(list(tree.iter('zone'))), zones)
            links = {one.get('id') for one in tree.iter('link')}
            self.assertEqual({one.get('id') for one in tree.iter('link_ctn')} - links, set())
        bandwidths = {one.get('id')[0]: one.get('bandwidth') for one in tree.iter('link')}
        self.assertEqual(bandwidths, {'n': '450000Bps', 'l': '50000Bps', 'u': '6400000Bps'})
        with self.assertRaisesRegex(Fault, 'has room for 4096'):
            list(network.platform_xml(self.gpus, 4097))

    def test_shared_adapter(self):
        tree = xml.fromstring('\n'.join(network.platform_xml(network.load('cpu-fat-tree'), 8)))
        self.assertEqual([one.get('id') for one in tree.iter('link') if one.get('id').startswith('l')], ['l0'])

    def test_placed(self):
        """A node has a compact block; neighbours that it could have and has not are found."""
        hosts = network.placed(64, [4, 4, 4], 8)
        self.assertEqual(sorted(hosts), list(range(64)))
        self.assertEqual([rank for rank in range(64) if hosts[rank] < 8], [0, 1, 4, 5, 16, 17, 20, 21])
        self.assertEqual(network.placed(6, [3, 2, 1], 8), list(range(6)))
        self.assertEqual(network.placed(5, [], 8), list(range(5)))

    def test_sums(self):
        """After the rounds every rank knows the parts of all, for any number of ranks."""
        for ranks in (1, 2, 3, 4, 6, 7, 8, 13):
            known = [{rank} for rank in range(ranks)]
            for of in network.sum_rounds(list(range(ranks)), 8):
                known = [known[rank].union(*(known[sender] for sender, _ in of[rank].receives)) for rank in range(ranks)]
            self.assertEqual(known, [set(range(ranks))] * ranks)

    def test_trace(self):
        """Each end pays for each message, or once."""
        rounds = network.exchange_rounds(3, [[0, 1, 80], [1, 0, 80], [1, 2, 8], [2, 1, 8]])
        each = list(network.trace_lines(rounds, network.Cost(1e-6, True)))
        self.assertEqual([line for line in each if line.startswith('1 ')],
                         ['1 init', '1 compute 4', '1 irecv 0 0 80', '1 irecv 2 0 8', '1 isend 0 0 80',
                          '1 isend 2 0 8', '1 waitall 4', '1 finalize'])
        once = list(network.trace_lines(rounds, network.Cost(1e-6, False)))
        self.assertIn('1 compute 2', once)


class Fit(unittest.TestCase):
    platform = network.load('cpu-fat-tree')

    def pair(self, one_seconds, two_seconds):
        one, two = program(), program()
        two.ranks = 2
        for result, seconds, ranks in ((one, one_seconds, 1), (two, two_seconds, 2)):
            result.rungs = result.rungs[:1]
            result.rungs[0].seconds_per_unit, result.rungs[0].credited_flop_per_unit = seconds, 1e6 * ranks
        return simulate.Pair(one, two)

    def trace(self, often, size):
        return simulate.Trace(2, [], '', [simulate.Step('halo', often, 0, [[0, 1, size], [1, 0, size]]),
                                          simulate.Step('sum', 2.0, 8, [])])

    def test_known(self):
        """Measurements made with 3 us a message and 2 GB/s give these back; one alone gives what explains it."""
        cases = [(1.0, 1000), (10.0, 100000), (4.0, 2000000)]
        pairs = [self.pair(1e-3, 1e-3 + (often + 2) * 3e-6 + (often * size + 16) / 2e9) for often, size in cases]
        traces = [self.trace(*case) for case in cases]
        found = simulate.fit(self.platform, pairs, traces)
        self.assertAlmostEqual(found.per_message / 3e-6, 1, places=6)
        self.assertAlmostEqual(found.bandwidth / 2e9, 1, places=6)
        self.assertTrue(all(abs(one.predicted_seconds / one.two_seconds - 1) < 1e-9 for one in found.pairs))
        machine, end = simulate.fitted(self.platform, found)
        self.assertAlmostEqual((2 * end + machine.node.latency) / 3e-6, 1, places=6)
        found = simulate.fit(self.platform, pairs[:1], traces[:1])
        self.assertEqual(found.bandwidth, self.platform.node.bandwidth)
        self.assertAlmostEqual(found.pairs[0].predicted_seconds, found.pairs[0].two_seconds)

    def test_bounds(self):
        """Two ranks that are faster than one do not make messages cost less than nothing."""
        found = simulate.fit(self.platform, [self.pair(1e-3, 0.9e-3)], [self.trace(1.0, 1000)])
        self.assertEqual(found.per_message, 0)
        found = simulate.fit(self.platform, [], [])
        self.assertEqual((found.per_message, found.pairs), (self.platform.node.latency, []))

    def test_pairs(self):
        """A pair has the same app and rung, and as much work per rank."""
        pair = self.pair(1e-3, 1.2e-3)
        self.assertIsNotNone(simulate.pairs_of([pair.one, pair.two], 'ranks')[0].two)
        self.assertEqual(simulate.pairs_of([pair.one, pair.two], 'GPUs'), [])
        pair.two.rungs[0].credited_flop_per_unit = 1e6
        self.assertIsNone(simulate.pairs_of([pair.one, pair.two], 'ranks')[0].two)

    def test_absent(self):
        with mock.patch.object(simulate.shutil, 'which', lambda name: None), \
                self.assertRaisesRegex(Fault, 'libsimgrid-dev'):
            simulate.Simulator(self.platform, 0.0)


if __name__ == '__main__':
    unittest.main()
