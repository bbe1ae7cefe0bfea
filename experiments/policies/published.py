"""Published figures: seconds of Vinzent, Sharma, Hoffmann (AAAI 2023, Table 1) and of Vinzent, Wu, Wu, Hoffmann.

Their time is over after 12 h (24 h); None: not solved. The machines are others than ours (Xeon, 2.2 GHz).
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

COUNTS = {
    "published 6 blocks, 5_0": (43, 171, 433, 1005, 0, 0),
    "published 6 blocks, 6_0": (49, 202, 349, 738, 0, 0),
    "published racetrack": (6, 15, 68, 134, 16, 64),
}
"""Of policy predicate abstraction: predicates, starts, states, transitions, unsafe, on a path to an unsafe one."""


BMC: dict[str, tuple[float | None, float | None, float]] = {
    "Racetrack 16": (3, 36.9, 12),
    "Racetrack 32": (3, 40.1, 11),
    "Racetrack 64": (3, 316.5, 7),
    "6 Blocks awa 16": (None, None, 6),
    "6 Blocks awa 32": (None, None, 5),
    "6 Blocks awa 64": (None, None, 4),
    "8 Blocks ign 16": (None, None, 5),
    "8 Blocks ign 32": (None, None, 5),
    "8 Blocks ign 64": (None, None, 4),
    "8-puzzle ign 16": (2, 72.8, 7),
    "8-puzzle ign 32": (None, None, 3),
    "8-puzzle ign 64": (None, None, 0),
    "8-puzzle awa 16": (None, None, 3),
    "8-puzzle awa 32": (None, None, 3),
    "8-puzzle awa 64": (None, None, 0),
    "Transport 16": (1, 57.0, 2),
    "Transport 32": (1, 20548.0, 1),
    "Transport 64": (None, None, 0),
}
"""ICAPS 2022, Table 2: length of the shortest unsafe path, seconds to it, greatest length that was checked in 12 h."""


class Row(NamedTuple):
    """Of AAAI 2023, Table 1: verdict (empty: none), seconds of the four variants and of nuXmv, figures of WS.

    path: of the shortest unsafe one; by_policy: iterations whose refinement was by the policy. IC3 and EPA of nuXmv
    solved nothing. Figures of unsolved rows are the greatest that were reached.
    """

    verdict: str
    ws: float | None
    no_h: float | None
    no_inc: float | None
    ce: float | None
    bmc: float | None
    sbmc: float | None
    ipa: float | None
    coi: float | None
    path: int | None
    predicates: int
    iterations: int
    by_policy: int


REFINEMENT = {
    "4 Blocks ign 16": Row("safe", 8.6, 12.6, 10.9, 4.1, None, None, None, None, None, 19, 10, 3),
    "4 Blocks ign 32": Row("safe", 13.4, 22.3, 14.2, 6.9, None, None, None, None, None, 20, 9, 3),
    "4 Blocks ign 64": Row("safe", 81.9, 310.4, 112.5, 53.5, None, None, None, None, None, 20, 10, 2),
    "6 Blocks ign 16": Row("safe", 255.3, 959.5, 302.7, 360.0, None, None, None, None, None, 40, 23, 4),
    "6 Blocks ign 32": Row("safe", 280.7, 3659.5, 337.2, 208.6, None, None, None, None, None, 38, 18, 5),
    "6 Blocks ign 64": Row("safe", 5934.2, None, 8929.9, 1147.8, None, None, None, None, None, 34, 19, 7),
    "8 Blocks ign 16": Row("safe", 29155.7, None, 20036.0, 31234.4, None, None, None, None, None, 64, 32, 7),
    "8 Blocks ign 32": Row("", None, None, None, None, None, None, None, None, None, 63, 36, 4),
    "8 Blocks ign 64": Row("", None, None, None, None, None, None, None, None, None, 14, 5, 1),
    "8-puzzle ign 16": Row("unsafe", 280.5, 3936.3, 300.9, 221.5, 16.5, 38.0, None, 26.6, 2, 50, 26, 18),
    "8-puzzle ign 32": Row("safe", 39868.1, None, 42098.4, 31168.2, None, None, None, None, None, 123, 72, 14),
    "8-puzzle ign 64": Row("safe", 42285.7, None, 42813.3, None, None, None, None, None, None, 128, 66, 12),
    "4 Blocks awa 16": Row("safe", 370.4, 442.6, 378.8, 88.5, None, None, None, None, None, 26, 11, 4),
    "4 Blocks awa 32": Row("safe", 604.2, 827.5, 5041.1, 599.1, None, None, None, None, None, 26, 11, 5),
    "4 Blocks awa 64": Row("safe", 25081.5, None, 25893.1, None, None, None, None, None, None, 29, 10, 4),
    "6 Blocks awa 16": Row("safe", 2413.2, None, 2524.1, 27314.0, None, None, None, None, None, 42, 21, 6),
    "6 Blocks awa 32": Row("safe", 1323.7, 8650.9, 1344.6, None, None, None, None, None, None, 42, 17, 5),
    "6 Blocks awa 64": Row("", None, None, None, None, None, None, None, None, None, 26, 6, 2),
    "8 Blocks awa 16": Row("unsafe", 169.2, 28756.8, 207.5, 10.0, 11.1, 7.8, 1052.5, 25.1, 2, 63, 13, 8),
    "8 Blocks awa 32": Row("", None, None, None, None, None, None, None, None, None, 63, 20, 8),
    "8 Blocks awa 64": Row("", None, None, None, None, None, None, None, None, None, 21, 4, 1),
    "8-puzzle awa 16": Row("unsafe", 8039.2, None, 9342.9, 7383.4, 4609.7, 811.4, None, 2740.9, 4, 87, 30, 15),
    "8-puzzle awa 32": Row("", None, None, None, None, None, None, None, None, None, 86, 34, 13),
    "8-puzzle awa 64": Row("", None, None, None, None, None, None, None, None, None, 79, 25, 11),
    "Transport 16": Row("unsafe", 1.3, 1.2, 1.2, 335.4, 245.7, 2283.0, None, 2194.4, 1, 16, 4, 3),
    "Transport 32": Row("unsafe", 63.7, 68.0, 67.4, 360.7, 1500.1, 38549.0, None, 43190.1, 1, 39, 22, 20),
    "Transport 64": Row("unsafe", 1.4, 1.4, 1.4, 608.6, None, 15.7, None, 112.0, 1, 12, 3, 2),
}

SELECTING = ("Vea w", "Vea mid", "BsVerix w", "BsVerix mid", "BsVerix eps", "sens mid", "Rand")


def selected() -> dict[str, dict[str, str]]:
    """Table 1 of Vinzent, Wu, Wu, Hoffmann, all 18 rows, by instance (``selected.csv``).

    Of each variant of `SELECTING` the mean seconds over ten seeds and the magnitude of their deviation, a power of ten;
    a run that was not in time counts as 24 h; empty: none was in time; ``lost``: not in the text that we have. Of Vea w
    and BsVerix w iterations, those by the policy, predicates, and those that it added.
    """
    with (Path(__file__).parent / "selected.csv").open(newline="", encoding="utf-8") as file:
        return {row["instance"]: row for row in csv.DictReader(file)}


def told(seconds: float | None) -> str:
    """A cell of a table."""
    return "-" if seconds is None else f"{seconds:g}"
