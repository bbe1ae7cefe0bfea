"""What was found of something that can change, as long as it has not."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from operator import is_
from typing import TypeVar

_Found = TypeVar("_Found")


class Facts:
    """Facts by key about something that consists of immutable parts. What an exception has ended is no fact."""

    def __init__(self) -> None:
        self._known: tuple[tuple[object, ...], dict[Hashable, object]] = (), {}

    def once(self, parts: tuple[object, ...], key: Hashable, find: Callable[[], _Found]) -> _Found:
        """What `find` finds, kept until the parts are other objects."""
        known, facts = self._known
        if len(parts) != len(known) or not all(map(is_, parts, known)):
            facts = {}
            self._known = parts, facts
        if key not in facts:
            facts[key] = find()
        return facts[key]  # type: ignore[return-value]
