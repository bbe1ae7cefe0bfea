"""Loops whose answers are known by hand: ties, stays, sets of measure 0, and one that no finite set decides."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from experiments.forever.real import Make, pair, spiral, tanks
from experiments.forever.systems import HALF, doubling, line, tank, thermostat
from venmas import load_scenario
from venmas.model import System


def turn(x_: Fraction, y_: Fraction, low: Fraction | int, high: Fraction | int) -> System:
    """A turn with these two numbers, from a box whose ends on both axes are given."""
    system = System("turn")
    x, y = system.real("x", -4, 4), system.real("y", -4, 4)
    system.branch("turn", x=x_ * x - y_ * y, y=y_ * x + x_ * y)
    system.initial(x >= low, x <= high, y >= low, y <= high)
    return system


RIGID = partial(turn, Fraction(3, 5), Fraction(4, 5), Fraction(1, 4), HALF)
SHRINKING = partial(turn, Fraction(18, 25), Fraction(13, 25))

TRUE = "satisfied"
FALSE = "violated"
KNOWN: dict[str, tuple[Make, dict[str, str]]] = {
    "thermostat": (
        thermostat,
        dict.fromkeys(("AF q", "AG AF q", "AG AF !q", "AG EF q", "AF AG p", "EG t >= 17", "AF AG t >= 16"), TRUE)
        | dict.fromkeys(("EG q", "AF t >= 18.9"), FALSE),
    ),
    "sensor": (
        partial(thermostat, HALF),
        dict.fromkeys(("AG AF t <= 18", "AG AF t >= 17", "AF AG p"), TRUE) | {"AF t <= 17.5": FALSE},
    ),
    "tank": (
        tank,
        dict.fromkeys(("AG AF level >= 6", "AG AF level <= 1", "AG EF level >= 6", "AF AG level <= 7"), TRUE)
        | {"EG level >= 6": FALSE},
    ),
    "spiral": (spiral, {"AF AG (x <= 0.1 & x >= -0.1)": TRUE}),
    "shrinking": (partial(SHRINKING, -1, 1), {"AF x >= 1.5": FALSE, "AF AG (x <= 0.1 & x >= -0.1)": TRUE}),
    "shrinking, beside 0": (partial(SHRINKING, HALF, 1), {"AF x >= 1.5": FALSE}),
    "half": (partial(line, "half", HALF, 1, 2), {"AF AG x <= 0.001": TRUE, "AF x <= 0": FALSE, "AF x <= -0.1": FALSE}),
    "escape": (partial(line, "escape", 2, Fraction(1, 100), 1), {"AF x >= 1": TRUE, "AF AG x >= 1": TRUE}),
    "doubling": (
        doubling,
        {"EG (x >= -1 & x <= 1)": TRUE}
        | dict.fromkeys(("AG (x >= -1 & x <= 1)", "EG (x >= -0.5 & x <= 0.5)", "EF (x >= -0.5 & x <= 0.5)"), FALSE),
    ),
    "tanks3": (tanks, dict.fromkeys(("AF near", "AG AF near", "AF AG near"), TRUE)),
    "pair4": (pair, dict.fromkeys(("AF near", "AG AF near", "AF AG near"), TRUE)),
    "rigid turn": (RIGID, {"AF x <= 0": TRUE, "AG AF x <= 0": TRUE, "AF x >= 1.3": FALSE}),
    "vcas": (lambda: load_scenario("vcas").system(), {"AF tau <= 10": TRUE}),
}
"""Systems and questions with what is known of them. No finite set of polytopes shows the last two of the rigid turn."""
