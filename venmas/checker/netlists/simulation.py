"""Fair simulation of a tableau by an automaton, which then accepts every word of it: a game, solved as a fixpoint.

One player runs through the tableau, the other answers each step with one of the automaton under the same letter. The
second wins where he meets each acceptance set again and again, or the first puts some until off for ever. Where he wins
from the initial pair, whatever the first does, every word of the tableau has an accepting run of the automaton.
The winning pairs are (Piterman, Pnueli, Sa'ar, *Synthesis of Reactive(1) Designs*, VMCAI 2006)

    greatest Z: for every set j: least Y: for some until i: greatest X:
        every step is answered by one in j to Z, or one to Y, or, where it puts i off, one to X
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from venmas.budget import ask
from venmas.checker.netlists.tableau import Tableau
from venmas.errors import InputError

MOST_ATOMS = 12
"""Most atoms: each letter is looked at."""
_MOST_PAIRS = 20_000


class Edge(NamedTuple):
    """A transition of an automaton: letters that agree with `value` on `care`; marks: acceptance sets, as bits."""

    source: int
    care: int
    value: int
    target: int
    marks: int


_Answers = frozenset[tuple[int, int]]
"""Marks, and the pair that comes next."""
_Moves = list[tuple[int, _Answers]]
"""Of each pair: untils that the step puts off, and the answers that there are."""


def simulates(edges: Sequence[Edge], states: int, marks: int, formula: Tableau) -> bool:
    """Does the second player win from the initial pair? Raises `InputError` where the game is too large."""
    if len(formula.atoms) > MOST_ATOMS or formula.states * states > _MOST_PAIRS:
        raise InputError(f"the property has more than {MOST_ATOMS} atoms, or automata of too many states")
    moves = _moves(edges, states, formula)
    untils: Sequence[int] = [1 << i for i in range(formula.untils)] or [0]
    sets: Sequence[int] = [1 << j for j in range(marks)] or [0]
    z = set(moves)
    while True:
        before = len(z)
        for mark in sets:
            z &= _until_met(moves, mark, untils, z)
        if 0 not in z or len(z) == before:
            return 0 in z


def _until_met(moves: dict[int, _Moves], mark: int, untils: Sequence[int], z: set[int]) -> set[int]:
    """From where an edge of the set is met on the way back to z, or some until is put off for ever."""
    y: set[int] = set()
    while True:
        reached = set(y)
        for until in untils:
            x = set(z)
            while True:
                ask()
                kept = {pair for pair in x if all(_answered(move, mark, until, z, reached, x) for move in moves[pair])}
                if kept == x:
                    break
                x = kept
            reached |= x
        if reached == y:
            return y
        y = reached


def _answered(move: tuple[int, _Answers], mark: int, until: int, z: set[int], y: set[int], x: set[int]) -> bool:
    put_off, answers = move
    for marks, target in answers:
        if target in y or (marks & mark == mark and target in z) or (put_off & until and target in x):
            return True
    return False


def _moves(edges: Sequence[Edge], states: int, formula: Tableau) -> dict[int, _Moves]:
    """Of each pair (state of the tableau, state of the automaton) that can be met what may happen, by letters."""
    leaving: list[list[Edge]] = [[] for _ in range(states)]
    for edge in edges:
        leaving[edge.source].append(edge)
    arcs: dict[int, list[tuple[int, int, int, int]]] = {}
    for source, care, value, target, put_off in formula.arcs:
        arcs.setdefault(source, []).append((care, value, target, put_off))
    by_state: dict[int, _Moves] = {}
    stack = [0]
    while stack:
        pair = stack.pop()
        if pair in by_state:
            continue
        ask()
        here, state = divmod(pair, states)
        moves: dict[tuple[int, _Answers], None] = {}
        for care, value, target, put_off in arcs.get(here, ()):
            near = [edge for edge in leaving[state] if not (edge.value ^ value) & edge.care & care]
            cared = 0
            for edge in near:
                cared |= edge.care
            for letter in _letters(cared & ~care, value):
                answers = frozenset(
                    (edge.marks, target * states + edge.target) for edge in near if letter & edge.care == edge.value
                )
                moves[(put_off, answers)] = None
                stack += [pair for _, pair in answers if pair not in by_state]
        by_state[pair] = list(moves)
    return by_state


def _letters(free: int, value: int) -> list[int]:
    """All letters that are `value` but for the free atoms."""
    letters = [value]
    for at in range(free.bit_length()):
        if free >> at & 1:
            letters += [letter | 1 << at for letter in letters]
    return letters
