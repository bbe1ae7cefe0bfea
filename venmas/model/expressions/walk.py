"""Walk over the expression graph: every node below some roots, each once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from venmas.budget import ask
from venmas.model.expressions.expr import Condition, Expr, children


def walk(
    roots: Iterable[Expr | Condition],
    into: Callable[[Expr | Condition], bool] = lambda node: True,
    seen: dict[int, object] | None = None,
) -> Iterator[Expr | Condition]:
    """The nodes below the roots, each once, the roots first.

    into: are the parts of a node met, too? seen: nodes that were met before, by identity; it takes those of this walk.
    """
    seen = {} if seen is None else seen
    stack = list(roots)
    while stack:
        node = stack.pop()
        if id(node) not in seen:
            if not len(seen) % 32:
                ask()
            seen[id(node)] = node
            yield node
            if into(node):
                stack += children(node)
