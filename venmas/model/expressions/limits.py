"""Size limits of systems: readers recurse along expressions, and compute with floats beside rationals.

The limits are far beyond what can be decided; without them, a system beyond them would end in an overflow or in hours
of work instead of one message.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from venmas.budget import ask
from venmas.errors import ModelError
from venmas.model.expressions.expr import ArgMax, Condition, Constant, Expr, Maximum, Sum, Switch, children

MAX_VARIABLES = 16_384
"""Most variables, and most terms of a sum: grids of 100x100 cells, one Boolean each, with room to spare."""

MAX_BRANCHES = 10_000
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
    """The check of the numbers and operands of one node. Raises `ModelError`."""
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
    stack = list(roots)
    while stack:
        if not len(levels) % 32:
            ask()
        node = stack[-1]
        below = [] if id(node) in levels else children(node)
        missing = [child for child in below if id(child) not in levels]
        stack.extend(missing)
        if not missing:
            stack.pop()
            level = levels.setdefault(id(node), 1 + max([levels[id(child)] for child in below], default=0))
            if level > MAX_NESTING:
                raise ModelError(
                    f"{where}: expressions are nested more than {MAX_NESTING} deep; keep intermediate results in "
                    "variables of the state, over several steps"
                )
