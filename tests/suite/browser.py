#!/usr/bin/env python3
"""Opens a page in headless Chromium, at 1400 and 420 px, light and dark, and prints what is wrong with it.

    browser.py PAGE [FOLDER for screenshots]

Faults are: a message on the console, a script error, a request that leaves the page, a page wider than its window, a plot
without size, text of a plot outside it, or too small, or over other text, too little contrast. Exit status: 0 no fault, 1 faults,
77 Chromium does not start.
"""
import base64
import json
import os
import pathlib
import sys

from selenium import webdriver
from selenium.common.exceptions import WebDriverException

LOOK = r'''(() => {
  const wrong = [], seen = el => el.getClientRects().length > 0;
  const root = document.documentElement, say = text => wrong.push(text);
  if (root.scrollWidth > innerWidth) {
    const wide = [...document.querySelectorAll('body *')].filter(el => seen(el) && !el.closest('.scroll, pre') &&
      el.getBoundingClientRect().right > innerWidth + 1).map(el => el.tagName + '.' + el.className).slice(0, 3);
    say(`the page is ${root.scrollWidth} wide: ${wide.join(', ')}`);
  }
  const grey = colour => {
    const [r, g, b] = colour.match(/[\d.]+/g).map(v => { v /= 255;
      return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const paper = grey(getComputedStyle(document.body).backgroundColor);
  for (const el of document.querySelectorAll('p, td, th, dt, dd, h1, h2, h3, figcaption, caption, a, .verdict, .flag'))
    if (seen(el) && contrast(grey(getComputedStyle(el).color), paper) < 4.5)
      say(`too little contrast: ${el.tagName} ${el.textContent.slice(0, 30)}`);
  let plots = 0;
  for (const svg of document.querySelectorAll('figure svg')) {
    if (!seen(svg)) continue;
    plots++;
    const box = svg.getBoundingClientRect(), name = svg.querySelector('title').textContent, taken = [];
    if (box.width < 100 || box.height < 60) say(`${name}: ${box.width} by ${box.height}`);
    for (const text of svg.querySelectorAll('text')) {
      const r = text.getBoundingClientRect(), what = `${name}: '${text.textContent}'`;
      const scale = box.width / svg.viewBox.baseVal.width, size = parseFloat(getComputedStyle(text).fontSize) * scale;
      if (size < 10.5) say(`${what}: ${size.toFixed(1)} px`);
      if (r.left < box.left - 1 || r.right > box.right + 1 || r.top < box.top - 1 || r.bottom > box.bottom + 1)
        say(`${what}: outside of its plot, ${[r.left - box.left, box.right - r.right].map(Math.round)}`);
      if (contrast(grey(getComputedStyle(text).fill), paper) < 4.5) say(`${what}: too little contrast`);
      const tilted = /rotate\(-(?!(0|90|0\.0+)\s)/.test(text.getAttribute('transform') || '') &&
        r.height > 2 * size;
      if (tilted) continue;
      const m = size * 0.22, own = [r.left + 1, r.top + m, r.right - 1, r.bottom - m];
      for (const [other, b] of taken)
        if (own[0] < b[2] && b[0] < own[2] && own[1] < b[3] && b[1] < own[3]) say(`${what} lies over '${other}'`);
      taken.push([text.textContent, own]);
    }
  }
  for (const img of document.images)
    if (!img.complete || !img.naturalWidth) say(`picture not shown: ${img.alt.slice(0, 30)}`);
  return JSON.stringify({wrong, plots, height: root.scrollHeight});
})()'''


def start():
    """Returns a Chromium without a window, which keeps what pages log and ask for."""
    options = webdriver.ChromeOptions()
    for word in ('headless=new', 'no-sandbox', 'disable-gpu', 'disable-dev-shm-usage', 'no-first-run', 'hide-scrollbars'):
        options.add_argument(f'--{word}')
    options.set_capability('goog:loggingPrefs', {'browser': 'ALL', 'performance': 'ALL'})
    return webdriver.Chrome(options=options)


def complaints(browser):
    """Yields what the browser itself reported about the page."""
    for entry in browser.get_log('browser'):
        yield f'{entry["source"]}: {entry["message"]}'
    for entry in browser.get_log('performance'):
        message = json.loads(entry['message'])['message']
        if message['method'] == 'Network.requestWillBeSent' and \
                not message['params']['request']['url'].startswith(('data:', 'file:')):
            yield f'asks for {message["params"]["request"]["url"]}'


def look(browser, url, width, scheme, picture):
    """Returns the faults and the number of plots."""
    do = browser.execute_cdp_cmd
    do('Emulation.setDeviceMetricsOverride', dict(width=width, height=900, deviceScaleFactor=1, mobile=width < 700))
    do('Emulation.setEmulatedMedia', {'features': [{'name': 'prefers-color-scheme', 'value': scheme}]})
    browser.get(url)
    found = json.loads(browser.execute_script(f'return {LOOK}'))
    for part, y in enumerate(range(0, found['height'], 1600) if picture else ()):
        clip = {'x': 0, 'y': y, 'width': width, 'height': min(1600, found['height'] - y), 'scale': 1}
        shot = do('Page.captureScreenshot', {'clip': clip, 'captureBeyondViewport': True})
        pathlib.Path(f'{picture}-{width}-{scheme}-{part}.png').write_bytes(base64.b64decode(shot['data']))
    return [*complaints(browser), *found['wrong']], found['plots']


def main(page, shots=None):
    bad, path = False, pathlib.Path(page).resolve()
    try:
        browser = start()
    except WebDriverException as error:
        print(f'skipped: Chromium does not start here: {error.msg}')
        return 77
    try:
        for width in (1400, 420):
            for scheme in ('light', 'dark'):
                wrong, plots = look(browser, path.as_uri(), width, scheme, shots and os.path.join(shots, path.stem))
                print(f'{width} px, {scheme}: {plots} plots, {len(wrong)} faults')
                for line in wrong:
                    print(f'    {line}')
                bad = bad or bool(wrong) or plots == 0
    finally:
        browser.quit()
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
