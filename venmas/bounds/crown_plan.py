"""A one-step query as flat arrays: what `venmas.bounds.crown` and its compiled twin `crown_kernel` read.

The question is whether some x of a box meets a Boolean combination of linear constraints over a network's inputs and
outputs, ``goal <= 0`` or ``goal < 0`` each. Constraints that stand side by side below one AND are a *group*: it is
refuted by a lower bound above zero of any non-negative combination of its goals, not only of a single one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from venmas.bounds.rounding import FEW, TINY, UNIT_ROUNDOFF, Bools, Floats
from venmas.budget import ask, asking
from venmas.linear import Comparison, Relation
from venmas.logic import And, Atom, Bottom, Formula, Or, Top
from venmas.nn import Layer, Network

Ints = NDArray[np.int64]
AND, OR = -1, -2


@dataclass(frozen=True)
class Goal:
    """``outputs . y + inputs . x + constant <= 0`` (``< 0`` where strict), in rationals."""

    outputs: tuple[Fraction, ...]
    inputs: tuple[Fraction, ...]
    constant: Fraction
    strict: bool

    def value(self, x: Sequence[Fraction], y: Sequence[Fraction]) -> Fraction:
        """The exact left-hand side."""
        return sum((c * v for c, v in zip(self.outputs, y, strict=True) if c), self.constant) + sum(
            (c * v for c, v in zip(self.inputs, x, strict=True) if c), Fraction(0)
        )

    def holds(self, x: Sequence[Fraction], y: Sequence[Fraction]) -> bool:
        """Decide exactly."""
        value = self.value(x, y)
        return value < 0 or (value == 0 and not self.strict)


@dataclass(frozen=True, eq=False)
class Plan:
    """Layers and goals; n_0 = m inputs, then L hidden layers of n_1..n_L units, q goals, G groups.

    sizes: (L+1,). weights: all layers, (in, out) each, one after the other; rows: the same, (out, in) each; biases.
    relus, errors (relative, of the weights): (L,). The goals are ``goal @ h + goal_bias + direct @ x`` for the last
    hidden h: goal and its rounding goal_error (q, n_L), goal_bias and its rounding bias_error (q,), direct (q, m),
    rounded to nearest (below the normal floats, by less than TINY). members: the goals of group g are
    members[starts[g]:starts[g + 1]]. program: the condition in postfix form over groups: a number pushes that group;
    AND or OR, then k, joins the last k.
    """

    network: Network
    goals: tuple[Goal, ...]
    hidden: tuple[Layer, ...]
    sizes: Ints
    weights: Floats
    rows: Floats
    biases: Floats
    relus: Bools
    errors: Floats
    goal: Floats
    goal_error: Floats
    goal_bias: Floats
    bias_error: Floats
    direct: Floats
    strict: Bools
    starts: Ints
    members: Ints
    program: Ints

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return int(self.sizes[0])

    @property
    def groups(self) -> int:
        """Number of groups."""
        return len(self.starts) - 1

    def group(self, g: int) -> Ints:
        """The goals of a group."""
        return self.members[self.starts[g] : self.starts[g + 1]]

    def combined(self, groups: Floats) -> Floats:
        """(G, B) -> (B,): numbers of groups joined along the condition, the greatest at AND and the least at OR.

        Of how far each group is from holding that is how far the condition is; of lower bounds it is one, and infinite
        where what is infinite (refuted) refutes the condition.
        """
        stack: list[Floats] = []
        at = 0
        while at < len(self.program):
            ask()
            code = int(self.program[at])
            at += 1
            if code >= 0:
                stack.append(groups[code])
            else:
                count = int(self.program[at])
                at += 1
                parts = np.array(stack[len(stack) - count :]).reshape(count, groups.shape[1])
                most = parts.max(0, initial=-np.inf) if code == AND else parts.min(0, initial=np.inf)
                stack[len(stack) - count :] = [most]
        return stack[0]

    def violation(self, values: Floats) -> Floats:
        """(B, q) values of the goals -> (B,): at most 0 where the condition holds (up to strictness and rounding)."""
        groups = [values[:, self.group(g)].max(1) for g in range(self.groups)]
        return self.combined(np.array(groups).reshape(self.groups, len(values)))

    def values(self, x: Floats) -> Floats:
        """Float values of the goals: (B, m) -> (B, q); no error bound."""
        return self._last(x) @ self.goal.T + self.goal_bias + x @ self.direct.T

    def magnitude(self, x: Floats) -> float:
        """The size of what is added up in a goal at points (B, m); of the goal where that is least.

        It scales tolerances; nothing is proved with it. ``goal`` may have cancelled, but `goal_error` is
        ``unit * abs(f) @ abs(W)`` with ``unit >= FEW`` (see `plan_of`), so that over FEW it is at least the size of the
        products before they cancelled, and at most (n + 8) / 8 times that, for n outputs.
        """
        size = np.abs(self._last(x)) @ self.goal_error.T + self.bias_error
        size = size / FEW + np.abs(x) @ np.abs(self.direct).T
        return float(np.nan_to_num(size.max(0).min(initial=np.inf)))

    def _last(self, x: Floats) -> Floats:
        """The last hidden layer."""
        for layer, relu in asking(zip(self.hidden, self.relus, strict=True)):
            x = x @ layer.weight.T + layer.bias
            x = np.maximum(x, 0) if relu else x
        return x

    def holds(self, x: Sequence[Fraction]) -> bool:
        """Does the condition hold at a rational point, exactly?"""
        y = self.network.evaluate_exact(x)
        met = np.array([g.holds(x, y) for g in self.goals], dtype=bool)
        missed = [[0.0 if met[self.group(g)].all() else 1.0] for g in range(self.groups)]
        return bool(self.combined(np.array(missed).reshape(self.groups, 1))[0] <= 0)


def plan_of(network: Network, condition: Formula) -> Plan:
    """Flatten; condition: in negation normal form, without operators of time, over X_0, X_1, .. and Y_0, Y_1, .."""
    goals: list[Goal] = []
    starts, members, program = [0], list[int](), list[int]()

    def group(atoms: Sequence[Comparison]) -> None:
        for comparison in atoms:
            members.append(len(goals))
            ask()
            goals.append(_goal(network, comparison))
        program.append(len(starts) - 1)
        starts.append(len(members))

    def visit(node: Formula) -> None:
        match node:
            case Top() | Bottom():
                program.extend((AND if isinstance(node, Top) else OR, 0))
            case Or(parts):
                for part in parts:
                    visit(part)
                program.extend((OR, len(parts)))
            case And() | Atom():
                parts = node.operands if isinstance(node, And) else (node,)
                atoms = [c for p in parts if isinstance(p, Atom) for c in _simple(p.comparison)]
                rest = [p for p in parts if not isinstance(p, Atom)]
                either = [p.comparison for p in parts if isinstance(p, Atom) and p.comparison.relation is Relation.NE]
                if atoms:
                    group(atoms)
                for part in rest:
                    visit(part)
                for comparison in either:
                    group([Comparison(comparison.expr, Relation.LT)])
                    group([Comparison(comparison.expr, Relation.GT)])
                    program.extend((OR, 2))
                program.extend((AND, bool(atoms) + len(rest) + len(either)))
            case _:
                raise TypeError(type(node))

    visit(condition)
    hidden, last = network.hidden_and_last
    f = np.array([[float(c) for c in g.outputs] for g in goals]).reshape(len(goals), last.out_size)
    constant = np.array([float(g.constant) for g in goals])
    # coefficients of f round once, n products and sums of them n times more, the constant once; within n + 8 roundings
    unit = (last.out_size + 8) * UNIT_ROUNDOFF + 2 * last.weight_error
    with np.errstate(over="ignore", invalid="ignore"):
        size, bias_size = np.abs(f) @ np.abs(last.weight), np.abs(f) @ np.abs(last.bias) + np.abs(constant)
        goal, goal_bias = f @ last.weight, f @ last.bias + constant
    return Plan(
        network,
        tuple(goals),
        hidden,
        np.array([network.input_size, *(layer.out_size for layer in hidden)]),
        np.concatenate([np.zeros(0), *(layer.weight.T.ravel() for layer in hidden)]),
        np.concatenate([np.zeros(0), *(layer.weight.ravel() for layer in hidden)]),
        np.concatenate([np.zeros(0), *(layer.bias for layer in hidden)]),
        np.array([layer.rectified for layer in hidden], dtype=bool),
        np.array([layer.weight_error for layer in hidden], dtype=np.float64),
        goal,
        size * unit + TINY * (1 + np.abs(last.weight).sum(0)),
        goal_bias,
        bias_size * unit + TINY * (1 + np.abs(last.bias).sum()),
        np.array([[float(c) for c in g.inputs] for g in goals]).reshape(len(goals), network.input_size),
        np.array([g.strict for g in goals], dtype=bool),
        np.array(starts),
        np.array(members, dtype=np.int64),
        np.array(program, dtype=np.int64),
    )


def _simple(comparison: Comparison) -> list[Comparison]:
    """An equation as two inequalities; ``!=`` is none of them."""
    match comparison.relation:
        case Relation.EQ:
            return [Comparison(comparison.expr, Relation.LE), Comparison(comparison.expr, Relation.GE)]
        case Relation.NE:
            return []
        case _:
            return [comparison]


def _goal(network: Network, comparison: Comparison) -> Goal:
    expr = comparison.expr if comparison.relation in (Relation.LE, Relation.LT) else -comparison.expr
    outputs, inputs = [Fraction(0)] * network.output_size, [Fraction(0)] * network.input_size
    for name, c in expr.terms:
        (outputs if name.startswith("Y_") else inputs)[int(name[2:])] = c
    return Goal(tuple(outputs), tuple(inputs), expr.constant, comparison.relation.strict)
