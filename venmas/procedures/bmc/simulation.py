"""Simulation as a procedure of LTL: runs with inputs that stay as they are come back to a state sooner or later.

32 runs at once, from random initial states under random constant inputs, 5,000 steps each:
    a state that a run was in before: a lasso, which is replayed, the formula evaluated on its letters
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from venmas.answer import Broken, LinearAnswer, Unknown
from venmas.budget import Budget
from venmas.errors import Reason
from venmas.model.circuit.nodes import Circuit
from venmas.model.circuit.operators import mask
from venmas.model.circuit.simulate import first_states, step
from venmas.model.witness.circuit import Observed
from venmas.model.witness.lasso import Run as Lasso
from venmas.procedure import LinearQuestion
from venmas.procedures.linear.procedure import LinearProcedure
from venmas.procedures.netlist.mining import random_words

RUNS = 32
"""Runs at once."""
STEPS = 5000
"""Steps of each."""
_MOST_WORDS = 20_000_000
"""Words of states that are kept."""


def rollouts(observed: Observed, budget: Budget, seed: int = 0) -> Lasso | None:
    """A replayed run that breaks the formula, None where none was met. Raises `BudgetError`."""
    rng, circuit = np.random.default_rng(seed), observed.circuit
    inputs = []
    for node in circuit.inputs:
        column = random_words(rng, circuit.width(node), RUNS)
        column[:2] = 0, mask(circuit.width(node))
        inputs.append(column)
    free = tuple(random_words(rng, circuit.width(node), RUNS) for node in circuit.registers)
    for column in free:
        column[: RUNS // 4] = 0
    state = first_states(circuit, free, inputs)
    seen: list[dict[tuple[int, ...], int]] = [{} for _ in range(RUNS)]
    going = set(range(RUNS))
    for at in range(min(STEPS, _MOST_WORDS // (RUNS * max(1, len(state))))):
        budget()
        rows = list(zip(*(column.tolist() for column in state), strict=True)) if state else [()] * RUNS
        for run in list(going):
            back = seen[run].setdefault(rows[run], at)
            if back < at:
                going.remove(run)
                constant = [int(column[run]) for column in inputs]
                found = observed.replay(next(iter(seen[run])), [constant] * at, back)
                if found is not None:
                    return found
        if not going:
            return None
        state = step(circuit, state, inputs)
    return None


@dataclass
class RunCounts:
    """Simulated runs."""

    runs: int = 0

    def facts(self) -> list[tuple[str, str]]:
        """Names with values."""
        return [("runs", f"{self.runs} of up to {STEPS} steps")]


class _Session:
    def __init__(self, question: LinearQuestion) -> None:
        assert isinstance(question.subject, Circuit)
        self.observed, self.figures = Observed(question.subject, question.formula), RunCounts()

    def advance(self, budget: Budget) -> LinearAnswer:
        """Violated where a run breaks the property. Raises `BudgetError`."""
        self.figures.runs = RUNS
        found = rollouts(self.observed, budget)
        return Unknown(Reason.OPEN, "no run that was simulated breaks it") if found is None else Broken(found)


SIMULATION = LinearProcedure(
    "simulation",
    "Random runs of a netlist under constant inputs, into their loops.",
    Circuit,
    "it simulates netlists",
    _Session,
)
