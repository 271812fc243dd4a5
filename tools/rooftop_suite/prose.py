"""Markdown of lessons as HTML: paragraphs, code, emphasis. Links become code: their targets are not at the page."""
import re
from html import escape

from . import recorded
from .page import Html, inline, join


def plain(text: str) -> str:
    """Returns a lesson's text with its links as text, those to files by their name as code: targets are elsewhere."""
    def named(link: 're.Match[str]') -> str:
        return f'`{link[1]}`' if link[2].partition('#')[0].endswith('/' + link[1]) else link[1]
    return re.sub(r'\[([^\]]*)\]\(([^)]*)\)', named, re.sub(r'\[`([^\]]*)`\]\(', r'[\1](', text))


def words(text: str) -> Html:
    """Returns a paragraph's code and emphasis as HTML."""
    def measured(link: 're.Match[str]') -> str:
        return f'{{{{{link[1]}|{recorded.told(link[2])}}}}}'

    flat = plain(recorded.LINK.sub(measured, text))
    marked = re.sub(r'`([^`]+)`', r'<code>\1</code>', escape(flat, quote=False))
    marked = re.sub(r'\{\{([^|]*)\|([^}]*)\}\}', r'<abbr title="\2">\1</abbr>', marked)
    strong = re.sub(r'\*\*([^*]+)\*\*', r'<strong>\1</strong>', marked)
    return Html(re.sub(r'\*([^*\n]+)\*', r'<em>\1</em>', strong))


def prose(text: str) -> Html:
    """Returns paragraphs of Markdown as HTML."""
    return join(inline('p', words(part)) for part in text.split('\n\n'))
