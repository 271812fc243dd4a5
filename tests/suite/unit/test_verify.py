"""Edits results by hand, in every way we could think of, and expects verify to name the edit."""
import contextlib
import functools
import hashlib
import io
import json
import os
import pathlib
import shutil
import signal
import time
import unittest
from unittest import mock

from helper import SOURCE, InFolder, changed, program, sample, standin

from rooftop_suite import cli, disk, judge, records, rerun, results, scale, source, verify

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
    (RUNG + ('verdict',), 'NOT CONVERGED', 'verdict is NOT CONVERGED, its checks'),
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


TREE = 'c' * 64  # of the source here, as the tests have it


def setUpModule():
    """The source here is version 0.1.0, unchanged, whatever the tree is that the tests are in."""
    here = results.Source(version='0.1.0', commit=None, tree_sha256=TREE, changed=[], diff_file=None)
    mock.patch.object(source, 'judge', lambda: (here, 'baseline')).start()


def tearDownModule():
    mock.patch.stopall()


def faults(path, nonce=None):
    files = []
    verify.judge_file(path, nonce, files)
    return [line for judged in files for line in judged.wrong]


def run_of(nonce, *names, **changed):
    """Returns the run.json of results that are there: not official, of a source that is unchanged."""
    measured = {name: results.load(f'{name}.json', results.Program) for name in names}
    first = measured[names[0]]
    run = {**sample('run'), 'nonce': nonce, 'seed': disk.seed_of(nonce), 'tier': 'baseline', 'launcher': [],
           'aggregate': {'value': None, 'why': 'no reference'}, 'peak': {}, 'ranks': 1,
           'official': False, 'size': 'tiny',
           'started': first.date, 'finished': first.date, 'environment': {'host': first.host}}
    run['source'].update(changed=[], diff_file=None, commit=None, tree_sha256=TREE, version=first.version)
    run['programs'] = {name: {'path': name, 'sha256': 'b' * 64, 'version': {'version': result.version}}
                       for name, result in measured.items() if name == result.program}
    run['summary'] = {name: {'fom': result.rungs[0].fom_flop_per_s, 'unit': 'flop/s', 'verdict': result.verdict,
                             'spread': result.rungs[0].spread, 'rung': result.rungs[0].name}
                      for name, result in measured.items() if name == result.program}
    run['steps'] = [{'name': name, 'app': result.program, 'command': [], 'state': 'done', 'exit': 0, 'seconds': 1.0,
                     'json': f'{name}.json', 'output': '', 'sha256': disk.sha256_of(f'{name}.json'), 'why': '',
                     'attempts': 1} for name, result in measured.items()]
    return {**run, **changed}


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
        cls.good = disk.parse('result.json')[1]

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

    def test_not_converged(self):
        """Right as far as it goes, if nothing but convergence fails; every command says the word."""
        value = json.loads(json.dumps(self.good))
        rung = value['rungs'][0]
        for name in ('fom_flop_per_s', 'points_per_s', 'seconds_per_unit', 'window_seconds', 'windows', 'spread', 'solves'):
            rung.pop(name, None)
        end = {'name': 'reaches the tolerance', 'held': False, 'value': 1.0, 'bound': 0.0, 'convergence': True}
        rung['checks'].append(end)
        for verdict, wrong, text in (('NOT CONVERGED', [], 'its verdict is NOT CONVERGED'), ('INVALID', [], 'its checks say'),
                                     ('NOT CONVERGED', [{**end, 'name': 'sum', 'convergence': False}], 'its checks say')):
            with self.subTest(verdict):
                value['verdict'] = rung['verdict'] = verdict
                write('end.json', {**value, 'rungs': [{**rung, 'checks': rung['checks'] + wrong}]}, seal=True)
                self.assertRegex('; '.join(faults('end.json')), text)
        value['verdict'] = rung['verdict'] = 'NOT CONVERGED'
        value['rungs'].append({**self.good['rungs'][0], 'name': 'other'})
        write('end.json', value, seal=True)
        for words in (['table', 'end.json'], ['report', 'end.json', '--output', 'end.html'], ['verify', 'end.json']):
            with self.subTest(words[0]), contextlib.redirect_stdout(io.StringIO()) as said:
                cli.main(words)
            self.assertIn('NOT CONVERGED', said.getvalue() if words[0] != 'report' else pathlib.Path('end.html').read_text())

    def test_invalid(self):
        self.assertEqual(faults('invalid.json'), ['consistent and unchanged, and its verdict is INVALID'])
        write('edited.json', {**disk.parse('invalid.json')[1], 'verdict': 'VALID'}, seal=True)
        self.assertTrue(any('verdict is VALID, its rungs say INVALID' in line for line in faults('edited.json')))


class Runs(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        standin('bin', '--json', 'nekbone.json', '--nonce', 'n1')
        standin('bin', '--json', 'ladder-nekbone.json', '--nonce', 'n1', '--ladder')
        cls.good = run_of('n1', 'nekbone', 'ladder-nekbone')

    def test_good(self):
        disk.save('run.json', self.good, 'n1')
        self.assertEqual(faults('run.json'), [])

    def test_edits(self):
        for path, new, text in RUN_EDITS:
            value = changed(self.good, path, new)
            disk.save('run.json', value, value['nonce'])
            with self.subTest(str(path)):
                said = faults('run.json')
                self.assertTrue(any(text in line for line in said), said)

    def test_by_hand(self):
        disk.save('run.json', self.good, 'n1')
        data = pathlib.Path('run.json').read_bytes()
        pathlib.Path('run.json').write_bytes(data.replace(b'"official": false', b'"official": true'))
        self.assertTrue(any('the seal does not hold' in line for line in faults('run.json')))


GPU = [{'name': 'H200', 'power.limit': '700.00 W'}]
CHECK = {'name': 'all', 'held': True, 'value': 0.0, 'bound': 1.0}
OTHER = [{'name': 'gfm2-dt20us.gfnn', 'sha256': 'd' * 64}]
FORGERIES = (  # what a vendor may try with an official result, sealed again: [(file, member, new value)], what is said
    ('another network', [('gfnn-wave', ('files',), OTHER)], 'it read another gfm2-dt20us.gfnn'),
    ('other inputs', [('gfnn-wave', ('inputs_digest',), 'd' * 64)], 'inputs_digest is dddd'),
    ('inputs from elsewhere', [('gfnn-wave', ('variables', 'ROOFTOP_INPUTS'), '/tmp')], 'ROOFTOP_INPUTS=/tmp'),
    ('protected files changed', [('run', ('tier',), 'invalid'), ('run', ('source', 'changed'), ['tools/rooftop'])],
     'tier invalid'),
    ('tier not known', [('run', ('tier',), 'unknown')], 'official: tier unknown'),
    ('a test as official', [('run', ('size',), 'tiny')], 'official: size tiny'),
    ('a smaller problem under the label', [('run', ('size',), 'medium')], '--size is small, and medium'),
    ('an easier problem', [('nekbone', ('options', 'degree'), '5')], '--degree is 5, and 9'),
    ('an option more', [('alya-rhs', ('options', 'communication'), 'no')], '--communication is no, and None'),
    ('an undeclared option', [('run', ('steps', 0, 'command'), ['nekbone', '--degree', '5']),
                              ('nekbone', ('options', 'degree'), '5')], '--degree is 5, and 9'),
    ('credited threefold', [('nekbone', RUNG + ('credited_flop_per_unit',), 3e7),
                            ('nekbone', RUNG + ('fom_flop_per_s',), 6e9),
                            ('run', ('summary', 'nekbone', 'fom'), 6e9)], 'credited_flop_per_unit is 3'),
    ('credited without saying', [('nekbone', RUNG + ('credited_flop_per_unit',), None),
                                 ('nekbone', RUNG + ('fom_flop_per_s',), 2e10),
                                 ('run', ('summary', 'nekbone', 'fom'), 2e10)], 'without credited_flop_per_unit'),
    ('no ceilings', [('nekbone', ('ceilings_cpu',), None)], 'no ceilings to judge it by'),
    ('fewer bytes', [('nekbone', RUNG + ('bytes_per_unit',), 8e4)], 'bytes_per_unit is 80000'),
    ('a wide bound', [('nekbone', RUNG + ('checks', 0, 'value'), 1e6), ('nekbone', RUNG + ('checks', 0, 'bound'), 1e7)],
     "check 'sum = reference': its bound is 1e+07"),
    ('a check of its own', [('nekbone', RUNG + ('checks',), [CHECK])], "check 'sum = reference' is missing"),
    ('a negative error', [('nekbone', RUNG + ('checks', 0, 'value'), -1.0)], "check 'sum = reference'"),
    ('timed longer than it ran', [('nekbone', RUNG + ('timed_seconds',), 500.0)], 'timed_seconds is 500, and 50'),
    ('all clocks too', [('nekbone', RUNG + ('timed_seconds',), 500.0)] + [
        ('nekbone', RUNG + ('clocks', name), 500.0) for name in ('monotonic_s', 'raw_s', 'realtime_s')],
     'timed for 503.0 s in a step of 61.0 s'),
    ('windows longer than the time', [('nekbone', RUNG + ('timed_seconds',), 0.001)], 'its windows took'),
    ('steps longer than the run', [('run', ('steps', 0, 'seconds'), 5000.0)], 'its steps took'),
    ('the best of another day', [('nekbone', ('date',), '2026-01-01T00:00:00Z')], 'dated 2026-01-01'),
    ('an aggregate', [('run', ('aggregate', 'value'), 1.5)], 'aggregate is 1.5'),
    ('one app', [('run', ('steps',), slice(1)), ('run', ('summary',), slice(1))], 'official: no alya-rhs'),
    ('unsteady', [('nekbone', ('verdict',), 'UNSTEADY'), ('nekbone', RUNG + ('verdict',), 'UNSTEADY'),
                  ('nekbone', RUNG + ('disturbed',), ['noise']), ('nekbone', RUNG + ('fom_flop_per_s',), None),
                  ('run', ('summary', 'nekbone', 'fom'), None), ('run', ('summary', 'nekbone', 'verdict'), 'UNSTEADY')],
     'official: nekbone is UNSTEADY'),
    ('a clock by macro', [('nekbone', ('build', 'CPPFLAGS'), '-O2 -Dclock_gettime=evil')], 'has -Dclock_gettime=evil'),
    ('an object of its own', [('nekbone', ('build', 'LIBS'), '-lm evil.o')], 'LIBS has evil.o'),
    ('how it was built', [('nekbone', ('build',), None)], 'does not say how it was built'),
    ('a library before all', [('nekbone', ('variables', 'LD_PRELOAD'), './slow.so')], 'LD_PRELOAD=./slow.so'),
    ('the same for the suite', [('run', ('environment', 'variables'), {'LD_AUDIT': 'a.so'})], 'LD_AUDIT=a.so'),
    ('a slow clock', [('nekbone', RUNG + ('clocks', 'raw_s'), 56.0)], 'clocks disagree: raw_s is 56'),
    ('a slow clock and no other', [('nekbone', RUNG + ('clocks',), None)], 'no clocks beside'),
    ('a slow clock and a GPU', [('run', ('environment', 'gpus'), GPU), ('nekbone', RUNG + ('energy_source',), 'NVML'),
                                ('nekbone', RUNG + ('energy_joules',), 5e4),
                                ('nekbone', RUNG + ('energy_seconds',), 51.0)], '980 W, and its GPUs may take 700 W'),
    ('two machines', [('nekbone', RUNG + ('clocks', 'tsc_hz'), 2e9), ('alya-rhs', RUNG + ('clocks', 'tsc_hz'), 3e9)],
     'ran at 2.000 and at 3.000 GHz'),
    ('changed and not said', [('run', ('source', 'tree_sha256'), 'e' * 64)], 'not baseline'),
    ('another configure', [('run', ('source', 'generated_sha256'), 'e' * 64)], 'not those of the release'),
    ('other programs', [('run', ('programs', 'nekbone', 'version', 'version'), '0.2')], 'nekbone is of version 0.2'),
    ('another commit', [('run', ('source', 'commit'), 'f' * 40)], 'lacks a source that is known here'),
)


@functools.lru_cache(maxsize=None)
def asked(app, words):
    """Returns the facts of a stand-in, which no case changes."""
    return rerun_ask(results.Program.from_json(Forgeries.good[app]), list(words), 'bin')


rerun_ask = rerun.ask


class Forgeries(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        words = ('--nonce', 'n1', '--size', 'small', '--window', '10', '--warm-up', '3')
        for app in results.APPS:
            standin('bin', '--json', f'{app}.json', *words, app=app)
        cls.good = Forgeries.good = {app: {**disk.parse(f'{app}.json')[1], 'seal': disk.ZEROS}
                                     for app in results.APPS}
        date = records.instant(cls.good['nekbone']['date'])
        run = run_of('n1', *results.APPS, official=True, size='small', **{
            name: time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(date + more)) for name, more in (
                ('started', -1), ('finished', 300))})
        run['source']['generated_sha256'] = 'b' * 64
        for step in run['steps']:
            step['seconds'] = 61.0
        cls.good['run'] = run

    def said(self, edits, *words):
        """Returns what verify says of the folder with these edits, sealed again."""
        forged = {**self.good}
        for name, path, new in edits:
            if isinstance(new, slice):  # some of its entries
                entries = forged[name][path[0]]
                new = entries[new] if isinstance(entries, list) else dict(list(entries.items())[new])
            forged[name] = changed(forged[name], path, new)
            if new is None and name != 'run':
                at = forged[name]
                for step in path[:-1]:
                    at = at[step]
                del at[path[-1]]
        for name, value in forged.items():
            if name != 'run':
                write(f'{name}.json', value, seal=True)
        steps = [{**step, 'sha256': disk.sha256_of(step['json'])} for step in forged['run']['steps']]
        disk.save('run.json', {**forged['run'], 'steps': steps}, 'n1')
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()), \
                mock.patch('rooftop_suite.verify.source_tree', lambda: str(SOURCE)), \
                mock.patch.object(rerun, 'ask', lambda result, words, _: asked(result.program, tuple(words))):
            status = cli.main(['verify', '.', *words])
        return status, out.getvalue()

    def test_good(self):
        with mock.patch('rooftop_suite.source.judge', lambda: (results.Source(
                '0.1.0', None, TREE, [], None, generated_sha256='b' * 64), 'baseline')):
            status, said = self.said([], '--nonce', 'n1', '--rerun')
            self.assertEqual(status, 0, said)
            self.assertIn("official, size small, tier baseline, nonce 'n1': ACCEPTED\n", said)
            self.assertIn('ACCEPTED; not compared with', self.said([], '--nonce', 'n1')[1])
            self.assertIn("consistent; lacks the buyer's nonce (--nonce), --rerun\n", self.said([])[1])
            again = self.said([('run', ('steps', 0, 'attempts'), 3)], '--nonce', 'n1')
            self.assertEqual((again[0], 'note: nekbone: attempt 3 counts' in again[1]), (0, True), again)
            for name, edits, text in FORGERIES:
                with self.subTest(name):
                    status, said = self.said(edits, '--nonce', 'n1', '--rerun')
                    self.assertIn(text, said)
                    self.assertNotIn(': ACCEPTED', said)
                    self.assertEqual(status, 0 if text.startswith('lacks') else 1)


HOSTILE = ('7' * 400, '5e-324', '1e999', '-1', 'null', '"\\ud800\\n\\u001b[31m"', '[]', '{}', 'true', '[[1]]')


def paths(value, at=()):
    """Yields the path of each member of a value, and of the first entry of each list."""
    members = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for name, member in members:
        yield at + (name,)
        yield from paths(member, at + (name,))


class Hostile(InFolder):
    """Whatever stands in a result that someone sent: faults in words, never a fault of the suite."""

    def test_all(self):
        standin('bin', '--json', 'nekbone.json', '--nonce', 'n1')
        values = {'nekbone': disk.parse('nekbone.json')[1]}
        values['run'] = {**run_of('n1', 'nekbone'), 'seal': '0' * 64}
        values['run']['environment']['gpus'] = GPU
        write('nekbone.json', values['nekbone'], seal=True)
        for name, value in values.items():
            for k, path in enumerate(paths(value)):
                if path == ('seal',):
                    continue
                texts = HOSTILE[k % len(HOSTILE)], HOSTILE[(k // 3) % len(HOSTILE)]
                for text in texts if 'RT_CHECK_LONG' in os.environ else texts[:1]:
                    with self.subTest(f'{name} {path} {text[:20]}'):
                        write(f'{name}.json', changed(value, path, '@'), seal=False)
                        data = pathlib.Path(f'{name}.json').read_text().replace('"@"', text)
                        nonce = 'n1' if path != ('nonce',) else ''
                        seal = hashlib.sha256(f'{nonce}\n'.encode() + data.replace(value['seal'], '0' * 64).encode())
                        pathlib.Path(f'{name}.json').write_text(data.replace(value['seal'], seal.hexdigest()))
                        self.both(name)
            write(f'{name}.json', value, seal=True)

    def test_files(self):
        """A folder with links, pipes, devices, folders, names that lead elsewhere, and more than memory holds: nothing
        of it is waited for, and a file that is not a result's own is not read."""
        standin('bin', '--json', 'nekbone.json', '--nonce', 'n1')
        run = run_of('n1', 'nekbone')
        os.rename('nekbone.json', 'outside.json')
        signal.alarm(60)
        for make in (lambda path: os.symlink('/dev/zero', path), os.mkfifo, os.mkdir,
                     lambda path: os.symlink(os.path.abspath('outside.json'), path),
                     lambda path: pathlib.Path(path).touch() or os.truncate(path, 5 << 30)):
            for name in ('nekbone.json', 'run.json', 'doctor.json', 'scale-x.json', 'gfnn-wave-picture.png'):
                shutil.rmtree('sent', ignore_errors=True)
                os.mkdir('sent')
                shutil.copy('outside.json', 'sent/nekbone.json')
                disk.save('sent/run.json', run, 'n1')
                pathlib.Path('sent', name).unlink(missing_ok=True)
                make(os.path.join('sent', name))
                for command in ('verify', 'report', 'compare'):
                    with self.subTest(f'{name} {command}'), contextlib.redirect_stdout(io.StringIO()) as out, \
                            contextlib.redirect_stderr(out):
                        status = cli.main([command, 'sent'])
                        self.assertNotIn('fault of the suite', out.getvalue())
                        if command == 'verify' and name == 'nekbone.json':
                            self.assertEqual(status, 1)
                            self.assertIn('nekbone.json: not the file that the run wrote', out.getvalue())
        for name in ('/dev/zero', '../outside.json', '', '.', 'sent/nekbone.json'):
            disk.save('run.json', changed(run, ('steps', 0, 'json'), name), 'n1')
            self.assertIn('is no name of a file in this folder', ' '.join(faults('run.json')))
            disk.save('run.json', changed(run, ('source',), {**run['source'], 'diff_file': name}), 'n1')
            self.assertTrue(not name or any('not the file that the run wrote' in line for line in faults('run.json')))
        signal.alarm(0)

    def both(self, name):
        for command in (['verify', f'{name}.json'], ['compare', '.', 'nekbone.json']):
            with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
                self.assertIn(cli.main(command), (0, 1, 2, 3))
            self.assertNotIn('fault of the suite', out.getvalue())
            self.assertNotIn('\x1b', out.getvalue())


class Scaling(unittest.TestCase):
    def test_efficiency(self):
        value = results.Scale.from_json({**sample('scale-nekbone'), 'seal': disk.ZEROS})
        for kind, points in (('strong', value.strong), ('weak', value.weak)):
            for point in points:
                point.efficiency = scale.efficiency_of(kind, points[0], point)
        self.assertEqual(judge.judge_scaling(value), [])
        value.strong[1].efficiency = 0.99
        self.assertEqual(len(judge.judge_scaling(value)), 1)


class Peaks(unittest.TestCase):
    def test_default(self):
        """gfnn-wave's default preconditioner is that of the processor it ran on, not of the one that asks."""
        run = results.Run.from_json({**sample('run'), 'seal': disk.ZEROS})
        step = next(step for step in run.steps if step.name == 'gfnn-wave')
        for kind, precond in (('cuda', 'gfm'), ('cpu', 'cheb')):
            words = rerun.problem_words(program('gfnn-wave', kind=kind), step, run)
            self.assertEqual(words[words.index('--precond') + 1], precond)

    def test_free(self):
        """A declared choice sets how an app computes, not what."""
        run = results.Run.from_json({**sample('run'), 'seal': disk.ZEROS, 'peak': {'nekbone': {
            'fom': None, 'unit': 'flop/s', 'verdict': None, 'spread': None, 'rung': None}}})
        base, peak = program(), program()
        self.assertEqual(list(verify.judge_peaks(run, {'nekbone': base})), ['peak.nekbone: no result of base and peak'])
        peak.options['ranks'] = '1x1x2'
        self.assertEqual(list(verify.judge_peaks(run, {'nekbone': base, 'peak-nekbone': peak})), [])
        peak.options['degree'] = '3'
        self.assertEqual(list(verify.judge_peaks(run, {'nekbone': base, 'peak-nekbone': peak})),
                         ['peak-nekbone.json: --degree is 3, and 9 in nekbone.json: it is not free'])


class Commands(unittest.TestCase):
    def test_types(self):
        self.assertEqual(cli.counts('4,1,2,2'), [1, 2, 4])
        for kind, text in ((cli.count, '0'), (cli.count, '1.5'), (cli.seconds, 'nan'), (cli.seconds, '-1')):
            with self.subTest(text), self.assertRaises(ValueError):
                kind(text)
        self.assertEqual([cli.minutes(s) for s in (119, 600, 9000)], ['119 s', '10 min', '2.5 h'])


if __name__ == '__main__':
    unittest.main()
