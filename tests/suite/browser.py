#!/usr/bin/env python3
"""Opens a page in headless Chromium, at 1400 and 420 px, light and dark, and prints what is wrong with it.

    browser.py CHROMIUM PAGE [FOLDER for screenshots]

Faults are: a message on the console, a script error, a request that leaves the page, a page wider than its window, a plot
without size, text of a plot outside it, or too small, or over other text, too little contrast. Chromium is driven over a
pipe by its DevTools protocol. Exit status: 0 no fault, 1 faults, 77 Chromium does not start.
"""
import base64
import json
import os
import pathlib
import select
import subprocess
import sys
import tempfile
import time

LIMIT = 60  # seconds for an answer
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


class Browser:
    """Chromium with a pipe each way: messages of JSON, each ended by a zero byte."""

    def __init__(self, program, profile):
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()

        def three_and_four():
            a, b = os.dup(theirs_in), os.dup(theirs_out)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [program, '--headless=new', '--remote-debugging-pipe', '--no-sandbox', '--disable-gpu',
             '--disable-dev-shm-usage', '--no-first-run', '--disable-background-networking', '--hide-scrollbars',
             f'--user-data-dir={profile}', 'about:blank'], preexec_fn=three_and_four, close_fds=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(theirs_in)
        os.close(theirs_out)
        self.out, self.pipe = ours_out, ours_in
        self.rest, self.count, self.events, self.session = b'', 0, [], None

    def read(self, until):
        while b'\0' not in self.rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.pipe], [], [], left)[0]:
                raise TimeoutError('Chromium does not answer')
            block = os.read(self.pipe, 1 << 20)
            if not block:
                raise TimeoutError('Chromium has ended')
            self.rest += block
        message, _, self.rest = self.rest.partition(b'\0')
        return json.loads(message)

    def do(self, method, **parameters):
        """Sends a command, returns its result; messages that arrive meanwhile are kept in events."""
        self.count += 1
        message = {'id': self.count, 'method': method, 'params': parameters}
        if self.session:
            message['sessionId'] = self.session
        os.write(self.out, json.dumps(message).encode() + b'\0')
        until = time.monotonic() + LIMIT
        while True:
            answer = self.read(until)
            if answer.get('id') == self.count:
                if 'error' in answer:
                    raise RuntimeError(f'{method}: {answer["error"]["message"]}')
                return answer['result']
            self.events.append(answer)

    def wait(self, method):
        until = time.monotonic() + LIMIT
        while not any(event.get('method') == method for event in self.events):
            self.events.append(self.read(until))

    def attach(self):
        target = self.do('Target.createTarget', url='about:blank')['targetId']
        self.session = self.do('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.do(f'{domain}.enable')

    def end(self):
        try:
            self.session = None
            self.do('Browser.close')
        except (OSError, TimeoutError, RuntimeError):
            self.process.kill()
        self.process.wait()


def complaints(events):
    """Yields what the browser itself reported about the page."""
    for event in events:
        method, p = event.get('method'), event.get('params', {})
        if method == 'Runtime.consoleAPICalled':
            yield f'console: {p["type"]}'
        elif method == 'Runtime.exceptionThrown':
            yield f'script: {p["exceptionDetails"]["text"]}'
        elif method == 'Log.entryAdded':
            yield f'{p["entry"]["level"]}: {p["entry"]["text"]}'
        elif method == 'Network.requestWillBeSent' and not p['request']['url'].startswith(('data:', 'file:')):
            yield f'asks for {p["request"]["url"]}'


def look(browser, url, width, scheme, picture):
    """Returns the faults and the number of plots."""
    browser.events.clear()
    browser.do('Emulation.setDeviceMetricsOverride', width=width, height=900, deviceScaleFactor=1, mobile=width < 700)
    browser.do('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': scheme}])
    browser.do('Page.navigate', url=url)
    browser.wait('Page.loadEventFired')
    found = json.loads(browser.do('Runtime.evaluate', expression=LOOK, returnByValue=True)['result']['value'])
    if picture:
        for part, y in enumerate(range(0, found['height'], 1600)):
            clip = {'x': 0, 'y': y, 'width': width, 'height': min(1600, found['height'] - y), 'scale': 1}
            shot = browser.do('Page.captureScreenshot', clip=clip, captureBeyondViewport=True)
            with open(f'{picture}-{width}-{scheme}-{part}.png', 'wb') as file:
                file.write(base64.b64decode(shot['data']))
    return list(complaints(browser.events)) + found['wrong'], found['plots']


def main(program, page, shots=None):
    bad = False
    with tempfile.TemporaryDirectory(prefix='browser_', ignore_cleanup_errors=True) as profile:
        browser = Browser(program, profile)
        try:
            browser.attach()
        except (OSError, TimeoutError, RuntimeError) as error:
            browser.end()
            print(f'skipped: {program} does not start here: {error}')
            return 77
        try:
            for width in (1400, 420):
                for scheme in ('light', 'dark'):
                    wrong, plots = look(browser, pathlib.Path(page).resolve().as_uri(), width, scheme,
                                        shots and os.path.join(shots, 'page'))
                    print(f'{width} px, {scheme}: {plots} plots, {len(wrong)} faults')
                    for line in wrong:
                        print(f'    {line}')
                    bad = bad or bool(wrong) or plots == 0
        finally:
            browser.end()
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
