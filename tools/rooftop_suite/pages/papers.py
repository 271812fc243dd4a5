"""The page of a paper: per figure or table its curves, and a table of the paper's values, those here, and why they differ."""
import os
import re
import textwrap
from typing import Optional

from .. import shipped
from ..results import Folder, disk, papers
from ..results.figures import DASH, short
from ..results.papers import Line, Paper
from . import plots

HEADS = ('quantity', 'the paper', 'here', 'here / paper', 'why')


def number(value: Optional[float], unit: str) -> str:
    """Returns a value with its unit."""
    if value is None:
        return ''
    text = f'{value:+.1f}' if unit.startswith('%') and unit != '%' else short(value) if value >= 0 else f'-{short(-value)}'
    return f'{text} {unit}'.strip()


def drawable(line: Line) -> bool:
    """Returns whether a row is a curve over numbers."""
    return line.curve and all(isinstance(point, int) for point in line.values)


def cells(line: Line) -> tuple[str, str, str, str, str]:
    """Returns the cells of a row as text."""
    row, unit, paper = line.row, line.row.get('unit', ''), line.row.get('paper', {})
    theirs = ', '.join(part for part in (number(paper.get('value'), unit), paper.get('machine', '')) if part)
    if line.curve and line.values:
        low, high = min(line.values.values()), max(line.values.values())
        middle = '' if drawable(line) else f'median {number(line.here, unit)}; '
        here = f'{middle}{number(low, unit).removesuffix(unit).rstrip()} to {number(high, unit)}'
    else:
        here = number(line.here, unit) if line.here is not None else f'not here: {line.why}'
    here += ', unsteady' if line.unsteady else ''
    why = '; '.join(part for part in (row.get('why', ''), line.why if line.values else '') if part)
    return row['quantity'], theirs, here, f'{line.ratio:.3g}' if line.ratio is not None else '', why


def groups(lines: list[Line]) -> dict[str, list[Line]]:
    """Returns the rows of each figure, table or section, in order."""
    found: dict[str, list[Line]] = {}
    for line in lines:
        found.setdefault(line.row['id'], []).append(line)
    return found


def machine(folder: Folder) -> str:
    """Returns what the runs were made on and with."""
    seen, run = folder.manifest.environment, folder.manifest
    gpus = [gpu.get('name', '') if isinstance(gpu, dict) else str(gpu) for gpu in seen.get('gpus') or []]
    used = [gpus[int(number)] for number in re.findall(r'\d+', str(run.settings.get('device', ''))) if int(number) < len(gpus)]
    blas = sorted({result.build.get('BLAS', '') for result in map(folder.result, [step.name for step in folder.steps][:1])
                   if result} - {''})
    words = [', '.join(used or gpus), str(seen.get('cpu', '')), f'{seen["cores"]} cores' if 'cores' in seen else '',
             run.started[:10], f'{run.ranks} ranks' if run.ranks > 1 else '', *(f'BLAS: {name}' for name in blas)]
    return ' · '.join(word for word in words if word)


def drawing(paper: Paper, name: str, rows: list[Line]) -> str:
    """Returns the curves of a figure over its points, or ''."""
    curves = [line for line in rows if drawable(line) and len(line.values) > 1]
    if not curves:
        return ''
    first = curves[0].row
    x = paper.points[first['along']]['x']
    return plots.curves(f'{paper.name}-{name.replace(" ", "-").replace(".", "")}', f'{name}: {paper.title}', x, first['unit'],
                        {line.row['quantity']: line.values for line in curves if line.row['unit'] == first['unit']})


def html(paper: Paper, lines: list[Line], folder: Folder) -> str:
    from .page import Markup, inline, join, parts, render  # needs Jinja2
    def marked(cell: str) -> Markup:
        return join([inline('code', part) if i % 2 else part for i, part in enumerate(cell.split('`'))])

    sections: list[tuple[str, Markup]] = []
    for name, rows in groups(lines).items():
        table = parts.table(HEADS, [[inline('small', marked(cell)) if i == 4 else marked(cell) for i, cell in enumerate(cells(line))]
                                    for line in rows], words=5)
        curve = drawing(paper, name, rows)
        sections.append((name, join([parts.figure(Markup(curve), parts.of_curves()) if curve else '', table])))
    return render('papers.html', title=paper.title, paper=paper, sections=sections, machine=machine(folder),
                  measured=sum(line.here is not None for line in lines), count=len(lines))


def markdown(paper: Paper, lines: list[Line], folder: Folder) -> str:
    out = [f'# {paper.name}', textwrap.fill(f'{paper.authors}: {paper.title}. Here: {machine(folder)}.', 100)]
    for name, rows in groups(lines).items():
        table = [f'| {" | ".join(cell.replace("|", "/") or DASH for cell in row)} |' for row in [HEADS, *map(cells, rows)]]
        out += [f'## {name}', '\n'.join([table[0], f'|{"---|" * len(HEADS)}', *table[1:]])]
    return '\n\n'.join(out) + '\n'


def recorded() -> dict[str, str]:
    """Returns {path: text} of the pages of the papers whose runs are a record."""
    folder = Folder.open(shipped(*papers.RECORD))
    return {os.path.join(folder.path, f'{paper.name}.md'): markdown(paper, papers.lines(paper, folder, 'paper'), folder)
            for paper in map(papers.read, papers.names())}


if __name__ == '__main__':  # python3 -m rooftop_suite.pages.papers: brings them up to date
    for path, text in recorded().items():
        disk.save_bytes(path, text.encode())
