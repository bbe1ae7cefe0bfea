"""Loops whose answers are known by hand: ties, stays, sets of measure 0, and one that no finite set decides.

Rooms: where both have 15 degrees and more, one that is heated gains 5 - 16/16 - 6/16 a step at least, and has 21 two
steps after 15. One that waits loses 1/8 of what is above 10 degrees at most, in five steps: one to 20 and less, one for
the choice of the other, two for its turn, one for the own choice; 10 + 10 (7/8)^5 > 15. So it goes on, and `a`, which
begins at 13, is above 15 once it was heated. No room is left out: the other has 31 at most, by which it would fall to
18, and none is above 20 for ever where nothing is heated. One heated step of a new turn leaves both above 17: the other
had 20 half an hour ago or 21 now.

Bundled scenarios: all states of the ice can be listed; all runs of the blocks end, which EG and EF need them not to;
tau falls by 1 a second; the leader of the cruise control is slower and brakes; what settles, settles within few steps.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from experiments.forever.real import Make, pair, spiral, tanks
from experiments.forever.systems import HALF, climb, doubling, line, rooms, tank, thermostat
from venmas import load_scenario
from venmas.model import System


def turn(x_: Fraction, y_: Fraction, low: Fraction | int, high: Fraction | int) -> System:
    """A turn with these two numbers, from a box whose ends on both axes are given."""
    system = System("turn")
    x, y = system.real("x", -4, 4), system.real("y", -4, 4)
    system.branch("turn", x=x_ * x - y_ * y, y=y_ * x + x_ * y)
    system.initial(x >= low, x <= high, y >= low, y <= high)
    return system


def bundled(name: str, **parameters: object) -> System:
    """A bundled scenario."""
    return load_scenario(name).system(**parameters)


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
    "escape from above 0": (
        partial(line, "escape", 2, 0, 1, above=True),
        dict.fromkeys(("AF x >= 1", "AF AG x >= 1"), TRUE),
    ),
    "doubling": (
        doubling,
        {"EG (x >= -1 & x <= 1)": TRUE}
        | dict.fromkeys(("AG (x >= -1 & x <= 1)", "EG (x >= -0.5 & x <= 0.5)", "EF (x >= -0.5 & x <= 0.5)"), FALSE),
    ),
    "tanks3": (tanks, dict.fromkeys(("AF near", "AG AF near", "AF AG near"), TRUE)),
    "pair4": (pair, dict.fromkeys(("AF near", "AG AF near", "AF AG near"), TRUE)),
    "rigid turn": (RIGID, {"AF x <= 0": TRUE, "AG AF x <= 0": TRUE, "AF x >= 1.3": FALSE}),
    "rooms": (
        rooms,
        dict.fromkeys(
            ("AG AF mode == heat_a", "AG AF (a >= 17 & b >= 17)", "AG EF mode == heat_a", "AF AG (a >= 15 & b >= 15)"),
            TRUE,
        )
        | {"EG mode == off": FALSE},
    ),
    "climb": (climb, {"F x >= 5": FALSE, "EF x >= 5": TRUE, "AF x >= 5": FALSE, 'G F "branch up" -> F x >= 5': TRUE}),
    "frozenlake": (
        partial(bundled, "frozenlake"),
        dict.fromkeys(("AG EF goal", "EF goal", "AF AG safe", "EG safe"), TRUE) | {"AF goal": FALSE},
    ),
    "blocks": (
        partial(bundled, "blocks", bound=3),
        {"AF unsafe_safe": TRUE, "AG EF unsafe_safe": FALSE, "EG !unsafe_safe": FALSE},
    ),
    "vcas": (partial(bundled, "vcas"), {"AF tau <= 10": TRUE}),
    "cruise": (partial(bundled, "cruise"), dict.fromkeys(("AF x_lead - x < 60", "AF x_lead - x < 45"), TRUE)),
    "pendulum": (
        partial(bundled, "pendulum"),
        dict.fromkeys(("AG AF upright", "AF AG upright", "F G upright", "AF AG (th <= 0.05 & th >= -0.05)"), TRUE),
    ),
    "double_integrator": (
        partial(bundled, "double_integrator"),
        dict.fromkeys(("AF near", "AG AF near", "AF AG near", "F G near"), TRUE),
    ),
}
"""Systems and questions with what is known of them. No finite set of polytopes shows the last two of the rigid turn."""
