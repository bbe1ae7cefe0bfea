"""Figures 5 and 6 of *Neural Model Checking*, from published seconds and ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import inf
from pathlib import Path

from experiments.hardware.neural_model_plot import cactus
from experiments.hardware.paper_tasks import LIMIT, TOOLS, Task
from venmas.formats.btor2.reader import read_btor2
from venmas.model.circuit.size import gates

Times = Mapping[str, Mapping[str, float]]
"""Of each of our learners and tasks the seconds, infinite where it was not solved."""


def solved_sizes(chosen: Sequence[Task], times: Times, path: Path) -> None:
    """Figure 5: state space and gates of what each tool solved; gates where the data have the netlist."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter

    figure = Figure(figsize=(9, 4), layout="constrained")
    size = {task.key: task for task in chosen}
    rows = [(tool, [task for task in chosen if task.seconds[tool] < inf]) for tool in TOOLS]
    rows += [(name, [size[key] for key, seconds in found.items() if seconds < inf]) for name, found in times.items()]
    for axes, what in zip(figure.subplots(1, 2, sharey=True), ("bits of state space", "logic gates"), strict=True):
        for at, (_, some) in enumerate([("all", list(chosen)), *rows]):
            values = [task.bits if what.startswith("bits") else _gates(task.netlist) for task in some]
            axes.scatter([value for value in values if value], [at] * sum(map(bool, values)), s=6)
        axes.set_yticks(range(len(rows) + 1), ["all tasks", *(name for name, _ in rows)])
        axes.set_xlabel(what)
        axes.grid(alpha=0.3)
    axes.set_xscale("log")
    axes.xaxis.set_minor_formatter(NullFormatter())
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


@cache
def _gates(netlist: Path | None) -> int:
    return 0 if netlist is None else gates(read_btor2(netlist).nodes)


def within(chosen: Sequence[Task], times: Times, path: Path) -> None:
    """Figure 6a: how many tasks each tool solves within how many seconds, and *our best*."""
    lines = {tool: [task.seconds[tool] for task in chosen if task.seconds[tool] < inf] for tool in TOOLS if tool != "Y"}
    lines["NMC, best of four sizes"] = [task.best for task in chosen if task.best < inf]
    lines |= {name: [seconds for seconds in found.values() if seconds < inf] for name, found in times.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    cactus(lines, len(chosen), path)


def beside(chosen: Sequence[Task], times: Times, path: Path) -> None:
    """Figure 6b: each task by the better of nuXmv and ABC, and by the paper's tool or ours; at most the limit."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.5, 5), layout="constrained")
    axes = figure.subplots()
    lines = {"NMC": {task.key: task.seconds["NMC"] for task in chosen}, **times}
    for name, found in lines.items():
        some = [task for task in chosen if task.key in found]
        points = [(min(task.academic, LIMIT), min(found[task.key], LIMIT)) for task in some]
        axes.scatter(*zip(*points, strict=True), s=[task.bits for task in some], alpha=0.5, label=name)
    for factor in (1, 10, 100):
        axes.plot([0.01, LIMIT], [0.01 / factor, LIMIT / factor], linewidth=0.5, color="grey")
    axes.set(xscale="log", yscale="log", xlabel="better of nuXmv and ABC, s", ylabel="seconds", ylim=(0.01, 2 * LIMIT))
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def learning(chosen: Sequence[Task], times: Times, path: Path) -> None:
    """Figure 6c: seconds of learning and in all, each sorted; the gap between them is checking. As published."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    done = [task for task in chosen if task.seconds["NMC"] < inf]
    for name, seconds in (("in all", [t.seconds["NMC"] for t in done]), ("learning", [t.train for t in done])):
        axes.plot(range(1, len(done) + 1), sorted(seconds), label=name)
    for name, found in times.items():
        some = sorted(seconds for seconds in found.values() if seconds < inf)
        axes.plot(range(1, len(some) + 1), some, label=f"{name}, in all")
    axes.set(yscale="log", xlabel="tasks solved", ylabel="seconds, of each")
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


FIGURES: dict[str, Callable[[Sequence[Task], Times, Path], None]] = {
    "5": solved_sizes,
    "6a": within,
    "6b": beside,
    "6c": learning,
}
