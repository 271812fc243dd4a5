"""Pages of HTML that need nothing else, by Jinja2: page.html is the page, parts.html has the macros of its parts."""
import os
from collections.abc import Iterable, Sequence
from typing import Any

from .. import ENVIRONMENT, Fault, without_empty

try:
    import jinja2
    from markupsafe import Markup as Markup  # text that is HTML already
except ImportError:
    raise Fault(ENVIRONMENT, 'a page needs Jinja2 (Debian: apt install python3-jinja2)') from None

Columns = list[tuple[str, Sequence[object]]]
TEMPLATES: Any = jinja2.Environment(loader=jinja2.FileSystemLoader(os.path.dirname(__file__)), autoescape=True,
                                    undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def render(name: str, **values: object) -> str:
    """Returns a page: a template filled in, in which text that is not Markup is escaped."""
    return str(TEMPLATES.get_template(name).render(**values)) + '\n'


parts: Any = TEMPLATES.get_template('parts.html').module


def join(values: Iterable[object], between: str = '') -> Markup:
    """Returns the values one after the other, each escaped if need be, without those that are empty."""
    return Markup(between).join(value for value in values if value)


def inline(name: str, value: object) -> Markup:
    """Returns an element of a line: inline('code', text)."""
    return Markup(f'<{name}>{{}}</{name}>').format(value)


def listed(columns: Columns, under: object = '', words: int = 1) -> Markup:
    """Returns a table of columns. One that holds nothing but dashes is left out."""
    heads, rows, words = without_empty([head for head, _ in columns], list(zip(*(cells for _, cells in columns))), words)
    return Markup(parts.table(heads, rows, under, words))
