"""An exercise: a part of the source tree to write again, and how to judge it.

The exercise on a rung is declared in the rung's lesson (lessons.py: **Exercise.**). docs/lessons/exercises/APP/NAME.md
adds what helps: steps, three hints, and a starter, which is correct and slow. A file whose NAME is no rung declares an
exercise of its own: on another source of the app (**Source.**), judged by a rung on so many ranks (**Judge.**).

    **Exercise.** `list_shared`: the points that elements share, and their global numbers.
    **Source.** `problem.c`
    **Judge.** `scalar` on 2 ranks
    **Steps.**
    1. ...
    **Hint.** ...
    **Starter.** why it is slow
    ```c
    static void list_shared(..)
    {
"""
import os
import re
from dataclasses import dataclass, field
from typing import Optional

from .. import ENVIRONMENT, USAGE, Fault, results
from . import lessons

LABELS = ('Exercise', 'Source', 'Judge', 'Steps', 'Hint', 'Starter')
FOLDER = os.path.join('docs', 'lessons', 'exercises')


@dataclass(repr=False, eq=False)
class Task:
    """rung: the one that judges it; file: the source to write, compiled: what to compile, both under the tree; before:
    the source to start from, '' if there is none."""
    tree: str
    app: str
    name: str
    rung: lessons.Rung
    lesson: Optional[lessons.Lesson]
    exercise: Optional[lessons.Exercise]
    file: str
    compiled: str
    before: str = ''
    ranks: int = 1
    steps: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    slow: str = ''
    starter: str = ''

    @property
    def base(self) -> str:
        return os.path.basename(self.file)

    @property
    def suffix(self) -> str:
        """Returns which compiler takes it: attempt.py's COMPILE_ of this name. C++ in cpu/ is not Kokkos's."""
        kind = self.compiled.rpartition('.')[2]
        return 'host' if kind == 'cpp' and '/cpu/' in self.compiled else kind


# ---- The files of exercises ----

def numbered(text: str) -> list[str]:
    """Returns the items of a numbered list."""
    return [' '.join(item.split()) for item in re.split(r'^\d+\. ', text, flags=re.M) if item.strip()]


def path_of(tree: str, app: str, name: str) -> str:
    return os.path.join(tree, FOLDER, app, f'{name}.md')


def own_names(app: str, tree: str) -> list[str]:
    """Returns the names of the exercises that have a file."""
    folder = os.path.join(tree, FOLDER, app)
    return sorted(name[:-3] for name in os.listdir(folder) if name.endswith('.md')) if os.path.isdir(folder) else []


def add_file(task: Task, text: str, where: str) -> None:
    """Adds what a file of an exercise says."""
    for label, paragraph in lessons.labelled(text, where, LABELS):
        if label == 'Exercise':
            task.exercise = lessons.exercise_in(paragraph, where)
        elif label == 'Source':
            task.file = task.compiled = os.path.join('apps', task.app, (lessons.code_in(paragraph) or [''])[0])
        elif label == 'Steps':
            task.steps = numbered(paragraph)
        elif label == 'Hint':
            task.hints.append(' '.join(paragraph.split()))
        elif label == 'Starter':
            found = re.fullmatch(r'(.*?)\n```\w*\n(.*)\n```', paragraph, re.S)
            if not found:
                raise Fault(ENVIRONMENT, f'{where}: Starter: not a text and then ``` code ```')
            task.slow, task.starter = ' '.join(found[1].split()), found[2] + '\n'


# ---- Tasks ----

def judge_of(text: str, where: str) -> tuple[str, int]:
    """Returns rung and ranks of **Judge.**"""
    found = re.search(r'^\*\*Judge\.\*\* `([\w-]+)` on (\d+) ranks?$', text, re.M)
    if not found:
        raise Fault(ENVIRONMENT, f'{where}: Judge: not "`rung` on 2 ranks"')
    return found[1], int(found[2])


def on_rung(app: str, name: str, tree: str) -> Task:
    known = lessons.read(app).of
    rung = lessons.rung_of(app, name, tree)
    if name not in known:
        raise Fault(ENVIRONMENT, f'docs/lessons/{app}.md has no lesson on {name}')
    if not rung.after:
        raise Fault(USAGE, f'{name} is the oracle that judges all others: there is no exercise on it')
    lesson = known[name]
    file = lessons.source(rung, lesson)
    before = lessons.rung_of(app, lesson.before or rung.after, tree)
    within = os.path.join('apps', app, lesson.within) if lesson.within else lessons.own(rung)
    return Task(tree, app, name, rung, lesson, lesson.exercise, file,
                file if file.endswith(('.c', '.cu', '.cpp')) else within,
                lessons.source(before, known[before.name]) if before.name in known else '')


def find(app: str, name: str, tree: str) -> Task:
    """Returns the task of this name; Fault if there is none."""
    if app not in results.APPS:
        raise Fault(USAGE, f"there is no app '{app}'; known: {', '.join(results.APPS)}")
    path = path_of(tree, app, name)
    text = lessons.text_of(path) if re.fullmatch(r'[\w-]+', name) and os.path.isfile(path) else ''
    if text and name not in [rung.name for rung in lessons.ladder(app, tree)]:
        judge, ranks = judge_of(text, path)
        task = Task(tree, app, name, lessons.rung_of(app, judge, tree), None, None, '', '', ranks=ranks)
    else:
        task = on_rung(app, name, tree)
    add_file(task, text, path)
    return task


def names(app: str, tree: str) -> list[str]:
    """Returns the names of all exercises of an app: those on rungs in the order of the ladder, then the others."""
    known, own = lessons.read(app).of, own_names(app, tree)
    rungs = [rung.name for rung in lessons.ladder(app, tree)]
    return [name for name in rungs if name in known and known[name].exercise or name in own] + [
        name for name in own if name not in rungs]


# ---- Sources with a part taken out ----

def body_of(text: str, name: str, where: str) -> lessons.Body:
    """Returns the body of a function; Fault unless there is one."""
    found = lessons.bodies(text, name)
    if len(found) != 1:
        raise Fault(ENVIRONMENT, f'{where}: {len(found)} functions {name} in it')
    return found[0]


def started(task: Task) -> str:
    """Returns the source with the functions of the starter in place of its own, or without their bodies."""
    if not task.exercise:
        raise Fault(USAGE, f'{task.name} has no exercise; those of {task.app}: {", ".join(names(task.app, task.tree))}')
    text = lessons.text_of(os.path.join(task.tree, task.file))
    if not task.starter:
        return lessons.take_out(text, task.exercise.names, task.file)
    for name in task.exercise.names:
        new = body_of(task.starter, name, f'{path_of(task.tree, task.app, task.name)}: Starter')
        old = body_of(text, name, task.file)
        text = text[:old.begin] + task.starter[new.begin:new.end] + text[old.end:]
    return text
