"""Hand-written systems and formulas with the verdict that reasoning gives: never the one that the tool gave.

`edge` marks entries that are decided by a single point, by a tie or by a strict comparison at its limit, where programs
in floats may leave the verdict open: there `unknown (tolerance)` is tolerated. The other verdict never is.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from tests.corpus import systems
from venmas.engine.report import Verdict
from venmas.model import System

S, V = Verdict.SATISFIED, Verdict.VIOLATED


@dataclass(frozen=True)
class Entry:
    """One question with its answer and the reason for it."""

    name: str
    system: Callable[[], System]
    formula: str
    verdict: Verdict
    why: str
    edge: bool = False


def _about(name: str, system: Callable[[], System], *rows: tuple[str, Verdict, str]) -> list[Entry]:
    return [
        Entry(f"{name}-{i}", system, f, v, why.removeprefix("edge: "), why.startswith("edge: "))
        for i, (f, v, why) in enumerate(rows, 1)
    ]


ENTRIES: list[Entry] = [
    *_about(
        "kripke",
        systems.kripke,
        ("AX s >= 1", S, "0 -> 1, 2"),
        ("AX s == 1", V, "0 -> 2"),
        ("EX s == 2", S, "0 -> 2"),
        ("EX s == 3", V, "0 -> 1, 2"),
        ("!AX s == 1", S, "0 -> 2"),
        ("!EX s == 2", V, "0 -> 2"),
        ("EX AX s == 3", S, "by 1, whose only successor is 3"),
        ("AX EX s == 3", S, "1 -> 3, 2 -> 3"),
        ("!(EX AX s == 3)", V, "by 1"),
        ("!(AX EX s == 3)", V, "1 -> 3, 2 -> 3"),
        ("AX AX s == 3", V, "0 -> 2 -> 4"),
        ("EX AX s == 4", V, "1 -> 3 and 2 -> 3"),
        ("AX EX s == 4", V, "1 has 3 only"),
        ("AX EX AX EX s == 3", S, "from 1 and 2 to 3, which has itself only"),
        ("EX AX EX AX s == 3", S, "0, 1, 3, 3"),
        ("!(AX EX AX EX s == 3)", V, "the entry before the last, negated"),
        ("!(EX AX EX AX s == 3)", V, "the entry before the last, negated"),
        ("AX EX AX EX s == 4", V, "from 1 everything leads to 3 and stays there"),
        ("EX EX AX false", S, "4 is a deadlock"),
        ("EX EX EX true", S, "1, 3, 3"),
        ("AX AX EX true", V, "4 has no successor"),
        ("AX AX AX s == 3", S, "3 -> 3, and 4 has none: AX holds there"),
        ("AX^2 s == 3", V, "4"),
        ("AX^3 s == 3", S, "as AX AX AX"),
        ("EX^3 s == 3", S, "1, 3, 3"),
        ("EX^3 s == 4", V, "after 3 steps only 3 is left"),
        ("AF^3 s == 3", S, "every run of three steps passes 3; the one to 4 has two"),
        ("AF^2 s == 3", V, "0, 2, 4"),
        ("AF[0,0] s == 0", S, "now"),
        ("AG^3 s >= 1", S, "nothing leads back to 0"),
        ("AG[0,3] s >= 1", V, "0 itself"),
        ("AG[2,3] s >= 3", S, "after two steps 3 or 4"),
        ("AG^3 s != 4", V, "0, 2, 4"),
        ("EG^2 s != 3", S, "0, 2, 4"),
        ("EG^3 s != 3", V, "that run ends after two steps"),
        ("EG^3 s != 4", S, "0, 1, 3, 3"),
        ("!EG^3 s != 4", V, "0, 1, 3, 3"),
        ("EF^2 s == 4", S, "0, 2, 4"),
        ("EF^1 s == 4", V, "two steps away"),
        ("EF[3,5] s == 4", V, "4 is met at step 2 only"),
        ("!EF^5 s == 0", S, "nothing leads back to 0"),
        ("E(s < 3 U^2 s == 4)", S, "0, 2, 4"),
        ("E(s < 2 U^2 s == 4)", V, "4 needs 2"),
        ("E(s < 2 U^3 s == 3)", S, "0, 1, 3"),
        ("!E(s < 1 U^3 s == 3)", S, "3 needs 1 or 2"),
        ("A(s < 3 U^2 s >= 3)", S, "0, 1, 3; 0, 2, 3; 0, 2, 4"),
        ("A(s < 3 U^1 s >= 3)", V, "two steps are needed"),
        ("A(s < 3 U^2 s == 3)", V, "0, 2, 4"),
        ("!A(s < 3 U^2 s == 3)", S, "0, 2, 4"),
        ("A(s < 3 U[1,3] s == 3)", V, "4 is no 3 and not below it either"),
        ("A(s < 5 U[3,3] s == 3)", S, "only the run into the deadlock is not at 3 by then, and it has ended"),
        ("A((s == 0 | EX s == 3) U^2 s >= 3)", S, "1 and 2 have 3"),
        ("A((s == 0 | AX s == 3) U^2 s >= 3)", V, "2 has 4 too"),
        ("E(true U^2 AX false)", S, "4 is a deadlock"),
        ("AX E(s > 0 U^1 s == 3)", S, "1 -> 3, 2 -> 3"),
        ("EX A(s > 0 U^1 s == 3)", S, "from 1"),
        ("AX A(s > 0 U^1 s == 3)", V, "not from 2"),
        ("AX (s == 2 <-> EX s == 4)", S, "of 1 and 2 only 2 has 4"),
        ("AX (s == 1 <-> EX s == 4)", V, "of 1 and 2 only 2 has 4"),
        ("(EX s == 2) <-> (EX s == 1)", S, "0 has both"),
        ("AX (s == 2 -> EX s == 4)", S, "2 -> 4"),
        ("AX (EX s == 4 -> s == 1)", V, "2"),
        ("EX s == 3 -> AX s == 7 / 2", S, "0 -/-> 3"),
    ),
    *_about(
        "ring",
        systems.ring,
        ("EX s == 0 | EX s == 2", S, "0 -> 0, 1 -> 2"),
        ("AX s == 2", V, "0 has itself and 1"),
        ("EF^2 s == 0", S, "0 -> 0; 1, 2, 0"),
        ("AF^2 s == 0", V, "0, 1, 2"),
        ("AF^3 s == 0", S, "0 -> 0; 0, 1, 2, 0; 1, 2, 0"),
        ("AG[0,4] EF^2 s == 0", S, "0 is at most two steps away"),
        ("AG[0,4] EX s != 2", V, "1 has 2 only"),
        ("s == 1 <-> AX s == 2", S, "1 has 2 only, 0 has 0 and 1"),
        ("EX AX s == 2", V, "1 -> 2 -> 0"),
    ),
    *_about(
        "line",
        systems.line,
        ("AX x <= 2", S, "1 + 1"),
        ("AX x < 2", V, "1 + 1"),
        ("AX x <= 1.99", V, "1 + 1"),
        ("EX x >= 1", S, "up"),
        ("EX x > 1", V, "0 + 1"),
        ("AX x != 1", V, "0 + 1"),
        ("AX x != 3", S, "at most 2"),
        ("EX x == 1", V, "not from 1 / 2"),
        ("AX EX AX EX (x >= 0 & x <= 1)", S, "take every step back"),
        ("!(AX EX AX EX (x >= 0 & x <= 1))", V, "take every step back"),
        ("EX AX EX AX x >= 0", S, "up first, each time"),
        ("EX AX x >= 0.5", V, "0: 1 goes on to 0, and -1 further down"),
        ("AG^3 x <= 4", S, "1 + 3"),
        ("AG^3 x < 4", V, "1 + 3"),
        ("A(x <= 1 U^2 x > 1)", V, "down"),
        ("E(x <= 1 U^2 x > 1)", S, "up twice"),
        ("E(x < 1 U^2 x > 1)", V, "0 + 1 == 1 is neither, and 1 itself is neither"),
        ("EX EX (x >= 2 | x <= 0) & AX AX x <= 3", S, "up up, or up down from 0"),
    ),
    *_about(
        "halving",
        systems.halving,
        ("AX x <= 1 / 2", S, "1 / 2"),
        ("AX x < 1 / 2", V, "x = 1"),
        ("AX^3 x <= 1 / 8", S, "1 / 8"),
        ("AX^3 x < 1 / 8", V, "x = 1"),
        ("AF^2 x <= 1 / 4", S, "1 / 4 at step 2"),
        ("AF^1 x <= 0.4", V, "1 / 2"),
        ("AX x != 1 / 2", V, "x = 1"),
        ("AX x != 0.6", S, "at most 1 / 2"),
        ("EX x == 1 / 4", V, "x = 1 / 2 only"),
        ("A(x > 0.1 U^4 x <= 0.1)", S, "1 / 16 at step 4"),
        ("A(x > 0.1 U^3 x <= 0.1)", V, "1 / 8 at step 3"),
    ),
    *_about(
        "open",
        partial(systems.halving, True),
        ("x < 1", S, "the initial set is open"),
        ("x > 0 & AX x > 0", S, "the initial set is open"),
        ("AX x < 1 / 2", S, "half of what is below 1"),
        ("AX x <= 0.49", V, "x = 0.99"),
        ("AX^2 (x > 0 & x < 1 / 4)", S, "a quarter"),
        ("AX x != 1 / 2", S, "x = 1 is left out"),
        ("x != 1 / 2", V, "x = 1 / 2"),
    ),
    *_about(
        "exclusive",
        systems.sides,
        ("EX true", S, "one of the guards holds"),
        ("AX false", V, "one of the guards holds"),
        ("AX (x >= -1 & x < 1)", S, "[0, 1] - 1, [-1, 0) + 1"),
        ("AX x <= 0.9", V, "-0.05 + 1"),
        ("EX x <= 0", V, "-0.5 + 1"),
        ("AX x > -1", V, "0 - 1"),
        ("AG^2 EX true", S, "one of the guards holds"),
        ("EX EX (x >= -1 & x <= 1)", S, "stays there"),
    ),
    *_about(
        "apart",
        partial(systems.sides, "> <"),
        ("EX true", V, "0 is a deadlock"),
        ("EX true | x == 0", S, "the only deadlock"),
        ("AX x < 1", S, "(0, 1] - 1, [-1, 0) + 1"),
        ("AX x > -1", S, "(0, 1] - 1, [-1, 0) + 1"),
        ("AX x >= -0.9", V, "0.05 - 1"),
        ("AX EX true", V, "1 -> 0"),
    ),
    *_about(
        "overlap",
        partial(systems.sides, ">= <="),
        ("EX true", S, "the guards cover everything"),
        ("x == 0 -> EX x == 1 & EX x == -1", S, "0 goes both ways"),
        ("x != 0 | EX x == 1 & EX x == -1", S, "0 goes both ways"),
        ("AX x < 1", V, "0 + 1"),
        ("AX (x <= 1 & x >= -1)", S, "to the other side of 0"),
        ("AX x <= 0.5 | EX x <= -0.5", V, "-0.25 + 1"),
    ),
    *_about(
        "thirds",
        systems.thirds,
        ("EX true", S, "the guards cover everything"),
        ("AX z >= 1", S, "each sets z"),
        ("EX z == 2", V, "x != y"),
        ("AX z != 2", V, "x == y"),
        ("x == y -> AX z == 2", S, "the guards exclude each other"),
        ("x != y -> AX z != 2", S, "the guards exclude each other"),
        ("x < y <-> EX z == 1", S, "the guard"),
        ("EX z == 1 | EX z == 3", V, "x == y"),
        ("!(EX z == 1 & EX z == 3)", S, "the guards exclude each other"),
    ),
]
