"""Edits results by hand, in every way we could think of, and expects verify to name the edit."""
import hashlib
import json
import pathlib
import unittest

from helper import InFolder, changed, sample, standin

from rooftop_suite import cli, results, scale, verify

RUNG = ('rungs', 0)
EDITS = (  # member, new value, what is said even if the file is sealed again ('': only the seal can tell)
    (RUNG + ('fom_flop_per_s',), 9e9, 'fom_flop_per_s is 9e+09'),
    (RUNG + ('credited_flop_per_unit',), 2e7, 'fom_flop_per_s is'),
    (RUNG + ('seconds_per_unit',), 0.004, 'seconds_per_unit is 0.004'),
    (RUNG + ('window_seconds', 0), 0.001, 'its windows say'),
    (RUNG + ('window_seconds',), [0.005], 'windows is 5, there are 1'),
    (RUNG + ('spread',), 0.001, 'spread is 0.001'),
    (RUNG + ('checks', 0, 'value'), 1.5, "check 'sum = reference'"),
    (RUNG + ('checks', 0, 'bound'), 0.1, "check 'sum = reference'"),
    (RUNG + ('checks', 0, 'held'), False, "check 'sum = reference'"),
    (RUNG + ('checks',), [], 'nothing was verified'),
    (RUNG + ('verdict',), 'INVALID', 'verdict is INVALID, its checks'),
    (RUNG + ('verdict',), 'UNSTEADY', 'what disturbed it: nothing'),
    (RUNG + ('disturbed',), ['noise'], 'what disturbed it: noise'),
    (RUNG + ('window_seconds', 0), 0.02, 'verdict is VALID, the spread is'),
    (RUNG + ('bytes_per_unit',), 1e9, '200 % of the ceilings in the file'),
    (('verdict',), 'INVALID', 'verdict is INVALID, its rungs say VALID'),
    (('verdict',), 'UNSTEADY', 'verdict is UNSTEADY, its rungs say VALID'),
    (('nonce',), 'other', "nonce 'other' gives the seed"),
    (('seed',), 7, 'gives the seed'),
    (('options', 'seed'), 7, 'options.seed is 7'),
    (('gpu',), 'H200', ''),
    (('host',), 'elsewhere', ''),
    (('cpu',), 'another', ''),
    (('options', 'size'), 'full', ''),
    (('ceilings_cpu', 'copy_bytes_per_s'), 1.0, ''),
)
RUN_EDITS = (  # of run.json, sealed again by the suite
    (('summary', 'nekbone', 'fom'), 9e9, 'summary.nekbone.fom is'),
    (('summary', 'nekbone', 'verdict'), 'UNSTEADY', 'summary.nekbone.verdict is UNSTEADY'),
    (('environment', 'host'), 'elsewhere', 'run.json says elsewhere'),
    (('nonce',), 'other', "nonce is 'n1', not 'other'"),
    (('steps', 0, 'sha256'), 'a' * 64, 'not the file that the run wrote'),
    (('steps', 1, 'state'), 'failed', 'ladder-nekbone: failed'),
    (('tier',), 'ported', ''),
    (('official',), True, 'official: windows of 0.1 s, not 10'),
    (('ranks',), 2, '1 ranks, run.json says 2'),
)


def faults(path, nonce=None):
    files = []
    verify.judge_file(path, nonce, files)
    return [line for judged in files for line in judged.wrong]


def write(path, value, seal):
    """Writes a file as the programs do: sealed again, or with the old seal."""
    text = json.dumps({**value, 'seal': '0' * 64} if seal else value, indent=2) + '\n'
    if seal:
        nonce = value['nonce'].encode()
        text = hashlib.sha256(nonce + b'\n' + text.encode()).hexdigest().join(text.rsplit('0' * 64, 1))
    pathlib.Path(path).write_text(text)


class Results(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        standin('bin', '--json', 'result.json', '--nonce', 'n1')
        standin('bin', '--json', 'invalid.json', STANDIN='invalid')
        cls.good = results.parse('result.json')[1]

    def test_good(self):
        self.assertEqual(faults('result.json'), [])
        self.assertEqual(faults('result.json', 'n2'), ["nonce is 'n1', not 'n2'"])

    def test_edits(self):
        for path, new, text in EDITS:
            value = changed(self.good, path, new)
            with self.subTest(str(path)):
                write('edited.json', value, seal=False)
                self.assertTrue(any('the seal does not hold' in line for line in faults('edited.json')))
                write('edited.json', value, seal=True)
                said = faults('edited.json')
                self.assertTrue(any(text in line for line in said) if text else not said, said)

    def test_invalid(self):
        self.assertEqual(faults('invalid.json'), ['consistent and unchanged, and its verdict is INVALID'])
        write('edited.json', {**results.parse('invalid.json')[1], 'verdict': 'VALID'}, seal=True)
        self.assertTrue(any('verdict is VALID, its rungs say INVALID' in line for line in faults('edited.json')))


class Runs(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        standin('bin', '--json', 'nekbone.json', '--nonce', 'n1')
        standin('bin', '--json', 'ladder-nekbone.json', '--nonce', 'n1', '--ladder')
        rung = results.load('nekbone.json', results.Program).rungs[0]
        run = {**sample('run'), 'nonce': 'n1', 'seed': results.seed_of('n1'), 'tier': 'baseline', 'launcher': [],
               'aggregate': {'value': None, 'why': 'fewer than four'}, 'ranks': 1, 'official': False}
        run['source'].update(changed=[], diff_file=None)
        run['environment'] = {'host': results.parse('nekbone.json')[1]['host']}
        run['summary'] = {'nekbone': {'fom': rung.fom_flop_per_s, 'unit': 'flop/s', 'verdict': 'VALID',
                                      'spread': rung.spread, 'rung': rung.name}}
        run['steps'] = [{'name': name, 'app': 'nekbone', 'command': [], 'state': 'done', 'exit': 0, 'seconds': 1.0,
                         'json': f'{name}.json', 'output': '', 'sha256': results.sha256_of(f'{name}.json'), 'why': ''}
                        for name in ('nekbone', 'ladder-nekbone')]
        cls.good = run

    def test_good(self):
        results.save('run.json', self.good, 'n1')
        self.assertEqual(faults('run.json'), [])

    def test_edits(self):
        for path, new, text in RUN_EDITS:
            value = changed(self.good, path, new)
            results.save('run.json', value, value['nonce'])
            with self.subTest(str(path)):
                said = faults('run.json')
                self.assertTrue(any(text in line for line in said), said)

    def test_by_hand(self):
        results.save('run.json', self.good, 'n1')
        data = pathlib.Path('run.json').read_bytes()
        pathlib.Path('run.json').write_bytes(data.replace(b'"official": false', b'"official": true'))
        self.assertTrue(any('the seal does not hold' in line for line in faults('run.json')))


class Scaling(unittest.TestCase):
    def test_efficiency(self):
        value = results.Scale.from_json({**sample('scale-nekbone'), 'seal': results.ZEROS})
        for kind, points in (('strong', value.strong), ('weak', value.weak)):
            for point in points:
                point.efficiency = scale.efficiency_of(kind, points[0], point)
        self.assertEqual(verify.judge_scaling(value), [])
        value.strong[1].efficiency = 0.99
        self.assertEqual(len(verify.judge_scaling(value)), 1)


class Commands(unittest.TestCase):
    def test_types(self):
        self.assertEqual(cli.counts('4,1,2,2'), [1, 2, 4])
        for kind, text in ((cli.count, '0'), (cli.count, '1.5'), (cli.seconds, 'nan'), (cli.seconds, '-1')):
            with self.subTest(text), self.assertRaises(ValueError):
                kind(text)
        self.assertEqual([cli.minutes(s) for s in (119, 600, 9000)], ['119 s', '10 min', '2.5 h'])


if __name__ == '__main__':
    unittest.main()
