"""Cone of influence: the part of a circuit that some of its nodes depend on, over time."""

from __future__ import annotations

from collections.abc import Sequence

from venmas.model.circuit.builder import Builder
from venmas.model.circuit.nodes import Circuit, needed
from venmas.model.circuit.operators import Op


def cone(circuit: Circuit, roots: Sequence[int]) -> tuple[Circuit, list[int]]:
    """The circuit of what `roots` depend on in any number of steps, and the roots in it.

    Constraints and conditions of initial states stay, with what they depend on. Properties of the circuit itself (bad,
    fair, justice) go unless they are roots; so do the names of what goes. A register whose first value is that of
    others keeps these.
    """
    place = {node: at for at, node in enumerate(circuit.registers)}
    seen = influence(circuit, roots)
    builder, there = Builder(), {}
    for node in circuit.inputs:
        if node in seen:
            there[node] = builder.input(circuit.width(node))
    kept = [node for node in circuit.registers if node in seen]
    for node in kept:
        there[node] = builder.register(circuit.width(node))
    for index in sorted(seen):
        node_ = circuit.nodes[index]
        if node_.op is Op.CONST:
            there[index] = builder.const(node_.params[0], node_.width)
        elif index not in there:
            there[index] = builder.apply(node_.op, [there[arg] for arg in node_.args], node_.params)
    firsts = [circuit.init[place[node]] for node in kept]
    small = Circuit(
        nodes=tuple(builder.nodes),
        inputs=tuple(builder.inputs),
        registers=tuple(builder.registers),
        next=tuple(there[circuit.next[place[node]]] for node in kept),
        init=tuple(None if first is None else there[first] for first in firsts),
        starts=tuple(there[node] for node in circuit.starts),
        constraints=tuple(there[node] for node in circuit.constraints),
        names={name: there[node] for name, node in circuit.names.items() if node in there},
    )
    return small, [there[root] for root in roots]


def influence(circuit: Circuit, roots: Sequence[int]) -> set[int]:
    """The nodes of the cone."""
    place = {node: at for at, node in enumerate(circuit.registers)}
    frontier = [*roots, *circuit.starts, *circuit.constraints]
    seen: set[int] = set()
    while frontier:
        fresh = [node for node in needed(circuit, frontier) if node not in seen]
        seen.update(fresh)
        hit = [place[node] for node in fresh if node in place]
        frontier = [circuit.next[at] for at in hit] + [at for at in (circuit.init[at] for at in hit) if at is not None]
    return seen
