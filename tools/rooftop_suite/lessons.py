"""The lessons: docs/lessons/APP.md, with a section a rung, beside the app's ladder.def and the rungs' sources.

    ladder(app, tree)           [Rung] of ladder.def
    read(app)                   Lessons: title, introduction, {rung: Lesson}
    problems(app, tree)         lines on what does not fit: a rung without lesson, a lesson without rung, a lost name
    source(rung, lesson, tree)  the file that a rung is looked at in; defining(rung, tree): that of its function table
    take_out(text, names)       a source without the bodies of these functions

A section is paragraphs with a label each, **Idea.** and so on, in the order of LABELS. Which file a rung is in needs no
list: it is the one that defines the function table that ladder.def names. A section says **Source.** where there is
more to see in another file, **Differs from.** where the diff is to another rung than ladder.def's, and **Exercise.**,
which names the functions to write, options to run them with, and the task:

    **Exercise.** `along_i`, `along_rows` with `--choose loops=lines`: derivatives along i, and along j or k.
"""
import collections
import os
import re
import textwrap

from . import ENVIRONMENT, USAGE, Fault, programs, shipped, source_tree

LABELS = ('Idea', 'Predict', 'Answer', 'What did not help here', 'Look at')  # every section has them
MORE = ('Source', 'Differs from', 'Exercise')  # some have these too
KINDS = {'CPU': 'cpu', 'CUDA': 'cuda', 'NVRTC': 'cuda', 'KOKKOS': 'kokkos'}

Rung = collections.namedtuple('Rung', 'app name kind after ladder table idea')
Lessons = collections.namedtuple('Lessons', 'title introduction of')
Lesson = collections.namedtuple('Lesson', 'idea predict answer unhelpful look source before exercise')
Exercise = collections.namedtuple('Exercise', 'names options task')


def text_of(path):
    try:
        with open(path, encoding='utf-8') as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise Fault(ENVIRONMENT, f'{path}: {getattr(error, "strerror", None) or "no text"}') from None


def tree_of(given):
    """The source tree, for what cannot be done without it."""
    tree = given or source_tree()
    if not tree:
        raise Fault(ENVIRONMENT, 'this suite is installed: say --source DIR, where its source tree is')
    if not os.path.isfile(os.path.join(tree, 'apps', 'nekbone', 'ladder.def')):
        raise Fault(USAGE, f'--source {tree}: not the source tree, there is no apps/nekbone/ladder.def')
    return os.path.abspath(tree)


def pass_on(parser):
    """What stands behind -- goes to the program, as args.passed; argparse alone would take it for its own."""
    parser.epilog = 'What follows -- goes to the program: -- --elements 4x4x4 --seconds 1'
    parse = parser.parse_args

    def parse_before(words):
        at = words.index('--') if '--' in words else len(words)
        args = parse(words[:at])
        args.passed = words[at + 1:]
        return args
    parser.parse_args = parse_before


# ---- The ladder ----

RUNG = re.compile(r'^RUNG\(([\w-]+),\s*(\w+),\s*"([^"]*)",\s*(?:"([^"]*)",\s*)?(\w+),\s*'
                  r'((?:"(?:[^"\\]|\\.)*"\s*)+)\)', re.M)


def ladder(app, tree):
    path = os.path.join(tree, 'apps', app, 'ladder.def')
    rungs = []
    for name, kind, after, of, table, idea in RUNG.findall(text_of(path)):
        if kind not in KINDS:
            raise Fault(ENVIRONMENT, f'{path}: {name}: its kind is {kind}, which lessons.py does not know')
        rungs.append(Rung(app, name, KINDS[kind], after, of, table, ''.join(re.findall(r'"((?:[^"\\]|\\.)*)"', idea))))
    if not rungs:
        raise Fault(ENVIRONMENT, f'{path}: no RUNG(...) in it')
    return rungs


def rung_of(app, name, tree):
    rungs = ladder(app, tree)
    for rung in rungs:
        if rung.name == name:
            return rung
    raise Fault(USAGE, f"{app} has no rung '{name}'; known: {', '.join(rung.name for rung in rungs)}")


def defining(rung, tree):
    """Path under the tree of the file that has the rung's function table."""
    table = re.compile(rf'\b\w+_kernels_t\s+{rung.table}\s*=')
    for kind in ('cpu', 'cuda', 'kokkos'):
        folder = os.path.join('apps', rung.app, kind)
        for name in sorted(os.listdir(os.path.join(tree, folder))):
            path = os.path.join(folder, name)
            if name.endswith(('.c', '.cu', '.cpp')) and table.search(text_of(os.path.join(tree, path))):
                return path
    raise Fault(ENVIRONMENT, f'apps/{rung.app}: no file defines {rung.table}, the table of {rung.name}')


def source(rung, lesson, tree):
    """Path under the tree of the file to look at."""
    return os.path.join('apps', rung.app, lesson.source) if lesson.source else defining(rung, tree)


# ---- The lessons ----

def code_in(text):
    """The words of a paragraph that stand in `backquotes`."""
    return re.findall(r'`([^`]+)`', text)


def exercise_in(text, where):
    found = re.fullmatch(r'((?:`\w+`(?:, )?)+)(?: with `([^`]+)`)?: (.+)', text, re.S)
    if not found:
        raise Fault(ENVIRONMENT, f'{where}: Exercise: not "`function`, ..: task"')
    return Exercise(code_in(found[1]), (found[2] or '').split(), ' '.join(found[3].split()))


def lesson_in(text, where):
    parts = re.split(r'^\*\*([\w ]+)\.\*\*[ \n]', text, flags=re.M)
    labels, paragraphs = parts[1::2], dict(zip(parts[1::2], (part.strip() for part in parts[2::2])))
    if parts[0].strip() or tuple(labels[:len(LABELS)]) != LABELS or not all(paragraphs.values()):
        raise Fault(ENVIRONMENT, f'{where}: has {", ".join(labels) or "no labels"}; wanted: {", ".join(LABELS)}, each '
                    'with a text')
    if len(set(labels)) != len(labels) or not set(labels) <= set(LABELS + MORE):
        raise Fault(ENVIRONMENT, f'{where}: has {", ".join(labels)}; known besides: {", ".join(MORE)}, each once')
    named = [code_in(paragraphs[label])[0] if label in paragraphs and code_in(paragraphs[label]) else ''
             for label in ('Source', 'Differs from')]
    exercise = exercise_in(paragraphs['Exercise'], where) if 'Exercise' in paragraphs else None
    return Lesson(*(paragraphs[label] for label in LABELS), *named, exercise)


def read(app):
    if app not in programs.APPS:
        raise Fault(USAGE, f"there is no app '{app}'; known: {', '.join(programs.APPS)}")
    path = shipped('docs', 'lessons', f'{app}.md')
    head, *sections = re.split(r'^## ', text_of(path), flags=re.M)
    title, _, introduction = head.partition('\n')
    lessons = {}
    for section in sections:
        name, _, text = section.partition('\n')
        where = f'{path}: {name}'
        if name in lessons:
            raise Fault(ENVIRONMENT, f'{where}: stands there twice')
        lessons[name] = lesson_in(text, where)
    return Lessons(title.lstrip('# '), introduction.strip(), lessons)


def problems(app, tree):
    """What does not fit together, a line each."""
    lessons, rungs = read(app).of, {rung.name: rung for rung in ladder(app, tree)}
    wrong = [f'{app}: {name} is in ladder.def and has no lesson' for name in rungs if name not in lessons]
    wrong += [f'{app}: {name} has a lesson and is not in ladder.def' for name in lessons if name not in rungs]
    for name in (name for name in rungs if name in lessons):
        rung, lesson = rungs[name], lessons[name]
        if lesson.before and lesson.before not in rungs:
            wrong.append(f'{app}: {name} differs from {lesson.before}, which is no rung')
        try:
            path = source(rung, lesson, tree)
            text = text_of(os.path.join(tree, path))
            if lesson.exercise:
                take_out(text, lesson.exercise.names, path)
            elif rung.kind == 'cpu' and rung.after:
                wrong.append(f'{app}: {name} has no exercise')
        except Fault as fault:
            wrong.append(f'{app}: {name}: {fault}')
    return wrong


# ---- Exercises: a source without some bodies ----

def blanked(text):
    """The text with comments, strings and characters as blanks, every other character where it was."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'', re.S)
    return pattern.sub(lambda match: re.sub(r'[^\n]', ' ', match[0]), text)


def closing(text, at):
    """Where the bracket that opens at `at` is closed."""
    pairs = {'(': ')', '{': '}'}
    opened, closed, depth = text[at], pairs[text[at]], 0
    for i in range(at, len(text)):
        depth += (text[i] == opened) - (text[i] == closed)
        if depth == 0:
            return i
    return -1


def bodies(text, name):
    """[(begin, end, what stands there instead)] of each body of a function, or of a macro that is one."""
    blank, found = blanked(text), []
    for match in re.finditer(rf'\b{name}\s*\(', blank):
        end = closing(blank, match.end() - 1)
        opening = re.compile(r'\)\s*(?:const\s*)?\{').match(blank, end) if end > 0 else None
        if re.search(r'#define[ \t]+$', blank[:match.start()]):
            last = re.compile(r'(?:[^\n]*\\\n)*[^\n]*').match(blank, end + 1).end()
            found.append((end + 1, last, ' \\\n    do { /* to write */ \\\n    } while (0)'))
        elif opening:
            begin = opening.end()
            declared = re.split(r'[;{}]|\n\s*\n', blank[:match.start()])[-1]
            nothing = '' if re.search(r'\bvoid\b', declared) else '\n    return {};'
            found.append((begin, closing(blank, begin - 1), f'\n    /* to write */{nothing}\n'))
    return found


def take_out(text, names, path):
    """The text without the bodies of these functions, which is still a program, and a wrong one."""
    for name in names:
        found = bodies(text, name)
        if not found:
            raise Fault(ENVIRONMENT, f'{path}: no function {name} to take out')
        for begin, end, instead in reversed(found):
            text = text[:begin] + instead + text[end:]
    return text


def filled(text, width=100, indent=''):
    """Paragraphs in lines of a width."""
    return '\n\n'.join(textwrap.fill(' '.join(part.split()), width, initial_indent=indent, subsequent_indent=indent,
                                     break_long_words=False, break_on_hyphens=False)
                       for part in text.split('\n\n'))
