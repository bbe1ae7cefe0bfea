"""Time and memory of commands that read files of strangers: what `--timeout` and `--memory` allow, and no more.

A timer asks ten times a second, whatever the command is about (reading a system, unrolling a formula, a sum of long
numbers), so no loop has to. Between two questions lies one operation on numbers or texts, whose sizes the readers
bound.
"""

from __future__ import annotations

import contextlib
import gc
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from traceback import walk_stack
from types import FrameType
from typing import Any, TypeVar

import click

from venmas.cli.interrupt import rearm
from venmas.cli.options import Positive
from venmas.errors import LimitError

TIMEOUT = 300.0
"""Seconds that checking a certificate may take unless the user says otherwise."""
MEMORY = 2048
"""Megabytes that the process may hold then."""
_PERIOD = 0.1
_SOON = 0.01
"""Seconds before which the timer does not come, so that it meets the block that it ends."""
_AGAIN = 1.0
"""Seconds for what is being left to be tidied up, until what a handler of errors has swallowed is raised again."""

_Command = TypeVar("_Command", bound=Callable[..., Any])


def limit_options(what: str) -> Callable[[_Command], _Command]:
    """`--timeout` and `--memory` of a command; what: that is limited."""

    def add(command: _Command) -> _Command:
        for option in (
            click.option(
                "--memory",
                type=click.IntRange(1),
                default=MEMORY,
                show_default=True,
                metavar="MB",
                help=f"Give up {what} when this process takes more memory.",
            ),
            click.option(
                "--timeout",
                type=Positive(),
                default=TIMEOUT,
                show_default=True,
                metavar="SECONDS",
                help=f"Give up {what} after this long.",
            ),
        ):
            command = option(command)
        return command

    return add


class _Stopped(BaseException):
    """Raised by the timer, wherever the command is: no handler of errors takes it for one of its own."""


@contextmanager
def reading(timeout: float | None, *written: str | None) -> Iterator[Callable[[], float | None]]:
    """Reading what a command is about, within its `--timeout`; gives what tells the seconds that are left (None: all).

    written: files that are not written then. Raises `LimitError` where nothing is left at the end of the block.
    """
    if timeout is None:
        yield lambda: None
        return
    end = monotonic() + timeout
    unwritten = ", and no file is written" if any(written) else ""
    with limits(timeout, None, f" while the input was read{unwritten}") as ask:
        yield lambda: max(0.0, end - monotonic())
        ask()


@contextmanager
def limits(timeout: float, memory: int | None, when: str = "") -> Iterator[Callable[[], None]]:
    """Within it, a limit that is met ends the work with `LimitError`, raised at the end of the block.

    timeout in seconds; memory in MB, resident, beyond what was in use before. when: what was done meanwhile, in words.
    Gives what asks at once; where no timer can be had (threads other than the main one) that is all that asks.
    """
    from venmas.runtime.memory import own_resident_mb

    deadline, begun = monotonic() + timeout, own_resident_mb()
    met: LimitError | None = None

    def ask() -> None:
        nonlocal met
        if monotonic() > deadline:
            told = f"the limit of {timeout:g} s was reached{when}; --timeout SECONDS allows more"
            met = LimitError("time", told)
        elif memory is not None and own_resident_mb() - begun > memory:
            met = LimitError("memory", f"the limit of {memory} MB was reached; --memory MB allows more")
        else:
            return
        raise _Stopped

    def on_timer(_signal: int, frame: FrameType | None) -> None:
        # modules that are being loaded may crash when something is raised in them, a block that is entered or left
        # would not be tidied up, and what the collector calls back swallows it; the timer comes again
        if frame is not None and frame.f_code.co_filename == contextlib.__file__:
            return
        called_back = {getattr(callback, "__code__", None) for callback in gc.callbacks}
        for f, _ in walk_stack(frame):
            if f.f_code in called_back or f.f_code.co_filename.startswith("<frozen importlib"):
                return
        if met is not None:
            raise _Stopped
        try:
            ask()
        except _Stopped:
            signal.setitimer(signal.ITIMER_REAL, _AGAIN, _AGAIN)
            raise

    def disarm() -> None:
        if timed:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, before)
            rearm(timer, begun_at)

    timed = threading.current_thread() is threading.main_thread()
    if timed:
        timer, begun_at = signal.setitimer(signal.ITIMER_REAL, 0.0), monotonic()
        before = signal.signal(signal.SIGALRM, on_timer)
    try:
        try:
            if timed:
                signal.setitimer(signal.ITIMER_REAL, max(_SOON, min(_PERIOD, timeout)), _PERIOD)
            yield ask
        finally:
            try:
                disarm()
            except _Stopped:  # the timer came first
                disarm()
    except BaseException as error:  # _Stopped, or what something made of it
        if met is not None:
            raise met from error
        if isinstance(error, MemoryError):
            raise LimitError("memory", "there is not enough memory on this machine") from error
        raise
