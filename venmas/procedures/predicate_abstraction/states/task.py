"""A system of integers as operators: guard, label, affine update; read off its branches, no second model of it.

    branch x choice of the policy (where guard or updates look at it) x cases of ``where``, ``max``, ``|`` in the guard

Each operator has a conjunctive guard, as a box and rows, and an affine update. Whatever is not of this form is refused.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from venmas.bounds.rounding import Ints
from venmas.errors import VenmasError
from venmas.logic import TRUE, Atom, Formula, conjunction, disjunction
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.model.expressions.expr import (
    All,
    Any,
    Application,
    ArgMax,
    Compare,
    Condition,
    Constant,
    Expr,
    Maximum,
    Sum,
    Truth,
    Variable,
    Where,
    to_linear,
)
from venmas.model.expressions.simplify import OpenError, Simplifier
from venmas.model.expressions.walk import walk
from venmas.model.system.system import Branch, System
from venmas.nn import Layer, Network
from venmas.procedures.predicate_abstraction.states.box_condition import BoxCondition
from venmas.procedures.predicate_abstraction.states.cover import Case, TooManyError, cover
from venmas.procedures.predicate_abstraction.states.masking import filtered
from venmas.procedures.predicate_abstraction.states.policy import Filter, Policy
from venmas.procedures.predicate_abstraction.states.predicates import Predicate, at_least
from venmas.procedures.predicate_abstraction.states.queries import FREE

LARGEST = 2**40
"""Ends of ranges and coefficients up to which sums of products stay within integers of 64 bits."""
MAX_CASES = 1000
"""Most operators of one branch."""


class UnsuitableError(VenmasError):
    """A system that is not of the form: why, for people."""


@dataclass(frozen=True, eq=False)
class Operator:
    """What happens in states of low..high (n,) that meet rows (R, n) with constants (R,), where label is picked.

    branch: its index and its name. source, factor, offset: (n,), the new value of v is ``factor[v] * x[source[v]] +
    offset[v]``; but for those in `sums`, which are whole rows (coefficients (n,), constant). atoms: predicates of the
    guard, and whether each of them holds. leaves: it may lead out of the box.
    """

    branch: int
    name: str
    label: int
    low: Ints
    high: Ints
    rows: Ints
    constants: Ints
    source: Ints
    factor: Ints
    offset: Ints
    sums: Mapping[int, tuple[Ints, int]]
    atoms: tuple[tuple[Predicate, bool], ...]

    def apply(self, states: Ints) -> Ints:
        """The states after it: (B, n) -> (B, n)."""
        after: Ints = states[:, self.source] * self.factor + self.offset
        for v, (coefficients, constant) in self.sums.items():
            after[:, v] = states @ coefficients + constant
        return after

    def pull(self, terms: Mapping[int, int], constant: int) -> tuple[dict[int, int], int]:
        """``sum(terms) + constant`` after it, as a sum over the state before."""
        found: dict[int, int] = {}
        for v, c in terms.items():
            if v in self.sums:
                coefficients, more = self.sums[v]
                constant += c * more
                for u in np.flatnonzero(coefficients).tolist():
                    found[u] = found.get(u, 0) + c * int(coefficients[u])
            else:
                constant += c * int(self.offset[v])
                u = int(self.source[v])
                found[u] = found.get(u, 0) + c * int(self.factor[v])
        return found, constant

    def before(self, predicate: Predicate) -> Predicate | None:
        """The weakest precondition of a predicate, or of its negation; None where it does not depend on the state."""
        terms, constant = self.pull(dict(predicate.terms), 0)
        return at_least(terms, predicate.bound - constant)


@dataclass(frozen=True, eq=False)
class Task:
    """A system as operators. low, high: (n,), the ranges. names: of the variables; columns: their places.

    points: the initial states (S, n), where they are given one by one.
    """

    system: System
    names: tuple[str, ...]
    low: Ints
    high: Ints
    policy: Policy | None
    operators: tuple[Operator, ...]
    starts: Formula
    points: Ints | None = None

    @cached_property
    def columns(self) -> dict[str, int]:
        """Place by name."""
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def exact(self) -> Ints:
        """Variables every value of which is told apart: those whose values all have names, such as locations."""
        decls = self.system.variables.values()
        named = [i for i, d in enumerate(decls) if d.labels and len(d.labels) > d.upper - d.lower]
        return np.array(named, dtype=np.int64)

    def state(self, values: Ints) -> dict[str, Fraction]:
        """A state by name."""
        return {name: Fraction(v) for name, v in zip(self.system.variables, values.tolist(), strict=False)}


def task_of(system: System) -> Task:
    """The operators of a system. Raises `UnsuitableError`, which says what is not of their form."""
    steps = reading(system)
    try:
        while True:
            next(steps)
    except StopIteration as end:
        task: Task = end.value
        return task


def reading(system: System) -> Generator[None, None, Task]:
    """The operators of a system, read piece by piece. Raises `UnsuitableError` for what is not of their form."""
    policy, node = read_policy(system)
    names = tuple(system.variables)
    low, high = _ranges(system)
    reader = _Reader({name: i for i, name in enumerate(names)}, low, high, node, 0 if policy is None else policy.labels)
    operators: list[Operator] = []
    for i, branch in enumerate(system.branches):
        for operator in reader.operators(i, branch):
            operators += [] if operator is None else [operator]
            yield
    return Task(system, names, low, high, policy, tuple(operators), system.initial_set.formula, _points(system))


def read_policy(system: System) -> tuple[Policy | None, Expr | None]:
    """The policy and its choice: all that is looked at before branches. Raises `UnsuitableError`."""
    if system.smooth:
        raise UnsuitableError(f"it is for piecewise linear systems, and {system.smooth}")
    for decl in system.variables.values():
        if not decl.integral:
            raise UnsuitableError(f"variable {decl.name!r} is real; predicate abstraction takes integers only")
        if max(abs(decl.lower), abs(decl.upper)) > LARGEST:
            raise UnsuitableError(f"variable {decl.name!r} has numbers beyond 2^40")
    choice = _choice(system)
    if choice is None:
        return None, None
    node, argmax, among = choice
    columns = {name: i for i, name in enumerate(system.variables)}
    policy = _policy(argmax, columns)
    if not among:
        return policy, node
    low, high = _ranges(system)
    filters = Filter([BoxCondition(condition, columns, low, high) for condition in among])
    return Policy(policy.network, policy.inputs, filters), node


def _ranges(system: System) -> tuple[Ints, Ints]:
    low = np.array([-(-d.lower // 1) for d in system.variables.values()], dtype=np.int64)
    return low, np.array([d.upper // 1 for d in system.variables.values()], dtype=np.int64)


def _points(system: System) -> Ints | None:
    """The initial states, where every region is one; None elsewhere."""
    if system.initial_set.condition is not TRUE:
        return None
    found = []
    for region in system.initial_set.regions:
        state: dict[str, int] = {}
        for row in region:
            if row.relation is Relation.EQ and len(row.expr.terms) == 1:
                ((name, c),) = row.expr.terms
                value = -row.expr.constant / c
                if value.denominator != 1 or state.setdefault(name, int(value)) != value:
                    return None
            else:
                return None
        if len(state) < len(system.variables):
            return None
        found.append([state[name] for name in system.variables])
    return np.array(found, dtype=np.int64) if found else None


def _choice(system: System) -> tuple[Expr, ArgMax, tuple[Formula, ...]] | None:
    """The one choice that branches look at, an argmax or a chain of cases that filters one, by conditions."""
    roots: list[Expr | Condition] = [b.guard for b in system.branches]
    roots += [e for b in system.branches for _, e in b.updates]
    found: list[tuple[Expr, ArgMax, tuple[Formula, ...]]] = []

    def chooses(node: Expr | Condition) -> bool:
        if isinstance(node, ArgMax):
            found.append((node, node, ()))
            return True
        if isinstance(node, Where) and (chain := filtered(node)) is not None:
            found.append((node, *chain))
            return True
        return False

    for _ in walk(roots, lambda node: not chooses(node)):
        pass
    if len(found) > 1:
        raise UnsuitableError("branches read more than one argmax; predicate abstraction takes a single policy")
    return found[0] if found else None


def _policy(node: ArgMax, columns: Mapping[str, int]) -> Policy:
    application = node.whole
    if application is None:
        raise UnsuitableError("the policy is not the argmax of all outputs of one network, in their order")
    inputs: list[int | Fraction] = []
    for expr in application.inputs:
        if isinstance(expr, Variable):
            inputs.append(columns[expr.name])
        elif isinstance(expr, Constant) and Fraction(float(expr.value)) == expr.value:
            inputs.append(expr.value)
        else:
            return _scaled(application, columns)
    return Policy(application.network, inputs)


def _scaled(application: Application, columns: Mapping[str, int]) -> Policy:
    """A network of affine inputs as one of variables, by a layer before it whose numbers are floats exactly."""
    linear = [to_linear(expr) for expr in application.inputs]
    exprs = [e for e in linear if e is not None]
    numbers = [c for e in exprs for c in (e.constant, *(c for _, c in e.terms))]
    if len(exprs) < len(linear) or any(Fraction(float(c)) != c for c in numbers):
        raise UnsuitableError("an input of the policy is neither a variable nor a sum of them with binary coefficients")
    used = sorted({columns[name] for e in exprs for name in e.variables})
    weight = np.zeros((len(exprs), max(1, len(used))))
    for i, e in enumerate(exprs):
        for name, c in e.terms:
            weight[i, used.index(columns[name])] = float(c)
    before = Layer(weight, np.array([float(e.constant) for e in exprs]))
    network = application.network
    return Policy(Network((before, *network.layers), network.name, network.dtype), used or [Fraction(0)])


class _Reader:
    """Makes the operators of branches."""

    def __init__(self, columns: Mapping[str, int], low: Ints, high: Ints, node: Expr | None, choices: int) -> None:
        self.columns, self.low, self.high, self.node, self.choices = columns, low, high, node, choices
        self.names = list(columns)

    def operators(self, index: int, branch: Branch) -> Iterator[Operator | None]:
        """Of one branch; None after work that has found none yet."""
        labels = self._labels(branch)
        count = 0
        for label in labels:
            fixed = {} if label == FREE else {id(self.node): label}
            for found in self._split(branch, fixed):
                if found is None:
                    yield None
                    continue
                guard, updates = found
                try:
                    cases = cover(guard, self.columns, self.low, self.high, MAX_CASES)
                except TooManyError:
                    raise UnsuitableError(
                        f"branch {branch.name!r}: its guard is a union of more than {MAX_CASES} boxes"
                    ) from None
                for case in cases:
                    count += 1
                    if count > MAX_CASES:
                        raise UnsuitableError(f"branch {branch.name!r} has more than {MAX_CASES} cases")
                    yield self._operator(index, branch.name, label, case, updates)

    def _labels(self, branch: Branch) -> Sequence[int]:
        """The choices with which the branch may be taken; `FREE` where it does not look at them."""
        if self.node is None or not _mentions(branch, self.node):
            return [FREE]
        for part in branch.guard.operands if isinstance(branch.guard, All) else (branch.guard,):
            match part:
                case Compare(Sum(((factor, node),), constant), Relation.EQ) if node is self.node:
                    value = -constant / factor
                    return [int(value)] if value in range(self.choices) else []
                case Compare(node, Relation.EQ) if node is self.node:
                    return [0]
        return range(self.choices)

    def _split(
        self, branch: Branch, fixed: dict[int, int]
    ) -> Iterator[tuple[Formula, list[tuple[int, LinearExpr]]] | None]:
        """Guard and affine updates, a pair for each way that conditions and maxima within them can turn out.

        None after each choice that is told apart.
        """
        waiting: list[tuple[dict[int, int], tuple[Condition, ...]]] = [(fixed, ())]
        made = 0
        while waiting:
            fixed, assumed = waiting.pop()
            simplifier = Simplifier({}, fixed)
            try:
                # a guard that is false by the choice alone has no cases to tell apart
                guard = conjunction(self._formula(c, simplifier, branch) for c in (branch.guard, *assumed))
                updates = [(name, to_linear(e) or to_linear(simplifier.expr(e))) for name, e in branch.updates]
            except OpenError as error:
                made += 1
                if made > MAX_CASES:
                    raise UnsuitableError(f"branch {branch.name!r} has more than {MAX_CASES} cases") from None
                waiting += [({**fixed, **f}, (*assumed, c)) for f, c in _outcomes(error.node)]
                yield None
                continue
            yield guard, [(self.columns[name], self._whole(e, branch, name)) for name, e in updates]

    def _whole(self, linear: LinearExpr | None, branch: Branch, name: str) -> LinearExpr:
        if linear is None or any(c.denominator != 1 for _, c in linear.terms) or linear.constant.denominator != 1:
            raise UnsuitableError(f"branch {branch.name!r}: the new value of {name} is no affine sum of integers")
        return linear

    def _formula(self, condition: Condition, simplifier: Simplifier, branch: Branch) -> Formula:
        match condition:
            case Truth(value):
                return conjunction([]) if value else disjunction([])
            case Compare(expr, relation):
                linear = to_linear(expr) or to_linear(simplifier.expr(expr))
                if linear is None:
                    raise UnsuitableError(f"branch {branch.name!r}: its guard compares more than sums of variables")
                if not linear.terms:
                    return conjunction([]) if relation.holds(linear.constant) else disjunction([])
                return Atom(Comparison(linear, relation))
            case All(parts):
                return conjunction(self._formula(c, simplifier, branch) for c in parts)
            case Any(parts):
                return disjunction(self._formula(c, simplifier, branch) for c in parts)
        raise TypeError(type(condition))

    def _operator(
        self, index: int, name: str, label: int, case: Case, updates: list[tuple[int, LinearExpr]]
    ) -> Operator:
        n = len(self.low)
        source, factor, offset = np.arange(n), np.ones(n, np.int64), np.zeros(n, np.int64)
        sums: dict[int, tuple[Ints, int]] = {}
        for v, linear in updates:
            if len(linear.terms) > 1:
                coefficients = np.zeros(n, np.int64)
                for other, c in linear.terms:
                    coefficients[self.columns[other]] = int(c)
                sums[v] = coefficients, int(linear.constant)
                continue
            offset[v], factor[v] = int(linear.constant), 0
            for other, c in linear.terms:
                source[v], factor[v] = self.columns[other], int(c)
        return Operator(
            index, name, label, case.low, case.high, case.rows, case.constants, source, factor, offset, sums, case.atoms
        )


def _mentions(branch: Branch, node: Expr) -> bool:
    return any(part is node for part in walk([branch.guard, *(e for _, e in branch.updates)]))


def _outcomes(node: ArgMax | Compare | Maximum) -> Iterator[tuple[dict[int, int], Condition]]:
    """The ways that an open choice can turn out, and the condition of each."""
    match node:
        case Compare():
            yield {id(node): 1}, node
            yield {id(node): 0}, ~node
        case Maximum(parts):
            for i, part in enumerate(parts):
                above = [Compare(part - other, Relation.GE) for j, other in enumerate(parts) if j != i]
                yield {id(node): i}, All(tuple(above))
        case _:
            raise UnsuitableError("branches read more than one argmax; predicate abstraction takes a single policy")
