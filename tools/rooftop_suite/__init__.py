"""The suite: what a buyer and a teacher do with the four programs, as one command (tools/rooftop).

cli.py has the table of subcommands; each is a module of one of four packages:

    measure/    finds and runs the programs, looks at the machine: doctor, run, accept, scale, counters, reproduce
    results/    what a result is, whether it is whole and consistent, and what follows from it: verify, compare, table,
                explain, predict
    pages/      results as pages and pictures: report, picture
    course/     lessons and exercises: climb, exercise, grade

results/ needs nothing of the others but pages/ for a table as a page; pages/ does not need course/.
"""
import os
from collections.abc import Container, Sequence
from typing import Any, Optional

VALID, INVALID, USAGE, ENVIRONMENT, MEMORY = 0, 1, 2, 3, 4  # exit status, the same as the programs'

Json = dict[str, Any]


def one_line(text: str) -> str:
    """Returns a text with what would not show as itself on one line of a terminal written out."""
    return text if text.isprintable() else ''.join(
        c if c.isprintable() else repr(c)[1:-1] for c in text)


def number(value: Optional[float], form: str) -> str:
    """Returns a number in a form of format(), such as '.1%', for a table in a terminal; '-' where there is none."""
    return '-' if value is None else format(value, form).replace('%', ' %')


def aligned(rows: Sequence[Sequence[str]], words: Container[int]) -> list[str]:
    """Returns lines of rows in columns; the columns in `words` are text, the others numbers."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ['  '.join(f'{cell:{width}}' if i in words else f'{cell:>{width}}'
                      for i, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in rows]


def without_empty(heads: Sequence[str], rows: Sequence[Sequence[Any]], words: int) -> tuple[list[str], list[list[Any]], int]:
    """Returns heads and rows without the columns that hold nothing but dashes, and how many of the first `words` are left."""
    kept = [i for i, column in enumerate(zip(*rows)) if set(column) - {'-', '–', ''}]
    return [heads[i] for i in kept], [[row[i] for i in kept] for row in rows], sum(i < words for i in kept)


class Fault(Exception):
    """Something the user can mend: cli.main prints it as one line and ends with its status."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Interrupted(Exception):
    """SIGINT, SIGTERM or SIGHUP came: what is running is ended, and finished files are kept."""

    def __init__(self, signum: int) -> None:
        super().__init__(f'signal {signum}')
        self.signum = signum
        self.hint = ''  # what to do next


def shipped(*names: str) -> str:
    """Returns the path of a file or folder that comes with the suite, such as shipped('docs', 'lessons'): in the
    source tree, or in share/rooftop once installed. Fault if it is in neither."""
    package = os.path.dirname(os.path.abspath(__file__))
    above = os.path.dirname(package)
    for root in (package, above, os.path.dirname(above)):
        path = os.path.join(root, *names)
        if os.path.exists(path):
            return path
    raise Fault(ENVIRONMENT, f'{os.path.join(*names)} is missing: it comes with the suite (make install)')


def source_tree() -> Optional[str]:
    """Returns the root of the source tree that holds this suite, or None if the suite is installed."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return root if os.path.isfile(os.path.join(root, 'configure.ac')) else None
