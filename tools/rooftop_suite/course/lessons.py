"""The lessons: docs/lessons/APP.md, with a section per rung, together with the app's ladder.def and the rungs' sources.

    ladder(app)                 [Rung] of ladder.def
    read(app)                   Lessons: title, introduction, {rung: Lesson}
    own(rung)                   the rung's own file, which has its name; source(rung, lesson): the file to look at
    functions(text, names)      these functions of a source, to look at

A section is a sequence of labelled paragraphs, **Idea.** and so on, in the order of LABELS. **Source.** names another
file than the rung's own, where there is more to see in it; **Differs from.** the rung to diff with, if it is not
ladder.def's; **Drawing.** who touches what (drawings.py).
"""
import os
import re
import textwrap
from typing import NamedTuple

from .. import ENVIRONMENT, USAGE, Fault, results, shipped, source_tree

LABELS = ('Idea', 'Predict', 'Answer', 'What did not help here', 'Look at')  # every section has them
MORE = ('Source', 'Differs from', 'Drawing')  # some sections have these too
KINDS = {'CPU': 'cpu', 'CUDA': 'cuda', 'KOKKOS': 'kokkos', 'OPENACC': 'openacc'}
SUFFIXES = {'cpu': 'c', 'cuda': 'cu', 'kokkos': 'cpp', 'openacc': 'c'}


class Rung(NamedTuple):
    """A line of ladder.def."""
    app: str
    name: str
    kind: str
    after: str
    ladder: str


class Lesson(NamedTuple):
    """A section. source and before: '' where ladder.def decides; within: what includes the source, '' for the rung's."""
    idea: str
    predict: str
    answer: str
    unhelpful: str
    look: str
    source: str
    before: str
    drawing: str = ''
    within: str = ''


class Lessons(NamedTuple):
    """where: the last paragraph of the introduction, what to look for in a budget; '': none."""
    title: str
    introduction: str
    where: str
    of: dict[str, Lesson]


def text_of(path: str) -> str:
    try:
        with open(path, encoding='utf-8') as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise Fault(ENVIRONMENT, f'{path}: {getattr(error, "strerror", None) or "not text"}') from None


def tree() -> str:
    """Returns the source tree, for what cannot be done without it."""
    found = source_tree()
    if not found:
        raise Fault(ENVIRONMENT, 'this suite is installed: run tools/rooftop of its source tree')
    return found


# ---- The ladder ----

RUNG = re.compile(r'^RUNG\(([\w-]+),\s*(\w+),\s*"([^"]*)",\s*(?:"([^"]*)",\s*)?\w+,', re.M)


def ladder(app: str) -> list[Rung]:
    path = os.path.join(tree(), 'apps', app, 'ladder.def')
    rungs = []
    for name, kind, after, of in RUNG.findall(text_of(path)):
        if kind not in KINDS:
            raise Fault(ENVIRONMENT, f'{path}: {name}: its kind is {kind}, which lessons.py does not know')
        rungs.append(Rung(app, name, KINDS[kind], after, of))
    if not rungs:
        raise Fault(ENVIRONMENT, f'{path}: no RUNG(...) in it')
    return rungs


def rung_of(app: str, name: str) -> Rung:
    rungs = ladder(app)
    for rung in rungs:
        if rung.name == name:
            return rung
    raise Fault(USAGE, f"{app} has no rung '{name}'; known: {', '.join(rung.name for rung in rungs)}")


def own(rung: Rung) -> str:
    """Returns the path under the tree of the rung's own file, which has its name; a time step has that of its assembly."""
    name = rung.name.removeprefix('step-').replace('-', '_').lower()
    return os.path.join('apps', rung.app, rung.kind, f'{name}.{SUFFIXES[rung.kind]}')


def source(rung: Rung, lesson: Lesson) -> str:
    """Returns the path under the tree of the file to look at."""
    return os.path.join('apps', rung.app, lesson.source) if lesson.source else own(rung)


def looked_at(rung: Rung, lesson: 'Lesson') -> list[str]:
    """Returns the paths under the tree of the sources that a lesson looks at: the rung's, and those that it links."""
    linked = re.findall(r'\]\(\.\./\.\./(apps/[^)#]*\.(?:c|h|cu|cuh|cpp|hpp|inc))\)', lesson.look)
    return [source(rung, lesson), *linked]


# ---- The lessons ----

def code_in(text: str) -> list[str]:
    """Returns the words of a paragraph that are in `backquotes`."""
    return re.findall(r'`([^`]+)`', text)


def plain(text: str) -> str:
    """Returns a lesson's text with its links as text, those to files by their name as code: targets are elsewhere."""
    def named(link: 're.Match[str]') -> str:
        return f'`{link[1]}`' if link[2].partition('#')[0].endswith('/' + link[1]) else link[1]
    return re.sub(r'\[([^\]]*)\]\(([^)]*)\)', named, re.sub(r'\[`([^\]]*)`\]\(', r'[\1](', text))


def labelled(text: str, where: str, known: tuple[str, ...]) -> list[tuple[str, str]]:
    """Returns [(label, paragraph)] of a text of labelled paragraphs."""
    parts = re.split(r'^\*\*([\w ]+)\.\*\*[ \n]', text, flags=re.M)
    found = list(zip(parts[1::2], (part.strip() for part in parts[2::2])))
    if not all(label in known and paragraph for label, paragraph in found):
        raise Fault(ENVIRONMENT, f'{where}: has {", ".join(label for label, _ in found) or "no labels"}; known: '
                    f'{", ".join(known)}, each with a text')
    return found


def lesson_in(text: str, where: str) -> Lesson:
    found = labelled(text, where, LABELS + MORE)
    paragraphs = dict(found)
    if not text.lstrip().startswith('**') or tuple(paragraphs)[:len(LABELS)] != LABELS or len(paragraphs) != len(found):
        raise Fault(ENVIRONMENT, f'{where}: needed: {", ".join(LABELS)}, first and in this order, and no label twice')
    named = [(code_in(paragraphs.get(label, '')) or [''])[0] for label in ('Source', 'Differs from')]
    idea, predict, answer, unhelpful, look = (paragraphs[label] for label in LABELS)
    return Lesson(idea, predict, answer, unhelpful, look, named[0], named[1], paragraphs.get('Drawing', ''),
                  (code_in(paragraphs.get('Source', '')) + ['', ''])[1])


def read(app: str) -> Lessons:
    folder = shipped('docs', 'lessons')
    path = os.path.join(folder, f'{app}.md')
    if not os.path.isfile(path) or app == 'primer':
        raise Fault(USAGE, f"there is no app '{app}' with a lesson; known: {', '.join(results.APPS)}")
    head, *sections = re.split(r'^## ', text_of(path), flags=re.M)
    title, _, introduction = head.partition('\n')
    introduction, _, where = introduction.partition('\n**Where the time goes.** ')
    lessons: dict[str, Lesson] = {}
    for section in sections:
        name, _, text = section.partition('\n')
        if name in lessons:
            raise Fault(ENVIRONMENT, f'{path}: {name}: there are two lessons on it')
        lessons[name] = lesson_in(text, f'{path}: {name}')
    return Lessons(title.lstrip('# '), introduction.strip(), where.strip(), lessons)


# ---- The functions of a source ----

TEXTS = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'', re.S)  # comments, strings, letters


def closing(text: str, at: int) -> int:
    """Returns where the bracket that opens at `at` is closed; -1: nowhere."""
    pairs = {'(': ')', '{': '}'}
    opened, closed, depth = text[at], pairs[text[at]], 0
    for i in range(at, len(text)):
        depth += (text[i] == opened) - (text[i] == closed)
        if depth == 0:
            return i
    return -1


def bodies(text: str, name: str) -> list[tuple[int, int]]:
    """Returns where each body of a function of this name, or of a macro used as one, begins and ends."""
    blank = TEXTS.sub(lambda match: re.sub(r'[^\n]', ' ', match[0]), text)  # every other character where it was
    found = []
    for match in re.finditer(rf'\b{name}\s*\(', blank):
        end = closing(blank, match.end() - 1)
        opening = re.compile(r'\)\s*(?:const\s*)?\{').match(blank, end) if end > 0 else None
        last = re.compile(r'(?:[^\n]*\\\n)*[^\n]*').match(blank, end + 1)
        if last and re.search(r'#define[ \t]+$', blank[:match.start()]):
            found.append((end + 1, last.end()))
        elif opening:
            found.append((opening.end(), closing(blank, opening.end() - 1)))
    return found


def functions(text: str, names: list[str]) -> str:
    """Returns the functions and macros of these names with the comments above them, in the order of the names."""
    found: dict[int, str] = {}
    for first, last in (body for name in names for body in bodies(text, name)):
        begin, close = text.rfind('\n\n', 0, first) + 1, text.find('\n', last)
        found.setdefault(begin, text[begin:close if close > 0 else len(text)].strip('\n'))
    return '\n\n'.join(found.values()) + ('\n' if found else '')


def filled(text: str, width: int = 100) -> str:
    """Returns paragraphs in lines of a width."""
    return '\n\n'.join(textwrap.fill(' '.join(part.split()), width, break_long_words=False, break_on_hyphens=False)
                       for part in text.split('\n\n'))
