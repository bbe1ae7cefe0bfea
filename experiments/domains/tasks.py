"""The tasks by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from experiments.domains import blocksworld, puzzle, racetrack, transport
from experiments.domains.task import Task

KINDS = (("ignoring", False), ("aware", True))
"""Does a policy read the counters of failures?"""


def tasks() -> dict[str, Callable[[], Task]]:
    """What makes each; planning starts when it is called."""
    found = {f"blocks_{n}_{kind}": partial(blocksworld.task, n, aware) for n in (4, 6, 8) for kind, aware in KINDS}
    found |= {f"puzzle_8_{kind}": partial(puzzle.task, aware) for kind, aware in KINDS}
    roads = {f"transport_{n}": partial(transport.task, n, packages) for n, packages in ((4, 6), (10, 15))}
    return {**found, **roads, "racetrack_small": racetrack.task}
