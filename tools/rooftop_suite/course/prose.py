"""Markdown of lessons as HTML: paragraphs, code, emphasis. Links become code: their targets are not at the page."""
import re
from html import escape

from ..pages.page import Markup, join
from .lessons import plain


def words(text: str) -> Markup:
    """Returns a paragraph's code and emphasis as HTML."""
    marked = re.sub(r'`([^`]+)`', r'<code>\1</code>', escape(plain(text), quote=False))
    strong = re.sub(r'\*\*([^*]+)\*\*', r'<strong>\1</strong>', marked)
    return Markup(re.sub(r'\*([^*\n]+)\*', r'<em>\1</em>', strong))


def prose(text: str) -> Markup:
    """Returns paragraphs of Markdown as HTML."""
    return join(Markup('<p>{}</p>').format(words(part)) for part in text.split('\n\n'))
