"""What the loops of the category have in common: boxes, what is recorded between samples, and instances."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from venmas.model import System, apply_network
from venmas.model.expressions.expr import Expr, Scalar, Variable
from venmas.nn import Network

End = str | int
"""A decimal as it is written: floats would be another plant."""

Side = tuple[End, End]


@dataclass(frozen=True)
class Instance:
    """A question of the category.

    network: stem of the published file in POLAR's format; others: of the same network as ONNX. build: the loop with
    this network. asked: the formula. sampled: where `asked` demands more than the question, what is implied by it at
    samples, so that only its violation counts. own: whether the project has a network of its own for it.
    """

    benchmark: str
    name: str
    network: str
    others: tuple[str, ...]
    build: Callable[[Network], System]
    asked: str
    sampled: str = ""
    own: bool = False

    @property
    def label(self) -> str:
        return f"{self.benchmark}-{self.name}" if self.name else self.benchmark


def states(system: System, count: int, size: int) -> list[Variable]:
    """x1, x2, .. with values of up to `size`, which no run may leave."""
    return [system.real(f"x{i}", -size, size) for i in range(1, count + 1)]


def start(system: System, ends: Mapping[Variable, Side], records: Sequence[Variable] = ()) -> None:
    """Initial values between these ends; 0 of what is recorded, until the first period is over."""
    conditions = [(v >= Fraction(low)) & (v <= Fraction(high)) for v, (low, high) in ends.items()]
    conditions += [record == 0 for record in records]
    joined = conditions[0]
    for condition in conditions[1:]:
        joined = joined & condition
    system.initial(joined)


def outputs(system: System, network: Network, seen: Sequence[Scalar]) -> list[Expr]:
    """The agents' actions, one an output."""
    found = apply_network(network, tuple(seen))
    return [system.agent(found[i], name=f"u{i + 1}") for i in range(len(network.layers[-1].bias))]


def run(
    system: System, period: str, rates: Mapping[Variable, Scalar], recorded: Sequence[Variable] = (), size: int = 100
) -> list[Variable]:
    """The only branch: a period of the flow, with the least (lo_x) and greatest (hi_x) values of these variables."""
    motion = system.flow(Fraction(period), dict(rates))
    updates = {v: motion.end[v] for v in rates}
    records = []
    for variable in recorded:
        for prefix, extremum in (("lo", motion.least), ("hi", motion.greatest)):
            records.append(system.real(f"{prefix}_{variable.name}", -size, size))
            updates[records[-1]] = extremum(variable)
    system.branch("period", updates)
    return records


def within(names: Sequence[str], low: str, high: str) -> str:
    """What was recorded of these variables lies between two numbers."""
    return " & ".join(f"lo_{name} >= {low} & hi_{name} <= {high}" for name in names)
