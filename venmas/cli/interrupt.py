"""Ctrl-C: the first asks the work to stop, the second stops it."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from time import monotonic
from traceback import walk_stack
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_AGAIN = 0.02
"""Seconds until an interrupt that could not be raised, or was lost, is raised again."""


@contextlib.contextmanager
def interruptible(status: int = 20) -> Iterator[None]:
    """SIGINT and SIGTERM raise `KeyboardInterrupt` once; at the second one the process ends, and its workers with it.

    The first one lets `verify` stop its workers and report what it learnt. It waits for the end of an import, as
    extension modules may crash when something is raised while they are loaded; what the interpreter drops, because it
    was raised in a finalizer, is raised again; and errors that something made of it are it again. After the second one,
    which may meet the process while it ends, the exit status is `status`.

    Nothing happens in threads other than the main one, which signals never reach.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked = repeated = False

    def handle(_signal: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            with contextlib.suppress(OSError):
                os.write(2, b"unknown (interrupted): stopped at once\n")
            os._exit(status)  # the workers die with this process
        asked = True
        stop(signal.SIGALRM, frame)

    def stop(_signal: int, frame: FrameType | None) -> None:
        if any(f.f_code.co_filename.startswith("<frozen importlib") for f, _ in walk_stack(frame)):
            retry()
        else:
            raise KeyboardInterrupt

    def retry() -> None:
        nonlocal repeated
        repeated = True
        signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, _AGAIN)

    def dropped(error: UnraisableHookArgs) -> None:
        if asked and issubclass(error.exc_type, KeyboardInterrupt):
            retry()
        else:
            hook(error)

    def ignore() -> None:
        for number in before if asked else ():
            signal.signal(number, signal.SIG_IGN)

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    alarm, timer, begun = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL), monotonic()
    hook, sys.unraisablehook = sys.unraisablehook, dropped
    # the interpreter, as it ends, gives up handlers but goes on ignoring what is ignored; the first to register is last
    atexit.register(ignore)
    try:
        yield
    except Exception as error:
        if asked and not isinstance(_root(error), OSError):
            raise KeyboardInterrupt from error
        raise
    finally:
        sys.unraisablehook = hook
        if repeated:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, alarm)
            rearm(timer, begun)
        if not asked:
            atexit.unregister(ignore)
            for number, handler in before.items():
                signal.signal(number, handler)


def rearm(timer: tuple[float, float], since: float) -> None:
    """Give the process the timer back (`signal.setitimer`) that it had at a time."""
    left, period = timer
    signal.setitimer(signal.ITIMER_REAL, max(left - (monotonic() - since), _AGAIN) if left else 0.0, period)


def _root(error: BaseException) -> BaseException:
    """What an error came from in the first place."""
    while (earlier := error.__cause__ or error.__context__) is not None:
        error = earlier
    return error
