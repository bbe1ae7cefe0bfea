"""What is seen at once: which formulas imply which, and which are of no account to time. Silence is no denial."""

from __future__ import annotations

from collections.abc import Callable

from venmas.logic.automata.effort import Effort
from venmas.logic.formula import And, Bottom, Formula, Not, Or, Top
from venmas.logic.paths import R, U, X

_DEPTH = 12
_KEPT = 200_000


class Implication:
    """Laws of formulas in core form, by their structure; what was found is kept."""

    def __init__(self, effort: Effort) -> None:
        self._effort = effort
        self._found: dict[tuple[Formula, Formula], bool] = {}
        self._negations: dict[Formula, Formula] = {}
        self._eventual: dict[Formula, bool] = {}
        self._universal: dict[Formula, bool] = {}

    def opposite(self, a: Formula, b: Formula) -> None:
        """Remember that each is the negation of the other."""
        self._negations.setdefault(a, b)
        self._negations.setdefault(b, a)

    def negation(self, formula: Formula) -> Formula | None:
        """The negation where it is known."""
        return formula.operand if isinstance(formula, Not) else self._negations.get(formula)

    def eventual(self, formula: Formula) -> bool:
        """Does it hold of ``u w`` where it holds of w?"""
        return _closed(formula, self._eventual, U)

    def universal(self, formula: Formula) -> bool:
        """Does it hold of w where it holds of ``u w``?"""
        return _closed(formula, self._universal, R)

    def timeless(self, formula: Formula) -> bool:
        """Does it hold of w exactly where it holds of ``u w``?"""
        return self.eventual(formula) and self.universal(formula)

    def __call__(self, a: Formula, b: Formula) -> bool:
        """Is it seen at once that a implies b?"""
        return self._implies(a, b, _DEPTH)

    def _implies(self, a: Formula, b: Formula, depth: int) -> bool:
        if a is b or isinstance(a, Bottom) or isinstance(b, Top):
            return True
        if not depth or isinstance(a, Top) or isinstance(b, Bottom):
            return False
        key = (a, b)
        if key not in self._found:
            if len(self._found) > _KEPT:
                self._found.clear()
            self._effort.spend(10)
            self._found[key] = False  # the answer to whoever asks the same below
            self._found[key] = _by_structure(a, b, lambda p, q: self._implies(p, q, depth - 1), self)
        return self._found[key]


def _by_structure(a: Formula, b: Formula, implies: Callable[[Formula, Formula], bool], known: Implication) -> bool:
    if isinstance(a, Or):
        return all(implies(part, b) for part in a.operands)
    if isinstance(b, And):
        return all(implies(a, part) for part in b.operands)
    if (isinstance(a, X) and isinstance(b, X) and implies(a.operand, b.operand)) or (
        type(a) is type(b)
        and isinstance(a, U | R)
        and implies(a.children[0], b.children[0])
        and implies(a.children[1], b.children[1])
    ):
        return True
    ways = [
        isinstance(a, And) and any(implies(part, b) for part in a.operands),
        isinstance(b, Or) and any(implies(a, part) for part in b.operands),
        isinstance(b, U) and implies(a, b.right),
        isinstance(a, R) and implies(a.right, b),
        isinstance(a, U) and implies(a.left, b) and implies(a.right, b),
        isinstance(b, R) and implies(a, b.left) and implies(a, b.right),
        isinstance(b, R) and isinstance(b.left, Bottom) and known.universal(a) and implies(a, b.right),
        isinstance(a, U) and isinstance(a.left, Top) and known.eventual(b) and implies(a.right, b),
        isinstance(b, X) and known.universal(a) and implies(a, b.operand),
        isinstance(a, X) and known.eventual(b) and implies(a.operand, b),
    ]
    return any(ways)


def _closed(formula: Formula, found: dict[Formula, bool], strong: type[Formula]) -> bool:
    """Is the formula eventual (`strong` is U) or universal (R)?"""
    stack = [formula]
    while stack:
        node = stack[-1]
        if node in found:
            stack.pop()
            continue
        operands = () if isinstance(node, Not) else node.children
        if isinstance(node, U | R) and isinstance(node.children[0], Top | Bottom):
            operands = node.children[1:]  # F p is eventual whatever p is; G p where p is
            if type(node) is strong:
                found[node] = True
                continue
        missing = [child for child in operands if child not in found]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        found[node] = isinstance(node, Top | Bottom) or (bool(operands) and all(found[child] for child in operands))
    return found[formula]
