"""The canonical JSON form of a system, for certificates: two that are written alike have the same (docs/system.md)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any as Anything

from venmas.errors import ModelError
from venmas.logic import TRUE
from venmas.model.canonical.reader import (
    Reader,
    broken,
    check_switches,
    read_integer,
    read_list,
    read_number,
    read_string,
)
from venmas.model.canonical.writer import Node, Row, Writer, canonical_text, write_number
from venmas.model.expressions.expr import Condition, Expr, Scalar, Truth, Variable
from venmas.model.expressions.limits import MAX_BRANCHES, MAX_VARIABLES
from venmas.model.expressions.vector import Vector
from venmas.model.system.declarations import declare
from venmas.model.system.networks import networks_of
from venmas.model.system.system import System
from venmas.model.system.variables import Region, VariableDecl
from venmas.nn import Network

FORMAT, SMOOTH_FORMAT = "venmas-system-1", "venmas-system-2"
MAX_PARTS = 4096
"""Most agents, propositions, properties, and labels in all."""
MAX_WORK = 1 << 22
"""Most steps, of about 0.3 microseconds, that checking the initial sets may take."""

_LISTS = ("variables", "nodes", "agents", "branches", "initial", "propositions", "properties")
_CONDITION = "initial_condition"
_FIELDS = ("format", "name", "description", *_LISTS)


def system_to_json(system: System) -> dict[str, Anything]:
    """The canonical form. Raises `ModelError` for a system that is not built as `System` builds it, or too large."""
    rows = Writer(system)
    kind = SMOOTH_FORMAT if system.smooth else FORMAT
    form: dict[str, Anything] = {"format": kind, "name": system.name, "description": system.description}
    form["variables"] = [
        {
            "name": d.name,
            "kind": "boolean" if d.boolean else "integer" if d.integral else "real",
            "lower": write_number(d.lower),
            "upper": write_number(d.upper),
            "unit": d.unit,
            "labels": _write_labels(d.labels),
        }
        for d in system.variables.values()
    ]
    form["nodes"] = rows.rows
    form["agents"] = [
        {"name": a.name, "value": rows.graph(a.expr), "unit": a.unit, "labels": _write_labels(a.labels)}
        for a in system.agents
    ]
    form["branches"] = [
        {"name": b.name, "guard": rows.graph(b.guard), "updates": [[n, rows.graph(e)] for n, e in b.updates]}
        for b in system.branches
    ]
    form["initial"] = [[rows.comparison(c) for c in region] for region in system.initial_set.regions]
    if system.initial_condition is not TRUE:
        form[_CONDITION] = rows.formula(system.initial_condition, "the initial condition")
    form["propositions"] = [[name, rows.formula(f, name)] for name, f in system.propositions.items()]
    form["properties"] = [[name, text] for name, text in system.properties.items()]
    _check_sizes(form)
    _check_regions(system.initial_set.regions, len(system.variables))
    return form


def system_digest(system: System) -> str:
    """Sha256 (hex) of the canonical form."""

    def find() -> str:
        return hashlib.sha256(canonical_text(system_to_json(system)).encode("ascii")).hexdigest()

    return system.once("digest", find)


def subject_of(system: System) -> dict[str, object]:
    """A system as the subject of a certificate's claim: its canonical form, and the digests of its networks."""
    return {"system": system_to_json(system), "networks": sorted(networks_of(system))}


def system_from_json(data: object, networks: Mapping[str, Network]) -> System:
    """The system of a canonical form, over networks by digest; it has the same canonical form, and is valid.

    Raises `ModelError` naming the place for everything that `system_to_json` does not write.
    """
    system, nodes = _read(data, networks)
    _check_regions(system.initial_set.regions, len(system.variables))
    check_switches(system, nodes)
    _check_canonical(_top(data), system_to_json(system))
    system.validate()
    return system


def shared(system: System) -> System:
    """A copy of a valid system in which equal nodes are one, as they are for who reads its canonical form.

    Raises `ModelError` as `system_to_json` does.
    """
    return _read(system_to_json(system), networks_of(system))[0]


def _read(data: object, networks: Mapping[str, Network]) -> tuple[System, Sequence[Node]]:
    """The system that a form describes, and its nodes, as far as reading alone shows that it is none."""
    form = _top(data)
    if form["format"] not in (FORMAT, SMOOTH_FORMAT):
        raise broken("format", f'"{FORMAT}" or "{SMOOTH_FORMAT}"', form["format"])
    for key in _LISTS:
        read_list(form[key], key)
    decls = [_variable(v, f"variables[{i}]") for i, v in enumerate(form["variables"])]
    _check_sizes(form)
    system = System(read_string(form["name"], "name"), read_string(form["description"], "description"))
    for decl in decls:
        declare(system, decl, drawn=True)
    rows = Reader(system, networks)
    rows.read(form["nodes"])
    for i, value in enumerate(form["agents"]):
        place = f"agents[{i}]"
        agent = _fields(value, place, ("name", "value", "unit", "labels"))
        name, unit = read_string(agent["name"], place), read_string(agent["unit"], place)
        system.agent(rows.get(agent["value"], Expr, place), name, unit, dict(_read_labels(agent["labels"], place)))
    for i, value in enumerate(form["branches"]):
        place = f"branches[{i}]"
        branch = _fields(value, place, ("name", "guard", "updates"))
        updates = [read_list(u, place, 2) for u in read_list(branch["updates"], place)]
        found: dict[Variable | Vector, Scalar | Vector] = {}
        for name, e in updates:
            found[system[read_string(name, place)]] = rows.get(e, Expr, place)
        system.branch(read_string(branch["name"], place), found, when=rows.get(branch["guard"], Condition, place))
    for i, value in enumerate(form["initial"]):
        place = f"initial[{i}]"
        system.initial_set.regions.append(tuple(rows.comparison(c, place) for c in read_list(value, place)))
    if _CONDITION in form:
        system.initial_set.condition = rows.formula(form[_CONDITION], _CONDITION)
    for i, value in enumerate(form["propositions"]):
        name, index = read_list(value, f"propositions[{i}]", 2)
        system.proposition(read_string(name, f"propositions[{i}]"), Truth(True))  # checks the name
        system.propositions[name] = rows.formula(index, f"propositions[{i}]")
    for i, value in enumerate(form["properties"]):
        name, text = (read_string(part, f"properties[{i}]") for part in read_list(value, f"properties[{i}]", 2))
        system.specify(name, text)
    return system, rows.nodes


def _top(data: object) -> Mapping[str, Anything]:
    condition = (_CONDITION,) if isinstance(data, dict) and _CONDITION in data else ()
    return _fields(data, "the top", (*_FIELDS, *condition))


def _fields(value: object, place: str, names: tuple[str, ...]) -> dict[str, Anything]:
    if not isinstance(value, dict) or value.keys() != set(names):
        raise broken(place, f"an object of the fields {', '.join(names)}", value)
    return value


def _variable(value: object, place: str) -> VariableDecl:
    told = _fields(value, place, ("name", "kind", "lower", "upper", "unit", "labels"))
    lower, upper = (read_number(told[end], f"{place}, {end}") for end in ("lower", "upper"))
    kind = told["kind"]
    if kind not in ("real", "integer", "boolean") or (kind == "boolean" and (lower != 0 or upper != 1)):
        raise broken(place, "the kind real or integer, or boolean of the range 0 to 1", kind)
    name, unit = read_string(told["name"], place), read_string(told["unit"], place)
    labels = _read_labels(told["labels"], place)
    return VariableDecl(name, lower, upper, kind != "real", kind == "boolean", unit, tuple(labels))


def _read_labels(value: object, place: str) -> list[tuple[int, str]]:
    pairs = [read_list(pair, place, 2) for pair in read_list(value, place)]
    labels = [(read_integer(number, place), read_string(text, place)) for number, text in pairs]
    if any(a >= b for (a, _), (b, _) in pairwise(labels)):
        raise ModelError(
            f"the canonical form of the system is broken at {place}: labels must be sorted by their values"
        )
    return labels


def _write_labels(labels: Iterable[tuple[int, str]]) -> list[Row]:
    return [[int(value), text] for value, text in labels]


def _check_sizes(form: Mapping[str, Anything]) -> None:
    counts = {key: len(form[key]) for key in _LISTS if key not in ("nodes", "initial")}
    counts["labels of variables"] = sum(len(v["labels"]) for v in form["variables"])
    for what, count in counts.items():
        most = {"variables": MAX_VARIABLES, "branches": MAX_BRANCHES}.get(what, MAX_PARTS)
        if count > most:
            raise ModelError(f"a canonical form holds at most {most} {what}, this one has {count}: use fewer")


def _check_regions(regions: Sequence[Region], variables: int) -> None:
    """Refuse what `InitialSet.check` would take too long for: eight rounds of bound propagation, where one is empty."""
    if sum(variables + 8 * sum(len(row.expr.terms) for row in region) for region in regions) > MAX_WORK:
        raise ModelError(
            f"the {len(regions)} initial sets are too many, or their comparisons too long, for a canonical form with "
            f"{variables} variables: describe them by fewer or simpler comparisons"
        )


def _check_canonical(given: Mapping[str, Anything], again: Mapping[str, Anything]) -> None:
    """Both say the same; where they differ, the given one does not say it as `system_to_json` does."""
    if given.keys() != again.keys():
        raise ModelError(f"the canonical form of the system is broken: {_CONDITION} is there and says nothing")
    for key in given:
        if canonical_text(given[key]) == canonical_text(again[key]):
            continue
        old, new = given[key], again[key]
        if not isinstance(old, list) or not isinstance(new, list):
            raise ModelError(f"the canonical form of the system is broken at {key}: write it with system_to_json")
        at = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
        raise ModelError(
            f"the canonical form of the system is broken at {key}[{at}]: it is not what its system is written as "
            "(an order, an unused or repeated part); write it with system_to_json"
        )
