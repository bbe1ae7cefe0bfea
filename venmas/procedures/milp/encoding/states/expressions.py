"""Expressions in a program: what the bounds decide becomes an affine term, the rest gets columns and gated rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import inf

import numpy as np

from venmas.bounds.states import State
from venmas.budget import ask
from venmas.logic.linear import LinearExpr, Relation
from venmas.model.expressions.domain import granularity, is_integral
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
    Output,
    Sum,
    Switch,
    Truth,
    Variable,
    Where,
    add,
    scale,
)
from venmas.procedures.milp.encoding.states.facts import Facts
from venmas.procedures.milp.encoding.states.network import NetworkTerms, encode_network
from venmas.solvers.milp.program import Kind
from venmas.solvers.milp.terms import ONE, ZERO, GatedBuilder, ReluEncoding, Term, complement, total

Literals = dict[Fraction, Term]
"""One literal for every value an expression may take; exactly one of them holds (none, when the gate does not)."""
Range = tuple[float, float]


class ExpressionEncoder:
    """Terms, value literals and condition literals of expressions in abstract states, each made once."""

    def __init__(self, root: State, encoding: ReluEncoding) -> None:
        self.builder = GatedBuilder(encoding)
        self.facts = Facts(self.builder)
        self.system = root.batch.system
        self.initial: dict[str, Term] = {}
        for name, (low, high) in root.box.items():
            kind = Kind.INTEGER if self.system.variables[name].integral else Kind.CONTINUOUS
            if self.system.variables[name].boolean:
                kind = Kind.BINARY
            fixed = low == high
            self.initial[name] = (
                Term({}, float(low)) if fixed else Term({self.builder.variable(float(low), float(high), kind): 1.0})
            )
        self._terms: dict[tuple[int, int], Term] = {}
        self._literals: dict[tuple[int, int, int], Literals] = {}
        self._spans: dict[tuple[int, int, int, tuple[tuple[float, float], ...]], list[Term]] = {}
        self._conditions: dict[tuple[int, int], Term] = {}
        self._comparisons: dict[tuple[LinearExpr, Relation], Term] = {}
        self._networks: dict[tuple[int, int], NetworkTerms] = {}
        self._views: dict[int, Callable[[str], Term]] = {}
        """Variables of the nodes of a spread; those of other states are followed to the states before."""
        self._kept: list[object] = []

    # -- values --------------------------------------------------------------------------------------------------------

    def term(self, state: State, expr: Expr) -> Term:
        """The value of an expression in a state."""
        key = (id(state), id(expr))
        if key not in self._terms:
            self._kept += [state, expr]
            self._terms[key] = self._term(state, expr)
        return self._terms[key]

    def affine(self, form: LinearExpr) -> Term:
        """An exact affine function of the initial state."""
        parts = [self.initial[name].scaled(float(c)) for name, c in form.terms]
        return total([*parts, Term({}, float(form.constant))])

    def _term(self, state: State, expr: Expr) -> Term:
        ask()
        form = state.affine(expr)
        if form is not None:
            return self.affine(form)
        match expr:
            case Variable(name, _):
                return self._variable(state, name)
            case Sum(terms, constant):
                parts = [self.term(state, e).scaled(float(c)) for c, e in terms]
                return total([*parts, Term({}, float(constant))])
            case Output(application, index):
                weights = np.zeros(application.network.output_size)
                weights[index] = 1.0
                return self.network(state, application).combination(weights)
            case Maximum(operands):
                return self._maximum(state, operands)
            case ArgMax():
                return _expected(self.literals(state, expr))
            case Switch(selector, cases):
                if state.possible(expr) is not None:
                    return _expected(self.literals(state, expr))
                return self._choice(state, expr, self._selected(state, selector, cases, ONE))
            case Where(condition, then, otherwise):
                if state.possible(expr) is not None:
                    return _expected(self.literals(state, expr))
                holds = self.condition(state, condition)
                return self._choice(state, expr, [(holds, then), (complement(holds), otherwise)])
        raise TypeError(type(expr))

    def _variable(self, state: State, name: str) -> Term:
        if state.base is not None:
            return self.term(state.base, self.system[name])
        if id(state) in self._views:
            return self._views[id(state)](name)
        for parent, source in state.sources(name):
            return self.term(parent, source)
        return self.initial[name]

    def network(self, state: State, application: Application) -> NetworkTerms:
        """The outputs of a network in a state."""
        state = state.base or state
        key = (id(state), id(application))
        if key not in self._networks:
            inputs = [self.term(state, i) for i in application.inputs]
            activations = state.batch.outputs(application)
            self._kept += [state, application]
            self._networks[key] = encode_network(self.builder, activations, state.row, inputs)
        return self._networks[key]

    def _maximum(self, state: State, operands: Sequence[Expr]) -> Term:
        bounds = [state.bounds(o) for o in operands]
        floor, ceiling = max(lo for lo, _ in bounds), max(hi for _, hi in bounds)
        able = [(o, b) for o, b in zip(operands, bounds, strict=True) if b[1] >= floor]
        if len(able) == 1:
            return self.term(state, able[0][0])
        best = Term({self.builder.variable(floor, ceiling): 1.0})
        for chosen, (operand, (low, _)) in zip(self.builder.one_of(len(able)), able, strict=True):
            above = best.plus(self.term(state, operand), -1.0)
            self.builder.row(above, 0.0, inf)
            self.builder.implied(chosen, above, -inf, 0.0, (0.0, ceiling - low))
        return best

    def _choice(self, state: State, expr: Expr, options: Sequence[tuple[Term, Expr]]) -> Term:
        """A value equal to the option whose literal holds; what the options have in common is not gated."""
        able = [(literal, e) for literal, e in options if literal.columns or literal.constant > 0.5]
        if len(able) == 1:
            return self.term(state, able[0][1])
        literals = [literal for literal, _ in able]
        return self.select(literals, [self.term(state, e) for _, e in able], state.bounds(expr))[0]

    def select(
        self, literals: Sequence[Term], options: Sequence[Term], bounds: Range = (-inf, inf)
    ) -> tuple[Term, Range]:
        """A term that equals the option whose literal holds, of at most one; and its range, whatever holds."""
        shared = _shared(options)
        rests = [o.plus(shared, -1.0) for o in options]
        if all(not r.columns for r in rests):
            first = rests[0].constant
            steps = [lit.scaled(r.constant - first) for lit, r in zip(literals[1:], rests[1:], strict=True)]
            low, high = self.builder.range(shared)
            ends = low + min(r.constant for r in rests), high + max(r.constant for r in rests)
            return total([shared, Term({}, first), *steps]), ends
        ranges = [self.builder.range(r) for r in rests]
        low, high = min(r[0] for r in ranges), max(r[1] for r in ranges)
        if not shared.columns:
            low, high = max(low, bounds[0] - shared.constant), min(high, bounds[1] - shared.constant)
        rest = Term({self.builder.variable(low, high): 1.0})
        for literal, r, span in zip(literals, rests, ranges, strict=True):
            self.builder.implied(literal, rest.plus(r, -1.0), 0.0, 0.0, (low - span[1], high - span[0]))
        chosen = shared.plus(rest)
        return chosen, self.builder.range(chosen)

    # -- literals ------------------------------------------------------------------------------------------------------

    def literals(self, state: State, expr: Expr, gate: Term = ONE) -> Literals:
        """One literal per possible value; they add up to the gate (a term that is 0 or 1)."""
        key = (id(state), id(expr), id(gate))
        if key not in self._literals:
            self._kept += [state, expr, gate]
            values = state.possible(expr)
            if values is None:
                raise TypeError(f"{type(expr).__name__} has no tracked values")
            found = {values[0]: gate} if len(values) == 1 else self._split(state, expr, gate, values)
            self._literals[key] = found
        return self._literals[key]

    def _split(self, state: State, expr: Expr, gate: Term, values: Sequence[Fraction]) -> Literals:
        match expr:
            case ArgMax():
                return self._winner(state, expr, gate, values)
            case Switch(selector, cases):
                return self._merge(state, self._selected(state, selector, cases, gate))
            case Where(condition, then, otherwise):
                holds = self.condition(state, condition)
                yes = self.builder.both([gate, holds])
                return self._merge(state, [(yes, then), (gate.plus(yes, -1.0), otherwise)])
            case Sum(terms, constant):
                moving = [(c, e) for c, e in terms if len(state.possible(e) or ()) != 1]
                if len(moving) == 1 and all(state.possible(e) is not None for _, e in terms):
                    factor, part = moving[0]
                    fixed = sum((c * (state.possible(e) or ())[0] for c, e in terms if e is not part), constant)
                    return {factor * v + fixed: lit for v, lit in self.literals(state, part, gate).items()}
            case Variable(name, _) if state.base is not None:
                return self.literals(state.base, self.system[name], gate)
            case Variable(name, _) if gate is ONE and id(state) not in self._views:
                for parent, source in state.sources(name):
                    if parent.possible(source) is not None:
                        found = self.literals(parent, source)
                        return {v: lit for v, lit in found.items() if v in values}
        if gate is not ONE:
            return {v: self.builder.both([gate, lit]) for v, lit in self.literals(state, expr).items()}
        fresh = dict(zip(values, self.builder.one_of(len(values)), strict=True))
        self.builder.row(_expected(fresh).plus(self.term(state, expr), -1.0), 0.0, 0.0)
        return fresh

    def _selected(
        self, state: State, selector: Expr, cases: Sequence[tuple[int, Expr]], gate: Term
    ) -> list[tuple[Term, Expr]]:
        """Literals of the cases that a selector may name; they add up to the gate.

        The values of a selector are not tracked where they are many, or where the bounds let an integer leave its
        range. A state outside its range is never entered, but rows about the rest of the program must not forbid it
        either (the guard before it may be false): there any case will do.
        """
        if state.possible(selector) is not None:
            chosen = self.literals(state, selector, gate)
            return [(chosen[Fraction(k)], e) for k, e in cases if Fraction(k) in chosen]
        low, high = state.bounds(selector)
        ordered = sorted(cases, key=lambda case: case[0])
        able = [(k, e) for k, e in ordered if low <= k <= high] or ordered[:1]
        spans: list[tuple[float, float, Expr]] = []
        unit = 1 if is_integral(selector) else 0
        edge = low
        for key, case in able:
            spans += [(edge, key - unit, able[0][1])] if edge < key else []
            spans.append((key, key, case))
            edge = key + unit
        spans += [(edge, high, able[0][1])] if edge <= high and able[-1][0] < high else []
        literals = self._ranges(state, selector, gate, [span[:2] for span in spans])
        return [(literal, case) for literal, (_, _, case) in zip(literals, spans, strict=True)]

    def _ranges(self, state: State, expr: Expr, gate: Term, spans: list[tuple[float, float]]) -> list[Term]:
        """One literal for every closed range, which implies that the expression lies in it."""
        key = (id(state), id(expr), id(gate), tuple(spans))
        if key not in self._spans:
            self._kept += [state, expr, gate]
            if gate is ONE or len(spans) == 1:
                literals = [gate] if len(spans) == 1 else self.builder.one_of(len(spans))
            else:
                literals = [self.builder.binary() for _ in spans]
                self.builder.row(total(literals).plus(gate, -1.0), 0.0, 0.0)
            bounds, term = state.bounds(expr), self.term(state, expr)
            for literal, (low, high) in zip(literals, spans, strict=True):
                self.builder.implied(literal, term, low, high, bounds)
            self._spans[key] = literals
        return self._spans[key]

    def _merge(self, state: State, options: Sequence[tuple[Term, Expr]]) -> Literals:
        found: dict[Fraction, list[Term]] = {}
        for literal, option in options:
            if literal.columns or literal.constant > 0.5:
                for value, part in self.literals(state, option, literal).items():
                    found.setdefault(value, []).append(part)
        return {v: total(parts) for v, parts in found.items()}

    def _winner(self, state: State, expr: ArgMax, gate: Term, values: Sequence[Fraction]) -> Literals:
        """Literal i implies score i >= score j (design S3: strictly for j < i, so there the margin is asked for)."""
        if gate is ONE:
            literals = self.builder.one_of(len(values))
        elif len(values) == 2:
            first = self.builder.binary()
            self.builder.row(gate.plus(first, -1.0), 0.0, inf)
            literals = [first, gate.plus(first, -1.0)]
        else:
            literals = [self.builder.binary() for _ in values]
            self.builder.row(total(literals).plus(gate, -1.0), 0.0, 0.0)
        for i, literal in zip(values, literals, strict=True):
            self.wins(state, expr, int(i), literal)
        return dict(zip(values, literals, strict=True))

    def wins(self, state: State, expr: ArgMax, i: int, gate: Term) -> None:
        """``gate == 1 implies i is the winner``."""
        for j in map(int, state.possible(expr) or ()):
            if i != j:
                ask()
                difference = add(expr.scores[i], scale(expr.scores[j], Fraction(-1)))
                gap = self.term(state, difference)
                relation = Relation.GT if j < i else Relation.GE
                self.relate(gap, state.bounds(difference), difference, relation, gate)
                self.facts.note(state, difference, relation, gate)

    def condition(self, state: State, condition: Condition) -> Term:
        """A literal that tells whether a condition holds (either value where a comparison is at its threshold)."""
        truth = state.truth(condition)
        if truth is not None:
            return ONE if truth else ZERO
        key = (id(state), id(condition))
        if key not in self._conditions:
            self._kept += [state, condition]
            self._conditions[key] = self._condition(state, condition)
        return self._conditions[key]

    def _condition(self, state: State, condition: Condition) -> Term:
        match condition:
            case All(operands):
                return self.builder.both([self.condition(state, c) for c in operands])
            case Any(operands):
                return self.builder.either([self.condition(state, c) for c in operands])
            case Compare(expr, relation):
                values = state.possible(expr)
                if values is not None:
                    literals = self.literals(state, expr)
                    return total(lit for v, lit in literals.items() if relation.holds(v))
                if relation in (Relation.EQ, Relation.NE):
                    below, equal, above = self.builder.one_of(3)
                    self.compare(state, expr, Relation.LT, below)
                    self.compare(state, expr, Relation.EQ, equal)
                    self.compare(state, expr, Relation.GT, above)
                    return equal if relation is Relation.EQ else complement(equal)
                form = state.affine(expr)
                if form is not None and (form, relation.negated) in self._comparisons:
                    return complement(self._comparisons[form, relation.negated])
                if form is None or (form, relation) not in self._comparisons:
                    holds = self.builder.binary()
                    self.compare(state, expr, relation, holds)
                    self.compare(state, expr, relation.negated, complement(holds))
                    if form is None:
                        return holds
                    self._comparisons[form, relation] = holds
                return self._comparisons[form, relation]
        raise TypeError(type(condition))

    def require(self, state: State, condition: Condition, gate: Term) -> None:
        """``gate == 1 implies condition``."""
        truth = state.truth(condition)
        match condition:
            case _ if truth is True:
                return
            case Truth() | Constant() if truth is False:
                self.builder.row(gate, 0.0, 0.0)
            case All(operands):
                for c in operands:
                    self.require(state, c, gate)
            case Compare(expr, relation) if relation is not Relation.NE and state.possible(expr) is None:
                self.compare(state, expr, relation, gate)
            case _:
                self.builder.row(self.condition(state, condition).plus(gate, -1.0), 0.0, inf)

    def compare(self, state: State, expr: Expr, relation: Relation, gate: Term) -> None:
        """``gate == 1 implies expr relation 0`` (not for !=); strict ones are closed, but exact for integers."""
        self.facts.note(state, expr, relation, gate)
        self.relate(self.term(state, expr), state.bounds(expr), expr, relation, gate)

    def relate(self, term: Term, bounds: Range, expr: Expr, relation: Relation, gate: Term) -> None:
        """``gate == 1 implies term relation 0`` for the term of an expression."""
        unit = granularity(expr) if relation.strict else None
        match relation:
            case Relation.EQ:
                self.builder.implied(gate, term, 0.0, 0.0, bounds)
            case Relation.LT | Relation.LE:
                upper = -float(unit) if unit is not None else 0.0
                self.builder.implied(gate, term, -inf, upper, bounds, relation.strict and unit is None)
            case Relation.GT | Relation.GE:
                lower = float(unit) if unit is not None else 0.0
                self.builder.implied(gate, term, lower, inf, bounds, relation.strict and unit is None)
            case Relation.NE:
                raise TypeError("!= is a choice of < and >")


def _expected(literals: Mapping[Fraction, Term]) -> Term:
    return total(lit.scaled(float(v)) for v, lit in literals.items())


def _shared(options: Sequence[Term]) -> Term:
    """The columns that occur in all options with the same coefficient."""
    first, rest = options[0], options[1:]
    return Term({c: v for c, v in first.columns.items() if all(o.columns.get(c) == v for o in rest)})
