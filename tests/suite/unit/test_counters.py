"""rooftop counters, with a program and an ncu that print what was recorded."""
import io
import json
import os
import pathlib
from contextlib import redirect_stderr, redirect_stdout
from unittest import mock

from helper import InFolder, sample
from rooftop_suite import cli
from rooftop_suite.measure.counters import COUNTERS, OPTIONAL, SASS, STALLS, TENSOR as TENSORS, Amount, faults
from rooftop_suite.results import explain

UNITS = 2
WORK = [{'kernel': 'ax', 'calls': 2, 'flop': 4e7, 'read_bytes': 3e8, 'written_bytes': 1e8},
        {'kernel': 'cg', 'calls': 1, 'flop': 1e9, 'read_bytes': 4e8, 'written_bytes': 0}]
READ, WRITTEN, TENSOR = 'dram__bytes_read.sum', 'dram__bytes_write.sum', 'sm__ops_path_tensor_src_fp64.sum'
ZERO = dict.fromkeys([*COUNTERS, TENSOR, *(name for name in OPTIONAL if name not in TENSORS)], '0')
STALL = 'smsp__average_warps_issue_stalled_{}_per_issue_active.ratio'
TIMES = {'gpu__time_duration.sum': '50,000', 'smsp__inst_executed.sum': '1000', 'sm__cycles_active.avg': '80',
         'sm__cycles_elapsed.max': '100', STALL.format('long_scoreboard'): '3', STALL.format('membar'): '1',
         STALL.format('barrier'): '4'}
PROGRAM = 'case "$*" in *--json*) for w; do f=$w; done; cp result.json "$f" ;; esac; echo nekbone: VALID'
NCU = f'''[ $1 != --query-metrics ] || {{ echo {TENSOR[:-4]} Counter; {"; ".join(f"echo {n.rpartition('.')[0]}" for n in TIMES)}; exit; }}
''' + '''
echo "$@" >words; while [ $1 != --log-file ]; do shift; done; cp page.csv "$2"; shift 2; exec "$@"'''


def page(flop=1.0, read=1.0, written=1.0, **more):
    """Writes a page of ncu of one solve: right, or so many times as much in ax."""
    ax = {SASS.format('dfma'): flop * 3e7, SASS.format('dadd'): flop * 2e7, READ: read * 6e8, WRITTEN: written * 2e8}
    launches = [('stencil', ('cg', 'ax'), {name: f'{each / 2:,.0f}' for name, each in ax.items()})] * 2 * UNITS
    launches += [('nek_cgs_kernel', (), {TENSOR: '1e9', READ: '4e8'})] * UNITS
    rows = [['ID', 'thread Domain:Push/Pop_Range:PL_Type', 'Kernel Name', *ZERO], [''] * (3 + len(ZERO))]
    for name, ranges, seen in launches:
        stack = '  '.join(f'""<default domain>:{one}:none:none""' for one in ('fast', *ranges))
        rows.append([str(len(rows)), f'1  {stack}', name, *{**ZERO, **seen, **more}.values()])
    pathlib.Path('page.csv').write_text('==PROF== 7\n' + '\n'.join('"' + '","'.join(row) + '"' for row in rows))


class Counters(InFolder):
    def setUp(self):
        for name, text in (('nekbone', PROGRAM), ('ncu', NCU)):
            pathlib.Path('bin', name).write_text(f'#!/bin/sh\n{text}\n')
            os.chmod(f'bin/{name}', 0o755)
        self.result()
        page()

    @staticmethod
    def result(gpu='NVIDIA H200', **changed):
        made = sample('ladder-nekbone')
        rung = {**made['rungs'][0], 'name': 'fast', 'processor': 'gpu', 'work': WORK, 'units_per_solve': UNITS, **changed}
        made = {**made, 'nonce': '', 'gpu': gpu, 'ceilings_gpu': made['ceilings_cpu'], 'rungs': [rung]}
        pathlib.Path('result.json').write_text(json.dumps(made))

    def check(self, status, said, path=f'bin:{os.environ["PATH"]}'):
        words = ['--rung=fast', '--json=out.json', '--bindir=bin', '--', '--elements', '8x8x8']
        with mock.patch.dict(os.environ, PATH=path), redirect_stdout(io.StringIO()) as out, redirect_stderr(out):
            self.assertEqual(cli.main(['counters', 'nekbone', *words]), status)
        self.assertRegex(out.getvalue(), said or '\n')
        self.assertEqual(out.getvalue().count('\n') == 1, status > 1)

    def test_right(self):
        """The model's work passes, one solve is counted, and the record has the counters, per unit."""
        self.check(0, r'(?s)ax +80.0 +80.0 +1.000 +800 +800 +1.000.*cg +1,?000.0 +1,?000.0 +1.000.*all +1,?080.0')
        self.assertRegex(pathlib.Path('words').read_text(), r'--nvtx-include fast/ .*--elements 8x8x8 --seconds 0 --profile')
        ax, cg = json.loads(pathlib.Path('out.json').read_text())['rungs'][0]['counters']
        self.assertEqual((ax['kernel'], ax['calls'], ax['flop'], ax['read_bytes'], cg['flop']), ('ax', 2, 8e7, 6e8, 1e9))
        self.assertRegex('\n'.join(explain.said(explain.budgets('out.json', None)[1][0])), 'DRAM, counted +by ncu\n +ax .* [0-9.]+ +–\n')

    def test_times(self):
        """How long kernels take, how long without blocks, and what their warps wait for, in the same units; one that this
        ncu does not know, or has no value of, is named and does not end the run."""
        page(**TIMES)
        self.check(0, '')
        ax, cg = json.loads(pathlib.Path('out.json').read_text())['rungs'][0]['counters']
        for one, launches in ((ax, 2), (cg, 1)):
            for name, microseconds in (('seconds', 50), ('tail_seconds', 10), ('memory_wait_seconds', 20), ('barrier_wait_seconds', 20),
                                       ('shared_wait_seconds', 0), ('issue_wait_seconds', 0), ('sleep_seconds', 0)):
                self.assertAlmostEqual(1e6 * one[name], microseconds * launches, msg=name)
            self.assertEqual(one['instructions'], 1000 * launches)
        words = pathlib.Path('words').read_text()
        self.assertIn(STALL.format('long_scoreboard'), words)
        self.assertNotIn('stalled_sleeping', words)  # not known
        self.assertIn('--clock-control none', words)
        page(**{**TIMES, STALL.format('barrier'): 'n/a', 'sm__cycles_elapsed.max': ''})
        self.check(0, 'no counter sm__cycles_elapsed.max\nthis ncu has no counter smsp.*_barrier_per')
        ax = json.loads(pathlib.Path('out.json').read_text())['rungs'][0]['counters'][0]
        self.assertEqual([round(1e6 * ax[name]) for name in ('tail_seconds', 'memory_wait_seconds')], [0, 100])
        self.assertEqual(len(STALLS), sum(name.endswith(('wait_seconds', 'sleep_seconds')) for name in ax))

    def test_wrong(self):
        """Flops within 3 %; bytes not below the least, but for what may stay in L2."""
        for said, members in (('', {'flop': 1.02}), (r'ax: \+4.0 % flops', {'flop': 1.04}), ('ax: -4.0', {'flop': 0.96}), ('', {'read': 1.5}),
                              ('ax: DRAM 560.0 MB', {'read': 0.6}), ('', {'written': 0.5}), ('ax: DRAM 640.0', {'written': 0.2})):
            page(**members)
            self.check(int(said != ''), said)
        self.result(work=[*WORK, {'kernel': 'clear', 'calls': 1, 'flop': 0, 'read_bytes': 0, 'written_bytes': 1e9}])
        for said, read in (('', 1.0), ('all: DRAM 960.0', 0.6)):  # a memset, which ncu does not see, is not missing
            page(read=read)
            self.check(int(said != ''), said)
        self.result(work=[{**WORK[0], 'read_bytes': 3e7, 'written_bytes': 1e7}, {**WORK[1], 'read_bytes': 4e7}])
        page(read=0.01, written=0.01)
        self.check(0, '')  # it fits L2
        model, seen = (Amount(calls=10, flop=0, read_bytes=read, written_bytes=0) for read in (1e9, 6e8))
        found = [faults('x', model, Amount(**{**seen, 'calls': launches}), 1e8, 5e7) for launches in (1, 10)]
        self.assertEqual(list(map(len, found)), [0, 1])  # a launch of ten calls may find some in L2

    def test_refused(self):
        """One line each, and its exit status; an unknown GPU is not judged."""
        for said, text in (('be root', '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n'),
                           ('ncu: Failed', '==ERROR== Failed to profile\n'), ('NVTX', '==WARNING== No kernels were profiled.\n')):
            pathlib.Path('page.csv').write_text(text)
            self.check(3, said)
        page(**{READ: 'n/a'})
        self.check(3, f'{READ} was not counted')
        self.check(3, 'no ncu on PATH', path='none')
        page(read=0.1)
        for status, said, changed in ((3, 'counters of a CPU', {'processor': 'cpu'}), (2, 'no work', {'work': []}), (0, 'not judged', {'gpu': 'x'})):
            self.result(**changed)
            self.check(status, said)
