"""What a result may be, and its members as attributes.

docs/result-schema.json is the one text that says what may be in a file; check() holds a value against a rule of it, with
as much of JSON Schema as that file uses. A Record then has the members that the suite reads, each with its type.
"""
import dataclasses
import functools
import json
import re
from dataclasses import dataclass
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from . import Json, shipped

MOST = 1e30  # of any number: products and ratios of results stay finite
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


def made(kind: Any, value: Any) -> Any:
    """Returns a JSON value as its type wants it: records made of objects."""
    origin, arguments = get_origin(kind), get_args(kind)
    if value is None or origin is Union:
        return None if value is None else made(arguments[0], value) if arguments[-1] is type(None) else value
    if origin is list:
        return [made(arguments[0], member) for member in value]
    if origin is dict:
        return {name: made(arguments[1], member) for name, member in value.items()}
    if isinstance(kind, type) and issubclass(kind, Record):
        return kind.from_json(value)
    return int(value) if kind is int else value


R = TypeVar('R', bound='Record')


@dataclass(repr=False, eq=False)
class Record:
    """A JSON object that follows its rule. A member without a default is always there; one with a default is left out
    when it is None or empty. Members that a record does not know are passed over."""

    @classmethod
    @functools.lru_cache(maxsize=None)
    def members(cls) -> dict[str, tuple[Any, bool]]:
        """Returns {name: (type, whether it is always there)}."""
        hints = get_type_hints(cls)
        return {member.name: (hints[member.name], member.default is dataclasses.MISSING and
                              member.default_factory is dataclasses.MISSING) for member in dataclasses.fields(cls)}

    @classmethod
    def from_json(cls: type[R], value: Json) -> R:
        return cls(**{name: made(kind, value[name]) for name, (kind, _) in cls.members().items() if name in value})

    def to_json(self) -> Json:
        return {name: plain(getattr(self, name)) for name, (_, required) in self.members().items()
                if required or getattr(self, name) not in (None, {}, [])}


def plain(value: Any) -> Any:
    """Returns a value with its records as dicts."""
    if isinstance(value, Record):
        return value.to_json()
    if isinstance(value, dict):
        return {name: plain(member) for name, member in value.items()}
    return [plain(member) for member in value] if isinstance(value, list) else value
