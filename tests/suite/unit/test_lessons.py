"""The lessons as pages and slides, and their drawings."""
import importlib
import re
import sys
import unittest
from importlib.util import find_spec
from unittest import mock

import helper
from helper import SOURCE
from rooftop_suite import Fault, results
from rooftop_suite.course import drawings, lesson_page, lessons
from rooftop_suite.pages import plots
from test_explain import WORK

needs_packages = unittest.skipUnless(find_spec('jinja2'), 'no Jinja2')
without_plots = mock.patch.object(plots, 'missing', lambda: 'No plots in this test: they take seconds.')


class Pages(unittest.TestCase):
    def setUp(self):
        self.lesson = helper.lesson()

    @needs_packages
    def test_pages_are_small(self):
        """Below 160 KB on a machine that runs every rung, with code and without a word that is lost."""
        whole = helper.whole_lesson('gfnn-wave')  # the longest ladders
        page = lesson_page.html(whole)
        self.assertLess(len(page.encode()), 160000)
        self.assertIsNone(re.search(r'\.json#|{{[^}]*\|', page))  # links to figures have become their text
        self.assertEqual(page.count('id="rung-'), len(whole.pages))
        code = re.findall('What changed since|The functions to look at', page)
        self.assertGreaterEqual(len(code), len(whole.pages) / 2)
        for one in whole.pages:
            words = re.findall(r'\w{5,}', one.lesson.answer.partition('[')[0])
            self.assertTrue(all(word in page for word in words), one.name)

    def test_long_code(self):
        one = next(one for one in self.lesson.pages if one.name == 'layered')
        title, lines = one.code()
        self.assertEqual((title, len(lines)), ('The functions to look at', lesson_page.MOST_CODE + 1))
        self.assertRegex(lines[-1], r'\d+ lines more are in apps/nekbone/cuda/layered.cu')

    def test_diffs(self):
        """A diff where two rungs have much in common, else the functions."""
        by_name = {one.name: one for one in helper.lesson('gfnn-wave').pages}
        title, lines = by_name['atomic'].code()
        self.assertEqual(title, 'What changed since coloured')
        self.assertTrue(any(line.startswith('+') and 'atomicAdd' in line for line in lines))
        self.assertFalse(by_name['node'].changed)
        self.assertIn('climb', by_name['node'].functions)

    def test_what_lessons_look_at(self):
        """Every name to look at is in the rung's source, or in a source that the lesson links."""
        for app in results.APPS:
            known, rungs = lessons.read(app).of, lessons.ladder(app)
            for rung in rungs:
                lesson = known[rung.name]
                text = ''.join(lessons.text_of(SOURCE / path) for path in
                               (lessons.own(rung), *lessons.looked_at(rung, lesson)))
                for name in lessons.code_in(lesson.look):
                    if name.isidentifier() and name not in (other.name for other in rungs):
                        self.assertTrue(name in text, f'{app} {rung.name}: {name} is not in what is linked')

    @needs_packages
    @without_plots
    def test_class_without_gpu(self):
        """A class without GPUs does not read nine times that a rung did not run; code is of functions, not of files."""
        for one in self.lesson.pages:
            if one.kind == 'cuda':
                one.rung, one.absent = None, 'this build has no CUDA'
        page = lesson_page.html(self.lesson)
        self.assertNotIn('6. global', page)
        self.assertNotIn('const nek_kernels_t', page)  # part of the file, and of no function
        self.assertLess(page.index('The whole climb'), page.index('1. reference'))
        self.assertEqual(page.count('this build has no CUDA'), 1)

    @needs_packages
    @without_plots
    def test_no_share_that_cannot_be(self):
        for app in ('nekbone', 'gfnn-wave'):
            lesson = helper.lesson(app)
            for rung in lesson.result.rungs:
                rung.share_bandwidth = 28.54
            page = lesson_page.html(lesson)
            shares = [float(share) for share in re.findall(r'([\d.]+)[ \u00a0]% of (?:bandwidth|FP)', page)]
            self.assertTrue(shares and max(shares) <= 102, shares)
        rung = self.lesson.result.rungs[0]
        rung.row.profile = [{'timer': f'a{name}', 'calls': 2, 'seconds': seconds, 'bytes': moved} for name, seconds, moved in (
            ('', 4.0, 0.0), ('/shift', 1.0, 1e15), ('/shift/deep', 0.5, 0.0), ('/ax', 3.0, 1.5e10))]
        rung.bandwidth = 1e10
        self.assertEqual([line.split() for line in lesson_page.timers(rung, self.lesson.result)[1:]],
                         ['25.0 % 500.0 ms in a cache shift'.split(), '75.0 % 1.5 s 50 % ax'.split()])
        self.lesson.result.program.ranks = 2  # calls and bytes are of both
        self.assertEqual(lesson_page.timers(rung, self.lesson.result)[2].split(), '75.0 % 3 s 50 % ax'.split())

    def test_questions_have_the_ceilings_of_this_machine(self):
        first = next(one for one in self.lesson.pages if one.name == 'reference')
        first.rung.bandwidth, first.rung.fma = 25e9, 59e9
        self.assertEqual(lesson_page.question(first, 'An H200 has 4300\nGB/s: and?'),
                         'An H200 has 4300\nGB/s: and? And on this machine, with 25.0 GB/s and 59.0 '
                         'GFlop/s?')
        self.assertEqual(lesson_page.question(first, 'How many bytes?'), 'How many bytes?')
        first.rung.row.bytes_per_unit, first.rung.row.flop_per_unit = 176.0, 154.0
        asked = 'An H200 has 4.3 TB/s and 33000\nGFlop/s'
        self.assertRegex(lesson_page.least(first.rung, asked), '0.875 flops per byte x 25.0 GB/s are 21.9 GFlop/s, .* memory is the limit here. ')
        first.rung.bandwidth = 118.5e9
        self.assertRegex(lesson_page.least(first.rung, asked), 'arithmetic is the limit here, and not memory as on')
        self.assertNotIn('and not', lesson_page.least(first.rung, 'How many bytes?'))

    def test_where_the_time_goes(self):
        """The first and the fastest rung of each ladder, with what to look for, which has no figure that is typed."""
        made = helper.sample('ladder-nekbone')
        made['rungs'] = [{**rung, 'work': WORK, 'seconds_per_unit': seconds} for rung, seconds in zip(made['rungs'], (3, 1, 2))]
        said = lesson_page.budgets(helper.lesson_of('nekbone', made))
        self.assertEqual(re.findall(r'^([\w-]+): ', said, re.M), [rung['name'] for rung in made['rungs'][:2]])
        for app in results.APPS:
            self.assertRegex(lessons.read(app).where, r'\w')

    def test_words_for_waiting(self):
        rung = next(one.rung for one in self.lesson.pages if one.kind == 'cpu' and one.rung)
        rung.share_bandwidth = rung.share_flops = 0.2
        self.assertNotIn('launches', lesson_page.limiter(rung, 1))
        self.assertNotIn('other threads', lesson_page.limiter(rung, 1))
        self.assertIn('other threads', lesson_page.limiter(rung, 4))
        rung.row.disturbed = ['a load']
        self.assertEqual(lesson_page.limiter(rung, 1), 'unknown: the machine was disturbed')

    @needs_packages
    def test_what_needs_a_package(self):
        """One line says what is to be installed; without plots a page is whole."""
        with mock.patch.dict(sys.modules, matplotlib=None), mock.patch.object(plots, 'complain') as said:
            plots.missing.cache_clear()
            self.assertIn('No plots: Matplotlib is missing', lesson_page.html(self.lesson))
            self.assertIn('apt install python3-matplotlib', said.call_args[0][0])
        plots.missing.cache_clear()
        del sys.modules['rooftop_suite.pages.page']
        with mock.patch.dict(sys.modules, jinja2=None), self.assertRaisesRegex(Fault, 'apt install python3-jinja2'):
            importlib.import_module('rooftop_suite.pages.page')
        importlib.import_module('rooftop_suite.pages.page')

    @needs_packages
    @without_plots
    def test_slides(self):
        deck = lesson_page.html(self.lesson, 'slides.html')
        self.assertEqual(deck.count('<section class="slide"'), 2 * len(self.lesson.here) + 2)
        self.assertNotRegex(deck, r'<script|src="http|href="http')


class Drawings(unittest.TestCase):
    def test_every_rung_has_one(self):
        for app in results.APPS:
            for name, lesson in lessons.read(app).of.items():
                self.assertIn('<svg', drawings.parsed(lesson.drawing).svg, f'{app} {name}')
        for text, said in (('mesh 8x8, a core per whole; attic: u', 'place'), ('mesh, a core', 'not "data')):
            self.assertRaisesRegex(Fault, said, drawings.parsed, text)

    def test_a_new_app_has_a_lesson(self):
        for section in lessons.text_of(SOURCE / 'tools/rooftop_suite/template/lesson.md').split('\n## ')[1:]:
            drawings.parsed(lessons.lesson_in(section.partition('\n')[2], 'template').drawing)
