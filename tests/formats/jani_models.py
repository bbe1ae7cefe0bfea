"""Small JANI models as Python data, and the files that they are written to."""

import json
from pathlib import Path
from typing import Any


def op(name: str, left: Any, right: Any) -> dict[str, Any]:
    return {"op": name, "left": left, "right": right}


def bounded(name: str, low: Any, high: Any, initial: Any = 0, base: str = "int", **more: Any) -> dict[str, Any]:
    kind = {"kind": "bounded", "base": base, "lower-bound": low, "upper-bound": high}
    return {"name": name, "type": kind, "initial-value": initial, **more}


def edge(
    *assignments: Any, guard: Any = True, location: str = "l", to: str = "l", action: str | None = None, **more: Any
) -> dict[str, Any]:
    """An edge of one destination; an assignment is (name, value) or (name, value, index)."""
    made = [dict(zip(("ref", "value", "index"), a, strict=False)) for a in assignments]
    found = {
        "location": location,
        "guard": {"exp": guard},
        "destinations": [{"location": to, "assignments": made, **more}],
    }
    return found if action is None else {**found, "action": action}


def automaton(name: str, edges: list[Any], locations: tuple[str, ...] = ("l",), **more: Any) -> dict[str, Any]:
    places = [{"name": n} for n in locations]
    return {"name": name, "locations": places, "initial-locations": [locations[0]], "edges": edges, **more}


def model(
    variables: list[Any], automata: list[Any], actions: tuple[str, ...] = (), syncs: Any = None, **more: Any
) -> dict[str, Any]:
    system: dict[str, Any] = {"elements": [{"automaton": a["name"]} for a in automata]}
    if syncs is not None:
        system["syncs"] = [
            {"synchronise": list(names), **({} if result is None else {"result": result})} for names, result in syncs
        ]
    return {
        "jani-version": 1,
        "name": "small",
        "type": "lts",
        "actions": [{"name": a} for a in actions],
        "variables": variables,
        "automata": automata,
        "system": system,
        **more,
    }


def counter(**more: Any) -> dict[str, Any]:
    """x rises from 0 to 3."""
    step = edge(("x", op("+", "x", 1)), guard=op("<", "x", 3))
    return model([bounded("x", 0, 5)], [automaton("a", [step])], **more)


def put(folder: Path, data: Any, name: str = "m.jani") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data, ensure_ascii=False), encoding="utf-8")
    return path
