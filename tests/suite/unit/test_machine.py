"""Launchers, bindings and load: what the suite says of a machine."""
import contextlib
import io
import os
import platform
import unittest
from unittest import mock

import helper  # noqa: F401: puts the suite on the path

from rooftop_suite import Fault, cli
from rooftop_suite.measure import doctor, machine, plan, programs, quiet


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
        text = ''.join(f'rank {rank}: {platform.node()}, CPU, cores {which}, 1 thread\n'
                       for rank, which in enumerate(cores))
        with mock.patch.object(machine, 'cores', sixteen):
            found = doctor.check_binding(text, len(cores))
        return found.state, found.text

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
        self.assertEqual(machine.ticks(stat, {0}), (117, 90, 8))
        self.assertEqual(machine.ticks(stat, {0, 1}), (127, 95, 13))


NVIDIA = 'H200, GPU-a, 570, 143771 MiB, 700.00 W, 1980 MHz, Disabled, 9.0\n'
AMD = '''{"card1": {"Card Series": "Instinct MI210"}, "card0": {"Unique ID": "0x9", "Card Series": "Instinct MI250X",
"VRAM Total Memory (B)": "68702699520", "Max Graphics Package Power (W)": "560.0"}, "system": {"Driver version": "6.3.6"}}'''
INTEL = '{"device_list": [{"device_id": 0, "device_name": "Intel(R) Data Center GPU Max 1550", "uuid": "00-01"}]}'


class Gpus(unittest.TestCase):
    def gpus(self, tools):
        with mock.patch.object(machine, 'said', lambda *command: tools.get(command[0], '')):
            return machine.gpus()

    def test_makes(self):
        """Each tool is asked; what one does not say is ''; what it says wrong is nothing."""
        found = self.gpus({'nvidia-smi': NVIDIA, 'rocm-smi': AMD, 'xpu-smi': INTEL})
        self.assertEqual([gpu['name'] for gpu in found], ['H200', 'AMD Instinct MI250X', 'AMD Instinct MI210',
                                                          'Intel(R) Data Center GPU Max 1550'])
        self.assertEqual((found[1]['memory.total'], found[1]['power.limit'], found[1]['driver_version']),
                         ('65520 MiB', '560.0 W', '6.3.6'))
        self.assertEqual({gpu['compute_cap'] for gpu in found[1:]}, {''})
        for said in ('no card', '[]', '{"card0": {}}'):
            self.assertEqual(len(self.gpus({'rocm-smi': said, 'xpu-smi': said})), said.count('card0'))

    def test_doctor(self):
        """A GPU of another make needs a Kokkos that reaches it, one of NVIDIA CUDA rungs or such a Kokkos."""
        amd, nvidia = ('rocm-smi', AMD), ('nvidia-smi', NVIDIA)
        for tool, backend, states in ((amd, '4.6.1 HIP', ['OK', 'OK']), (amd, '3.4.1 Serial', ['FIX', 'FIX']),
                                      (amd, 'not in this build', ['FIX', 'FIX']), (nvidia, '4.6.1 Cuda', ['OK']),
                                      (nvidia, '3.4.1 Serial', ['FIX'])):
            said = {'CUDA': 'not in this build', 'Kokkos': backend}
            with mock.patch.object(machine, 'said', lambda *command, tool=tool: tool[1] if command[0] == tool[0] else ''), \
                    mock.patch.object(programs, 'version', lambda _, said=said: said):
                found = [row.state for row in doctor.check_gpus('nekbone')]
            self.assertEqual(found, states)

    def test_has_gpu(self):
        """The suite sees a GPU that Kokkos alone reaches."""
        rung = programs.Rung('kokkos', 'kokkos', '', '')
        for backend, absent, there in (('4.6.1 Experimental::SYCL', '', True), ('4.6.1 OpenMP', '', False),
                                       ('4.6.1 HIP', 'no GPU', False)):
            with mock.patch.object(programs, 'version', lambda _, backend=backend: {'Kokkos': backend}), \
                    mock.patch.object(programs, 'rungs', lambda _, why=absent: [rung._replace(absent=why)]):
                self.assertEqual(programs.has_gpu('nekbone'), there)


class Disturbed(unittest.TestCase):
    def texts(self, said='', busy=0.0, stolen=0.0, device=None, **variables):
        """Returns what disturbs on 4 CPUs with two GPUs, of which nvidia-smi says `said` on processes."""
        def answer(*command):
            return '0, GPU-a, 0, 0x0\n1, GPU-b, 40, 0x40\n' if 'query-gpu' in command[1] else said
        with mock.patch.object(machine, 'use_since', lambda _: machine.Use(busy, stolen)), \
                mock.patch.object(machine, 'governors', lambda: []), mock.patch.object(machine, 'said', answer), \
                mock.patch.object(quiet, 'LOOK', 0), mock.patch.object(os, 'sched_getaffinity', lambda _: range(4)), \
                mock.patch.dict(os.environ, variables):
            return [one.text for one in quiet.disturbances(device)]

    def test_cpus(self):
        self.assertEqual(self.texts(busy=0.4, stolen=0.005, device='cpu'), [])
        self.assertEqual(self.texts(busy=1.9, device='cpu'), ['other processes use 1.9 of 4 CPUs'])
        self.assertEqual(self.texts(stolen=0.031, device='cpu'), ['the hypervisor takes 3.1 % of the time'])

    def test_gpus(self):
        busy, hot = 'GPU 1: busy for 40 % of the time', 'GPU 1: its clocks are held down by temperature or power supply'
        self.assertEqual(self.texts(), [busy, hot])
        self.assertEqual(self.texts(device='0'), [])
        self.assertEqual(self.texts(CUDA_VISIBLE_DEVICES='1', device='0'), [busy, hot])
        self.assertEqual(self.texts('GPU-a, 4711, /usr/bin/python3', device='0'),
                         ['GPU 0: other processes use it: 4711 (python3)'])

    def test_waiting(self):
        """A disturbance that ends is waited for, unless it is forced; one that stays is handed on."""
        one = quiet.Disturbance('other processes use 1.9 of 4 CPUs', '')
        lasting = one._replace(passes=False)
        for found, force, left, looks in (([[one], [one], []], False, 0, 3), ([[one], []], True, 1, 1),
                                          ([[lasting]], False, 1, 1)):
            answers, said = iter(found), io.StringIO()
            with mock.patch.object(quiet, 'disturbances', lambda _: next(answers)), \
                    mock.patch.object(quiet, 'PAUSE', 0), contextlib.redirect_stderr(said):
                self.assertEqual(len(quiet.wait(None, force)), left)
            self.assertEqual(len(found) - len(list(answers)), looks)
            self.assertEqual('may be UNSTEADY' in said.getvalue(), left > 0)


class Libraries(unittest.TestCase):
    def test_blas(self):
        for said, state in (('OpenBLAS, -lopenblas', 'OK'), ('not in this build', 'NOTE'), ('', 'NOTE'),
                            ('the reference BLAS, which is slow (better: ..), -lblas', 'NOTE')):
            with mock.patch.object(programs, 'version', lambda _, said=said: {'BLAS': said} if said else {}):
                _, found = doctor.check_libraries('nekbone')
            self.assertEqual(found.state, state)


class Launching(unittest.TestCase):
    def test_reason(self):
        """A launcher that cannot start ranks is the environment; a program's verdict is its own."""
        slots = '-' * 70 + '\nThere are not enough slots available in the system to satisfy the 3\nslots that were ' \
            'requested by the application:\n\n  nekbone\n' + '-' * 70 + '\n'
        ended = programs.settled(programs.Ended(1, '', 0.1, slots))
        self.assertEqual(ended.exit, 3)
        self.assertRegex(programs.reason(ended), 'not enough slots .* requested by the application; use fewer ranks')
        for verdict, line in (('INVALID', '  x  1e0  bound 0e0  FAILED'), ('NOT CONVERGED', '  y  1e0  bound 0e0  not converged')):
            ended = programs.settled(programs.Ended(1, '', 0.1, f'{line}\nnekbone: {verdict}\n'))
            self.assertEqual((ended.exit, programs.reason(ended)), (1, f'{verdict}: {line.strip()}'))


class CommandLine(unittest.TestCase):
    def test_own_fault(self):
        """A fault of the suite itself is one line and no verdict; text from a file cannot break the line."""
        def fail(_):
            raise KeyError('a\nb\x1b[31m')
        said = io.StringIO()
        with mock.patch.object(cli, 'parse', lambda _: (fail, None)), contextlib.redirect_stderr(said):
            self.assertEqual(cli.main(['doctor']), 3)
        self.assertRegex(said.getvalue(), r'^rooftop: fault of the suite: KeyError: [^\n]*\n$')


class Choices(unittest.TestCase):
    def test_free(self):
        self.assertEqual(plan.choices_of(["nekbone: --rung=vector --choose 'a=1,b=2'"]),
                         {'nekbone': ['--rung', 'vector', '--choose', 'a=1,b=2']})
        for text, wrong in (('nekbone: --elements 4x4x4', '--elements is not free'), ('hpl: --elements 4', 'is not free'),
                            ('nekbone', 'write'), ("nekbone: --rung '", 'No closing'),
                            ('gfnn-wave: --tolerance 0.1', '--tolerance is not free')):
            with self.assertRaisesRegex(Fault, wrong):
                plan.choices_of([text])


if __name__ == '__main__':
    unittest.main()
