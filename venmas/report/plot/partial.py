"""Picture of an open question: the steps that are proved along the closest run, and what of the initial set is open."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from venmas.engine.partial.partial import Closest, Partial, Side
from venmas.engine.report import Report
from venmas.report.graph_picture import Picture
from venmas.report.plot.style import CURVES, GREEN, GREY, ORANGE, RED, WIDTH, new_figure, rendered, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST = 4
_FAR = 5
"""Spans of what a run has, beyond which a bound is not drawn."""
_PANEL, _PLANE = 1.4, 0.6 * WIDTH
_TITLE = "How far it got"


def pictures(report: Report) -> list[Picture]:
    """The picture, none where nothing can be drawn. Raises `UsageError` without matplotlib."""
    found = report.partial
    if not found:
        return []
    names, axes = _watched(report, found.closest), _axes(report, found)
    plane = len(axes) == 2 and found.share is not None
    heights = ([_PANEL * len(names) + 0.3] if names else []) + ([_PLANE] if plane else [])
    if not heights:
        return []
    with styled():
        figure = new_figure(sum(heights) + 0.3)
        rows = list(figure.subfigures(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0])
        if names and found.closest is not None:
            panels = rows.pop(0).subplots(len(names), 1, sharex=True, squeeze=False)[:, 0]
            for i, (ax, name) in enumerate(zip(panels, names, strict=True)):
                _steps(ax, found, found.closest, name, CURVES[i % len(CURVES)])
                _bounds(ax, _text(report), name, [state[name] for state in found.closest.run])
                ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
            panels[-1].set_xlabel("step")
        if plane:
            _initial(rows.pop(0).subplots(), found, axes[0], axes[1])
        alt = alt_text(found)
        return [Picture(_TITLE, alt, rendered(figure, "svg", _TITLE, alt).decode())]


def alt_text(found: Partial) -> str:
    """What the picture shows, in words."""
    facts = ["The closest run, step by step"] if found.closest is not None else []
    facts += [f"steps up to {found.until} are proved"] if found.steps is not None else []
    several = "1 open box" if found.count == 1 else f"{found.count} open boxes"
    facts += [f"{several} in the initial set"] if found.share is not None else []
    return ", ".join(facts) + "."


def _watched(report: Report, run: Closest | None) -> list[str]:
    """Variables that the formula names, else those that move most."""
    if run is None or len(run.run) < 2:
        return []
    named = [n for n in run.run[0] if _names(_text(report), n)]
    moved = {n: max(s[n] for s in run.run) - min(s[n] for s in run.run) for n in run.run[0]}
    return (named or sorted(moved, key=lambda n: -moved[n]))[:_MOST]


def _text(report: Report) -> str:
    """The formula, what names of propositions stand for written out where that is known."""
    text = report.formula
    if report.model is not None:
        for name, formula in report.model.propositions.items():
            text = re.sub(rf"\b{re.escape(name)}\b", str(formula), text)
    return text


def _names(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w\]]){re.escape(name)}(?![\w\[])", text) is not None


def _axes(report: Report, found: Partial) -> list[str]:
    """Two variables of the initial set: those that the formula names, then those along which it is cut most."""
    text, wide = _text(report), [n for n, (a, b) in found.around.items() if a < b]
    cuts = {n: len({box.get(n, found.around[n]) for box in found.boxes}) for n in wide}
    return sorted(wide, key=lambda n: (not _names(text, n), -cuts[n]))[:2]


def _bounds(ax: Axes, text: str, name: str, values: list[float]) -> None:
    """The numbers that the formula compares a variable with, as lines, where they are not far from its values."""
    span = max(values) - min(values)
    for sign, number in re.findall(
        rf"(?<![\w\]*/+-]){re.escape(name)} (<=|>=|<|>|==|!=) (-?\d+(?:\.\d+)?)(?![\w.*/])", text
    ):
        at = float(number)
        if max(*values, at) - min(*values, at) <= _FAR * span:
            ax.axhline(at, color=GREY, linestyle="--", linewidth=1, label=f"{sign} {number}")


def _steps(ax: Axes, found: Partial, run: Closest, name: str, colour: str) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.set_title(f"{name} along the closest run")
    ax.plot(range(len(run.run)), [state[name] for state in run.run], ".-", color=colour, linewidth=1, markersize=3)
    first, proved, last = found.first - 0.5, found.until + 0.5, len(run.run) - 0.5
    if proved > first:
        ax.axvspan(first, min(proved, last), color=GREEN, alpha=0.12, label="proved")
    if proved < last:
        ax.axvspan(max(proved, first), last, color=ORANGE, alpha=0.12, label="open")
    if run.step is not None and run.step < len(run.run):
        ax.plot(run.step, run.run[run.step][name], "x", color=RED, label="closest")
    ax.xaxis.set_major_locator(MaxNLocator(nbins=12, integer=True))


def _initial(ax: Axes, found: Partial, across: str, up: str) -> None:
    from matplotlib.patches import Rectangle

    def box(sides: dict[str, Side], colour: str, label: str, alpha: float = 0.4) -> None:
        (a, b), (c, d) = sides.get(across, found.around[across]), sides.get(up, found.around[up])
        patch = Rectangle(
            (a, c), b - a, d - c, facecolor=colour, edgecolor=GREY, alpha=alpha, linewidth=0.5, label=label
        )
        ax.add_patch(patch)
        ax.plot([a, b], [c, d], alpha=0)  # for the limits of the axes

    all_, none = found.count == len(found.boxes), not found.share
    label = "" if none else "proved" if all_ else "proved, or open in smaller boxes"
    box(dict(found.around), GREEN if all_ else GREY, label)
    for i, sides in enumerate(found.boxes):
        box(dict(sides), ORANGE, "" if i else "open", 1.0)
    if (run := found.closest) is not None:
        ax.plot(float(run.initial[across]), float(run.initial[up]), "xk", label="closest run")
    others = any(a < b for n, (a, b) in found.around.items() if n not in (across, up))
    several = "; open for some values of the others" if others else ""
    ax.set_title(f"Initial set: {across} and {up}{several}")
    ax.set_xlabel(across)
    ax.set_ylabel(up)
    ax.legend(loc="upper left", bbox_to_anchor=(0, -0.12), ncols=3)
