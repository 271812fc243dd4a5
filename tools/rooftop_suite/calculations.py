"""Calculations in lessons, and figures that somebody typed.

A lesson shows how it comes to a figure: 4.096 M x 233 B / 4300 GB/s = 222 us. Whatever can be calculated is checked:

    calculations(text)    [Calculation]: where it is, what it says, what comes out
    renewed(text)         the text with the results of those done anew that have a recorded figure in them
    typed(text)           [what is wrong]: figures that come neither from the record nor from a calculation

Only numbers that a clock gives count as figures: with a unit of time or of a rate, a share, a number of times.
"""
import re
from collections.abc import Container
from typing import NamedTuple, Optional

UNITS = {'us': 1e-6, 'ms': 1e-3, 'ns': 1e-9, 's': 1.0, 'GB/s': 1e9, 'TB/s': 1e12, 'GFlop/s': 1e9, 'TFlop/s': 1e12,
         '%': 1e-2, 'M': 1e6, 'G': 1e9, 'k': 1e3, 'kB': 1e3, 'MB': 1e6, 'GB': 1e9, 'KiB': 1024.0, 'MiB': 2.0 ** 20,
         'GFlop': 1e9, 'B': 1.0, 'flops': 1.0, 'flop': 1.0, 'bytes': 1.0}
CLOCKED = r'us|ms|ns|s|GB/s|TB/s|GFlop/s|TFlop/s|%'
COUNTED = r'M|G|k|kB|MB|GB|KiB|MiB|GFlop|B|flops?|bytes|values|nodes|elements|patches|A'  # what no clock gives
UNIT = '|'.join(sorted(map(re.escape, UNITS), key=len, reverse=True))
VALUE = rf'\d[\d,]*(?:\.\d+)?(?:[ \n\u00a0](?:{UNIT})(?![\w/]))?'
LINKED = r'\[[^\]]*\]\(\.\./reference/ladders\.json#[^)]*\)'
TERM = rf'(?:{LINKED}|{VALUE})'
OPEN, CLOSE, SIGN = r'(?:\([ \n]?)*', r'(?:[ \n]?\))*', r'[ \n](?:[-+x/^]|\*)[ \n]|\^'
CALCULATION = re.compile(rf'(?<![\w.,])({OPEN}{TERM}{CLOSE}(?:(?:{SIGN}){OPEN}{TERM}{CLOSE})+)[ \n]=[ \n]({VALUE})')
NUMBER = r'\d[\d,]*(?:\.\d+)?'
FIGURE = re.compile(rf'(?<![\w.,^-])(?:{NUMBER}(?:[ \n\u00a0](?:{CLOCKED})(?![\w/])|[ \n]times[ \n](?:as|the|those)\b)|'
                    rf'\d+\.\d+(?!\w)(?![ \n](?:{COUNTED})\b))')


class Calculation(NamedTuple):
    """left: what is calculated, in the text from begin on; right: its result, from `at` to end; value: what comes out,
    None if nothing can; linked: a recorded figure is in it."""
    begin: int
    at: int
    end: int
    left: str
    right: str
    value: Optional[float]
    linked: bool


def number(text: str) -> float:
    """Returns the value of a number with its unit."""
    found = re.fullmatch(rf'([\d.,]+)(?:\s({UNIT}))?', text.strip())
    return float(found[1].replace(',', '')) * UNITS.get(found[2], 1.0) if found else float('nan')


def value_of(text: str) -> Optional[float]:
    """Returns the value of a sum, product or power of numbers; None if it has none."""
    plain = re.sub(LINKED, lambda link: link[0][1:link[0].index(']')], text)
    words = re.findall(rf'{VALUE}|[-+x*/^()]', plain)
    code = ''.join(repr(number(word)) if word[0].isdigit() else {'x': '*', '^': '**'}.get(word, word) for word in words)
    try:
        return float(eval(code, {'__builtins__': {}}))  # of numbers and operators alone, by the pattern above
    except (SyntaxError, ZeroDivisionError, TypeError, OverflowError):
        return None


def unit_of(text: str) -> str:
    return (text.split() + [''])[1] if ' ' in text or '\n' in text else ''


def digits(text: str) -> int:
    """Returns how many places after the point a number is printed with."""
    return len(text.split()[0].rstrip(',').partition('.')[2])


def agrees(one: Calculation) -> bool:
    """Returns whether the result is what comes out, rounded or cut where it ends, or nearly so."""
    if one.value is None:
        return False
    said, unit = float(one.right.split()[0].replace(',', '')), unit_of(one.right)
    scales = {UNITS.get(unit, 1.0)}
    if unit != '%' and not one.linked and not re.search(rf'\d\s(?:{UNIT})', one.left):
        scales.add(1.0)  # bare numbers count what the unit names: 2 + 3 = 5 GB
    return any(abs(one.value / scale - said) <= max(0.51 * 10.0 ** -digits(one.right), 0.002 * said)
               for scale in scales)


def calculations(text: str) -> list[Calculation]:
    return [Calculation(found.start(1), found.start(2), found.end(2), found[1], found[2], value_of(found[1]),
                        bool(re.search(LINKED, found[1]))) for found in CALCULATION.finditer(text)]


def renewed(text: str) -> str:
    """Returns the text with results of calculations with recorded figures as they come out now, in the same form."""
    for one in reversed(calculations(text)):
        if one.linked and one.value is not None:
            unit, places = unit_of(one.right), digits(one.right)
            said = f'{one.value / UNITS.get(unit, 1.0):.{places}f}' + one.right[len(one.right.split()[0]):]
            text = text[:one.at] + said + text[one.end:]
    return text


def blanked(text: str) -> str:
    """Returns the text without code, drawings and recorded figures, of the same length."""
    for pattern in (r'^```.*?^```', r'`[^`]*`', r'^\*\*Drawing\.\*\*.*?(?=\n\n|\Z)', LINKED, r'\]\([^)]*\)'):
        text = re.sub(pattern, lambda found: re.sub(r'\S', '_', found[0]), text, flags=re.M | re.S)
    return text


def typed(text: str, allowed: Container[str] = ()) -> list[str]:
    """Returns what is wrong, a line each: calculations that are wrong, and figures that nothing explains. allowed:
    figures as they are typed; what was calculated before may be repeated."""
    wrong, known, left = [], set(), blanked(text)
    for one in calculations(text):
        if not agrees(one):
            wrong.append(f'{" ".join(one.left.split())} = {one.right}: it is {one.value}')
        known.add(' '.join(one.right.split()))
        shown = re.sub(rf'{NUMBER}(?![\d.,]|\s(?:{CLOCKED})(?![\w/]))', '_', left[one.begin:one.at])
        left = left[:one.begin] + shown.ljust(one.at - one.begin, '_') + '_' * (one.end - one.at) + left[one.end:]
    for found in FIGURE.finditer(left):
        said = ' '.join(found[0].split())
        if said not in known and said not in allowed:
            line = text.count('\n', 0, found.start()) + 1
            wrong.append(f'line {line}: {said}: {" ".join(text[max(0, found.start() - 40):found.end()].split())}')
    return wrong
