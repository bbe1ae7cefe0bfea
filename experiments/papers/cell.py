"""One cell of a table: a question, how it is asked, what identifies it, and the answer that is kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import venmas
from experiments.benchmarks.machine import header
from venmas import load_scenario, verify
from venmas.budget import Progress
from venmas.engine.report import versions
from venmas.model import NetworkFolder, System
from venmas.model.canonical.canonical import system_digest

FIGURE6 = "figure6"
"""Mode `mono` as the paper has it: successors joined by the widest bounds."""
REDONE = ("interrupted", "failure")
"""Reasons of an unknown that say nothing about the question: such an answer is not kept."""


@dataclass(frozen=True)
class Cell:
    """A question and its place: `table`, `row` and `k` name it, `settings` are parameters of the scenario."""

    table: str
    row: str
    k: str
    mode: str
    scenario: str
    settings: tuple[tuple[str, str], ...]
    formula: str

    @property
    def name(self) -> str:
        return f"{self.row}, k = {self.k}, {self.mode}"


@dataclass(frozen=True)
class How:
    """What holds for all cells of a run; networks: a folder, or one with a folder for each scenario."""

    networks: Path | None = None
    solver: str = "highs"
    trust: str = "solver"
    timeout: float | None = None
    workers: int | None = None

    def folder(self, scenario: str) -> NetworkFolder:
        if self.networks is None:
            return NetworkFolder(load_scenario(scenario).networks)
        within = self.networks / scenario
        return NetworkFolder(within if within.is_dir() else self.networks)

    def system(self, cell: Cell) -> System:
        """Built anew for each cell, as systems keep what was found for one formula for the next one."""
        return load_scenario(cell.scenario).system(self.folder(cell.scenario), **dict(cell.settings))


class Keys:
    """Keys of cells: everything that an answer may depend on, hashed. Systems are built once a set of parameters."""

    def __init__(self, how: How) -> None:
        self.how = how
        self._systems: dict[tuple[str, tuple[tuple[str, str], ...]], str] = {}

    def identity(self, cell: Cell) -> dict[str, Any]:
        """system: digest of variables, networks, branches, initial set and properties, so that a scenario or a network
        that was changed is another one.
        """
        place = cell.scenario, cell.settings
        if place not in self._systems:
            self._systems[place] = system_digest(self.how.system(cell))
        how = {k: v for k, v in asdict(self.how).items() if k != "networks"}
        about = {"system": self._systems[place], "formula": cell.formula, "mode": cell.mode}
        return about | how | {"versions": versions(), "code": code_digest()}

    def key(self, cell: Cell) -> str:
        return hashlib.sha256(json.dumps(self.identity(cell), sort_keys=True).encode()).hexdigest()


def decide(cell: Cell, how: How, progress: Callable[[Progress], None] | None = None) -> dict[str, Any]:
    """Ask; the answer as it is kept: the result (docs/result.schema.json), where, and when."""
    begun = datetime.now(UTC)
    system = how.system(cell)
    report = verify(
        system,
        cell.formula,
        mode="mono" if cell.mode == FIGURE6 else cell.mode,
        tune={"milp.successors": "joined"} if cell.mode == FIGURE6 else {},
        solver=how.solver,
        trust=how.trust,
        timeout=how.timeout,
        workers=how.workers,
        parameters=dict(cell.settings),
        progress=progress,
    )
    return {
        "cell": asdict(cell),
        "result": report.to_json(),
        "machine": header()[0].split(", load")[0],
        "begun": begun.isoformat(timespec="milliseconds"),
        "finished": datetime.now(UTC).isoformat(timespec="milliseconds"),
    }


def kept(answer: Mapping[str, Any]) -> bool:
    """Is this an answer, or should the question be asked again?"""
    return answer["result"]["reason"] not in REDONE


@cache
def code_digest() -> str:
    """Sha256 of the package's source but the command line and the test kit, which decide nothing."""
    root = Path(venmas.__file__).parent
    found = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root)
        if name.parts[0] not in ("cli", "testing", "bundled", "_version.py"):
            found.update(f"{name.as_posix()}\0".encode() + path.read_bytes() + b"\0")
    return found.hexdigest()
