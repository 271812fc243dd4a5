"""Markdown of lessons as HTML: paragraphs, code, emphasis. Links become code: their targets are not at the page."""
import re
from html import escape

from ..pages.page import Markup, join
from . import recorded
from .lessons import plain


def words(text: str) -> Markup:
    """Returns a paragraph's code and emphasis as HTML."""
    def measured(link: 're.Match[str]') -> str:
        return f'{{{{{link[1]}|{recorded.told(link[2])}}}}}'

    flat = plain(recorded.LINK.sub(measured, text))
    marked = re.sub(r'`([^`]+)`', r'<code>\1</code>', escape(flat, quote=False))
    marked = re.sub(r'\{\{([^|]*)\|([^}]*)\}\}', r'<abbr title="\2">\1</abbr>', marked)
    strong = re.sub(r'\*\*([^*]+)\*\*', r'<strong>\1</strong>', marked)
    return Markup(re.sub(r'\*([^*\n]+)\*', r'<em>\1</em>', strong))


def prose(text: str) -> Markup:
    """Returns paragraphs of Markdown as HTML."""
    return join(Markup('<p>{}</p>').format(words(part)) for part in text.split('\n\n'))
