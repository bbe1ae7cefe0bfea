"""Atoms of a formula as nodes of a circuit, and the part of the circuit that they depend on."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import lcm

from venmas.budget import Budget
from venmas.circuit.builder import Builder
from venmas.circuit.cone import cone, influence
from venmas.circuit.nodes import Circuit, needed
from venmas.circuit.operators import Op
from venmas.circuit.smt import Smt, Unsat
from venmas.errors import CircuitError
from venmas.linear import Comparison, Relation
from venmas.logic.formula import And, Atom, Bottom, Formula, Not, Or, Top, subformulas
from venmas.logic.paths import Leaf, leaves

_BIT = re.compile(r"(.+)\[(\d{1,9})\]")


def bind(circuit: Circuit, atoms: Sequence[Leaf]) -> tuple[Circuit, tuple[int, ...]]:
    """The cone of influence of the atoms, and of each of them its node of one bit there.

    A name is a signal of one bit, ``s[3]`` the bit 3 of s (0 the lowest); comparisons are of signals as unsigned
    integers, without wrapping around. Raises `CircuitError` for names that the circuit does not have.
    """
    whole, letters = _extended(circuit, atoms)
    part, roots = cone(whole, letters)
    return part, tuple(roots)


def kept(circuit: Circuit, atoms: Sequence[Leaf]) -> tuple[int, ...]:
    """Which registers of the circuit are those of the cone, by their places. Raises as `bind`."""
    whole, letters = _extended(circuit, atoms)
    seen = influence(whole, letters)
    return tuple(at for at, node in enumerate(whole.registers) if node in seen)


def started(circuit: Circuit, condition: Formula) -> Circuit:
    """The circuit whose initial states meet a condition besides. Raises as `bind`, and for conditions about inputs."""
    atoms = leaves(condition)
    whole, letters = _extended(circuit, atoms)
    for atom, node in zip(atoms, letters, strict=True):
        if any(whole.nodes[index].op is Op.INPUT for index in needed(whole, [node])):
            raise CircuitError(f"initial states are described by registers; {atom} depends on inputs")
    b = Builder()
    known = {node: b.input(whole.width(node)) for node in whole.inputs}
    known |= {node: b.register(whole.width(node)) for node in whole.registers}
    order = list(range(len(whole.nodes)))
    there = dict(zip(order, b.copy(whole, known, order), strict=True))
    start = _truth(b, condition, dict(zip(atoms, (there[node] for node in letters), strict=True)))
    return _moved(whole, b, there, start)


def check_started(circuit: Circuit, text: str, budget: Budget) -> None:
    """Refuse a circuit without an initial state, of which everything holds. Raises `CircuitError`, `BudgetError`.

    text: the condition that was given. Where the solver comes to no end, nothing is refused.
    """
    b = Builder()
    known = {node: b.input(circuit.width(node)) for node in circuit.inputs}
    known |= {node: b.register(circuit.width(node)) for node in circuit.registers}
    places = zip(circuit.registers, circuit.init, strict=True)
    prescribed = [(register, first) for register, first in places if first is not None]
    firsts = b.copy(circuit, known, [first for _, first in prescribed])
    conditions = b.copy(circuit, known, (*circuit.starts, *circuit.constraints))
    pairs = zip(prescribed, firsts, strict=True)
    conditions += [b.apply(Op.EQ, [known[register], first]) for (register, _), first in pairs]
    if conditions and isinstance(Smt(b).check(conditions, budget.left), Unsat):
        raise CircuitError(
            f"no initial state of the design meets {text}: nothing would be asked; see what its `init` and "
            "`constraint` lines say, or state another condition"
        )


def _truth(b: Builder, condition: Formula, atoms: Mapping[Leaf, int]) -> int:
    found: dict[Formula, int] = dict(atoms.items())
    for node in subformulas(condition):
        if isinstance(node, Top | Bottom):
            found[node] = b.const(int(isinstance(node, Top)), 1)
        elif isinstance(node, Not):
            found[node] = b.not_(found[node.operand])
        elif isinstance(node, And):
            found[node] = b.all_of([found[one] for one in node.operands])
        elif isinstance(node, Or):
            found[node] = b.any_of([found[one] for one in node.operands])
        elif node not in found:
            raise CircuitError(
                f"{condition}: a condition of initial states is made of comparisons with ! & | and says nothing of time"
            )
    return found[condition]


def _moved(circuit: Circuit, b: Builder, there: Mapping[int, int], *starts: int) -> Circuit:
    """The circuit with its nodes where they are in the builder."""
    return Circuit(
        nodes=tuple(b.nodes),
        inputs=tuple(b.inputs),
        registers=tuple(b.registers),
        next=tuple(there[node] for node in circuit.next),
        init=tuple(None if node is None else there[node] for node in circuit.init),
        starts=(*(there[node] for node in circuit.starts), *starts),
        constraints=tuple(there[node] for node in circuit.constraints),
        bad=tuple(there[node] for node in circuit.bad),
        fair=tuple(there[node] for node in circuit.fair),
        justice=tuple(tuple(there[node] for node in one) for one in circuit.justice),
        names={name: there[node] for name, node in circuit.names.items()},
    )


def _extended(circuit: Circuit, atoms: Sequence[Leaf]) -> tuple[Circuit, list[int]]:
    """The circuit with a node of one bit for each atom."""
    b = Builder()
    known = {node: b.input(circuit.width(node)) for node in circuit.inputs}
    known |= {node: b.register(circuit.width(node)) for node in circuit.registers}
    order = list(range(len(circuit.nodes)))
    there = dict(zip(order, b.copy(circuit, known, order), strict=True))
    names = {name: there[node] for name, node in circuit.names.items()}
    letters = [_comparison(b, names, a.comparison) if isinstance(a, Atom) else _flag(b, names, a.name) for a in atoms]
    return _moved(circuit, b, there), letters


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
