"""Pages of HTML that need nothing else. Their parts are in page.html; this fills them in, and escapes all text."""
import functools
import os
import re
import string
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Union

from . import ENVIRONMENT, Fault, shipped
from .svg import escape

if TYPE_CHECKING:
    import jinja2


class Html(str):
    """Text that is HTML already."""

    def __html__(self) -> str:  # Jinja2 asks for it
        return self


def template(name: str) -> 'jinja2.Template':
    """Returns a template of this folder, which escapes text that is not Html."""
    try:
        import jinja2
    except ImportError:
        raise Fault(ENVIRONMENT, f'{name} needs Jinja2 (Debian: apt install python3-jinja2)') from None
    return jinja2.Environment(loader=jinja2.FileSystemLoader(os.path.dirname(__file__)), autoescape=True,
                              undefined=jinja2.StrictUndefined).get_template(name)


def escaped(value: object) -> Html:
    return value if isinstance(value, Html) else Html(escape(str(value)))


@functools.lru_cache(maxsize=None)
def parts() -> dict[str, string.Template]:
    """Returns the parts of page.html by name."""
    with open(shipped('page.html'), encoding='utf-8') as file:
        pieces = re.split(r'^<!-- ([a-z ]+) -->\n', file.read(), flags=re.M)
    return {name: string.Template(text.rstrip('\n')) for name, text in zip(pieces[1::2], pieces[2::2])}


def fill(part: str, **values: object) -> Html:
    """Returns a part with its names filled in. Values that are not Html are escaped."""
    return Html(parts()[part].substitute({name: escaped(value) for name, value in values.items()}))


def join(values: Iterable[object], between: str = '') -> Html:
    """Returns the values one after the other, each escaped if need be, without those that are empty."""
    return Html(between.join(escaped(value) for value in values if value))


def attribute(name: str, value: str) -> Html:
    return Html(f' {name}="{escape(value)}"')


def inline(name: str, value: object, kind: str = '') -> Html:
    """Returns an element of a line: inline('code', text)."""
    return Html(f'<{name}{attribute("class", kind) if kind else ""}>{escaped(value)}</{name}>')


def link(to: str, value: object) -> Html:
    return Html(f'<a{attribute("href", "#" + to)}>{escaped(value)}</a>')


def table(heads: Sequence[object], rows: Iterable[Sequence[object]], under: object = '', words: int = 1) -> Html:
    """The first `words` columns are text, the others numbers. A table that is too wide for the window scrolls."""
    def number(i: int) -> Union[str, Html]:
        return '' if i < words else attribute('class', 'n')

    lines = [fill('row', cells=join([fill('first', text=row[0])] + [
        fill('cell', number=number(i), text=cell) for i, cell in enumerate(row[1:], 1)])) for row in rows]
    swipe = fill('swipe', columns=len(heads)) if len(heads) > 4 else ''
    first = join(fill('head', number=number(i), text=head) for i, head in enumerate(heads))
    return fill('table', swipe=swipe, heads=first, rows=join(lines, '\n'),
                under=fill('under', text=under) if under else '')


def facts(pairs: Iterable[tuple[object, object]]) -> Html:
    """Names and values; those without a value are left out."""
    return fill('facts', rows=join(fill('fact', name=name, value=value) for name, value in pairs if value))


def details(summary: object, body: object, open_: bool = False) -> Html:
    return fill('details', open=Html(' open') if open_ else '', summary=summary, body=body)


def pre(text: object, kind: str = '') -> Html:
    return fill('pre', kind=attribute('class', kind) if kind else '', text=text)


def verdict(word: str) -> Html:
    """Returns the mark of a verdict: VALID, UNSTEADY, NOT CONVERGED or INVALID."""
    return fill('verdict', kind=word.lower() if word in ('VALID', 'UNSTEADY') else 'invalid', text=word)


def document(title: str, body: Html) -> str:
    """Returns a whole page."""
    return fill('document', title=title, body=body) + '\n'
