"""Checking ranks: lines that state them, and a bounded proof of each question that they ask."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from venmas.checker.format.about import About
from venmas.checker.format.header import Claim
from venmas.checker.format.lines import Checked, Lines
from venmas.checker.goals.check import check
from venmas.checker.inductive.check import check_inductive
from venmas.checker.inductive.rules import Set
from venmas.checker.levels.check import CheckedRuns, Runs
from venmas.checker.levels.points import Points
from venmas.checker.levels.ranks import BOX, Obligations, Rank, bound, inductive
from venmas.checker.netlists.automata import components
from venmas.logic.formula import TRUE
from venmas.model.invariant import Invariant
from venmas.model.system.system import System


def check_ranks(system: System, claim: Claim, lines: Lines) -> CheckedRuns:
    """Check a proof by ranks of a claim about the valid `system`. Raises `CheckError`."""
    with lines.refusing():
        points, about = Points(system), Runs.read(system, claim, lines)
        if not any(len(states) for states in points.initial()):
            raise lines.refused("the system has no initial state")
        count = _check(system, claim, about, lines)
        lines.end()
        return CheckedRuns(lines.number, questions=count, within=claim.within)


def _check(system: System, claim: Claim, about: Runs, lines: Lines) -> int:
    """Number of the questions of the ranks, whose proofs follow them."""
    invariant = BOX
    if (stated := lines.take(Set)) is not None:
        invariant = stated.read_at(lines, len(system.variables))
        if len(invariant.words) != 1 or invariant == BOX:
            raise lines.refused("ranks are about the states of one word, or, without a set, of the declared box")
    edges = about.edges
    ranks, open_ = list[Rank](), components(about.states, about.marks, edges, range(len(edges)))
    while (rank := lines.take(Rank)) is not None:
        _check_shape(rank, lines, about, len(system.variables))
        if rank.edges not in open_:
            raise lines.refused("a rank is of all edges of a component that is accepting and has none yet")
        open_.remove(rank.edges)
        open_ += components(about.states, about.marks, edges, sorted(set(rank.edges) - set(rank.strict)))
        ranks.append(rank)
    if open_:
        raise lines.refused(f"{len(open_)} accepting components have no rank")
    if claim.within is not None:
        whole = tuple(range(len(edges)))
        if [(one.edges, tuple(sorted(one.strict))) for one in ranks] != [(whole, whole)]:
            raise lines.refused("a number of steps follows from one rank that falls on every edge")
        if bound(ranks[0], system.box) > claim.within:
            raise lines.refused(f"the rank bounds runs by {bound(ranks[0], system.box)} steps only")
    checks = _questions(system, claim, about, ranks, invariant)
    for one in checks:
        with lines.part() as proof:
            one(proof)
    return len(checks)


def _check_shape(rank: Rank, lines: Lines, about: Runs, variables: int) -> None:
    """Refuse a rank that is not of this automaton and so many variables."""
    edges = about.edges
    if any(one >= len(edges) for one in rank.edges) or not rank.strict or set(rank.strict) - set(rank.edges):
        raise lines.refused("a rank is of edges of the automaton, and falls on one of them or more, and no others")
    size, touched = 1 + variables, {edges[e].source for e in rank.edges} | {edges[e].target for e in rank.edges}
    if any(len(row) != size for row in rank.predicates):
        raise lines.refused(f"a predicate has {size} numbers")
    size += len(rank.predicates)
    if len(rank.weights) != len(touched) or any(len(row) != size for row in rank.weights):
        raise lines.refused(f"a rank has {size} weights for each of {len(touched)} states of the automaton")


def _questions(
    system: System, claim: Claim, about: Runs, ranks: list[Rank], invariant: Invariant
) -> list[Callable[[Lines], Checked]]:
    obligations = Obligations(system, about.atoms, about.edges, claim.deadlock == "stutter", invariant)
    questions = [*obligations.goes_on(), *(obligations.falls(one, rank) for rank in ranks for one in rank.edges)]
    return [
        *([partial(check_inductive, system, TRUE, BOX)] if invariant == BOX else []),
        *(partial(check, *question) for question in inductive(system, invariant)),
        *(partial(check, part, formula, False) for part, formula in questions),
    ]


def proved(about: About, lines: Lines) -> Checked:
    """Check a proof of the kind ranks. Raises `CheckError`."""
    return check_ranks(about.system, about.claim, lines)
