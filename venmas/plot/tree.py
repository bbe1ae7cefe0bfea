"""The tree of runs: states in columns of steps, branches between them, actions beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from venmas.plot.panels import value_text
from venmas.plot.style import BLUE, GREY, INK, RED
from venmas.plot.trace import Array, Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

_TEXTS = 48
"""Most states that are written on one by one."""


def places(trace: Trace) -> Array:
    """The height of every visit: leaves evenly spaced from the top down, a state in the middle of its successors."""
    children: list[list[int]] = [[] for _ in trace.visits]
    for i, _, j in trace.edges:
        children[i].append(j)
    found = np.full(len(trace.visits), np.nan)
    order, seen, stack = [], set(), [0]
    while stack:  # depth first, so that the lines of a tree do not cross
        i = stack.pop()
        if i not in seen:
            seen.add(i)
            order.append(i)
            stack.extend(reversed(children[i]))
    leaves = [i for i in order if not children[i]]
    found[leaves] = -np.arange(len(leaves), dtype=np.float64)
    for i in range(len(trace.visits) - 1, -1, -1):  # successors have higher numbers
        if children[i]:
            found[i] = np.mean(found[children[i]])
    return found


def height(trace: Trace) -> float:
    """Inches that the tree takes."""
    leaves = len(trace.visits) - len({i for i, _, _ in trace.edges})
    return min(1.2 + 0.34 * leaves, 8.0)


def draw_tree(figure: Figure | SubFigure, trace: Trace) -> str:
    """Draw the tree; returns a description in words."""
    from matplotlib.collections import LineCollection
    from matplotlib.ticker import MaxNLocator

    ax: Axes = figure.subplots()
    steps, levels = trace.values("step"), places(trace)
    lines = trace.segments(steps, levels)
    ax.add_collection(LineCollection(lines, colors=GREY, linewidths=1 if len(lines) <= 400 else 0.4))
    ends = {i for i, _, _ in trace.edges}
    shown = [i for i, v in enumerate(trace.visits) if v.node.atoms]
    dead = [i for i, v in enumerate(trace.visits) if v.node.deadlock]
    size = 6.0 if len(trace.visits) <= 200 else 2.0
    for marker, colour, name, at in (
        ("o", BLUE, "state", list(range(len(trace.visits)))),
        ("D", RED, "shows the violation", shown),
        ("x", INK, "no successor", dead),
    ):
        if at:
            larger = size + 2 if marker == "x" else size
            ax.plot(steps[at], levels[at], marker, markersize=larger, color=colour, label=name, zorder=3)
    if len(trace.visits) <= _TEXTS:
        _write(ax, trace, steps, levels, ends)
    ax.set_title("Tree of runs")
    ax.set_xlabel("step")
    ax.xaxis.set_major_locator(MaxNLocator(nbins=12, integer=True))
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.margins(x=0.08, y=0.1)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, handletextpad=0.2)
    branches = ", ".join(list(dict.fromkeys(b for _, b, _ in trace.edges))[:12])
    return (
        f"Tree of runs over {trace.steps} steps with {len(trace.visits)} states, {len(trace.visits) - len(ends)} of "
        f"them ends; branches: {branches}. {len(shown)} states show the violation."
    )


def _write(ax: Axes, trace: Trace, steps: Array, levels: Array, inner: set[int]) -> None:
    """Branches on the lines, actions on the states, at the ends the values that the formula asks for."""
    for i, branch, j in trace.edges:
        x, y = (0.55 * values[j] + 0.45 * values[i] for values in (steps, levels))
        ax.text(x, y, branch, fontsize=7, color=INK, ha="center", va="center",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6})  # fmt: skip
    asked = list(dict.fromkeys(n for c in trace.comparisons for n, _ in c.expr.terms))
    units = {v.name: v.unit for v in trace.variables}
    for i, visit in enumerate(trace.visits):
        if i in inner:
            text, place, align = " / ".join(value_text(a) for a in visit.node.actions), (0, 6), ("center", "bottom")
        else:
            state = {v.name: v for v in visit.node.state}
            seen = {n: s for n in asked if (s := state[n]) and not ("[" in n and s.exact == 0)}
            text = ", ".join(f"{n} = {value_text(s, units[n])}" for n, s in list(seen.items())[:2])
            place, align = (7, 0), ("left", "center")
        ax.annotate(text, (steps[i], levels[i]), xytext=place, textcoords="offset points", fontsize=7,
                    ha=align[0], va=align[1], annotation_clip=False)  # fmt: skip
