"""Simulation of circuits: batches of states and inputs, one pass over the nodes a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from venmas.budget import ask
from venmas.model.circuit.nodes import Circuit, Nodes, needed
from venmas.model.circuit.operators import LEAVES, Op, Words, compute

State = tuple[Words, ...]
"""Of each register a batch of words, shape (n,)."""


def evaluate(source: Nodes, known: Mapping[int, Words], roots: Sequence[int]) -> list[Words]:
    """What `roots` are where these nodes (all leaves below the roots, or nodes above them) have these values.

    Shapes: (n,) each, and of each root. A value is dropped after its last reader. Raises `KeyError` where a leaf has no
    value.
    """
    size = len(next(iter(known.values()), (0,)))
    found = dict(known)
    order = needed(source, roots, known)
    last = {arg: index for index in order for arg in source.nodes[index].args}
    for root in roots:
        last.pop(root, None)
    for index in order:
        ask()
        node = source.nodes[index]
        if node.op is Op.CONST:
            found[index] = np.full(size, node.params[0], dtype=np.int64 if node.width <= 63 else object)
        elif node.op in LEAVES:
            raise KeyError(index)
        else:
            widths = [source.nodes[arg].width for arg in node.args]
            found[index] = compute(node.op, [found[arg] for arg in node.args], widths, node.params, node.width)
            for arg in node.args:
                if last.get(arg) == index:
                    found.pop(arg, None)
    return [found[root] for root in roots]


def values(circuit: Circuit, state: Sequence[Words], inputs: Sequence[Words], roots: Sequence[int]) -> list[Words]:
    """What `roots` are where registers and inputs have these values; all of shape (n,)."""
    known = dict(zip((*circuit.registers, *circuit.inputs), (*state, *inputs), strict=True))
    return evaluate(circuit, known, roots)


def step(circuit: Circuit, state: Sequence[Words], inputs: Sequence[Words]) -> State:
    """The states one step later."""
    return tuple(values(circuit, state, inputs, circuit.next))


def first_states(circuit: Circuit, free: Sequence[Words], inputs: Sequence[Words]) -> State:
    """Initial states: `free` has a value for every register, used where none is prescribed.

    First values may read those of other registers and inputs of the first step. Raises `ValueError` where they read
    each other in a circle.
    """
    found = list(free)
    for at in order_of_first(circuit):
        first = circuit.init[at]
        assert first is not None
        (found[at],) = values(circuit, found, inputs, [first])
    return tuple(found)


def order_of_first(circuit: Circuit) -> list[int]:
    """Registers with first values, each after those that its own reads. Raises `ValueError` for a circle."""
    place = {node: at for at, node in enumerate(circuit.registers)}
    reads = {
        at: {place[node] for node in needed(circuit, [first]) if node in place}
        for at, first in enumerate(circuit.init)
        if first is not None
    }
    order: list[int] = []
    left: Mapping[int, set[int]] = dict(reads)
    while left:
        ready = [at for at, read in left.items() if not (read & left.keys())]
        if not ready:
            raise ValueError("initial values of registers read each other in a circle")
        order += ready
        left = {at: read for at, read in left.items() if at not in ready}
    return order
