"""A lesson as a Jupyter notebook: it runs the rungs, says what each did, and draws the climb."""
import os

from .. import ENVIRONMENT, Fault, shipped
from .lesson_page import Lesson, Page, answer, question
from .lessons import plain

SETUP = '''import os, subprocess, sys
from IPython.display import HTML, display

sys.path.insert(0, {tools!r})
from rooftop_suite import results
from rooftop_suite.course import lesson_page
from rooftop_suite.pages import plots
from rooftop_suite.results import figures

PROGRAM = {program!r}
OPTIONS = {options!r}  # of every run
ran = []

def run(rung):
    """Verifies and times a rung, and says what it did."""
    ended = subprocess.run([PROGRAM, '--rung', rung, '--quiet', '--json', 'rung.json', *OPTIONS],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if ended.returncode:
        print(ended.stdout)
        return
    result = figures.Result(results.load('rung.json', results.Program))
    ran.append(result.rungs[0])
    for line in lesson_page.report(result, before=ran[:-1]):
        print(line)

def climb():
    """Draws the figures of merit so far; of rungs that the machine disturbed there are none."""
    drawn = plots.climb('climb', {app!r}, ran)
    display(HTML(f'<div style="max-width: 45rem; background: #fff">{{plots.first(drawn)}}</div>') if drawn else
            HTML('<p>Every rung was disturbed: run the cells again on a quiet machine.</p>'))
'''


def rung_cells(lesson: Lesson, one: Page) -> list[tuple[str, str]]:
    """Returns [(kind, text)] on a rung: idea and question, the run, and the answer, folded."""
    text = one.lesson
    if not text:
        return [('markdown', f'## {one.name}'), ('code', f'run({one.name!r})')]
    parts = [f'## {one.name}', f'**Idea.** {plain(text.idea)}',
             f'**Data.** {text.drawing}.' if text.drawing else '',
             f'**Predict**, before you run the next cell. {plain(question(lesson, one, text.predict))}']
    folded = '\n\n'.join(['<details><summary>The answer</summary>', *map(plain, answer(one)), '</details>',
                          f'**Look at.** {plain(text.look)}'])
    return [('markdown', '\n\n'.join(filter(None, parts))), ('code', f'run({one.name!r})'), ('markdown', folded)]


def notebook(lesson: Lesson, program: str, options: list[str]) -> str:
    """Returns the notebook, for the rungs that ran here."""
    try:
        from nbformat import v4, writes
    except ImportError:
        raise Fault(ENVIRONMENT, 'a notebook needs nbformat (Debian: apt install python3-nbformat)') from None
    tools = os.path.dirname(os.path.dirname(shipped('cli.py')))
    setup = SETUP.format(tools=tools, program=program, options=options, app=lesson.app)
    cells = [('markdown', f'# {lesson.text.title}\n\n{plain(lesson.text.introduction)}'), ('code', setup)]
    for one in lesson.here:
        cells += rung_cells(lesson, one)
    cells += [('markdown', '## The whole climb'), ('code', 'climb()')]
    make = {'markdown': v4.new_markdown_cell, 'code': v4.new_code_cell}
    kernel = {'display_name': 'Python 3', 'language': 'python', 'name': 'python3'}
    return str(writes(v4.new_notebook(cells=[make[kind](text, id=f'cell-{i}') for i, (kind, text) in enumerate(cells)],
                                      metadata={'kernelspec': kernel})))
