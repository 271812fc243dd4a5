"""The frame of an HTML page that stands alone: its style sheet, light and dark, for any width and for print."""
from html import escape

STYLE = '''
:root { color-scheme: light dark;
  --paper: #fcfcfa; --ink: #1b1d1f; --soft: #55595e; --grid: #dedfda; --line: #c9cac4; --band: #e9ebe4; --link: #0b5394;
  --cpu: #0b63a8; --cuda: #b8480a; --kokkos: #0c7458; --bad: #b3121d; --good: #15643b; --wash: #f3f3ee;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", Arial, sans-serif;
  --mono: ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #15181b; --ink: #e8e6e1; --soft: #a9adb0; --grid: #33383c; --line: #454b50; --band: #262b2f; --link: #86bdf0;
  --cpu: #63b3f2; --cuda: #f0974f; --kokkos: #46c9a1; --bad: #ff8d8d; --good: #6fd19b; --wash: #1d2125; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; scroll-behavior: auto; }
body { margin: 0 auto; padding: 2.5rem 1.5rem 4rem; max-width: 72rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 var(--sans); font-variant-numeric: tabular-nums lining-nums; overflow-wrap: anywhere; }
h1 { font-size: 1.9rem; line-height: 1.2; font-weight: 600; margin: 0 0 .4rem; letter-spacing: -.01em; }
h2 { font-size: 1.4rem; line-height: 1.25; font-weight: 600; margin: 3.5rem 0 1rem; padding-top: .9rem;
  border-top: 2px solid var(--ink); }
h2 .sub { display: block; font-size: 1rem; font-weight: 400; color: var(--soft); margin-top: .2rem; }
h3 { font-size: 1.08rem; font-weight: 600; margin: 2.2rem 0 .7rem; }
p, ul, pre { margin: .7rem 0; max-width: 46rem; }
a { color: var(--link); text-underline-offset: .15em; text-decoration-thickness: 1px; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
code, pre { font: .86em/1.5 var(--mono); }
pre { background: var(--wash); padding: .6rem .8rem; max-width: none; overflow-x: auto; white-space: pre;
  overflow-wrap: normal; }
small { font-size: .82em; color: var(--soft); }
.mark { margin: 0 0 1.2rem; font-size: .85rem; font-weight: 600; letter-spacing: .08em; text-transform: uppercase;
  color: var(--soft); }
.lead { color: var(--soft); margin: 0 0 1rem; }
nav { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; }
.scroll { overflow-x: auto; margin: 1rem 0; max-width: 100%; }
table { border-collapse: collapse; font-size: .9rem; line-height: 1.4; overflow-wrap: normal; min-width: min-content; }
.under { color: var(--soft); font-size: .86rem; margin-top: -.4rem; }
th, td { padding: .38rem .9rem .38rem 0; text-align: left; vertical-align: baseline; }
th:last-child, td:last-child { padding-right: 0; }
thead th { font-weight: 500; color: var(--soft); border-bottom: 1px solid var(--ink); vertical-align: bottom; }
tbody th { font-weight: 600; }
tbody tr + tr > * { border-top: 1px solid var(--grid); }
.n { text-align: right; } td.n { white-space: nowrap; }
.idea { display: block; font-weight: 400; color: var(--soft); font-size: .82rem; line-height: 1.35; min-width: 15rem;
  max-width: 22rem; }
.verdict { font-size: .8rem; font-weight: 700; letter-spacing: .04em; white-space: nowrap; }
.valid { color: var(--good); } .invalid, .flag, li.bad b { color: var(--bad); } .flag { font-weight: 600; }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(11.5rem, 1fr)); gap: .9rem 1.6rem;
  margin: 1.3rem 0; }
.facts dt { color: var(--soft); font-size: .82rem; } .facts dd { margin: 0; } .facts b { font-size: 1.2em; }
.missing { color: var(--soft); border-left: 3px solid var(--line); padding-left: .8rem; }
.flags li { margin: .35rem 0; }
details { margin: .5rem 0; } details details { margin-left: 1.2rem; } summary { cursor: pointer; padding: .2rem 0; }
figure { margin: 1.2rem 0 1.8rem; max-width: 46rem; }
figcaption { color: var(--soft); font-size: .9rem; line-height: 1.45; margin-top: .5rem; }
figcaption b { color: var(--ink); }
figure img { display: block; max-width: 100%; height: auto; }
.without p { color: var(--soft); border-left: 3px solid var(--line); padding-left: .8rem; }
.plot svg { display: block; width: 100%; height: auto; overflow: visible; }
.plot svg * { stroke-linejoin: round; stroke-linecap: butt; } .plot text { font-variant-numeric: tabular-nums; }
.plot [id*="halo"] text { paint-order: stroke; stroke: var(--paper); stroke-width: 3px; }
@media (min-width: 1080px) {
  figure { display: grid; grid-template-columns: 720px minmax(0, 1fr); gap: 0 2.2rem; align-items: start;
    max-width: none; }
  figcaption { margin-top: 1.6rem; } }
.wide svg { max-width: 720px; } .narrow svg { max-width: 420px; } .narrow { display: none; }
@media (max-width: 720px) {
  body { padding: 1.5rem 1rem 3rem; } h1 { font-size: 1.55rem; } .wide { display: none; } .narrow { display: block; }
  .facts { grid-template-columns: repeat(auto-fill, minmax(8.5rem, 1fr)); }
  tbody th { position: sticky; left: 0; background: var(--paper); max-width: 9.5rem; overflow-wrap: break-word;
    padding-right: .6rem; }
  .idea { min-width: 9rem; } }
footer { margin-top: 4rem; border-top: 1px solid var(--line); color: var(--soft); font-size: .9rem; }
@media print { body { max-width: none; padding: 0; font-size: 10pt; } nav { display: none; }
  h2, h3 { break-after: avoid; } figure, tr { break-inside: avoid; } .scroll { overflow: visible; } }
'''


def document(title, body):
    """A whole page. body is HTML."""
    return ('<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<link rel="icon" href="data:,">\n'
            f'<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n')
