"""The tree of runs: states in columns of steps, branches on the lines between them, actions beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from venmas.report.plot.panels import groups_of
from venmas.report.plot.style import BLUE, GREY, INK, RED, WIDTH
from venmas.report.plot.trace import Array, Trace, Visit, value_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

_UNFOLDED = 80
"""Most states of a tree in which what runs share is drawn once for each of them, and which is written on."""
_LETTER = 0.062
"""Inches of a letter of the small texts."""


@dataclass(frozen=True)
class Layout:
    """What is drawn: a visit for each point, edges ``(i, branch, j)`` between points, and the height of each point."""

    visits: tuple[int, ...]
    edges: tuple[tuple[int, str, int], ...]
    levels: Array

    @property
    def leaves(self) -> list[int]:
        """The points that nothing comes after."""
        inner = {i for i, _, _ in self.edges}
        return [i for i in range(len(self.visits)) if i not in inner]


def laid_out(trace: Trace) -> Layout:
    """Leaves one below the other and a state in the middle of its successors; where too many states are shared to
    draw a tree, the states of a step one below the other.
    """
    merged = _merged(trace)
    if (tree := _unfolded(trace, merged)) is not None:
        visits, edges = tree
        levels, leaf = np.full(len(visits), np.nan), 0
        children = _children(len(visits), edges)
        for i, following in enumerate(children):  # points are in the order of a walk, depth first
            if not following:
                levels[i], leaf = -leaf, leaf + 1
        for i in range(len(visits) - 1, -1, -1):
            if children[i]:
                levels[i] = (levels[children[i][0]] + levels[children[i][-1]]) / 2
        return Layout(tuple(visits), tuple(edges), levels)
    steps = np.array([v.step for v in trace.visits])
    levels = np.zeros(len(trace.visits))
    widest = int(np.bincount(steps).max())
    parents = _children(len(trace.visits), [(j, b, i) for i, b, j in merged])
    for step in range(1, trace.steps + 1):
        here = np.nonzero(steps == step)[0]
        order = here[np.argsort([-np.mean(levels[parents[i]]) for i in here], kind="stable")]
        levels[order] = -(np.arange(len(order)) - (len(order) - 1) / 2) * widest / len(order)
    return Layout(tuple(range(len(trace.visits))), tuple(merged), levels)


def _children(count: int, edges: list[tuple[int, str, int]]) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in range(count)]
    for i, _, j in edges:
        found[i].append(j)
    return found


def _merged(trace: Trace) -> list[tuple[int, str, int]]:
    """One edge for all branches that lead to the same state; ``all`` where there is no other branch."""
    count = None if trace.system is None else len(trace.system.branches)
    found: dict[tuple[int, int], list[str]] = {}
    for i, branch, j in trace.edges:
        found.setdefault((i, j), []).append(branch)
    return [(i, "all" if 1 < len(b) == count else ", ".join(b), j) for (i, j), b in found.items()]


def _unfolded(trace: Trace, merged: list[tuple[int, str, int]]) -> tuple[list[int], list[tuple[int, str, int]]] | None:
    """Visits and edges of the tree in which nothing is shared; None where it would be too large."""
    limit = _UNFOLDED if len(merged) >= len(trace.visits) else len(trace.visits)
    following: list[list[tuple[str, int]]] = [[] for _ in trace.visits]
    for i, branch, j in merged:
        following[i].append((branch, j))
    visits: list[int] = []
    edges: list[tuple[int, str, int]] = []
    stack = [(0, "", -1)]
    while stack:
        visit, branch, parent = stack.pop()
        if len(visits) == limit:
            return None
        if parent >= 0:
            edges.append((parent, branch, len(visits)))
        stack += [(j, b, len(visits)) for b, j in reversed(following[visit])]
        visits.append(visit)
    return visits, edges


def height(layout: Layout) -> float:
    """Inches that the tree takes."""
    return float(min(1.2 + 0.34 * (np.ptp(layout.levels) + 1), 9.0))


def draw_tree(figure: Figure | SubFigure, trace: Trace, layout: Layout) -> str:
    """Draw the tree; returns a description in words."""
    from matplotlib.ticker import MaxNLocator

    ax: Axes = figure.subplots()
    drawn = [trace.visits[i] for i in layout.visits]
    steps, levels = np.array([float(v.step) for v in drawn]), layout.levels
    few = len(drawn) <= _UNFOLDED
    ends = np.array([(i, j) for i, _, j in layout.edges], dtype=np.intp)
    gap = np.full((len(ends), 1), np.nan)
    lines = [np.hstack([values[ends], gap]).ravel() for values in (steps, levels)]
    ax.plot(*lines, color=GREY, linewidth=1 if few else 0.4)
    for marker, colour, name, at in (
        ("o", BLUE, "state", list(range(len(drawn)))),
        ("D", RED, "helps to show the violation", [i for i, v in enumerate(drawn) if v.node.atoms]),
        ("x", INK, "no successor", [i for i, v in enumerate(drawn) if v.node.deadlock]),
    ):
        if at:
            size = (6.0 if few else 2.0) + (2 if marker == "x" else 0)
            ax.plot(steps[at], levels[at], marker, markersize=size, color=colour, label=name, zorder=3)
    told = _write(ax, trace, layout, drawn) if few else ""
    ax.set_title("Tree of runs")
    ax.set_xlabel(f"step{told}")
    ax.xaxis.set_major_locator(MaxNLocator(nbins=12, integer=True))
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.margins(x=0.08, y=0.6 / (np.ptp(levels) + 1))
    ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, handletextpad=0.2, borderpad=0)
    branches = ", ".join(list(dict.fromkeys(b for _, b, _ in trace.edges))[:12])
    return (
        f"Tree of runs over {trace.steps} steps with {len(trace.visits)} states; branches: {branches}. "
        f"{len(trace.evidence)} states help to show the violation."
    )


def _write(ax: Axes, trace: Trace, layout: Layout, drawn: list[Visit]) -> str:
    """Branches on the lines, actions on the states, at the ends the values that the formula asks for, as they fit.

    Returns the key to them.
    """
    told = ""
    room = 0.75 * WIDTH / max(trace.steps, 1)
    longest = max(len(branch) for _, branch, _ in layout.edges) * _LETTER
    if longest < 0.9 * room:
        told = "; on the lines: branches"
        for i, branch, j in layout.edges:
            x, y = (0.45 * a + 0.55 * b for a, b in ((drawn[i].step, drawn[j].step), layout.levels[[i, j]]))
            ax.text(x, y, branch, fontsize=7, color=INK, ha="center", va="center",
                    bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6})  # fmt: skip
    bold = ""
    for i, visit in enumerate(drawn):
        text = " / ".join(value_text(a) for a in visit.node.actions)
        if text and len(text) * _LETTER < (room if longest >= 0.9 * room else 2 * room):
            bold = "; bold: what the agents do"
            ax.annotate(text, (visit.step, layout.levels[i]), xytext=(0, 5), textcoords="offset points", fontsize=7,
                        ha="center", va="bottom", fontweight="bold", annotation_clip=False)  # fmt: skip
    for i in layout.leaves:
        ax.annotate(_end(trace, drawn[i]), (drawn[i].step, layout.levels[i]), xytext=(7, 0), fontsize=7,
                    textcoords="offset points", ha="left", va="center", annotation_clip=False)  # fmt: skip
    return told + bold


def _end(trace: Trace, visit: Visit) -> str:
    """At most two values that the formula asks for, or the first ones."""
    state = {v.name: v for v in visit.node.state}
    asked = {n for c in trace.comparisons for n in c.expr.variables}
    groups = groups_of(trace.variables)
    chosen = [name for name, members in groups.items() if any(m.name in asked for m in members)] or list(groups)
    texts = []
    for name in chosen[:2]:
        members = groups[name]
        if members[0].boolean and len(members) > 1:
            ones = [m.name.partition("[")[2].rstrip("]") for m in members if state[m.name].exact == 1]
            texts.append(f"{name} = {', '.join(ones[:4]) or 'none'}")
        else:
            texts += [f"{m.name} = {value_text(state[m.name], m.unit)}" for m in members]
    return ", ".join(texts)
