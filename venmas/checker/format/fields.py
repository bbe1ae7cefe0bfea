"""Entries of a line, read by the type of the field that they are for.

    int, str, bool, Literal        exactly that type; ``true`` is no number
    T | None                       null as well
    tuple[T, ...], tuple[A, B]     a list
    integers (`Ints`)              a list of integers, as an array
    a named tuple                  a list of its fields
    a dataclass                    an object with its fields; those that have their default are left out
    Mapping, object                any object; anything

`Limit` is metadata of a type: ends of numbers, or of the length of a list or text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

Read = Callable[[Any], Any]
Ints = NDArray[np.int64]
_WORD = 1 << 62


@dataclass(frozen=True)
class Limit:
    """Least and greatest value of a number, or length of a list or text."""

    least: int | None = None
    most: int | None = None

    def holds(self, value: int) -> bool:
        """Is a number, or a length, within the limits?"""
        return (self.least is None or self.least <= value) and (self.most is None or value <= self.most)

    def __str__(self) -> str:
        if self.most is None:
            return "" if self.least is None else f" from {self.least}"
        ends = [power(end) for end in (self.least, self.most) if end is not None]
        return f" up to {ends[0]}" if len(ends) == 1 else f" from {ends[0]} to {ends[1]}"


Count = Annotated[int, Limit(least=0)]
"""A whole number that is not negative, such as a place in a list, from 0."""
Number = Annotated[str, "number"]
"""A rational as text, which whoever applies the rule reads (`numbers.read_number`)."""


class MisfitError(Exception):
    """An entry of another type than that of its field."""

    def __init__(self, expected: str, value: object) -> None:
        self.expected, self.value = expected, value
        super().__init__(expected)

    def __str__(self) -> str:
        return f"expected {self.expected}, got {short(self.value)}"


def short(value: object) -> str:
    """The beginning of a value, for messages."""
    return f"a list of {len(value)}" if isinstance(value, list) and len(value) > 40 else repr(value)[:60]


def reader(hint: Any) -> Read:
    """Reader of an entry of a type. Raises `TypeError` for types that it does not know."""
    if hint == Number:
        return _checked(lambda value: type(value) is str, 'a rational such as "-3/4"')
    hint, limit = plain_type(hint)
    origin, args = get_origin(hint), get_args(hint)
    if hint is int:
        return _checked(lambda value: type(value) is int and limit.holds(value), f"a whole number{limit}")
    if hint is str:
        length = "" if limit == Limit() else f" of a length{limit}"
        return _checked(lambda value: type(value) is str and limit.holds(len(value)), f"a text{length}")
    if hint is bool:
        return _checked(lambda value: type(value) is bool, "true or false")
    if hint is object:
        return lambda value: value
    if origin is Literal:
        return _checked(lambda value: type(value) is str and value in args, " or ".join(map(repr, args)))
    if origin in (UnionType, Union) and len(args) == 2 and args[1] is NoneType:
        inner = reader(args[0])
        return lambda value: None if value is None else inner(value)
    if origin is np.ndarray:
        return _integers(limit)
    if origin is tuple and len(args) == 2 and args[1] is Ellipsis:
        return _several(args[0], limit)
    if origin is tuple:
        return _fixed(args, lambda values: tuple(values))
    if isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields"):
        return _fixed(tuple(get_type_hints(hint, include_extras=True).values()), lambda values: hint(*values))
    if is_dataclass(hint) and isinstance(hint, type):
        return record(hint)
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return _checked(lambda value: type(value) is dict, "an object")
    raise TypeError(f"no entry of a certificate is of the type {hint}")


def plain_type(hint: Any) -> tuple[Any, Limit]:
    """A type without its metadata, and its limit."""
    if get_origin(hint) is not Annotated:
        return hint, Limit()
    plain_, *metadata = get_args(hint)
    return plain_, next((one for one in metadata if isinstance(one, Limit)), Limit())


def record(kind: type, besides: frozenset[str] = frozenset()) -> Read:
    """Reader of an object with the fields of a dataclass. besides: other entries that are there."""
    hints, required, known = get_type_hints(kind, include_extras=True), set[str](), set[str]()
    entries: list[tuple[str, str, Read, object]] = []
    for field in fields(kind):
        key = key_of(field)
        default = field.default if field.default_factory is MISSING else field.default_factory()
        entries.append((key, field.name, reader(hints[field.name]), default))
        known.add(key)
        if default is MISSING:
            required.add(key)
    expected = f"the entries {', '.join(key for key, *_ in entries)}" if entries else "no entries"

    def read(data: Any) -> Any:
        if type(data) is not dict:
            raise MisfitError("an object", data)
        keys = data.keys() - besides
        if not (required <= keys <= known):
            raise MisfitError(expected, sorted(keys)[:20])
        values: dict[str, object] = {}
        for key, name, each, default in entries:
            if key not in keys:
                continue
            try:
                value = values[name] = each(data[key])
            except MisfitError as error:
                raise MisfitError(f"{error.expected} as {key}", error.value) from None
            if default is not MISSING and hints[name] is not object and value == default:
                raise MisfitError(f"{key} to be left out where it is what it is then", data[key])
        return kind(**values)

    return read


def key_of(field: Any) -> str:
    """The entry of a field."""
    key: str = field.metadata.get("key", field.name)
    return key


def plain(value: object) -> Any:
    """A value of a field as JSON has it."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple):
        return [plain(part) for part in value]
    if is_dataclass(value) and not isinstance(value, type):
        return entries(value)
    return value


def entries(value: Any) -> dict[str, object]:
    """The fields of a dataclass as JSON has them, without those that have their default."""
    data: dict[str, object] = {}
    for field in fields(value):
        here = getattr(value, field.name)
        default = field.default if field.default_factory is MISSING else field.default_factory()
        if default is MISSING or here != default:
            data[key_of(field)] = plain(here)
    return data


def _checked(fits: Callable[[Any], bool], expected: str) -> Read:
    def read(value: Any) -> Any:
        if not fits(value):
            raise MisfitError(expected, value)
        return value

    return read


def _several(hint: Any, limit: Limit) -> Read:
    each, most = reader(hint), "" if limit == Limit() else f"{limit} entries"
    kind, ends = plain_type(hint)

    def read(value: Any) -> Any:
        if type(value) is not list or not limit.holds(len(value)):
            raise MisfitError(f"a list{most}", value)
        # lists of plain values may be long: their types are looked at together
        if kind is str and ends == Limit() and set(map(type, value)) <= {str}:
            return tuple(value)
        if kind is int and set(map(type, value)) == {int} and ends.holds(min(value)) and ends.holds(max(value)):
            return tuple(value)
        return tuple(map(each, value))

    return read


def _fixed(hints: tuple[Any, ...], made: Callable[[list[Any]], Any]) -> Read:
    each = [reader(hint) for hint in hints]

    def read(value: Any) -> Any:
        if type(value) is not list or len(value) != len(each):
            raise MisfitError(f"a list of {len(each)}", value)
        return made([one(part) for one, part in zip(each, value, strict=True)])

    return read


def _integers(limit: Limit) -> Read:
    ends = Limit(-_WORD if limit.least is None else limit.least, _WORD if limit.most is None else limit.most)

    def read(value: Any) -> Ints:
        whole = type(value) is list and set(map(type, value)) <= {int}
        if not whole or (value and not (ends.holds(min(value)) and ends.holds(max(value)))):
            raise MisfitError(f"a list of whole numbers{ends}", value)
        return np.array(value, dtype=np.int64)

    return read


def power(end: int) -> str:
    """A number as text, large ones as powers of two."""
    size = abs(end)
    for shift in (0, -1):  # 2^k, 2^k - 1
        if size > 1 << 24 and size - shift & (size - shift - 1) == 0:
            sign = "-" if end < 0 else ""
            return f"{sign}2^{(size - shift).bit_length() - 1}{' - 1' if shift and end > 0 else ''}"
    return str(end)
