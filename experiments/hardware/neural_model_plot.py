"""Cactus plot of `neural_model_checking`: how many tasks are decided within how many seconds, beside published times.

The published times of the same tasks are of another machine, with 8 threads for the authors' tool of 2024.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from math import isfinite
from pathlib import Path

_TOOLS = {
    "24": {"ours_8_5_s": "NMC 2024", "nuxmv_s": "nuXmv", "abc_s": "ABC", "industry_x_s": "X", "industry_y_s": "Y"},
    "25": {"nuRauto": "NMC 2025", "NMC24": "NMC 2024", "nuX": "nuXmv", "abc": "ABC", "rIC3": "rIC3"},
}
_LIMIT = 18_000.0
"""Seconds that the published runs were given."""


def published_times(folder: Path, year: str, tasks: Iterable[tuple[str, int]]) -> dict[str, list[float]]:
    """Of each tool the seconds of the tasks that it solved. tasks: property (in 2025 with its family) and index."""
    wanted = set(tasks)
    found: dict[str, list[float]] = {name: [] for name in _TOOLS[year].values()}
    if year == "24":
        with (folder / "figures" / "neurips24_table3.csv").open() as file:
            rows = [
                (name, (row["property"], int(row["index"])), row[column])
                for row in csv.DictReader(file)
                for column, name in _TOOLS[year].items()
            ]
    else:
        with (folder / "figures" / "neurips25_runtimes.csv").open() as file:
            rows = [
                (_TOOLS[year][row["tool"]], (f"{row['spec']}_{row['family']}", int(row["index"])), row["seconds"])
                for row in csv.DictReader(file)
                if row["kind"] == "liveness" and row["tool"] in _TOOLS[year]
            ]
    for name, task, text in rows:
        if task in wanted and (seconds := _seconds(text)) < _LIMIT:
            found[name].append(seconds)
    return found


def _seconds(text: str) -> float:
    """Infinity for what is no number: out of time, not trained, not run."""
    try:
        seconds = float(text)
    except ValueError:
        return float("inf")
    return seconds if isfinite(seconds) else float("inf")


def cactus(times: Mapping[str, list[float]], tasks: int, path: Path) -> None:
    """Draw it. times: of each tool the seconds of what it solved. Raises `ImportError` without matplotlib."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for name, seconds in times.items():
        axes.plot(range(1, len(seconds) + 1), sorted(seconds), marker=".", label=f"{name} ({len(seconds)})")
    axes.set_yscale("log")
    axes.set_xlabel(f"tasks solved, of {tasks}")
    axes.set_ylabel("seconds, of each")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path)
