"""The lessons as pages, notebook and slides; their drawings; and their figures, none of which is typed by hand."""
import json
import re
import unittest
from unittest import mock

import helper
from helper import SOURCE
from rooftop_suite import drawings, figures, lesson_page, lessons, notebook, recorded, results, slides, tasks

LESSONS = SOURCE / 'docs' / 'lessons'


class Pages(unittest.TestCase):
    def setUp(self):
        self.lesson = helper.lesson()

    def test_markdown_is_short_and_has_no_absent_rung(self):
        """A class without GPUs does not read nine times that a rung did not run; diffs are of functions, not of files."""
        some = [one.name for one in self.lesson.pages if one.kind == 'cuda']
        for one in self.lesson.pages:
            if one.name in some:
                one.rung, one.absent = None, 'this build has no CUDA'
        text = lesson_page.markdown(self.lesson)
        self.assertLess(len(text), 80000)
        self.assertEqual(text.count('this build has no CUDA'), 1)
        self.assertNotIn('## 6. global', text)
        self.assertIn('What changed since scalar', text)
        self.assertNotIn('+const nek_kernels_t', text)  # part of the file, and of no function
        page, _ = lesson_page.html(self.lesson)
        self.assertLess(page.index('The whole climb'), page.index('1. reference'))
        self.assertEqual(page.count('this build has no CUDA'), 1)

    def test_no_share_that_cannot_be(self):
        for app in ('nekbone', 'gfnn-wave'):
            lesson = helper.lesson(app)
            for rung in lesson.result.rungs:
                rung.share_bandwidth = 28.54
            page, _ = lesson_page.html(lesson)
            shares = [float(share) for share in re.findall(r'([\d.]+)[ \u00a0]% of (?:bandwidth|FP)', page)]
            self.assertTrue(shares and max(shares) <= 102, shares)
        self.assertEqual(lesson_page.sane('timer  GB/s  GFlop/s  ceiling\n  shift  100  36.12  5.64  126.9 %\n  ax  1  2.0  29.57'
                                          '  49.2 %'), 'timer  GB/s  GFlop/s  ceiling\n  shift  100  in a cache\n  ax  1  2.0'
                         '  29.57  49.2 %')

    def test_questions_have_the_ceilings_of_this_machine(self):
        result = self.lesson.result
        with mock.patch.object(result, 'bandwidth', lambda processor: (25e9, 'copy')), \
                mock.patch.object(result, 'fma', lambda processor, what: 59e9):
            self.assertEqual(lesson_page.here('4300 GB/s and 33.4 TFlop/s, or 23 GB/s?', result, 'cpu'),
                             '25.0 GB/s (H200: 4300 GB/s) and 59.0 GFlop/s (H200: 33.4 TFlop/s), or 23 GB/s?')

    def test_words_for_waiting(self):
        rung = next(one.rung for one in self.lesson.pages if one.kind == 'cpu' and one.rung)
        rung.share_bandwidth = rung.share_flops = 0.2
        self.assertNotIn('launches', lesson_page.limiter(rung, 1))
        self.assertNotIn('other threads', lesson_page.limiter(rung, 1))
        self.assertIn('other threads', lesson_page.limiter(rung, 4))

    def test_notebook_and_slides(self):
        made = json.loads(notebook.notebook(self.lesson, '/x/nekbone', ['--device=cpu']))
        self.assertEqual((made['nbformat'], len({one['id'] for one in made['cells']})), (4, len(made['cells'])))
        code = [''.join(one['source']) for one in made['cells'] if one['cell_type'] == 'code']
        self.assertEqual(code[1:-1], [f'run({one.name!r})' for one in self.lesson.here])
        compile(code[0], 'setup', 'exec')
        deck = slides.slides(self.lesson)
        self.assertEqual(deck.count('<section class="slide"'), len(self.lesson.here) + 2)
        self.assertNotRegex(deck, r'<script|src="http|href="http')


class Drawings(unittest.TestCase):
    def test_every_rung_has_one(self):
        """A rung that came without a drawing may lack one; a drawing that there is can be drawn."""
        for app in results.APPS:
            drawn = [lesson for lesson in lessons.read(app).of.values() if lesson.drawing]
            self.assertTrue(drawn)
            for lesson in drawn:
                self.assertIn('<svg', drawings.cells('x', lesson.drawing))
        self.assertIn('place', drawings.problem('mesh 8x8, a core per whole; attic: u'))
        self.assertIn('not "data', drawings.problem('mesh, a core'))

    def test_files_of_the_primer(self):
        """python3 -m rooftop_suite.drawings docs/lessons/drawings writes them."""
        for name, text in drawings.primer().items():
            self.assertEqual((LESSONS / 'drawings' / name).read_text(), text, name)
            self.assertIn(f'drawings/{name}', (LESSONS / 'primer.md').read_text())


class Figures(unittest.TestCase):
    def test_figures_are_those_recorded(self):
        """Every link to a recorded figure has its text: python3 -m rooftop_suite.recorded brings them up to date."""
        for app in results.APPS:
            text = (LESSONS / f'{app}.md').read_text()
            self.assertEqual(recorded.refreshed(text), text)
        self.assertRaises(Exception, recorded.text_of, 'nekbone.nothing')

    def test_figures_are_not_typed(self):
        """What was measured of nekbone's CUDA rungs comes from the recorded ladder; only they were converted so far."""
        for name, lesson in lessons.read('nekbone').of.items():
            if recorded.ladders()['nekbone'].rungs.get(name):
                self.assertNotRegex(' '.join(lesson.answer.split()), r'[Mm]easured:? \d')

    def test_compact(self):
        result = figures.Result(helper.program('ladder-nekbone'))
        with mock.patch.object(results, 'load', lambda path, kind: result.program), \
                mock.patch.object(recorded, 'sha256_of', lambda path: '0' * 64):
            made = recorded.compact('x')
        first = next(rung for rung in result.rungs if rung.fom)
        self.assertAlmostEqual(made['rungs'][first.name][0], first.seconds, delta=1e-4 * first.seconds)


class Starters(unittest.TestCase):
    def test_enough(self):
        """Six exercises for a CPU, ten for a GPU, and one per app about the halo have a starter, steps and three hints."""
        kinds = []
        for app in results.APPS:
            found = [tasks.find(app, name, str(SOURCE)) for name in tasks.names(app, str(SOURCE))]
            self.assertTrue(any(task.name == 'halo' and task.ranks > 1 for task in found))
            kinds += [task.rung.kind for task in found if task.starter and task.ranks == 1]
        self.assertGreaterEqual(kinds.count('cpu'), 6)
        self.assertGreaterEqual(kinds.count('cuda'), 10)


if __name__ == '__main__':
    unittest.main()
