"""Records, files and seeds; the schema against the samples."""
import errno
import json
import os
import pathlib
import re
import unittest
from unittest import mock

from helper import SOURCE, InFolder, changed, sample, standin

from rooftop_suite import ENVIRONMENT, Fault, results
from rooftop_suite.results import disk, records

RUNG = ('rungs', 0)
WRONG = [('program', path, new) for path, new in (
    (('schema',), 1), (('program',), 'No program'), (('date',), 'today'), (('ranks',), 0), (('ranks',), 1.5),
    (('ranks',), True), (('inputs_digest',), None), (RUNG + ('name',), ''),
    (RUNG + ('kind',), 'fpga'),
    (RUNG + ('window_seconds',), []), (RUNG + ('window_seconds', 0), 0), (RUNG + ('checks', 0, 'more'), 1),
    (RUNG + ('memory_bytes', 'host'), 3), (RUNG + ('spread',), -1), (RUNG + ('verdict',), True),
    (RUNG + ('disturbed',), 'much'),
    (('ceilings_cpu', 'copy_bytes_per_s'), 'fast'), (('verdict',), 'valid'), (('absent', 0, 'kind'), 'x'),
    (('options', 'x'), []))] + [('run', path, new) for path, new in (
        (('size',), 'huge'), (('official',), 'yes'), (('steps', 0, 'state'), 'over'),
        (('steps', 0, 'more'), 1), (('steps', 0, 'exit'), '0'),
        (('launcher',), 'srun'),
        (('summary', 'nekbone', 'verdict'), 'GOOD'), (('programs', 'nekbone', 'sha256'), ''))]
MISSING = [('program', name) for name in ('nonce', 'gpu')] + \
    [('run', name) for name in ('steps', 'source')]


class Records(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        standin('bin', '--json', 'result.json', '--nonce', 'n1')
        cls.good = {'program': json.loads(pathlib.Path('result.json').read_text()),
                    'run': {**sample('run'), 'programs': {
                        'nekbone': {'path': 'nekbone', 'sha256': 'a' * 64, 'version': {}}}}}

    def cases(self):
        """Yields (kind, value, name of the edit) of values that are not of the schema."""
        for kind, path, new in WRONG:
            yield kind, changed(self.good[kind], path, new), f'{kind} {path} {new!r}'
        for kind, name in MISSING:
            yield kind, {key: value for key, value in self.good[kind].items() if key != name}, f'{kind} without {name}'

    def test_good(self):
        for value in self.good.values():
            results.record_of(value)

    def test_wrong(self):
        for kind, value, name in self.cases():
            with self.subTest(name), self.assertRaises(records.Mismatch):
                results.record_of({**value, 'kind': kind} if kind == 'run' else value)
        with self.assertRaises(records.Mismatch):
            results.record_of({**self.good['run'], 'kind': 'other'})

    def test_where(self):
        with self.assertRaisesRegex(records.Mismatch, r'^rungs\[0\].checks\[0\].bound: .* is not of type number$'):
            results.record_of(changed(self.good['program'], RUNG + ('checks', 0, 'bound'), 'x'))

    def test_round_trip(self):
        run = results.Run(**self.good['run'])
        self.assertEqual(results.Run(**run), run)
        disk.save('again.json', run)
        self.assertEqual(results.load('again.json', results.Run, run.nonce), run)

    def test_members(self):
        """A member that the schema does not have is refused; one that is absent is empty, and is not written."""
        rung = results.Program(**self.good['program']).rungs[0]
        self.assertEqual((rung.profile, rung.choice, rung.energy_joules), ([], {}, None))
        self.assertNotIn('profile', rung)
        with self.assertRaisesRegex(AttributeError, 'rung has no member fom'):
            rung.fom = 1
        self.assertRaises(AttributeError, lambda: rung.spraed)

    def test_schema(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest('no jsonschema (Debian: python3-jsonschema)')
        schema = json.loads((SOURCE / 'docs' / 'result-schema.json').read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        validators = {}
        for kind in ('program', 'run'):
            rule = {name: member for name, member in schema.items() if name != 'oneOf'}
            validators[kind] = jsonschema.Draft202012Validator({**rule, '$ref': f'#/$defs/{kind}'})
        for path in sorted((SOURCE / 'tests' / 'suite' / 'samples').glob('*.json')):
            value = json.loads(path.read_text())
            with self.subTest(path.name):
                validators[value.get('kind', 'program')].validate(value)
                results.record_of(value)
        for kind, value in self.good.items():
            validators[kind].validate(value)
        for kind, value, name in self.cases():
            with self.subTest(name):
                self.assertFalse(validators[kind].is_valid(value))


class Files(InFolder):
    def test_parse(self):
        for text, said in (('[]', 'no object'), ('{"a"', 'not a whole JSON file')):
            pathlib.Path('bad.json').write_text(text)
            with self.subTest(text), self.assertRaisesRegex(Fault, said):
                disk.parse('bad.json')
        with self.assertRaisesRegex(Fault, 'No such file'):
            disk.parse('nowhere.json')

    def test_only_regular_files_are_replaced(self):
        """A pipe, a link and a folder stay what they are, and so does a file whose successor does not fit on the disk; a
        line says so, and nothing else is left."""
        os.mkfifo('fifo')
        pathlib.Path('named').write_text('old')
        os.symlink('named', 'link')
        os.mkdir('folder')
        kinds = ['fifo', 'link', 'folder']
        before, modes = sorted(os.listdir()), [os.lstat(kind).st_mode for kind in kinds]
        for kind in kinds:
            with self.subTest(kind), self.assertRaisesRegex(Fault, f'^{kind}: it is not a regular file; name') as said:
                disk.save_bytes(kind, b'new')
            self.assertEqual(said.exception.status, ENVIRONMENT)
        with mock.patch('os.fsync', side_effect=OSError(errno.ENOSPC, 'No space left on device')), \
                self.assertRaisesRegex(Fault, '^named: No space left on device$'):
            disk.save_bytes('named', b'new')
        self.assertEqual(pathlib.Path('named').read_text(), 'old')
        self.assertEqual((sorted(os.listdir()), [os.lstat(kind).st_mode for kind in kinds]), (before, modes))

    def test_one_function_opens_for_writing(self):
        """All of tools/ writes through disk.create."""
        for path in (SOURCE / 'tools').rglob('*.py'):
            found = re.findall(r"open\(.*'[rb+]*[wa][b+]*'|os\.(?:replace|rename)\(|copyfile\(|\.write_(?:text|bytes)\(",
                               path.read_text())
            self.assertEqual(len(found), 2 if path.name == 'disk.py' else 0, f'{path}: {found}')


if __name__ == '__main__':
    unittest.main()
