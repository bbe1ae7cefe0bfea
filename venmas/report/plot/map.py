"""Pictures of maps of initial states: boxes in the plane of two variables, by status."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from venmas.engine.map.tree import STATUSES, Axis, Side, StateMap, Status, cut_of
from venmas.errors import UsageError, did_you_mean
from venmas.model.show import number
from venmas.model.show import title as titled
from venmas.report.map import percent
from venmas.report.plot.style import BLUE, GREY, ORANGE, new_figure, rendered, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HEIGHT, _STRIP = 4.6, 1.8
"""Inches of a plane, and of a single variable."""
_LOOKS = {"proved": (BLUE, 0.55, ""), "violated": (ORANGE, 0.75, "///"), "open": (GREY, 0.18, "...")}
"""Colour, opacity and hatching by status."""


def check_plane(axes: Sequence[Axis], plane: Sequence[str]) -> tuple[str, ...]:
    """Variables of the picture: those named, or the first two that are wide.

    Raises `UsageError` for others than two wide variables, where the map has none, and without matplotlib.
    """
    with styled():
        pass
    wide = [axis.name for axis in axes if axis.wide]
    if not wide:
        raise UsageError("a picture needs a variable of more than one initial value: leave --plot out")
    if not plane:
        return tuple(wide[:2])
    if len(plane) != 2 or plane[0] == plane[1]:
        raise UsageError(f"a plane is of two variables, as in --plane x,y; got {', '.join(plane)}")
    for name in plane:
        if name not in wide:
            raise UsageError(
                f"plane: {name!r} is no variable of more than one initial value{did_you_mean(name, wide)}; there are "
                f"{', '.join(wide[:12])}"
            )
    return tuple(plane)


def save(shown: StateMap, kind: str, plane: Sequence[str] = ()) -> bytes:
    """Picture as a file of the format `kind`. Raises `UsageError`, as `check_plane` does."""
    names = check_plane(shown.axes, plane)
    with styled():
        figure = _drawn(shown, names)
        return rendered(figure, kind, f"Map of {shown.scenario}", alt_text(shown, names))


def alt_text(shown: StateMap, names: Sequence[str]) -> str:
    """Description of the picture in words."""
    shares = ", ".join(f"{percent(share)} {status}" for status, share in shown.shares().items())
    slice_ = ", ".join(f"{name} = {number(value)}" for name, value in _slice(shown, names).items())
    return f"Boxes of {' and '.join(names)}; of the whole volume {shares}." + (f" Slice at {slice_}." if slice_ else "")


def _slice(shown: StateMap, names: Sequence[str]) -> dict[str, Fraction]:
    """Values of the other wide variables: near their middles."""
    others = [axis for axis in shown.axes if axis.wide and axis.name not in names]
    return {axis.name: cut_of((axis.low, axis.high), axis.integral) or axis.low for axis in others}


def _drawn(shown: StateMap, names: Sequence[str]) -> Figure:
    index = [next(i for i, axis in enumerate(shown.axes) if axis.name == name) for name in names]
    fixed = _slice(shown, names)
    places = {i: fixed[axis.name] for i, axis in enumerate(shown.axes) if axis.name in fixed}
    corners: dict[Status, list[list[tuple[float, float]]]] = {status: [] for status in STATUSES}
    for cell, box in shown.leaves():
        if all(_meets(shown.axes[i], box[i], value) for i, value in places.items()):
            ends = [_ends(box[i], shown.axes[i].integral) for i in index] + [(0.0, 1.0)] * (2 - len(index))
            (left, right), (low, high) = ends
            corners[cell.status].append([(left, low), (right, low), (right, high), (left, high)])
    figure = new_figure(_HEIGHT if len(index) == 2 else _STRIP)
    ax = figure.subplots()
    ax.set_title(f"{shown.scenario}: {shown.formula}"[:90])
    for status, boxes in corners.items():
        _fill(ax, boxes, status, f"{status} ({percent(shown.shares()[status])})")
    ax.set_xlabel(titled(names[0], shown.axes[index[0]].unit))
    if len(index) == 2:
        ax.set_ylabel(titled(names[1], shown.axes[index[1]].unit))
    else:
        ax.set_yticks([])
    ax.autoscale_view()
    ax.margins(0)
    note = ", ".join(f"{name} = {number(value)}" for name, value in fixed.items())
    figure.legend(
        loc="outside lower left", ncols=3, title=f"Slice at {note}; shares are of the whole" if note else None
    )
    return figure


def _meets(axis: Axis, side: Side, value: Fraction) -> bool:
    """Is a box in a slice? Of two that meet there the lower one is."""
    low, high = side
    return (low < value or value == axis.low or axis.integral) and low <= value <= high


def _ends(side: Side, integral: bool) -> tuple[float, float]:
    """A side as it is drawn: integers as steps of width 1."""
    more = 0.5 if integral else 0.0
    return float(side[0]) - more, float(side[1]) + more


def _fill(ax: Axes, boxes: list[list[tuple[float, float]]], status: Status, label: str) -> None:
    from matplotlib.collections import PolyCollection

    colour, alpha, hatch = _LOOKS[status]
    look = {"facecolor": (colour, alpha), "edgecolor": (colour, min(1.0, alpha + 0.3)), "hatch": hatch or None}
    ax.add_collection(PolyCollection(boxes, closed=True, linewidth=0.3, label=label, **look))
