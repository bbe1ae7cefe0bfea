"""Ctrl-C during a vendor's run: the vendor works on a thread of its own, the main thread waits where signals arrive.

The handler that SCIP sets for SIGINT is not used: it prints, which may wait forever for a lock of the allocator that
the interrupted code holds, and does so to an output that programs read. Gurobi sets its own in every run, wherever that
is; a thread would not help there. It costs 0.4 ms a program.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Final

_AGAIN: Final = 0.05
"""Seconds after which a vendor that runs on is asked again: a request before its run has begun is lost on SCIP."""


def takes_interrupts() -> bool:
    """Whether Ctrl-C would raise `KeyboardInterrupt` here: only the main thread, under Python's own handler."""
    here = threading.current_thread() is threading.main_thread()
    return here and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def run_interruptibly(work: Callable[[], object], cancel: Callable[[], object]) -> None:
    """Do `work`, which holds no lock of Python's; Ctrl-C calls `cancel`, waits for the end of `work` and is raised.

    Another Ctrl-C is raised at once. Raises what `work` raises.
    """
    if not takes_interrupts():
        work()
        return
    done: Future[None] = Future()

    def thread() -> None:
        try:
            work()
        except BaseException as error:
            done.set_exception(error)
        else:
            done.set_result(None)

    threading.Thread(target=thread, daemon=True).start()
    try:
        done.result()
    except KeyboardInterrupt:
        while not done.done():
            cancel()
            wait([done], _AGAIN)
        raise
