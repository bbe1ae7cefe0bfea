"""Loading of what numba compiles."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, TimeoutError
from pathlib import Path
from threading import Thread

from venmas.runtime import extras
from venmas.runtime.extras import compiled as compiled

_called: dict[str, Future[None]] = {}


def beside(name: str, call: Callable[[], object], patience: float) -> bool:
    """Has `call` come to its end? It is called once in the process for each name, and waited for so many seconds.

    Loading compiled code takes half a second, longer on a busy machine, in which nobody would look at the clock. So it
    is called in a thread, which does not keep the process from ending. Raises what `call` raised.
    """
    if name not in _called:
        _called[name] = future = Future[None]()

        def work() -> None:
            try:
                call()
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(None)

        Thread(target=work, name=name, daemon=True).start()
    try:
        _called[name].result(patience)
    except TimeoutError:
        return False
    return True


def forget_stale() -> None:
    """Delete numba's indices of the kernels here that are older than a source of them."""
    extras.forget_stale(Path(__file__).parent)
