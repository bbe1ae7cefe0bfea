"""JANI in small pieces: expressions, variables, edges, models, properties of the operator PA, interfaces."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

Json = Any

FAILING, BOUND = "failing_probability", "item_cost_bound"
"""Constants without a value in the models: the probability that an action fails, and the end of the costs' range."""


def binary(left: Json, op: str, right: Json) -> Json:
    return {"op": op, "left": left, "right": right}


def every(*conditions: Json) -> Json:
    """Their conjunction."""
    return reduce(lambda a, b: binary(a, "∧", b), conditions)


def some(*conditions: Json) -> Json:
    """Their disjunction."""
    return reduce(lambda a, b: binary(a, "∨", b), conditions)


def equal(name: str, value: Json) -> Json:
    return binary(name, "=", value)


def different(name: str, value: int) -> Json:
    return binary(name, "≠", value)


def facts(goal: Json) -> dict[str, int]:
    """The values that a conjunction of equations gives to variables."""
    if goal["op"] == "∧":
        return facts(goal["left"]) | facts(goal["right"])
    return {goal["left"]: goal["right"]}


def least(value: int, name: Json) -> Json:
    """`name` is at least `value`."""
    return binary(value, "≤", name)


def between(low: int, value: Json, high: int) -> Json:
    """`value` is in `low` to `high`."""
    return every(least(low, value), binary(value, "≤", high))


def plus(left: Json, right: Json) -> Json:
    return binary(left, "+", right)


def integer(name: str, low: int, high: int | str, start: int = 0) -> Json:
    """A bounded variable; `high` may name a constant."""
    kind = {"kind": "bounded", "base": "int", "lower-bound": low, "upper-bound": high}
    return {"name": name, "type": kind, "initial-value": start}


def outcome(updates: Mapping[str, Json], probability: Json = 1) -> Json:
    """A destination of an edge."""
    assignments = [{"ref": name, "value": value} for name, value in updates.items()]
    return {"location": "here", "probability": {"exp": probability}, "assignments": assignments}


def edge(label: str, guard: Json, *outcomes: Json) -> Json:
    return {"location": "here", "action": label, "guard": {"exp": guard}, "destinations": list(outcomes)}


def paid(label: str, guard: Json, updates: Mapping[str, Json], cost: str) -> Json:
    """An edge that may fail: then nothing changes but the counter `cost` of the item, which grows by 1.

    ``step_cost`` becomes what the step costs: the counter before it.
    """
    spent = {"step_cost": cost}
    return edge(
        label,
        every(guard, binary(plus(cost, 1), "≤", BOUND)),
        outcome({**updates, **spent}, binary(1, "-", FAILING)),
        outcome({**spent, cost: plus(cost, 1)}, FAILING),
    )


FAILURES = ({"name": FAILING, "type": "real"}, {"name": BOUND, "type": "int"})
"""Declarations of the constants of models whose actions may fail."""


def model(
    name: str, variables: Iterable[Json], labels: Sequence[str], edges: Iterable[Json], constants: Iterable[Json] = ()
) -> Json:
    """A model of one automaton with one location."""
    part = {"name": "acting", "locations": [{"name": "here"}], "initial-locations": ["here"], "edges": list(edges)}
    return {
        "jani-version": 1,
        "name": name,
        "type": "mdp",
        "actions": [{"name": label} for label in labels],
        "constants": list(constants),
        "variables": list(variables),
        "automata": [part],
        "system": {
            "elements": [{"automaton": "acting"}],
            "syncs": [{"synchronise": [label], "result": label} for label in labels],
        },
        "properties": [],
    }


def states(values: Iterable[Mapping[str, int]]) -> Json:
    """Start states, one by one."""
    listed = [{"variables": [{"var": n, "value": v} for n, v in state.items()]} for state in values]
    return {"op": "states-values", "values": listed}


def safety(name: str, policy: str, start: Json, unsafe: Json, goal: Json) -> Json:
    """A property file that asks whether `unsafe` is reached; `policy` names an interface beside the file."""

    def condition(exp: Json) -> Json:
        return {"op": "state-condition", "exp": exp}

    asked = {"op": "PA", "file": policy, "start": start, "reach": condition(unsafe), "objective": {"goal": goal}}
    asked["objective"] = {"op": "objective", "goal": condition(goal)}
    return {"properties": [{"name": name, "expression": asked}]}


def interface(network: str, hidden: Sequence[int], inputs: Sequence[str], labels: Sequence[str]) -> Json:
    """The text of a ``.jani2nnet`` file."""
    seen = [{"automaton": None, "name": name} for name in inputs]
    return {"file": network, "elements": list(hidden), "filter": False, "input": seen, "output": list(labels)}


def write(path: Path, data: Json) -> None:
    """The same data give the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
