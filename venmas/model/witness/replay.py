"""Re-running a stored witness: exactly, believing nothing in it, and in floats (design S2, S8)."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite
from typing import Any, TypeAlias, TypeVar

import numpy as np

from venmas.errors import ModelError, NetworkError
from venmas.logic import Atom, Formula
from venmas.logic.linear import format_number
from venmas.model.evaluation.regions import is_initial
from venmas.model.evaluation.simulate import Batch, Precision, Step, misfit
from venmas.model.system.disturbances import NO_NOISE, Noise
from venmas.model.system.system import System
from venmas.model.witness.decide import Decider, Margin, Structure, Trail
from venmas.model.witness.enclosed import retrace
from venmas.model.witness.float_run import FloatRun
from venmas.model.witness.loops import Loops, fold
from venmas.model.witness.stays import Staying, stay_problem
from venmas.model.witness.tree import Node, Value, Witness, number_json
from venmas.nn.runtime import Numpy, Runtime

_NOT_SHOWN = "the runs of the witness do not show that the formula is violated"


@dataclass(frozen=True)
class Replay:
    """Whether a witness shows the formula, and if not, why not.

    `margin` is the exact margin with which its tree shows the formula (None when no atom is involved). The float runs,
    by precision of the networks, are missing when the witness does not follow the system. bits: the precision of the
    enclosures that show it; 0 where all is exact. derived: by a derivation, which was checked.
    """

    confirmed: bool
    reason: str = ""
    margin: Fraction | None = None
    floats: Mapping[Precision, FloatRun] | None = None
    bits: int = 0
    derived: bool = False

    @property
    def how(self) -> str:
        """What it was computed in."""
        return f"in enclosures of {self.bits} bits" if self.bits else "in exact numbers"

    def to_json(self) -> dict[str, Any]:
        """The replay as an object of the result file."""
        return {
            "confirmed": self.confirmed,
            "reason": self.reason,
            "margin": None if self.margin is None else number_json(self.margin),
            **{p: r.to_json() for p, r in (self.floats or {}).items()},
            **({"bits": self.bits} if self.bits else {}),
        }


def replay(
    system: System,
    formula: Formula,
    witness: Witness,
    runtime: Runtime | None = None,
    noise: Noise = NO_NOISE,
    staying: Staying | None = None,
) -> Replay:
    """Re-run a witness of the core `formula` (for a violation: the negated one) from its initial state.

    Every state and action is computed anew and compared with the stored one; the initial state must be one of the
    system; the formula must be shown by the branches that the witness follows, under AX by all that are enabled, and
    with fixpoints by loops of runs (`fold`). runtime: what runs the networks in floats; numpy by default, and where it
    refuses one of them. noise: variables that stand for their ranges. staying: checks a derivation about the one state
    of a witness.
    """
    if witness.stay:
        why = stay_problem(system, formula, witness, staying)
        return Replay(not why, why, derived=not why)
    if system.smooth or noise:
        return _replay_enclosed(system, formula, witness, runtime or Numpy(), noise)
    known = _Known(system)
    if problem := _initial_problem(system, witness) or _run_problem(system, witness, known):
        return Replay(False, problem)
    if formula.horizon is None:
        witness = fold(witness)
    margin = _decided(_Tree(system, witness, known), formula, 0, len(witness.nodes))
    floats = _float_runs(system, formula, witness, runtime or Numpy())
    if margin is None:
        return Replay(False, _NOT_SHOWN, None, floats)
    return Replay(True, "", margin if isinstance(margin, Fraction) else None, floats)


def _replay_enclosed(system: System, formula: Formula, witness: Witness, runtime: Runtime, noise: Noise) -> Replay:
    if any(v.radius and v.name not in noise for v in witness.nodes[0].state):
        return Replay(False, "the initial state of the witness is an interval; a witness starts in one exact state")
    if problem := _initial_problem(system, witness):
        return Replay(False, problem)
    problem, margin, bits = retrace(system, formula, witness, noise)
    if problem:
        return Replay(False, problem)
    floats = _float_runs(system, formula, witness, runtime)
    if margin is None:
        return Replay(False, _NOT_SHOWN, None, floats, bits)
    return Replay(True, "", margin if isinstance(margin, Fraction) else None, floats, bits)


def _initial_problem(system: System, witness: Witness) -> str | None:
    initial = witness.initial
    if set(initial) != set(system.variables):
        return f"the witness is over the variables {', '.join(initial)}, the system over {', '.join(system.variables)}"
    if problem := misfit(system, initial):
        return f"the initial state is outside the system: {problem}"
    if not is_initial(system, initial):
        return "the initial state is not in the initial set of the system"
    return None


class _Known:
    """What was computed for the states of a witness; nodes that share their state cost once.

    Everything is by the identity of the stored state, which lives as long as the witness.
    """

    def __init__(self, system: System) -> None:
        self._system = system
        self._enabled: dict[int, tuple[int, ...]] = {}
        self._same: set[tuple[int, int, int]] = set()  # state, branch, stored successor

    def enabled(self, node: Node) -> tuple[int, ...]:
        """The branches whose guards hold."""
        if id(node.state) not in self._enabled:
            self._enabled[id(node.state)] = Step(self._system, node.point).enabled()
        return self._enabled[id(node.state)]

    def problem(self, witness: Witness, node: Node, index: Mapping[str, int]) -> str | None:
        """Where the stored actions and successors of a node differ from those of the system, or None."""
        step: Step | None = None
        if (id(node.state), -1, id(node.actions)) not in self._same:
            step = Step(self._system, node.point)
            if problem := _difference(node.actions, step.actions()):
                return f": action {problem}"
            self._same.add((id(node.state), -1, id(node.actions)))
            self._enabled[id(node.state)] = step.enabled()
        if node.deadlock and self.enabled(node):
            return " is said to have no successor, but it has one"
        for branch, child in node.children:
            if branch not in index:
                return f": the system has no branch {branch!r}"
            stored = witness.nodes[child].state
            if (id(node.state), index[branch], id(stored)) in self._same:
                continue
            step = step or Step(self._system, node.point)
            found = step.successor(index[branch])
            if found is None:
                return f": branch {branch!r} is not enabled"
            if problem := _difference(stored, found.state):
                return f", after branch {branch!r}: {problem}"
            self._same.add((id(node.state), index[branch], id(stored)))
        return None


def _run_problem(system: System, witness: Witness, known: _Known) -> str | None:
    """The first place where the stored runs are not runs of the system."""
    index = {branch.name: i for i, branch in enumerate(system.branches)}
    reached = {0}  # parents come first, so a stored state is compared before it is stepped from
    for number, node in enumerate(witness.nodes):
        if number not in reached or not (node.children or node.actions or node.deadlock):
            continue
        if problem := known.problem(witness, node, index):
            return f"state {number} of the witness{problem}"
        reached.update(child for _, child in node.children)
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

    def __init__(self, system: System, witness: Witness, known: _Known) -> None:
        self._witness, self._known = witness, known
        self._branch = {branch.name: i for i, branch in enumerate(system.branches)}
        self._values: dict[tuple[Atom, int], Fraction] = {}
        self._latest: tuple[tuple[Value, ...], dict[str, Fraction]] | None = None

    def value(self, atom: Atom, key: int) -> Fraction:
        node = self._witness.nodes[key]
        if (atom, id(node.state)) not in self._values:
            if self._latest is None or self._latest[0] is not node.state:
                self._latest = node.state, node.point
            self._values[atom, id(node.state)] = atom.comparison.expr.evaluate(self._latest[1])
        return self._values[atom, id(node.state)]

    def some(self, key: int, trail: Trail, formula: Formula) -> Iterator[tuple[int, int]]:
        for branch, child in self._witness.nodes[key].children:
            yield self._branch[branch], child

    def every(self, key: int, trail: Trail, formula: Formula) -> Iterable[tuple[int, int]] | None:
        known = dict(self.some(key, trail, formula))
        enabled = self._known.enabled(self._witness.nodes[key])
        return [(i, known[i]) for i in enabled] if set(enabled) <= set(known) else None


_Key = TypeVar("_Key")
_FloatKey: TypeAlias = tuple[int, int]  # a node, and the number of the float state that stands for it
_AT_ONCE = 256
_MOST_FLOATS = 16
"""Float states for each state of a witness with loops, which floats may not close."""


class _FloatTree:
    """The same branches in floats. The states of the exact run are stepped from together: most runs meet no others.

    Raises `ModelError` for a selector outside its cases, and `OverflowError` for a number that no float holds.
    """

    def __init__(self, system: System, witness: Witness, precision: Precision, runtime: Runtime) -> None:
        self._system, self._witness, self._precision, self._runtime = system, witness, precision, runtime
        self._index = {branch.name: i for i, branch in enumerate(system.branches)}
        self._column = {name: i for i, name in enumerate(system.variables)}
        self.states: list[tuple[float, ...]] = []
        self._numbers: dict[tuple[float, ...], int] = {}
        self._moves: dict[tuple[int, int], tuple[bool, int]] = {}
        self._values: dict[tuple[Atom, int], float] = {}
        self._children: dict[_FloatKey, list[tuple[int, bool, _FloatKey]]] = {}
        self._followed: dict[_FloatKey, list[tuple[int, _FloatKey]] | None] = {}
        """All successors of a place, None where not all are known."""
        self._terms: dict[Atom, tuple[list[tuple[float, int]], float]] = {}
        self._latest: tuple[tuple[int, ...], Batch] | None = None
        self.root: _FloatKey = (0, self._rounded(witness.nodes[0]))
        with contextlib.suppress(ModelError, OverflowError):  # in states that the floats may not meet
            self._prepare()

    def _prepare(self) -> None:
        taken: dict[int, tuple[Node, set[int]]] = {}
        for node in self._witness.nodes:
            taken.setdefault(id(node.state), (node, set()))[1].update(self._index[name] for name, _ in node.children)
        wanted: dict[int, set[int]] = {}
        for node, branches in taken.values():
            wanted.setdefault(self._rounded(node), set()).update(branches)
        self._step_all(wanted)

    def prepare(self, keys: Iterable[_FloatKey]) -> None:
        """Step from several places together."""
        wanted: dict[int, set[int]] = {}
        for node, number in keys:
            for name, _ in self._witness.nodes[node].children:
                if (number, self._index[name]) not in self._moves:
                    wanted.setdefault(number, set()).add(self._index[name])
        self._step_all(wanted)

    def _step_all(self, wanted: Mapping[int, set[int]]) -> None:
        """wanted: branches by the number of a state; states of the same ones go together."""
        groups: dict[tuple[int, ...], list[int]] = {}
        for number, branches in wanted.items():
            groups.setdefault(tuple(sorted(branches)), []).append(number)
        for taken, numbers in groups.items():
            for start in range(0, len(numbers), _AT_ONCE):
                for branch in taken:
                    self._step(tuple(numbers[start : start + _AT_ONCE]), branch)

    def _rounded(self, node: Node) -> int:
        point = node.point
        return self._number(tuple(float(point[name]) for name in self._column))

    def _number(self, state: tuple[float, ...]) -> int:
        number = self._numbers.setdefault(state, len(self.states))
        if number == len(self.states):
            self.states.append(state)
        return number

    def _at(self, numbers: tuple[int, ...]) -> Batch:
        if self._latest is None or self._latest[0] != numbers:
            table = np.array([self.states[n] for n in numbers])
            arrays = dict(zip(self._column, table.T, strict=True))
            self._latest = numbers, Batch(arrays, self._precision, self._runtime)
        return self._latest[1]

    def _step(self, numbers: tuple[int, ...], branch: int) -> None:
        at, new = self._at(numbers), np.array([self.states[n] for n in numbers])
        for name, expr in self._system.branches[branch].updates:
            new[:, self._column[name]] = at.value(expr)
        enabled = at.truth(self._system.branches[branch].guard).tolist()
        for number, holds, state in zip(numbers, enabled, new.tolist(), strict=True):
            self._moves[number, branch] = holds, self._number(tuple(state))

    def children(self, key: _FloatKey) -> list[tuple[int, bool, _FloatKey]]:
        """Branch, whether its guard holds in floats, and the next place."""
        if key not in self._children:
            node, number = key
            found = []
            for name, child in self._witness.nodes[node].children:
                index = self._index[name]
                if (number, index) not in self._moves:
                    self._step((number,), index)
                enabled, new = self._moves[number, index]
                found.append((index, enabled, (child, new)))
            self._children[key] = found
        return self._children[key]

    def value(self, atom: Atom, key: _FloatKey) -> float:
        if (atom, key[1]) not in self._values:
            if atom not in self._terms:
                expr = atom.comparison.expr
                self._terms[atom] = [(float(c), self._column[n]) for n, c in expr.terms], float(expr.constant)
            (terms, value), state = self._terms[atom], self.states[key[1]]
            for coefficient, column in terms:
                value += coefficient * state[column]
            self._values[atom, key[1]] = value
        return self._values[atom, key[1]]

    def some(self, key: _FloatKey, trail: Trail, formula: Formula) -> Iterator[tuple[int, _FloatKey]]:
        return ((index, child) for index, enabled, child in self.children(key) if enabled)

    def every(self, key: _FloatKey, trail: Trail, formula: Formula) -> Iterable[tuple[int, _FloatKey]] | None:
        if key not in self._followed:
            self._followed[key] = self._all(key)
        return self._followed[key]

    def _all(self, key: _FloatKey) -> list[tuple[int, _FloatKey]] | None:
        known = {index: child for index, enabled, child in self.children(key) if enabled}
        others = [i for i in self._index.values() if (key[1], i) not in self._moves]
        at = self._at((key[1],)) if others else None
        enabled = [i for i in self._index.values() if i not in others and self._moves[key[1], i][0]]
        enabled += [i for i in others if at is not None and at.truth(self._system.branches[i].guard)[0]]
        return [(i, known[i]) for i in enabled] if set(enabled) <= set(known) else None


def _decided(structure: Structure[_Key], formula: Formula, root: _Key, most: int) -> Margin | None:
    """The margin with which the formula is shown at the root."""
    if formula.horizon is None:
        return Loops(structure).decide(formula, root, most)
    return Decider(structure).decide(formula, root)


def _float_runs(system: System, formula: Formula, witness: Witness, runtime: Runtime) -> dict[Precision, FloatRun]:
    precisions: tuple[Precision, ...] = ("float64", "float32")
    try:
        return {p: _float_run(system, formula, witness, p, runtime) for p in precisions}
    except NetworkError as error:
        if isinstance(runtime, Numpy):
            raise
        logging.getLogger(__name__).warning("%s; the floats of this replay are those of numpy", error)
        return _float_runs(system, formula, witness, Numpy())


def _float_run(system: System, formula: Formula, witness: Witness, precision: Precision, runtime: Runtime) -> FloatRun:
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # an overflow shows as a difference that is not finite
            tree = _FloatTree(system, witness, precision, runtime)
            difference = _float_difference(tree, system, witness)
            margin = _decided(tree, formula, tree.root, _MOST_FLOATS * len(witness.nodes))
    except (ModelError, OverflowError):  # a selector outside its cases, or a number that no float holds
        return FloatRun(inf, False, runtime.name)
    return FloatRun(difference, margin is not None, runtime.name)


def _float_difference(tree: _FloatTree, system: System, witness: Witness) -> float:
    seen, places, difference = {tree.root}, [tree.root], 0.0
    compared: set[tuple[int, int]] = set()
    exact: dict[int, list[float]] = {}
    loops = any(child <= i for i, node in enumerate(witness.nodes) for _, child in node.children)
    most = _MOST_FLOATS * len(witness.nodes) if loops else inf  # in a loop floats may drift for ever
    while places and len(seen) <= most:
        tree.prepare(places)
        after: dict[_FloatKey, None] = {}
        for key in places:
            node, number = key
            stored = witness.nodes[node].state
            if (id(stored), number) not in compared:
                compared.add((id(stored), number))
                if id(stored) not in exact:
                    point = witness.nodes[node].point
                    exact[id(stored)] = [float(point[name]) for name in system.variables]
                for x, value in zip(tree.states[number], exact[id(stored)], strict=True):
                    distance = abs(x - value)
                    difference = max(difference, distance if isfinite(distance) else inf)
            after.update((child, None) for _, _, child in tree.children(key) if child not in seen)
        seen.update(after)
        places = list(after)
    return difference
