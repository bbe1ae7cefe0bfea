"""Copies of objects, and canonical forms of what code can see that looks at an object and at nothing else.

Two objects of one form are alike but for where they lie in memory: same classes, same values, the same parts shared in
the same places. Where numbers are compared, their values count, not their width.
"""

from __future__ import annotations

import io
import pickle
from abc import ABCMeta
from collections.abc import Hashable, Iterable
from enum import Enum, EnumMeta
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from venmas.errors import ScenarioError

_SAME = {type, ABCMeta, EnumMeta, FunctionType, BuiltinFunctionType, ModuleType}
"""What a copy has in common with its original."""


class Copies:
    """Objects as bytes, from which any number of copies can be made; some parts are shared by all of them."""

    def __init__(self, shared: Iterable[object] = ()) -> None:
        self.shared = {id(part): part for part in shared}

    def freeze(self, value: object) -> bytes:
        """Bytes of an object. Objects of the same bytes are of one form. Raises whatever pickle does."""
        into = io.BytesIO()
        _Writer(into, self.shared).dump(value)
        return into.getvalue()

    def thaw(self, frozen: bytes) -> Any:
        """A copy."""
        return _Reader(io.BytesIO(frozen), self.shared).load()


class _Writer(pickle.Pickler):
    def __init__(self, into: io.BytesIO, shared: dict[int, object]) -> None:
        super().__init__(into, pickle.HIGHEST_PROTOCOL)
        self.shared = shared

    def persistent_id(self, part: Any) -> int | None:
        if type(part) in _SAME:
            self.shared[id(part)] = part
            return id(part)
        return id(part) if id(part) in self.shared else None


class _Reader(pickle.Unpickler):
    def __init__(self, source: io.BytesIO, shared: dict[int, object]) -> None:
        super().__init__(source)
        self.shared = shared

    def persistent_load(self, number: int) -> object:
        return self.shared[number]


def form_of(value: object) -> Hashable:
    """The form of an object and of all that it holds. Raises `ScenarioError` for parts that do not show what they hold.

    Generators of random numbers count by their states.
    """
    numbers: dict[int, int] = {}
    return _form(value, numbers)


def _form(value: Any, numbers: dict[int, int]) -> Hashable:
    kind = type(value)
    if value is None or kind in (str, bytes, bool):
        return kind, value
    if kind is int or isinstance(value, np.integer):
        return int, int(value)
    if kind is float or isinstance(value, np.floating | np.bool_):
        return kind, float(value).hex()
    if kind is tuple:
        return tuple, *(_form(v, numbers) for v in value)
    if isinstance(value, np.dtype):
        return np.dtype, value.str
    if kind is FunctionType and value.__closure__:
        raise ScenarioError(f"holds the function {value.__qualname__} with a closure, whose state is not known")
    if kind in _SAME or isinstance(value, Enum):
        return "same", id(value)
    if id(value) in numbers:
        return "again", numbers[id(value)]
    numbers[id(value)] = len(numbers)
    if kind is list:
        return list, *(_form(v, numbers) for v in value)
    if kind is dict:
        return dict, *((_form(k, numbers), _form(v, numbers)) for k, v in value.items())
    if kind is np.ndarray and value.dtype.kind in "biuf":
        return kind, value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, np.random.Generator):
        return kind, repr(value.bit_generator.state)
    if kind is MethodType:
        return kind, id(value.__func__), _form(value.__self__, numbers)
    if _is_plain(value) or any(c.__module__ == "gymnasium.spaces.space" for c in kind.__mro__):
        return kind, *((k, _form(v, numbers)) for k, v in vars(value).items())
    raise ScenarioError(f"holds a {kind.__module__}.{kind.__qualname__}, whose state is not known")


def _is_plain(value: Any) -> bool:
    """Whether an object is what its attributes are, and is copied by copying them."""
    kind = type(value)
    layers = [c for c in kind.__mro__ if c is not object]
    return (
        hasattr(value, "__dict__")
        and all(c.__flags__ & 1 << 9 and not c.__dict__.get("__slots__") for c in layers)  # written in Python
        and all(
            n not in c.__dict__ for c in layers for n in ("__setstate__", "__getstate__", "__reduce__", "__reduce_ex__")
        )
    )
