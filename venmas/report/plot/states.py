"""States over time: one panel under the other, with a common axis of steps."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from venmas.report.plot.panels import Numbers, Panel, Panels, Rows
from venmas.report.plot.style import BLUE, CURVES, DASHES, FAINT, GREY, INK, ORANGE, RED
from venmas.report.plot.trace import Array, Trace, number_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

_NUMBERS_HEIGHT = 1.25
_ROW_HEIGHT, _LEAST_HEIGHT, _MOST_HEIGHT = 0.17, 0.5, 3.4
_NAMED_ROWS = 20
_LINE = 90
_MARKED = 120
"""Most visits whose states are marked one by one."""
_FAR = 8
"""A threshold is on the picture when that makes the axis at most so many times as long as the values need."""


def height(panels: Panels) -> float:
    """Inches that the panels take."""
    return sum(map(_panel_height, panels.panels)) + 0.18 * len(panels.panels) + 0.75 + 0.15 * len(_lines(panels.notes))


def _panel_height(panel: Panel) -> float:
    if isinstance(panel, Numbers):
        return _NUMBERS_HEIGHT
    return min(max(_ROW_HEIGHT * len(panel.rows) + 0.15, _LEAST_HEIGHT), _MOST_HEIGHT)


def draw_states(figure: Figure | SubFigure, trace: Trace, panels: Panels) -> str:
    """Draw the panels; returns a description in words."""
    from matplotlib.ticker import FixedLocator, MaxNLocator

    ratios = [_panel_height(p) for p in panels.panels]
    axes = figure.subplots(len(panels.panels), 1, sharex=True, squeeze=False, height_ratios=ratios)[:, 0]
    for ax, panel in zip(axes, panels.panels, strict=True):
        ax.set_title(panel.title)
        if isinstance(panel, Numbers):
            _draw_numbers(ax, trace, panel)
        else:
            _draw_rows(ax, trace, panel)
        ax.grid(True, axis="x")
    last = axes[-1]
    pad = 0.02 * max(trace.steps, 1)
    last.set_xlim(-pad, trace.steps + pad) if trace.steps else last.set_xlim(-0.5, 0.5)
    last.xaxis.set_major_locator(MaxNLocator(nbins=12, integer=True) if trace.steps else FixedLocator([0]))
    last.set_xlabel("step")
    if panels.notes:
        figure.supxlabel("\n".join(_lines(panels.notes)), x=0.01, ha="left", fontsize=8)
    return _told(trace, panels)


def _lines(notes: Sequence[str]) -> list[str]:
    return [line for note in notes for line in wrap(note, _LINE)]


def _steps(trace: Trace) -> Array:
    return trace.values("step")


def _draw_numbers(ax: Axes, trace: Trace, panel: Numbers) -> None:
    steps = _steps(trace)
    for number, (name, values) in enumerate(panel.curves):
        colour, dash = CURVES[number % len(CURVES)], DASHES[number % len(DASHES)]
        if panel.held:
            there = ~np.isnan(values)
            ax.hlines(values[there], steps[there], steps[there] + 1, colors=colour, linewidth=2.2)
            continue
        if trace.edges:
            ax.plot(*trace.lines(steps, values), color=colour, linestyle=dash, label=name)
        if len(trace.visits) <= _MARKED:
            ax.plot(steps, values, linestyle="none", marker="o", markersize=3, color=colour, label="_")
    if len(panel.curves) > 1:
        ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=len(panel.curves), handlelength=1.8, borderpad=0)
    _limit(ax, panel)
    if panel.shown and len(panel.curves) == 1:
        at = sorted(panel.shown)
        _mark(ax, steps[at], panel.curves[0][1][at])


def _mark(ax: Axes, steps: Array, values: Array) -> None:
    """States that help to show the violation."""
    ax.set_title("\u25c6 helps to show the violation", loc="right", fontsize=8, color=RED, fontweight="normal")
    ax.plot(steps, values, linestyle="none", marker="D", markersize=5.5, color=RED, markeredgecolor="white", zorder=4)


def _limit(ax: Axes, panel: Numbers) -> None:
    """Set the range so that values and near thresholds fit, and draw the thresholds; of far ones only tell."""
    from matplotlib.ticker import MaxNLocator

    values = np.concatenate([v for _, v in panel.curves])
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
    span = max(high - low, 0.1 * max(abs(low), abs(high)), 1e-9)
    near = [t for t in panel.thresholds if max(t.value, high) - min(t.value, low) <= _FAR * span]
    low, high = min([low, *(t.value for t in near)]), max([high, *(t.value for t in near)])
    pad = 0.12 * max(high - low, span)
    ax.set_ylim(low - pad, high + pad)
    if values.size and (values == np.rint(values)).all():
        ax.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    for t in near:
        ax.axhline(t.value, color=INK, linewidth=1, linestyle=(0, (4, 2)), zorder=1.5)
        ax.annotate(t.text, (1, t.value), xycoords=("axes fraction", "data"), xytext=(4, 0), annotation_clip=False,
                    textcoords="offset points", va="center", fontsize=8)  # fmt: skip
    far = [t for t in panel.thresholds if t not in near]
    for above in (True, False):
        texts = [t.text for t in far if (t.value > high) == above]
        if texts:
            arrow, y, va = ("\u2191", 1.0, "top") if above else ("\u2193", 0.0, "bottom")
            ax.annotate("\n".join(f"{arrow} {t}" for t in texts[:3]), (1, y), xycoords="axes fraction", xytext=(4, 0),
                        textcoords="offset points", va=va, fontsize=8, color=GREY, annotation_clip=False)  # fmt: skip


def _draw_rows(ax: Axes, trace: Trace, panel: Rows) -> None:
    steps = _steps(trace)
    for row in panel.asked[:_NAMED_ROWS]:
        ax.axhspan(row - 0.42, row + 0.42, color=ORANGE, alpha=0.28, linewidth=0, zorder=0.5)
    visits = np.array([v for v, _ in panel.marks], dtype=np.intp)
    rows = np.array([float(r) for _, r in panel.marks])
    if panel.held:
        ax.hlines(rows, steps[visits] + 0.04, steps[visits] + 0.96, colors=BLUE, linewidth=5, capstyle="butt")
    else:
        if len(visits) == len(set(visits.tolist())) == len(trace.visits):  # one row at a time: runs can be followed
            level = np.empty(len(trace.visits))
            level[visits] = rows
            if trace.edges:
                ax.plot(*trace.lines(steps, level), color=BLUE, linewidth=0.9, alpha=0.6)
        size = 5 if trace.steps <= 60 else 2.5
        at = np.array([v in panel.shown for v in visits.tolist()], dtype=np.bool_)
        ax.plot(steps[visits][~at], rows[~at], linestyle="none", marker="s", markersize=size, color=BLUE)
        if at.any():
            _mark(ax, steps[visits][at], rows[at])
    ax.set_ylim(-0.6, len(panel.rows) - 0.4)
    every = -(-len(panel.rows) // _NAMED_ROWS)
    ticks = [i for i in range(len(panel.rows)) if i % every == 0]
    ax.set_yticks(ticks, [panel.rows[i] for i in ticks])
    ax.tick_params(axis="y", length=0, labelsize=8)
    ax.hlines(ticks, 0, max(trace.steps, 1), colors=FAINT, linewidth=0.6, zorder=0)


def _told(trace: Trace, panels: Panels) -> str:
    parts = []
    for panel in panels.panels:
        if isinstance(panel, Numbers):
            for name, values in panel.curves:
                seen = values[np.isfinite(values)]
                if seen.size:
                    ends = [number_text(float(e)) for e in (seen.min(), seen.max())]
                    reach = ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
                    parts.append(f"{panel.title if len(panel.curves) == 1 else name}: {reach}")
            parts += [f"threshold {t.text}" for t in panel.thresholds[:6]]
        else:
            used = dict.fromkeys(panel.rows[row] for _, row in panel.marks)
            parts.append(f"{panel.title}: {', '.join([*used][:12])}")
    runs = "one run" if trace.is_path else "a tree of runs"
    return f"States over {trace.steps} steps of {runs}. {'; '.join(parts)}."
