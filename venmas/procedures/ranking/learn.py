"""Learner: neurons mined from the netlist, their weights a linear program over counterexamples.

    for each level:   weights: cheapest that meet all samples           (`linear`)
                      each edge, each value of the control registers:   (`model.circuit.smt`)
                          is there a step of the edge on which the rank does not fall as it must?
                      none: done.   some: they are new samples.   no weights: next level.

Instead of the gradient descent of Giacobbe, Kroening, Pal, Tautschnig, *Neural Model Checking*, NeurIPS 2024.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter

from venmas.budget import Budget
from venmas.model.circuit.smt import Smt
from venmas.procedures.netlist.mining import LEVELS, Pool, control_registers, pool, sampled_states
from venmas.procedures.netlist.step import Goal, step_of
from venmas.procedures.ranking.obligations.obligations import Obligations
from venmas.procedures.ranking.obligations.queries import Queries
from venmas.procedures.ranking.weights.linear import Weights


@dataclass(frozen=True)
class Network:
    """Ranks of the automaton's states: of each a sum of weights times neurons, all integers."""

    weights: dict[int, tuple[int, ...]]
    pool: Pool
    level: int

    def text(self) -> dict[int, str]:
        """Of each state its rank as people write it."""
        texts = [neuron.text for neuron in self.pool.neurons]
        return {
            state: _sum_text([(w, t) for w, t in zip(weights, texts, strict=True) if w])
            for state, weights in self.weights.items()
        }


def _sum_text(terms: Sequence[tuple[int, str]]) -> str:
    """A sum as people write it: ``-cnt - 180000 [state=1]``; constants are weights of the neuron 1."""
    out = ""
    for weight, text in terms:
        size = str(abs(weight)) if text == "1" else text if abs(weight) == 1 else f"{abs(weight)} {text}"
        sign = "-" if weight < 0 else "+"
        out += f" {sign} {size}" if out else f"{sign}{size}".removeprefix("+")
    return out or "0"


@dataclass
class Figures:
    """What the work took; times of this process. levels: why each level that had no network had none."""

    rounds: int = 0
    samples: int = 0
    queries: int = 0
    smt_seconds: float = 0.0
    lp_seconds: float = 0.0
    proof_seconds: float = 0.0
    levels: list[str] = field(default_factory=list)

    def facts(self) -> list[tuple[str, str]]:
        """Names with values."""
        seconds = {"linear programs": self.lp_seconds, "SMT solver": self.smt_seconds, "proofs": self.proof_seconds}
        return [
            ("networks", f"{self.rounds} tried, on {self.samples} counterexamples"),
            ("queries", f"{self.queries} to the SMT solver"),
            ("seconds", ", ".join(f"{name} {value:.3f}" for name, value in seconds.items())),
        ]


def rank(goal: Goal, budget: Budget, figures: Figures, levels: Sequence[int] = LEVELS) -> Network | None:
    """A network that falls on every strict edge and rises on none, for all states. Raises `BudgetError`."""
    step = step_of(goal.circuit, goal.letters)
    control = control_registers(goal.circuit)
    states = sampled_states(goal.circuit)
    smt = Smt(step.builder)
    try:
        for level in levels:
            neurons = pool(goal, level, control, states)
            found = _Level(level, neurons, Obligations(goal, step, neurons), smt, control).run(budget, figures)
            if isinstance(found, Network):
                return found
            figures.levels.append(f"level {level}: {found}")
        return None
    finally:
        figures.queries += smt.queries
        figures.smt_seconds += smt.seconds


class _Level:
    def __init__(self, level: int, pool_: Pool, asked: Obligations, smt: Smt, control: Sequence[int]) -> None:
        self.level, self.pool, self.asked, self.smt, self.control = level, pool_, asked, smt, control
        self.goal = asked.goal
        self.program = Weights([neuron.cost for neuron in pool_.neurons] * len(self.goal.states))

    def run(self, budget: Budget, figures: Figures) -> Network | str:
        queries = Queries(self.asked, self.smt, self.control)
        size = len(self.pool.neurons)
        while True:
            budget()
            begun = perf_counter()
            flat = self.program.solve()
            figures.lp_seconds += perf_counter() - begun
            if flat is None:
                return f"no weights for {self.program.rows} samples"
            figures.rounds += 1
            weights = {q: tuple(flat[at * size : (at + 1) * size]) for at, q in enumerate(self.goal.states)}
            found = queries.failures(weights, budget)
            if isinstance(found, str):
                return found
            for edge, values in found:
                row = self.asked.row(edge, values)
                self.program.add(
                    [value for state in self.goal.states for value in row[state]], edge in self.goal.strict
                )
            figures.samples += len(found)
            if not found:
                return Network(weights, self.pool, self.level)
