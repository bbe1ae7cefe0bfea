"""How large a system may be: what reads it recurses along its expressions, and computes with floats beside rationals.

The limits are far beyond what can be decided; without them, a system beyond them would end in an overflow or in hours
of work instead of one message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from venmas.errors import ModelError
from venmas.model.expr import ArgMax, Condition, Constant, Expr, Maximum, Sum, Switch, children

MAX_VARIABLES = 16_384
"""Most variables, and most terms of a sum: grids of 100x100 cells, one Boolean each, with room to spare."""

MAX_BRANCHES = 1000
MAX_REGIONS = 1000
"""Most polytopes of an initial set, in disjunctive normal form."""

MAX_NESTING = 200
"""Most expressions inside each other."""

MAX_OPERANDS = 1000
"""Most operands of a maximum, scores of an argmax, cases of a switch."""

MAX_NUMBER = 10**100
"""Largest numbers of a system: floats hold products of three of them."""


def check_count(count: int, most: int, what: str) -> None:
    """Raise `ModelError` where there are too many of something."""
    if count > most:
        raise ModelError(f"{what}: more than {most} are not supported; describe a smaller system")


def check_number(value: Fraction, what: str) -> None:
    """Raise `ModelError` for a number beyond `MAX_NUMBER`."""
    if abs(value) > MAX_NUMBER:
        raise ModelError(f"{what}: a number beyond 1e100 is not supported; choose another unit")


def check_node(where: str, node: Expr | Condition) -> None:
    """Check the numbers and operands of one node. Raises `ModelError`."""
    match node:
        case Constant(value):
            check_number(value, where)
        case Sum(terms, constant):
            for value in (constant, *(c for c, _ in terms)):
                check_number(value, where)
        case Maximum(operands) | ArgMax(operands):
            check_count(len(operands), MAX_OPERANDS, f"{where}, operands of a maximum or argmax")
        case Switch(_, cases):
            check_count(len(cases), MAX_OPERANDS, f"{where}, cases of a switch")


def check_nesting(where: str, roots: Iterable[Expr | Condition], levels: dict[int, int] | None = None) -> None:
    """Raise `ModelError` where expressions are nested too deeply; `levels` are those of nodes checked before, by id."""
    levels = {} if levels is None else levels
    stack: list[tuple[Expr | Condition, Iterator[Expr | Condition]]] = []
    for root in roots:
        if id(root) in levels:
            continue
        stack.append((root, iter(children(root))))
        while stack:
            node, rest = stack[-1]
            below = next((child for child in rest if id(child) not in levels), None)
            if below is not None:
                stack.append((below, iter(children(below))))
            else:
                stack.pop()
                levels[id(node)] = 1 + max((levels[id(c)] for c in children(node)), default=0)
            if len(stack) > MAX_NESTING or levels.get(id(node), 0) > MAX_NESTING:
                raise ModelError(
                    f"{where}: expressions are nested more than {MAX_NESTING} deep; keep intermediate results in "
                    "variables of the state, over several steps"
                )
