"""An exercise without code: predict the time of a rung, write it into a file, then run it.

The file, `prediction`, has one line, "RUNG NUMBER UNIT", and lines that begin with # are comments. The marks are by
|predicted - measured| / measured.
"""
import math
from typing import Optional

from .. import USAGE, Fault
from ..results import explain, figures
from . import lessons
from .tasks import Task

FILE = 'prediction'
UNITS = {'s': 1.0, 'ms': 1e-3, 'us': 1e-6, 'µs': 1e-6, 'ns': 1e-9}
MARKS = ((0.10, 'full'), (0.25, 'half'), (math.inf, 'none'))


def task(app: str, name: str) -> Task:
    """Returns the task of predicting a rung; Fault if there is no such rung."""
    return Task(app, name, lessons.rung_of(app, name), lessons.read(app).of[name], FILE)


def files(one: Task, options: str, tool: str) -> dict[str, str]:
    """Returns {name: text}: the file to write into, and the task. '1. ' begins an item of a list."""
    others = [rung.name for rung in lessons.ladder(one.app) if rung.kind == one.rung.kind and rung.name != one.name]
    near = one.rung.after if one.rung.after in others else [*others, one.rung.after][0]
    parts = [
        f'# {one.app}: predict {one.name}', one.lesson.idea if one.lesson else '', f'How long does a unit take with `--rung '
        f'{one.name} {options}`? The unit is that of the table that a run prints. Write down a number before you run it:',
        f'1. In the build, `apps/{one.app}/{one.app} --rung {near} {options} --json near.json` prints the ceilings of the '
        f'machine; `{tool} explain near.json` says where the time of {near} goes, and what is left.',
        f'2. Bytes and flops of each kernel of {one.name}: docs/lessons/{one.app}.md and apps/{one.app}/work.c. Its budget '
        'is the sum of max(bytes / bandwidth, flops / arithmetic), launches, and what is left: section 8 of the primer.',
        f'3. Write one line into `{FILE}`, such as `{one.name} 1.5 ms`, and run `./check.sh`. Within 10 % of the measured '
        'time: full marks; within 25 %: half; else none. It also shows where the time went.']
    blank = f'# {one.app} --rung {one.name} {options}\n# One line: {one.name} NUMBER UNIT, of {", ".join(UNITS)}\n'
    return {FILE: blank, 'README.md': '\n\n'.join(map(lessons.filled, parts)) + '\n'}


def seconds_in(text: str, file: str, rung: str) -> float:
    """Returns the predicted seconds per unit; Fault if there is not one prediction of this rung."""
    words = ' '.join(line for line in text.splitlines() if not line.startswith('#')).split()
    if len(words) != 3:
        raise Fault(USAGE, f'{file}: "{" ".join(words)}", where one line is needed such as "{rung} 1.5 ms"')
    name, number, unit = words
    if name != rung:
        raise Fault(USAGE, f'{file}: a prediction of {name}, not of {rung}')
    try:
        seconds = float(number) * UNITS[unit]
    except (ValueError, KeyError):
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds > 0):
        raise Fault(USAGE, f'{file}: {number} {unit} is not a time; units: {", ".join(UNITS)}')
    return seconds


def marked(predicted: float, rung: figures.Rung, budget: Optional[explain.Budget]) -> list[str]:
    """Returns lines on a prediction of a rung that was timed: the marks, and where the time goes."""
    measured = rung.seconds or math.nan
    off = round(abs(predicted - measured) / measured, 3)  # as it is said
    marks = next(marks for most, marks in MARKS if off <= most)
    said = [f'predicted {figures.time_text(predicted)}, measured {figures.time_text(measured)} per {rung.unit}: '
            f'{100 * off:.1f} % {"longer" if predicted > measured else "shorter"}', f'marks: {marks}']
    if budget and marks != 'full':
        hidden = sum(line.hidden for line in budget.lines)
        parts, wide = {**budget.parts, 'hidden (which does not count)': hidden}, abs(predicted - measured)
        near = min((part for part in parts if parts[part]), key=lambda part: abs(math.log(parts[part] / wide)))
        said.append(f'hint: of the budget, {near}, {figures.time_text(parts[near])}, is nearest to the difference of '
                    f'{figures.time_text(wide)}')
    return said + (explain.said(budget) if budget else [])
