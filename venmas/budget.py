"""The time limit that whatever runs now has to keep to, for code too deep below the engine to be handed a clock.

A search calls the `tick` it was given between two steps; what happens inside a step (rewriting an expression, following
a network, a pivot) calls `ask`. What was interrupted there is not gone on with: a limit set by `limited` is the last
one of its run, while shares of the time, after which work goes on where it was left, stay with the ticks.

The limit belongs to the context (`contextvars`), so that runs in several threads keep to their own, and a process or
thread that is started has none until it sets one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import TypeVar

_Item = TypeVar("_Item")

_limit: ContextVar[tuple[float, Callable[[], object]] | None] = ContextVar("limit", default=None)


@contextmanager
def limited(deadline: float | None, over: Callable[[], object]) -> Iterator[None]:
    """Have `ask` call `over`, which raises, after `deadline` (of `time.monotonic`; None: never) within the block."""
    token = _limit.set(None if deadline is None else (deadline, over))
    try:
        yield
    finally:
        _limit.reset(token)


def ask() -> None:
    """Raise what the run that this is part of raises at its deadline. To be called in every loop that may be long.

    It takes 0.1 microseconds.
    """
    limit = _limit.get()
    if limit is not None and monotonic() > limit[0]:
        limit[1]()


def asking(items: Iterable[_Item]) -> Iterator[_Item]:
    """The items, with a look at the limit before each: for comprehensions whose items take long."""
    for item in items:
        ask()
        yield item
