"""What a verification says: the verdict, why, and what it took (design S7, section 5)."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from venmas._version import __version__
from venmas.checker.values import Semantics
from venmas.engine.certify import Certificate
from venmas.model.trace import Witness
from venmas.model.witness import Replay


class Verdict(StrEnum):
    """Only a proof says satisfied, only a replayed witness says violated (design S7)."""

    SATISFIED = "satisfied"
    VIOLATED = "violated"
    UNKNOWN = "unknown"


@dataclass
class Counts:
    """Subproblems: built (`created`), refuted by bounds before, answered by a solver, and given up on stop."""

    created: int = 0
    discarded: int = 0
    solved: int = 0
    cancelled: int = 0


@dataclass
class Largest:
    """Sizes of the largest program, each the greatest seen; indicators count as constraints."""

    variables: int = 0
    binaries: int = 0
    constraints: int = 0


@dataclass
class Graph:
    """The reach graph of mode adaptive: passes, nodes (regions or states), and pieces that nodes were cut into."""

    passes: int = 0
    nodes: int = 0
    pieces: int = 0


@dataclass
class Seconds:
    """Wall time: in total, making subproblems, in solvers (added up over workers), confirming
    witnesses, and proving in rationals."""

    total: float = 0.0
    encode: float = 0.0
    solve: float = 0.0
    replay: float = 0.0
    prove: float = 0.0


@dataclass(frozen=True)
class Origin:
    """Where a system came from: name or path of the scenario, folder of the networks (None: the scenario's own), and
    the digests of the networks by file.
    """

    scenario: str
    networks: str | None
    digests: Mapping[str, str]


@dataclass
class Report:
    """The result of one verification.

    `reason` is empty unless the verdict is unknown; then it is the category (time, memory, tolerance, licence, failure,
    interrupted, budget) and `message` says more. `basis` tells what a *satisfied* rests on: ``bounds`` (rigorous, no
    program was left to solve), ``solver`` (programs called infeasible by a solver, up to its tolerance) or ``exact`` (a
    proof in rationals, which `certificate` names where it was written). `origin`
    tells where the system came from, so that a stored result can be replayed; None for a system made in Python.
    """

    verdict: Verdict
    formula: str
    scenario: str
    mode: str
    encoding: str
    bounds: str
    reason: str = ""
    message: str = ""
    basis: str = ""
    trust: str = "auto"
    semantics: Semantics = "real"
    certificate: Certificate | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    solvers: dict[str, str] = field(default_factory=dict)
    seconds: Seconds = field(default_factory=Seconds)
    subproblems: Counts = field(default_factory=Counts)
    largest_program: Largest = field(default_factory=Largest)
    graph: Graph = field(default_factory=Graph)
    depth: int = 0
    peak_rss_mb: float = 0.0
    workers: int = 1
    notes: list[str] = field(default_factory=list)
    witness: Witness | None = None
    replay: Replay | None = None
    origin: Origin | None = None

    @property
    def satisfied(self) -> bool:
        """True for a proof."""
        return self.verdict is Verdict.SATISFIED

    @property
    def violated(self) -> bool:
        """True for a replayed witness."""
        return self.verdict is Verdict.VIOLATED

    def to_json(self) -> dict[str, Any]:
        """The object of `docs/result.schema.json`."""
        witness = None
        if self.witness is not None and self.replay is not None:
            witness = {**self.witness.to_json(), "replay": self.replay.to_json()}
        return {
            "verdict": self.verdict.value,
            "reason": self.reason,
            "message": self.message,
            "basis": self.basis,
            "trust": self.trust,
            "semantics": self.semantics,
            "certificate": None if self.certificate is None else dict(vars(self.certificate)),
            "formula": self.formula,
            "scenario": self.scenario,
            "parameters": dict(self.parameters),
            "mode": self.mode,
            "encoding": self.encoding,
            "bounds": self.bounds,
            "solver": [{"name": n, "version": v} for n, v in self.solvers.items()],
            "workers": self.workers,
            "seconds": {k: round(v, 6) for k, v in vars(self.seconds).items()},
            "subproblems": dict(vars(self.subproblems)),
            "largest_program": dict(vars(self.largest_program)),
            "graph": dict(vars(self.graph)),
            "depth": self.depth,
            "peak_rss_mb": round(self.peak_rss_mb, 1),
            "notes": list(self.notes),
            "witness": witness,
            "origin": self.origin and {**vars(self.origin), "digests": dict(self.origin.digests)},
            "versions": versions(),
        }


def versions() -> dict[str, str]:
    """Versions of VenMAS, Python and the packages that a verdict may depend on."""
    found = {"venmas": __version__, "python": platform.python_version()}
    for package in ("numpy", "onnx", "h5py", "highspy", "gurobipy", "pyscipopt"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
