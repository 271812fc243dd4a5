"""JSON objects with a type for each member: what a file holds is a Record, or a Mismatch says which member is not of its
type. Bounds are in the metadata of Annotated types."""
import calendar
import dataclasses
import functools
import math
import re
import time
from dataclasses import dataclass
from typing import (Annotated, Any, Callable, ClassVar, Literal, NamedTuple, Optional, TypeVar, Union, get_args,
                    get_origin, get_type_hints)

from . import Json

MOST = 1e30  # of any number: products and ratios of results stay finite


class Mismatch(ValueError):
    """A value that is not of its type; the text says which member."""


class Rule(NamedTuple):
    """A bound on a value, in the metadata of an Annotated type."""
    said: str
    holds: Callable[[Any], bool]


def matches(pattern: str) -> Rule:
    return Rule(f'does not match {pattern}', lambda value: bool(re.search(pattern, value)))


def instant(date: str) -> Optional[float]:
    """Returns the seconds since 1970 of a date, or None if it is none."""
    try:
        return calendar.timegm(time.strptime(date, '%Y-%m-%dT%H:%M:%SZ'))
    except (ValueError, OverflowError):
        return None


Text = Annotated[str, Rule('is empty', bool)]
Date = Annotated[str, Rule('is no date and time, as 2026-01-31T12:00:00Z', lambda value: instant(value) is not None)]
Digest = Annotated[str, matches('^[0-9a-f]{64}$')]
Count = Annotated[int, Rule('is not from 1 to 2^63', lambda value: 1 <= value <= 1 << 63)]
Natural = Annotated[int, Rule('is not from 0 to 2^63', lambda value: 0 <= value <= 1 << 63)]
Positive = Annotated[float, Rule(f'is not from {1 / MOST:g} to {MOST:g}', lambda value: 1 / MOST <= value <= MOST)]
NotNegative = Annotated[float, Rule(f'is not from 0 to {MOST:g}', lambda value: 0 <= value <= MOST)]
Share = Annotated[float, Rule('is not from 0 to 1', lambda value: 0 <= value <= 1)]


def scalar_fits(kind: Any, value: Any) -> bool:
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if kind is int:
        return not isinstance(value, bool) and (isinstance(value, int) or isinstance(value, float) and value.is_integer())
    return kind is Any or isinstance(value, kind)


def typed(kind: Any, value: Any, where: str) -> Any:
    """Returns a JSON value as its type wants it, records made of objects; Mismatch where it does not fit."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        value = typed(arguments[0], value, where)
        for rule in arguments[1:]:
            if not rule.holds(value):
                raise Mismatch(f'{where}: {value!r} {rule.said}')
        return value
    if origin is Union:
        if value is None and type(None) in arguments:
            return None
        choices = [choice for choice in arguments if choice is not type(None)]
        if len(choices) > 1:
            if not any(scalar_fits(choice, value) for choice in choices):
                raise Mismatch(f'{where}: {value!r} is none of {", ".join(choice.__name__ for choice in choices)}')
            return value
        return typed(choices[0], value, where)
    if origin is Literal:
        if not any(value == choice and type(value) is type(choice) for choice in arguments):
            raise Mismatch(f'{where}: {value!r} is none of {", ".join(map(repr, arguments))}')
        return value
    if origin is list and isinstance(value, list):
        return [typed(arguments[0], member, f'{where}[{i}]') for i, member in enumerate(value)]
    if origin is dict and isinstance(value, dict):
        return {name: typed(arguments[1], member, f'{where}.{name}') for name, member in value.items()}
    if not origin and isinstance(kind, type) and issubclass(kind, Record):
        return kind.from_json(value, where)
    if origin or not scalar_fits(kind, value):
        raise Mismatch(f'{where or "the file"}: {value!r} is not of type {(origin or kind).__name__}')
    return int(value) if kind is int else value


R = TypeVar('R', bound='Record')


@dataclass(repr=False, eq=False)
class Record:
    """A JSON object. A member without a default must be there; one with a default is left out when it is None or empty.
    Members that a record does not know are passed over, unless it is closed."""
    closed: ClassVar[bool] = False

    @classmethod
    @functools.lru_cache(maxsize=None)
    def members(cls) -> dict[str, tuple[Any, bool]]:
        """Returns {name: (type, whether it must be there)}."""
        hints = get_type_hints(cls, include_extras=True)
        return {member.name: (hints[member.name], member.default is dataclasses.MISSING and
                              member.default_factory is dataclasses.MISSING) for member in dataclasses.fields(cls)}

    @classmethod
    def from_json(cls: type[R], value: Any, where: str = '') -> R:
        """Returns the record that a JSON object is; Mismatch if it is not one."""
        if not isinstance(value, dict):
            raise Mismatch(f'{where or "the file"}: not an object')
        at = f'{where}.' if where else ''
        known = cls.members()
        for name, (_, required) in known.items():
            if required and name not in value:
                raise Mismatch(f'{where or "the file"}: no {name}')
        unknown = sorted(set(value) - set(known))
        if cls.closed and unknown:
            raise Mismatch(f'{at}{unknown[0]}: not in the schema')
        return cls(**{name: typed(kind, value[name], at + name) for name, (kind, _) in known.items() if name in value})

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
