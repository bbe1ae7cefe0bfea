"""A counterexample of a query, run as deployed: does single precision show it as well?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike

import numpy as np

from venmas.engine.query.decide import QueryReport
from venmas.engine.query.files import run_networks
from venmas.errors import install
from venmas.formats.vnnlib.query import Query
from venmas.nn import Network

TOLERANCE = Fraction(1, 10_000)
"""By how much VNN-COMP lets a counterexample miss a constraint."""
RELATIVE = 1e-3
"""By how much, relatively, it lets outputs differ from those that are run."""


@dataclass(frozen=True)
class QueryReplay:
    """A counterexample as deployed.

    runtime: what ran the network in float32. holds: the property, at the input and outputs it saw, without tolerance;
    agrees: the outputs are the exact ones within the tolerance of VNN-COMP; within: the property holds with it as well.
    difference: the largest of an output from the exact
    one. outputs: those that were run.
    """

    runtime: str
    holds: bool
    within: bool
    difference: float
    outputs: tuple[float, ...]
    agrees: bool = False

    def __str__(self) -> str:
        told = (
            "accepted" if self.holds else "accepted within the tolerance of VNN-COMP" if self.within else "NOT accepted"
        )
        return (
            f"{self.runtime} in single precision: {told}; outputs differ from the exact ones by {self.difference:.1e}"
        )

    def as_json(self) -> dict[str, object]:
        """For ``--json``."""
        finite = bool(np.isfinite([*self.outputs, self.difference]).all())
        return {
            "runtime": self.runtime,
            "accepted": self.holds,
            "accepted_within_tolerance": self.within,
            "largest_difference": self.difference if finite else None,
            "outputs": list(self.outputs) if finite else None,
        }


def nearest(value: Fraction) -> float:
    """The nearest float, infinite where no float is so large."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def replay_query(
    paths: Sequence[str | PathLike[str]], networks: Sequence[Network], query: Query, report: QueryReport
) -> QueryReplay:
    """Run the counterexample of a ``sat``; paths: the files of the networks, in the order of the query."""
    runtime, x, y = run_networks(paths, networks, query, report.inputs)
    exact = np.array([nearest(v) for v in report.outputs])
    if y.shape != exact.shape or not all(np.isfinite(values).all() for values in (x, y, exact)):
        return QueryReplay(runtime, False, False, float("inf"), tuple(map(float, y)))
    values = query.at(*([Fraction(float(v)) for v in part] for part in (x, y)))
    agrees = np.allclose(y, exact, rtol=RELATIVE, atol=float(TOLERANCE))
    return QueryReplay(
        runtime,
        query.holds(values),
        bool(agrees) and query.holds(values, TOLERANCE),
        float(np.abs(y - exact).max()),
        tuple(map(float, y)),
        bool(agrees),
    )


def check_hidden(query: Query, report: QueryReport, replay: QueryReplay | None) -> None:
    """Take back a ``sat`` about hidden nodes whose values onnxruntime, which knows them by name, does not give."""
    hidden = any(network.hidden for network in query.networks)
    if report.verdict != "sat" or not hidden:
        return
    if replay is not None and replay.agrees and replay.runtime.startswith("onnxruntime"):
        return
    report.verdict, report.reason = "unknown", "onnxruntime does not show the values of hidden nodes: "
    if replay is None:
        report.reason += "it does not run the networks"
    elif replay.agrees:
        report.reason += f"it is not installed, use {install('runtime')}"
    else:
        report.reason += f"outputs or hidden nodes differ from the exact ones by {replay.difference:.1e}"
