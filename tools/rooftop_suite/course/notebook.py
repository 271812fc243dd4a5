"""A lesson as a Jupyter notebook: it runs the rungs, and has the questions and the answers."""
import shlex

from .. import ENVIRONMENT, Fault
from .lesson_page import Lesson, Page, answer, question
from .lessons import plain


def rung_cells(lesson: Lesson, one: Page) -> list[tuple[str, str]]:
    """Returns [(kind, text)] on a rung: idea and question, the run, and the answer, folded."""
    text, run = one.lesson, ('code', f'!$rooftop --rung {one.name}')
    if not text:
        return [('markdown', f'## {one.name}'), run]
    parts = [f'## {one.name}', f'**Idea.** {plain(text.idea)}', f'**Data.** {text.drawing}.' if text.drawing else '',
             f'**Predict**, before you run the next cell. {plain(question(one, text.predict))}']
    folded = '\n\n'.join(['<details><summary>The answer</summary>', *map(plain, answer(one)), '</details>',
                          f'**Look at.** {plain(text.look)}'])
    return [('markdown', '\n\n'.join(filter(None, parts))), run, ('markdown', folded)]


def notebook(lesson: Lesson, program: str, options: list[str]) -> str:
    """Returns the notebook, for the rungs that ran here."""
    try:
        from nbformat import v4, writes
    except ImportError:
        raise Fault(ENVIRONMENT, 'a notebook needs nbformat (Debian: apt install python3-nbformat)') from None
    setup = f'rooftop = {shlex.join([program, "--quiet", *options])!r}  # begins every run'
    cells = [('markdown', f'# {lesson.text.title}\n\n{plain(lesson.text.introduction)}'), ('code', setup)]
    for one in lesson.here:
        cells += rung_cells(lesson, one)
    cells += [('markdown', '## The whole climb'), ('code', '!$rooftop --ladder')]
    make = {'markdown': v4.new_markdown_cell, 'code': v4.new_code_cell}
    kernel = {'display_name': 'Python 3', 'language': 'python', 'name': 'python3'}
    return str(writes(v4.new_notebook(cells=[make[kind](text, id=f'cell-{i}') for i, (kind, text) in enumerate(cells)],
                                      metadata={'kernelspec': kernel})))
