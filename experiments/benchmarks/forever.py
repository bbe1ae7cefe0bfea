"""AG without a bound: the double integrator, FrozenLake from every safe cell, a thermostat, maps of Gymnasium.

FrozenLake's agents are made, not trained. On the maps of Gymnasium they take a direction that never slips into a hole
where there is one; that there is one from the start is told without the verifier, by a fixpoint over the cells.
"""

from __future__ import annotations

import re
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.benchmarks import frozenlake_nets
from experiments.benchmarks.ask import Built, Question
from experiments.benchmarks.bench import Bench
from experiments.training.export import write_onnx
from venmas import load_scenario

MAPS = {
    "4x4": "SFFF/FHFH/FFFH/HFFG",
    "8x8": "SFFFFFFF/FFFFFFFF/FFFHFFFF/FFFFFHFF/FFFHFFFF/FHHFFFHF/FHFFHFHF/FFFHFFFG",
}
PAGE = Path(__file__).parents[2] / "docs" / "forever.md"
SIZES = (8, 16)


def scenario(name: str, formula: str, folder: str | None = None, settings: dict[str, object] | None = None) -> Built:
    """A scenario with its parameters, and what is asked of it."""
    return load_scenario(name).system(folder, **(settings or {})), formula


def safe_directions(rows: list[str], slippery: bool) -> tuple[NDArray[np.intp], bool]:
    """A direction for each cell that leads into cells from which one can go on so for ever, and whether S is one."""
    height, width = len(rows), len(rows[0])
    letters = "".join(rows)

    def ends(cell: int, direction: int) -> list[int]:
        if letters[cell] in "HG":
            return [cell]
        found = []
        for turn in (-1, 0, 1) if slippery else (0,):
            down, right = frozenlake_nets.MOVES[(direction + turn) % 4]
            row, column = cell // width + down, cell % width + right
            inside = 0 <= row < height and 0 <= column < width
            found.append(row * width + column if inside else cell)
        return found

    safe = {cell for cell, letter in enumerate(letters) if letter != "H"}
    while lost := {c for c in safe if not any(set(ends(c, d)) <= safe for d in range(4))}:
        safe -= lost
    chosen = [next((d for d in (2, 1, 3, 0) if set(ends(c, d)) <= safe), 0) for c in range(len(letters))]
    return np.array(chosen), letters.index("S") in safe


def run(bench: Bench) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bench.section("for ever")
        for formula in ("AG within", "AG[5,*] near"):
            bench.ask(
                Question(
                    f"double integrator: {formula}", partial(scenario, "double_integrator", formula), "satisfied?"
                ),
                "invariant",
                60,
            )
        block = re.search(r'title="thermostat.py"\n(.*?)```', PAGE.read_text(encoding="utf-8"), re.DOTALL)
        assert block is not None
        (folder / "thermostat.py").write_text(block[1], encoding="utf-8")
        for formula in ("AG warm", "AG AF low"):
            heater = partial(scenario, str(folder / "thermostat.py"), formula, None)
            bench.ask(Question(f"thermostat: {formula}", heater, "satisfied?"), "invariant", 60)
        for size in SIZES[: 1 if bench.quick else None]:
            lake = folder / f"lake{size}"
            lake.mkdir()
            grid = frozenlake_nets.write(lake, size)
            asked = partial(scenario, "frozenlake", "AG safe", str(lake), grid)
            bench.ask(
                Question(f"FrozenLake {size}x{size}, every safe cell: AG safe", asked, "satisfied"), "invariant", 60
            )
        for which, slippery in (("4x4", False), ("8x8", True)):
            policy, safe = safe_directions(MAPS[which].split("/"), slippery)
            there = folder / f"gym{which}"
            there.mkdir()
            write_onnx(there / "agent.onnx", frozenlake_nets.network(policy, 32, np.random.default_rng(0)), "agent")
            asked = partial(scenario, "frozenlake", "AG safe", str(there), {"map": which, "slippery": slippery})
            expected = "satisfied" if safe else "violated"
            kind = "slippery" if slippery else "not slippery"
            bench.ask(Question(f"Gymnasium {which}, {kind}: AG safe", asked, expected), "invariant", 60)
    bench.total(bench.of("invariant"), "for ever")
