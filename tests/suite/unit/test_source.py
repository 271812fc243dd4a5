"""What a release or a clone says of itself, and which of its files were changed; the lessons and their files."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest
from unittest import mock

from helper import SOURCE, InFolder

from rooftop_suite import Fault, results
from rooftop_suite.course import drawings, lessons, tasks
from rooftop_suite.measure import source
from rooftop_suite.results import records

TEXT = {'type': 'string', 'minLength': 1}


def members(names, **rules):
    """Returns the rule of an object with these members, those with a ! required: texts, but for those with a rule."""
    return {'type': 'object', 'required': [name[1:] for name in names.split() if name[0] == '!'], 'additionalProperties': False,
            'properties': {name.strip('!'): rules.get(name.strip('!').replace('-', '_'), TEXT) for name in names.split()}}


# What version 1.2.0 of the Citation File Format asks of the members that are here.
AUTHORS = {'type': 'array', 'minItems': 1, 'items': members('name given-names family-names')}
REFERENCE = members('!type !title !authors scope year month version doi conference institution identifiers', authors=AUTHORS,
                    type={'enum': ['article', 'conference-paper', 'report', 'slides']}, year={**TEXT, 'pattern': r'^\d{4}$'},
                    month={**TEXT, 'pattern': '^(1?[0-9])$'}, conference=members('!name'), institution=members('!name'),
                    identifiers={'type': 'array', 'items': members('!type !value')})
FILE = members('!cff-version !message !title !authors !version type date-released license abstract keywords references',
               cff_version={'const': '1.2.0'}, authors=AUTHORS, date_released={**TEXT, 'pattern': r'^\d{4}-\d{2}-\d{2}$'},
               keywords={'type': 'array', 'items': TEXT}, references={'type': 'array', 'items': REFERENCE})


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

    def test_number(self):
        """News and recipes have the number and the date; what writes results and what reads them have the schema's."""
        said = dict(re.findall(r"^(version|date-released): '?([^'\n]*)", (SOURCE / 'CITATION.cff').read_text(), re.M))
        self.assertIn(f"\n## {said['version']} ({said.get('date-released', 'not released')})\n", (SOURCE / 'NEWS.md').read_text())
        for path in ('spack/package.py', 'apptainer/rooftop.def', 'lmod/rooftop.lua'):
            self.assertEqual({*re.findall(r'\d+\.\d+\.\d+', (SOURCE / 'packaging' / path).read_text())}, {said['version']}, path)
        self.assertIn(f"\nversion = '{said['version']}'\n", (SOURCE / 'packaging/easybuild/rooftop.eb').read_text())
        text = (SOURCE / 'common/version.h.in').read_text() + (SOURCE / 'docs/result-schema.json').read_text()
        self.assertEqual(re.findall(r'(?:RT_SCHEMA |"schema": \{"const": )(\d+)', text), 3 * [str(results.SCHEMA)])

    def test_citation(self):
        try:
            import yaml
        except ImportError:
            self.skipTest('no yaml (Debian: python3-yaml)')
        said = yaml.load((SOURCE / 'CITATION.cff').read_text(), Loader=yaml.BaseLoader)  # all are texts
        records.check(FILE, said)
        papers = [json.loads(path.read_text()) for path in SOURCE.glob('inputs/papers/*.json')]
        self.assertEqual({paper['title']: ', '.join(author['family-names'] for author in paper['authors'])
                          for paper in said['references']}, {paper['title']: paper['authors'] for paper in papers})


@unittest.skipUnless(shutil.which('git'), 'no git')
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

    def test_version(self):
        """What tools/version-gen prints before a release, of its commit, after it, and of a tag."""
        os.makedirs('clone', exist_ok=True)
        self.git('init', '-q')
        date = 'date-released: 2030-01-31\n'
        for words, more, said in (('commit -qma', '', '-dev-gHASH'), ('commit -qma', date, ''), ('diff', f'{date}#\n', '-gHASH-dirty'),
                                  ('commit -qma', f'{date}#\n', '-gHASH'), ('tag v1.2.3-4', f'{date}#\n', '-4')):
            pathlib.Path('clone', 'CITATION.cff').write_text(f'version: 1.2.3\n{more}')
            self.git('add', '.')
            self.git(*words.split())
            made = subprocess.check_output(['sh', SOURCE / 'tools/version-gen', 'clone'], text=True)
            self.assertEqual(re.sub('g[0-9a-f]{9}', 'gHASH', made), f'1.2.3{said}\n')


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
