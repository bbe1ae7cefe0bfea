"""Published figures: seconds of Vinzent, Sharma, Hoffmann (AAAI 2023, Table 1) and of Vinzent, Wu, Wu, Hoffmann.

Their time is over after 12 h (24 h); None: not solved. The machines are others than ours (Xeon, 2.2 GHz).
"""

from __future__ import annotations

from typing import NamedTuple

COUNTS = {
    "published 6 blocks, 5_0": (43, 171, 433, 1005, 0, 0),
    "published 6 blocks, 6_0": (49, 202, 349, 738, 0, 0),
    "published racetrack": (6, 15, 68, 134, 16, 64),
}
"""Of policy predicate abstraction: predicates, starts, states, transitions, unsafe, on a path to an unsafe one."""


class Row(NamedTuple):
    """Of AAAI 2023: verdict (empty: none), seconds of the four variants, predicates and iterations of WS."""

    verdict: str
    ws: float | None
    no_h: float | None
    no_inc: float | None
    ce: float | None
    predicates: int
    iterations: int


REFINEMENT = {
    "4 Blocks ign 16": Row("safe", 8.6, 12.6, 10.9, 4.1, 19, 10),
    "4 Blocks ign 32": Row("safe", 13.4, 22.3, 14.2, 6.9, 20, 9),
    "4 Blocks ign 64": Row("safe", 81.9, 310.4, 112.5, 53.5, 20, 10),
    "6 Blocks ign 16": Row("safe", 255.3, 959.5, 302.7, 360.0, 40, 23),
    "6 Blocks ign 32": Row("safe", 280.7, 3659.5, 337.2, 208.6, 38, 18),
    "6 Blocks ign 64": Row("safe", 5934.2, None, 8929.9, 1147.8, 34, 19),
    "8 Blocks ign 16": Row("safe", 29155.7, None, 20036.0, 31234.4, 64, 32),
    "8 Blocks ign 32": Row("", None, None, None, None, 63, 36),
    "8 Blocks ign 64": Row("", None, None, None, None, 14, 5),
    "4 Blocks awa 16": Row("safe", 370.4, 442.6, 378.8, 88.5, 26, 11),
    "4 Blocks awa 32": Row("safe", 604.2, 827.5, 5041.1, 599.1, 26, 11),
    "4 Blocks awa 64": Row("safe", 25081.5, None, 25893.1, None, 29, 10),
    "6 Blocks awa 16": Row("safe", 2413.2, None, 2524.1, 27314.0, 42, 21),
    "6 Blocks awa 32": Row("safe", 1323.7, 8650.9, 1344.6, None, 42, 17),
    "6 Blocks awa 64": Row("", None, None, None, None, 26, 6),
    "8 Blocks awa 16": Row("unsafe", 169.2, 28756.8, 207.5, 10.0, 63, 13),
    "8 Blocks awa 32": Row("", None, None, None, None, 63, 20),
    "8 Blocks awa 64": Row("", None, None, None, None, 21, 4),
}

SELECTION = {
    "[C] Vea w": 15.0,
    "[C] Vea mid": 20.0,
    "[C] BsVerix w": 17.0,
    "[C] BsVerix mid": 22.0,
    "[C] BsVerix eps": 15.0,
    "[C] sens mid": 12.0,
    "[C] Rand": 38.0,
}
"""Mean seconds over ten seeds of four blocks, cost-aware, 2x16."""


def told(seconds: float | None) -> str:
    """A cell of a table."""
    return "-" if seconds is None else f"{seconds:g}"
