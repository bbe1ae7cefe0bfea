"""Explicit-state model checking of LTL: the product of all states that are reached with a Büchi automaton.

    graph of the states, with what each step says of the atoms                      (`graph`; of circuits `circuits`)
    automaton of the runs that break the property, fairness as acceptance sets      (`translate`)
    an accepting component of their product: a lasso, replayed                      (`product`)
    none: satisfied

Of systems letters say whether conditions hold in a state, and which branch a step takes (`model.system.letters`).
Vardi, Wolper, *An automata-theoretic approach to automatic program verification*, LICS 1986.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import prod

import numpy as np

from venmas.answer import Broken, LinearAnswer, Proved, Unknown
from venmas.budget import Budget, BudgetError, ask, limited
from venmas.errors import ModelError, Reason
from venmas.logic.paths import Leaf, Proposition
from venmas.model.circuit.nodes import Circuit
from venmas.model.evaluation.simulate import Step
from venmas.model.system.letters import branch_name, condition
from venmas.model.system.system import System
from venmas.model.witness.circuit import Observed
from venmas.model.witness.lasso import STAYS, replayed
from venmas.model.witness.lasso import Run as Lasso
from venmas.procedure import LinearQuestion, Run, Session
from venmas.procedures.explicit.circuits import SMALL, enumerated, product_of
from venmas.procedures.explicit.enumeration import EnumerationProof
from venmas.procedures.explicit.graph.graph import MAX_STATES, OUTSIDE, StateGraph
from venmas.procedures.explicit.levels import Levels, LevelsProof
from venmas.procedures.explicit.product import Letters, Product
from venmas.procedures.explicit.states.atoms import AtomRows
from venmas.procedures.explicit.states.integers import NotExplicitError
from venmas.procedures.linear.procedure import beyond_integers

FEW = 5000
"""States that are taken one by one before ranks are looked for, where there may be too many."""
_TOO_MANY = "there are too many states, or numbers too large, to take them one by one"


@dataclass
class ProductCounts:
    """States that are reached, and pairs of one and a state of the automaton; of a circuit what it depends on."""

    states: int = 0
    pairs: int = 0

    def facts(self) -> list[tuple[str, str]]:
        """Names with values."""
        return [("states", str(self.states)), ("pairs with the automaton", str(self.pairs))]


class ExplicitLtl:
    """The procedure."""

    name = "explicit-ltl"
    linear = True
    help = "The product of all states with a Büchi automaton."

    def accepts(self, question: LinearQuestion, run: Run) -> str | None:
        """Integers; no circuit where a proof is to be of the runs from every state, as it begins in initial ones."""
        if question.anywhere:
            return "it enumerates what initial states reach, and a proof of the runs from every state is wanted"
        return beyond_integers(question.subject) if isinstance(question.subject, System) else None

    def start(self, question: LinearQuestion, run: Run) -> Session:
        """Nothing is done yet."""
        return _OfCircuit(question) if isinstance(question.subject, Circuit) else _OfSystem(question)


class _OfCircuit:
    """First few bits, whose answer waits until ranks were looked for, which say more; then as many as there may be."""

    def __init__(self, question: LinearQuestion) -> None:
        assert isinstance(question.subject, Circuit)
        self.observed = Observed(question.subject, question.formula, question.automaton.atoms)
        self.question, self.figures, self.turns = question, ProductCounts(), 0
        self.proved: Proved | None = None

    def advance(self, budget: Budget) -> LinearAnswer:
        """The answer, or on the first turn that one waits. Raises `BudgetError`."""
        self.turns += 1
        if self.proved is not None:
            return self.proved
        automaton = self.question.automaton
        assert isinstance(self.question.subject, Circuit)
        found = enumerated(self.observed, automaton, budget, *([SMALL] if self.turns == 1 else []))
        if found is None:
            return Unknown(Reason.OPEN, "registers and inputs have too many bits to take all states one by one")
        if isinstance(found, Lasso):
            return Broken(found)
        proof = EnumerationProof(partial(product_of, self.question.subject), automaton, found.nodes - 1)
        self.figures = ProductCounts(found.count, proof.states)
        self.proved = Proved("exact", proof=proof)
        return self.proved if self.turns > 1 else Unknown(Reason.OPEN, "all states were enumerated; ranks may say more")


class _OfSystem:
    """First few states, where there may be too many, then all."""

    def __init__(self, question: LinearQuestion) -> None:
        assert isinstance(question.subject, System)
        self.question, self.system, self.figures = question, question.subject, ProductCounts()
        large = prod(int(high - low) + 1 for low, high in self.system.box.values()) > MAX_STATES
        self.limits = [FEW, MAX_STATES] if large else [MAX_STATES]
        self.answer: LinearAnswer = Unknown(Reason.OPEN, _TOO_MANY)

    def advance(self, budget: Budget) -> LinearAnswer:
        """The answer, unknown where there are too many states. Raises `BudgetError`, `ModelError`."""
        if self.limits:
            try:
                with limited(budget):
                    self.answer = searched(self.question, self.figures, self.limits.pop(0))
            except NotExplicitError:
                self.answer = Unknown(Reason.OPEN, _TOO_MANY)
        return self.answer


EXPLICIT_LTL = ExplicitLtl()


def searched(question: LinearQuestion, figures: ProductCounts, limit: int = MAX_STATES) -> LinearAnswer:
    """Does no run that the automaton accepts break the formula? Raises `NotExplicitError`, `BudgetError`.

    limit: more states are too many.
    """
    system, automaton, deadlock = question.subject, question.automaton, question.asked.deadlock
    assert isinstance(system, System)
    graph = StateGraph(system, ask, transitions=True, limit=limit)
    if not graph.initial:
        raise ModelError(f"the initial set of system {system.name!r} is empty: check the initial conditions")
    while graph.expand():
        figures.states = graph.count
    figures.states = graph.count
    if graph.left is not None:
        Step(system, graph.state(graph.left[0])).successor(graph.left[1])  # says what is left, and how
        raise AssertionError("a step leaves the box in one reading only")
    sources, branches, targets = (column.astype(np.int64) for column in graph.transitions())
    assert not (targets == OUTSIDE).any()
    stuck = np.setdiff1d(np.arange(graph.count), sources)
    if deadlock == "stutter":
        sources, targets = np.concatenate([sources, stuck]), np.concatenate([targets, stuck])
        branches = np.concatenate([branches, np.full(len(stuck), STAYS)])
    bits = _bits(graph, automaton.atoms, sources, branches)
    product = Product(Letters(graph.count, np.arange(graph.initial), sources, targets, bits), automaton)
    figures.pairs = product.nodes
    lasso = product.lasso()
    if lasso is not None:
        first = graph.state(int(sources[lasso.steps[0]]))
        run = replayed(system, first, [int(branches[at]) for at in lasso.steps], lasso.back, question.formula)
        if run is None:
            raise AssertionError("a lasso did not replay")
        return Broken(run)
    if deadlock == "error" and len(stuck):
        at = ", ".join(f"{name} = {system.variables[name].show(v)}" for name, v in graph.state(int(stuck[0])).items())
        return Unknown(
            Reason.OPEN,
            f"a state without a successor is reached ({at}), where no run goes on: guard the branches so that one is "
            "always open, or say that runs stay there (stutter)",
            final=True,
        )
    within = product.longest
    levels = _levels(graph, product, within) if question.certified else None
    return Proved("exact", proof=LevelsProof(product.nodes, within, levels))


def _levels(graph: StateGraph, product: Product, within: int | None) -> Levels | None:
    """None where a limit is met: the verdict is known all the same."""
    size = product.automaton.states
    table = np.full(graph.count * size, -1, np.int32)
    try:
        found = product.levels(within)
    except BudgetError:
        return None
    table[list(found.keys())] = list(found.values())
    return Levels(graph.states(0, graph.count), table.reshape(graph.count, size))


def _bits(graph: StateGraph, atoms: tuple[Leaf, ...], sources: np.ndarray, branches: np.ndarray) -> np.ndarray:
    """Of each step the atoms that are true, as bits."""
    bits = np.zeros(len(sources), np.int64)
    about = {i: one for i, leaf in enumerate(atoms) if (one := condition(leaf)) is not None}
    rows = AtomRows(list(about.values()), list(graph.system.variables), graph.columns.ranges)
    truth = rows.truth(graph.states(0, graph.count))
    for row, i in zip(truth, about, strict=True):
        bits |= row[sources].astype(np.int64) << i
    numbers = {branch_name(one.name): i for i, one in enumerate(graph.system.branches)}
    for i, leaf in enumerate(atoms):
        if i not in about:
            assert isinstance(leaf, Proposition)
            bits |= (branches == numbers[leaf.name]).astype(np.int64) << i
    return bits
