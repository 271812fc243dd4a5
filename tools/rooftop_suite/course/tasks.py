"""An exercise: a part of the source tree to write again, and how to judge it.

docs/lessons/exercises/APP/NAME.md has the functions to write, options to run them with, the task in steps, three hints,
and a starter, which is correct and slow. NAME is the rung that judges it; else the file names the source (**Source.**)
and a rung on that number of ranks (**Judge.**).

    **Exercise.** `along_i`, `along_rows` with `--choose loops=lines`: derivatives along i, and along j or k.
    **Source.** `problem.c`
    **Judge.** `scalar` on 2 ranks
    **Steps.**
    1. ...
    **Hint.** ...
    **Starter.** why it is slow
    ```c
    static void along_i(..)
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
    """rung: the one that judges it; file: the source to write, compiled: what to compile, both under the tree; names:
    of the functions to write; before: the source to start from, '' if there is none."""
    app: str
    name: str
    rung: lessons.Rung
    lesson: Optional[lessons.Lesson] = None
    file: str = ''
    compiled: str = ''
    before: str = ''
    ranks: int = 1
    names: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    task: str = ''
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


def names(app: str) -> list[str]:
    """Returns the names of all exercises of an app: those on rungs in the order of the ladder, then the others."""
    if not os.path.isdir(os.path.join(lessons.tree(), FOLDER, app)):
        raise Fault(USAGE, f"there is no app '{app}' with exercises; known: {', '.join(results.APPS)}")
    rungs = [rung.name for rung in lessons.ladder(app)]
    found = sorted(name[:-3] for name in os.listdir(os.path.join(lessons.tree(), FOLDER, app)) if name.endswith('.md'))
    return sorted(found, key=lambda name: rungs.index(name) if name in rungs else len(rungs))


def taken(pattern: str, text: str, where: str, form: str) -> 're.Match[str]':
    """Returns the match of a paragraph; Fault if it has not this form."""
    found = re.fullmatch(pattern, text, re.S)
    if not found:
        raise Fault(ENVIRONMENT, f'{where}: not {form}')
    return found


def on_rung(app: str, name: str) -> Task:
    known = lessons.read(app).of
    rung, lesson = lessons.rung_of(app, name), known[name]
    file = lessons.source(rung, lesson)
    before = lessons.rung_of(app, lesson.before or rung.after)
    within = os.path.join('apps', app, lesson.within) if lesson.within else lessons.own(rung)
    return Task(app, name, rung, lesson, file, file if file.endswith(('.c', '.cu', '.cpp')) else within,
                lessons.source(before, known[before.name]))


def find(app: str, name: str) -> Task:
    """Returns the task of this name; Fault if there is none."""
    if name not in names(app):
        raise Fault(USAGE, f"{app} has no exercise '{name}'; known: {', '.join(names(app))}")
    path = os.path.join(lessons.tree(), FOLDER, app, f'{name}.md')
    found = lessons.labelled(lessons.text_of(path), path, LABELS)
    text = {**dict.fromkeys(LABELS, ''), **dict(found)}
    if text['Judge']:
        said = taken(r'`([\w-]+)` on (\d+) ranks?', text['Judge'], path, '"`rung` on 2 ranks"')
        task = Task(app, name, lessons.rung_of(app, said[1]), ranks=int(said[2]))
        task.file = task.compiled = os.path.join('apps', app, *lessons.code_in(text['Source'])[:1])
    else:
        task = on_rung(app, name)
    said = taken(r'((?:`\w+`(?:, )?)+)(?: with `([^`]+)`)?: (.+)', text['Exercise'], path, '"`function`, ..: task"')
    task.names, task.options, task.task = lessons.code_in(said[1]), (said[2] or '').split(), ' '.join(said[3].split())
    task.steps = [' '.join(item.split()) for item in re.split(r'^\d+\. ', text['Steps'], flags=re.M) if item.strip()]
    task.hints = [' '.join(paragraph.split()) for label, paragraph in found if label == 'Hint']
    said = taken(r'(.*?)\n```\w*\n(.*)\n```', text['Starter'], path, 'a text and then ``` code ```')
    task.slow, task.starter = ' '.join(said[1].split()), said[2] + '\n'
    return task


def started(task: Task) -> str:
    """Returns the source with the functions of the starter in place of its own."""
    text = lessons.text_of(os.path.join(lessons.tree(), task.file))
    for name in task.names:
        new, old = lessons.bodies(task.starter, name), lessons.bodies(text, name)
        if len(new) != 1 or len(old) != 1:
            raise Fault(ENVIRONMENT, f'{task.name}: {name} is not once in {task.file}, and once in the starter')
        text = text[:old[0][0]] + task.starter[new[0][0]:new[0][1]] + text[old[0][1]:]
    return text
