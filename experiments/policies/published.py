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
    "8-puzzle ign 16": Row("unsafe", 280.5, 3936.3, 300.9, 221.5, 50, 26),
    "8-puzzle ign 32": Row("safe", 39868.1, None, 42098.4, 31168.2, 123, 72),
    "8-puzzle ign 64": Row("safe", 42285.7, None, 42813.3, None, 128, 66),
    "8-puzzle awa 16": Row("unsafe", 8039.2, None, 9342.9, 7383.4, 87, 30),
    "8-puzzle awa 32": Row("", None, None, None, None, 86, 34),
    "8-puzzle awa 64": Row("", None, None, None, None, 79, 25),
    "Transport 16": Row("unsafe", 1.3, 1.2, 1.2, 335.4, 16, 4),
    "Transport 32": Row("unsafe", 63.7, 68.0, 67.4, 360.7, 39, 22),
    "Transport 64": Row("unsafe", 1.4, 1.4, 1.4, 608.6, 12, 3),
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
