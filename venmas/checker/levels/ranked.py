"""Checking the ranks of a certificate: a line that has them all, and a bounded proof of each question that they ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from venmas.checker.format.numbers import CheckError
from venmas.checker.format.rule import Line
from venmas.checker.goals.check import Checked, check
from venmas.checker.inductive.check import check_inductive
from venmas.checker.inductive.header import read_invariant, write_invariant
from venmas.checker.inductive.phases import part_of
from venmas.checker.levels.claim import Claim
from venmas.checker.levels.ranks import BOX, Obligations, Rank, bound, inductive
from venmas.checker.netlists.automata import components
from venmas.checker.netlists.lines import Automaton
from venmas.checker.netlists.simulation import Edge
from venmas.logic.formula import TRUE
from venmas.logic.paths import Leaf
from venmas.model.invariant import Invariant
from venmas.model.system.system import System

_Lines = Iterator[tuple[int, Line]]
_KEYS = {"edges", "strict", "predicates", "weights"}
_MOST = 1000
"""Most numbers of one kind in a rank."""
_MOST_BITS = 4096


def ranks_json(ranks: Sequence[Rank], invariant: Invariant = BOX) -> dict[str, object]:
    """The line."""
    told = {} if invariant == BOX else {"invariant": write_invariant(invariant)}
    return {"rule": "ranks", "ranks": [{key: getattr(rank, key) for key in sorted(_KEYS)} for rank in ranks], **told}


def check_ranks(
    system: System,
    claim: Claim,
    stated: Automaton,
    atoms: Sequence[Leaf],
    edges: Sequence[Edge],
    line: tuple[int, Line],
    lines: _Lines,
    tick: Callable[[int], None],
) -> tuple[int, int]:
    """Check them from their line on; the last line of the last proof, and how many questions there were."""
    number, data = line
    if data.keys() - {"invariant"} != {"rule", "ranks"} or not isinstance(data["ranks"], list):
        raise CheckError(number, "expected the ranks")
    ranks = [_read(number, one, edges, len(system.variables)) for one in data["ranks"]]
    open_ = components(stated.states, stated.marks, edges, range(len(edges)))
    for rank in ranks:
        if rank.edges not in open_:
            raise CheckError(number, "a rank is of all edges of a component that is accepting and has none yet")
        open_.remove(rank.edges)
        open_ += components(stated.states, stated.marks, edges, sorted(set(rank.edges) - set(rank.strict)))
    if open_:
        raise CheckError(number, f"{len(open_)} accepting components have no rank")
    if claim.within is not None:
        whole = tuple(range(len(edges)))
        if [(one.edges, tuple(sorted(one.strict))) for one in ranks] != [(whole, whole)]:
            raise CheckError(number, "a number of steps follows from one rank that falls on every edge")
        if bound(ranks[0], system.box) > claim.within:
            raise CheckError(number, f"the rank bounds runs by {bound(ranks[0], system.box)} steps only")
    invariant = _invariant(number, data["invariant"], len(system.variables)) if "invariant" in data else BOX
    asked = Obligations(system, atoms, edges, claim.stutter, invariant)
    questions = [*asked.goes_on(), *(asked.falls(one, rank) for rank in ranks for one in rank.edges)]
    checks: list[Callable[[_Lines, Callable[[int], None]], Checked]] = [
        *([partial(check_inductive, system, TRUE, BOX)] if invariant == BOX else []),
        *(partial(check, *question) for question in inductive(system, invariant)),
        *(partial(check, part, formula, False) for part, formula in questions),
    ]
    for one in checks:

        def ticked(at: int, before: int = number) -> None:
            tick(before + at)

        try:
            number += one(part_of(lines, number), ticked).lines
        except CheckError as error:
            raise CheckError(number + error.line, error.problem) from error
    return number, len(checks)


def _invariant(line: int, data: object, variables: int) -> Invariant:
    """The set that ranks are about. Raises `CheckError`."""
    try:
        found = read_invariant(data, variables)
    except CheckError as error:
        raise CheckError(line, error.problem) from error
    if len(found.words) != 1:
        raise CheckError(line, "ranks are about the states of one word")
    return found


def _read(line: int, data: Any, edges: Sequence[Edge], variables: int) -> Rank:
    """A rank of the right shape. Raises `CheckError`."""
    if not isinstance(data, dict) or data.keys() != _KEYS:
        raise CheckError(line, f"a rank has the entries {', '.join(sorted(_KEYS))}")
    rank = Rank(
        _numbers(line, data["edges"]),
        _numbers(line, data["strict"]),
        _rows(line, data["predicates"]),
        _rows(line, data["weights"]),
    )
    if any(not 0 <= one < len(edges) for one in rank.edges) or not rank.strict or set(rank.strict) - set(rank.edges):
        raise CheckError(line, "a rank is of edges of the automaton, and falls on one of them or more, and no others")
    size, touched = 1 + variables, {edges[e].source for e in rank.edges} | {edges[e].target for e in rank.edges}
    if any(len(row) != size for row in rank.predicates):
        raise CheckError(line, f"a predicate has {size} numbers")
    size += len(rank.predicates)
    if len(rank.weights) != len(touched) or any(len(row) != size for row in rank.weights):
        raise CheckError(line, f"a rank has {size} weights for each of {len(touched)} states of the automaton")
    return rank


def _rows(line: int, data: object) -> tuple[tuple[int, ...], ...]:
    if not isinstance(data, list) or len(data) > _MOST:
        raise CheckError(line, f"expected a list of up to {_MOST} rows")
    return tuple(_numbers(line, row) for row in data)


def _numbers(line: int, data: object) -> tuple[int, ...]:
    if not isinstance(data, list) or any(type(one) is not int or one.bit_length() > _MOST_BITS for one in data):
        raise CheckError(line, f"expected whole numbers: {str(data)[:60]}")
    return tuple(data)
