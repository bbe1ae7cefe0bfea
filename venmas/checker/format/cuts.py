"""Trees of cuts in prefix order: how a certificate divides a set into parts, on each of which a claim is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def leaves(whole: T, parts: Callable[[T, int], Sequence[T]]) -> Iterator[T]:
    """The leaves of a tree, from left to right.

    parts: of the next node in prefix order, those that it is cut into, the first one first; none of a leaf. It is told
    how many others wait. Nothing here is recursive, as trees may be deeper than calls.
    """
    waiting = [whole]
    while waiting:
        node = waiting.pop()
        cut = parts(node, len(waiting))
        if cut:
            waiting += reversed(cut)
        else:
            yield node
