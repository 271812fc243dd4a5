"""The papers' files: every row's run, rung and value exists; values, ratios and reasons on known numbers; docs/papers.md."""
import json
import unittest

from helper import SOURCE, InFolder, program

from rooftop_suite import Fault, results
from rooftop_suite.course import lessons
from rooftop_suite.pages import papers as pages
from rooftop_suite.results import Folder, papers

ROW = {'id': 'Fig. 1', 'quantity': 'global', 'unit': 'us', 'paper': {'machine': 'X', 'value': 4.0},
       'here': '1e6 * one:{}:seconds', 'why': 'because'}


def paper(*rows, **runs):
    """Returns a paper of these rows and runs, which is held against the schema."""
    every = {'one': {'app': 'nekbone', 'options': {'tiny': '--degree 3'}, 'gpu': False},
             'gpu': {'app': 'nekbone', 'options': {'tiny': '--degree 4'}, 'gpu': True}, **runs}
    made = papers.Paper('test', 'Title', 'Authors', 'Section', {'n': {'x': 'n', 'at': [1, 2]}}, every, list(rows), [])
    made.check()
    return made


class Shipped(unittest.TestCase):
    def test_rows(self):
        """read() holds each row against runs and schema; here its rungs are held against the ladders."""
        self.assertEqual(papers.names(), list(papers.ORDER))
        for name in papers.names():
            known = papers.read(name)
            apps = {run: text.split()[0] for size in papers.SIZES for run, text, _ in known.expanded(size)}
            for row in known.rows:
                for point in known.at(row):
                    for run, rung, _ in papers.TOKEN.findall((row.get('here') or '').replace('@', str(point))):
                        self.assertIn(rung, ['', *(one.name for one in lessons.ladder(apps[run]))], row)
            self.assertTrue(known.steps('paper', True).keys() > known.steps('paper', False).keys())
            self.assertTrue(0 < len(known.steps('tiny', True)) < 6)

    def test_document(self):
        self.assertEqual(papers.document(), (SOURCE / 'docs' / 'papers.md').read_text(), 'make docs')
        for path, text in pages.recorded().items():
            self.assertEqual(text, (SOURCE / path).read_text(), 'make docs')

    def test_loads_and_stores(self):
        """Counts of the source hang together: P is B with private arrays, a CPU loads and stores r where a GPU adds."""
        ours = {}
        for row in papers.read('alya').rows:
            if 'ours' in row:
                table, rung = row['id'], row['quantity'].split(':')[0]
                ours[table, rung] = ours.get((table, rung), 0) + row['ours']
        two = {rung: value for (table, rung), value in ours.items() if table == 'Table II'}
        self.assertEqual(two['B'], 24 + 1 + 12 + 9375)
        self.assertEqual(two['P'], two['B'])
        for rung in ('B', 'RS'):
            self.assertEqual(ours['Table I', rung], two[rung] + 12)
        self.assertEqual((two['RSP'], two['RSPR'], ours['Table I', 'RSP']), (37, 37, 37 + 12 + 72))


class Known(InFolder):
    def lines(self, made, size='tiny', **of):
        """Returns a folder with these results, {run: Program, or why it failed}."""
        steps = []
        for name, result in of.items():
            whole = isinstance(result, dict)
            text = json.dumps(result) if whole else ''
            with open(f'test-{name}.json', 'w', encoding='utf-8') as file:
                file.write(text)
            steps.append(results.Step(
                name=f'test-{name}', app='nekbone', command=['x'], state='done' if whole else 'failed', exit=0 if whole else 3,
                seconds=1.0, json=f'test-{name}.json', output='x.out', why='' if whole else result, attempts=1,
                sha256=papers.disk.sha256_of(f'test-{name}.json')))
        run = results.Run(steps=steps, environment={'cpu': 'X'}, settings={}, started='2026-11-29', ranks=1)
        papers.read_result.cache_clear()
        return papers.lines(made, Folder('.', run), size)

    def line(self, row, **of):
        return self.lines(paper(row), **of)[0]

    def setUp(self):
        self.result = program(seconds_per_unit=2e-6, verdict='VALID')
        self.rung = self.result.rungs[0].name
        self.row = {**ROW, 'here': ROW['here'].format(self.rung)}

    def test_value(self):
        line = self.line(self.row, one=self.result)
        self.assertAlmostEqual(line.here, 2.0)
        self.assertAlmostEqual(line.ratio, 0.5)
        self.assertEqual(pages.cells(line), ('global', '4 us, X', '2 us', '0.5', 'because'))
        unsteady = program(seconds_per_unit=2e-6, verdict='UNSTEADY')
        self.assertIn('2 us, unsteady', pages.cells(self.line(self.row, one=unsteady)))
        count = self.line({**self.row, 'here': f'one:{self.rung}:flop_per_unit'}, one=unsteady)
        self.assertTrue(count.here and not count.unsteady)
        unsteady |= {'rungs': [], 'roofline': [{'rung': self.rung, 'share': 2.0}], 'verdict': 'UNSTEADY'}
        self.assertTrue(self.line({**self.row, 'here': f'one:{self.rung}:share'}, one=unsteady).unsteady)

    def test_curve(self):
        row = {**self.row, 'here': f'r-@:{self.rung}:seconds / one:{self.rung}:seconds', 'along': 'n'}
        many = {'r': {'app': 'nekbone', 'options': {'tiny': '--degree {1:3,2:4}'}, 'gpu': False}}
        self.assertEqual(list(paper(row, **many).steps('tiny', False)), ['test-one', 'test-r-1', 'test-r-2'])
        of = {'one': self.result, 'r-1': program(seconds_per_unit=4e-6), 'r-2': program(seconds_per_unit=8e-6)}
        line = self.lines(paper(row, **many), **of)[0]
        self.assertEqual(line.values, {1: 2.0, 2: 4.0})
        self.assertAlmostEqual(line.here, 3.0)  # a mean beside the paper's value
        gain = {**row, 'unit': papers.MORE, 'paper': {'machine': '', 'value': None}}
        line = self.lines(paper(gain, **many), **of)[0]
        self.assertEqual({n: round(value) for n, value in line.values.items()}, {1: 100, 2: 300})
        self.assertEqual(pages.cells(line)[2], '+100.0 to +300.0 % more')

    def test_timer(self):
        row = {**self.row, 'here': f'@ * 1e-3 / one:{self.rung}:profile.mxm1', 'along': 'n'}
        self.assertEqual(self.line(row, one=self.result).why, f'{self.rung} has no profile.mxm1')
        self.result.rungs[0].profile = [{'timer': f'x/{name}', 'calls': 200, 'seconds': seconds, 'slowest_seconds': seconds,
                                         'bytes': 0.0} for name, seconds in (('mxm1', 0.1), ('mxm2', 0.2))]
        self.assertEqual(self.line(row, one=self.result).values, {1: 2.0, 2: 4.0})

    def test_reasons(self):
        for here, said in ((f'gpu:{self.rung}:seconds', 'needs a GPU'), ('one:none:seconds', 'none did not run'),
                           (f'one:{self.rung}:assembly_seconds', 'has no assembly_seconds')):
            line = self.line({**self.row, 'here': here}, one=self.result)
            self.assertIsNone(line.here)
            self.assertIn(f'not here: {"" if said[0] == "n" else self.rung + " "}{said}', pages.cells(line)[2])
        self.assertEqual(self.line(self.row, one='no memory').why, 'no memory')
        self.assertEqual(self.line(self.row).why, 'not run yet')
        self.assertEqual(self.lines(paper(self.row), size='long')[0].why, 'not at this size')
        unsteady = program(seconds_per_unit=2e-6, verdict='UNSTEADY')
        row = {**self.row, 'here': f'one:{self.rung}:assembly_seconds'}
        self.assertEqual(self.line(row, one=unsteady).why, f'{self.rung} is UNSTEADY')
        self.assertEqual(self.line({'id': 'x', 'quantity': 'q', 'not_here': 'no'}).why, 'no')

    def test_refused(self):
        for here, said in (('two:x:seconds', "no run 'two'"), ('one:x:none', "no result has 'none'"), ('one', 'is no RUN'),
                           ('one:x:seconds.none', 'no result has'),
                           ('one::ceilings_cpu.none', 'no result has'), ('one::cpux', 'no result has')):
            with self.subTest(here), self.assertRaisesRegex(Fault, f'test.json: Fig. 1, global: .*{said}'):
                paper({**self.row, 'here': here})
        with self.assertRaisesRegex(Fault, "no points 'm'"):
            paper({**self.row, 'along': 'm'})
        with self.assertRaisesRegex(Fault, 'not a whole row'):
            paper({'id': 'x', 'quantity': 'q'})
        with self.assertRaisesRegex(Fault, "no paper 'x'; known: karp"):
            papers.read('x')


if __name__ == '__main__':
    unittest.main()
