#!/usr/bin/env python3
"""Judges a page of rooftop report: judge_page.py PAGE whole|hostile PLOTS. Prints a line per fault; status 1."""
import html.parser
import re
import sys
import xml.etree.ElementTree

VOID = {'meta', 'link', 'img', 'br'}
ALLOWED = VOID | set('html head title style body header main footer nav section h1 h2 h3 p a b strong small span '
                     'code pre div dl dt dd ul li table thead tbody tr th td details summary figure figcaption '
                     'svg'.split())
DRAWN = set('title desc path text g defs clippath use rect'.split())  # html.parser makes them small
LADDER = ['reference', 'jammed', 'cpu-fused', 'global', 'layered', 'onepass', 'kokkos']
TEXTS = {  # what must be read
    'whole': ['Rooftop on AMD EPYC', 'Figures of merit', 'tender-42', 'apps/nekbone/cpu/jammed.c',
              'not an official run: it lacks --official', 'apps/nekbone/nekbone --size small --ladder',
              '81.2', '2.95', 'J per unit', '14 of 14 checks held', 'n is 12: this rung needs 10 or less', 'rooftop verify whole',
              'FP64 FMA', 'FP64, network in FP16', '23.5 GiB', 'OMP_NUM_THREADS=1',
              'gfnn-wave, ladder: UNSTEADY: solve-simd', 'UNSTEADY windows differ by 16.7 %',
              'This folder has no ladder of fun3d-mcpi.',
              'The ladder: predictor', 'The wave: uz, ',
              'nekbone, peak', '--choose fetch=next', 'over 1 solve', '0.758', '0.913', '0.75 s', 'set-up s', '36.2', '3.500', 'idle W', '41.3', 'NVML, 1.1 samples per s',
              'Joules per solve', 'vectors fp32, precision fp16 1e-08 11.5', '247.0'],
    'hostile': ['<script>alert(1)</script>', 'not a whole JSON file', 'failed:',
                'alya-rhs.json: not a result by docs/result-schema.json',
                'ladder-alya-rhs.json: not a regular file', 'gfnn-wave-picture.vti is in the folder, and is not drawn', 'INVALID', 'Wrong.']}
NEVER = {'whole': ['governors', '25276502016'], 'hostile': ['No plot', 'Joules per solve']}  # what must not be read


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.stack, self.faults, self.words, self.ids, self.links = [], [], [], [], []
        self.plots = []

    def handle_starttag(self, tag, attributes):
        if tag not in (DRAWN if 'svg' in self.stack else ALLOWED):
            self.faults.append(f'<{tag}> in the page')
        for name, value in attributes:
            value = value or ''
            if name.startswith('on'):
                self.faults.append(f'{name}= in <{tag}>')
            if name in ('src', 'href', 'xlink:href', 'srcset') and not value.startswith(('data:', '#')):
                self.faults.append(f'{name}={value}')
            if re.search(r'url\((?!#)', value):
                self.faults.append(f'{name}={value}')
            if name == 'id':
                self.ids.append(value)
            if value.startswith('#') and name.endswith('href'):
                self.links.append(value[1:])
            self.links += re.findall(r'url\(#([^)]*)\)', value)
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if not self.stack or self.stack.pop() != tag:
            self.faults.append(f'</{tag}> at {self.getpos()} closes nothing')
            self.stack.append('broken')

    def handle_data(self, data):
        self.words.append(data)


def judge_plots(text, page, what):
    """Every SVG is XML with a title, and those of the ladder name all its rungs."""
    for drawing in re.findall(r'<svg .*?</svg>', text, re.S):
        try:
            root = xml.etree.ElementTree.fromstring(drawing)
        except xml.etree.ElementTree.ParseError as error:
            page.faults.append(f'an SVG is not XML: {error}')
            continue
        title = root.findtext('title') or ''
        page.plots.append(title)
        shown = [''.join(element.itertext()) for element in root.iter('text')]
        if not title or not root.findtext('desc') or not shown:
            page.faults.append(f'a plot without title, description or text: {title}')
        if 'class="drawn"' not in drawing or re.search('#[0-9a-f]{6}[;"]', drawing):
            page.faults.append(f'{title}: colours that are not the page\'s')
        if what != 'whole':
            continue
        rungs = {'nekbone: the climb': LADDER, 'nekbone: where the time goes': LADDER,
                 'nekbone: the timed windows': ['measured run', 'peak run'] + LADDER,
                 'nekbone: the CPU roofline': LADDER[:3], 'nekbone: the GPU roofline': LADDER[3:]}.get(title, ())
        page.faults += [f'{title}: no {rung}' for rung in rungs if rung not in shown]


def main(path, what, plots):
    with open(path, encoding='utf-8') as file:
        text = file.read()
    page = Page()
    page.feed(text)
    page.close()
    if page.stack:
        page.faults.append(f'not closed: {page.stack}')
    judge_plots(text, page, what)
    style = text[text.index('<style>'):text.index('</style>')]
    if re.search(r'@import|url\(|http', style):
        page.faults.append('the style sheet asks for something')
    page.faults += [f'id {name} twice' for name in set(page.ids) if page.ids.count(name) > 1]
    page.faults += [f'no id {name}' for name in set(page.links) - set(page.ids)]
    if len(page.plots) != int(plots):
        page.faults.append(f'{len(page.plots)} drawings, not {int(plots)}: {sorted(set(page.plots))}')
    read = re.sub(r'\s+', ' ', ' '.join(page.words))
    page.faults += [f'does not say: {words}' for words in TEXTS[what] if words not in read]
    page.faults += [f'says: {words}' for words in NEVER[what] if words in read]
    for row in ('host', 'cpu'):
        page.faults += [f'{row} is in it twice'] if text.count(f'<th scope="row">{row}</th>') > 1 else []
    if what == 'whole' and ('Wrong.' in read or 'INVALID' in read):
        page.faults.append(f'something is wrong in it: {re.findall("Wrong. .{80}", read)}')
    for fault in page.faults:
        print(f'failed: {path}: {fault}')
    return 1 if page.faults else 0


sys.exit(main(*sys.argv[1:]))
