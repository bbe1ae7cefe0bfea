"""Size of circuits in gates, roughly: what is too large for solvers is found out before it is written down."""

from __future__ import annotations

from collections.abc import Iterable

from venmas.model.circuit.nodes import Node
from venmas.model.circuit.operators import Op

MOST_GATES = 1_500_000
"""Gates that are given to solvers at once: some hundred megabytes of them."""
_EACH = {Op.ADD: 6, Op.SUB: 7, Op.EQ: 3, Op.ULT: 5, Op.SLT: 5, Op.ITE: 3, Op.XOR: 3, Op.REDXOR: 3, Op.AND: 1, Op.OR: 1}
"""Of a bit of the operands."""
_SQUARES = {Op.MUL: 7, Op.UDIV: 14, Op.UREM: 14}
"""Of a pair of bits."""
_SHIFTS = frozenset({Op.SLL, Op.SRL, Op.SRA})


def gates(nodes: Iterable[Node]) -> int:
    """Gates of two inputs that compute the nodes, give or take a factor of two."""
    total = 0
    widths: list[int] = []
    for node in nodes:
        widths.append(node.width)
        wide = max((widths[arg] for arg in node.args), default=0)
        if node.op in _SQUARES:
            total += _SQUARES[node.op] * wide * wide
        elif node.op in _SHIFTS:
            total += 3 * wide * wide.bit_length()
        else:
            total += _EACH.get(node.op, 0) * wide
    return total
