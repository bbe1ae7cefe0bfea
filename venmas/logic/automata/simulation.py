"""Direct simulation between the states of an automaton."""

from __future__ import annotations

from venmas.logic.automata.automaton import Automaton, Edge
from venmas.logic.automata.effort import Effort
from venmas.logic.automata.label import covered

_SHARE = 3
"""One part in so many of the effort that is left may be spent on comparing states; beyond, equal states stay apart."""


def simulation(automaton: Automaton, effort: Effort) -> list[int]:
    """Of each state q, as bits, states p that simulate it: each edge of q is matched, for each of its letters, by one
    of p that has its marks and leads to a state that simulates its target.

    The greatest such relation; where comparing costs too much, the identity.
    """
    share = Effort(effort.left // _SHARE)
    least = [1 << q for q in range(automaton.states)]
    pairs = sum(map(len, automaton.leaving)) ** 2
    if pairs > share.left:
        return least
    above = [(1 << automaton.states) - 1] * automaton.states
    changed = True
    while changed:
        changed = False
        for q, leaving in enumerate(automaton.leaving):
            rest = above[q] & ~least[q]
            while rest:
                p = rest.bit_length() - 1
                rest ^= 1 << p
                if not _matches(leaving, automaton.leaving[p], above, effort):
                    above[q] ^= 1 << p
                    changed = True
    return above


def _matches(leaving: tuple[Edge, ...], others: tuple[Edge, ...], above: list[int], effort: Effort) -> bool:
    for edge in leaving:
        matching = [
            other.label for other in others if above[edge.target] >> other.target & 1 and not edge.marks & ~other.marks
        ]
        effort.spend(1 + len(others) // 4)
        if not matching or not covered(edge.label, matching, effort):
            return False
    return True
