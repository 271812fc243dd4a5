"""`rooftop picture`: draws what --picture of an app wrote, with matplotlib.

A .vti file of gfnn-wave: the plane of the source, a component of an array along z, with the outlines of the tissues. A
.vtu file of fun3d-mcpi: the plane of symmetry from the side, and the walls from above. A .vtu file of alya-rhs: the
plane through the middle of the hill. ParaView shows all the rest.
"""
import argparse
import io
import os
from typing import Any
from xml.etree import ElementTree

from .. import ENVIRONMENT, USAGE, VALID, Fault
from ..results import disk

try:
    import numpy
    from matplotlib import collections, colors, figure as figures, ticker
except ImportError:
    numpy = None

WIDTH, HEIGHT = 800, 700  # pixels
MARK = b'<AppendedData encoding="raw">\n_'
LONGEST_TEXT = 1 << 16  # bytes before the arrays
WALL, SYMMETRY = 1, 2  # what a cell of fun3d-mcpi is
CORNERS = {5: 3, 9: 4}  # of VTK's triangle and quadrilateral
MOST = 99.5  # per cent of the values that the colours reach: next to a source they are far above the rest


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add('file', metavar='FILE', help='.vti of gfnn-wave, or .vtu of fun3d-mcpi or alya-rhs, as --picture writes them')
    add('--output', metavar='X.png', help='(default: FILE with .png)')
    add('--array', metavar='NAME', help='what to show (default: u, Cp, or velocity and pressure)')


def main(args: argparse.Namespace) -> int:
    path = args.output or os.path.splitext(args.file)[0] + '.png'
    try:
        with open(args.file, 'rb') as file:
            drawn = png(file.read(), args.array or '')
    except OSError as error:
        raise Fault(USAGE, f'{args.file}: {error.strerror}') from None
    except Fault as fault:
        raise Fault(fault.status, f'{args.file}: {fault}') from None
    disk.save_bytes(path, drawn)
    print(f'picture: {path}')
    return VALID


def png(data: bytes, array: str = '') -> bytes:
    """Returns the picture of a file's bytes; Fault says why there is none."""
    if not numpy:
        raise Fault(ENVIRONMENT, 'a picture needs matplotlib, which this Python lacks: apt install python3-matplotlib '
                    'and run it with /usr/bin/python3, or open the file with ParaView')
    try:
        file = File(data)
        figure = figures.Figure(figsize=(WIDTH / 100, HEIGHT / 100), dpi=100, layout='constrained')
        if file.kind == 'ImageData':
            wave(file, figure, array or 'u')
        elif b'"boundary"' in data[:file.begin]:
            flow(file, figure, array or 'Cp')
        else:
            hill(file, figure, array)
        out = io.BytesIO()
        figure.savefig(out, metadata={'Software': None})
    except (ArithmeticError, AttributeError, ElementTree.ParseError, LookupError, MemoryError, RuntimeError, TypeError,
            ValueError) as error:
        raise Fault(USAGE, f'no file of --picture that can be drawn: {error}') from None
    return out.getvalue()


class File:
    """A VTK file with raw arrays after the text, as common/io/vtk.c writes it."""

    def __init__(self, data: bytes) -> None:
        self.data, self.begin = data, data.find(MARK, 0, LONGEST_TEXT) + len(MARK)
        text = data[:self.begin - len(MARK)]
        if self.begin < len(MARK) or b'<!' in text:
            raise ValueError('no text of such a file')
        self.root = ElementTree.fromstring(text + b'</VTKFile>')
        self.kind = self.root.get('type', '')
        self.order = '<' if self.root.get('byte_order') == 'LittleEndian' else '>'

    def first(self, tag: str) -> ElementTree.Element:
        found = self.root.find(f'.//{tag}')
        if found is None:
            raise ValueError(f'no {tag}')
        return found

    def array(self, name: str) -> Any:
        """Returns [points or cells], or [points or cells][components]."""
        known = {one.get('Name', ''): one for one in self.root.iter('DataArray') if one.get('format') == 'appended'}
        if name not in known:
            raise ValueError(f'no array {name}; it has {", ".join(known)}')
        one = known[name]
        kind, at, many = one.get('type', ''), self.begin + int(one.get('offset', '')), int(one.get('NumberOfComponents', '1'))
        letter = {'F': 'f', 'I': 'i', 'U': 'u'}[kind[:1]]
        value = numpy.dtype(f'{self.order}{letter}{int(kind.lstrip("FloatUInt")) // 8}')
        size = int.from_bytes(self.data[at:at + 8], 'little' if self.order == '<' else 'big')
        if not self.begin <= at <= at + 8 + size <= len(self.data):
            raise ValueError(f'{name} ends after the file')
        values = numpy.frombuffer(self.data, value, size // value.itemsize, at + 8)
        return values.reshape(-1, many) if many > 1 else values


def scale(values: Any, root: bool) -> Any:
    """Returns how colours follow values: by the root, a hundredth is visible too."""
    most = float(numpy.percentile(numpy.abs(values), MOST)) or 1.0
    if not root:
        return colors.Normalize(-most, most)
    return colors.FuncNorm((lambda x: numpy.sign(x) * numpy.sqrt(numpy.abs(x)), lambda x: numpy.sign(x) * x * x), -most, most)


# ---- gfnn-wave ----

def outlines(of: Any, ds: float) -> Any:
    """Returns lines between elements of two tissues; of[z][x] is that of the element above a node in x and z."""
    lines = [[(ds * (x + 1), ds * z), (ds * (x + 1), ds * (z + 1))]
             for z, x in zip(*numpy.nonzero(of[:-1, :-2] != of[:-1, 1:-1]))]
    lines += [[(ds * x, ds * (z + 1)), (ds * (x + 1), ds * (z + 1))]
              for z, x in zip(*numpy.nonzero(of[:-2, :-1] != of[1:-1, :-1]))]
    return collections.LineCollection(lines, colors='0.35', linewidths=0.8)


def wave(file: File, figure: Any, name: str) -> None:
    """Draws the component along z of an array in the plane of the source."""
    image = file.first('ImageData')
    last = [int(word) for word in image.get('WholeExtent', '').split()][1::2]
    shape = [n + 1 for n in reversed(last)]
    ds = 1e3 * float(image.get('Spacing', '').split()[0])  # mm
    source = [1e3 * float(word) for word in (file.first('FieldData')[0].text or '').split()]
    plane = round(source[1] / ds)
    values = file.array(name)
    if values.ndim != 2:
        raise ValueError(f'{name} has no component along z')
    values = values.reshape(*shape, 3)[:, plane, :, 2].astype(float)
    tissues = file.array('material').reshape(shape)[:, plane, :]
    axes = figure.add_subplot()
    drawn = axes.imshow(values, cmap='RdBu_r', norm=scale(values, True), origin='lower', interpolation='bilinear',
                        extent=(0, ds * last[0], 0, ds * last[2]))
    axes.add_collection(outlines(tissues, ds))
    axes.set(xlabel='x in mm', ylabel='z in mm',
             title=f'{name} along z, in the plane of the source, y = {source[1]:.4g} mm')
    figure.colorbar(drawn, ax=axes, label=f'{name} along z{", over |f|" if name == "residual" else ""}', extend='both',
                    ticks=ticker.MaxNLocator(8), format=ticker.EngFormatter('m') if name == 'u' else None)


# ---- fun3d-mcpi ----

def triangles(file: File, boundary: int) -> Any:
    """Returns the corners [triangles][3] of the faces of a boundary; quadrilaterals are divided."""
    types, ends, of = file.array('types'), file.array('offsets'), file.array('connectivity')
    found = []
    for kind, corners in CORNERS.items():
        end = ends[(types == kind) & (file.array('boundary') == boundary)]
        for k in range(2, corners):
            found.append(numpy.stack([of[end - corners], of[end - corners + k - 1], of[end - corners + k]], 1))
    return numpy.concatenate(found)


def flow(file: File, figure: Any, name: str) -> None:
    """Draws a value in the plane of symmetry as seen from the side, and on the walls as seen from above."""
    x, values = file.array('Points'), file.array(name).astype(float)
    if values.ndim != 1:
        raise ValueError(f'{name} has several components; show one with a single one')
    faces = {which: triangles(file, which) for which in (SYMMETRY, WALL)}
    if not len(faces[WALL]):
        raise ValueError('it has no walls to draw')
    walls = numpy.unique(faces[WALL])
    if values.min() < 0:
        colours, norm = 'RdBu_r', scale(values[walls], False)
    else:
        colours, norm = 'viridis', colors.Normalize(values[walls].min(), values[walls].max())
    low, high = x[walls].min(0), x[walls].max(0)
    margin = 0.4 * (high[0] - low[0])
    panels = ((SYMMETRY, 2, 1, margin, 'plane of symmetry'), (WALL, 1, 2, 0.1 * margin, 'walls from above'))
    heights = [high[across] - low[across] + 2 * beyond for _, across, _, beyond, _ in panels]
    axes = figure.subplots(2, 1, sharex=True, gridspec_kw={'height_ratios': heights})
    for one, (which, across, depth, beyond, title) in zip(axes, panels):
        behind = numpy.argsort(x[faces[which], depth].mean(1), kind='stable')  # what is in front is drawn last
        drawn = one.tripcolor(x[:, 0], x[:, across], faces[which][behind], values, cmap=colours, norm=norm,
                              shading='gouraud') if len(behind) else None
        one.set(xlim=(low[0] - margin, high[0] + margin), ylim=(low[across] - beyond, high[across] + beyond),
                aspect='equal', ylabel=f'{"xyz"[across]} in m', title=f'{name}, {title}')
    axes[1].set_xlabel('x in m')
    figure.colorbar(drawn, ax=axes, label=name, extend='both')


# ---- alya-rhs ----

def hill(file: File, figure: Any, name: str) -> None:
    """Draws velocity along x and pressure (or `name`) in the plane y = const that most nodes near the middle are in."""
    x, of = file.array('Points'), file.array('connectivity').reshape(-1, 4)
    wide = numpy.unique(x[:, 1])
    on = x[:, 1] == wide[len(wide) // 2]
    cut = of[on[of].sum(1) == 3]
    faces = cut[on[cut]].reshape(-1, 3)
    shown = [name] if name else [one for one in ('velocity', 'pressure') if f'"{one}"' in str(ElementTree.tostring(file.root))]
    axes = numpy.atleast_1d(figure.subplots(len(shown), 1, sharex=True))
    for one, array in zip(axes, shown):
        values = file.array(array).astype(float)
        values = values[:, 0] if values.ndim == 2 else values
        signed = array == 'pressure'
        drawn = one.tripcolor(x[:, 0], x[:, 2], faces, values, shading='gouraud', cmap='RdBu_r' if signed else 'viridis',
                              norm=scale(values[on], False) if signed else None)
        one.set(ylabel='z in m', title=f'{array}{" along x in m/s" if array == "velocity" else " in Pa" if signed else ""}, '
                f'y = {wide[len(wide) // 2]:.3g} m')
        figure.colorbar(drawn, ax=one, extend='both' if signed else 'neither')
    axes[-1].set_xlabel('x in m')
