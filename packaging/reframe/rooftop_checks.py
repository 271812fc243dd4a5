"""Rooftop for ReFrame 4: the four apps as tests of a machine.

    reframe -c packaging/reframe/rooftop_checks.py --exec-policy=serial -r
    reframe -c packaging/reframe/rooftop_checks.py -r -S RooftopApp.size=small -S RooftopApp.window=10 -n 'RooftopApp.*nekbone'
    reframe -c packaging/reframe/rooftop_checks.py -r -S bindir=/opt/rooftop/bin -S RooftopApp.num_tasks=4

One at a time (--exec-policy=serial) where no scheduler keeps the tests apart, or they disturb each other's figures, and
doctor complains of them. A test passes if the program ends with 0 and its last line is VALID, the JSON report says the
same, and, where `reference` has a figure for the machine, the FOM holds it. Figures come from that JSON, not from the
table. Several ranks: the partition's launcher starts them; each takes a GPU of its own if there is one.

References go into a subclass of your own, or into this one:

    reference = {'cluster:gpu': {'fom': (2500, -0.05, 0.05, 'Gflop/s')}}
"""
import json
import os

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.backends import getlauncher
from reframe.core.builtins import parameter, performance_function, run_after, run_before, sanity_function, variable


class RooftopTest(rfm.RunOnlyRegressionTest):
    """What both kinds of tests share: where the programs are."""
    bindir = variable(str, value='')  # '': on PATH
    valid_systems = ['*']
    valid_prog_environs = ['*']

    def program(self, name):
        return os.path.join(self.bindir, name)


@rfm.simple_test
class RooftopApp(RooftopTest):
    """One app with the rung that it takes for the fastest here: verified, timed, verified again."""
    app = parameter(['nekbone', 'alya-rhs', 'fun3d-mcpi', 'gfnn-wave'])
    size = variable(str, value='tiny')      # of a rank: see the run rules
    windows = variable(int, value=5)
    window = variable(float, value=0.2)     # seconds; 10 for a figure that others will look at
    warm_up = variable(float, value=0.2)    # 3 for such
    device = variable(str, value='auto')
    nonce = variable(str, value='')
    num_tasks = 1
    time_limit = '30m'
    tags = {'rooftop'}

    @run_after('init')
    def command(self):
        self.descr = f'Rooftop, {self.app} --size {self.size}'
        self.executable = self.program(self.app)

    @run_before('run')
    def arguments(self):
        self.executable_opts = ['--size', self.size, '--windows', str(self.windows), '--window', f'{self.window:g}',
                                '--warm-up', f'{self.warm_up:g}', '--device', self.device, '--json', 'result.json']
        if self.nonce:
            self.executable_opts += ['--nonce', self.nonce]

    def result(self):
        with open(os.path.join(self.stagedir, 'result.json'), encoding='utf-8') as file:
            return json.load(file)

    @sanity_function
    def valid(self):
        # First what needs no report: a program that could not start has written none.
        sn.evaluate(sn.assert_found(rf'^{self.app}: VALID$', self.stdout))
        sn.evaluate(sn.assert_eq(self.job.exitcode or 0, 0))
        result = self.result()
        return sn.all([
            sn.assert_eq(result['verdict'], 'VALID'),
            sn.assert_eq(result['ranks'], self.num_tasks, 'the program has {0} ranks: was it built with the MPI of '
                         'this launcher?'),
        ])

    @performance_function('Gflop/s')
    def fom(self):
        return self.result()['rungs'][0]['fom_flop_per_s'] / 1e9

    @performance_function('GB/s')
    def bandwidth(self):
        return self.result()['rungs'][0]['bytes_per_s'] / 1e9

    @performance_function('%')
    def spread(self):
        return 100 * self.result()['rungs'][0]['spread']


@rfm.simple_test
class RooftopDoctor(RooftopTest):
    """What the machine and the build can do; nothing that is broken. Its lines of advice are in the log."""
    descr = 'Rooftop, doctor'
    num_tasks = 1
    time_limit = '5m'
    tags = {'rooftop'}

    @run_after('init')
    def command(self):
        self.executable = self.program('rooftop')
        self.executable_opts = ['doctor'] + (['--bindir', self.bindir] if self.bindir else [])

    @run_before('run')
    def without_launcher(self):
        self.job.launcher = getlauncher('local')()  # it starts ranks itself

    @sanity_function
    def valid(self):
        return sn.assert_eq(self.job.exitcode or 0, 0)
