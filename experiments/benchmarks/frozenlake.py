"""FrozenLake from 3x3 (the published agent) to 100x100, up to 1,000 steps, one start cell or every safe one."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.benchmarks import frozenlake_nets
from experiments.benchmarks.ask import Built, Question
from experiments.benchmarks.bench import Bench
from experiments.benchmarks.machine import DATA, apart
from venmas import load_network, load_scenario

SAFE, REACH, MAYBE = "AG^{k} safe", "AF^{k} goal", "EF^{k} goal"


def lake(folder: str, formula: str, grid: dict[str, object]) -> Built:
    return load_scenario("frozenlake").system(folder, **grid), formula


def truth(
    folder: str, formula: str, k: int, size: int, holes: tuple[int, ...], goal: int, start: tuple[int, ...]
) -> str:
    """By backward iteration over the cells; written without the verifier, but for the evaluation of the network."""
    network = load_network(next(p for p in Path(folder).iterdir() if p.suffix in (".onnx", ".h5")))
    policy = np.concatenate([np.argmax(network.evaluate(rows), 1) for rows in _one_hot(size * size)])
    cell = np.arange(size * size)
    row, column = np.divmod(cell, size)
    ends = []
    for turn in (-1, 0, 1):
        moves = np.array(frozenlake_nets.MOVES)[(policy + turn) % 4]
        r, c = row + moves[:, 0], column + moves[:, 1]
        inside = (r >= 0) & (r < size) & (c >= 0) & (c < size)
        ends.append(np.where(inside, r * size + c, cell))
    safe, there = ~np.isin(cell + 1, holes), cell + 1 == goal
    ahead = np.array(ends)
    now = np.ones_like(safe) if formula == SAFE else np.zeros_like(safe)
    for _ in range(k):  # what holds of steps 1..k
        if formula == SAFE:
            now = (safe & now)[ahead].all(0)
        else:
            now = (there | now)[ahead].all(0) if formula == REACH else (there | now)[ahead].any(0)
    begins = np.isin(cell + 1, start) if start else safe
    return "satisfied" if now[begins].all() else "violated"


def _one_hot(count: int) -> list[NDArray[np.float64]]:
    """All one-hot vectors in batches."""
    batch = max(1, 2_000_000 // count)
    cells = np.arange(count)
    return [(cells[None, :] == some[:, None]) * 1.0 for some in np.split(cells, range(batch, count, batch))]


def _ask(bench: Bench, folder: str, formula: str, k: int, grid: dict[str, object], limit: float) -> None:
    starts = grid["start"]
    where = "every safe cell" if not starts else f"cell {', '.join(map(str, starts))}"  # type: ignore[arg-type]
    text = formula.format(k=k)
    name = f"{grid['size']}x{grid['size']}, {text} from {where}"
    if bench.wanted(name, "adaptive"):
        expected = apart(truth, folder, formula, k, **grid)  # type: ignore[arg-type]
        bench.ask(Question(name, partial(lake, folder, text, grid), expected), timeout=limit)


def run(bench: Bench) -> None:
    published = str(DATA / "frozenlake")
    paper = {"size": 3, "holes": (3, 7), "goal": 9}
    bench.section("3x3, the published agent")
    for k in (10, 1000) if bench.quick else (1, 2, 5, 10, 30, 100, 300, 1000):
        for formula in (SAFE, REACH, MAYBE):
            for start in ((1,), ()):
                _ask(bench, published, formula, k, {**paper, "start": start}, 60)
    with tempfile.TemporaryDirectory() as place:
        for size, steps in ((8, (1000,)), (20, (100, 1000)), (50, (100,)), (100, (10, 100))):
            if bench.quick and size not in (8, 20):
                continue
            for careless in (0.0, 0.2):
                folder = Path(place) / f"{size}_{careless}"
                folder.mkdir()
                grid = apart(frozenlake_nets.write, folder, size, careless=careless, seed=1)
                bench.section(
                    f"{size}x{size}, an agent that {'may step into holes' if careless else 'keeps away from holes'}"
                )
                for k in steps[-1:] if bench.quick else steps:
                    _ask(bench, str(folder), SAFE, k, grid, 120)
                    _ask(bench, str(folder), SAFE, k, {**grid, "start": (1,)}, 120)
    bench.total(bench.of("adaptive"), "adaptive")
