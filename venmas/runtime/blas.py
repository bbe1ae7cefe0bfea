"""Limit of numpy's BLAS to one thread: on matrices as small as ours, its threads wait longer than they work.

On two busy cores random runs of VerticalCAS took 7 times as long with them. Where there is much to do, it is shared out
in larger parts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

P = ParamSpec("P")
R = TypeVar("R")


@lru_cache(maxsize=1)
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def on_one_thread(function: Callable[P, R]) -> Callable[P, R]:
    """Run a function with one thread of linear algebra; what was set before holds again afterwards."""

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        with _libraries().limit(limits=1, user_api="blas"):
            return function(*args, **kwargs)

    return limited
