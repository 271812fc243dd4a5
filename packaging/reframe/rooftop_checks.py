"""Rooftop for ReFrame 4: the four apps as tests of a machine.

    reframe -c packaging/reframe/rooftop_checks.py --exec-policy=serial -r
    reframe -c packaging/reframe/rooftop_checks.py -r -S RooftopApp.size=small -S RooftopApp.window=10 -n 'RooftopApp.*nekbone'
    reframe -c packaging/reframe/rooftop_checks.py -r -S bindir=/opt/rooftop/bin -S RooftopApp.num_tasks=4

Where no scheduler separates the tests, run them one at a time (--exec-policy=serial). Otherwise they disturb each
other's figures, and doctor complains about them. A test passes if the program exits with 0, its verdict is VALID (an
UNSTEADY one says what disturbed it), and the FOM is within the bounds of `reference`, if that has a figure for the machine.
Figures come from the JSON file, not from the table. Several ranks are started by the partition's launcher; each takes a
GPU of its own if there is one.

Put references into a subclass of your own, or into this class:

    reference = {'cluster:gpu': {'fom': (2500, -0.05, 0.05, 'Gflop/s')}}
"""
import json
import os

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.backends import getlauncher
from reframe.core.builtins import parameter, performance_function, run_after, run_before, sanity_function, variable


class RooftopTest(rfm.RunOnlyRegressionTest):
    """The folder of the programs, for both kinds of tests."""
    bindir = variable(str, value='')  # '': on PATH
    valid_systems = ['*']
    valid_prog_environs = ['*']

    def program(self, name):
        return os.path.join(self.bindir, name)


@rfm.simple_test
class RooftopApp(RooftopTest):
    """One app with its default rung: verified, timed, verified again."""
    app = parameter(['nekbone', 'alya-rhs', 'fun3d-mcpi', 'gfnn-wave'])
    size = variable(str, value='tiny')      # memory per rank: see the run rules
    windows = variable(int, value=5)
    window = variable(float, value=0.2)     # seconds; use 10 for a figure that others will look at
    warm_up = variable(float, value=0.2)    # use 3 for such a figure
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
        # The output comes first: a program that could not start has written no report.
        sn.evaluate(sn.assert_found(rf'^{self.app}: (VALID|UNSTEADY)', self.stdout))
        sn.evaluate(sn.assert_eq(self.job.exitcode or 0, 0))
        result = self.result()
        return sn.all([
            sn.assert_eq(result['verdict'], 'VALID', '{0}: ' + '; '.join(result['rungs'][0]['disturbed'])),
            sn.assert_eq(result['ranks'], self.num_tasks, 'the program has {0} ranks: was it built with the MPI of '
                         'this launcher?'),
        ])

    @performance_function('Gflop/s')
    def fom(self):
        return self.result()['rungs'][0]['fom_flop_per_s'] / 1e9

    @performance_function('GB/s')
    def bandwidth(self):
        rung = self.result()['rungs'][0]
        return rung['bytes_per_unit'] / rung['seconds_per_unit'] / 1e9

    @performance_function('%')
    def spread(self):
        return 100 * self.result()['rungs'][0]['spread']


@rfm.simple_test
class RooftopDoctor(RooftopTest):
    """Checks that nothing of the machine or the build is broken. The advice of doctor is in the log."""
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
        self.job.launcher = getlauncher('local')()  # doctor starts ranks itself

    @sanity_function
    def valid(self):
        return sn.assert_eq(self.job.exitcode or 0, 0)
