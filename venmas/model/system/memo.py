"""Cache of derived values, dropped as soon as a part of the object is replaced."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from operator import is_
from typing import TypeVar

_Found = TypeVar("_Found")


class Memo:
    """Values by key, derived from an object of immutable parts. What an exception has ended is not kept."""

    def __init__(self) -> None:
        self._known: tuple[tuple[object, ...], dict[Hashable, object]] = (), {}

    def once(self, parts: tuple[object, ...], key: Hashable, find: Callable[[], _Found]) -> _Found:
        """The value that `find` returns, kept until the parts are other objects."""
        known, values = self._known
        if len(parts) != len(known) or not all(map(is_, parts, known)):
            values = {}
            self._known = parts, values
        if key not in values:
            values[key] = find()
        return values[key]  # type: ignore[return-value]
