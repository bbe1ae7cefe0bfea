"""Expression graphs as rows of a canonical form (described in `venmas.model.canonical.canonical`); nothing here
recurses."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any as Anything
from typing import TypeAlias

from venmas.budget import ask
from venmas.errors import ModelError
from venmas.logic import And, Atom, Bottom, Formula, Or, Top, subformulas
from venmas.logic.linear import Comparison
from venmas.model.expressions.expr import (
    All,
    Any,
    Application,
    ArgMax,
    Compare,
    Condition,
    Constant,
    Drawn,
    Expr,
    Maximum,
    Output,
    Sum,
    Switch,
    Truth,
    Variable,
    Where,
    children,
)
from venmas.model.expressions.smooth_nodes import Apply, End, Extremum, Flow, Held, Product, Quotient
from venmas.model.system.system import System

MAX_DIGITS = 4096
"""Most characters of one number."""

Node: TypeAlias = Expr | Condition | Application | Flow
Row: TypeAlias = list[Anything]


def canonical_text(form: Anything) -> str:
    """JSON with sorted keys and no spaces, ASCII only: what is hashed."""
    return json.dumps(form, sort_keys=True, separators=(",", ":"), allow_nan=False)


def write_number(value: Fraction) -> str:
    """The text of a rational. Raises `ModelError` for one that is too long."""
    bits = max(value.numerator.bit_length(), value.denominator.bit_length())
    text = str(value) if bits <= 3 * MAX_DIGITS else ""  # Python refuses to write much longer ones
    if not 0 < len(text) <= MAX_DIGITS:
        raise ModelError(f"a number of {bits} bits has no canonical form: use one of at most {MAX_DIGITS} characters")
    return text


class Writer:
    """The list of nodes as it grows."""

    def __init__(self, system: System) -> None:
        self.rows: list[Row] = []
        self._system = system
        self._positions = {name: i for i, name in enumerate(system.variables)}
        self._by_text: dict[str, int] = {}
        self._by_id: dict[int, int] = {}

    def _put(self, *row: Anything) -> int:
        index = self._by_text.setdefault(repr(row), len(self.rows))
        if index == len(self.rows):
            self.rows.append(list(row))
        return index

    def graph(self, root: Node) -> int:
        """A node of the system with all below it."""
        stack = [root]
        while stack:
            if not len(self._by_id) % 32:
                ask()
            node = stack[-1]
            missing = [p for p in _parts(node) if id(p) not in self._by_id]
            if missing and id(node) not in self._by_id:
                stack.extend(reversed(missing))
                continue
            if id(node) not in self._by_id:
                self._by_id[id(node)] = self._node(node)
            stack.pop()
        return self._by_id[id(root)]

    def _node(self, node: Node) -> int:
        at = self._by_id
        match node:
            case Constant(value):
                return self._put("constant", write_number(value))
            case Variable(name, _):
                if self._system.nodes_by_name.get(name) is not node:
                    raise ModelError(f"system {self._system.name!r} uses variable {name!r} of another system")
                return self._put("variable", self._positions[name])
            case Drawn(name):  # for digests and pages; nobody reads it again (`venmas.model.system.disturbances`)
                return self._put("drawn", self._positions[name])
            case Sum(terms, constant):
                return self._put("sum", [[write_number(c), at[id(e)]] for c, e in terms], write_number(constant))
            case Application(network, inputs):
                return self._put("network", network.digest, [at[id(e)] for e in inputs])
            case Output(application, index):
                return self._put("output", at[id(application)], index)
            case Maximum(operands) | ArgMax(operands):
                return self._put("maximum" if isinstance(node, Maximum) else "argmax", [at[id(e)] for e in operands])
            case Switch(selector, cases):
                return self._put("switch", at[id(selector)], [[key, at[id(e)]] for key, e in cases])
            case Where(condition, then, otherwise):
                return self._put("where", at[id(condition)], at[id(then)], at[id(otherwise)])
            case Product(left, right) | Quotient(left, right):
                return self._put("product" if isinstance(node, Product) else "quotient", at[id(left)], at[id(right)])
            case Apply(function, operand):
                return self._put("apply", function, at[id(operand)])
            case Held(operand):
                return self._put("held", at[id(operand)])
            case Flow(period, rates):
                return self._put("flow", write_number(period), [[at[id(v)], at[id(e)]] for v, e in rates])
            case End(flow, name):
                return self._put("end", at[id(flow)], self._positions[name])
            case Extremum(flow, expr, greatest):
                return self._put("greatest" if greatest else "least", at[id(flow)], at[id(expr)])
            case Truth(truth):
                return self._put("truth", truth)
            case Compare(expr, relation):
                return self._put("compare", at[id(expr)], relation.value)
            case All(parts) | Any(parts):
                return self._put("all" if isinstance(node, All) else "any", [at[id(c)] for c in parts])
        raise ModelError(f"a node of class {type(node).__name__} has no canonical form")

    def comparison(self, comparison: Comparison) -> int:
        """A linear comparison."""
        terms, constant = comparison.expr.terms, comparison.expr.constant
        refs: list[Row] = [[write_number(c), self._put("variable", self._positions[name])] for name, c in terms]
        if not terms:
            expr = self._put("constant", write_number(constant))
        elif len(terms) == 1 and terms[0][1] == 1 and not constant:
            expr = int(refs[0][1])
        else:
            expr = self._put("sum", refs, write_number(constant))
        return self._put("compare", expr, comparison.relation.value)

    def formula(self, formula: Formula, name: str) -> int:
        """A proposition."""
        at: dict[Formula, int] = {}
        for part in subformulas(formula):
            match part:
                case Top() | Bottom():
                    at[part] = self._put("truth", isinstance(part, Top))
                case Atom(comparison):
                    at[part] = self.comparison(comparison)
                case And(operands) | Or(operands):
                    at[part] = self._put("all" if isinstance(part, And) else "any", [at[o] for o in operands])
                case _:
                    raise ModelError(
                        f"proposition {name!r} must combine comparisons by & and |, it has a {type(part).__name__}"
                    )
        return at[formula]


def _parts(node: Node) -> tuple[Node, ...]:
    match node:
        case Output(application, _):
            return (application,)
        case Application(_, inputs):
            return inputs
        case Flow():
            return node.parts
        case End(flow, _):
            return (flow,)
        case Extremum(flow, expr, _):
            return flow, expr
    return children(node)
