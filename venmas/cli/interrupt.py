"""Ctrl-C: the first asks the work to stop, the second stops it."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
from collections.abc import Iterator
from types import FrameType

from venmas.cli.main import UNKNOWN


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """SIGINT and SIGTERM raise `KeyboardInterrupt` once; at the second one the process ends, and its workers with it.

    The first one lets `verify` stop its workers and report what it learnt. The exit status is the same for both, also
    where the second one meets the process while it ends.
    """
    asked = False

    def handle(_signal: int, _frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            with contextlib.suppress(OSError):
                os.write(2, b"unknown (interrupted): stopped at once\n")
            os._exit(UNKNOWN)  # the workers die with this process
        asked = True
        raise KeyboardInterrupt

    def ignore() -> None:
        for number in before if asked else ():
            signal.signal(number, signal.SIG_IGN)

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    # the interpreter, as it ends, gives up handlers but goes on ignoring what is ignored; the first to register is last
    atexit.register(ignore)
    try:
        yield
    finally:
        for number, handler in before.items() if not asked else ():
            signal.signal(number, handler)
