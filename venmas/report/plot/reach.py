"""Pictures of reach sets: intervals over steps, and the plane of two directions, in front of sampled runs."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from venmas.bounds.rounding import Floats
from venmas.engine.reach.reach import direction
from venmas.engine.reach.sets import Direction, ReachSets
from venmas.errors import UsageError, did_you_mean
from venmas.logic.linear import LinearExpr
from venmas.model.show import title as titled
from venmas.model.system.system import System
from venmas.report.graph_picture import Picture
from venmas.report.plot.style import BLUE, GREY, INK, ORANGE, WIDTH, new_figure, rendered, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

MAX_PANELS = 8
_RUNS = 150
_APART = 0.03
"""Part of the picture by which numbers of steps are apart, or left out."""
_PANEL, _PLANE = 1.3, 0.75 * WIDTH

Points = list[tuple[float, float]]


def check_plane(system: System, directions: Sequence[str], plane: Sequence[str]) -> None:
    """Raises `UsageError` for a plane that is not of two directions, and without matplotlib."""
    with styled():
        pass
    known = [*system.variables, *(direction(system, text).name for text in directions)]
    if plane and (len(plane) != 2 or plane[0] == plane[1]):
        raise UsageError(f"a plane is of two directions, as in --plane x,y; got {', '.join(plane)}")
    for name in plane:
        if name not in known:
            raise UsageError(
                f"plane: there is no direction {name!r}{did_you_mean(name, known)}; there are {', '.join(known[:12])}; "
                "--direction adds one"
            )


def save(found: ReachSets, kind: str, plane: Sequence[str] = ()) -> bytes:
    """The picture as a file of the format `kind`. Raises `UsageError` without matplotlib."""
    with styled():
        figure, alt = _drawn(found, plane)
        return rendered(figure, kind, _title(found), alt)


def picture(found: ReachSets, plane: Sequence[str] = ()) -> Picture:
    """The picture as SVG. Raises `UsageError` without matplotlib."""
    return Picture(_title(found), alt_text(found), save(found, "svg", plane).decode())


def alt_text(found: ReachSets) -> str:
    """What the picture shows, in words."""
    last = len(found) - 1
    if last < 0:
        return f"Of the steps 0 to {found.steps} nothing is known."
    box = found.box(last)
    ends = ", ".join(f"{n} from {low:.6g} to {high:.6g}" for n, (low, high) in list(box.items())[:MAX_PANELS])
    drawn = min(_RUNS, len(found.runs))
    return f"Intervals over {len(found)} steps in front of {drawn} sampled runs; at the end {ends}."


def _title(found: ReachSets) -> str:
    return f"Reach sets of {found.scenario}"


def _drawn(found: ReachSets, plane: Sequence[str]) -> tuple[Figure, str]:
    names = [d.name for d in found.directions]
    moving = [i for i in range(len(names)) if _moves(found, i)] or list(range(len(names)))
    panels = moving[:MAX_PANELS]
    axes = [names.index(n) for n in plane] if plane else moving[:2]
    heights = [_PANEL * len(panels) + 0.4] + ([_PLANE] if len(axes) == 2 else [])
    figure = new_figure(sum(heights) + 0.4)
    figure.suptitle(_title(found), fontsize=9, x=0.01, ha="left")
    rows = figure.subfigures(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    for ax, at in zip(rows[0].subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0], panels, strict=True):
        _panel(ax, found, at)
        ax.set_xlabel("step" if at == panels[-1] else "")
    if len(axes) == 2:
        _plane(rows[1].subplots(), found, axes[0], axes[1])
    return figure, alt_text(found)


def _moves(found: ReachSets, at: int) -> bool:
    """Does a direction have more than one value?"""
    ends = [(layer.low[at], layer.high[at]) for layer in found.layers if not layer.empty]
    return len(set(ends)) > 1 or any(low != high for low, high in ends)


def _panel(ax: Axes, found: ReachSets, at: int) -> None:
    """The interval of a direction in each step."""
    from matplotlib.ticker import MaxNLocator

    chosen = found.directions[at]
    ax.set_title(titled(chosen.name, chosen.unit))
    steps = np.arange(found.runs.shape[1])
    for run in found.runs[:_RUNS]:
        ax.plot(steps, run[:, at], color=GREY, linewidth=0.5, alpha=0.25, zorder=1)
    for step, layer in enumerate(found.layers):
        low, high = float(layer.low[at]), float(layer.high[at])
        if isfinite(low) and isfinite(high):
            colour = ORANGE if found.status(step) == "wider" else BLUE
            ax.add_patch(_box(step - 0.3, low, 0.6, high - low, colour))
            ax.plot([step - 0.3, step + 0.3], [low, low], color=colour, linewidth=1.1)
            ax.plot([step - 0.3, step + 0.3], [high, high], color=colour, linewidth=1.1)
    ax.set_xlim(-0.6, max(found.steps, 1) + 0.6)
    ax.xaxis.set_major_locator(MaxNLocator(nbins=12, integer=True))
    ax.grid(True, axis="x")


def _box(x: float, y: float, width: float, height: float, colour: str) -> Rectangle:
    from matplotlib.patches import Rectangle

    return Rectangle((x, y), width, height, facecolor=colour, alpha=0.25, edgecolor="none", zorder=2)


def _plane(ax: Axes, found: ReachSets, x: int, y: int) -> None:
    """The sets in a plane: boxes, cut by the directions that are combinations of the two."""
    from matplotlib.patches import Polygon

    across, up = found.directions[x], found.directions[y]
    ax.set_title(f"Plane of {across.name} and {up.name}; numbers are steps")
    ax.set_xlabel(titled(across.name, across.unit))
    ax.set_ylabel(titled(up.name, up.unit))
    for run in found.runs[:_RUNS]:
        ax.plot(run[:, x], run[:, y], ".", color=GREY, markersize=1.5, alpha=0.5, zorder=3)
    named: list[tuple[float, float]] = []
    sets = [layer for layer in found.layers if not layer.empty]
    if not sets:  # where a limit came first
        ax.text(0.5, 0.5, "nothing is known", ha="center", transform=ax.transAxes, color=INK)
    ends = [(min((s.low[i] for s in sets), default=0), max((s.high[i] for s in sets), default=0)) for i in (x, y)]
    size = np.array([high - low or 1.0 for low, high in ends])
    for step, layer in enumerate(found.layers):
        corners = _polygon(found, layer.low, layer.high, x, y)
        if corners:
            colour = ORANGE if found.status(step) == "wider" else BLUE
            ax.add_patch(Polygon(corners, closed=True, facecolor=colour, edgecolor=colour, alpha=0.3, linewidth=1))
            ax.plot(*zip(*corners, strict=True), alpha=0)  # an outline for the limits of the axes
            if all(np.abs((np.array(corners[-1]) - other) / size).max() > _APART for other in named):
                named.append(corners[-1])
                ax.annotate(str(step), corners[-1], fontsize=7, color=INK, xytext=(1, 1), textcoords="offset points")
    ax.margins(0.05)
    ax.grid(True)


def _polygon(found: ReachSets, low: Floats, high: Floats, x: int, y: int) -> Points:
    """The corners of a set in a plane, in order; none where it has no finite box."""
    ends = [float(v) for v in (low[x], high[x], low[y], high[y])]
    if not all(map(isfinite, ends)):
        return []
    corners = [(ends[0], ends[2]), (ends[1], ends[2]), (ends[1], ends[3]), (ends[0], ends[3])]
    for i, other in enumerate(found.directions):
        a, b, c = _combination(other, found.directions[x], found.directions[y])
        if i not in (x, y) and (a or b):
            corners = _clipped(corners, -a, -b, float(low[i]) - c)
            corners = _clipped(corners, a, b, c - float(high[i]))
    return corners


def _combination(other: Direction, across: Direction, up: Direction) -> tuple[float, float, float]:
    """a, b, c where ``other = a * across + b * up + c`` and both of those are variables; zeros elsewhere."""
    terms = other.expr.coefficients
    names = [across.name, up.name]
    if not set(terms) <= set(names) or any(d.expr != LinearExpr.variable(d.name) for d in (across, up)):
        return 0.0, 0.0, 0.0
    return float(terms.get(names[0], 0)), float(terms.get(names[1], 0)), float(other.expr.constant)


def _clipped(corners: Points, a: float, b: float, c: float) -> Points:
    """The part of a polygon where ``a x + b y + c <= 0`` (Sutherland and Hodgman); a thin one stays as it is."""
    found: Points = []
    values = [a * x + b * y + c for x, y in corners]
    for i, (here, value) in enumerate(zip(corners, values, strict=True)):
        before, earlier = corners[i - 1], values[i - 1]
        if (value <= 0) != (earlier <= 0):
            part = earlier / (earlier - value)
            found.append((before[0] + part * (here[0] - before[0]), before[1] + part * (here[1] - before[1])))
        if value <= 0:
            found.append(here)
    return found or corners
