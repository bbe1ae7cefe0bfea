"""A program as flat arrays of floats: what `venmas.bounds.crown` and its compiled twin `crown_kernel` read.

The question is whether some x of a box meets a Boolean combination of linear constraints over the values after layers
of a program (`venmas.model.transform.program`) and its inputs, ``goal <= 0`` or ``goal < 0`` each. Constraints that
stand side by side below one AND are a *group*: it is refuted by a lower bound above zero of any non-negative
combination of its goals, not only of a single one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from venmas.bounds.rounding import FEW, SMALLEST_NORMAL, TINY, UNIT_ROUNDOFF, Bools, Floats, Ints
from venmas.budget import ask, asking
from venmas.logic import Formula
from venmas.model.transform.program import AND, OR, Program, ProgramLayer, Row
from venmas.model.transform.program_writer import network_program
from venmas.nn import Network

__all__ = ["AND", "OR", "Plan", "flatten", "plan_of"]


@dataclass(frozen=True, eq=False)
class Plan:
    """Layers and goals; n_0 = m inputs, then L layers of n_1..n_L units, U in all, q goals, G groups.

    sizes: (L+1,). weights: the arrays (in, out) of the layers, one after the other, where a layer that stands in
    several places is stored once; rows: the same, (out, in) each. offsets: (L,), where a layer begins in both. biases,
    relus (U,): of all units. errors (L,): relative, of the weights and the bias. The goals are ``goal @ h + goal_bias +
    direct @ x`` for the first values h after a layer: goal and its rounding goal_error (q, widest), goal_bias and its
    rounding bias_error (q,), direct (q, m), rounded to nearest (below the normal floats, by less than TINY). starts
    (G+1,): the goals of group g are ``starts[g] .. starts[g + 1] - 1``. levels (G,): how many layers stand before the
    values that a group speaks of. order (G,): groups by level, those of level k being ``order[first[k]:first[k + 1]]``,
    first: (L+2,).
    program: the condition in postfix form over groups: a number pushes that group; AND or OR, then k, joins the last k.
    """

    source: Program
    hidden: tuple[ProgramLayer, ...]
    sizes: Ints
    weights: Floats
    rows: Floats
    offsets: Ints
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
    levels: Ints
    order: Ints
    first: Ints
    program: Ints

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return int(self.sizes[0])

    @property
    def cuts(self) -> bool:
        """Does the condition hold nowhere unless some group holds? Then what all groups leave of a box is enough."""
        return bool(self.combined(np.full((self.groups, 1), np.inf))[0] == np.inf)

    @property
    def groups(self) -> int:
        """Number of groups."""
        return len(self.starts) - 1

    @property
    def symbols(self) -> int:
        """The most symbols that a box may come to: of open units, and over several steps of large radii."""
        return len(self.relus) if self.source.steps > 1 else int(self.relus.sum())

    def group(self, g: int) -> Ints:
        """The goals of a group."""
        return np.arange(self.starts[g], self.starts[g + 1])

    def at(self, level: int) -> Ints:
        """The groups that speak of the values after so many layers."""
        return self.order[self.first[level] : self.first[level + 1]]

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
        return self.combined(self.distances(values))

    def distances(self, values: Floats) -> Floats:
        """(B, q) values of the goals -> (G, B): at most 0 where a group holds."""
        groups = [values[:, self.group(g)].max(1) for g in range(self.groups)]
        return np.array(groups).reshape(self.groups, len(values))

    def values(self, x: Floats) -> Floats:
        """Float values of the goals: (B, m) -> (B, q); no error bound."""
        result = x @ self.direct.T + self.goal_bias
        for goals, h in self._seen(x):
            result[:, goals] += h @ self.goal[goals, : h.shape[1]].T
        return result

    def magnitude(self, x: Floats) -> float:
        """The size of what is added up in a goal at points (B, m); of the goal where that is least.

        It scales tolerances; nothing is proved with it. ``goal`` may have cancelled, but `goal_error` is
        ``unit * abs(f) @ abs(W)`` with ``unit >= FEW`` (see `plan_of`), so that over FEW it is at least the size of the
        products before they cancelled, and at most (n + 8) / 8 times that, for n outputs.
        """
        size = np.broadcast_to(self.bias_error, (len(x), len(self.bias_error))).copy()
        for goals, h in self._seen(x):
            size[:, goals] += np.abs(h) @ self.goal_error[goals, : h.shape[1]].T
        size = size / FEW + np.abs(x) @ np.abs(self.direct).T
        return float(np.nan_to_num(size.max(0).min(initial=np.inf)))

    def _seen(self, x: Floats) -> Iterator[tuple[Ints, Floats]]:
        """The goals of each group, with the values (B, n) they speak of, at inputs (B, m)."""
        for level in range(len(self.hidden) + 1):
            if level:
                layer = self.hidden[level - 1]
                x = x @ layer.weights.T + layer.bias
                x = np.where(layer.relu, np.maximum(x, 0), x)
            ask()
            for g in self.at(level):
                yield self.group(int(g)), x

    def holds(self, x: Sequence[Fraction]) -> bool:
        """Does the condition hold at a rational point, exactly?"""
        return self.source.holds(x)


def plan_of(network: Network, condition: Formula) -> Plan:
    """Of a query; condition: in negation normal form, without operators of time, over X_0, X_1, .. and Y_0, Y_1, .."""
    return flatten(network_program(network, condition))


def flatten(program: Program) -> Plan:
    """The arrays of a program.

    Where the last layer has no ReLU it is no layer here, and the goals on it speak of the layer before: products of
    floats, whose rounding is in `goal_error`. Raises `OverflowError` where a number is beyond all floats.
    """
    hidden, last = program.layers, len(program.layers)
    if any(0 < abs(c) < SMALLEST_NORMAL for layer in hidden for c in layer.inexact.values()):
        raise OverflowError("a coefficient is below all floats")  # its rounding would not be relative
    folded = hidden[-1] if hidden and not hidden[-1].relu.any() else None
    hidden = hidden[:-1] if folded is not None else hidden
    rows = [row for group in program.groups for row in group.rows]
    m = len(program.inputs)
    levels = np.array([min(group.layer + 1, len(hidden)) for group in program.groups], dtype=np.int64)
    sizes = np.array([m, *(layer.out_size for layer in hidden)])
    widest = int(sizes[levels].max(initial=1))
    goal, goal_error = np.zeros((2, len(rows), widest))
    bias, bias_error = np.zeros((2, len(rows)))
    for i, row in enumerate(asking(rows)):
        within = folded if folded is not None and row.layer == last - 1 else None
        width = len(row.outputs) if within is None else within.in_size
        goal[i, :width], goal_error[i, :width], bias[i], bias_error[i] = _goal(row, within)
    places: dict[int, int] = {}
    stored: list[ProgramLayer] = []
    for layer in hidden:
        if id(layer) not in places:
            places[id(layer)] = sum(one.weights.size for one in stored)
            stored.append(layer)
    order = np.argsort(levels, kind="stable")
    return Plan(
        program,
        hidden,
        sizes,
        np.concatenate([np.zeros(0), *(layer.weights.T.ravel() for layer in stored)]),
        np.concatenate([np.zeros(0), *(layer.weights.ravel() for layer in stored)]),
        np.array([places[id(layer)] for layer in hidden], dtype=np.int64),
        np.concatenate([np.zeros(0), *(layer.bias for layer in hidden)]),
        np.concatenate([np.zeros(0, dtype=bool), *(layer.relu for layer in hidden)]),
        np.array([UNIT_ROUNDOFF if layer.inexact else 0.0 for layer in hidden], dtype=np.float64),
        goal,
        goal_error,
        bias,
        bias_error,
        np.array([[float(c) for c in row.inputs] for row in rows]).reshape(len(rows), m),
        np.array([row.strict for row in rows], dtype=bool),
        np.cumsum([0, *(len(group.rows) for group in program.groups)]),
        levels,
        order,
        np.searchsorted(levels[order], np.arange(len(hidden) + 2)),
        np.array(program.formula, dtype=np.int64),
    )


def _goal(row: Row, layer: ProgramLayer | None) -> tuple[Floats, Floats, float, float]:
    """Coefficients and their rounding, the constant and its rounding; layer: what is folded into them."""
    f, constant = np.array([float(c) for c in row.outputs]), float(row.constant)
    if layer is None:
        return f, FEW * np.abs(f) + TINY, constant, FEW * abs(constant) + TINY
    # coefficients of f round once, n products and sums of them n times more, the constant once; within n + 8 roundings
    unit = (layer.out_size + 8) * UNIT_ROUNDOFF + 2 * (UNIT_ROUNDOFF if layer.inexact else 0.0)
    size = np.abs(layer.weights)
    with np.errstate(over="ignore", invalid="ignore"):
        return (
            f @ layer.weights,
            np.abs(f) @ size * unit + TINY * (1 + size.sum(0)),
            float(f @ layer.bias + constant),
            float((np.abs(f) @ np.abs(layer.bias) + abs(constant)) * unit + TINY * (1 + np.abs(layer.bias).sum())),
        )
