"""What the unit tests of the suite share: its modules on the path, the sample results, and a folder to work in."""
import copy
import glob
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(SOURCE / 'tools'))

from rooftop_suite import results  # noqa: E402: the path
from rooftop_suite.course import climb, lesson_page, lessons
from rooftop_suite.measure import programs
from rooftop_suite.results import figures


def sample(name):
    """Returns the JSON of a sample."""
    return json.loads((SOURCE / 'tests' / 'suite' / 'samples' / f'{name}.json').read_text())


def program(name='nekbone', **changed):
    """Returns a sample as a program's record, with members of its first rung changed."""
    value = sample(name)
    value['rungs'][0].update(changed)
    return results.Program(**value)


def changed(value, path, new):
    """Returns a copy of a value with one member changed."""
    value = copy.deepcopy(value)
    at = value
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = new
    return value


def lesson(app='nekbone'):
    """Returns the lesson made of a sample of the app's ladder, with the sources of this tree."""
    return lesson_of(app, sample(f'ladder-{app}'))


def whole_lesson(app):
    """Returns the lesson of a machine that runs every rung: times of the record."""
    value, ran = sample('ladder-nekbone'), {}
    for path in sorted(glob.glob(f'{SOURCE}/docs/reference/h200/lesson-{app}*.json'), key=len):
        row = json.loads(pathlib.Path(path).read_text())
        ran = {**{rung['name']: rung for rung in row['rungs'] if rung['verdict'] == 'VALID'}, **ran}
        for where in ('ceilings_gpu', 'ceilings_cpu'):
            value[where].update(row.get(where, {}))
    value['rungs'] = [{**value['rungs'][-1], 'seconds_per_unit': 1e-3, 'fom_flop_per_s': 1e12, 'profile': [],
                       **ran.get(rung.name, {}), **rung._asdict(), 'processor': 'cpu' if rung.kind == 'cpu' else 'gpu'}
                      for rung in lessons.ladder(app)]
    value.update(program=app, options={**value['options'], **dict.fromkeys(programs.EXTENTS[app], '8x8x8')}, absent=[])
    return lesson_of(app, value)


def lesson_of(app, value):
    result = figures.Result(results.Program(**value))
    ran, known = {rung.name: rung for rung in result.rungs}, lessons.read(app)
    pages = [lesson_page.Page(rung.name, rung.kind, rung.ladder, known.of.get(rung.name), ran.get(rung.name),
                              '' if rung.name in ran else 'this build has no CUDA') for rung in lessons.ladder(app)]
    climb.add_sources(app, pages)
    return lesson_page.Lesson(app, known, result, pages, f'{app} --ladder')


def standin(folder, *words, app='nekbone', **environment):
    """Runs the stand-in for a program."""
    return subprocess.run([os.path.join(folder, app), *words], env={**os.environ, **environment}, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding='utf-8')


class InFolder(unittest.TestCase):
    """Tests that work in a folder of their own, with the stand-ins in ./bin."""

    @classmethod
    def setUpClass(cls):
        cls.before, cls.folder = os.getcwd(), tempfile.TemporaryDirectory(prefix='rooftop_unit_')
        os.chdir(cls.folder.name)
        os.mkdir('bin')
        suite = SOURCE / 'tests' / 'suite'
        pathlib.Path('bin/nekbone').write_text((suite / 'standin.sh').read_text() +
                                               f"exec '{sys.executable}' -IS '{suite}/standin.py' $app \"$@\"\n")
        os.chmod('bin/nekbone', 0o755)
        for app in results.APPS[1:]:
            os.symlink('nekbone', f'bin/{app}')

    @classmethod
    def tearDownClass(cls):
        os.chdir(cls.before)
        cls.folder.cleanup()
