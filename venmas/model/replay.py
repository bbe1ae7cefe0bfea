"""Re-running a stored witness: exactly, believing nothing in it, and in floats (design S2, S8)."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite
from typing import Any, TypeAlias

import numpy as np

from venmas.errors import ModelError, NetworkError
from venmas.linear import format_number
from venmas.logic import Atom, Formula
from venmas.model.decide import Search, Trail
from venmas.model.regions import contains
from venmas.model.simulate import Batch, Precision, Step, misfit
from venmas.model.system import System
from venmas.model.trace import Value, Witness, number_json
from venmas.nn.runtime import Numpy, Runtime

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class FloatRun:
    """The same branches taken in float arithmetic, from the rounded initial state.

    `difference` is the largest absolute distance of any variable from the exact run (infinite where a run breaks off),
    `violated` whether the formula is shown there too, `runtime` what ran the networks.
    """

    difference: float
    violated: bool
    runtime: str

    def to_json(self) -> dict[str, Any]:
        """An object; a difference that is not finite is None, which JSON can say."""
        difference = self.difference if self.difference < inf else None
        return {"difference": difference, "violated": self.violated, "runtime": self.runtime}


@dataclass(frozen=True)
class Replay:
    """Whether a witness shows the formula, and if not, why not.

    `margin` is the exact margin with which its tree shows the formula (None when no atom is involved). The float runs,
    by precision of the networks, are missing when the witness does not follow the system.
    """

    confirmed: bool
    reason: str = ""
    margin: Fraction | None = None
    floats: Mapping[Precision, FloatRun] | None = None

    def to_json(self) -> dict[str, Any]:
        """The replay as an object of the result file."""
        return {
            "confirmed": self.confirmed,
            "reason": self.reason,
            "margin": None if self.margin is None else number_json(self.margin),
            **{p: r.to_json() for p, r in (self.floats or {}).items()},
        }


def replay(system: System, formula: Formula, witness: Witness, runtime: Runtime | None = None) -> Replay:
    """Re-run a witness of the core `formula` (for a violation: the negated one) from its initial state.

    Every state and action is computed anew and compared with the stored one; the initial state must be one of the
    system; the formula must be shown by the branches that the witness follows, under AX by all that are enabled.
    runtime: what runs the networks in floats; numpy by default, and also where it refuses one of them.
    """
    steps: dict[int, Step] = {}
    if problem := _initial_problem(system, witness) or _run_problem(system, witness, steps):
        return Replay(False, problem)
    margin = Search(_Tree(system, witness, steps)).decide(formula, 0)
    floats = _float_runs(system, formula, witness, runtime or Numpy())
    if margin is None:
        return Replay(False, "the runs of the witness do not show that the formula is violated", None, floats)
    return Replay(True, "", margin if isinstance(margin, Fraction) else None, floats)


def _initial_problem(system: System, witness: Witness) -> str | None:
    initial = witness.initial
    if set(initial) != set(system.variables):
        return f"the witness is over the variables {', '.join(initial)}, the system over {', '.join(system.variables)}"
    if problem := misfit(system, initial):
        return f"the initial state is outside the system: {problem}"
    if not any(contains(region, initial) for region in system.regions):
        return "the initial state is not in the initial set of the system"
    return None


def _run_problem(system: System, witness: Witness, steps: dict[int, Step]) -> str | None:
    """The first place where the stored runs are not runs of the system; steps are left in `steps` by node."""
    index = {branch.name: i for i, branch in enumerate(system.branches)}
    reached = {0}  # parents come first, so a stored state is compared before it is stepped from
    for number, node in enumerate(witness.nodes):
        where = f"state {number} of the witness"
        if number not in reached or not (node.children or node.actions or node.deadlock):
            continue
        step = steps[number] = Step(system, node.point)
        if problem := _difference(node.actions, step.actions()):
            return f"{where}: action {problem}"
        if node.deadlock and next(step.successors(), None) is not None:
            return f"{where} is said to have no successor, but it has one"
        for branch, child in node.children:
            if branch not in index:
                return f"{where}: the system has no branch {branch!r}"
            found = step.successor(index[branch])
            if found is None:
                return f"{where}: branch {branch!r} is not enabled"
            if problem := _difference(witness.nodes[child].state, found.state):
                return f"{where}, after branch {branch!r}: {problem}"
            reached.add(child)
    return None


def _difference(stored: tuple[Value, ...], computed: Mapping[str, Fraction]) -> str | None:
    if [v.name for v in stored] != list(computed):
        return f"expected values of {', '.join(computed)}, the witness gives {', '.join(v.name for v in stored)}"
    for value in stored:
        if value.exact != computed[value.name]:
            told, true = (format_number(x)[:40] for x in (value.exact, computed[value.name]))
            return f"{value.name} is {told} in the witness and {true} in the system"
    return None


class _Tree:
    """The runs of a witness, already known to be runs of the system; a key is the index of a node."""

    def __init__(self, system: System, witness: Witness, steps: dict[int, Step]) -> None:
        self._system, self._witness, self._steps = system, witness, steps
        self._branch = {branch.name: i for i, branch in enumerate(system.branches)}

    def value(self, atom: Atom, key: int) -> Fraction:
        return atom.comparison.expr.evaluate(self._witness.nodes[key].point)

    def some(self, key: int, trail: Trail) -> Iterator[tuple[int, int]]:
        for branch, child in self._witness.nodes[key].children:
            yield self._branch[branch], child

    def every(self, key: int, trail: Trail) -> Iterable[tuple[int, int]] | None:
        known = dict(self.some(key, trail))
        step = self._steps.get(key) or Step(self._system, self._witness.nodes[key].point)
        enabled = [t.index for t in step.successors()]
        return [(i, known[i]) for i in enabled] if set(enabled) <= set(known) else None


_FloatKey: TypeAlias = tuple[int, tuple[float, ...]]  # a node, and the float state that stands for it


class _FloatTree:
    """The same branches in floats."""

    def __init__(self, system: System, witness: Witness, precision: Precision, runtime: Runtime) -> None:
        self._system, self._witness, self._precision, self._runtime = system, witness, precision, runtime
        self._index = {branch.name: i for i, branch in enumerate(system.branches)}
        self._batches: dict[tuple[float, ...], Batch] = {}

    @property
    def root(self) -> _FloatKey:
        return 0, tuple(float(self._witness.initial[name]) for name in self._system.variables)

    def children(self, key: _FloatKey) -> Iterator[tuple[int, bool, _FloatKey]]:
        """Branch, whether its guard holds in floats, and the next place."""
        node, state = key
        at = self._batch(state)
        for name, child in self._witness.nodes[node].children:
            branch = self._system.branches[self._index[name]]
            new = dict(zip(self._system.variables, state, strict=True))
            new.update((n, float(at.value(expr)[0])) for n, expr in branch.updates)
            yield self._index[name], bool(at.holds(branch.guard)[0]), (child, tuple(new.values()))

    def _batch(self, state: tuple[float, ...]) -> Batch:
        if state not in self._batches:
            arrays = {n: np.array([x]) for n, x in zip(self._system.variables, state, strict=True)}
            self._batches[state] = Batch(arrays, self._precision, self._runtime)
        return self._batches[state]

    def value(self, atom: Atom, key: _FloatKey) -> float:
        state = dict(zip(self._system.variables, key[1], strict=True))
        expr = atom.comparison.expr
        return sum((float(c) * state[n] for n, c in expr.terms), float(expr.constant))

    def some(self, key: _FloatKey, trail: Trail) -> Iterator[tuple[int, _FloatKey]]:
        return ((index, child) for index, enabled, child in self.children(key) if enabled)

    def every(self, key: _FloatKey, trail: Trail) -> Iterable[tuple[int, _FloatKey]] | None:
        known = dict(self.some(key, trail))
        at = self._batch(key[1])
        enabled = [i for i, b in enumerate(self._system.branches) if at.holds(b.guard)[0]]
        return [(i, known[i]) for i in enabled] if set(enabled) <= set(known) else None


def _float_runs(system: System, formula: Formula, witness: Witness, runtime: Runtime) -> dict[Precision, FloatRun]:
    precisions: tuple[Precision, ...] = ("float64", "float32")
    try:
        return {p: _float_run(system, formula, witness, p, runtime) for p in precisions}
    except NetworkError as error:
        if isinstance(runtime, Numpy):
            raise
        log.warning("%s; the floats of this replay are those of numpy", error)
        return _float_runs(system, formula, witness, Numpy())


def _float_run(system: System, formula: Formula, witness: Witness, precision: Precision, runtime: Runtime) -> FloatRun:
    tree = _FloatTree(system, witness, precision, runtime)
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # an overflow shows as a difference that is not finite
            difference = _float_difference(tree, system, witness)
            margin = Search(tree).decide(formula, tree.root)
    except (ModelError, OverflowError):  # a selector outside its cases, or a number that no float holds
        return FloatRun(inf, False, runtime.name)
    return FloatRun(difference, margin is not None, runtime.name)


def _float_difference(tree: _FloatTree, system: System, witness: Witness) -> float:
    seen, stack, difference = {tree.root}, [tree.root], 0.0
    while stack:
        node, state = key = stack.pop()
        exact = witness.nodes[node].point
        for name, x in zip(system.variables, state, strict=True):
            distance = abs(x - float(exact[name]))
            difference = max(difference, distance if isfinite(distance) else inf)
        new = [child for _, _, child in tree.children(key) if child not in seen]
        seen.update(new)
        stack.extend(new)
    return difference
