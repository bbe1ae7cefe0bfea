"""Expressions over a cell: enclosures by affine forms, exact wherever every choice is decided.

Each choice that stays open (sign of a unit, winner, condition) is noted with the exact form that decides it, if it has
one: that is where a proof may split.

The enclosure of an expression in a state over a cell is a pair of forms low <= value <=
upp, a flag exact (both are the same form, and the value is it), and possibly a finite set of values that it is one of.

Each node is evaluated once per state; where the outcome of an argmax or a compare node is assumed in the state, this
node has it, and no other node does; the negated copy of a guard, as Unless makes it, is a different node.

- *constant*: exact, with its value.
- *sum*: low adds, to the constant, c * low for c > 0 and c * upp otherwise, upp the other way round; exact if all parts
  are. Values: the sums of all choices of values, if all parts have values; taken from left to right, and none as soon
  as the number found so far times that of the next part is above 128.
- *maximum*: from left to right, of two at a time. For a and b let g be the sum 1 a - 1 b. If inf g.low >= 0, it is a;
  else if sup g.upp <= 0, it is b; else the sum of b and of the *relaxation* of g, not exact, without values.
- *output* of a network: as `venmas.checker.exact.networks` says.
- *argmax*: the indices that can win: i can if for every j, with d an enclosure of score i minus score j, sup d.upp > 0,
  or = 0, attained and i < j. If none can, all can. d is the sum 1 i - 1 j, or, when all scores are outputs of one
  network node, the difference of outputs there. One index is a constant; else low is the least and upp the greatest
  index, as constant forms, and the values are the indices.
- *switch*: the join of the cases whose key is among the values of the selector, of all cases if it has no values or
  none fits. *where*: the join of the sides that the condition's truth allows, the first side first.
- *join* of one is itself; of several that are exact with the same form, the first. Else low is: if all lows differ in
  the constant only, the first with the least constant; else the constant form of the least of their least values over
  the box. upp likewise, greatest. Not exact. Values: the union, if all have values and it has at most 128.

Conditions. A comparison with 0: if there are values, true or false when all agree, else open. Otherwise, with a = inf
low and z = sup upp: *positive* is a > 0, or a = 0 and not attained; *negative* is z < 0, or z = 0 and not attained. >
is true if positive, false if z <= 0; >= is true if a >= 0, false if negative; < and <= are mirrored; == is true if a =
z = 0, false if positive or negative; != the other way round. True goes first where both apply. *all* is false if a part
is, else open if a part is, else true; *any* dually. An atom is a sum over variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import reduce

from venmas.budget import ask
from venmas.checker.exact.cell import Cell, Form, Q, fraction, negative, plus, rational
from venmas.checker.exact.enclosures import MAX_VALUES, SLOPE_BITS, Enclosure, Values, lowest, relaxation
from venmas.checker.exact.networks import Applied
from venmas.logic.linear import Relation
from venmas.model.evaluation.evaluation import Evaluation, every, some
from venmas.model.expressions.expr import Application, ArgMax, Compare, Condition, Expr, Output, Switch, Where
from venmas.nn import Network
from venmas.nn.network import Semantics


class Enclosures(Evaluation[Enclosure, bool | None, Applied]):
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
        super().__init__()
        self.cell, self.env, self.semantics, self.assumed = cell, env, semantics, assumed or {}
        self.undecided: list[ArgMax | Compare] = []
        """Argmaxes and comparisons of several possible outcomes, in order of evaluation."""
        self.open: list[Form] = []
        """Exact forms whose sign on the cell would decide an open choice, in order of evaluation."""
        self._truths: dict[int, tuple[Condition, bool | None]] = {}

    def _constant(self, value: Q) -> Enclosure:
        form: Form = (rational(value), *(rational(0),) * len(self.cell.names))
        return Enclosure(form, form, frozenset([fraction(value)]))

    def _variable(self, name: str) -> Enclosure:
        return self.env[name]

    def _network(self, network: Network, inputs: Sequence[Enclosure]) -> Applied:
        return Applied(self.cell, network, inputs, self.open, self.semantics)

    def _output(self, outputs: Applied, index: int) -> Enclosure:
        return outputs.output(index)

    def _maximum(self, operands: Iterable[Enclosure]) -> Enclosure:
        return reduce(self._greater, operands)

    def _argmax(self, node: ArgMax) -> Enclosure:
        return self._finite(frozenset(Fraction(i) for i in self.winners(node)))

    def _switch(self, node: Switch) -> Enclosure:
        chosen = self.value(node.selector).values
        possible = [e for k, e in node.cases if chosen is None or Fraction(k) in chosen]
        # no case fits beyond the declared range, where a guard keeps runs from going: any case will do there
        return self._join([self.value(e) for e in possible or [e for _, e in node.cases]])

    def _where(self, node: Where) -> Enclosure:
        truth = self.truth(node.condition)
        possible = [e for e, t in ((node.then, True), (node.otherwise, False)) if truth in (None, t)]
        return self._join([self.value(e) for e in possible])

    def _finite(self, values: Values) -> Enclosure:
        low, high = self._constant(min(values)), self._constant(max(values))
        return low if len(values) == 1 else Enclosure(low.low, high.upp, values)

    def _linear(self, terms: Sequence[tuple[Fraction, Enclosure]], constant: Fraction) -> Enclosure:
        low = upp = self._constant(constant).low
        for c, q in terms:
            factor = rational(c)
            new = plus(low, q.low if c > 0 else q.upp, factor)
            upp = new if low is upp and q.exact else plus(upp, q.upp if c > 0 else q.low, factor)
            low = new
        sums: set[Fraction] | None = {constant}
        for c, q in terms:
            if sums is None or q.values is None or len(sums) * len(q.values) > MAX_VALUES:
                sums = None
                break
            sums = {s + c * v for s in sums for v in q.values}
        return Enclosure(low, upp, None if sums is None else frozenset(sums))

    def _greater(self, a: Enclosure, b: Enclosure) -> Enclosure:
        gap = self._linear([(Fraction(1), a), (Fraction(-1), b)], Fraction(0))
        if self.cell.inf(gap.low).value >= 0:
            return a
        if self.cell.sup(gap.upp).value <= 0:
            return b
        if gap.exact:
            self.open.append(gap.low)
        keep, slope, lift = relaxation(self.cell, gap.low, gap.upp)
        upp = plus(b.upp, gap.upp, rational(slope, 2**SLOPE_BITS))
        return Enclosure(plus(b.low, gap.low) if keep else b.low, (upp[0] + lift, *upp[1:]))

    def _join(self, cases: Sequence[Enclosure]) -> Enclosure:
        first = cases[0]
        if len(cases) == 1 or all(c.exact and c.low == first.low for c in cases):
            return first
        values: Values | None = None
        if all(c.values is not None for c in cases):
            values = frozenset(v for c in cases for v in c.values or ())
        low = lowest(self.cell, [c.low for c in cases])
        upp = negative(lowest(self.cell, [negative(c.upp) for c in cases]))
        return Enclosure(low, upp, values if values is not None and len(values) <= MAX_VALUES else None)

    def winners(self, node: ArgMax) -> list[int]:
        """Indices that can be the argmax: at least every higher one, above every lower one (design S3)."""
        if id(node) in self.assumed:
            return [self.assumed[id(node)]]
        scores, gaps = node.scores, dict[tuple[int, int], Enclosure]()
        shared = node.application
        possible = [i for i in range(len(scores)) if self._can_win(scores, shared, i, gaps)]
        if len(possible) > 1:
            self.undecided.append(node)
            close = [gaps[i, j] for i in possible for j in possible if i < j and gaps[i, j].parallel]
            self.open += [form for gap in close for form in dict.fromkeys((gap.low, gap.upp))]
        return possible or list(range(len(scores)))

    def _can_win(
        self, scores: Sequence[Expr], shared: Application | None, i: int, gaps: dict[tuple[int, int], Enclosure]
    ) -> bool:
        """Can score i be the greatest? The gaps to the others that tell are noted."""
        for j in range(len(scores)):
            if i == j:
                continue
            ask()
            gap = gaps[i, j] = self._gap(scores[i], scores[j], shared)
            top = self.cell.sup(gap.upp)
            if top.value < 0 or (top.value == 0 and not (top.attained and i < j)):
                return False
        return True

    def _gap(self, a: Expr, b: Expr, shared: Application | None) -> Enclosure:
        """The difference of two scores; shared: the network node that all scores are outputs of."""
        if shared is not None and isinstance(a, Output) and isinstance(b, Output):
            return self.outputs(shared).difference(a.index, b.index)
        return self._linear([(Fraction(1), self.value(a)), (Fraction(-1), self.value(b))], Fraction(0))

    # -- conditions ----------------------------------------------------------------------------------------------------

    def truth(self, condition: Condition) -> bool | None:
        """Truth on the whole cell, None where it is open."""
        key = id(condition)
        if key not in self._truths:
            self._truths[key] = condition, super().truth(condition)
        return self._truths[key][1]

    def _known(self, value: bool) -> bool | None:
        return value

    def _compare(self, node: Compare) -> bool | None:
        if id(node) in self.assumed:
            return bool(self.assumed[id(node)])
        truth = self.compare(self.value(node.expr), node.relation)
        if truth is None:
            self.undecided.append(node)
        return truth

    def _every(self, truths: Iterable[bool | None]) -> bool | None:
        return every(truths)

    def _some(self, truths: Iterable[bool | None]) -> bool | None:
        return some(truths)

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
