"""Sets that runs do not leave, for ranks that do not fall on all states of the box: comparisons that steps keep.

Houdini (Flanagan, Leino, FME 2001): candidates are comparisons of guards and of the formula, and bounds of variables
and of their sums and differences (octagons: Miné, HOSC 2006), as far as simulated runs keep them. Each is dropped that
an initial state breaks, or a step from a state that meets all that are left. The last questions, which no state is
against, are the proof that what is left is inductive.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations
from random import Random

from venmas.budget import ask
from venmas.checker.levels.points import Points
from venmas.checker.levels.ranks import Row, inductive
from venmas.errors import ModelError
from venmas.model.evaluation.simulate import Step
from venmas.model.invariant import Invariant
from venmas.model.system.system import System
from venmas.procedures.ranking.systems.proofs import Proof, State, asked_exactly

_RUNS, _STEPS = 12, 60
_MOST_PAIRED = 6
"""Variables up to which sums and differences are bounded."""


def kept(system: System, rows: Iterable[Row]) -> tuple[Invariant, list[Proof]] | None:
    """The states of the box that meet the candidates that are left, with proofs of `checker.levels.ranks.inductive`.

    None where none are left, a step from them leaves the box, or it is not told. rows: comparisons that may hold.
    Raises what the budget raises, `InputError`.
    """
    names = list(system.variables)
    try:
        seen = _visited(system)
        left = _candidates(system, rows, seen)
        for steps in (0, 1):
            while left:
                ask()
                found = asked_exactly(*inductive(system, _set(left))[steps])
                if isinstance(found, tuple):
                    break
                if found is None:
                    return None
                state = {name: found[name] for name in names}
                after = [one.state for one in Step(system, state).successors()] if steps else [state]
                broken = [row for row in left if any(_value(row, names, one) < 0 for one in after)]
                if not broken:
                    return None
                left = [row for row in left if row not in broken]
        if not left:
            return None
        proofs = [asked_exactly(*question) for question in inductive(system, _set(left))]
    except ModelError:  # a step leaves the box
        return None
    shown = [one for one in proofs if isinstance(one, tuple)]
    return (_set(left), shown) if len(shown) == 2 else None


def _set(rows: Sequence[Row]) -> Invariant:
    return Invariant(tuple(tuple(map(Fraction, row)) for row in rows), ("1" * len(rows),))


def _value(row: Row, names: Sequence[str], state: State) -> Fraction:
    return row[0] + sum((c * state[name] for c, name in zip(row[1:], names, strict=True) if c), Fraction(0))


def _candidates(system: System, rows: Iterable[Row], seen: Sequence[State]) -> list[Row]:
    """Rows, their negations, and bounds, that all states that were seen meet and some state of the box may not."""
    names, size = list(system.variables), len(system.variables)
    units = [tuple(int(at == i) for at in range(size)) for i in range(size)]
    forms = [tuple(sign * c for c in unit) for unit in units for sign in (1, -1)]
    if size <= _MOST_PAIRED:
        for (i, one), (j, two) in combinations(enumerate(forms), 2):
            if i // 2 != j // 2:
                forms.append(tuple(a + b for a, b in zip(one, two, strict=True)))
    bounds = [(-int(min(_value((0, *form), names, state) for state in seen)), *form) for form in forms]
    both = [one for row in rows for one in (row, (-row[0] - 1, *(-c for c in row[1:])))]
    ends = [system.box[name] for name in names]

    def open_(row: Row) -> bool:
        return row[0] + sum(min(c * low, c * high) for c, (low, high) in zip(row[1:], ends, strict=True)) < 0

    told = [row for row in dict.fromkeys((*both, *bounds)) if open_(row)]
    return [row for row in told if all(_value(row, names, state) >= 0 for state in seen)]


def _visited(system: System) -> list[State]:
    """States of some runs, the same ones each time. Raises `ModelError`, `InputError`."""
    points, rng = Points(system), Random(0)
    firsts = next((block for block in points.initial() if len(block)), None)
    if firsts is None:
        return []
    found: list[State] = [points.named(state) for state in firsts[:_RUNS]]
    for state in [found[run % len(found)] for run in range(_RUNS)]:
        for _ in range(_STEPS):
            steps = list(Step(system, state).successors())
            if not steps:
                break
            state = rng.choice(steps).state
            found.append(state)
    return found
