"""Small systems for maps, and their semantics written down a second time, in exact rationals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from venmas.model import System, apply_network
from venmas.nn import relu_network

State = tuple[int, int]
F = Fraction


def grid() -> System:
    """Right or down on a grid, whatever the environment likes; both coordinates are integers."""
    system = System("grid")
    x, y, flag = system.integer("x", 0, 9), system.integer("y", 0, 9), system.integer("flag", 0, 1)
    system.branch("right", x=x + 1, when=x < 9)
    system.branch("down", y=y - 1, when=y > 0)
    system.branch("stay", when=(x == 9) & (y == 0))
    system.initial(x >= 1, x <= 8, y >= 2, y <= 9, flag == 1)
    return system


def after(state: State) -> Iterator[State]:
    """Successors on the grid."""
    x, y = state
    if x < 9:
        yield x + 1, y
    if y > 0:
        yield x, y - 1
    if state == (9, 0):
        yield state


def always(state: State, steps: int, safe: Callable[[State], bool]) -> bool:
    """AG^steps: in the steps 1 to `steps` of all runs."""
    return steps == 0 or all(safe(s) and always(s, steps - 1, safe) for s in after(state))


WEIGHTS = [[[1.5, -0.75], [-0.5, 1.25], [0.75, 0.5]], [[0.5, -1.0, 0.75]]]
BIASES = [[0.25, -0.125, 0.5], [-0.25]]
DRIFT = (F(9, 8), F(1, 4), F(-1, 2))


def loop() -> System:
    """Two reals under a ReLU controller, without any choice."""
    system = System("loop")
    x, y = system.real("x", -9999, 9999), system.real("y", -9999, 9999)
    u = apply_network(relu_network(WEIGHTS, BIASES, name="controller"), [x, y])[0]
    system.branch("step", x=DRIFT[0] * x + DRIFT[1] * y, y=y + DRIFT[2] * u)
    system.initial(x >= F(-6, 5), x <= F(6, 5), y >= -1, y <= 1)
    return system


def bounded_run(x: Fraction, y: Fraction, steps: int, limit: Fraction) -> bool:
    """AG^steps (x <= limit) of the loop, in rationals."""
    for _ in range(steps):
        hidden = [
            max(F(0), sum((F(w) * v for w, v in zip(row, (x, y), strict=True)), F(bias)))
            for row, bias in zip(WEIGHTS[0], BIASES[0], strict=True)
        ]
        u = sum((F(w) * h for w, h in zip(WEIGHTS[1][0], hidden, strict=True)), F(BIASES[1][0]))
        x, y = DRIFT[0] * x + DRIFT[1] * y, y + DRIFT[2] * u
        if x > limit:
            return False
    return True


def noisy() -> System:
    """A contraction with noise of an eighth."""
    system = System("noisy")
    x = system.real("x", -10, 10)
    w = system.disturbance("w", F(-1, 8), F(1, 8))
    system.branch("go", x=x * F(1, 2) + w)
    system.initial(x >= -2, x <= 2)
    return system
