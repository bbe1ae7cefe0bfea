"""Decision of LTL properties of systems of integers and Booleans, over unbounded time, state by state.

    graph of the states that are reached, with the branch of each step              (`procedures.explicit.graph`)
    automaton of the runs that break the property, fairness as acceptance sets      (`translate`)
    an accepting component of their product: a lasso, replayed in the system        (`product`, `replay`)
    none: satisfied
    too many states: ranks of all states of the box, or of an inductive set, asked one step at a time  (`ranks`)

Letters say of a step whether conditions hold in its state, and which branch it takes: the condition ``"branch NAME"``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from venmas.answer import Unknown
from venmas.budget import Budget, BudgetError, ask, limited
from venmas.errors import ModelError, Reason, UsageError
from venmas.logic import Atom
from venmas.logic.automata.automaton import Automaton
from venmas.logic.automata.translate import questioned, refuting
from venmas.logic.formula import Formula
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.logic.ltl_parser import parse_ltl
from venmas.logic.paths import Leaf, Proposition
from venmas.model.evaluation.simulate import Step
from venmas.model.system.system import System
from venmas.model.witness.lasso import SystemRun, replayed
from venmas.procedures.explicit.graph.graph import MAX_STATES, OUTSIDE, StateGraph
from venmas.procedures.explicit.product import Letters, Product
from venmas.procedures.explicit.states.atoms import AtomRows
from venmas.procedures.explicit.states.integers import NotExplicitError
from venmas.procedures.netlist.answers import Proved, Violated
from venmas.procedures.ranking.systems.ranks import Ranked, ranked

Deadlock = Literal["error", "stutter"]
FEW, PATIENCE = 5000, 2.0
"""Where there may be too many states: so many are taken one by one, then ranks have so many seconds, then all are."""
STAYS = -1
"""The branch of a step that stays in a state without a successor, which none is."""


@dataclass(frozen=True)
class Levels:
    """Why: all states that are reached (B, variables), and a level for each with each automaton state; -1: not a pair.

    Along a step levels do not rise; they fall where `Product.levels` says (B, automaton states).
    """

    states: NDArray[np.integer]
    table: NDArray[np.int32]


@dataclass(frozen=True)
class Satisfied(Proved):
    """Every run has the property. within: steps after which every run has shown it, where there is such a number.

    levels: kept where they were asked for and no limit was met. ranked: where states were not taken one by one.
    """

    within: int | None
    levels: Levels | None = None
    ranked: Ranked | None = None


@dataclass
class Work:
    """What was done: the automaton, states of the system, and pairs of them with automaton states."""

    automaton: Automaton
    states: int = 0
    pairs: int = 0


def branch_name(name: str) -> str:
    """The condition that a step takes the branch of this name; in a formula in double quotes."""
    return f"branch {name}"


def read(system: System, text: str) -> Formula:
    """A formula of LTL over a system: its variables and propositions, and the branches. Raises `FormulaError`."""
    known = system.vocabulary
    branches = {branch_name(one.name): Proposition(branch_name(one.name)) for one in system.branches}
    return parse_ltl(text, replace(known, propositions={**known.propositions, **branches}))


def decide(
    system: System,
    formula: Formula,
    budget: Budget,
    fair: Iterable[Formula] = (),
    deadlock: Deadlock = "error",
    levels: bool = False,
) -> tuple[Satisfied | Violated[SystemRun] | Unknown, Work]:
    """Does every run of the system from an initial state have the property (L3 of docs/semantics.md)?

    fair: conditions that hold again and again on the runs that are meant. deadlock: `stutter`, a run stays for ever in
    a state without successor; `error`, where one is reached nothing is satisfied. levels: keep why it is satisfied.
    Raises `FormulaError`, `ModelError` (also where a run leaves the declared box), and `UsageError` for systems that
    this is not for.
    """
    _check(system)
    whole = questioned(formula, fair)
    automaton = refuting(whole)
    work = Work(automaton)
    try:
        first: Satisfied | Literal["none"] | None = None
        for limit in (FEW, MAX_STATES) if _large(system) else (MAX_STATES,):
            try:
                with limited(budget):
                    return searched(system, whole, automaton, deadlock, work, levels, limit), work
            except NotExplicitError:
                if first is None:
                    first = _by_ranks(system, work, deadlock, budget.within(PATIENCE) if limit == FEW else budget)
                if isinstance(first, Satisfied):
                    return first, work
        told = (
            "there are too many states, or numbers too large, to take them one by one, and no rank of all states of "
            "the declared box or of an inductive set in it, a weighted sum of variables and comparisons, was found"
        )
        return Unknown(Reason.OPEN, told), work
    except BudgetError as error:
        return Unknown(error.reason, error.message), work
    except KeyboardInterrupt:
        return Unknown(Reason.INTERRUPTED, "interrupted before a verdict was reached"), work


def _check(system: System) -> None:
    system.validate()
    if system.smooth:
        raise UsageError(
            f"LTL without a horizon is decided for piecewise linear systems, and {system.smooth}: ask bounded CTL, "
            "such as AG^5 p, by `venmas verify`"
        )
    real = [name for name, decl in system.variables.items() if not decl.integral]
    if system.disturbances or system.quantities or real:
        what = f"variable {real[0]} is real" if real else "the system has disturbances or quantities"
        raise UsageError(
            f"LTL without a horizon is decided for systems of integers and Booleans, and {what}: ask bounded CTL, such "
            "as AG^5 p, or AG p without a bound, by `venmas verify`"
        )


def _large(system: System) -> bool:
    """Are there more states in the declared box than are taken one by one? Few of them may be reached."""
    return prod(int(high - low) + 1 for low, high in system.box.values()) > MAX_STATES


def _by_ranks(system: System, work: Work, deadlock: Deadlock, budget: Budget) -> Satisfied | Literal["none"] | None:
    """None where this part of the time is over, but not all of it. Raises `BudgetError`."""
    try:
        with limited(budget):
            found = ranked(system, work.automaton, deadlock == "stutter")
    except BudgetError as error:
        if error.budget is budget and budget.parent is not None:
            return None
        raise
    return "none" if found is None else Satisfied(found.within, ranked=found)


def searched(
    system: System,
    formula: Formula,
    automaton: Automaton,
    deadlock: Deadlock,
    work: Work,
    levels: bool,
    limit: int = MAX_STATES,
) -> Satisfied | Violated[SystemRun] | Unknown:
    """Does no run that the automaton accepts break the formula? Raises `NotExplicitError`, `BudgetError`.

    limit: more states are too many. The rest as for `decide`.
    """
    graph = StateGraph(system, ask, transitions=True, limit=limit)
    if not graph.initial:
        raise ModelError(f"the initial set of system {system.name!r} is empty: check the initial conditions")
    while graph.expand():
        work.states = graph.count
    work.states = graph.count
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
    work.pairs = product.nodes
    lasso = product.lasso()
    if lasso is not None:
        first = graph.state(int(sources[lasso.steps[0]]))
        run = replayed(system, first, [int(branches[at]) for at in lasso.steps], lasso.back, formula, condition)
        if run is None:
            raise AssertionError("a lasso did not replay")
        return Violated(run)
    if deadlock == "error" and len(stuck):
        at = ", ".join(f"{name} = {system.variables[name].show(v)}" for name, v in graph.state(int(stuck[0])).items())
        return Unknown(
            Reason.OPEN,
            f"a state without a successor is reached ({at}), where no run goes on: guard the branches so that one is "
            "always open, or say that runs stay there (stutter)",
        )
    within = product.longest
    return Satisfied(within, _levels(graph, product, within) if levels else None)


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


def condition(leaf: Leaf) -> Atom | None:
    """A condition about a state as a comparison; None for one about the branch that is taken."""
    if isinstance(leaf, Atom):
        return leaf
    if leaf.name.startswith(branch_name("")):
        return None
    return Atom(Comparison(LinearExpr.variable(leaf.name) - LinearExpr((), Fraction(1)), Relation.GE))  # a Boolean one


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
