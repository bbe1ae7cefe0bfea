"""Figures of the papers on policies; they tell lines apart by colour, which any colour vision can, and by marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

COLOURS = ("#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f")
MARKS = "oXs^vDP"  # seven, so that 56 series differ in one of both
Points = Sequence[tuple[float, float]]
LEAST = 0.01
"""Seconds below which nothing is told apart."""


def _look(number: int) -> dict[str, Any]:
    return {"color": COLOURS[number % len(COLOURS)], "marker": MARKS[number % len(MARKS)], "markersize": 4}


def _new(wide: float, high: float, columns: int, **shared: Any) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(wide, high), layout="constrained")
    panels = figure.subplots(1, columns, squeeze=False, **shared)[0]
    for panel in panels:
        panel.grid(True, which="major", color="#dddddd", linewidth=0.6)
        panel.set_axisbelow(True)
    return figure, panels


def _plain(axis: Any) -> None:
    """Numbers as they are on a logarithmic axis, not powers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    subs = (1, 1.5, 2, 3, 5, 7) if high < 6 * low else (1, 2, 5) if high < 50 * low else (1,)
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.set_minor_formatter(NullFormatter())


def decided(title: str, ways: Mapping[str, Points], published: Mapping[str, Sequence[float]], limit: float) -> Any:
    """How many instances each way decides in how many seconds, and its seconds against the published ones.

    ways: for each decided instance its seconds and the published ones of its row (nan: none). published: all seconds of
    a variant on the rows of the instances here. limit: of each run here, seconds.
    """
    from matplotlib.ticker import MaxNLocator

    figure, (left, right) = _new(11.0, 4.6, 2)
    for number, (name, points) in enumerate(ways.items()):
        seconds = sorted(max(s, LEAST) for s, _ in points)
        left.plot(range(1, len(seconds) + 1), seconds, linewidth=1.2, label=name, **_look(number))
        both = [(them, max(us, LEAST)) for us, them in points if them == them]
        if both:
            right.plot(*zip(*both, strict=True), linestyle="", **_look(number))
    for name, times in published.items():
        colour = COLOURS[list(ways).index(name) % len(COLOURS)] if name in ways else "#7f7f7f"
        label = f"published: {name}"
        left.plot(range(1, len(times) + 1), sorted(times), color=colour, linewidth=1.0, linestyle="--", label=label)
    left.axhline(limit, color="#bbbbbb", linewidth=0.8)
    left.xaxis.set_major_locator(MaxNLocator(integer=True))
    left.set(xlabel="instances decided", ylabel="CPU seconds", yscale="log")
    low, high = LEAST, 1e5
    right.plot((low, high), (low, high), color="#bbbbbb", linewidth=0.8)
    right.set(xlabel="published seconds of the variant of that name", ylabel="CPU seconds here")
    right.set(xscale="log", yscale="log", xlim=(1, high), ylim=(low / 1.5, high))
    for axis in (left.yaxis, right.xaxis, right.yaxis):
        _plain(axis)
    figure.suptitle(title, fontsize=12)
    figure.legend(loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    return figure


def spread(title: str, columns: Sequence[str], rows: Mapping[str, Sequence[Sequence[float]]]) -> Any:
    """A panel for each column, a line for each row: a point for each run, a stroke for their mean; logarithmic."""
    figure, panels = _new(2.2 + 2.7 * len(columns), 1.6 + 0.22 * len(rows), len(columns), sharey=True)
    for c, (panel, column) in enumerate(zip(panels, columns, strict=True)):
        for y, runs in enumerate(rows.values()):
            values = [run[c] for run in runs]
            panel.plot(values, [y] * len(values), "o", color=COLOURS[1], alpha=0.45, markersize=4)
            panel.plot([mean(values)], [y], "|", color=COLOURS[0], markersize=11, markeredgewidth=1.6)
        panel.set(xscale="log", xlabel=column)
        _plain(panel.xaxis)
    panels[0].set_yticks(range(len(rows)), rows, fontsize=8)
    panels[0].invert_yaxis()
    figure.suptitle(title, fontsize=12)
    return figure


def against(title: str, x: str, y: str, series: Mapping[str, Points]) -> Any:
    """A mark for each pair, logarithmic."""
    figure, (panel,) = _new(7.5, 5.2, 1)
    for number, (name, points) in enumerate(series.items()):
        panel.plot(*zip(*points, strict=True), linestyle="", alpha=0.75, label=name, **_look(number))
    panel.set(xscale="log", yscale="log", xlabel=x, ylabel=y)
    _plain(panel.xaxis)
    _plain(panel.yaxis)
    figure.suptitle(title, fontsize=12)
    figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    return figure


def shares(title: str, columns: Sequence[str], series: Mapping[str, Sequence[Sequence[float]]]) -> Any:
    """A panel for each column, a line for each name through (share, value of each column)."""
    figure, panels = _new(1.5 + 4.2 * len(columns), 4.8, len(columns))
    for c, (panel, column) in enumerate(zip(panels, columns, strict=True)):
        for number, (name, rows) in enumerate(series.items()):
            look, x = _look(number), [row[0] for row in rows]
            panel.plot(x, [row[c + 1] for row in rows], linewidth=1.2, label="" if c else name, **look)
        panel.set(xlabel="% of the predicates", ylabel=column, yscale="linear" if column.startswith("%") else "log")
        if column.startswith("%"):
            panel.set_ylim(-3, 103)
        else:
            _plain(panel.yaxis)
    figure.suptitle(title, fontsize=12)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return figure


def grid(title: str, columns: Sequence[str], series: Mapping[str, Mapping[str, Sequence[Sequence[float]]]]) -> Any:
    """A row of panels for each name, a column for each value, a line for each kind through (share, values)."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    drawn = Figure(figsize=(1.5 + 3.6 * len(columns), 1.2 + 2.5 * len(series)), layout="constrained")
    panels = drawn.subplots(len(series), len(columns), squeeze=False)
    kinds = list(dict.fromkeys(kind for lines in series.values() for kind in lines))
    for (name, lines), row in zip(series.items(), panels, strict=True):
        for c, (column, panel) in enumerate(zip(columns, row, strict=True)):
            for kind, points in lines.items():
                x, y = [p[0] for p in points], [p[c + 1] for p in points]
                panel.plot(x, y, linewidth=1.2, **_look(kinds.index(kind)))
            panel.grid(True, color="#dddddd", linewidth=0.6)
            panel.set(xlim=(0, 103), ylabel=column, yscale="linear" if "starts" in column else "log")
            panel.set_title(name if c == 0 else "", fontsize=9, loc="left")
            if "starts" not in column:
                _plain(panel.yaxis)
    for panel in panels[-1]:
        panel.set_xlabel("% of all predicates")
    handles = [Line2D([], [], label=kind, **_look(i)) for i, kind in enumerate(kinds)]
    drawn.suptitle(title, fontsize=12)
    drawn.legend(handles=handles, loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    return drawn
