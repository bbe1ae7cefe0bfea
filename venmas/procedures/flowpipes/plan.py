"""Which atoms of a core formula are asked about after which step of runs, and why that did not refute it."""

from __future__ import annotations

from dataclasses import dataclass

from venmas.bounds.rounding import Floats
from venmas.budget import ask
from venmas.logic import AX, EX, Atom, Formula

Place = tuple[Formula, int]
"""A formula, and the step at which it is asked about."""


class Plan:
    """Which atoms of a core formula are asked about at which step."""

    def __init__(self, target: Formula) -> None:
        self.order: list[Place] = []
        """All that the target consists of, operands first."""
        self.atoms: dict[int, list[Atom]] = {}
        seen: set[Place] = set()
        stack: list[tuple[Place, bool]] = [((target, 0), False)]
        while stack:
            ask()
            place, done = stack.pop()
            if done:
                self.order.append(place)
            elif place not in seen:
                seen.add(place)
                stack.append((place, True))
                stack.extend((below, False) for below in parts_of(place))
                if isinstance(place[0], Atom):
                    self.atoms.setdefault(place[1], []).append(place[0])
        self.steps = max(step for _, step in self.order)

    @property
    def names(self) -> frozenset[str]:
        """The variables that are asked about."""
        return frozenset(n for atoms in self.atoms.values() for a in atoms for n, _ in a.comparison.expr.terms)


def parts_of(place: Place) -> list[Place]:
    """The operands of a formula, each with the step at which it is asked about."""
    formula, step = place
    return [(part, step + isinstance(formula, EX | AX)) for part in formula.children]


@dataclass
class Failed:
    """Why a box was not refuted, and after which step. moves: how far each initial value moves what stayed open, by
    axis, in parts of what it moves in all; besides: the rest of these parts; radius: of the atoms of that step; broken:
    a value, or a flow, was not shown to exist; certain: the target holds everywhere in the box."""

    step: int
    axes: list[str]
    radius: float
    moves: Floats
    besides: float
    broken: bool
    certain: bool
