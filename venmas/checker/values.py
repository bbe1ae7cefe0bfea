"""Expressions over a cell: enclosures by affine forms, exact wherever every choice is decided.

An enclosure is a pair of forms, below and above, the same object where the value is exactly affine on the cell. Each
choice that stays open (sign of a unit, winner, condition) is noted with the exact form that decides it, if it has one:
that is where a proof may split.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, lcm
from operator import mul
from typing import TypeAlias

from venmas.budget import ask, asking
from venmas.checker.cell import Cell, Form, Q, fraction, negative, plus, rational
from venmas.errors import ModelError
from venmas.linear import Relation
from venmas.model.expr import (
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
)
from venmas.nn import Network
from venmas.nn.network import IntegerLayer, Semantics

UNIT = rational(1, 2**24)
"""Unit roundoff of float32."""
TINY = rational(1, 2**149)
"""Bound on what underflow does to one float32 operation."""
_SLOPE_BITS = 20
_ERROR_BITS = 40
_MAX_VALUES = 128
Values: TypeAlias = frozenset[Fraction]


@dataclass(frozen=True, eq=False)
class Enclosure:
    """``low <= value <= upp`` on the cell; `values` are the finitely many it can take, where they are tracked."""

    low: Form
    upp: Form
    values: Values | None = None

    @property
    def exact(self) -> bool:
        """True when the value is this affine form."""
        return self.low is self.upp

    @property
    def parallel(self) -> bool:
        """True when the forms differ by a constant only."""
        return self.exact or self.low[1:] == self.upp[1:]


class Evaluation:
    """Enclosures of expressions in one abstract state: `env` encloses the variables over `cell`.

    assumed: outcomes of argmaxes (the index) and comparisons (1 or 0), by identity of the node.
    """

    def __init__(
        self,
        cell: Cell,
        env: dict[str, Enclosure],
        semantics: Semantics = "real",
        assumed: Mapping[int, int] | None = None,
    ) -> None:
        self.cell, self.env, self.semantics, self.assumed = cell, env, semantics, assumed or {}
        self.undecided: list[ArgMax | Compare] = []
        """Argmaxes and comparisons of several possible outcomes, in order of evaluation."""
        self.open: list[Form] = []
        """Exact forms whose sign on the cell would decide an open choice, in order of evaluation."""
        self._values: dict[int, Enclosure] = {}
        self._truths: dict[int, bool | None] = {}
        self._networks: dict[int, _Applied] = {}
        self._kept: list[object] = []

    def value(self, expr: Expr) -> Enclosure:
        """The enclosure of an expression."""
        key = id(expr)
        if key not in self._values:
            self._kept.append(expr)
            self._values[key] = self._compute(expr)
        return self._values[key]

    def _constant(self, value: Q) -> Enclosure:
        form: Form = (rational(value), *(rational(0),) * len(self.cell.names))
        return Enclosure(form, form, frozenset([fraction(value)]))

    def _compute(self, expr: Expr) -> Enclosure:
        ask()
        match expr:
            case Constant(value):
                return self._constant(value)
            case Variable(name, _):
                return self.env[name]
            case Sum(terms, constant):
                return self._sum([(c, self.value(e)) for c, e in terms], constant)
            case Output(application, index):
                return self.applied(application).output(index)
            case Maximum(operands):
                best = self.value(operands[0])
                for o in operands[1:]:
                    best = self._maximum(best, self.value(o))
                return best
            case ArgMax():
                return self._finite(frozenset(Fraction(i) for i in self.winners(expr)))
            case Switch(selector, cases):
                chosen = self.value(selector).values
                able = [e for k, e in cases if chosen is None or Fraction(k) in chosen]
                # no case fits beyond the declared range, where a guard keeps runs from going: any case will do there
                return self._join([self.value(e) for e in able or [e for _, e in cases]])
            case Where(condition, then, otherwise):
                truth = self.truth(condition)
                return self._join([self.value(e) for e, t in ((then, True), (otherwise, False)) if truth in (None, t)])
        raise TypeError(type(expr))

    def _finite(self, values: Values) -> Enclosure:
        low, high = self._constant(min(values)), self._constant(max(values))
        return low if len(values) == 1 else Enclosure(low.low, high.upp, values)

    def _sum(self, terms: Sequence[tuple[Fraction, Enclosure]], constant: Fraction) -> Enclosure:
        low = upp = self._constant(constant).low
        for c, q in terms:
            factor = rational(c)
            new = plus(low, q.low if c > 0 else q.upp, factor)
            upp = new if low is upp and q.exact else plus(upp, q.upp if c > 0 else q.low, factor)
            low = new
        sums: set[Fraction] | None = {constant}
        for c, q in terms:
            if sums is None or q.values is None or len(sums) * len(q.values) > _MAX_VALUES:
                sums = None
                break
            sums = {s + c * v for s in sums for v in q.values}
        return Enclosure(low, upp, None if sums is None else frozenset(sums))

    def _maximum(self, a: Enclosure, b: Enclosure) -> Enclosure:
        gap = self._sum([(Fraction(1), a), (Fraction(-1), b)], Fraction(0))
        if self.cell.inf(gap.low).value >= 0:
            return a
        if self.cell.sup(gap.upp).value <= 0:
            return b
        if gap.exact:
            self.open.append(gap.low)
        keep, slope, lift = relaxation(self.cell, gap.low, gap.upp)
        upp = plus(b.upp, gap.upp, rational(slope, 2**_SLOPE_BITS))
        return Enclosure(plus(b.low, gap.low) if keep else b.low, (upp[0] + lift, *upp[1:]))

    def _join(self, cases: Sequence[Enclosure]) -> Enclosure:
        first = cases[0]
        if len(cases) == 1 or all(c.exact and c.low == first.low for c in cases):
            return first
        values: Values | None = None
        if all(c.values is not None for c in cases):
            values = frozenset(v for c in cases for v in c.values or ())
        low = _below(self.cell, [c.low for c in cases])
        upp = negative(_below(self.cell, [negative(c.upp) for c in cases]))
        return Enclosure(low, upp, values if values is not None and len(values) <= _MAX_VALUES else None)

    def winners(self, node: ArgMax) -> list[int]:
        """Indices that can be the argmax: at least every higher one, above every lower one (design S3)."""
        if id(node) in self.assumed:
            return [self.assumed[id(node)]]
        scores = node.scores
        able = []
        first = scores[0]
        shared = first.application if isinstance(first, Output) else None
        same = shared is not None and all(isinstance(s, Output) and s.application is shared for s in scores)
        gaps: dict[tuple[int, int], Enclosure] = {}
        for i in range(len(scores)):
            wins = True
            for j in range(len(scores)):
                if i == j or not wins:
                    continue
                ask()
                if same and shared is not None:
                    rows = [s.index for s in (scores[i], scores[j]) if isinstance(s, Output)]
                    gap = self.applied(shared).difference(rows[0], rows[1])
                else:
                    pair = [(Fraction(1), self.value(scores[i])), (Fraction(-1), self.value(scores[j]))]
                    gap = self._sum(pair, Fraction(0))
                gaps[i, j] = gap
                top = self.cell.sup(gap.upp)
                wins = top.value > 0 or (top.value == 0 and top.attained and i < j)
            if wins:
                able.append(i)
        if len(able) > 1:
            self.undecided.append(node)
            close = [gaps[i, j] for i in able for j in able if i < j and gaps[i, j].parallel]
            self.open += [form for gap in close for form in dict.fromkeys((gap.low, gap.upp))]
        return able or list(range(len(scores)))

    def applied(self, application: Application) -> _Applied:
        """A network on its inputs."""
        key = id(application)
        if key not in self._networks:
            self._kept.append(application)
            inputs = [self.value(i) for i in application.inputs]
            self._networks[key] = _Applied(self.cell, application.network, inputs, self.open, self.semantics)
        return self._networks[key]

    # -- conditions ----------------------------------------------------------------------------------------------------

    def truth(self, condition: Condition) -> bool | None:
        """Truth on the whole cell, None where it is open."""
        key = id(condition)
        if key not in self._truths:
            self._kept.append(condition)
            self._truths[key] = self._decide(condition)
        return self._truths[key]

    def _decide(self, condition: Condition) -> bool | None:
        match condition:
            case Truth(value):
                return value
            case Compare(expr, relation):
                if id(condition) in self.assumed:
                    return bool(self.assumed[id(condition)])
                truth = self.compare(self.value(expr), relation)
                if truth is None:
                    self.undecided.append(condition)
                return truth
            case All(operands) | Any(operands):
                truths = [self.truth(c) for c in operands]
                settled = isinstance(condition, Any)
                return settled if settled in truths else None if None in truths else not settled
        raise TypeError(type(condition))

    def compare(self, q: Enclosure, relation: Relation) -> bool | None:
        """Truth of ``q relation 0`` on the whole cell."""
        if q.values is not None:
            truths = {relation.holds(v) for v in q.values}
            return truths.pop() if len(truths) == 1 else None
        below, above = self.cell.inf(q.low), self.cell.sup(q.upp)
        positive = below.value > 0 or (below.value == 0 and not below.attained)
        negative_ = above.value < 0 or (above.value == 0 and not above.attained)
        known: dict[Relation, tuple[bool, bool]] = {
            Relation.GT: (positive, above.value <= 0),
            Relation.GE: (below.value >= 0, negative_),
            Relation.LT: (negative_, below.value >= 0),
            Relation.LE: (above.value <= 0, positive),
            Relation.EQ: (below.value == above.value == 0, positive or negative_),
            Relation.NE: (positive or negative_, below.value == above.value == 0),
        }
        yes, no = known[relation]
        if yes or no:
            return yes
        if q.exact:
            self.open.append(q.low)
        return None


class _Applied:
    """One network on a cell: integer forms over a common denominator, layer by layer."""

    def __init__(
        self,
        cell: Cell,
        network: Network,
        inputs: Sequence[Enclosure],
        open_forms: list[Form],
        semantics: Semantics,
    ) -> None:
        self.cell, self.single = cell, semantics == "float32"
        self.width = len(cell.names) + 1
        forms = [q.low for q in inputs] + [q.upp for q in inputs]
        scale = lcm(*(int(c.denominator) for form in forms for c in form))
        whole = [[int(c.numerator) * (scale // int(c.denominator)) for c in form] for form in forms]
        self.low, self.upp = whole[: len(inputs)], whole[len(inputs) :]
        self.exact = all(q.exact for q in inputs)
        self.denominator = scale
        if self.single:
            if network.float32_obstacle:
                raise ModelError(f"{network.float32_obstacle}: the property can not be shown for it")
            self._spread([UNIT * size + TINY for size in self._sizes()])  # inputs are rounded, too
        layers = network.integer_layers
        hidden = layers if layers[-1].relu else layers[:-1]
        self.last = None if layers[-1].relu else layers[-1]
        for layer in hidden:
            ask()
            errors = self._errors(layer, layer.rows, layer.bias)
            self.low, self.upp = self._affine(layer.rows, layer.bias)
            self.denominator *= layer.scale
            if self.single:
                self._spread(errors)
            if layer.relu:
                self._relu(open_forms)

    def _affine(self, rows: Sequence[Sequence[int]], bias: Sequence[int]) -> tuple[list[list[int]], list[list[int]]]:
        columns_low = [[form[c] for form in self.low] for c in range(self.width)]
        if self.exact:
            new = [[sum(map(mul, row, column)) for column in columns_low] for row in asking(rows)]
            for form, b in zip(new, bias, strict=True):
                form[0] += b * self.denominator
            return new, new
        columns_upp = [[form[c] for form in self.upp] for c in range(self.width)]
        low, upp = [], []
        for row, b in zip(asking(rows), bias, strict=True):
            plus_, minus = [max(w, 0) for w in row], [min(w, 0) for w in row]
            pairs = list(zip(columns_low, columns_upp, strict=True))
            low.append([sum(map(mul, plus_, lo)) + sum(map(mul, minus, up)) for lo, up in pairs])
            upp.append([sum(map(mul, plus_, up)) + sum(map(mul, minus, lo)) for lo, up in pairs])
            low[-1][0] += b * self.denominator
            upp[-1][0] += b * self.denominator
        return low, upp

    def _sizes(self) -> list[Q]:
        """Greatest absolute value of each entry over the box."""
        forms = [(self._form(lo), self._form(up)) for lo, up in asking(zip(self.low, self.upp, strict=True))]
        return [max(self.cell.box_max(negative(lo)), self.cell.box_max(up), rational(0)) for lo, up in forms]

    def _errors(self, layer: IntegerLayer, rows: Sequence[Sequence[int]], bias: Sequence[int]) -> list[Q]:
        """What float32 arithmetic may do to each row, in any order and fused or not (Higham, section 3.1).

        Weights that are no float32 numbers are rounded first: relatively, which two more terms of gamma cover, or,
        where they underflow, by TINY, which counts as often as the input is large.
        """
        if not self.single:
            return []
        sizes = self._sizes()
        n = len(sizes) + 4
        gamma = n * UNIT / (1 - n * UNIT)
        totals = [
            (sum((abs(w) * s for w, s in zip(row, sizes, strict=True)), rational(abs(b)))) / layer.scale
            for row, b in zip(rows, bias, strict=True)
        ]
        weights = [rational(max(map(abs, row)), layer.scale) for row in rows]
        if any(v >= 2**126 for v in (*totals, *weights, *sizes)):
            raise ModelError("float32 arithmetic may overflow in a network: the property can not be shown for it")
        return [gamma * t + (n + sum(sizes)) * TINY for t in totals]

    def _spread(self, errors: Sequence[Q]) -> None:
        """Move every pair of forms apart by its error, rounded up to a unit that is made small enough for it."""
        self.denominator <<= _ERROR_BITS
        low, upp = ([[c << _ERROR_BITS for c in form] for form in forms] for forms in (self.low, self.upp))
        for lo, up, error in zip(low, upp, errors, strict=True):
            units = ceil(error * self.denominator)
            lo[0] -= units
            up[0] += units
        self.low, self.upp, self.exact = low, upp, False

    def _form(self, whole: Sequence[int]) -> Form:
        return tuple(rational(c, self.denominator) for c in whole)

    def _relu(self, open_forms: list[Form]) -> None:
        low, upp, exact = list(self.low), list(self.upp), True
        undecided: dict[int, tuple[bool, int, Q]] = {}
        for j in asking(range(len(low))):
            if self.cell.inf(tuple(self.low[j])).value >= 0:  # the common denominator does not change a sign
                exact &= self.low[j] == self.upp[j]
            elif self.cell.sup(tuple(self.upp[j])).value <= 0:
                low[j] = upp[j] = [0] * self.width
            else:
                below, above = self._form(self.low[j]), self._form(self.upp[j])
                if self.low[j][1:] == self.upp[j][1:]:
                    open_forms += dict.fromkeys((below, above))
                undecided[j] = relaxation(self.cell, below, above)
        if undecided:
            self.denominator <<= _SLOPE_BITS  # slopes are multiples of the new unit: only the constant is rounded
            low, upp = ([[c << _SLOPE_BITS for c in form] for form in forms] for forms in (low, upp))
        for j, (keep, slope, lift) in undecided.items():
            if not keep:
                low[j] = [0] * self.width
            upp[j] = [slope * c for c in self.upp[j]]
            upp[j][0] += ceil(lift * self.denominator)
        self.low, self.upp, self.exact = low, upp, exact and not undecided

    def output(self, index: int) -> Enclosure:
        """One output."""
        if self.last is None:
            low, upp, scale = self.low[index], self.upp[index], self.denominator
            exact = low == upp
        else:
            rows, bias = [self.last.rows[index]], [self.last.bias[index]]
            (low,), (upp,) = self._affine(rows, bias)
            exact, scale = self.exact, self.denominator * self.last.scale
        errors = self._errors(self.last, [self.last.rows[index]], [self.last.bias[index]]) if self.last else []
        return self._enclosed(low, upp, scale, exact, sum(errors, rational(0)))

    @staticmethod
    def _enclosed(low: Sequence[int], upp: Sequence[int], scale: int, exact: bool, error: Q) -> Enclosure:
        below: Form = tuple(rational(c, scale) for c in low)
        if exact and not error:
            return Enclosure(below, below)
        above = tuple(rational(c, scale) for c in upp)
        return Enclosure((below[0] - error, *below[1:]), (above[0] + error, *above[1:]))

    def difference(self, i: int, j: int) -> Enclosure:
        """``output[i] - output[j]``, without the slack of each alone."""
        if self.last is None:
            a, b = self.output(i), self.output(j)
            low = plus(a.low, b.upp, rational(-1))
            return Enclosure(low, low if a.exact and b.exact else plus(a.upp, b.low, rational(-1)))
        row = [p - q for p, q in zip(self.last.rows[i], self.last.rows[j], strict=True)]
        (lows,), (upps,) = self._affine([row], [self.last.bias[i] - self.last.bias[j]])
        scale = self.denominator * self.last.scale
        both = [self.last.rows[i], self.last.rows[j]], [self.last.bias[i], self.last.bias[j]]
        return self._enclosed(lows, upps, scale, self.exact, sum(self._errors(self.last, *both), rational(0)))


def relaxation(cell: Cell, low: Form, upp: Form) -> tuple[bool, int, Q]:
    """How to enclose ``max(z, 0)`` for ``low <= z <= upp``, where z may have both signs: (keep, slope, lift).

    It is at least `low` if `keep`, else at least 0; and at most ``slope / 2**20 * upp + lift``, about the chord.
    """
    least, most = -cell.box_max(negative(upp)), cell.box_max(upp)
    slope, lift = 2**_SLOPE_BITS, rational(0)
    if least < 0:
        slope = floor(most / (most - least) * 2**_SLOPE_BITS)
        part = rational(slope, 2**_SLOPE_BITS)
        lift = max(-part * least, (1 - part) * most)
    return cell.box_max(low) > cell.box_max(negative(low)), slope, lift


def _below(cell: Cell, forms: Sequence[Form]) -> Form:
    """One form below all: the first one's slopes where all share them, else a constant."""
    first = forms[0]
    if all(f[1:] == first[1:] for f in forms):
        return (min(f[0] for f in forms), *first[1:])
    return (min(-cell.box_max(negative(f)) for f in forms), *(rational(0),) * (len(first) - 1))
