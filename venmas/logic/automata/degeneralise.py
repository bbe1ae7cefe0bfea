"""One acceptance set instead of several, by going round.

A state of a component also says which set is met next; the edge that completes a round is marked. An edge may meet
several sets at once, and the end of a round may begin the next (Gastin, Oddoux, CAV 2001, section 5). For what needs
it only: rankings do with several sets.
"""

from __future__ import annotations

from venmas.logic.automata.automaton import Automaton, Component, Edge, components
from venmas.logic.automata.effort import Effort
from venmas.logic.automata.reduce import reduced


def degeneralised(automaton: Automaton) -> Automaton:
    """An automaton of the same language with one acceptance set (none where every run accepts), reduced.

    Raises `FormulaError` where that takes more steps than translations may.
    """
    effort = Effort()
    home = {state: component for component in components(automaton) for state in component.states}
    numbers, order = {(0, 0): 0}, [(0, 0)]
    edges = []
    for state, level in order:
        for edge in automaton.leaving[state]:
            effort.spend(1)
            component = home.get(state)
            target, mark = (edge.target, 0), 0
            if component is not None and edge.target in component.states:
                after, mark = _counted(component, edge, level)
                target = (edge.target, after)
            if target not in numbers:
                numbers[target] = len(numbers)
                order.append(target)
            edges.append(Edge(numbers[state, level], edge.label, numbers[target], mark))
    return reduced(Automaton(automaton.atoms, len(order), 1, tuple(sorted(set(edges)))), effort)


def _counted(component: Component, edge: Edge, level: int) -> tuple[int, int]:
    """The set that is met next after an edge, and 1 where a round is complete."""
    last = len(component.sets)
    while level < last and edge in component.sets[level]:
        level += 1
    if level < last:
        return level, 0
    level = 0
    while level < last and edge in component.sets[level]:
        level += 1
    return level % last, 1
