"""Launchers, bindings and load: what the suite says of a machine."""
import os
import platform
import unittest
from unittest import mock

import helper  # noqa: F401: puts the suite on the path

from rooftop_suite import Fault, doctor, machine, programs


def sixteen(cpus=None):
    return 16 if cpus is None else len(cpus)


class Launchers(unittest.TestCase):
    def test_mpirun(self):
        """Ranks have their part of the cores, unless something else has placed them."""
        cases = (('mpirun (Open MPI) 4.1.6', 2, {}, 'mpirun -n 2 --map-by slot:PE=8 --bind-to core x'),
                 ('mpirun (Open MPI) 4.1.6', 16, {}, 'mpirun -n 16 x'), ('HYDRA', 2, {}, 'mpirun -n 2 x'),
                 ('mpirun (Open MPI) 4.1.6', 2, {'SLURM_JOB_ID': '1'}, 'mpirun -n 2 x'))
        bare = {name: value for name, value in os.environ.items() if not programs.PLACED.match(name)}
        for library, ranks, placed, wanted in cases:
            with self.subTest(wanted), mock.patch.object(machine, 'cores', sixteen), \
                    mock.patch.object(machine, 'launcher', lambda: library), \
                    mock.patch.dict(os.environ, {**bare, **placed}, clear=True):
                self.assertEqual(' '.join(programs.launched(['x'], (), ranks)), wanted)

    def test_given(self):
        self.assertEqual(programs.launched(['x'], ['srun', '-n', '{ranks}'], 3), ['srun', '-n', '3', 'x'])
        with self.assertRaisesRegex(Fault, 'say where the number of ranks stands'):
            programs.launcher_words('srun', 2)


class Binding(unittest.TestCase):
    def said(self, cores):
        found = doctor.Findings()
        text = ''.join(f'rank {rank}: {platform.node()}, CPU, cores {which}, 1 thread\n'
                       for rank, which in enumerate(cores))
        with mock.patch.object(machine, 'cores', sixteen):
            doctor.check_binding(found, text, len(cores))
        return found.rows[0].state, found.rows[0].text

    def test_binding(self):
        self.assertEqual(self.said(['0-7', '8-15'])[0], 'OK')
        self.assertEqual(self.said(['0', '1']), ('NOTE', '2 ranks have 2 of 16 cores'))
        self.assertEqual(self.said(['0-7', '7-15']), ('FIX', 'ranks 0 and 1 share cores'))


class Machine(unittest.TestCase):
    def test_cores(self):
        self.assertTrue(1 <= machine.cores() <= len(os.sched_getaffinity(0)))
        self.assertEqual(machine.cores([0]), 1)

    def test_ticks(self):
        stat = 'cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 1 2 3 40 50 6 7 8 1 1\ncpu1 0 0 0 5 0 0 0 5 0 0\nintr 7\n'
        self.assertEqual(machine.ticks(stat, {0}), (117, 90))
        self.assertEqual(machine.ticks(stat, {0, 1}), (127, 95))


if __name__ == '__main__':
    unittest.main()
