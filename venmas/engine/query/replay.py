"""A counterexample of a query, run as deployed: does single precision show it as well?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike

import numpy as np

from venmas.engine.query.decide import QueryReport, shares
from venmas.formats.vnnlib.query import Query
from venmas.nn import Network
from venmas.nn.deployed import run_deployed

TOLERANCE = Fraction(1, 10_000)
"""By how much VNN-COMP lets a counterexample miss a constraint."""
RELATIVE = 1e-3
"""By how much, relatively, it lets outputs differ from those that are run."""


@dataclass(frozen=True)
class QueryReplay:
    """A counterexample as deployed.

    runtime: what ran the network in float32. holds: the property, at the input and outputs it saw, without tolerance;
    within: with that of VNN-COMP, the outputs agreeing as well. difference: the largest of an output from the exact
    one. outputs: those that were run.
    """

    runtime: str
    holds: bool
    within: bool
    difference: float
    outputs: tuple[float, ...]

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
    each = zip(paths, shares(networks), strict=True)
    runs = [run_deployed(path, network, report.inputs[own]) for path, (network, own) in each]
    runtime = " and ".join(dict.fromkeys(name for name, _, _ in runs))
    x, y = (np.concatenate([run[part] for run in runs]) for part in (1, 2))
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
    )
