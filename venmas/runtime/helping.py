"""Help between two processes: one that waits does pieces of work of the other.

    waiting: Helping.offered(True) .. Helping.does(piece) .. Helping.offered(False)
    working: shared(pieces, ..), or Helper.give(work, ..) -> Gift, which is asked for its result later

Both ends are of one pipe, on which whatever else they send goes on. An offer has a number: a piece that was sent before
it was withdrawn is dropped, and whoever sent it does it itself. One piece at a time is under way, a part of a second
long, so that whoever waits sees in time what it waits for.
"""

from __future__ import annotations

import logging
import pickle
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from multiprocessing.connection import Connection
from time import monotonic
from typing import Any, TypeVar

log = logging.getLogger(__name__)

_LOOK = 0.05
"""Seconds between two looks for a result, where there is nothing else to do."""
_BRIEF = 0.4
"""Seconds of a piece, at most, that another process may do: it cannot be stopped in the middle."""
_SOON = 0.25
"""Part of the time of the last piece that the result of another one is waited for: else whoever made it does nothing
until a further one is done."""
_Key = TypeVar("_Key")
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Offer:
    """Help is offered from now on, under this number; withdrawn where it is 0."""

    number: int


@dataclass(frozen=True, eq=False)
class Piece:
    """A piece of work. offer: that it answers; work: pickled, called with what is given."""

    offer: int
    work: bytes
    given: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Made:
    """Result of a piece; failed: it has to be done again where it came from."""

    result: Any
    failed: bool = False


class Helping:
    """The end that helps. connection: to the other one."""

    def __init__(self, connection: Connection[Any, Any]) -> None:
        self._connection = connection
        self._number = self._last = 0
        self._known: tuple[bytes, Callable[..., Any]] | None = None

    def offered(self, yes: bool) -> None:
        """Offer help, or withdraw it. Raises `OSError` where the other end is gone."""
        if yes is not bool(self._number):
            self._last += yes
            self._number = self._last if yes else 0
            self._connection.send(Offer(self._number))

    def does(self, piece: Piece) -> None:
        """Do a piece that the other end sent, if help is still offered. Raises `OSError` where that is gone."""
        if piece.offer != self._number:
            return
        try:
            if self._known is None or self._known[0] != piece.work:
                self._known = piece.work, pickle.loads(piece.work)
            made = Made(self._known[1](*piece.given))
        except Exception as error:  # whatever it raises there as well
            log.debug("a piece of work is done where it came from: %r", error)
            made = Made(None, failed=True)
        self._connection.send(made)


class Gift:
    """A piece that another process does. made: its result, once it is here."""

    def __init__(self, helper: Helper) -> None:
        self._helper = helper
        self.made: Made | None = None

    def wait(self) -> Made:
        """Its result: no longer than a piece takes."""
        while self.made is None:
            self._helper.hears(_LOOK)
        return self.made

    def ready(self, seconds: float = 0.0) -> bool:
        """Is the result here, within some seconds?"""
        if self.made is None:
            self._helper.hears(seconds)
        return self.made is not None


class Helper:
    """The end that is helped. connection: to the other one. brief: was the last piece that was done here?"""

    def __init__(self, connection: Connection[Any, Any]) -> None:
        self._connection, self._number, self.brief = connection, 0, False
        self._gift: Gift | None = None
        self._sent: tuple[object, bytes] = (None, b"")

    def give(self, work: Callable[..., Any], *given: Any) -> Gift | None:
        """Have the other end call it, if that has nothing else to do. Both are pickled, the former not each time."""
        self.hears(0.0)
        if not self._number or self._gift is not None:
            return None
        if self._sent[0] is not work:
            self._sent = work, pickle.dumps(work)
        self._connection.send(Piece(self._number, self._sent[1], given))
        self._gift = Gift(self)
        return self._gift

    def hears(self, seconds: float) -> None:
        """Read what the other end sent, within so many seconds."""
        while self._connection.poll(seconds):
            message, seconds, gift = self._connection.recv(), 0.0, self._gift
            if isinstance(message, Offer):
                self._number, message = message.number, Made(None, failed=True)
            if not isinstance(message, Made):
                raise TypeError(f"expected an offer or a result, got {type(message).__name__}")
            self._gift = None
            if gift is not None:
                gift.made = message


_HELPER: ContextVar[Helper | None] = ContextVar("helper", default=None)


@contextmanager
def helped(connection: Connection[Any, Any] | None) -> Iterator[None]:
    """Let what runs inside be helped by the other end of a connection."""
    token = _HELPER.set(None if connection is None else Helper(connection))
    try:
        yield
    finally:
        _HELPER.reset(token)


def helper() -> Helper | None:
    """Whoever may help what runs here."""
    return _HELPER.get()


def shared(
    left: deque[_Key],
    sides: Callable[[_Key], tuple[Any, ...]],
    work: Callable[..., _Result],
    takes: Callable[[_Key, _Result], None],
    here: Callable[..., _Result] | None = None,
) -> None:
    """Do pieces that are left, the last ones in another process, if one has nothing else to do.

    sides: what work is called with for a piece. takes: gets each result, in any order; its piece is left until then, so
    that it goes on where an error ended it. here: the work in this process, if that is another one.
    """
    other = helper()
    gift: tuple[_Key, Gift] | None = None
    last = 0.0
    try:
        while left or gift is not None:
            if gift is not None and (gift[1].ready(_SOON * last) or not left):
                piece, sent = gift
                gift = None
                _taken(left, takes, piece, sent)
                continue
            if gift is None and other is not None and other.brief and len(left) > 1:
                given = other.give(work, *sides(left[-1]))
                gift = None if given is None else (left.pop(), given)
            begun, piece = monotonic(), left[0]
            takes(piece, (here or work)(*sides(piece)))
            left.popleft()
            last = monotonic() - begun
            if other is not None:
                other.brief = last < _BRIEF
    finally:
        if gift is not None:
            _taken(left, takes, *gift)


def _taken(left: deque[_Key], takes: Callable[[_Key, _Result], None], piece: _Key, gift: Gift) -> None:
    """Take what another process made of a piece, which is left until then."""
    made = gift.wait()
    left.append(piece)
    if not made.failed:
        takes(piece, made.result)
        left.pop()
