"""FrozenLake: an agent crosses slippery ice to a goal and must keep out of the holes.

Cells are numbered row by row from 1 at the top left; the state is one-hot, cell[i] = 1 where the agent stands. Each
step the agent's network chooses left, down, right or up, and the ice moves it in that direction or in one of the two
beside it; a move off the grid leaves it where it is. Holes and the goal do not hold it: it walks on, so that a
property must say what happens before it gets there.

Source: Akintunde et al., JAAMAS 2022, Examples 1 to 3 and section 7.1 (3x3, holes 3 and 7, goal 9, start 1).
"""

from typing import TYPE_CHECKING

from venmas.errors import ScenarioError
from venmas.model import Expr, NetworkFolder, Parameter, System, Vector, add, apply_network, argmax, switch
from venmas.model.expr import conjunction

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from venmas.plot import Trace

DIRECTIONS = {0: "left", 1: "down", 2: "right", 3: "up"}
MOVES = {0: (0, -1), 1: (1, 0), 2: (0, 1), 3: (-1, 0)}  # (row, column)
TURNS = {"ahead": 0, "slip left": 1, "slip right": -1}  # to the agent's left is the next direction: down -> right

PARAMETERS = (
    Parameter("size", 3, "cells per side of the square grid"),
    Parameter("holes", (3, 7), "cells with a hole in the ice"),
    Parameter("goal", 9, "the cell to reach"),
    Parameter("start", (1,), "cells in which the agent may start; none: in every one without a hole"),
)


def build(networks: NetworkFolder, size: int, holes: tuple[int, ...], goal: int, start: tuple[int, ...]) -> System:
    """The grid world with its agent."""
    count = size * size
    if not 2 <= size <= 128:
        raise ScenarioError(f"parameter 'size' of scenario 'frozenlake': expected 2 to 128, got {size}")
    for name, cells in (("holes", holes), ("goal", (goal,)), ("start", start)):
        if wrong := [c for c in cells if not 1 <= c <= count]:
            raise ScenarioError(f"parameter {name!r}: cell {wrong[0]} is not on a grid of {count} cells (size={size})")
    if goal in holes:
        raise ScenarioError(f"cell {goal} is the goal and must not be a hole: set goal and holes")

    network = networks.load(*(f"{name}.{kind}" for name in ("agent", "*") for kind in ("onnx", "h5", "keras", "nnet")))
    if (network.input_size, network.output_size) != (count, 4):
        raise ScenarioError(
            f"a grid of size {size} needs a network with {count} inputs and 4 outputs; {network.name!r} has "
            f"{network.input_size} and {network.output_size}: give the folder of a fitting one (--networks) or set size"
        )

    system = System("frozenlake", f"FrozenLake, {size}x{size}")
    cell = system.booleans("cell", count)
    action = system.agent(argmax(apply_network(network, cell)), name="direction", labels=DIRECTIONS)

    def moved(direction: int) -> Vector:
        """One-hot next state after a move: each cell collects those from which the move leads to it."""
        sources: list[list[Expr]] = [[] for _ in range(count)]
        for i in range(count):
            sources[_target(i, direction, size)].append(cell[i])
        return Vector(add(*parts) for parts in sources)

    after = {direction: moved(direction) for direction in DIRECTIONS}
    for name, turn in TURNS.items():
        system.branch(name, {cell: switch(action, {d: after[(d + turn) % 4] for d in DIRECTIONS})})

    for s in dict.fromkeys(start):
        system.initial(*(cell[j] == (1 if j == s - 1 else 0) for j in range(count)))
    if not start:  # one set, not one for each cell
        system.initial(add(*cell) == 1, *(cell[hole - 1] == 0 for hole in dict.fromkeys(holes)))

    avoided = conjunction(cell[hole - 1] < 0.1 for hole in holes)
    system.proposition("ha", avoided)  # "holes avoided", as the paper has it
    system.proposition("safe", avoided)
    system.proposition("goal", cell[goal - 1] > 0.9)
    for k in range(1, 11):
        system.specify(f"safe{k}", "AX (ha & " * (k - 1) + "AX ha" + ")" * (k - 1))
        system.specify(f"succ{k}", "AX (ha & " * (k - 1) + "AX goal" + ")" * (k - 1))
    return system


def _target(cell: int, direction: int, size: int) -> int:
    """The cell (0-based) that a move leads to."""
    row, column = (divmod(cell, size)[axis] + MOVES[direction][axis] for axis in (0, 1))
    return row * size + column if 0 <= row < size and 0 <= column < size else cell


def picture(figure: "Figure", trace: "Trace", size: int, holes: tuple[int, ...], goal: int) -> str:
    """The path on the grid."""
    from venmas.plot.grid import draw_grid

    return draw_grid(figure, trace, size, size, {h - 1: "hole" for h in holes} | {goal - 1: "goal"})
