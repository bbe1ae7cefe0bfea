"""Agents for FrozenLake on large grids: made, not trained, the same bytes for the same arguments.

    python -m experiments.benchmarks.frozenlake_nets FOLDER --size 100 [--careless 0.01] [--seed 0]

writes ``agent.onnx`` (size * size - width - 4, one hidden ReLU layer) and ``grid.json``, the parameters of the
scenario: holes that keep a distance of three cells from each other, one in about twelve cells, and no start cell, so
that the property must hold from every cell without a hole. The agent goes to the goal in the last corner by safe
directions only; where --careless is given, it takes no heed of holes in such a part of the cells.
"""

from __future__ import annotations

import json
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from experiments.training.export import Layers, evaluate, write_onnx

MOVES = ((0, -1), (1, 0), (0, 1), (-1, 0))  # left, down, right, up, as in the scenario
NOISE = 0.02


def holes(size: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Cells (row, column), no two of them closer than three, none near a corner."""
    free = np.ones((size, size), dtype=bool)
    for row in (slice(0, 2), slice(size - 2, size)):
        for column in (slice(0, 2), slice(size - 2, size)):
            free[row, column] = False
    found = []
    for number in rng.permutation(size * size):
        row, column = divmod(int(number), size)
        if free[row, column]:
            found.append((row, column))
            free[max(0, row - 2) : row + 3, max(0, column - 2) : column + 3] = False
    return sorted(found)


def directions(size: int, ice: set[tuple[int, int]], careless: float, rng: np.random.Generator) -> NDArray[np.intp]:
    """The direction of each cell: of those whose moves and slips avoid the holes, the one that leads to the goal."""
    chosen = np.zeros(size * size, dtype=np.intp)
    for number in range(size * size):
        row, column = divmod(number, size)
        heed = rng.random() >= careless
        gain = (-1.0, (size - row) / size, (size - column) / size, -1.0)

        def ends(direction: int, row: int = row, column: int = column) -> set[tuple[int, int]]:
            moves = (MOVES[(direction + turn) % 4] for turn in (-1, 0, 1))
            return {(row + down, column + right) for down, right in moves}

        chosen[number] = max(range(4), key=lambda d: (not heed or not ends(d) & ice, gain[d]))
    return chosen


def network(chosen: NDArray[np.intp], width: int, rng: np.random.Generator) -> Layers:
    """Hidden units that fire for one direction each, with noise; the outputs add up those of theirs."""
    unit = np.arange(width) % 4
    first = (unit[:, None] == chosen) * 1.0 + rng.normal(0, NOISE, (width, len(chosen)))
    second = np.where(np.arange(4)[:, None] == unit, 4 / width, -1 / width) + rng.normal(0, NOISE / width, (4, width))
    layers = [(first, rng.normal(0, NOISE, width)), (second, np.zeros(4))]
    layers = [(w.astype(np.float32), b.astype(np.float32)) for w, b in layers]
    (weight, bias), *rest = layers  # a cell's input picks a column
    hidden = np.maximum(weight.T.astype(np.float64) + bias, 0)
    if not np.array_equal(evaluate(rest, hidden).argmax(1), chosen):
        raise SystemExit("the noise drowns the directions: choose a greater width")
    return layers


def write(folder: Path, size: int, width: int = 32, careless: float = 0.0, seed: int = 0) -> dict[str, object]:
    """Write the network and the grid; returns the parameters of the scenario."""
    rng = np.random.default_rng(seed)
    ice = holes(size, rng)
    layers = network(directions(size, set(ice), careless, rng), width, rng)
    write_onnx(folder / "agent.onnx", layers, "agent")
    grid = {"size": size, "holes": [r * size + c + 1 for r, c in ice], "goal": size * size, "start": []}
    (folder / "grid.json").write_text(json.dumps(grid) + "\n", encoding="utf-8")
    return {k: tuple(v) if isinstance(v, list) else v for k, v in grid.items()}


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--size", type=click.IntRange(4, 128), required=True)
@click.option("--width", type=click.IntRange(4), default=32, show_default=True)
@click.option("--careless", type=click.FloatRange(0, 1), default=0.0, show_default=True)
@click.option("--seed", default=0, show_default=True)
def main(folder: Path, size: int, width: int, careless: float, seed: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    grid = write(folder, size, width, careless, seed)
    options = " ".join(f"--set {k}={','.join(map(str, v)) if isinstance(v, tuple) else v}" for k, v in grid.items())
    click.echo(f"venmas --scenario frozenlake --networks {folder} {options}")


if __name__ == "__main__":
    main()
