"""One step of a system as layers of a program: sums are folded, and what is not affine becomes rectified units.

    max(a, b) = b + relu(a - b)    of more operands: in pairs; relu, min, clip and absolute values are written with it
    a network: a layer for each of its hidden ones, its last affine layer is a form over the units before it

A *form* is an affine expression over units, exact. A unit stands on a level; it reads the level below only, so that
what is needed further up is carried by units without ReLU. There is one unit for what is equal as a form, however often
it is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from venmas.budget import ask
from venmas.model.expressions.expr import Application, Constant, Expr, Maximum, Output, Sum, Variable
from venmas.model.transform.program import ProgramLayer, layer_of
from venmas.nn import Layer, Network

_FEW = 4
"""Units of a form up to which they are carried themselves, not the form."""

_ONE = Fraction(1)


class UnloweredError(Exception):
    """An expression is no composition of sums, maxima and networks; the message says what it is."""


@dataclass(frozen=True)
class _Form:
    """``sum(terms[unit] * unit) + constant``."""

    terms: Mapping[int, Fraction]
    constant: Fraction

    @property
    def key(self) -> object:
        """Equal for forms that are equal."""
        return frozenset(self.terms.items()), self.constant

    @property
    def plain(self) -> bool:
        """Is it one unit, as it is?"""
        return not self.constant and len(self.terms) == 1 and next(iter(self.terms.values())) == 1


@dataclass
class _Level:
    """The units of a level: sparse rows over the one below by unit, and layers of networks as they are stored.

    dense: where the layer begins, the layer, and the units that it reads.
    """

    units: list[int] = field(default_factory=list)
    rows: dict[int, tuple[_Form, bool]] = field(default_factory=dict)
    dense: list[tuple[int, Layer, tuple[int, ...]]] = field(default_factory=list)


def lower(updates: Mapping[str, Expr], entry: Sequence[str]) -> list[ProgramLayer]:
    """Layers that take the variables `entry` before the step to those of `updates` after it, each in their order.

    Raises `UnloweredError`, and `OverflowError` where a number is beyond all floats.
    """
    step = _Step(entry)
    forms = [step.form(expr) for expr in updates.values()]
    top = len(step.levels) - 1
    last = [(step.lifted(form, top), False) for form in forms]
    step.add(top + 1, last)
    return step.layers()


class _Step:
    def __init__(self, entry: Sequence[str]) -> None:
        self.levels = [_Level(list(range(len(entry))))]
        self._level = dict.fromkeys(range(len(entry)), 0)
        self._entry = {name: i for i, name in enumerate(entry)}
        self._forms: dict[int, tuple[Expr, _Form]] = {}
        self._outputs: dict[object, tuple[Network, list[_Form]]] = {}  # keeps networks, so that an id is that of one
        self._rectified: dict[object, int] = {}
        self._carried: dict[tuple[tuple[int, ...], tuple[Fraction, ...]], int] = {}

    # -- expressions ---------------------------------------------------------------------------------------------------

    def form(self, expr: Expr) -> _Form:
        """An expression over units, which are made as needed."""
        if id(expr) not in self._forms:
            ask()
            self._forms[id(expr)] = expr, self._compute(expr)
        return self._forms[id(expr)][1]

    def _compute(self, expr: Expr) -> _Form:
        match expr:
            case Constant(value):
                return _Form({}, value)
            case Variable(name, _):
                return _Form({self._entry[name]: _ONE}, Fraction(0))
            case Sum(terms, constant):
                return _combined([(c, self.form(part)) for c, part in terms], constant)
            case Maximum(operands):
                return self._greatest([self.form(o) for o in operands])
            case Output(application, index):
                return self._apply(application)[index]
        raise UnloweredError(f"a choice ({type(expr).__name__.lower()}) stays open in a step")

    def _greatest(self, forms: list[_Form]) -> _Form:
        while len(forms) > 1:
            forms = [self._maximum(*forms[i : i + 2]) for i in range(0, len(forms), 2)]
        return forms[0]

    def _maximum(self, a: _Form, b: _Form | None = None) -> _Form:
        if b is None:
            return a
        if not a.terms:
            a, b = b, a
        difference = _combined([(_ONE, a), (-_ONE, b)], Fraction(0))
        if not difference.terms:
            return a if difference.constant > 0 else b
        key = difference.key
        if key not in self._rectified:
            (self._rectified[key],) = self.add(1 + self._height(difference), [(difference, True)])
        unit = self._rectified[key]
        return _combined([(_ONE, b), (_ONE, _Form({unit: _ONE}, Fraction(0)))], Fraction(0))

    def _apply(self, application: Application) -> list[_Form]:
        forms = [self.form(i) for i in application.inputs]
        key = id(application.network), tuple(form.key for form in forms)
        if key not in self._outputs:
            hidden, last = application.network.hidden_and_last
            for layer in hidden:
                units = self._layer(layer, forms)
                forms = [_Form({u: _ONE}, Fraction(0)) for u in units]
            found = forms if application.network.layers[-1].rectified else _product(last, forms)
            self._outputs[key] = application.network, found
        return self._outputs[key][1]

    def _layer(self, layer: Layer, forms: list[_Form]) -> list[int]:
        below = max(map(self._height, forms))
        forms = [self.lifted(form, below) for form in forms]
        read = [next(iter(f.terms)) for f in forms if f.plain]
        if layer.divisor is not None or len(set(read)) < len(forms):
            return self.add(below + 1, [(form, layer.rectified) for form in _product(layer, forms)])
        level, first = self._at(below + 1), len(self._level)
        level.dense.append((len(level.units), layer, tuple(read)))
        return self._new(below + 1, range(first, first + layer.out_size))

    # -- levels --------------------------------------------------------------------------------------------------------

    def _height(self, form: _Form) -> int:
        return max((self._level[u] for u in form.terms), default=0)

    def _at(self, height: int) -> _Level:
        while len(self.levels) <= height:
            self.levels.append(_Level())
        return self.levels[height]

    def _new(self, height: int, units: Sequence[int]) -> list[int]:
        self._at(height).units.extend(units)
        self._level.update(dict.fromkeys(units, height))
        return list(units)

    def add(self, height: int, rows: Sequence[tuple[_Form, bool]]) -> list[int]:
        """New units of a level, with ReLU or without."""
        lifted = [(self.lifted(form, height - 1), relu) for form, relu in rows]
        first = len(self._level)
        units = self._new(height, range(first, first + len(rows)))
        self._at(height).rows.update(zip(units, lifted, strict=True))
        return units

    def lifted(self, form: _Form, height: int) -> _Form:
        """The same form over units of one level, which is not below any of its own."""
        now = form
        while now.terms and (lowest := min(self._level[u] for u in now.terms)) < height:
            part = {u: c for u, c in now.terms.items() if self._level[u] == lowest}
            rest = _Form({u: c for u, c in now.terms.items() if u not in part}, now.constant)
            if len(part) > _FEW:
                up = [(_ONE, _Form({self._carry(lowest + 1, part): _ONE}, Fraction(0)))]
            else:
                up = [(c, _Form({self._carry(lowest + 1, {u: _ONE}): _ONE}, Fraction(0))) for u, c in part.items()]
            now = _combined([(_ONE, rest), *up], Fraction(0))
        return now

    def _carry(self, height: int, part: Mapping[int, Fraction]) -> int:
        key = tuple(part), tuple(part.values())
        if key not in self._carried:
            (self._carried[key],) = self.add(height, [(_Form(part, Fraction(0)), False)])
        return self._carried[key]

    # -- layers --------------------------------------------------------------------------------------------------------

    def layers(self) -> list[ProgramLayer]:
        """The levels above the entry."""
        return [self._written(below.units, level) for below, level in zip(self.levels, self.levels[1:], strict=False)]

    def _written(self, below: list[int], level: _Level) -> ProgramLayer:
        ask()
        at = {unit: i for i, unit in enumerate(below)}
        rows = [level.rows.get(unit, (_Form({}, Fraction(0)), False)) for unit in level.units]
        layer = layer_of([({at[u]: c for u, c in f.terms.items()}, f.constant, r) for f, r in rows], len(below))
        for first, stored, read in level.dense:
            here = slice(first, first + stored.out_size)
            layer.weights[here, [at[u] for u in read]] = stored.weight
            layer.bias[here], layer.relu[here] = stored.bias, stored.rectified
        for array in (layer.weights, layer.bias, layer.relu):
            array.flags.writeable = False
        return layer


def _combined(parts: Sequence[tuple[Fraction, _Form]], constant: Fraction) -> _Form:
    terms: dict[int, Fraction] = {}
    for factor, form in parts:
        same = factor == 1  # most are: rationals are multiplied and added only where that changes them
        if form.constant:
            constant += form.constant if same else factor * form.constant
        for unit, c in form.terms.items():
            part, before = c if same else factor * c, terms.get(unit)
            terms[unit] = part if before is None else before + part
    return _Form({u: c for u, c in terms.items() if c}, constant)


def _product(layer: Layer, forms: Sequence[_Form]) -> list[_Form]:
    """The pre-activations of a layer, exactly."""
    rows = []
    for weights, b in zip(layer.exact_weight, layer.exact_bias, strict=True):
        ask()
        rows.append(_combined([(c, form) for c, form in zip(weights, forms, strict=True) if c], b))
    return rows
