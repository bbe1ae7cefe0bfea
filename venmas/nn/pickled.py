"""Pickles as data: the values that they hold, and the names of what they would call, of which nothing is called.

A pickle is a program for a machine with a stack. The one here knows the instructions that build values; a class or
function is a `Named`, what it would make a `Made`. Instructions are read by `pickletools.genops` of Python, which
never allocates more than the file holds. No instruction beyond the table is run, and keys are texts or numbers, as
equality and hashes of others are code as well.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from dataclasses import dataclass, field
from reprlib import repr as short
from typing import Any

import numpy as np
from numpy.typing import NDArray

from venmas.errors import NetworkError

_VALUES = {
    *("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
    *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
}
"""Instructions that push what follows them."""
_MAKERS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_NOTHING = ("PROTO", "FRAME")
_DTYPES = ("f4", "f8", "b1", "i4", "i8")


@dataclass(frozen=True)
class Named:
    """A class or function by its name, ``module.name``."""

    name: str


@dataclass(eq=False, repr=False)
class Made:
    """The result of a call that is not made, of a named class or function; state and items are set on it afterwards."""

    of: str
    args: tuple[Any, ...]
    state: Any = None
    items: dict[Any, Any] = field(default_factory=dict)

    def __repr__(self) -> str:  # short, as parts may stand in each other many times
        return f"a {self.of:.80}"

    def get(self, name: str) -> Any:
        """An attribute. Raises `NetworkError` where it has none of that name."""
        if not isinstance(self.state, dict) or name not in self.state:
            raise NetworkError(f"a {self.of} without {name!r}: save it again with a version of today")
        return self.state[name]


def read_pickle(data: bytes) -> Any:
    """The value of a pickle, protocol 2 or later. Raises `NetworkError` for instructions that build no plain value."""
    try:
        return _Machine().run(data)
    except NetworkError:
        raise
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, UnicodeDecodeError) as error:
        raise NetworkError(f"not a pickle, or damaged: {type(error).__name__}: {str(error)[:200]}") from error


class _Machine:
    """The stack, those below open marks, and what was put aside by number."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.below: list[list[Any]] = []
        self.aside: dict[int, Any] = {}

    def run(self, data: bytes) -> Any:
        for instruction, given, _ in pickletools.genops(data):
            name = instruction.name
            if name == "STOP":
                (result,) = self.stack
                return result
            if name in _VALUES:
                self.stack.append(given)
            elif name in _MAKERS:
                self.stack.append(_MAKERS[name]())
            elif name in _TUPLES:
                parts = self.stack[-_TUPLES[name] :]
                if len(parts) != _TUPLES[name]:
                    raise ValueError("a tuple of too few values")
                self.stack[-_TUPLES[name] :] = [tuple(parts)]
            elif name not in _NOTHING:
                self._act(name, given)
        raise ValueError("no end")

    def _act(self, name: str, given: Any) -> None:
        match name:
            case "MEMOIZE" | "BINPUT" | "LONG_BINPUT":
                self.aside[len(self.aside) if given is None else given] = self.stack[-1]
            case "BINGET" | "LONG_BINGET":
                self.stack.append(self.aside[given])
            case "MARK":
                self.below.append(self.stack)
                self.stack = []
            case "TUPLE":
                self._close(tuple)
            case "APPEND":
                self._extend([self.stack.pop()])
            case "APPENDS":
                self._extend(self._marked())
            case "SETITEM":
                value, key = self._pop(), self._pop()
                self._set([key, value])
            case "SETITEMS":
                self._set(self._marked())
            case "GLOBAL":
                self.stack.append(Named(given.replace(" ", ".", 1)))
            case "STACK_GLOBAL":
                attribute, module = self._pop(), self._pop()
                self.stack.append(Named(f"{module}.{attribute}"))
            case "REDUCE" | "NEWOBJ":
                args, of = self._pop(), self._pop()
                if not isinstance(of, Named) or not isinstance(args, tuple):
                    raise NetworkError(f"a pickle that calls {short(of)}: expected a class or function by its name")
                self.stack.append(Made(of.name, args))
            case "BUILD":
                state, made = self._pop(), self.stack[-1]
                if not isinstance(made, Made):
                    raise NetworkError(f"a pickle that sets the state of {short(made)}: expected an object of a class")
                made.state = state
            case "BINPERSID":
                self.stack.append(Made("persistent", (self._pop(),)))
            case _:
                raise NetworkError(f"a pickle with the instruction {name}, which builds no plain value")

    def _pop(self) -> Any:
        return self.stack.pop()

    def _marked(self) -> list[Any]:
        above, self.stack = self.stack, self.below.pop()
        return above

    def _close(self, make: Callable[[list[Any]], Any]) -> None:
        above = self._marked()
        self.stack.append(make(above))

    def _extend(self, values: list[Any]) -> None:
        if not isinstance(self.stack[-1], list):
            raise NetworkError("a pickle that appends to something else than a list")
        self.stack[-1].extend(values)

    def _set(self, pairs: list[Any]) -> None:
        target = self.stack[-1]
        items = target.items if isinstance(target, Made) else target
        for key, value in zip(pairs[::2], pairs[1::2], strict=True):
            if not isinstance(key, str | int) or not isinstance(items, dict):
                raise NetworkError("a pickle with items that are no entries of a dictionary by text or number")
            items[key] = value


def array_of(value: Any) -> NDArray[Any]:
    """An array or a number of numpy, or a number of Python, as a pickle holds it. Raises `NetworkError`."""
    if isinstance(value, bool | int | float):
        return np.asarray(value)
    if isinstance(value, Made):
        kind = value.of.replace("numpy.core.", "numpy._core.")
        match kind, value.args, value.state:
            case "numpy._core.multiarray._reconstruct", _, (_, tuple(shape), dtype, fortran, bytes(data)):
                return _filled(data, dtype, shape, "F" if fortran else "C")
            case "numpy._core.numeric._frombuffer", (bytes() | bytearray() as data, dtype, tuple(shape), order), _:
                return _filled(bytes(data), dtype, shape, order)
            case "numpy._core.multiarray.scalar", (dtype, bytes(data)), _:
                return _filled(data, dtype, (), "C")
    raise NetworkError(f"expected an array of numbers, it holds {short(value)}")


def _filled(data: bytes, dtype: Any, shape: tuple[Any, ...], order: Any) -> NDArray[Any]:
    if not isinstance(dtype, Made) or dtype.of != "numpy.dtype" or dtype.args[:1] not in [(n,) for n in _DTYPES]:
        raise NetworkError(f"an array of the type {short(dtype)}: expected one of {', '.join(_DTYPES)}")
    mark = dtype.state[1] if isinstance(dtype.state, tuple) and len(dtype.state) > 1 else None
    if mark not in ("<", ">", "|") or order not in ("C", "F"):
        raise NetworkError(f"an array of the byte order {short(mark)} and the layout {short(order)}: save it again")
    try:
        return np.frombuffer(data, mark + dtype.args[0]).reshape(shape, order=order)
    except (ValueError, TypeError) as error:
        raise NetworkError(f"an array of the shape {short(shape)} of {len(data)} bytes: {error}") from error
