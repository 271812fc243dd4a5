"""Which class a source file is of, and the tier of a release that was changed; the lessons and their files."""
import os
import pathlib
import subprocess
import unittest
from unittest import mock

from helper import SOURCE, InFolder

from rooftop_suite import lessons, results, source, tasks

CLASSES = {
    'protected': ('apps/nekbone/app.c', 'apps/nekbone/problem.c', 'apps/nekbone/solve.c', 'apps/nekbone/work.c',
                  'apps/nekbone/judge/verify.c', 'apps/gfnn-wave/judge/oracle.c', 'apps/alya-rhs/input/read.c',
                  'apps/gfnn-wave/cpu/reference.c', 'apps/gfnn-wave/cpu/predict_reference.c', 'inputs/nekbone/case.txt',
                  'common/judge/verify.c', 'common/driver/main.c', 'common/measure/ceiling.c', 'common/machine/timer.c',
                  'common/machine/energy.h', 'common/io/json.c', 'common/base/sha256.c', 'common/app/ladder.c',
                  'common/mesh/gmsh.c', 'tools/rooftop', 'tools/rooftop_suite/verify.py', 'tools/rooftop_suite/page.html'),
    'rungs': ('apps/nekbone/cpu/jammed.c', 'apps/nekbone/cuda/fused.cu', 'apps/nekbone/kokkos/kokkos.cpp',
              'apps/nekbone/openacc/openacc.c', 'apps/nekbone/ladder.def', 'apps/nekbone/kernel.h',
              'apps/gfnn-wave/precond.c', 'apps/alya-rhs/patches.h'),
    'glue': ('configure.ac', 'Makefile.am', 'bootstrap', 'm4/rt_cuda.m4', 'common/machine/memory.c',
             'common/machine/device.c', 'common/machine/kokkos.cpp', 'common/halo/exchange.c', 'common/base/mem.c',
             'common/tune/search.c', 'apps/nekbone/nekbone.h', 'apps/nekbone/local.mk'),
    None: ('README.md', 'docs/run-rules.md', 'tests/nekbone/cli.sh', 'tools/coverage', 'apps/nekbone/README.md',
           'apps/alya-rhs/picture.png', 'common/judge/verify.o',
           'tools/rooftop_suite/__pycache__/cli.pyc')}


class Classes(unittest.TestCase):
    def test_classes(self):
        for wanted, paths in CLASSES.items():
            for path in paths:
                with self.subTest(path):
                    got = source.class_of(path) if path.split('/')[0] in source.FOLDERS + source.TOP else None
                    self.assertEqual(got, wanted)

    def test_every_file(self):
        """Every source file of an app and of common/ is of some class."""
        for folder in ('apps', 'common'):
            for path in (SOURCE / folder).rglob('*.[ch]*'):
                self.assertIsNotNone(source.class_of(str(path.relative_to(SOURCE))), path)

    def test_tier(self):
        self.assertEqual([source.tier_of(paths) for paths in (
            [], ['README.md'], ['common/halo/plan.c'], ['common/halo/plan.c', 'apps/nekbone/cpu/x.c'],
            ['apps/nekbone/cpu/x.c', 'common/judge/verify.c'])], ['baseline', 'baseline', 'ported', 'optimised', 'invalid'])


class Releases(InFolder):
    def put(self, path, text):
        os.makedirs(os.path.dirname(os.path.join('tree', path)), exist_ok=True)
        pathlib.Path('tree', path).write_text(text)

    def test_release(self):
        """A build in the source folder changes nothing, an edit of the source does."""
        for path in ('configure.ac', 'configure', 'Makefile.in', 'build-aux/depcomp', 'common/driver/main.c', 'common/halo/plan.c', 'apps/nekbone/cpu/jammed.c'):
            self.put(path, 'as released\n')
        self.put(source.MANIFEST, source.manifest('tree'))
        cases = (('common/driver/main.o', 'baseline'), ('common/librooftop.a', 'baseline'),
                 ('common/rooftop.pc', 'baseline'), ('apps/nekbone/judge/verify.o', 'baseline'),
                 ('build-aux/depcomp', 'ported'),
                 ('configure', 'ported'), ('common/halo/plan.c', 'ported'),
                 ('apps/nekbone/cpu/new.c', 'optimised'), ('common/driver/main.c', 'invalid'))
        for path, expected in cases:  # each in addition to those before it
            self.put(path, 'made or changed\n')
            self.assertEqual(source.judge_tree('tree')[1], expected, path)


class Clones(InFolder):
    def git(self, *words):
        subprocess.run(['git', '-C', 'clone', '-c', 'user.name=x', '-c', 'user.email=x@x', *words], check=True,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def test_hidden(self):
        """Files are compared with the commit, whatever git was told to overlook."""
        paths = ('configure.ac', 'common/driver/main.c', 'apps/nekbone/work.c', 'tools/rooftop')
        for path in paths:
            os.makedirs(os.path.dirname(os.path.join('clone', path)), exist_ok=True)
            pathlib.Path('clone', path).write_text('as committed\n')
        self.git('init', '-q')
        self.git('add', '.')
        self.git('commit', '-q', '-m', 'all')
        pathlib.Path('clone', 'configure').write_text('made by ./bootstrap\n')
        clean, tier = source.judge_tree('clone')
        self.assertEqual((clean.changed, tier), ([], 'baseline'))
        self.assertEqual(source.sha256(source.tree_at('clone', clean.commit)), clean.tree_sha256)
        self.git('update-index', '--assume-unchanged', paths[1])
        self.git('update-index', '--skip-worktree', paths[2])
        for path in paths[1:3]:
            pathlib.Path('clone', path).write_text('changed\n')
        what, tier = source.judge_tree('clone')
        self.assertEqual((what.changed, tier), (sorted(paths[1:3]), 'invalid'))
        with mock.patch.object(source, 'source_tree', lambda: 'clone'):
            self.assertIn(b'+++ b/apps/nekbone/work.c\n@@ -1 +1 @@\n-as committed\n+changed\n', source.diff())


class Lessons(unittest.TestCase):
    def test_fit(self):
        """Every rung has a lesson and every lesson a rung; the files and functions that they name are there."""
        for app in results.APPS:
            self.assertEqual(lessons.problems(app, str(SOURCE)) + tasks.problems(app, str(SOURCE)), [])

    def said(self, change):
        """Returns what is wrong with nekbone once its ladder is changed."""
        rungs = change(lessons.ladder('nekbone', str(SOURCE)))
        with mock.patch.object(lessons, 'ladder', lambda app, tree: rungs):
            return lessons.problems('nekbone', str(SOURCE))

    def test_missing(self):
        self.assertEqual(self.said(lambda rungs: rungs + [rungs[0]._replace(name='fresh')]),
                         ['nekbone: fresh is in ladder.def and has no lesson'])
        self.assertEqual(self.said(lambda rungs: [rung for rung in rungs if rung.name != 'vector']),
                         ['nekbone: vector has a lesson and is not in ladder.def'])
        with mock.patch.object(lessons, 'own', lambda rung: 'apps/nekbone/cpu/vector.c'):
            self.assertIn('nekbone: scalar: apps/nekbone/cpu/vector.c: no function element to take out',
                          lessons.problems('nekbone', str(SOURCE)))

    def test_own(self):
        rungs = {rung.name: rung for rung in lessons.ladder('nekbone', str(SOURCE))}
        self.assertEqual(lessons.own(rungs['cpu-fused']), 'apps/nekbone/cpu/cpu_fused.c')
        self.assertEqual(lessons.own(rungs['kokkos']), 'apps/nekbone/kokkos/kokkos.cpp')

    def test_take_out(self):
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
        left = lessons.take_out(text, ['one', 'TWO', 'three'], 'x.cu')
        for word in ('other', 'first', 'second', 'return 3'):
            self.assertNotIn(word, left)
        self.assertIn('/* void one(int a) {} */', left)
        self.assertEqual((left.count('to write'), left.count('return {};')), (3, 1))


if __name__ == '__main__':
    unittest.main()
