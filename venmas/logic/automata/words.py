"""Which lassos an automaton accepts, by fixpoints on the product with the ring: the other side of `logic.lassos`."""

from __future__ import annotations

from venmas.budget import ask
from venmas.logic.automata.automaton import Automaton
from venmas.logic.automata.label import Label
from venmas.logic.lassos import Lasso, Words


def accepts(automaton: Automaton, lasso: Lasso) -> bool:
    """Has the word an accepting run?"""
    return bool(accepted(automaton, lasso.packed(automaton.atoms)))


def accepted(automaton: Automaton, words: Words) -> int:
    """The words that have an accepting run, as bits. The truth of every atom of the automaton is asked for.

    The greatest Z such that from each member every acceptance set is met on a way back to Z (Emerson, Lei 1986).
    """
    enabled = [_enabled(automaton, edge.label, words) for edge in automaton.edges]
    alive = [[words.every] * words.length for _ in range(automaton.states)]
    while True:
        ask()
        before = [row[:] for row in alive]
        for mark in range(automaton.marks) if automaton.marks else (None,):
            met = _reaching(automaton, enabled, words, alive, mark)
            alive = [[a & b for a, b in zip(row, other, strict=True)] for row, other in zip(alive, met, strict=True)]
        if alive == before:
            return alive[0][0]


def _reaching(
    automaton: Automaton, enabled: list[list[int]], words: Words, goal: list[list[int]], mark: int | None
) -> list[list[int]]:
    """From where an edge of the acceptance set (None: any edge) leads to the goal, now or later."""
    found = [[0] * words.length for _ in range(automaton.states)]
    for edge, when in zip(automaton.edges, enabled, strict=True):
        if mark is None or edge.marks >> mark & 1:
            row = words.following(goal[edge.target])
            found[edge.source] = [a | (b & c) for a, b, c in zip(found[edge.source], when, row, strict=True)]
    while mark is not None:
        ask()
        changed = False
        for edge, when in zip(automaton.edges, enabled, strict=True):
            row = words.following(found[edge.target])
            new = [a | (b & c) for a, b, c in zip(found[edge.source], when, row, strict=True)]
            if new != found[edge.source]:
                found[edge.source], changed = new, True
        if not changed:
            break
    return found


def _enabled(automaton: Automaton, label: Label, words: Words) -> list[int]:
    values = [words.every] * words.length
    for number, sign in label.literals():
        row = words.truth[automaton.atoms[number]]
        values = [a & (b if sign else ~b) for a, b in zip(values, row, strict=True)]
    return values
