"""Ctrl-C: the first asks the work to stop, the second stops it."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator
from types import FrameType

from venmas.cli.main import UNKNOWN


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """SIGINT and SIGTERM raise `KeyboardInterrupt` once; at the second one the workers are killed and the process ends.

    The first one lets `verify` stop its workers and report what it learnt. The exit status is the same for both.
    """
    asked = False

    def handle(_signal: int, _frame: FrameType | None) -> None:
        nonlocal asked
        if not asked:
            asked = True
            raise KeyboardInterrupt
        for child in multiprocessing.active_children():
            child.kill()
        with contextlib.suppress(OSError):
            os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, b"unknown (interrupted)\n")
        os._exit(UNKNOWN)

    signals = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, handle) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
