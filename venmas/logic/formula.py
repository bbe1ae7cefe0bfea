"""The formula tree of CTL, with bounds and without (design S5).

Nodes are interned: building the same node twice gives the same object, so equality is identity and hashing costs the
same at any depth. Formulas are shared freely (a formula is a DAG), and nothing here recurses along it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from threading import Lock
from typing import Any, ClassVar
from weakref import WeakValueDictionary

from venmas.budget import ask
from venmas.errors import FormulaError
from venmas.logic.linear import Comparison


class Quantifier(Enum):
    """Over all runs or over some run."""

    ALL = "A"
    EXISTS = "E"

    @property
    def dual(self) -> Quantifier:
        """The other quantifier."""
        return Quantifier.EXISTS if self is Quantifier.ALL else Quantifier.ALL


class _Interned(type):
    """Interning: a node that is made again is the one that is alive.

    The table is keyed by the identities of the operands, which cannot be reused while the node that holds them lives.
    A key that held the operands themselves would free a deep formula by recursion.
    """

    table: ClassVar[WeakValueDictionary[tuple[object, ...], Formula]] = WeakValueDictionary()
    lock: ClassVar[Lock] = Lock()

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = super().__call__(*args, **kwargs)
        key = (cls, *(_key(value) for value in made._fields()))
        with _Interned.lock:
            known = _Interned.table.get(key)
            if known is not None:
                return known
            object.__setattr__(made, "horizon", made._horizon())
            _Interned.table[key] = made
            return made


def _key(value: object) -> object:
    if isinstance(value, tuple):
        return tuple(map(id, value))
    return id(value) if isinstance(value, Formula) else value


def _fresh_lock() -> None:
    _Interned.lock = Lock()


if hasattr(os, "register_at_fork"):  # formulas are read on systems without processes that fork, too
    os.register_at_fork(after_in_child=_fresh_lock)  # a thread that held it does not exist in the child


class Formula(metaclass=_Interned):
    """Base of all nodes. `horizon`: the number of steps that the formula looks ahead; None: there is no last one."""

    horizon: int | None
    _printed: ClassVar[Callable[[Formula, bool], str]]
    """A formula as text, shortened or not; `venmas.logic.printing` puts it here."""

    @property
    def depth(self) -> int:
        """The horizon of a bounded formula. Raises `FormulaError` where an operator has no bound."""
        if self.horizon is None:
            raise FormulaError(f"an operator without a bound cannot be unrolled: {self!r}; give it one, as in AG^20 p")
        return self.horizon

    @property
    def children(self) -> tuple[Formula, ...]:
        """The direct operands, left to right."""
        return tuple(value for value in self._fields() if isinstance(value, Formula))

    def __and__(self, other: Formula) -> Formula:
        return And((self, other)) if isinstance(other, Formula) else NotImplemented

    def __or__(self, other: Formula) -> Formula:
        return Or((self, other)) if isinstance(other, Formula) else NotImplemented

    def __invert__(self) -> Formula:
        return Not(self)

    def __bool__(self) -> bool:
        raise FormulaError("a formula has no truth value in Python: write & | ~ instead of 'and', 'or', 'not'")

    def __str__(self) -> str:
        return Formula._printed(self, False)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {Formula._printed(self, True)}>"

    def __reduce__(self) -> tuple[object, ...]:
        # One flat list of nodes, each after its operands: pickling recurses neither and keeps what is shared.
        index: dict[Formula, int] = {}
        rows: list[tuple[type[Formula], tuple[Any, ...], tuple[int, ...]]] = []
        for node in subformulas(self):
            rows.append((type(node), node._plain(), tuple(index[child] for child in node.children)))
            index[node] = len(index)
        return _restore, (tuple(rows),)

    def _fields(self) -> tuple[Any, ...]:
        names: tuple[str, ...] = type(self).__match_args__  # type: ignore[attr-defined]
        return tuple(getattr(self, name) for name in names)

    def _plain(self) -> tuple[Any, ...]:
        return tuple(value for value in self._fields() if not isinstance(value, Formula | tuple))

    def with_children(self, children: Sequence[Formula]) -> Formula:
        """A formula of the same kind with other operands."""
        return _made(type(self), self._plain(), children)

    def _horizon(self) -> int | None:
        return _ahead(0, *self.children)


def _ahead(steps: int | None, *formulas: Formula) -> int | None:
    """The horizon of formulas from so many steps on."""
    furthest = 0
    for formula in formulas:
        if formula.horizon is None:
            return None
        furthest = max(furthest, formula.horizon)
    return None if steps is None else steps + furthest


def _restore(rows: tuple[tuple[type[Formula], tuple[Any, ...], tuple[int, ...]], ...]) -> Formula:
    nodes: list[Formula] = []
    for kind, plain, indices in rows:
        nodes.append(_made(kind, plain, [nodes[i] for i in indices]))
    return nodes[-1]


def _made(kind: type[Formula], plain: tuple[Any, ...], children: Sequence[Formula]) -> Formula:
    return kind(tuple(children)) if issubclass(kind, _Several) else kind(*plain, *children)


def replaced(formula: Formula, by: Mapping[Formula, Formula]) -> Formula:
    """The formula with other formulas in the place of some of its parts, wherever these stand."""
    done: dict[Formula, Formula] = {}
    for node in subformulas(formula):
        if node in by:
            done[node] = by[node]
        else:
            done[node] = node.with_children([done[part] for part in node.children]) if node.children else node
    return done[formula]


@dataclass(frozen=True, eq=False, repr=False)
class Top(Formula):
    """True everywhere."""


@dataclass(frozen=True, eq=False, repr=False)
class Bottom(Formula):
    """True nowhere."""


@dataclass(frozen=True, eq=False, repr=False)
class Atom(Formula):
    """A linear comparison over the variables of the present state."""

    comparison: Comparison


@dataclass(frozen=True, eq=False, repr=False)
class Not(Formula):
    """Negation."""

    operand: Formula


@dataclass(frozen=True, eq=False, repr=False)
class _Several(Formula):
    operands: tuple[Formula, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "operands", tuple(self.operands))
        if len(self.operands) < 2:
            raise FormulaError(
                f"{type(self).__name__} takes two operands or more, got {len(self.operands)}: "
                "use conjunction(...) or disjunction(...) for any number"
            )

    @property
    def children(self) -> tuple[Formula, ...]:
        return self.operands


class And(_Several):
    """Conjunction of two operands or more."""


class Or(_Several):
    """Disjunction of two operands or more."""


@dataclass(frozen=True, eq=False, repr=False)
class Implies(Formula):
    """``left -> right``."""

    left: Formula
    right: Formula


@dataclass(frozen=True, eq=False, repr=False)
class Iff(Formula):
    """``left <-> right``."""

    left: Formula
    right: Formula


@dataclass(frozen=True, eq=False, repr=False)
class EX(Formula):
    """Some successor satisfies the operand; false in a deadlock (design S4)."""

    operand: Formula

    def _horizon(self) -> int | None:
        return _ahead(1, self.operand)


@dataclass(frozen=True, eq=False, repr=False)
class AX(Formula):
    """Every successor satisfies the operand; true in a deadlock (design S4)."""

    operand: Formula

    def _horizon(self) -> int | None:
        return _ahead(1, self.operand)


@dataclass(frozen=True, eq=False, repr=False)
class Next(Formula):
    """``AX^k p`` or ``EX^k p``: at step k of all runs, or of some run, that are so long."""

    quantifier: Quantifier
    k: int
    operand: Formula

    def __post_init__(self) -> None:
        if self.k < 1:
            raise FormulaError(f"{self.quantifier.value}X^{self.k} names no step: the exponent is 1 or more")

    def _horizon(self) -> int | None:
        return _ahead(self.k, self.operand)


@dataclass(frozen=True, eq=False, repr=False)
class Window(Formula):
    """An operator over the steps `start` to `end`; `end` None: over all steps from `start` on."""

    quantifier: Quantifier
    start: int
    end: int | None

    def __post_init__(self) -> None:
        if self.start < 0 or (self.end is not None and self.end < self.start):
            raise FormulaError(f"[{self.start},{self.end}] names no steps: write [i,j] with 0 <= i <= j")


@dataclass(frozen=True, eq=False, repr=False)
class _WindowOfOne(Window):
    operand: Formula

    def _horizon(self) -> int | None:
        return _ahead(self.end, self.operand)


class Globally(_WindowOfOne):
    """``AG[i,j] p``: p at each state met at steps i to j. ``EG[i,j] p``: a run of j steps has p at all of i to j.

    Without end: at each state met from step i on; an infinite run has p at all of its steps from i on.
    """


class Finally(_WindowOfOne):
    """``EF[i,j] p``: p at a state met at steps i to j. ``AF[i,j] p``: each run of j steps has p at one of i to j.

    Without end: p at a state met from step i on; each infinite run has p at one of its steps from i on.
    """


@dataclass(frozen=True, eq=False, repr=False)
class Until(Window):
    """``A(p U[i,j] q)``, ``E(p U[i,j] q)``: q at one of the steps i to j, and p at every step before it.

    Under A, a run that ends in a deadlock before step j and satisfies p to its end is no exception. Without end: q at
    some step from i on.
    """

    left: Formula
    right: Formula

    def _horizon(self) -> int | None:
        right, left = _ahead(self.end, self.right), _ahead(self.end, self.left)
        return None if right is None or left is None else max(right, left - 1 if self.end else 0)


TRUE: Formula = Top()
FALSE: Formula = Bottom()


def subformulas(formula: Formula) -> Iterator[Formula]:
    """Every distinct subformula once, operands before what they are part of, `formula` last."""
    entered = {formula}
    stack = [(formula, iter(formula.children))]
    while stack:
        ask()
        node, rest = stack[-1]
        child = next((c for c in rest if c not in entered), None)
        if child is None:
            stack.pop()
            yield node
        else:
            entered.add(child)
            stack.append((child, iter(child.children)))


def variables_of(formula: Formula) -> frozenset[str]:
    """The variables that a formula names."""
    atoms = (node.comparison for node in subformulas(formula) if isinstance(node, Atom))
    return frozenset(name for comparison in atoms for name in comparison.expr.coefficients)


def is_temporal(formula: Formula) -> bool:
    """True when a temporal operator occurs, even one over the present step only such as ``AG[0,0] p``."""
    return any(isinstance(node, EX | AX | Next | Window) for node in subformulas(formula))


def conjunction(formulas: Iterable[Formula]) -> Formula:
    """The conjunction of any number of formulas: flat, without duplicates and constants."""
    return _join(And, formulas, unit=TRUE, zero=FALSE)


def disjunction(formulas: Iterable[Formula]) -> Formula:
    """The disjunction of any number of formulas: flat, without duplicates and constants."""
    return _join(Or, formulas, unit=FALSE, zero=TRUE)


def _join(kind: type[And] | type[Or], formulas: Iterable[Formula], unit: Formula, zero: Formula) -> Formula:
    parts: dict[Formula, None] = {}
    stack = list(formulas)[::-1]
    while stack:
        ask()
        part = stack.pop()
        if isinstance(part, kind):
            stack.extend(reversed(part.operands))
        elif part is zero:
            return zero
        elif part is not unit:
            parts[part] = None
    if not parts:
        return unit
    return next(iter(parts)) if len(parts) == 1 else kind(tuple(parts))
