"""Witnesses with loops: runs that do not end, stored as lists of nodes in which a repeated state closes a loop.

A node without a successor of its own, whose state equals that of another node, stands for that node: from there the
run goes on as it did. Folded so, a witness is a finite graph of states whose steps are steps of the system. A core
formula with fixpoints that holds in this graph holds in the system, because it is positive: what is shown by some
steps is shown by those that are there, and what needs all steps is shown only where all of them are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from math import inf
from typing import Generic, TypeVar

from venmas.budget import ask
from venmas.logic import AX, EX, TRUE, And, Atom, Bottom, Fixpoint, Formula, Or, Quantifier, Top, subformulas
from venmas.model.witness.decide import Margin, Structure, Trail, comparison_margin
from venmas.model.witness.tree import Node, Witness

Key = TypeVar("Key")

_NOWHERE = Trail(None, -1)


def fold(witness: Witness) -> Witness:
    """One node for each state that is reached from the first, with the steps of all nodes of that state.

    The graph may have loops, which no stored file has: it is for deciding only.
    """
    nodes = witness.nodes
    numbers: dict[tuple[Fraction, ...], int] = {}
    members: list[list[Node]] = []
    place: dict[int, int] = {}
    waiting = [0]
    while waiting:
        ask()
        index = waiting.pop()
        if index in place:
            continue
        node = nodes[index]
        number = numbers.setdefault(tuple(v.exact for v in node.state), len(members))
        if number == len(members):
            members.append([])
        place[index] = number
        members[number].append(node)
        waiting.extend(child for _, child in node.children)
    folded = []
    for group in members:
        steps = {branch: place[child] for node in group for branch, child in node.children}
        ending = next((n for n in group if n.deadlock), group[0])
        atoms = tuple({m.atom: m for node in group for m in node.atoms}.values())
        folded.append(replace(ending, state=group[0].state, atoms=atoms, children=tuple(steps.items())))
    return Witness(tuple(folded))


class Loops(Generic[Key]):
    """Deciding a core formula with fixpoints over the finite graph that a structure spans from a key."""

    def __init__(self, structure: Structure[Key]) -> None:
        self.structure = structure

    def decide(self, formula: Formula, root: Key, most: int) -> Margin | None:
        """The margin at the root, as `Decider.decide` has it; None also where the graph has more than `most` keys."""
        keys, steps = [root], {root: 0}
        successors: list[list[int]] = []
        for key in keys:
            ask()
            found = [k for _, k in self.structure.some(key, _NOWHERE, TRUE)]
            for k in found:
                if k not in steps:
                    steps[k] = len(keys)
                    keys.append(k)
            successors.append([steps[k] for k in found])
            if len(keys) > most:
                return None
        margins: dict[Formula, list[Margin | None]] = {}
        complete: list[bool] | None = None
        for node in subformulas(formula):
            if complete is None and _looks_at_all(node):
                complete = [self.structure.every(key, _NOWHERE, TRUE) is not None for key in keys]
            margins[node] = self._margins(node, margins, keys, successors, complete or [])
        return margins[formula][0]

    def _margins(
        self,
        node: Formula,
        known: dict[Formula, list[Margin | None]],
        keys: list[Key],
        successors: list[list[int]],
        complete: list[bool],
    ) -> list[Margin | None]:
        parts = [known[child] for child in node.children]
        every = range(len(keys))
        match node:
            case Top() | Bottom():
                return [inf if isinstance(node, Top) else None] * len(keys)
            case Atom(comparison):
                relation = comparison.relation
                return [comparison_margin(relation, self.structure.value(node, key)) for key in keys]
            case And(_) | Or(_):
                join = least if isinstance(node, And) else most
                return [join(part[i] for part in parts) for i in every]
            case EX(_):
                return [most(parts[0][k] for k in successors[i]) for i in every]
            case AX(_):
                return [least(parts[0][k] for k in successors[i]) if complete[i] else None for i in every]
            case Fixpoint(is_least, quantifier, _, _):
                return _fixpoint(is_least, quantifier is Quantifier.ALL, parts[0], parts[1], successors, complete)
        raise TypeError(f"{type(node).__name__} is no core formula: pass it through fixpoints() first")


def _looks_at_all(node: Formula) -> bool:
    return isinstance(node, AX) or (isinstance(node, Fixpoint) and node.quantifier is Quantifier.ALL)


def _fixpoint(
    is_least: bool,
    every: bool,
    left: list[Margin | None],
    right: list[Margin | None],
    successors: list[list[int]],
    complete: list[bool],
) -> list[Margin | None]:
    """The least or greatest margins that solve the equation, by a work list over predecessors."""
    before: list[list[int]] = [[] for _ in successors]
    for i, targets in enumerate(successors):
        for k in targets:
            before[k].append(i)
    join: Callable[[Iterable[Margin | None]], Margin | None] = least if every else most
    inner, outer = (least, most) if is_least else (most, least)
    found: list[Margin | None] = [None if is_least else inf] * len(successors)
    waiting, queued = list(range(len(successors)))[::-1], [True] * len(successors)
    while waiting:
        ask()
        i = waiting.pop()
        queued[i] = False
        step = None if every and not complete[i] else join(found[k] for k in successors[i])
        new = outer((right[i], inner((left[i], step))))
        if new != found[i]:
            found[i] = new
            for k in before[i]:
                if not queued[k]:
                    queued[k] = True
                    waiting.append(k)
    return found


def least(margins: Iterable[Margin | None]) -> Margin | None:
    """Of a conjunction: None where one of them does not hold, `inf` for none at all."""
    smallest: Margin = inf
    for margin in margins:
        if margin is None:
            return None
        smallest = min(smallest, margin)
    return smallest


def most(margins: Iterable[Margin | None]) -> Margin | None:
    """Of a disjunction: None where none holds."""
    return max((m for m in margins if m is not None), default=None)


__all__ = ["Loops", "fold"]
