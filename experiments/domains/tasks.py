"""The tasks by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from experiments.domains import blocksworld
from experiments.domains.task import Task


def tasks() -> dict[str, Callable[[], Task]]:
    """What makes each; planning starts when it is called."""
    kinds = (("ignoring", False), ("aware", True))
    return {f"blocks_{n}_{kind}": partial(blocksworld.task, n, aware) for n in (4, 6, 8) for kind, aware in kinds}
