"""`rooftop exercise` and `rooftop grade`: a rung with the part to write taken out, and whether what was written holds.

exercise makes a folder: the rung's source without the bodies that its lesson names, the rung before beside it, the task
and the test. grade builds the file in place of the rung: compiled in a copy of the app's folder, linked before the
library of a build, which then has no use for its own; neither the source tree nor that build is written to (but for
make, which brings the build up to date). The program's own verification judges it; then it is timed in turns with the
rung before, the repository's and the rung after it.
"""
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile

from . import ENVIRONMENT, INVALID, USAGE, VALID, Fault, lessons, programs, results
from .cli import count

RULES = """include Makefile
rung = $(FOLDER)/rung.o
$(rung): $(FILE)
	$(COMPILE_{suffix}) -c -o $@ $<
COMPILE_c = $(COMPILE)
COMPILE_cu = $(NVCC) $(DEFS) $(AM_CPPFLAGS) $(CPPFLAGS) $(RT_NVCCFLAGS) $(NVCCFLAGS)
COMPILE_cpp = $(KOKKOS_CXX) $(DEFS) $(AM_CPPFLAGS) $(KOKKOS_CPPFLAGS) $(CPPFLAGS) $(KOKKOS_CXXFLAGS)
objects = $({app}_OBJECTS)
$(FOLDER)/{name}: $(rung) $(objects) $({app}_DEPENDENCIES)
	$(LINK) $(objects) $(rung) $({app}_LDADD) $(LIBS)
"""  # what stands in Makefile.am for .cu and .cpp, but for files of dependencies
LIMIT = 1800  # seconds: a build, or a run, that takes longer hangs


def add_arguments_exercise(parser):
    common_arguments(parser)
    parser.add_argument('--into', metavar='DIR', help='folder to make (default: APP-RUNG)')


def add_arguments_grade(parser):
    common_arguments(parser)
    parser.add_argument('file', metavar='FILE', help='what was written')
    parser.add_argument('--build', metavar='DIR', help='build of the source tree whose objects are used; one that is '
                        'not there is made (default: this folder, or the tree, if it is one, else one that is made and '
                        'removed)')
    parser.add_argument('--configure', metavar='OPTIONS', default='', help='of configure, for a build that is made')
    parser.add_argument('--repeats', type=count, default=3, metavar='N', help='of each timing (default 3)')
    lessons.pass_on(parser)


def common_arguments(parser):
    parser.add_argument('app', metavar='APP', help=', '.join(programs.APPS))
    parser.add_argument('rung', metavar='RUNG', help='see APP --list')
    parser.add_argument('--source', metavar='DIR', help='the source tree (default: that of this tool)')


class Task:
    """A rung, its lesson, and its files in the tree."""

    def __init__(self, args):
        self.tree = lessons.tree_of(args.source)
        self.all = lessons.read(args.app).of
        self.rungs = lessons.ladder(args.app, self.tree)
        self.rung = lessons.rung_of(args.app, args.rung, self.tree)
        self.lesson = self.all.get(self.rung.name)
        if not self.lesson:
            raise Fault(ENVIRONMENT, f'docs/lessons/{args.app}.md has nothing on {self.rung.name}')
        if not self.rung.after:
            raise Fault(USAGE, f'{self.rung.name} is the oracle that judges all others: it is no exercise')
        self.file = lessons.source(self.rung, self.lesson, self.tree)

    def named(self, name):
        return next((rung for rung in self.rungs if rung.name == name), None)

    def before(self):
        """The rung whose source is at hand: what the diff is to."""
        return self.named(self.lesson.before or self.rung.after)

    def neighbours(self):
        """Names of the rung that this one is compared with and of the first that is compared with this one."""
        later = [rung.name for rung in self.rungs if rung.after == self.rung.name and rung.kind == self.rung.kind]
        return [self.rung.after], later[:1]


# ---- exercise ----

def header(task):
    """The comment that comes before the file's own."""
    rung, exercise = task.rung, task.lesson.exercise
    text = f'Exercise: {rung.app} {rung.name}. To write: {", ".join(exercise.names)}: {exercise.task}\n\n' \
           f'Judged by: rooftop grade {rung.app} {rung.name} {os.path.basename(task.file)}'
    return '/*\n' + '\n'.join(f' * {line}'.rstrip() for line in lessons.filled(text, 97).split('\n')) + '\n */\n'


def page(task, before):
    rung, lesson = task.rung, task.lesson
    name = os.path.basename(task.file)
    functions = ', '.join(f'`{function}`' for function in lesson.exercise.names)
    text = [f'# {rung.app}: write {rung.name}', lessons.filled(lesson.idea),
            '## First predict', lessons.filled(lesson.predict),
            '## Then write', lessons.filled(
                f'In `{name}`, {functions}: {lesson.exercise.task} Everything else of the file is there. '
                f'`before/{os.path.basename(before)}` is the rung before, `{task.before().name}`, as it stands in the '
                'repository.'),
            '## Then measure', lessons.filled(
                '`./check.sh` builds the file in place of the rung, verifies it, and times it between its neighbours; '
                f'options of {rung.app} follow `--`, as in `./check.sh -- --size tiny`. Compare with what you '
                f'predicted. The answer stands in docs/lessons/{rung.app}.md.')]
    return '\n\n'.join(text) + '\n'


def check_script(task):
    words = [os.path.realpath(sys.argv[0]), 'grade', task.rung.app, task.rung.name]
    return '#!/bin/sh\n# Builds, verifies and times what was written: 0 valid, 1 invalid.\n' \
           f'exec {shlex.join(words)} "$(dirname "$0")"/{shlex.quote(os.path.basename(task.file))} ' \
           f'--source {shlex.quote(task.tree)} "$@"\n'


def main_exercise(args):
    task = Task(args)
    if not task.lesson.exercise:
        possible = [rung.name for rung in task.rungs if (task.all.get(rung.name) or task.lesson).exercise]
        raise Fault(USAGE, f'{args.rung} has no exercise; those of {args.app}: {", ".join(possible)}')
    before = lessons.source(task.before(), task.all[task.before().name], task.tree)
    folder = args.into or f'{args.app}-{args.rung}'
    name = os.path.basename(task.file)
    if os.path.exists(os.path.join(folder, name)):
        raise Fault(USAGE, f'{os.path.join(folder, name)} is there: what was written is not overwritten; give --into')
    whole = lessons.text_of(os.path.join(task.tree, task.file))
    left = lessons.take_out(whole, task.lesson.exercise.names, task.file)
    os.makedirs(os.path.join(folder, 'before'), exist_ok=True)
    files = {name: header(task) + left, 'README.md': page(task, before), 'check.sh': check_script(task),
             os.path.join('before', os.path.basename(before)): lessons.text_of(os.path.join(task.tree, before))}
    for file, text in files.items():
        results.save_bytes(os.path.join(folder, file), text.encode())
    os.chmod(os.path.join(folder, 'check.sh'), 0o755)
    print(f'{folder}: {name} without {", ".join(task.lesson.exercise.names)}; the task is in README.md, the test is '
          'check.sh')
    return VALID


# ---- grade: building ----

def is_build_of(folder, tree):
    """Is this a configured build of the tree?"""
    status = os.path.join(folder, 'config.status')
    if not os.path.isfile(status):
        return False
    said = [line for line in lessons.text_of(os.path.join(folder, 'Makefile')).splitlines()
            if line.startswith('abs_top_srcdir = ')]
    return bool(said) and os.path.realpath(said[0].partition(' = ')[2]) == os.path.realpath(tree)


def said_by(ended):
    """The lines of a build that say what is wrong, at most five."""
    lines = ended.text.splitlines()
    faults = ('error', 'undefined reference', 'multiple definition')
    wrong = [line for line in lines if any(fault in line for fault in faults)]
    return '\n'.join(wrong[:5] or lines[-5:])


def built(command, what):
    ended = programs.run(command, limit=LIMIT)
    if ended.exit != 0:
        raise Fault(ENVIRONMENT, f'{what} failed ({ended.why or f"{ended.exit}"}):\n{said_by(ended)}')


def find_build(args, task, scratch):
    """A build of the tree, made if there is none."""
    if args.build and os.path.isdir(args.build) and os.listdir(args.build):
        if not is_build_of(args.build, task.tree):
            raise Fault(USAGE, f'--build {args.build}: not a build of {task.tree}')
        return os.path.abspath(args.build)
    if not args.build:
        for folder in (os.getcwd(), task.tree):
            if is_build_of(folder, task.tree):
                return os.path.abspath(folder)
    folder = os.path.abspath(args.build or os.path.join(scratch, 'build'))
    if not os.path.isfile(os.path.join(task.tree, 'configure')):
        raise Fault(ENVIRONMENT, f'{task.tree} has no configure: run ./bootstrap there, or give --build')
    print(f'no build of {task.tree} here: one is made in {folder}, which takes minutes' +
          ('' if args.build else '; keep one with --build DIR'), file=sys.stderr, flush=True)
    os.makedirs(folder, exist_ok=True)
    words = shlex.join([os.path.join(task.tree, 'configure'), *shlex.split(args.configure)])
    built(['sh', '-c', f'cd {shlex.quote(folder)} && {words}'], 'configure')
    return folder


def copy_of_app(task, file, scratch):
    """A copy of the app's folder with the file in place of the rung's. Returns the source to compile."""
    where = os.path.join(scratch, 'source')
    folder = os.path.join('apps', task.rung.app)
    for place, _, names in os.walk(os.path.join(task.tree, folder)):  # copytree would copy a read-only mode too
        to = os.path.join(where, os.path.relpath(place, task.tree))
        os.makedirs(to)
        for name in names:
            if name.endswith(('.c', '.h', '.cu', '.cuh', '.cpp', '.hpp', '.def')):
                shutil.copyfile(os.path.join(place, name), os.path.join(to, name))
    shutil.copyfile(file, os.path.join(where, task.file))
    compiled = task.file if task.file.endswith(('.c', '.cu', '.cpp')) else lessons.defining(task.rung, task.tree)
    return os.path.join(where, compiled), compiled


def symbols(file):
    """What an object defines for others, but for what C++ may define many times; None if nm is not there."""
    try:
        said = subprocess.run(['nm', '-g', '--defined-only', file], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              encoding='utf-8', errors='replace', timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    rows = [line.split() for line in said.stdout.splitlines()]
    return {row[2] for row in rows if len(row) == 3 and row[1] in 'TDBRGS'}


class NotBuilt(Exception):
    """What was written does not become a program."""


def build(args, task, scratch):
    """(program with the file in it, program as it is)."""
    folder = find_build(args, task, scratch)
    app = task.rung.app
    own = os.path.join('apps', app, app)
    if not os.path.isfile(os.path.join(folder, own)):
        built(['make', '-C', folder, f'-j{os.cpu_count() or 1}', own], f'make {own}')
    file, compiled = copy_of_app(task, args.file, scratch)
    rules = os.path.join(scratch, 'grade.mk')
    variable = f'apps_{app}_{app}'.replace('-', '_')
    suffix = compiled.rpartition('.')[2]
    with open(rules, 'w', encoding='utf-8') as out:
        out.write(RULES.replace('{app}', variable).replace('{name}', app).replace('{suffix}', suffix))
    program = os.path.join(scratch, app)
    ended = programs.run(['make', '-C', folder, '-f', rules, f'FOLDER={scratch}', f'FILE={file}', program], limit=LIMIT)
    if ended.exit != 0:
        raise NotBuilt(said_by(ended).replace(file, args.file))
    theirs = symbols(os.path.join(scratch, 'rung.o'))
    ours = symbols(os.path.join(folder, compiled.rpartition('.')[0] + '.o'))
    if theirs and ours and theirs - ours:
        raise NotBuilt(f'{args.file}: defines {", ".join(sorted(theirs - ours))}, which is not the rung\'s: make it '
                       'static')
    return program, os.path.join(folder, own)


# ---- grade: verifying and timing ----

def judge(program, task, options, scratch):
    """The rung's result; or what was wrong, as text."""
    file = os.path.join(scratch, 'result.json')
    results.remove(file)
    ended = programs.run([program, '--rung', task.rung.name, '--quiet', '--json', file, *options], limit=LIMIT)
    if ended.exit not in (VALID, INVALID):
        return None, programs.reason(ended), ended.exit
    result = results.parse(file)[1] if os.path.exists(file) else {'rungs': []}
    rung = (result['rungs'] or [{'checks': []}])[0]
    failed = [check for check in rung['checks'] if not check['held']]
    if ended.exit == VALID and rung.get('valid'):
        return rung, '', VALID
    value = lambda check: f'{check["value"]:.3g}' if 'value' in check else 'not finite'
    said = '\n'.join(f'{check["name"]}: {value(check)}, bound {check["bound"]:.3g}' for check in failed[:5])
    return None, said or programs.reason(ended), INVALID


def race(runners, repeats, scratch):
    """{name: (seconds a unit, unit)} of those that run, in turns; medians."""
    times, units = {}, {}
    file = os.path.join(scratch, 'time.json')
    for _ in range(repeats):
        for name, (program, rung, options) in runners.items():
            got = programs.measure(program, ['--rung', rung, '--quiet', *options], file, limit=LIMIT)
            row = got.result['rungs'][0] if got.result and got.result['rungs'] else {}
            if 'seconds_per_unit' in row:
                times.setdefault(name, []).append(row['seconds_per_unit'])
                units[name] = row['unit']
            elif not got.result:
                print(f'{name}: not timed: {got.why}')
    return {name: (statistics.median(found), units[name]) for name, found in times.items()}


def standing(task, times):
    """Lines: who is how fast, and where what was written stands."""
    if 'yours' not in times:
        return ['not timed: give time with -- --seconds S']
    own, unit = times['yours']
    width = max(map(len, times))
    lines = [f'{name:{width}}  {1e6 * seconds:12.2f} us a {unit}' +
             (f'  {seconds / own:6.2f} of your time' if name != 'yours' else '')
             for name, (seconds, unit) in times.items()]
    before, after = task.neighbours()
    said = [f'{times[name][0] / own:.2f}x as fast as {name}' for name in before + after if name in times]
    if 'repository' in times:
        said.append(f'{100 * times["repository"][0] / own:.0f} % of the speed of the repository\'s')
    return lines + [f'{task.rung.name}: yours is ' + ', '.join(said)] if said else lines


def main_grade(args):
    task = Task(args)
    if not os.path.isfile(args.file):
        raise Fault(USAGE, f'{args.file}: no such file')
    exercise = task.lesson.exercise
    options = (exercise.options if exercise else []) + args.passed
    with tempfile.TemporaryDirectory(prefix='rooftop-grade-') as scratch:
        try:
            program, own = build(args, task, scratch)
        except NotBuilt as why:
            print(f'{why}\n{args.app} {args.rung}: INVALID: it is not built')
            return INVALID
        rung, why, status = judge(program, task, options, scratch)
        if not rung:
            print(why)
            if status == INVALID:
                print(f'{args.app} {args.rung}: INVALID')
                return INVALID
            raise Fault(status if status in (2, 3, 4) else ENVIRONMENT, f'{args.rung}: could not be judged')
        print(f'{len(rung["checks"])} checks held')
        before, after = task.neighbours()
        runners = {name: (own, name, args.passed) for name in before}
        runners.update(yours=(program, args.rung, options), repository=(own, args.rung, options))
        runners.update({name: (own, name, args.passed) for name in after})
        if 'seconds_per_unit' in rung:
            print('\n'.join(standing(task, race(runners, args.repeats, scratch))))
        print(f'{args.app} {args.rung}: VALID')
        return VALID
