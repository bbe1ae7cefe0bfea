"""Refinement of an abstraction on a page: its history as a table, its last graph as a picture and in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from venmas.procedures.predicate_abstraction.refinement.drawing import Drawn
from venmas.report.graph_picture import Picture, picture_of
from venmas.report.tables import Table

_MOST_ROWS = 200
_MOST_ADDED = 12
_SPURIOUS = {
    "guard": "a guard blocks it",
    "target": "its end is not unsafe",
    "policy": "the policy decides otherwise",
    "cell": "it leaves its abstract states",
}


@dataclass(frozen=True)
class Abstraction:
    """What a page shows. picture: None where the graph is not there or too large; dot: the graph for Graphviz."""

    history: Table | None
    picture: Picture | None
    states: Table | None
    dot: str
    told: str


def abstraction_of(found: Mapping[str, Any] | None) -> Abstraction | None:
    """The section of a result whose `invariant` is this; None where there is none."""
    if found is None:
        return None
    rows = [
        (
            str(number),
            str(entry["predicates"]),
            str(entry["states"]),
            str(entry["path"]),
            _SPURIOUS.get(entry["spurious"], entry["spurious"]),
            _listed(entry["added"]),
        )
        for number, entry in enumerate(found["history"], 1)
    ]
    last = (str(len(rows) + 1), str(found["predicates"]), str(found["abstract"].get("states", 0)), "", "", "")
    rows = [*rows, last]
    left = len(rows) - _MOST_ROWS
    note = f"{left} iterations are left out before the last {_MOST_ROWS}." if left > 0 else ""
    head = ("iteration", "predicates", "states", "path", "why it is no run", "added")
    history = Table("Refinement", head, tuple(rows[-_MOST_ROWS:]), 1, note)
    graph = found.get("graph")
    told = "" if graph else f"{found['abstract'].get('states', 0)} abstract states are too many to be shown one by one."
    drawn = None if graph is None else Drawn(
        tuple(graph["states"]), graph["starts"], tuple(graph["unsafe"]), tuple(map(tuple, graph["steps"]))
    )  # fmt: skip
    return Abstraction(history, *shown(drawn, "Each state, with the step by which it was found first"), told)


def shown(drawn: Drawn | None, title: str) -> tuple[Picture | None, Table | None, str]:
    """The picture of a graph, its states, and its text for Graphviz."""
    if drawn is None:
        return None, None, ""
    bad = set(drawn.unsafe)
    rows = tuple(
        (str(i), "unsafe" if i in bad else "initial" if i < drawn.starts else "", text)
        for i, text in enumerate(drawn.states)
    )
    return picture_of(drawn, title), Table("Abstract states", ("number", "kind", "what holds in it"), rows), drawn.dot()


def _listed(added: list[str]) -> str:
    more = len(added) - _MOST_ADDED
    return ", ".join(added[:_MOST_ADDED]) + (f" and {more} more" if more > 0 else "")
