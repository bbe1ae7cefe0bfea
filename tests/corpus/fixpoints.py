"""The oracle of formulas without bounds: fixpoints over the states of a finite graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.corpus.spec import State
from venmas.logic import AX, EX, And, Atom, Bottom, CoBuchi, Fixpoint, Formula, Or, Quantifier, Top


def holding(
    core: Formula, states: Sequence[State], edges: Sequence[Iterable[int]], *, rim: bool = False
) -> frozenset[int]:
    """The states that satisfy a core formula, where steps from states without a row of edges are as good as `rim`."""
    every = frozenset(range(len(states)))

    def before(all_: bool, good: frozenset[int]) -> frozenset[int]:
        join = all if all_ else any
        sure = frozenset(s for s, row in enumerate(edges) if join(t in good for t in row))
        return sure | every - frozenset(range(len(edges))) if rim else sure

    match core:
        case Top() | Bottom():
            return every if isinstance(core, Top) else frozenset()
        case Atom(comparison):
            return frozenset(s for s in every if comparison.holds(states[s]))
        case And(parts):
            return frozenset.intersection(*(holding(part, states, edges, rim=rim) for part in parts))
        case Or(parts):
            return frozenset.union(*(holding(part, states, edges, rim=rim) for part in parts))
        case AX(part) | EX(part):
            return before(isinstance(core, AX), holding(part, states, edges, rim=rim))
        case CoBuchi(part):
            assert not rim
            held = holding(part, states, edges)
            met = {s: _met(s, edges) for s in every}
            again = {s for s in every if s in met[s] and s not in held}
            return frozenset(s for s in every if not (met[s] | {s}) & again)
        case Fixpoint(least, quantifier, left, right):
            p, q = (holding(part, states, edges, rim=rim) for part in (left, right))
            all_ = quantifier is Quantifier.ALL
            found = frozenset[int]() if least else every
            while True:
                by_step = before(all_, found)
                after = q | (p & by_step) if least else q & (p | by_step)
                if after == found:
                    return found
                found = after
    raise AssertionError(core)


def _met(state: int, edges: Sequence[Iterable[int]]) -> set[int]:
    """The states that a run may come to after a step or more."""
    met: set[int] = set()
    waiting = list(edges[state])
    while waiting:
        new = waiting.pop()
        if new not in met:
            met.add(new)
            waiting += edges[new]
    return met
