"""Builder of circuits: equal nodes are one, constants are folded, other operators are written with those of `Op`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from venmas.budget import ask
from venmas.model.circuit.nodes import Node, Nodes, needed
from venmas.model.circuit.operators import LEAVES, Op, compute, mask, width_of, words


class Builder:
    """Nodes of a circuit in the making. Operands are indices that earlier calls gave."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.inputs: list[int] = []
        self.registers: list[int] = []
        self._known: dict[Node, int] = {}

    def width(self, node: int) -> int:
        """Bits of a node."""
        return self.nodes[node].width

    def value(self, node: int) -> int | None:
        """The value of a constant, None of any other node."""
        found = self.nodes[node]
        return found.params[0] if found.op is Op.CONST else None

    def const(self, value: int, width: int) -> int:
        """A constant, modulo 2^width."""
        return self._node(Node(Op.CONST, width, (), (value & mask(width),)))

    def input(self, width: int) -> int:
        """A new input."""
        self.inputs.append(self._node(Node(Op.INPUT, width, (), (len(self.inputs),))))
        return self.inputs[-1]

    def register(self, width: int) -> int:
        """A new register."""
        self.registers.append(self._node(Node(Op.REGISTER, width, (), (len(self.registers),))))
        return self.registers[-1]

    def apply(self, op: Op, args: Sequence[int], params: Sequence[int] = ()) -> int:
        """A node that computes, or an older one of the same value. Raises `ValueError` for widths that do not fit."""
        widths = [self.width(arg) for arg in args]
        width = width_of(op, widths, params)
        values = [self.value(arg) for arg in args]
        if None not in values:
            given = [words([value], bits) for value, bits in zip(values, widths, strict=True)]
            return self.const(int(compute(op, given, widths, params, width)[0]), width)
        found = self._simpler(op, args, params, values, width)
        return self._node(Node(op, width, tuple(args), tuple(params))) if found is None else found

    def not_(self, a: int) -> int:
        """Every bit inverted."""
        return self.apply(Op.NOT, [a])

    def zero(self, a: int) -> int:
        """One bit: all bits of a are 0."""
        return self.apply(Op.EQ, [a, self.const(0, self.width(a))])

    def full(self, a: int) -> int:
        """One bit: all bits of a are 1."""
        return self.apply(Op.EQ, [a, self.const(-1, self.width(a))])

    def all_of(self, conditions: Sequence[int]) -> int:
        """One bit: the conjunction of one-bit nodes."""
        out = self.const(1, 1)
        for condition in conditions:
            out = self.apply(Op.AND, [out, condition])
        return out

    def any_of(self, conditions: Sequence[int]) -> int:
        """One bit: the disjunction of one-bit nodes."""
        return self.not_(self.all_of([self.not_(condition) for condition in conditions]))

    def copy(self, circuit: Nodes, known: Mapping[int, int], roots: Sequence[int]) -> list[int]:
        """Nodes that compute `roots` of another circuit, where `known` says what its leaves (or others) are here.

        Raises `KeyError` where a leaf under a root is not known.
        """
        there = dict(known)
        for index in needed(circuit, roots, there):
            ask()
            node = circuit.nodes[index]
            if node.op is Op.CONST:
                there[index] = self.const(node.params[0], node.width)
            elif node.op in LEAVES:
                raise KeyError(index)
            else:
                there[index] = self.apply(node.op, [there[arg] for arg in node.args], node.params)
        return [there[root] for root in roots]

    def _node(self, node: Node) -> int:
        number = self._known.get(node)
        if number is None:
            number = self._known[node] = len(self.nodes)
            self.nodes.append(node)
        return number

    def _simpler(
        self, op: Op, args: Sequence[int], params: Sequence[int], values: Sequence[int | None], width: int
    ) -> int | None:
        """A node of the same value without this operator, if one is seen at once."""
        ones = mask(width)
        match op:
            case Op.NOT if self.nodes[args[0]].op is Op.NOT:
                return self.nodes[args[0]].args[0]
            case Op.AND | Op.OR:
                unit, absorbing = (ones, 0) if op is Op.AND else (0, ones)
                if absorbing in values:
                    return self.const(absorbing, width)
                if unit in values:
                    return args[1 - values.index(unit)]
                return args[0] if args[0] == args[1] else None
            case Op.XOR | Op.ADD | Op.SUB if values[1] == 0:
                return args[0]
            case Op.XOR | Op.ADD if values[0] == 0:
                return args[1]
            case Op.XOR | Op.SUB if args[0] == args[1]:
                return self.const(0, width)
            case Op.SLL | Op.SRL | Op.SRA if values[1] == 0:
                return args[0]
            case Op.EQ if args[0] == args[1]:
                return self.const(1, 1)
            case Op.ULT | Op.SLT if args[0] == args[1]:
                return self.const(0, 1)
            case Op.ULT if values[1] == 0:
                return self.const(0, 1)
            case Op.ITE:
                return self._choice(args, values, width)
            case Op.UEXT | Op.SEXT if params[0] == 0:
                return args[0]
            case Op.SLICE if width == self.width(args[0]):
                return args[0]
        return None

    def _choice(self, args: Sequence[int], values: Sequence[int | None], width: int) -> int | None:
        condition, yes, no = args
        if values[0] is not None:
            return yes if values[0] else no
        if yes == no:
            return yes
        if width == 1 and values[1] is not None and values[2] is not None:
            return condition if values[1] else self.not_(condition)
        return None
