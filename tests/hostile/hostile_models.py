"""JANI models and property files that are too deep, too large, multiply out, or name files elsewhere."""

import json
from collections.abc import Callable
from pathlib import Path

from hostile_case import Case, put

DEEP = 100_000


def model(guard: str = "true", value: str = '"x"', count: int = 1, edges: int = 1) -> str:
    step = {"location": "l", "assignments": [{"ref": "x", "value": "VALUE"}]}
    edge = {"location": "l", "action": "s", "guard": {"exp": "GUARD"}, "destinations": [step]}
    place = {"locations": [{"name": "l"}], "initial-locations": ["l"]}
    names = [f"a{i}" for i in range(count)]
    kind = {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": 5}
    flag = {"name": "b", "type": "bool", "initial-value": False}
    made = {
        "jani-version": 1,
        "name": "h",
        "type": "lts",
        "actions": [{"name": "s"}],
        "variables": [{"name": "x", "type": kind, "initial-value": 0}, flag],
        "automata": [{"name": name, **place, "edges": [edge] * edges} for name in names],
        "system": {"elements": [{"automaton": n} for n in names], "syncs": [{"synchronise": ["s"] * count}]},
    }
    return json.dumps(made).replace('"GUARD"', guard).replace('"VALUE"', value)


def chain(before: str, inner: str, depth: int) -> str:
    return before * depth + inner + "}" * (depth * (before.count("{") - before.count("}")))


def case(content: str | Callable[[Path], object], *told: str, status: tuple[int, ...] = (2,)) -> Case:
    args = ["--scenario", "{d}/m.jani", "--formula", "AG^1 x <= 5", "--timeout", "6"]
    return Case(args, lambda folder: put(folder / "m.jani", content), told, status)


def named(property_: object) -> Case:
    def make(folder: Path) -> None:
        put(folder / "m.jani", model())
        put(folder / "p.jani", json.dumps({"properties": [{"name": "p", "expression": {"op": "PA", **property_}}]}))  # type: ignore[dict-item]

    return Case(
        ["--scenario", "{d}/m.jani", "--set", "jani.property={d}/p.jani"], make, ("is not in the folder",), (2,)
    )


LEAF = '{"op":"≤","left":1,"right":"x"}'
CASES: dict[str, Case] = {
    "jani deep lists": case("[" * DEEP + "]" * DEEP, "expected a model"),
    "jani deep objects": case('{"a":' * DEEP + "1" + "}" * DEEP, "the key 'a' of a model is not known"),
    "jani deep unclosed": case("[" * DEEP, "the text ends too early"),
    "jani deep ∧": case(model(chain('{"op":"∧","right":"b","left":', "true", DEEP)), "more than 300000 values"),
    "jani deep ¬": case(model(chain('{"op":"¬","exp":', "true", DEEP)), "nested more than 2000 deep"),
    "jani deep comment": case(model(chain('{"exp":', "true", DEEP)), status=(0,)),
    "jani deep ∨ of 30,000": case(model(chain('{"op":"∨","right":"b","left":', '"b"', 30_000)), status=(0,)),
    "jani deep = of Booleans": case(model(chain(f'{{"op":"=","right":{LEAF},"left":', '"b"', 100)), "too large"),
    "jani deep ∧ and ∨": case(
        model(chain('{"op":"∧","right":"b","left":{"op":"∨","right":"b","left":', '"b"', 10_000)), "2000 deep"
    ),
    "jani deep min": case(model(value=chain('{"op":"min","right":4,"left":', '"x"', 1900)), "200 deep"),
    "jani deep ite": case(model(value=chain('{"op":"ite","if":"b","then":0,"else":', "1", 1900)), "200 deep"),
    "jani deep +": case(model(value=chain('{"op":"+","right":0,"left":', '"x"', 30_000)), status=(0,)),
    "jani huge product": case(model(value=chain('{"op":"*","right":1e300,"left":', '"x"', 1900)), "2000 bits"),
    "jani products of automata": case(model(count=60, edges=60), "more than 10000 combinations of edges"),
    "jani 50 MB of text": case(lambda _: '{"a":"' + "x" * 50_000_000 + '"}', "the key 'a' of a model is not known"),
    "jani 50 MB of spaces": case(lambda _: " " * 50_000_000 + "{", "expected a key"),
    "jani 50 MB of values": case(lambda _: "[" + "1," * 25_000_000 + "1]", "more than 300000 values"),
    "jani 50 MB of digits": case(lambda _: "1" * 50_000_000, "more than 400 digits"),
    "jani 80 MB": case(lambda _: " " * 80_000_000, "larger than 64 MB"),
    "jani binary": case("\0" * 100, "expected a value"),
    "jani names /etc/passwd": named({"reach": {"file": "/etc/passwd"}}),
    "jani names a file above": named({"file": "../../policy.jani2nnet"}),
}
