"""Single changes: to the lines of a proof (the claim stays true), and to what is claimed (it may become false)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np

from tests.checker.proofs import Certified, Line
from venmas.errors import InputError
from venmas.logic import Atom, Formula, subformulas
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.model import System
from venmas.model.expressions.expr import (
    All,
    Application,
    ArgMax,
    Compare,
    Condition,
    Expr,
    Maximum,
    Output,
    Sum,
    Switch,
    Truth,
    Where,
)
from venmas.model.expressions.expr import Any as AnyOf
from venmas.model.system.system import Branch
from venmas.nn import Network

NUDGES = [Fraction(s) for s in ("1", "-1", "1/8", "-1/8", "10", "-10", "1/1000000", "-1/1000000")]


def nudged(rng: Random, value: Fraction) -> Fraction:
    """Another number near by."""
    return value + rng.choice(NUDGES)


# -- lines -------------------------------------------------------------------------------------------------------------


def another_line(rng: Random, certified: Certified) -> tuple[str, Certified]:
    """One change to the lines; its name and the result."""
    lines = [dict(line) for line in certified.lines]
    name = rng.choice(
        ("coefficient", "weight", "row", "reference", "missing", "twice", "swapped", "rule", "place", "cut", "field")
    )
    where = {
        "coefficient": [i for i, line in enumerate(lines) if line["rule"] == "split"],
        "weight": [i for i, line in enumerate(lines) if line.get("weights")],
        "row": [i for i, line in enumerate(lines) if line.get("weights")],
        "reference": [i for i, line in enumerate(lines) if line["rule"] == "same"],
        "place": [i for i, line in enumerate(lines) if line["rule"] in ("region", "end")],
    }.get(name, list(range(len(lines))))
    if not where:
        return another_line(rng, certified)
    at = rng.choice(where)
    line = lines[at]
    match name:
        case "coefficient":
            form = list(line["form"])
            j = rng.randrange(len(form))
            form[j] = "0" if form[j][0] == "#" or rng.random() < 0.2 else str(nudged(rng, Fraction(form[j])))
            line["form"] = form
        case "weight":
            weights = [list(pair) for pair in line["weights"]]
            pair = rng.choice(weights)
            pair[1] = rng.choice(("0", "1", "-" + pair[1].removeprefix("#"), "#f", str(rng.randint(1, 99))))
            line["weights"] = weights
        case "row":
            weights = [list(pair) for pair in line["weights"]]
            rng.choice(weights)[0] = rng.randint(-1, 9)
            line["weights"] = weights
        case "reference":
            line["as"] = rng.randint(0, len(lines))
        case "missing":
            del lines[at]
        case "twice":
            lines.insert(at, dict(line))
        case "swapped":
            other = rng.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        case "rule":
            size = len(certified.system.variables)
            lines[at] = rng.choice(
                (
                    {"rule": "expand"},
                    {"rule": "refute", "weights": [[0, "1"]]},
                    {"rule": "same", "as": rng.randint(1, len(lines))},
                    {"rule": "split", "form": [str(rng.randint(-3, 3)) for _ in range(rng.randint(1, size + 1))]},
                    {"rule": "end", "lines": at + 1},
                )
            )
        case "place":
            field = "index" if line["rule"] == "region" else "lines"
            line[field] += rng.choice((-1, 1, 100))
        case "cut":
            del lines[at:]
        case "field":
            line[rng.choice(("rule", "form", "weights", "as", "index", "lines", "other"))] = rng.choice(
                (None, 0, "", [])
            )
    return name, certified.but(lines=tuple(lines))


# -- claims ------------------------------------------------------------------------------------------------------------


def another_claim(rng: Random, certified: Certified) -> tuple[str, Certified] | None:
    """One change to the system, the formula or what is said of them; None where it does not apply.

    Systems that are none (an integer that would not stay one) are left out: `check_claim` does not build them.
    """
    name, change = rng.choice(_CLAIMS)
    changed = change(rng, certified)
    try:
        if changed is not None:
            changed.system.validate()
    except InputError:
        return None
    return None if changed is None else (name, changed)


def _formula(rng: Random, c: Certified, change: Callable[[Comparison], Comparison]) -> Certified | None:
    atoms = [f for f in subformulas(c.formula) if isinstance(f, Atom)]
    if not atoms:
        return None
    atom = rng.choice(atoms)
    return c.but(formula=replaced(c.formula, atom, Atom(change(atom.comparison))))


def replaced(formula: Formula, old: Formula, new: Formula) -> Formula:
    """The formula with every occurrence of one subformula exchanged."""
    done: dict[Formula, Formula] = {}
    for node in subformulas(formula):
        fields = [
            tuple(done[v] for v in value)
            if isinstance(value, tuple)
            else done.get(value, value)
            if isinstance(value, Formula)
            else value
            for value in node._fields()
        ]
        done[node] = new if node is old else type(node)(*fields)
    return done[formula]


def _threshold(rng: Random, c: Certified) -> Certified | None:
    return _formula(rng, c, lambda a: Comparison(LinearExpr(a.expr.terms, nudged(rng, a.expr.constant)), a.relation))


def _relation(rng: Random, c: Certified) -> Certified | None:
    return _formula(rng, c, lambda a: Comparison(a.expr, rng.choice([r for r in Relation if r is not a.relation])))


def _with_system(c: Certified, **changes: Any) -> Certified:
    system = System(c.system.name)
    system.__dict__.update({k: v for k, v in c.system.__dict__.items() if k != "domains"} | changes)
    return c.but(system=system)


def _initial(rng: Random, c: Certified) -> Certified | None:
    """A comparison of an initial set is moved or left out."""
    regions = list(c.system.regions)
    at = rng.randrange(len(regions))
    rows = list(regions[at])
    if not rows:
        return None
    j = rng.randrange(len(rows))
    if rng.random() < 0.5:
        del rows[j]
    else:
        rows[j] = Comparison(LinearExpr(rows[j].expr.terms, nudged(rng, rows[j].expr.constant)), rows[j].relation)
    regions[at] = tuple(rows)
    return _with_system(c, regions=regions)


def _region(rng: Random, c: Certified) -> Certified | None:
    """An initial set more: a part of the declared box."""
    row = Comparison(LinearExpr.variable(rng.choice(list(c.system.variables))), rng.choice(list(Relation)))
    regions = [*c.system.regions, (row,)]
    rng.shuffle(regions)
    return _with_system(c, regions=regions)


def _branches(rng: Random, c: Certified, change: Callable[[Branch], Branch | None]) -> Certified:
    branches = list(c.system.branches)
    at = rng.randrange(len(branches))
    branches[at : at + 1] = [b for b in [change(branches[at])] if b is not None]
    return _with_system(c, branches=branches)


def _guard(rng: Random, c: Certified) -> Certified | None:
    guards = [Truth(True), Truth(False), *(b.guard for b in c.system.branches), *(~b.guard for b in c.system.branches)]
    return _branches(rng, c, lambda b: replace(b, guard=rng.choice(guards)))


def _no_branch(rng: Random, c: Certified) -> Certified | None:
    return _branches(rng, c, lambda b: None) if len(c.system.branches) > 1 else None


def _order(rng: Random, c: Certified) -> Certified | None:
    branches = list(c.system.branches)
    rng.shuffle(branches)
    return _with_system(c, branches=branches)


def _update(rng: Random, c: Certified) -> Certified | None:
    """An update is left out."""
    return _branches(rng, c, lambda b: replace(b, updates=b.updates[1:]))


def _constant(rng: Random, c: Certified) -> Certified | None:
    """A constant or coefficient in an expression is moved."""
    sums = [n for _, n in c.system.nodes() if isinstance(n, Sum)]
    if not sums:
        return None
    old = rng.choice(sums)
    at = rng.randrange(len(old.terms) + 1)
    step = rng.choice((Fraction(1), Fraction(-1))) if rng.random() < 0.7 else Fraction(1, 1000)
    terms = tuple((k + step if i == at else k, e) for i, (k, e) in enumerate(old.terms))
    return _rewritten(c, old, Sum(terms, old.constant + (step if at == len(old.terms) else 0)))


def _choice(rng: Random, c: Certified) -> Certified | None:
    """Two cases, sides or scores change places."""
    nodes = [n for _, n in c.system.nodes() if isinstance(n, Switch | Where | ArgMax)]
    if not nodes:
        return None
    old = rng.choice(nodes)
    match old:
        case Switch(selector, cases):
            keys, values = [k for k, _ in cases], [e for _, e in cases]
            rng.shuffle(values)
            return _rewritten(c, old, Switch(selector, tuple(zip(keys, values, strict=True))))
        case Where(condition, then, otherwise):
            return _rewritten(c, old, Where(condition, otherwise, then))
        case ArgMax(scores):
            return _rewritten(c, old, ArgMax(tuple(rng.sample(scores, len(scores)))))
    return None


def _network(rng: Random, c: Certified) -> Certified | None:
    """One weight or bias of a network is another one."""
    found = [n.application for _, n in c.system.nodes() if isinstance(n, Output)]
    if not found:
        return None
    application = rng.choice(found)
    network = application.network
    layers = list(network.layers)
    at = rng.randrange(len(layers))
    weight, bias = np.array(layers[at].weight), np.array(layers[at].bias)
    array = rng.choice((weight, bias))
    place = tuple(rng.randrange(n) for n in array.shape)
    array[place] += rng.choice((1.0, -1.0, 0.125, -0.125, 1e-6))
    layers[at] = type(layers[at])(weight, bias, layers[at].activation)
    return _rewritten(c, network, Network(tuple(layers), network.name, network.dtype))


def _rewritten(c: Certified, old: object, new: object) -> Certified:
    """The system with a node (or a network) exchanged everywhere."""
    done: dict[int, Any] = {}

    def again(node: Any) -> Any:
        if id(node) not in done:
            done[id(node)] = fresh(node)
        return done[id(node)]

    def several(nodes: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(again(n) for n in nodes)

    def fresh(node: Any) -> Any:
        if node is old:
            return new  # what is below it stays as it is
        match node:
            case Sum(terms, constant):
                return Sum(tuple((k, again(e)) for k, e in terms), constant)
            case Output(application, index):
                return Output(again(application), index)
            case Application(network, inputs):
                return Application(new if network is old else network, several(inputs))  # type: ignore[arg-type]
            case Maximum(operands) | ArgMax(operands) | All(operands) | AnyOf(operands):
                return type(node)(several(operands))
            case Switch(selector, cases):
                return Switch(again(selector), tuple((k, again(e)) for k, e in cases))
            case Where(condition, then, otherwise):
                return Where(again(condition), again(then), again(otherwise))
            case Compare(expr, relation):
                return Compare(again(expr), relation)
        return node

    branches = [Branch(b.name, tuple((n, again(e)) for n, e in b.updates), again(b.guard)) for b in c.system.branches]
    return _with_system(c, branches=branches)


def _flag(rng: Random, c: Certified) -> Certified | None:
    return c.but(inside=not c.inside)


def _single(rng: Random, c: Certified) -> Certified | None:
    return c.but(semantics="float32") if any(isinstance(n, Output) for _, n in c.system.nodes()) else None


_CLAIMS: list[tuple[str, Callable[[Random, Certified], Certified | None]]] = [
    ("threshold", _threshold),
    ("threshold", _threshold),
    ("relation", _relation),
    ("initial set", _initial),
    ("initial set", _initial),
    ("region", _region),
    ("guard", _guard),
    ("branch", _no_branch),
    ("order of branches", _order),
    ("update", _update),
    ("constant", _constant),
    ("constant", _constant),
    ("choice", _choice),
    ("network", _network),
    ("network", _network),
    ("inside", _flag),
    ("semantics", _single),
]
__all__ = ["Condition", "Expr", "Line", "another_claim", "another_line", "nudged", "replaced"]
