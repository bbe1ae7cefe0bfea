"""min, max, ite and abs in the conditions of a property and in initial states: the states that they describe."""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from venmas import load_jani, verify
from venmas.errors import ScenarioError
from venmas.logic import And, Atom, Bottom, Formula, Not, Or, Top

sys.path.append(str(Path(__file__).parent))
from jani_models import automaton, bounded, edge, model, op, put

RELATIONS = {"<": int.__lt__, "≤": int.__le__, ">": int.__gt__, "≥": int.__ge__, "=": int.__eq__, "≠": int.__ne__}
NAMES = ("x", "y", "z")
STATES = [dict(zip(NAMES, values, strict=True)) for values in product(range(-2, 4), repeat=3)]


def number(random: Random, depth: int) -> Any:
    kind = random.randrange(7 if depth else 2)
    if kind == 0:
        return random.choice(NAMES)
    if kind == 1:
        return random.randint(-2, 3)
    if kind == 2:
        return {"op": "abs", "exp": number(random, depth - 1)}
    if kind == 3:
        parts = {"then": number(random, depth - 1), "else": number(random, depth - 1)}
        return {"op": "ite", "if": condition(random, depth - 1), **parts}
    return op(random.choice(["min", "max", "+", "-"]), number(random, depth - 1), number(random, depth - 1))


def condition(random: Random, depth: int) -> Any:
    if depth and random.random() < 0.3:
        return op(random.choice("∧∨"), condition(random, depth - 1), condition(random, depth - 1))
    return op(random.choice(list(RELATIONS)), number(random, depth), number(random, depth))


def value(data: Any, state: dict[str, int]) -> Any:
    """What JANI says that an expression is."""
    if not isinstance(data, dict):
        return state.get(data, data)
    if data["op"] == "abs":
        return abs(value(data["exp"], state))
    if data["op"] == "ite":
        return value(data["then" if value(data["if"], state) else "else"], state)
    left, right = value(data["left"], state), value(data["right"], state)
    binary = {"min": min, "max": max, "+": int.__add__, "-": int.__sub__, "∧": bool.__and__, "∨": bool.__or__}
    return {**binary, **RELATIONS}[data["op"]](left, right)


def holds(formula: Formula, state: dict[str, int]) -> bool:
    match formula:
        case Top() | Bottom():
            return isinstance(formula, Top)
        case Atom(comparison):
            return comparison.holds(state)  # type: ignore[arg-type]
        case Not(operand):
            return not holds(operand, state)
        case And(operands):
            return all(holds(o, state) for o in operands)
        case Or(operands):
            return any(holds(o, state) for o in operands)
    raise TypeError(formula)


def files(folder: Path, tested: Any, **more: Any) -> tuple[Path, Path]:
    variables = [bounded(name, -2, 3) for name in NAMES]
    if "restrict-initial" in more:
        for variable in variables:
            variable.pop("initial-value")
    data = model(variables, [automaton("a", [edge(("x", "x"))])], **more)
    at = {"op": "state-condition", "exp": tested}
    asked = {"op": "PA", "reach": at, "objective": {"op": "objective", "goal": at}, "predicates": [tested]}
    return put(folder, data), put(folder, {"properties": [{"name": "p", "expression": asked}]}, "p.jani")


@pytest.mark.parametrize("seed", range(40))
def test_the_states_are_those_of_the_condition(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    tested, initial = condition(random, 2), condition(random, 2)
    meant = [s for s in STATES if value(initial, s)]
    if not meant:
        return
    made, asked = files(tmp_path, tested, **{"restrict-initial": {"exp": initial}})
    loaded = load_jani(made, asked)
    system = loaded.system()
    unsafe, (predicate,) = system.propositions["unsafe_p"], loaded.predicates()
    for state in STATES:
        assert holds(unsafe, state) == holds(predicate, state) == value(tested, state), (tested, state)
        assert holds(system.initial_set.formula, state) == value(initial, state), (initial, state)
    expected = "violated" if any(value(tested, s) for s in meant) else "satisfied"
    assert verify(system, "AG[0,2] !unsafe_p", timeout=20).verdict == expected


def test_too_many_cases_are_refused_with_their_place(tmp_path: Path) -> None:
    large: Any = "x"
    for i in range(12):
        large = op("+", large, {"op": "abs", "exp": op("-", NAMES[i % 3], i % 4)})
    made, asked = files(tmp_path, op("≥", large, 1))
    with pytest.raises(ScenarioError, match=r"p\.jani, properties\[0\].*exp: .*256 cases.*compare parts"):
        load_jani(made, asked).system()
