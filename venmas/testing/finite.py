"""Strategies for systems with finitely many states, and their enumeration for the oracle `venmas.logic.evaluate`."""

from __future__ import annotations

from itertools import product

from hypothesis import strategies as st

from venmas.errors import ModelError
from venmas.logic import FiniteModel
from venmas.logic.linear import Relation
from venmas.model import Condition, Expr, System, Vector, apply_network, argmax, clip, switch, where
from venmas.model.evaluation.regions import is_initial
from venmas.model.evaluation.simulate import successors
from venmas.model.expressions.expr import Variable, as_expr, compare
from venmas.model.expressions.functions import absolute, maximum
from venmas.testing.networks import adversarial_networks

MAX_STATES = 100_000
"""Systems with more states are refused by `finite_model`."""

_integers = st.integers(-2, 2)


def finite_model(system: System) -> tuple[FiniteModel, frozenset[int]]:
    """All states of a system without real variables, and which of them are initial.

    Raises `ModelError` for a real variable, for more than `MAX_STATES` states, and where a step leaves the box.
    """
    values = {name: decl.values for name, decl in system.variables.items()}
    size = 1
    for name, found in values.items():
        if found is None:
            raise ModelError(f"variable {name!r} of system {system.name!r} has too many values to enumerate")
        size *= len(found)
    if size > MAX_STATES:
        raise ModelError(f"system {system.name!r} has {size} states; finite_model enumerates at most {MAX_STATES}")
    points = list(product(*(v for v in values.values() if v is not None)))
    number = {point: i for i, point in enumerate(points)}
    states = [dict(zip(values, point, strict=True)) for point in points]
    steps = [tuple(number[tuple(t.state[n] for n in values)] for t in successors(system, s)) for s in states]
    initial = frozenset(i for i, s in enumerate(states) if is_initial(system, s))
    return FiniteModel(len(states), tuple(steps), tuple(states)), initial


@st.composite
def finite_systems(draw: st.DrawFn, max_branches: int = 3, kinds: tuple[str, ...] = ()) -> System:
    """Integers i and j and a Boolean b; tables, networks behind argmax, guards, so deadlocks too. Runs stay inside.

    kinds: twists of the network, names of `venmas.testing.TWISTS`.
    """
    system = System("finite")
    low = draw(st.integers(-2, 1))
    ends = {"i": (low, low + draw(st.integers(0, 3))), "j": (0, draw(st.integers(0, 2)))}
    i, j = (system.integer(n, *e) for n, e in ends.items())
    b = system.boolean("b")
    scores = apply_network(draw(adversarial_networks(2, 3, kinds)), (i / 2, j - b))
    action = system.agent(argmax(scores), name="choice")
    for k in range(draw(st.integers(1, max_branches))):
        updates: dict[Variable | Vector, Expr | Vector] = {
            v: draw(_updates(ends[v.name], (i, j, b), action)) for v in (i, j) if draw(st.integers(0, 3))
        }
        if draw(st.booleans()):
            updates[b] = where(draw(_comparisons((i, j, b), scores)), 1, 0)
        guard = draw(_comparisons((i, j, b), scores)) if draw(st.booleans()) else True
        system.branch(f"b{k}", updates, when=guard)
    for _ in range(draw(st.integers(1, 2))):
        at = [draw(st.integers(*ends[v.name])) for v in (i, j)]
        fixed = [v == value for v, value in zip((i, j), at, strict=True) if draw(st.booleans())]
        c, d = draw(_integers), draw(_integers)
        relation = draw(st.sampled_from((Relation.LE, Relation.GE, Relation.EQ)))
        system.initial(*fixed, compare(i * c + j * d, relation, c * at[0] + d * at[1]))
    system.validate()
    return system


@st.composite
def _comparisons(draw: st.DrawFn, parts: tuple[Expr, ...], scores: Vector) -> Condition:
    """A comparison of the variables, or of two scores."""
    if draw(st.integers(0, 2)) == 0:
        return compare(scores[0], draw(st.sampled_from(Relation)), scores[1])
    row = sum((p * draw(_integers) for p in parts), as_expr(draw(_integers)))
    return compare(row, draw(st.sampled_from(Relation)), 0)


@st.composite
def _updates(draw: st.DrawFn, ends: tuple[int, int], parts: tuple[Expr, ...], action: Expr) -> Expr:
    """A new value between the two ends."""
    low, high = ends
    match draw(st.sampled_from(("table", "action", "move", "distance"))):
        case "table":
            return switch(action, {k: draw(st.integers(low, high)) for k in range(3)})
        case "action":
            return clip(action + draw(_integers), low, high)
        case "move":
            return clip(parts[0] + parts[2] + draw(_integers), low, high)
        case _:
            return clip(maximum(absolute(parts[0] - parts[1]), action) + draw(_integers), low, high)
