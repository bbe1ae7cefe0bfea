"""Atoms of a formula as nodes of a circuit, and the part of the circuit that they depend on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import lcm

from venmas.circuit.builder import Builder
from venmas.circuit.cone import cone
from venmas.circuit.nodes import Circuit
from venmas.circuit.operators import Op
from venmas.errors import CircuitError
from venmas.linear import Comparison, Relation
from venmas.logic.formula import Atom
from venmas.logic.paths import Leaf

_BIT = re.compile(r"(.+)\[(\d{1,9})\]")


def bind(circuit: Circuit, atoms: Sequence[Leaf]) -> tuple[Circuit, tuple[int, ...]]:
    """The cone of influence of the atoms, and of each of them its node of one bit there.

    A name is a signal of one bit, ``s[3]`` the bit 3 of s (0 the lowest); comparisons are of signals as unsigned
    integers, without wrapping around. Raises `CircuitError` for names that the circuit does not have.
    """
    b = Builder()
    known = {node: b.input(circuit.width(node)) for node in circuit.inputs}
    known |= {node: b.register(circuit.width(node)) for node in circuit.registers}
    firsts = [node for node in circuit.init if node is not None]
    order = [*circuit.next, *circuit.constraints, *firsts, *circuit.names.values()]
    there = dict(zip(order, b.copy(circuit, known, order), strict=True))
    names = {name: there[node] for name, node in circuit.names.items()}
    letters = [_comparison(b, names, a.comparison) if isinstance(a, Atom) else _flag(b, names, a.name) for a in atoms]
    whole = Circuit(
        nodes=tuple(b.nodes),
        inputs=tuple(b.inputs),
        registers=tuple(b.registers),
        next=tuple(there[node] for node in circuit.next),
        init=tuple(None if node is None else there[node] for node in circuit.init),
        constraints=tuple(there[node] for node in circuit.constraints),
        names=names,
    )
    part, roots = cone(whole, letters)
    return part, tuple(roots)


def _flag(b: Builder, names: dict[str, int], name: str) -> int:
    node = _signal(b, names, name)
    if b.width(node) != 1:
        raise CircuitError(
            f"{name} has {b.width(node)} bits and is no condition by itself; compare it ({name} != 0) or name a bit "
            f"({name}[0])"
        )
    return node


def _signal(b: Builder, names: dict[str, int], name: str) -> int:
    if name in names:
        return names[name]
    if match := _BIT.fullmatch(name):
        word, bit = _signal(b, names, match[1]), int(match[2])
        if bit >= b.width(word):
            raise CircuitError(f"{name}: {match[1]} has the bits {match[1]}[0] to {match[1]}[{b.width(word) - 1}]")
        return b.apply(Op.SLICE, [word], [bit, bit])
    raise CircuitError(f"the design has no signal {name!r}; it has {', '.join(sorted(names)) or 'none with a name'}")


def _comparison(b: Builder, names: dict[str, int], comparison: Comparison) -> int:
    """Both sides in integers of enough bits, so that no sum wraps around; signed."""
    expr = comparison.expr
    whole = lcm(expr.constant.denominator, *(value.denominator for _, value in expr.terms))
    terms = [(int(value * whole), _signal(b, names, name)) for name, value in expr.terms]
    constant = int(expr.constant * whole)
    width = (sum(abs(w) << b.width(n) for w, n in terms) + abs(constant)).bit_length() + 1
    left = b.const(constant, width)
    for weight, node in terms:
        word = b.apply(Op.UEXT, [node], [width - b.width(node)])
        left = b.apply(Op.ADD, [left, b.apply(Op.MUL, [b.const(weight, width), word])])
    zero = b.const(0, width)
    less, equal, more = b.apply(Op.SLT, [left, zero]), b.apply(Op.EQ, [left, zero]), b.apply(Op.SLT, [zero, left])
    match comparison.relation:
        case Relation.LT:
            return less
        case Relation.LE:
            return b.not_(more)
        case Relation.GT:
            return more
        case Relation.GE:
            return b.not_(less)
        case Relation.EQ:
            return equal
        case Relation.NE:
            return b.not_(equal)
