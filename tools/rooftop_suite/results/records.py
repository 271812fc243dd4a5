"""What a result may be, and its members as attributes.

docs/result-schema.json is the one text that says what may be in a file; check() holds a value against a rule of it, with
as much of JSON Schema as that file uses. A Record then has the members as attributes.
"""
import functools
import json
import re
from typing import Any, Callable

from .. import Json, shipped

MOST = 1e30  # of any number: products and ratios of results stay finite
EMPTY: dict[str, Callable[[], Any]] = {'array': list, 'object': dict, 'string': str, 'boolean': bool}
TYPES: dict[str, Any] = {'string': str, 'object': dict, 'array': list, 'null': type(None), 'number': (int, float)}


class Mismatch(ValueError):
    """A value that does not follow its rule; the text says which member."""


@functools.lru_cache(maxsize=None)
def rule_of(kind: str) -> Json:
    """Returns the rule of the schema for a kind of record."""
    with open(shipped('docs', 'result-schema.json'), encoding='utf-8') as file:
        rule: Json = json.load(file)['$defs'][kind]
    return rule


def is_of(kind: str, value: Any) -> bool:
    if isinstance(value, bool) or kind == 'boolean':
        return isinstance(value, bool) and kind == 'boolean'
    if kind == 'integer':
        return isinstance(value, int) or isinstance(value, float) and value.is_integer()
    return isinstance(value, TYPES[kind])


def fault_of(rule: Json, value: Any) -> str:
    """Returns what is wrong with a value itself, or ''."""
    kinds = [rule['type']] if isinstance(rule.get('type'), str) else rule.get('type', [])
    choices = rule.get('enum', [rule['const']] if 'const' in rule else [])
    if kinds and not any(is_of(kind, value) for kind in kinds):
        return f'is not of type {" or ".join(kinds)}'
    if choices and not any(value == choice and type(value) is type(choice) for choice in choices):
        return f'is none of {", ".join(map(repr, choices))}'
    if isinstance(value, (int, float)) and not (
            abs(value) <= MOST and rule.get('minimum', -MOST) <= value <= rule.get('maximum', MOST) and
            ('exclusiveMinimum' not in rule or value >= 1 / MOST)):
        return 'is too small or too large'
    if isinstance(value, str) and not re.search(rule.get('pattern', ''), value):
        return f'does not match {rule["pattern"]}'
    least = rule.get('minLength' if isinstance(value, str) else 'minItems', 0)
    return 'is empty' if isinstance(value, (str, list)) and len(value) < least else ''


def check(rule: Json, value: Any, where: str = '') -> None:
    """Mismatch unless a value follows a rule of the schema."""
    if '$ref' in rule:
        check(rule_of(rule['$ref'].rpartition('/')[2]), value, where)
    fault = fault_of(rule, value)
    if fault:
        raise Mismatch(f'{where or "the file"}: {value!r} {fault}')
    if isinstance(value, list):
        for i, member in enumerate(value):
            check(rule.get('items', {}), member, f'{where}[{i}]')
    if isinstance(value, dict):
        at, known, more = f'{where}.' if where else '', rule.get('properties', {}), rule.get('additionalProperties', {})
        for name in rule.get('required', ()):
            if name not in value:
                raise Mismatch(f'{where or "the file"}: no {name}')
        for name, member in value.items():
            if name not in known and more is False:
                raise Mismatch(f'{at}{name}: not in the schema')
            check(known.get(name, more), member, at + name)


KINDS: dict[str, type['Record']] = {}  # by the name of their rule


class Record(dict[str, Any]):
    """A JSON object that follows a rule of the schema, with its members as attributes. One that is absent is empty: None, or
    a text, list or object with nothing in it. Members that the rule does not name are passed over."""
    definition = ''  # in the schema

    def __init_subclass__(cls, kind: str) -> None:
        cls.definition, KINDS[kind] = kind, cls

    def __init__(self, /, **members: Any) -> None:
        known = rule_of(self.definition)['properties']
        super().__init__((name, made(known[name], value)) for name, value in members.items() if name in known)

    @classmethod
    def member(cls, name: str) -> Json:
        """Returns the rule of a member."""
        known = rule_of(cls.definition)['properties']
        if name not in known:
            raise AttributeError(f'{cls.definition} has no member {name}')
        rule: Json = known[name]
        return rule

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = made(self.member(name), value)

    def __getattr__(self, name: str) -> Any:
        rule = self.member(name)
        return self[name] if name in self else EMPTY.get(str(rule.get('type')), lambda: None)()


def made(rule: Json, value: Any) -> Any:
    """Returns a JSON value with records in place of the objects whose rule has a name."""
    if isinstance(value, list):
        return [made(rule.get('items', {}), member) for member in value]
    if isinstance(value, dict) and '$ref' in rule:
        kind = rule['$ref'].rpartition('/')[2]
        if kind not in KINDS:
            type(kind, (Record,), {}, kind=kind)  # enters itself
        return KINDS[kind](**value)
    if isinstance(value, dict):
        return {name: made(rule.get('additionalProperties') or {}, member) for name, member in value.items()}
    return int(value) if rule.get('type') == 'integer' and isinstance(value, float) else value
