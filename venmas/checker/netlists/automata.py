"""The automaton of a certificate as data: its atoms and edges, and that it accepts every run that breaks a property."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from venmas.checker.netlists.components import component_of
from venmas.checker.netlists.rules import Automaton
from venmas.checker.netlists.simulation import Edge, simulates
from venmas.checker.netlists.tableau import atom_of, tableau
from venmas.errors import InputError
from venmas.logic.formula import Atom, Formula, Not, conjunction
from venmas.logic.paths import Leaf, Proposition, finally_, globally


def breaking(
    stated: Automaton, formula: str, fair: Iterable[str], read: Callable[[str], Formula]
) -> tuple[list[Leaf], list[Edge]]:
    """The atoms and edges of an automaton that accepts every run that is fair and breaks the formula.

    read: texts of formulas. Raises `InputError` where it does not, or that is not seen.
    """
    atoms = [_leaf(text, read) for text in stated.atoms]
    edges = [_edge(stated, row) for row in stated.edges]
    if not 0 < stated.states < 1 << 20 or not 0 <= stated.marks < 1 << 10:
        raise InputError("an automaton of another size than are known")
    broken = tableau(conjunction([Not(read(formula)), *(globally(finally_(read(one))) for one in fair)]))
    place = [broken.atoms.index(atom) if atom in broken.atoms else -1 for atom in atoms]
    if -1 in place or len(set(place)) < len(place):
        raise InputError("an atom of the automaton is none of the formula, or is there twice")

    def moved(bits: int) -> int:
        return sum(1 << new for old, new in enumerate(place) if bits >> old & 1)

    answers = [edge._replace(care=moved(edge.care), value=moved(edge.value)) for edge in edges]
    if not simulates(answers, stated.states, stated.marks, broken):
        raise InputError("it is not seen that the automaton accepts every run that breaks the formula")
    return atoms, edges


def components(states: int, marks: int, edges: Sequence[Edge], given: Iterable[int]) -> list[tuple[int, ...]]:
    """The strongly connected parts of some edges that meet every acceptance set, in order."""
    among = list(given)
    home = component_of(states, [(edges[one].source, edges[one].target) for one in among])
    parts: dict[int, list[int]] = {}
    for one in among:
        if home[edges[one].source] == home[edges[one].target]:
            parts.setdefault(home[edges[one].source], []).append(one)
    accepting = []
    for part in parts.values():
        seen = 0
        for one in part:
            seen |= edges[one].marks
        if seen == (1 << marks) - 1:
            accepting.append(tuple(part))
    return accepting


def _leaf(text: str, read: Callable[[str], Formula]) -> Leaf:
    """An atom as tableaux have it. Raises `InputError`."""
    formula = read(text)
    if isinstance(formula, Atom) and formula.comparison.expr.terms:
        leaf, meant = atom_of(formula.comparison)
        if meant:
            return leaf
    elif isinstance(formula, Proposition):
        return formula
    raise InputError(f"{text[:60]!r} is no atom of an automaton: a name, or a comparison with < <= or ==")


def _edge(automaton: Automaton, row: Sequence[int]) -> Edge:
    if len(row) == 5 and min(row) >= 0:
        edge = Edge(*row)
        inside = edge.source < automaton.states and edge.target < automaton.states
        odd = edge.care >> len(automaton.atoms) or edge.value & ~edge.care or edge.marks >> automaton.marks
        if inside and not odd:
            return edge
    raise InputError(f"{str(row)[:60]} is no edge of the automaton")
