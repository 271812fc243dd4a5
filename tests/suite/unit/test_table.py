"""Archives stand for their folders and reach nothing else; the table of machines, and its page."""
import io
import os
import pathlib
import tarfile
import unittest
import zipfile
from argparse import Namespace
from importlib.util import find_spec
from unittest import mock

from helper import InFolder, sample

from rooftop_suite import Fault, results, without_empty
from rooftop_suite.course import climb
from rooftop_suite.measure import machine, programs
from rooftop_suite.results import disk, table
from rooftop_suite.results.collect import found


class Packed(InFolder):
    def setUp(self):
        disk.unpacked.cache_clear()
        os.makedirs('one', exist_ok=True)
        run = sample('run')
        for step in run['steps']:
            disk.save(f'one/{step["json"]}', sample(step['name']))
            step['sha256'] = disk.sha256_of(f'one/{step["json"]}')
        disk.save('one/run.json', run)

    def test_an_archive_is_its_folder(self):
        here = [row._replace(result='') for row in found(['one'])[0]]
        for name, mode in (('one.tar.gz', 'w:gz'), ('one.tgz', 'w:gz'), ('one.tar.xz', 'w:xz')):
            with tarfile.open(name, mode) as tar:
                tar.add('one')
        with zipfile.ZipFile('one.zip', 'w', zipfile.ZIP_DEFLATED) as archive:
            for path in pathlib.Path('one').iterdir():
                archive.write(path)
        before = sorted(os.listdir())
        for name in ('one.tar.gz', 'one.tgz', 'one.tar.xz', 'one.zip'):
            self.assertEqual([row._replace(result='') for row in found([name])[0]], here)
            self.assertEqual(results.load(f'{name}/nekbone.json', results.Program).program, 'nekbone')
        self.assertEqual(sorted(os.listdir()), before)
        self.assertRegex(table.twice(found(['one', 'one.zip'])[0])[0], '^one and one.zip are not two machines')
        self.assertEqual(table.twice(found(['one'])[0]), [])
        pathlib.Path('cut.tar.xz').write_bytes(pathlib.Path('one.tar.xz').read_bytes()[:900])
        with mock.patch.object(disk, 'MOST_UNPACKED', 1000), self.assertRaisesRegex(Fault, 'more than 0 MiB'):
            disk.unpacked.cache_clear()
            found(['one.zip'])
        self.assertRaisesRegex(Fault, 'not an archive of one result folder', found, ['cut.tar.xz'])

    def test_a_folder_without_runs_of_apps(self):
        run = disk.parse('one/run.json')
        disk.save('one/run.json', {**run, 'steps': [{**step, 'name': f'paper-{step["name"]}'} for step in run['steps']]})
        self.assertIn('paper-nekbone', {row.run for row in found(['one'])[0]})
        if find_spec('jinja2'):
            from rooftop_suite.pages import report
            self.assertRaisesRegex(Fault, 'no run of an app in it', report.main, Namespace(folder='one', more=[], output=None))

    def test_nothing_else_is_read_or_written(self):
        """A link, and names that lead elsewhere: none is followed, and two folders are no result."""
        pathlib.Path('secret.json').write_text('{}')
        with tarfile.open('bad.tar.gz', 'w:gz') as tar:
            tar.add('one/run.json', 'one/run.json')
            for name, link in (('one/nekbone.json', '../secret.json'), ('one/../../x', ''), ('/tmp/rooftop-x', '')):
                member = tarfile.TarInfo(name)
                member.type, member.linkname = (tarfile.SYMTYPE, link) if link else (tarfile.REGTYPE, '')
                tar.addfile(member, io.BytesIO())
        self.assertEqual(list(disk.unpacked('bad.tar.gz')), ['run.json'])
        self.assertFalse(disk.exists('bad.tar.gz/nekbone.json') or os.path.exists('/tmp/rooftop-x') or os.path.exists('../x'))
        with tarfile.open('two.tar.gz', 'w:gz') as tar:
            tar.add('one', 'a')
            tar.add('one', 'b')
        self.assertRaises(OSError, disk.unpacked, 'two.tar.gz')

    def test_prices_and_empty_columns(self):
        rows = table.priced(found(['one'])[0], ['one=2000'])
        fom = rows[0].fom_gflop_per_s
        self.assertIn(f'{fom / 2:.4g}', table.shown(rows[0]))
        big = table.shown(rows[0]._replace(fom_gflop_per_s=14665.8, seconds_per_unit=1.126e-4))
        self.assertEqual(big[table.HEADS.index('GFlop/s'):][:2], ['14,666', '112.6 us'])
        for wrong in ('two=5', 'one=0', 'one=dear', 'one'):
            self.assertRaisesRegex(Fault, 'not RESULT=PRICE', table.priced, rows, [wrong])
        self.assertEqual(without_empty(['a', 'b', 'c'], [['x', '-', '1'], ['y', '', '-']], 2), (['a', 'c'], [['x', '1'], ['y', '-']], 1))

    @unittest.skipUnless(find_spec('jinja2'), 'no Jinja2')
    def test_page(self):
        from rooftop_suite.pages import machines
        rows = table.priced(found(['one'])[0], ['one=300000'])
        of = machines.shares_of(rows)['nekbone']
        fastest = max((row for row in rows if row.run == 'ladder' and row.app == 'nekbone'), key=lambda row: row.fom_gflop_per_s or 0)
        self.assertEqual((of[0][1].rung, of[0][2]), ('kokkos', fastest))
        self.assertAlmostEqual(of[0][0], of[0][1].fom_gflop_per_s / fastest.fom_gflop_per_s)
        some = table.ordered(rows, False)
        page = machines.page(some, rows, table.HEADS, [table.shown(row) for row in some], ['a <note>'])
        for text in ('1 result, ', 'price 300,000', 'size small', 'not official', rows[0].host, 'Portability', 'a &lt;note&gt;', 'per 1000 of price'):
            self.assertIn(text, page)


class Caches(unittest.TestCase):
    def test_a_lesson_takes_a_problem_beyond_the_caches(self):
        for cache, fits in ((20 << 20, True), (10 << 20, False), (0, False)):
            with mock.patch.object(machine, 'last_cache', lambda: cache), mock.patch.object(
                    programs, 'preview', lambda command: programs.Preview('host 60.0 MiB of 1 GiB free', {})):
                self.assertEqual(climb.fits_caches('nekbone', []), fits)


if __name__ == '__main__':
    unittest.main()
