"""Edits results by hand and expects verify to name the edit, whatever stands in a file."""
import contextlib
import importlib.util
import io
import json
import os
import pathlib
import shutil
import signal
import unittest

from helper import InFolder, changed, program, sample, standin

from rooftop_suite import cli, results
from rooftop_suite.measure import accept
from rooftop_suite.results import disk, verify

RUNG = ('rungs', 0)
EDITS = (  # member, new value, what is said
    (RUNG + ('fom_flop_per_s',), 9e9, 'fom_flop_per_s is 9e+09'),
    (RUNG + ('setup_seconds',), 0.04, 'fom_1_solve_flop_per_s is'),
    (RUNG + ('setup_seconds',), None, 'fom_100_solves_flop_per_s is'),
    (RUNG + ('units_per_solve',), 5, 'fom_100_solves_flop_per_s is'),
    (RUNG + ('credited_flop_per_unit',), 2e7, 'fom_flop_per_s is'),
    (RUNG + ('credited_flop_per_unit',), None, 'without its windows or credited work'),
    (RUNG + ('seconds_per_unit',), 0.004, 'seconds_per_unit is 0.004'),
    (RUNG + ('window_seconds', 0), 0.001, 'its windows say'),
    (RUNG + ('window_seconds',), [0.005], 'windows is 5, its windows say 1'),
    (RUNG + ('window_seconds',), None, 'without its windows'),
    (RUNG + ('spread',), 0.001, 'spread is 0.001'),
    (RUNG + ('work', 0, 'read_bytes'), 6e6, 'bytes_per_unit is 8000000, the rows of its work say 14000000'),
    (RUNG + ('work', 0, 'flop'), 1.0, 'flop_per_unit is 10000000, the rows'),
    (RUNG + ('bytes_per_unit',), None, 'bytes_per_unit is 0, the rows'),
    (RUNG + ('checks', 0, 'value'), 1.5, "check 'sum = reference'"),
    (RUNG + ('checks', 0, 'value'), -1.0, "check 'sum = reference'"),
    (RUNG + ('checks', 0, 'bound'), 0.1, "check 'sum = reference'"),
    (RUNG + ('checks', 0, 'held'), False, "check 'sum = reference'"),
    (RUNG + ('checks',), [], 'nothing was verified'),
    (RUNG + ('verdict',), 'INVALID', 'verdict is INVALID, its checks'),
    (RUNG + ('verdict',), 'UNSTEADY', 'what disturbed it: nothing'),
    (RUNG + ('verdict',), 'NOT CONVERGED', 'verdict is NOT CONVERGED, its checks'),
    (RUNG + ('disturbed',), ['noise'], 'what disturbed it: noise'),
    (RUNG + ('window_seconds', 0), 0.02, 'verdict is VALID, the spread is'),
    (('verdict',), 'INVALID', 'verdict is INVALID, its rungs say VALID'),
    (('verdict',), 'UNSTEADY', 'verdict is UNSTEADY, its rungs say VALID'),
    (('nonce',), 'other', "nonce 'other' gives the seed"),
    (('seed',), 7, 'gives the seed'),
    (('options', 'seed'), 7, 'options.seed is 7'),
)
RUN_EDITS = (  # of run.json
    (('summary', 'nekbone', 'fom'), 9e9, 'summary.nekbone.fom is'),
    (('summary', 'nekbone', 'verdict'), 'UNSTEADY', 'summary.nekbone.verdict is UNSTEADY'),
    (('nonce',), 'other', "nonce is 'n1', not 'other'"),
    (('seed',), 7, "nonce 'n1' does not give the seed 7"),
    (('steps', 0, 'sha256'), 'a' * 64, 'not the file that the run wrote'),
    (('steps', 1, 'state'), 'failed', 'ladder-nekbone: failed'),
    (('steps', 0, 'app'), 'alya-rhs', 'nekbone.json: from nekbone, not alya-rhs'),
    (('state',), 'running', 'the run is not complete'),
    (('programs', 'nekbone', 'version', 'version'), '0.2', 'nekbone is of version 0.2, the source is 0.1.0'),
)
LACKS = (  # of an official run of the right size, edited so: what verify says that it lacks
    ((), None, "consistent and official, nonce 'n1'"),
    (('official',), False, 'lacks --official'), (('size',), 'tiny', 'lacks a size above tiny'),
    (('source', 'changed'), ['tools/rooftop'], 'lacks an unchanged source'),
    (('source', 'why'), 'changed: tools/rooftop', 'lacks an unchanged source (changed: tools/rooftop)'),
    (('summary',), {}, 'lacks a VALID nekbone, a VALID alya-rhs'),
)


def faults(path, nonce=None):
    return [line for judged in verify.judge_all(path, nonce) for line in judged.faults]


def run_of(nonce, *names, **changed):
    """Returns the run.json of results that are there: not official, of a source that is unchanged."""
    measured = {name: results.load(f'{name}.json', results.Program) for name in names}
    first = measured[names[0]]
    run = {**sample('run'), 'nonce': nonce, 'seed': disk.seed_of(nonce), 'launcher': [],
           'peak': {}, 'ranks': 1,
           'official': False, 'size': 'tiny',
           'started': first.date, 'finished': first.date, 'environment': {'host': first.host}}
    run['source'].update(changed=[], commit=None, version=first.version)
    run['programs'] = {name: {'path': name, 'sha256': 'b' * 64, 'version': {'version': result.version}}
                       for name, result in measured.items() if name == result.program}
    run['summary'] = {name: {'fom': result.rungs[0].fom_flop_per_s, 'unit': 'flop/s', 'verdict': result.verdict,
                             'spread': result.rungs[0].spread, 'rung': result.rungs[0].name}
                      for name, result in measured.items() if name == result.program}
    run['steps'] = [{'name': name, 'app': result.program, 'command': [], 'state': 'done', 'exit': 0, 'seconds': 1.0,
                     'json': f'{name}.json', 'output': '', 'sha256': disk.sha256_of(f'{name}.json'), 'why': '',
                     'attempts': 1} for name, result in measured.items()]
    return {**run, **changed}


def write(path, value):
    pathlib.Path(path).write_text(json.dumps(value))


class Results(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        standin('bin', '--json', 'result.json', '--nonce', 'n1')
        standin('bin', '--json', 'invalid.json', STANDIN='invalid')
        cls.good = disk.parse('result.json')

    def test_good(self):
        self.assertEqual(faults('result.json'), [])
        self.assertEqual(faults('result.json', 'n2'), ["nonce is 'n1', not 'n2'"])

    def test_edits(self):
        for path, new, text in EDITS:
            value = changed(self.good, path, new)
            if new is None:
                del value['rungs'][0][path[-1]]
            with self.subTest(str(path)):
                write('edited.json', value)
                said = faults('edited.json')
                self.assertTrue(any(text in line for line in said), said)

    def test_not_converged(self):
        """Right as far as it goes, if nothing but convergence fails; every command says the word."""
        value = json.loads(json.dumps(self.good))
        rung = value['rungs'][0]
        for name in ('fom_1_solve_flop_per_s', 'fom_100_solves_flop_per_s', 'fom_flop_per_s', 'points_per_s', 'seconds_per_unit', 'window_seconds', 'windows', 'spread', 'solves'):
            rung.pop(name, None)
        end = {'name': 'reaches the tolerance', 'held': False, 'value': 1.0, 'bound': 0.0, 'convergence': True}
        rung['checks'].append(end)
        for verdict, wrong, text in (('NOT CONVERGED', [], 'its verdict is NOT CONVERGED'), ('INVALID', [], 'its checks say'),
                                     ('NOT CONVERGED', [{**end, 'name': 'sum', 'convergence': False}], 'its checks say')):
            with self.subTest(verdict):
                value['verdict'] = rung['verdict'] = verdict
                write('end.json', {**value, 'rungs': [{**rung, 'checks': rung['checks'] + wrong}]})
                self.assertRegex('; '.join(faults('end.json')), text)
        value['verdict'] = rung['verdict'] = 'NOT CONVERGED'
        value['rungs'].append({**self.good['rungs'][0], 'name': 'other'})
        write('end.json', value)
        pages = [['report', 'end.json', '--output', 'end.html']] if importlib.util.find_spec('matplotlib') else []
        for words in (['table', 'end.json'], *pages, ['verify', 'end.json']):
            with self.subTest(words[0]), contextlib.redirect_stdout(io.StringIO()) as said:
                cli.main(words)
            self.assertIn('NOT CONVERGED', said.getvalue() if words[0] != 'report' else pathlib.Path('end.html').read_text())

    def test_invalid(self):
        self.assertEqual(faults('invalid.json'), ['consistent, and its verdict is INVALID'])
        write('edited.json', {**disk.parse('invalid.json'), 'verdict': 'VALID'})
        self.assertTrue(any('verdict is VALID, its rungs say INVALID' in line for line in faults('edited.json')))


class Runs(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        standin('bin', '--json', 'nekbone.json', '--nonce', 'n1')
        standin('bin', '--json', 'ladder-nekbone.json', '--nonce', 'n1', '--ladder')
        cls.good = run_of('n1', 'nekbone', 'ladder-nekbone')

    def test_good(self):
        disk.save('run.json', self.good)
        self.assertEqual(faults('run.json'), [])

    def test_edits(self):
        for path, new, text in RUN_EDITS:
            value = changed(self.good, path, new)
            disk.save('run.json', value)
            with self.subTest(str(path)):
                said = faults('run.json')
                self.assertTrue(any(text in line for line in said), said)

    def test_lacks(self):
        """What a result lacks to be official is no fault. run --official itself has the windows that are asked for."""
        for app in results.APPS:
            standin('bin', '--json', f'{app}.json', '--nonce', 'n1', '--window', '10', '--warm-up', '3', app=app)
        good = run_of('n1', *results.APPS, official=True, size='small')
        for path, new, text in LACKS:
            disk.save('run.json', changed(good, path, new) if path else good)
            with self.subTest(text), contextlib.redirect_stdout(io.StringIO()) as out:
                status = cli.main(['verify', 'run.json', '--nonce', 'n1'])
            self.assertIn(text, out.getvalue())
            self.assertEqual(status, 0)
        standin('bin', '--json', 'nekbone.json', '--nonce', 'n1')
        disk.save('run.json', run_of('n1', *results.APPS, official=True, size='small'))
        with contextlib.redirect_stdout(io.StringIO()) as out:
            cli.main(['verify', 'run.json'])
        self.assertIn("lacks 5 windows of 10 s (nekbone), a warm-up of 3 s (nekbone), the buyer's nonce", out.getvalue())


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
        values = {'nekbone': disk.parse('nekbone.json')}
        values['run'] = run_of('n1', 'nekbone')
        values['run']['environment']['gpus'] = [{'name': 'H200', 'power.limit': '700.00 W'}]
        write('nekbone.json', values['nekbone'])
        for name, value in values.items():
            for k, path in enumerate(paths(value)):
                texts = HOSTILE[k % len(HOSTILE)], HOSTILE[(k // 3) % len(HOSTILE)]
                for text in texts if 'RT_CHECK_LONG' in os.environ else texts[:1]:
                    with self.subTest(f'{name} {path} {text[:20]}'):
                        write(f'{name}.json', changed(value, path, '@'))
                        data = pathlib.Path(f'{name}.json').read_text().replace('"@"', text)
                        pathlib.Path(f'{name}.json').write_text(data)
                        self.both(name)
            write(f'{name}.json', value)

    def test_files(self):
        """A folder with pipes, devices, folders, names that lead elsewhere, and more than memory holds: nothing of it is
        waited for, and a file that is not a result's own does not count."""
        standin('bin', '--json', 'nekbone.json', '--nonce', 'n1')
        run = run_of('n1', 'nekbone')
        os.rename('nekbone.json', 'outside.json')
        signal.alarm(600)
        makes = (lambda path: os.symlink('/dev/zero', path), os.mkfifo, os.mkdir,
                 lambda path: pathlib.Path(path).touch() or os.truncate(path, 5 << 30))
        for name, make in [(name, make) for name in ('nekbone.json', 'run.json') for make in makes]:
            shutil.rmtree('sent', ignore_errors=True)
            os.mkdir('sent')
            shutil.copy('outside.json', 'sent/nekbone.json')
            disk.save('sent/run.json', run)
            os.remove(f'sent/{name}')
            make(f'sent/{name}')
            for command in ('verify', 'compare'):
                with self.subTest(f'{name} {command}'), contextlib.redirect_stdout(io.StringIO()) as out, \
                        contextlib.redirect_stderr(out):
                    status = cli.main([command, 'sent'])
                    self.assertNotIn('fault of the suite', out.getvalue())
                    if command == 'verify' and name == 'nekbone.json':
                        self.assertEqual(status, 1)
                        self.assertIn('nekbone.json: not the file that the run wrote', out.getvalue())
        for name in ('/dev/zero', '../outside.json', '', '.', 'sent/nekbone.json'):
            disk.save('run.json', changed(run, ('steps', 0, 'json'), name))
            self.assertIn('is no name of a file in this folder', ' '.join(faults('run.json')))
        signal.alarm(0)

    def both(self, name):
        for command in (['verify', f'{name}.json'], ['compare', '.', 'nekbone.json']):
            with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
                self.assertIn(cli.main(command), (0, 1, 2, 3))
            self.assertNotIn('fault of the suite', out.getvalue())
            self.assertNotIn('\x1b', out.getvalue())


class Accepted(unittest.TestCase):
    def test_problem(self):
        """The problem and its credited work follow from the programs here."""
        there, here = program(), program()
        self.assertEqual(list(accept.compare_problem(there, here)), [])
        there.options.update(degree='5', size='other')
        there.rungs[0].credited_flop_per_unit *= 3
        degree, credited = accept.compare_problem(there, here)
        self.assertEqual(degree, '--degree is 5 there, and 9 by its size and defaults')
        self.assertIn('a unit is credited with', credited)
        here.rungs[0].verdict = 'UNSTEADY'
        self.assertEqual(accept.row_of(there, here).wrong, [degree, credited])  # whatever disturbed the times

    def test_words(self):
        run = results.Run(**sample('run'))
        self.assertEqual(accept.problem(program(), run)[:2], ['--size', 'small'])
        run.size = 'full'
        self.assertTrue(accept.problem(program(), run)[0].startswith('--elements='))


class Commands(unittest.TestCase):
    def test_types(self):
        self.assertEqual(cli.counts('4,1,2,2'), [1, 2, 4])
        for kind, text in ((cli.count, '0'), (cli.count, '1.5'), (cli.seconds, 'nan'), (cli.seconds, '-1')):
            with self.subTest(text), self.assertRaises(ValueError):
                kind(text)
        self.assertEqual([cli.minutes(s) for s in (119, 600, 9000)], ['119 s', '10 min', '2.5 h'])


if __name__ == '__main__':
    unittest.main()
