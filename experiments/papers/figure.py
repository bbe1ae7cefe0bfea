"""Seconds against k, a panel a row, a line a mode, a mark a verdict; read without colour, too."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.papers.table import Row

STYLES: dict[str, tuple[str, Any]] = {
    "mono": ("#0072b2", "-"),
    "comp-par": ("#d55e00", "--"),
    "comp-seq": ("#009e73", "-."),
    "adaptive": ("#000000", ":"),
    "figure6": ("#56b4e9", (0, (1, 2))),
    "exact": ("#cc79a7", (0, (5, 1))),
}
"""Colour, which colour-blind readers can tell apart, and dashes of a mode."""
MARKS = {"satisfied": ("o", "satisfied"), "violated": ("X", "violated"), "unknown": ("^", "unknown")}
COLUMNS = 4


def draw(title: str, rows: Sequence[Row], timeout: float | None) -> Any:
    """A matplotlib figure. Raises `ImportError` without matplotlib."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.ticker import MaxNLocator

    names = list(dict.fromkeys(r.cell.row for r in rows))
    modes = list(dict.fromkeys(r.cell.mode for r in rows))
    wide = min(COLUMNS, len(names))
    high = -(-len(names) // wide)
    figure = Figure(figsize=(1.5 + 3.0 * wide, 1.6 + 2.3 * high), layout="constrained")
    panels = figure.subplots(high, wide, sharex=True, sharey=True, squeeze=False).ravel()
    steps = list(dict.fromkeys(r.cell.k for r in rows))
    plain = all(k.isdecimal() for k in steps)
    for panel, name in zip(panels, names, strict=False):
        for mode in modes:
            colour, dash = STYLES[mode]
            some = [r for r in rows if r.answer and (r.cell.row, r.cell.mode) == (name, mode)]
            at = [float(r.cell.k) if plain else steps.index(r.cell.k) for r in some]
            line = [(x, r.seconds) for x, r in zip(at, some, strict=True) if r.cell.k.isdecimal()]
            panel.plot(*zip(*line, strict=True) if line else ((), ()), linestyle=dash, color=colour, linewidth=1.2)
            for verdict, (mark, _) in MARKS.items():
                points = [(x, r.seconds) for x, r in zip(at, some, strict=True) if r.verdict == verdict]
                if points:
                    face = "white" if verdict == "unknown" else colour
                    panel.plot(*zip(*points, strict=True), mark, color=colour, markerfacecolor=face, markersize=5)
        if timeout is not None and any(r.verdict == "unknown" for r in rows):
            panel.axhline(timeout, color="#888888", linewidth=0.8, linestyle=":")
        panel.set_title(name, fontsize=10)
        panel.set_yscale("log")
        panel.grid(True, which="major", color="#dddddd", linewidth=0.6)
        if plain:
            panel.xaxis.set_major_locator(MaxNLocator(integer=True))
        else:
            panel.set_xticks(range(len(steps)), steps)
    for i, panel in enumerate(panels):
        if i >= len(names):
            panel.set_axis_off()
        elif i + wide >= len(names):  # the lowest of its column
            panel.tick_params(labelbottom=True)
            panel.set_xlabel("k (steps)", fontsize=9)
    figure.supylabel("seconds", fontsize=10)
    figure.suptitle(title, fontsize=12)
    lines = [Line2D([], [], color=STYLES[m][0], linestyle=STYLES[m][1], label=m) for m in modes]
    lines += [
        Line2D([], [], color="#444444", linestyle="", marker=mark, label=label, markersize=6)
        for verdict, (mark, label) in MARKS.items()
        if any(r.verdict == verdict for r in rows)
    ]
    figure.legend(handles=lines, loc="outside lower center", ncols=6, frameon=False, fontsize=9)
    return figure


def save(figure: Any, path: Path) -> list[Path]:
    """As .svg and .png, on white, so that it reads on a dark page, too."""
    paths = [path.with_suffix(suffix) for suffix in (".svg", ".png")]
    for one in paths:
        figure.savefig(one, dpi=150, facecolor="white")
    return paths
