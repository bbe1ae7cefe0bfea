"""Replay of lassos of a system: the run is simulated in rationals, the formula evaluated on its letters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from venmas.logic import Atom
from venmas.logic.formula import Formula
from venmas.logic.lassos import Lasso, holds
from venmas.logic.paths import Leaf, Proposition, leaves
from venmas.logic.printing import to_text
from venmas.model.evaluation.regions import is_initial
from venmas.model.evaluation.simulate import Step
from venmas.model.system.system import System


@dataclass(frozen=True)
class SystemRun:
    """A run of a system for ever: the state and the branch of each step; after the last comes step `back`.

    A branch that is empty is none: the run stays in a state without a successor. conditions: of each step those of the
    formula, as written there, with their truth.
    """

    states: tuple[dict[str, Fraction], ...]
    branches: tuple[str, ...]
    back: int
    conditions: tuple[dict[str, bool], ...]


def replayed(
    system: System,
    first: Mapping[str, Fraction],
    branches: Sequence[int],
    back: int,
    formula: Formula,
    condition: Callable[[Leaf], Atom | None],
) -> SystemRun | None:
    """The run from a state by branches (a negative one stays where there is no successor), which goes on at `back`.

    None where the state is not initial, a branch is not open, the loop does not close, or the run has the property.
    """
    if not is_initial(system, first):
        return None
    told = leaves(formula)
    state, states, letters = dict(first), [], list[frozenset[Leaf]]()
    for index in branches:
        states.append(state)
        name = system.branches[index].name if index >= 0 else ""
        letters.append(frozenset(leaf for leaf in told if _true(leaf, condition(leaf), state, name)))
        step = Step(system, state)
        if index < 0:
            if any(True for _ in step.successors()):
                return None
            continue
        taken = step.successor(index)
        if taken is None:
            return None
        state = dict(taken.state)
    if state != states[back] or holds(formula, Lasso(tuple(letters[:back]), tuple(letters[back:]))):
        return None
    texts = {leaf: to_text(leaf) for leaf in told}
    names = tuple(system.branches[index].name if index >= 0 else "" for index in branches)
    conditions = tuple({text: leaf in letter for leaf, text in texts.items()} for letter in letters)
    return SystemRun(tuple(states), names, back, conditions)


def _true(leaf: Leaf, atom: Atom | None, state: Mapping[str, Fraction], branch: str) -> bool:
    if atom is not None:
        return atom.comparison.holds(state)
    assert isinstance(leaf, Proposition)
    return leaf.name == f"branch {branch}"
