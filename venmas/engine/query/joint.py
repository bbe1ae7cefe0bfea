"""Queries about several networks (VNN-LIB 2.0), as one about a joint network: the layers of all, side by side.

Inputs that the query asserts to be equal are one input of the joint network, whose first layer copies it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial

import numpy as np

from venmas.engine.query.beside import side_by_side
from venmas.engine.query.decide import QueryReport, check_sizes, confirm, decide_query
from venmas.engine.query.products import decide_products, outputs_of
from venmas.engine.query.relaxed import loosened
from venmas.errors import UsageError
from venmas.formats.vnnlib.query import Box, Case, Declared, Query
from venmas.logic.formula import FALSE, TRUE, And, Atom, Formula, Or, conjunction, disjunction
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.nn import Network
from venmas.nn.network import Layer


def check_networks(query: Query, networks: Sequence[Network]) -> None:
    """Refuse, as `UsageError`, networks that are not as the query declares them; they come in its order.

    Of networks with other hidden nodes, which are outputs here, relations are checked by
    `venmas.engine.query.files.load_networks`.
    """
    by_name = {declared.name: (declared, network) for declared, network in zip(query.networks, networks, strict=True)}
    for declared, network in by_name.values():
        check_sizes(network, declared.input_size, declared.output_size, declared.name)
        if declared.relation:
            like, other = by_name[declared.other]
            if like.hidden_names == declared.hidden_names:
                check_relation(declared, network, other)


def check_relation(declared: Declared, network: Network, other: Network) -> None:
    """Refuse, as `UsageError`, a network that is not like another one as is declared."""
    if declared.relation == "equal-to" and network != other:
        raise UsageError(
            f"network {declared.name} is declared equal-to {declared.other}, but {network!r} differs from "
            f"{other!r}: give the same file for both"
        )
    if _shape(network) != _shape(other):
        raise UsageError(
            f"network {declared.name} is declared {declared.relation} {declared.other}, but {network!r} has "
            f"another shape than {other!r}: give networks of the same layers"
        )


def decide_joint(
    networks: Sequence[Network],
    query: Query,
    *,
    timeout: float | None = None,
    workers: int = 1,
    progress: Callable[[QueryReport], None] = lambda report: None,
    errors: Sequence[Fraction] = (),
) -> QueryReport:
    """Decide a query about networks, in the order in which it declares them.

    errors: by how much each output may be off; an ``unsat`` holds for all such outputs, a ``sat`` for some. The other
    arguments are those of `decide_query`; inputs and outputs of the report follow each other as in the query. Raises
    `UsageError` for networks that differ from what is declared, or that do not go side by side.
    """
    if query.products or any(network.smooth for network in networks):
        if query.networks:
            check_networks(query, networks)
        return decide_products(networks, query, timeout=timeout, errors=errors)
    query = loosened(query, errors)
    if len(networks) == 1:
        return decide_query(networks[0], query, timeout=timeout, workers=workers, progress=progress)
    check_networks(query, networks)
    places = _places(query)
    report = decide_query(
        _joint(networks, places), _over(query, places), timeout=timeout, workers=workers, progress=progress
    )
    if report.verdict == "sat":
        report.inputs = tuple(report.inputs[place] for place in places)
        report.outputs = outputs_of(networks, report.inputs)
        confirm(query, report)
    return report


def _shape(network: Network) -> tuple[object, ...]:
    return tuple((layer.in_size, layer.out_size, layer.activation) for layer in network.layers)


def _places(query: Query) -> list[int]:
    """For each input, the number of the input of the joint network that it is: one for inputs asserted to be equal."""
    first = list(range(query.inputs))
    parts = query.assertion.operands if isinstance(query.assertion, And) else (query.assertion,)
    for part in parts:
        if not isinstance(part, Atom) or part.comparison.relation is not Relation.EQ or part.comparison.expr.constant:
            continue
        terms = part.comparison.expr.terms
        if len(terms) != 2 or terms[0][1] + terms[1][1] or any(not name.startswith("X_") for name, _ in terms):
            continue
        kept, gone = sorted(first[int(name[2:])] for name, _ in terms)
        first = [kept if place == gone else place for place in first]
    numbers = {place: number for number, place in enumerate(sorted(set(first)))}
    return [numbers[place] for place in first]


def _joint(networks: Sequence[Network], places: Sequence[int]) -> Network:
    copies = np.zeros((len(places), max(places) + 1))
    copies[np.arange(len(places)), list(places)] = 1.0
    layers = (Layer(copies, np.zeros(len(places))), *side_by_side(networks))
    return Network(layers, " and ".join(network.name for network in networks))


def _over(query: Query, places: Sequence[int]) -> Query:
    """The query over the inputs of the joint network."""
    names = {f"X_{i}": LinearExpr.variable(f"X_{place}") for i, place in enumerate(places)}
    names |= {f"Y_{i}": LinearExpr.variable(f"Y_{i}") for i in range(query.outputs)}
    rename = partial(_renamed, names=names)
    count = max(places) + 1
    cases = []
    for case in query.cases:
        boxes = [_shared(box, places, count) for box in case.boxes]
        kept = tuple(box for box in boxes if all(low <= high for low, high in box))
        condition = rename(case.condition)
        if kept and condition != FALSE:
            cases.append(Case(kept, condition))
    return Query(count, query.outputs, rename(query.assertion), tuple(cases))


def _shared(box: Box, places: Sequence[int], count: int) -> Box:
    """What the sides of inputs that are one have in common."""
    sides = [[side for side, place in zip(box, places, strict=True) if place == number] for number in range(count)]
    return tuple((max(low for low, _ in side), min(high for _, high in side)) for side in sides)


def _renamed(condition: Formula, names: Mapping[str, LinearExpr]) -> Formula:
    match condition:
        case And(parts):
            return conjunction([_renamed(part, names) for part in parts])
        case Or(parts):
            return disjunction([_renamed(part, names) for part in parts])
        case Atom(comparison):
            expr = comparison.expr.substitute(names)
            if not expr.terms:
                return TRUE if comparison.relation.holds(expr.constant) else FALSE
            return Atom(Comparison(expr, comparison.relation))
    return condition
