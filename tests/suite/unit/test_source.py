"""Which files of a release or a clone were changed; the lessons and their files."""
import os
import pathlib
import subprocess
import unittest
from unittest import mock

from helper import SOURCE, InFolder

from rooftop_suite import Fault, results
from rooftop_suite.course import drawings, lessons, tasks
from rooftop_suite.measure import source

class Releases(InFolder):
    def put(self, path, text):
        os.makedirs(os.path.dirname(os.path.join('tree', path)), exist_ok=True)
        pathlib.Path('tree', path).write_text(text)

    def test_release(self):
        """A build in the source folder changes nothing, an edit of the source does."""
        for path in ('configure.ac', 'configure', 'Makefile.in', 'build-aux/depcomp', 'common/driver/main.c', 'common/halo/plan.c', 'apps/nekbone/cpu/jammed.c'):
            self.put(path, 'as released\n')
        self.put(source.MANIFEST, source.manifest('tree'))
        cases = ('common/driver/main.o', 'build-aux/depcomp', 'configure', 'common/driver/main.c')
        for path in cases:
            self.put(path, 'made or changed\n')
        os.remove('tree/common/halo/plan.c')
        self.assertEqual(sorted(source.judge_tree('tree').changed), sorted(['common/halo/plan.c', *cases[1:]]))


class Clones(InFolder):
    def git(self, *words):
        subprocess.run(['git', '-C', 'clone', '-c', 'user.name=x', '-c', 'user.email=x@x', *words], check=True,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def test_changed(self):
        """What git says differs from the commit, but for documents and what a build left."""
        for path in ('configure.ac', 'apps/nekbone/work.c', 'README.md', 'common/old.c'):
            os.makedirs(os.path.dirname(os.path.join('clone', path)), exist_ok=True)
            pathlib.Path('clone', path).write_text('as committed\n')
        pathlib.Path('clone', '.gitignore').write_text('*.o\n')
        self.git('init', '-q')
        self.git('add', '.')
        self.git('commit', '-q', '-m', 'all')
        pathlib.Path('clone', 'common/main.o').write_text('made\n')
        clean = source.judge_tree('clone')
        self.assertEqual((clean.changed, clean.why, len(clean.commit or '')), ([], '', 40))
        for path in ('README.md', 'apps/nekbone/work.c', 'common/new.c'):
            pathlib.Path('clone', path).write_text('changed\n')
        os.remove('clone/common/old.c')
        what = source.judge_tree('clone')
        self.assertEqual(sorted(what.changed), ['apps/nekbone/work.c', 'common/new.c', 'common/old.c'])
        self.assertIn('neither', source.judge_tree('clone/apps').why)


def check_lesson(app, lesson, rung):
    """Fault or ValueError if something does not fit in the lesson on a rung."""
    if lesson.before:
        lessons.rung_of(app, lesson.before)
    if lesson.drawing:
        drawings.parsed(lesson.drawing)
    for path in (lessons.own(rung), lessons.source(rung, lesson)):
        lessons.text_of(SOURCE / path)


def problems(app):
    """Yields what does not fit together in the lessons of an app and its exercises, a line each."""
    known, rungs = lessons.read(app).of, {rung.name: rung for rung in lessons.ladder(app)}
    for name in [name for name in known if name in rungs]:
        try:
            check_lesson(app, known[name], rungs[name])
        except (Fault, ValueError) as fault:
            yield f'{app}: {name}: {fault}'
    for name in tasks.names(app):
        try:
            task = tasks.find(app, name)
            tasks.started(task)
            if len(task.hints) != 3 or not task.steps or not task.task:
                yield f'{app}: exercise {name}: needed are a task, steps and three hints'
        except Fault as fault:
            yield f'{app}: exercise {name}: {fault}'


class Lessons(unittest.TestCase):
    def test_fit(self):
        """The files and functions that the lessons name are there (tests/complete.py: every rung has a lesson)."""
        for app in results.APPS:
            self.assertEqual(list(problems(app)), [])

    def test_missing(self):
        with mock.patch.object(lessons, 'own', lambda rung: 'apps/nekbone/cpu/vector.c'):
            self.assertIn('nekbone: exercise scalar: scalar: element is not once in apps/nekbone/cpu/vector.c, and once in the '
                          'starter', list(problems('nekbone')))

    def test_own(self):
        rungs = {rung.name: rung for rung in lessons.ladder('nekbone')}
        self.assertEqual(lessons.own(rungs['cpu-fused']), 'apps/nekbone/cpu/cpu_fused.c')
        self.assertEqual(lessons.own(rungs['kokkos']), 'apps/nekbone/kokkos/kokkos.cpp')

    def test_bodies(self):
        text = '''/* void one(int a) {} */
static void one(const char *a) /* { */
{
    other(a, "}", '{');
}
#define TWO(a, b) \\
    first(a);     \\
    second(b)
int three(void) { one("3"); return 3; }
'''
        said = [text[begin:end] for name in ('one', 'TWO', 'three') for begin, end in lessons.bodies(text, name)]
        self.assertEqual([body.split()[0] for body in said], ['other(a,', '\\', 'one("3");'])
        self.assertIn('second(b)', said[1])
        self.assertTrue(lessons.functions(text, ['three']).startswith('/* void one'))


if __name__ == '__main__':
    unittest.main()
