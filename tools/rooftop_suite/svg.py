"""What plots have in common: text and numbers for labels, the colours of a page, and plots as files of their own."""
import html
import re
import unicodedata

WIDE = 440  # the width of a plot in units of which its letters have SIZE: the page scales it to 350 .. 600 pixels
SIZE = 12  # of text
WIDTH = 0.6 * SIZE  # of a letter; an upper bound, as the reader's font is not known here
LONGEST = 22  # letters of a name
COLOURS = {'ink': '#1b1d1f', 'soft': '#55595e', 'grid': '#dedfda', 'paper': '#ffffff', 'cpu': '#0b63a8',
           'bad': '#b3121d', 'cuda': '#b8480a', 'kokkos': '#0c7458', 'openacc': '#7a3e9d', 'band': '#e9ebe4'}  # of a file


# ---- Text and numbers ----

def visible(text: str) -> str:
    """Returns text without what XML cannot hold or a reader cannot see: controls, surrogates, marks of direction."""
    return ''.join(c if unicodedata.category(c) not in ('Cc', 'Cf', 'Cs') or c == '\n' else '\ufffd' for c in text)


def escape(text: str) -> str:
    return html.escape(visible(text))


def printable(text: str) -> str:
    """Returns one line, short enough for a label."""
    text = ' '.join(visible(text).split())
    return text if len(text) <= LONGEST else text[:LONGEST - 1] + '…'


def plain(value: float) -> str:
    if value and not 1e-3 <= abs(value) < 1e6:
        return f'{value:.0e}'.replace('e-0', 'e-').replace('e+0', 'e')
    return f'{value:,.0f}' if abs(value) >= 1000 else f'{value:g}'


# ---- Plots ----

def first(plot: str) -> str:
    """Returns a plot in colours of its own, for where no page defines them."""
    return re.sub(r'var\(--(\w+)\)', lambda found: COLOURS[found[1]], plot[plot.index('<svg'):plot.index('</svg>') + 6])


def file(*panels: tuple[str, str]) -> str:
    """Returns a whole SVG file of (heading, plot) pairs, one below the other."""
    parts, top = [], 0.0
    for heading, plot in panels:
        drawing = first(plot)
        height = float(drawing.split('viewBox="0 0 ')[1].split('"')[0].split()[1])
        parts.append(f'<text x="4" y="{top + 17:g}" fill="{COLOURS["ink"]}" font-weight="600">{escape(heading)}</text>')
        parts.append(drawing.replace('<svg ', f'<svg y="{top + 28:g}" width="{WIDE}" height="{height:g}" ', 1))
        top += height + 40
    return (f'<svg xmlns="http://www.w3.org/2000/svg"'
            f' viewBox="0 0 {WIDE} {top:g}" width="{1.4 * WIDE:g}" height="{1.4 * top:g}" '
            f'font-family="system-ui,Helvetica,Arial,sans-serif" font-size="{SIZE}">\n'
            f'<rect width="100%" height="100%" fill="{COLOURS["paper"]}"/>\n' + '\n'.join(parts) + '\n</svg>\n')
