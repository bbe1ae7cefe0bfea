"""Runs of systems with disturbances: each state with the noise of its own step, as tables and files show it."""

from __future__ import annotations

from dataclasses import replace

from venmas.model.system.disturbances import AHEAD, ahead
from venmas.model.system.system import System
from venmas.model.witness.tree import Node, Value, Witness


def folded(witness: Witness) -> Witness:
    """A run of a `drawn` system as one of the system with noise: each state has the noise of its own step."""
    nodes = tuple(replace(n, state=tuple(v for v in n.state if not ahead(v.name))) for n in witness.nodes)
    return replace(witness, nodes=nodes)


def unfolded(system: System, witness: Witness, steps: int) -> Witness:
    """A stored run of `system` as one of `drawn(system, steps)`; what it does not tell of later noise is any value.

    Raises nothing: what is wrong in the run stays wrong, and is found by its replay.
    """
    if not system.disturbances:
        return witness
    path, at = [0], 0
    while witness.nodes[at].children:
        at = witness.nodes[at].children[0][1]
        path.append(at)
    if len(path) != len(witness.nodes):  # several runs: no answer to a question about noise
        return witness
    noise: dict[str, list[Value]] = {}
    for name in system.disturbances:
        any_ = Value(name, system.variables[name].lower)
        told = [next((v for v in witness.nodes[i].state if v.name == name), any_) for i in path][: max(1, steps)]
        noise[name] = told + [told[-1]] * (max(1, steps) - len(told))
    nodes = list(witness.nodes)
    for place, index in enumerate(path):
        nodes[index] = _with_later(nodes[index], noise, place)
    return replace(witness, nodes=tuple(nodes))


def _with_later(node: Node, noise: dict[str, list[Value]], place: int) -> Node:
    later = [
        replace(values[min(place + i, len(values) - 1)], name=f"{name}{AHEAD}{i}")
        for name, values in noise.items()
        for i in range(1, len(values))
    ]
    return replace(node, state=(*node.state, *later))
