"""Figures of pages: those of the records, or of a calculation, or excused in unquoted.txt."""
import fnmatch
import json
import pathlib
import re
import shutil
from unittest import mock

import helper
from helper import SOURCE
from rooftop_suite.pages import quoted
from rooftop_suite.results import papers

EXCUSED = [line.split('\t') for line in (SOURCE / 'tests/suite/unit/unquoted.txt').read_text().splitlines() if line[0] != '#']
NEKBONE = 'docs/reference/h200/ladder-nekbone.json'


class Pages(helper.InFolder):
    def test_pages_and_records(self):
        """make docs fills the pages in. What they quote is run: the official run, inputs/record.json or a paper's."""
        steps, loose = json.loads((SOURCE / 'inputs/record.json').read_text()), []
        steps |= {step: text for name in papers.names() for step, text in papers.read(name).steps('paper', True).items()}
        for page in quoted.pages():
            text = (SOURCE / page).read_text()
            self.assertTrue(quoted.filled(f'{SOURCE}/{page}', text) == text, f'{page} differs from its records: make docs')
            self.assertNotRegex(text, rf'(?m)^[^|\n]*\[{quoted.DASH}\]\([^)]*#', f'{page}: nothing is recorded of it')
            for _, path, _ in quoted.LINK.findall(text):
                self.assertRegex(path, rf'/((peak-|ladder-)?({"|".join(quoted.results.APPS)})|{"|".join(steps)})\.json$')
            loose += [(page, *found) for found in quoted.loose(text)]
        excused = [{i for i, (pages, pattern, _) in enumerate(EXCUSED) if fnmatch.fnmatch(page, pages) and re.search(pattern, figure)}
                   for page, _, figure, _ in loose]
        self.assertEqual([f'{page}:{line}: {figure} {what}' for (page, line, figure, what), by in zip(loose, excused) if not by], [])
        self.assertEqual(set().union(*excused), set(range(len(EXCUSED))), 'lines of unquoted.txt that excuse nothing')
        for fragment in ('nothing', 'onepass.nothing', 'onepass/nothing', 'onepass:nothing', 'onepass .fom'):
            self.assertEqual(quoted.text_of(f'{SOURCE}/{NEKBONE}', fragment), quoted.DASH)

    def test_what_is_loose(self):
        """A planted figure is found, in running text, in a table, and as a calculation."""
        for text, count in (('It takes 417\nus.', 1), ('| rung | us |\n|---|---|\n| `a` | 4.7, 9 |', 2), ('417x', 1), ('`1 us`', 0),
                            ('2 GB / 4 GB/s = 417 ms', 1), ('2.31 GB / 4440 GB/s = 520 us; so 520 us', 0),
                            ('20 + 8 x 3 - 4 = 40 MB', 0), (f'[1 us]({NEKBONE}#a), 1 us', 0)):
            self.assertEqual(len(list(quoted.loose(text))), count, text)

    def test_a_page_that_moved_is_named(self):
        """By more than twice the noise; less is filled in without a word."""
        shutil.copytree(SOURCE / 'docs/reference', 'docs/reference')
        time = quoted.text_of(NEKBONE, 'onepass')
        for page, folder, factor in (('README.md', 'docs/', 1.015), ('docs/a.md', '', 1.3)):
            pathlib.Path(page).write_text(f'[{quoted.value(time) * factor * 1e6:.1f}\nus]({folder}{NEKBONE[5:]}#onepass)\n')
        with mock.patch.object(quoted, 'shipped', lambda name: name), mock.patch('builtins.print') as said:
            quoted.main()
        self.assertEqual([call[0][0][:24] for call in said.call_args_list], ['docs/a.md: read it again'])
        self.assertIn(f'[{time}]'.replace(' ', '\n'), pathlib.Path('README.md').read_text())
