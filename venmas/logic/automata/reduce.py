"""Smaller automata of the same language.

In turns, until it gets no smaller: what cannot be reached or cannot accept is left out, acceptance sets are those that
matter within a component (`marks`), states that simulate each other become one, and edges to where another one with
more letters and marks leads to more are left out. Direct simulation: Etessami, Holzmann, CONCUR 2000, section 4; that
all such edges may go at once: Bustan, Grumberg, *Simulation-Based Minimization*, ACM TOCL 4 (2), 2003, section 4.
"""

from __future__ import annotations

from venmas.logic.automata.automaton import Automaton, Edge, inner_edges, least_sets
from venmas.logic.automata.effort import Effort
from venmas.logic.automata.label import Label, cover, covered
from venmas.logic.automata.simulation import simulation


def reduced(automaton: Automaton, effort: Effort) -> Automaton:
    """A smaller automaton of the same language, its states numbered as they are reached."""
    now = _merged_alike(_trimmed(automaton), effort)
    while True:
        before, now = now, _simulated(_trimmed(now), effort)
        # no step makes one of the three larger, so that this ends
        if (now.states, now.marks, len(now.edges)) == (before.states, before.marks, len(before.edges)):
            return _only_used_atoms(now)


def _only_used_atoms(automaton: Automaton) -> Automaton:
    """Without atoms of which no label speaks."""
    used = 0
    for edge in automaton.edges:
        used |= edge.label.care
    kept = [i for i in range(len(automaton.atoms)) if used >> i & 1]

    def moved(bits: int) -> int:
        return sum(1 << new for new, old in enumerate(kept) if bits >> old & 1)

    edges = [e._replace(label=Label(moved(e.label.care), moved(e.label.value))) for e in automaton.edges]
    atoms = tuple(automaton.atoms[i] for i in kept)
    return Automaton(atoms, automaton.states, automaton.marks, tuple(sorted(edges)))


def _trimmed(automaton: Automaton) -> Automaton:
    """Without states and edges that no accepting run takes; acceptance sets by component, as few as possible."""
    inner: dict[Edge, int] = {}
    least = []
    accepting: set[int] = set()
    dead = False
    for states, edges in inner_edges(automaton):
        if automaton.accepts(edges):
            least.append((edges, least_sets(edges, automaton.marks)))
            accepting |= states
        elif edges:
            dead = True
            inner |= dict.fromkeys(edges, 0)
    count = max([int(dead), *(len(sets) for _, sets in least)])
    for edges, sets in least:
        for edge in edges:  # where a component has fewer sets than another, all its edges are in the rest
            inner[edge] = sum(1 << i for i in range(count) if i >= len(sets) or edge in sets[i])
    live = _backwards(automaton, accepting)
    kept = [e._replace(marks=inner.get(e, 0)) for e in automaton.edges if e.source in live and e.target in live]
    return _numbered(automaton, count, kept)


def _backwards(automaton: Automaton, goal: set[int]) -> set[int]:
    """The states from which the goal is reached."""
    before: dict[int, list[int]] = {}
    for edge in automaton.edges:
        before.setdefault(edge.target, []).append(edge.source)
    found, stack = set(goal), list(goal)
    while stack:
        for source in before.get(stack.pop(), ()):
            if source not in found:
                found.add(source)
                stack.append(source)
    return found


def _numbered(automaton: Automaton, marks: int, edges: list[Edge]) -> Automaton:
    """What is reached from state 0, states numbered in the order of a breadth-first search over sorted edges."""
    leaving: dict[int, list[Edge]] = {}
    for edge in sorted(set(edges), key=lambda e: (e.source, e.marks, e.label, e.target)):
        leaving.setdefault(edge.source, []).append(edge)
    numbers, order = {0: 0}, [0]
    found = []
    for state in order:
        for edge in leaving.get(state, ()):
            if edge.target not in numbers:
                numbers[edge.target] = len(numbers)
                order.append(edge.target)
            found.append(edge._replace(source=numbers[state], target=numbers[edge.target]))
    return Automaton(automaton.atoms, len(order), marks, tuple(sorted(found)))


def _merged_alike(automaton: Automaton, effort: Effort) -> Automaton:
    """States with the same edges as one, labels compared as they are written: cheap, before states are compared."""
    home = list(range(automaton.states))
    while True:
        groups: dict[frozenset[tuple[Label, int, int]], int] = {}
        new = []
        for state, leaving in enumerate(automaton.leaving):
            effort.spend(1 + len(leaving))
            row = frozenset((edge.label, edge.marks, home[edge.target]) for edge in leaving)
            new.append(groups.setdefault(row, state))
        if new == home:
            return _quotient(automaton, home, effort)
        home = new


def _simulated(automaton: Automaton, effort: Effort) -> Automaton:
    """States that simulate each other as one, and no edge that another makes needless."""
    above = simulation(automaton, effort)
    home = [next(p for p in range(q + 1) if above[q] >> p & 1 and above[p] >> q & 1) for q in range(automaton.states)]
    merged = _quotient(automaton, home, effort)
    kept: list[Edge] = []
    for leaving in merged.leaving:
        for edge in leaving:
            better = [
                other.label
                for other in leaving
                if above[edge.target] >> other.target & 1
                and not edge.marks & ~other.marks
                and (edge.target, edge.marks) != (other.target, other.marks)
            ]
            effort.spend(len(leaving))
            if not better:
                kept.append(edge)
            elif (label := _rest(edge.label, better, effort)) is not None:
                kept.append(edge._replace(label=label))
    return _numbered(automaton, automaton.marks, kept)


def _rest(label: Label, better: list[Label], effort: Effort) -> Label | None:
    """The label without letters of others, as far as it stays one label; None where none is left."""
    if covered(label, better, effort):
        return None
    for i in range(max(one.care for one in better).bit_length()):
        if label.care >> i & 1:
            continue
        for value in (0, 1):
            half = Label(label.care | 1 << i, label.value | value << i)
            if covered(half, better, effort):
                label = Label(label.care | 1 << i, label.value | (1 - value) << i)
                break
    return label


def _quotient(automaton: Automaton, home: list[int], effort: Effort) -> Automaton:
    """Each state by its representative, whose edges are kept; labels between two states and of the same marks joined.

    The numbers of states stay; those that are nobody's representative have no edges.
    """
    groups: dict[tuple[int, int, int], list[Label]] = {}
    for edge in automaton.edges:
        if home[edge.source] == edge.source:
            groups.setdefault((edge.source, home[edge.target], edge.marks), []).append(edge.label)
    edges = [Edge(q, label, r, m) for (q, r, m), labels in groups.items() for label in cover(labels, effort)]
    return Automaton(automaton.atoms, automaton.states, automaton.marks, tuple(sorted(edges)))
