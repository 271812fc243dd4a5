"""Markdown of lessons as HTML: paragraphs, code, emphasis. Links become code: their targets are not at the page."""
import re
from html import escape

from .page import Html, inline, join


def plain(text: str) -> str:
    """Returns a lesson's text with its links as text, and what is recorded as plain figures."""
    text = re.sub(r'\[([^\]]*)\]\([^)]*ladders\.json#[^)]*\)', r'\1', text)
    return re.sub(r'\[([^\]]*)\]\([^)]*\)', r'`\1`', re.sub(r'\[`([^\]]*)`\]\([^)]*\)', r'[\1]()', text))


def words(text: str) -> Html:
    """Returns a paragraph's code and emphasis as HTML."""
    marked = re.sub(r'`([^`]+)`', r'<code>\1</code>', escape(plain(text), quote=False))
    strong = re.sub(r'\*\*([^*]+)\*\*', r'<strong>\1</strong>', marked)
    return Html(re.sub(r'\*([^*\n]+)\*', r'<em>\1</em>', strong))


def prose(text: str) -> Html:
    """Returns paragraphs of Markdown as HTML."""
    return join(inline('p', words(part)) for part in text.split('\n\n'))
