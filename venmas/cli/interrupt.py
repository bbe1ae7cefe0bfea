"""Ctrl-C: the first asks the work to stop, the second stops it."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING

from click import ClickException

from venmas.errors import VenmasError

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_AGAIN = 0.02
"""Seconds until an interrupt that could not be raised, or was lost, is raised again."""


@contextlib.contextmanager
def interruptible(status: int) -> Iterator[None]:
    """SIGINT and SIGTERM raise `KeyboardInterrupt` once; at the second one the process ends, and its workers with it.

    The first one lets `verify` stop its workers and report what it learnt. It waits for the end of an import, as
    extension modules may crash when something is raised while they are loaded; and what the interpreter drops, because
    it was raised in a finalizer, is raised again. After the second one, which may meet the process while it ends, the
    exit status is `status`.
    """
    asked = False

    def handle(_signal: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            with contextlib.suppress(OSError):
                os.write(2, b"unknown (interrupted): stopped at once\n")
            os._exit(status)  # the workers die with this process
        asked = True
        stop(signal.SIGALRM, frame)

    def stop(_signal: int, frame: FrameType | None) -> None:
        while frame is not None:
            if frame.f_code.co_filename.startswith("<frozen importlib"):
                signal.setitimer(signal.ITIMER_REAL, _AGAIN)
                return
            frame = frame.f_back
        raise KeyboardInterrupt

    def dropped(error: UnraisableHookArgs) -> None:
        if issubclass(error.exc_type, KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, _AGAIN)
        else:
            hook(error)

    def ignore() -> None:
        for number in before if asked else ():
            signal.signal(number, signal.SIG_IGN)

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    alarm, hook, sys.unraisablehook = signal.signal(signal.SIGALRM, stop), sys.unraisablehook, dropped
    # the interpreter, as it ends, gives up handlers but goes on ignoring what is ignored; the first to register is last
    atexit.register(ignore)
    try:
        yield
    except Exception as error:
        if asked and not isinstance(error, VenmasError | ClickException | OSError):
            raise KeyboardInterrupt from error  # what an extension module made of it
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, alarm)
        sys.unraisablehook = hook
        for number, handler in before.items() if not asked else ():
            signal.signal(number, handler)
