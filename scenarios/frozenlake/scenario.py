"""FrozenLake: an agent crosses slippery ice to a goal and must keep out of the holes.

Cells are numbered row by row from 1 at the top left; the state is one-hot, cell[i] = 1 where the agent stands. Each
step the agent's network chooses left, down, right or up, and the ice moves it in that direction or, where it is
slippery, in one of the two beside it; a move off the grid leaves it where it is.

Two worlds. A square given by size, holes and goal is that of the paper: holes and the goal do not hold the agent, it
walks on, so that a property must say what happens before it gets there. A map is one of Gymnasium's FrozenLake: there
an episode ends in a hole or at a goal, and the agent stays in that cell.

Sources: Akintunde et al., JAAMAS 2022, Examples 1 to 3 and section 7.1 (3x3, holes 3 and 7, goal 9, start 1);
Gymnasium, environment FrozenLake-v1 (maps, order of actions, termination).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from venmas.errors import ScenarioError
from venmas.model import (
    Expr,
    NetworkFolder,
    Parameter,
    System,
    Vector,
    add,
    apply_network,
    argmax,
    conjunction,
    disjunction,
    switch,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from venmas.report.plot import Trace

DIRECTIONS = {0: "left", 1: "down", 2: "right", 3: "up"}
MOVES = {0: (0, -1), 1: (1, 0), 2: (0, 1), 3: (-1, 0)}  # (row, column)
TURNS = {"ahead": 0, "slip left": 1, "slip right": -1}  # to the agent's left is the next direction: down -> right
MAPS = {
    "4x4": "SFFF/FHFH/FFFH/HFFG",
    "8x8": "SFFFFFFF/FFFFFFFF/FFFHFFFF/FFFFFHFF/FFFHFFFF/FHHFFFHF/FHFFHFHF/FFFHFFFG",
}
"""The maps that Gymnasium knows by name."""

MOST_CELLS = 128 * 128
MOST_SETS = 50
"""Start cells that are initial sets of their own; more of them are one set."""

PARAMETERS = (
    Parameter("size", 3, "cells per side of the square grid"),
    Parameter("holes", (3, 7), "cells with a hole in the ice"),
    Parameter("goal", 9, "the cell to reach"),
    Parameter("start", (1,), "cells in which the agent may start; none: in every one without a hole"),
    Parameter(
        "map",
        "none",
        "a map of Gymnasium, 4x4 or 8x8 by name, or rows of S, F, H, G such as SFF/FHF/FFG; "
        "it stands in for size, holes, goal and start, and its holes and goals hold the agent",
        replaces=("size", "holes", "goal", "start"),
    ),
    Parameter("slippery", True, "whether the ice may turn a move to a side"),
)


@dataclass(frozen=True)
class Grid:
    """Cells are 0-based here. `final`: cells that hold the agent. No start: in every cell without a hole."""

    rows: int
    columns: int
    holes: tuple[int, ...]
    goals: tuple[int, ...]
    start: tuple[int, ...]
    final: frozenset[int] = frozenset()

    @property
    def count(self) -> int:
        """Number of cells."""
        return self.rows * self.columns

    def after(self, cell: int, direction: int) -> int:
        """The cell that a move leads to."""
        row, column = (divmod(cell, self.columns)[axis] + MOVES[direction][axis] for axis in (0, 1))
        inside = 0 <= row < self.rows and 0 <= column < self.columns
        return row * self.columns + column if inside and cell not in self.final else cell


def build(
    networks: NetworkFolder,
    map: str,
    slippery: bool,
    size: int = 0,
    holes: tuple[int, ...] = (),
    goal: int = 0,
    start: tuple[int, ...] = (),
) -> System:
    """The grid world with its agent."""
    grid = world(map, size, holes, goal, start)
    count = grid.count

    network = networks.load(*(f"{name}.{kind}" for name in ("agent", "*") for kind in ("onnx", "h5", "keras", "nnet")))
    if (network.input_size, network.output_size) != (count, 4):
        what = f"a grid of size {size}" if size else f"a map of {grid.rows}x{grid.columns} cells"
        raise ScenarioError(
            f"{what} needs a network with {count} inputs and 4 outputs; {network.name!r} has "
            f"{network.input_size} and {network.output_size}: give the folder of a fitting one (--networks) or set "
            f"{'size' if size else 'another map'}"
        )

    system = System("frozenlake", f"FrozenLake, {grid.rows}x{grid.columns}")
    cell = system.booleans("cell", count)
    action = system.agent(argmax(apply_network(network, cell)), name="direction", labels=DIRECTIONS)

    def moved(direction: int) -> Vector:
        """One-hot next state after a move: each cell collects those from which the move leads to it."""
        sources: list[list[Expr]] = [[] for _ in range(count)]
        for i in range(count):
            sources[grid.after(i, direction)].append(cell[i])
        return Vector(add(*parts) for parts in sources)

    after = {direction: moved(direction) for direction in DIRECTIONS}
    for name, turn in TURNS.items():
        if slippery or not turn:
            system.branch(name, {cell: switch(action, {d: after[(d + turn) % 4] for d in DIRECTIONS})})

    starts = dict.fromkeys(grid.start)
    if 0 < len(starts) <= MOST_SETS:
        for s in starts:
            system.initial(*(cell[j] == (1 if j == s else 0) for j in range(count)))
    else:  # one set, not one for each cell
        others = [j for j in range(count) if j not in starts] if starts else dict.fromkeys(grid.holes)
        system.initial(add(*cell) == 1, *(cell[j] == 0 for j in others))

    avoided = conjunction(cell[hole] < 0.1 for hole in grid.holes)
    system.proposition("ha", avoided)  # "holes avoided", as the paper has it
    system.proposition("safe", avoided)
    system.proposition("goal", disjunction(cell[g] > 0.9 for g in grid.goals))
    for k in range(1, 11):
        system.specify(f"safe{k}", "AX (ha & " * (k - 1) + "AX ha" + ")" * (k - 1))
        system.specify(f"succ{k}", "AX (ha & " * (k - 1) + "AX goal" + ")" * (k - 1))
    return system


def world(
    map: str, size: int = 0, holes: tuple[int, ...] = (), goal: int = 0, start: tuple[int, ...] = (), **_: object
) -> Grid:
    """The grid that the parameters describe."""
    return square(size, holes, goal, start) if map == "none" else read_map(map)


def square(size: int, holes: tuple[int, ...], goal: int, start: tuple[int, ...]) -> Grid:
    """The world of the paper: nothing holds the agent."""
    count = size * size
    if not 2 <= size <= 128:
        raise ScenarioError(f"parameter 'size' of scenario 'frozenlake': expected 2 to 128, got {size}")
    for name, cells in (("holes", holes), ("goal", (goal,)), ("start", start)):
        if wrong := [c for c in cells if not 1 <= c <= count]:
            raise ScenarioError(f"parameter {name!r}: cell {wrong[0]} is not on a grid of {count} cells (size={size})")
    if goal in holes:
        raise ScenarioError(f"cell {goal} is the goal and must not be a hole: set goal and holes")
    return Grid(size, size, tuple(h - 1 for h in holes), (goal - 1,), tuple(s - 1 for s in start))


def read_map(text: str) -> Grid:
    """The world of Gymnasium: holes and goals hold the agent, which starts in one of the cells S."""
    rows = MAPS.get(text, text).split("/")
    expected = "expected 4x4, 8x8, or rows of equal length of the letters S, F, H, G, such as SFF/FHF/FFG"
    if not rows[0] or any(len(row) != len(rows[0]) for row in rows):
        raise ScenarioError(f"parameter 'map': {expected}; got {text[:80]!r}")
    letters = "".join(rows)
    if wrong := [letter for letter in letters if letter not in "SFHG"]:
        raise ScenarioError(f"parameter 'map': {wrong[0]!r} is no cell; {expected}")
    if len(letters) > MOST_CELLS:
        raise ScenarioError(f"parameter 'map': {len(letters)} cells, at most {MOST_CELLS} are supported")
    found = {kind: tuple(i for i, letter in enumerate(letters) if letter == kind) for kind in "SHG"}
    if not found["S"]:
        raise ScenarioError("parameter 'map': it has no cell to start in; mark one or more with S")
    final = frozenset(found["H"] + found["G"])
    return Grid(len(rows), len(rows[0]), found["H"], found["G"], found["S"], final)


def picture(
    figure: "Figure",
    trace: "Trace",
    map: str = "none",
    size: int = 0,
    holes: tuple[int, ...] = (),
    goal: int = 0,
    start: tuple[int, ...] = (),
) -> str:
    """The path on the grid."""
    from venmas.report.plot.grid import draw_grid

    grid = world(map, size, holes, goal, start)
    special = dict.fromkeys(grid.holes, "hole") | dict.fromkeys(grid.goals, "goal")
    return draw_grid(figure, trace, grid.rows, grid.columns, special)
