"""Archives of rooftop pack: what goes in comes out; what others send can neither leave its folder nor fill a disk."""
import argparse
import contextlib
import io
import os
import pathlib
import tarfile
import tempfile
import unittest
from unittest import mock

import helper

from rooftop_suite import Fault, archive, disk, pack


def members(*given):
    """Returns the bytes of an archive of (name, type, data or link)."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode='w:xz') as tar:
        for name, kind, data in given:
            member = tarfile.TarInfo(name)
            member.type = kind
            member.linkname = data if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE) else ''
            member.size = len(data) if kind == tarfile.REGTYPE else 0
            tar.addfile(member, io.BytesIO(data) if kind == tarfile.REGTYPE else None)
    return whole.getvalue()


class Packed(helper.InFolder):
    def setUp(self):
        run = helper.sample('run')
        os.makedirs('R', exist_ok=True)
        disk.save('R/run.json', run)
        pathlib.Path('R/nekbone.out').write_text('x\n')

    def pack(self, **given):
        args = dict.fromkeys(pack.FORM) | {'folder': 'R', 'output': 'R.tar.xz'} | given
        said = io.StringIO()
        with contextlib.redirect_stdout(said), mock.patch.object(pack, 'judge', lambda *_: ['--official']):
            pack.main(argparse.Namespace(**args))
        return said.getvalue()

    def unpacked(self, data):
        """Returns the fault of an archive of these bytes, or its folder."""
        pathlib.Path('x.tar.xz').write_bytes(data)
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                return archive.unpack.__wrapped__('x.tar.xz')[0]
            except Fault as fault:
                return str(fault)

    def test_whole(self):
        said = self.pack(system='Big', tester='me', price='1 EUR')
        self.assertIn('; it lacks --official', said)
        folder = self.unpacked(pathlib.Path('R.tar.xz').read_bytes())
        self.assertEqual(sorted(os.listdir(folder)), ['nekbone.out', 'run.json', 'submission.json'])
        self.assertEqual(pathlib.Path(folder, 'run.json').read_bytes(), pathlib.Path('R/run.json').read_bytes())
        self.assertEqual(archive.given([os.path.abspath('x.tar.xz')])[0].form,
                         {'system': 'Big', 'tester': 'me', 'price': '1 EUR'})

    def test_faults(self):
        """What verify finds is said, and nothing is packed."""
        said = io.StringIO()
        with contextlib.redirect_stdout(said), self.assertRaisesRegex(Fault, 'R: not packed: a buyer would refuse it'):
            pack.judge('R', pack.Folder.open('R').manifest)
        self.assertIn('R/run.json: nekbone.json is missing', said.getvalue())

    def test_refused(self):
        os.symlink('/dev/zero', 'R/link')
        self.addCleanup(os.remove, 'R/link')
        with self.assertRaisesRegex(Fault, 'R/link: not a regular file'):
            self.pack(system='Big', tester='me')

    def test_hostile(self):
        """Links, devices, paths that lead out, two folders, a file twice, a bomb, half an archive: one line, nothing
        outside."""
        file = tarfile.REGTYPE
        pathlib.Path('x.tar.xz').touch()
        os.makedirs('temporary', exist_ok=True)
        before = sorted(os.listdir('.'))
        moved = mock.patch.object(tempfile, 'tempdir', os.path.abspath('temporary'))
        moved.start()
        self.addCleanup(moved.stop)
        plain = 'regular files of plain names'
        for given, wrong in (([('a/../../x', file, b'')], plain), ([(os.path.abspath('x'), file, b'')], plain),
                             ([('x', file, b'')], plain),
                             ([('a/run.json', tarfile.SYMTYPE, '/dev/zero')], plain),
                             ([('a/run.json', tarfile.LNKTYPE, 'a/b')], plain),
                             ([('a/x', tarfile.FIFOTYPE, b'')], plain),
                             ([('a/x', tarfile.CHRTYPE, b'')], plain),
                             ([('a/x', file, b''), ('b/x', file, b'')], plain),
                             ([('a/.x', file, b'')], plain), ([('a/b/x', file, b'')], plain),
                             ([('a/x', file, b''), ('a/x', file, b'')], 'not an archive'), ([], 'empty'),
                             ([('a/x', file, b'')], 'submission.json'),
                             ([(f'a/x{i}', file, b'') for i in range(archive.MOST_FILES + 1)], 'more than')):
            self.assertIn(wrong, self.unpacked(members(*given)), str(given)[:80])
        self.assertEqual(sorted(os.listdir('.')), before)
        with mock.patch.object(archive, 'MOST_BYTES', 1 << 20):
            self.assertIn('or 1 MiB', self.unpacked(members(
                ('a/x', file, bytes(600000)), ('a/y', file, bytes(600000)))))
        good = members(('a/x', file, bytes(os.urandom(5000))))
        self.assertIn('not an archive', self.unpacked(good[:-100]))
        self.assertIn('not an archive', self.unpacked(b'nothing' * 9))


if __name__ == '__main__':
    unittest.main()
