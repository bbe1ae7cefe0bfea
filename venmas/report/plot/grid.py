"""Runs on a grid of cells, for scenarios whose state is the cell in which an agent stands (one-hot, row by row)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from venmas.report.plot.style import BLUE, FAINT, GREY, INK, RED
from venmas.report.plot.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

_NUMBERED, _ARROWED = 12, 8
"""Longest side of a grid whose cells are numbered, and of one whose moves are arrows with their steps."""
_POINTERS = {"left": "\u2190", "down": "\u2193", "right": "\u2192", "up": "\u2191"}
_LOOKS = {"hole": ("#d3d7dd", "xxx"), "goal": ("#cfeee2", "")}


def draw_grid(
    figure: Figure | SubFigure, trace: Trace, rows: int, columns: int, cells: Mapping[int, str], group: str = "cell"
) -> str:
    """Draw the moves of a trace between the cells ``group[1] .. group[rows * columns]``; returns a description.

    cells: what is special, ``"hole"`` or ``"goal"``, by index from 0. A grey arrow in a cell is what the agent chooses
    there (where its labels are left, down, right, up), a blue one a move, with the steps at which it is made.
    """
    from matplotlib.patches import Rectangle

    ax: Axes = figure.subplots()
    ax.set_title("Path on the grid" if trace.is_path else "Runs on the grid")
    ax.set_aspect("equal")
    ax.set_xlim(-0.02, columns + 0.02)
    ax.set_ylim(rows + 0.02, -0.02)
    ax.axis("off")
    small = max(rows, columns) <= _NUMBERED
    for index, kind in cells.items():
        row, column = divmod(index, columns)
        colour, hatch = _LOOKS[kind]
        ax.add_patch(Rectangle((column, row), 1, 1, facecolor=colour, edgecolor="#7b8494", hatch=hatch, linewidth=0))
    ax.vlines(range(columns + 1), 0, rows, color=GREY if small else FAINT, linewidth=0.8 if small else 0.4)
    ax.hlines(range(rows + 1), 0, columns, color=GREY if small else FAINT, linewidth=0.8 if small else 0.4)
    at = _cells(trace, rows * columns, group)
    moves: dict[tuple[int, int], set[int]] = {}
    for i, _, j in trace.edges:
        moves.setdefault((at[i], at[j]), set()).add(trace.visits[i].step)
    if small:
        _write_cells(ax, trace, at, rows, columns, cells)
    arrows = max(rows, columns) <= _ARROWED
    if arrows:
        for (start, end), steps in moves.items():
            _arrow(ax, start, end, steps, columns)
    else:
        x, y = (np.asarray(part + 0.5, dtype=np.float64) for part in (at % columns, at // columns))
        ax.plot(*trace.lines(x, y), color=BLUE, linewidth=1.2)
    last = [i for i, v in enumerate(trace.visits) if v.step == trace.steps]
    ends = "D", (RED if trace.evidence else BLUE)
    for places, (marker, colour), size in ((at, ("o", BLUE), 5), (at[:1], ("s", BLUE), 9), (at[last], ends, 9)):
        ax.plot(places % columns + 0.5, places // columns + 0.5, linestyle="none", marker=marker, color=colour,
                markersize=size if small else size / 2, markeredgecolor="white", zorder=5)  # fmt: skip
    told = "\u25a0 start  \u25c6 end" + ("  \u2192 moves and their steps" if arrows else "")
    ax.text(0, rows * 1.015, told, color=BLUE, fontsize=8, ha="left", va="top")
    if any(a.label in _POINTERS for a in trace.visits[0].node.actions) and small:
        ax.text(
            columns, rows * 1.015, "grey \u2192 what the agent chooses", color=GREY, fontsize=8, ha="right", va="top"
        )
    special = [f"{kind} in cell {index + 1}" for index, kind in cells.items()]
    path = ", ".join(str(c + 1) for c in at[:30]) + (", ..." if len(at) > 30 else "")
    return (
        f"Grid of {rows} by {columns} cells ({', '.join(special[:12])}). "
        + (f"Cells of the run in turn: {path}." if trace.is_path else f"Cells that runs reach: {_set(at)}.")
    )  # fmt: skip


def _set(at: np.ndarray[tuple[int], np.dtype[np.intp]]) -> str:
    found = sorted({int(c) + 1 for c in at})
    return ", ".join(map(str, found[:30])) + (", ..." if len(found) > 30 else "")


def _cells(trace: Trace, count: int, group: str) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """The index of the cell at every visit."""
    table = np.stack([trace.values(f"{group}[{i}]") for i in range(1, count + 1)])
    return np.asarray(table.argmax(axis=0), dtype=np.intp)


def _write_cells(
    ax: Axes, trace: Trace, at: np.ndarray[tuple[int], np.dtype[np.intp]], rows: int, columns: int,
    cells: Mapping[int, str],
) -> None:  # fmt: skip
    for index in range(rows * columns):
        row, column = divmod(index, columns)
        hole = cells.get(index) == "hole"
        text = f"{index + 1} {cells.get(index, '')}" if max(rows, columns) <= 8 else f"{index + 1}"
        start = " start" if index == at[0] and max(rows, columns) <= 8 else ""
        ax.text(column + 0.05, row + 0.05, text.strip() + start, ha="left", va="top", fontsize=8 if columns <= 6 else 6,
                color=INK,
                bbox={"facecolor": "#d3d7dd", "edgecolor": "none", "pad": 0.8} if hole else None)  # fmt: skip
    chosen = {at[i]: a.label for i, v in enumerate(trace.visits) for a in v.node.actions[:1] if a.label in _POINTERS}
    for index, label in chosen.items():
        row, column = divmod(int(index), columns)
        ax.text(column + 0.95, row + 0.95, _POINTERS[label], ha="right", va="bottom", color=GREY,
                fontsize=22 if columns <= 4 else 13 if columns <= 8 else 8)  # fmt: skip


def _arrow(ax: Axes, start: int, end: int, steps: set[int], columns: int) -> None:
    """A bent arrow, so that there and back can be told apart; a loop where the agent stays."""
    told = _steps(steps)
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.85}
    size = 8 if columns <= 6 else 6
    x, y = start % columns + 0.5, start // columns + 0.5
    if start == end:
        ax.text(x - 0.45, y + 0.45, f"\u21ba {told}", ha="left", va="bottom", fontsize=size, color=BLUE, zorder=6)
        return
    u, v = end % columns + 0.5, end // columns + 0.5
    ax.annotate("", (u, v), (x, y), zorder=4, arrowprops={
        "arrowstyle": "-|>", "color": BLUE, "linewidth": 1.6, "connectionstyle": "arc3,rad=0.25",
        "shrinkA": 6, "shrinkB": 6,
    })  # fmt: skip
    # On the bend, nearer to where it begins. Rows count downwards: the bend lies to the right of who moves.
    across, down = (0.65 * 0.65 * p + 0.455 * (q + r) + 0.35 * 0.35 * t for p, q, r, t in (
        (x, (x + u) / 2, -0.25 * (v - y), u), (y, (y + v) / 2, 0.25 * (u - x), v)))  # fmt: skip
    ax.text(across, down, told, ha="center", va="center", fontsize=size, color=BLUE, bbox=box, zorder=6)


def _steps(steps: set[int]) -> str:
    """``0, 3, 5``; of many how many there are."""
    found = sorted(steps)
    return ", ".join(map(str, found)) if len(found) <= 3 else f"{len(found)}\u00d7"
