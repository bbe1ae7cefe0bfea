"""Runs for ever as witnesses of violated LTL, of systems and of circuits: steps, and the step that follows the last.

A run of a system is simulated in rationals, the formula evaluated on its letters, and nothing else trusted; of
circuits the same is `venmas.model.witness.circuit`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias, TypeVar

from venmas.errors import UsageError
from venmas.logic.formula import Formula
from venmas.logic.lassos import Lasso, doomed, holds
from venmas.logic.paths import Leaf, leaves
from venmas.logic.printing import to_text
from venmas.logic.property import Deadlock
from venmas.model.circuit.signals import shown_as
from venmas.model.evaluation.regions import is_initial
from venmas.model.evaluation.simulate import Step, misfit
from venmas.model.system.disturbances import drawn
from venmas.model.system.letters import holds_in
from venmas.model.system.system import System
from venmas.model.witness.tree import Node, Value, Witness, number_json, read_number

Number: TypeAlias = Fraction | int
_Read = TypeVar("_Read")
STAYS = -1
"""The branch of a step that stays in a state without a successor, which none is."""


@dataclass(frozen=True)
class Run:
    """A run for ever: after its steps comes step `back` again; None: they break the property whatever comes.

    Of each step: the state; of a system the branch (empty: it stays, as there is no successor); of a circuit inputs
    (those without a name, bits that a design leaves undefined, are numbered) and signals, the other words that the
    formula reads and what is seen of registers with an asynchronous reset. conditions: of each step those of the
    formula, as written there, with their truth. widths: bits of the words of a circuit.
    """

    states: tuple[Mapping[str, Number], ...]
    back: int | None
    conditions: tuple[Mapping[str, bool], ...]
    branches: tuple[str, ...] = ()
    inputs: tuple[Mapping[str, int], ...] = ()
    signals: tuple[Mapping[str, int], ...] = ()
    widths: Mapping[str, int] = field(default_factory=dict)

    @property
    def rows(self) -> list[dict[str, Number]]:
        """Of each step of a circuit all that people read; what a register holds behind a reset is left out."""
        steps = zip(self.states, self.signals, self.inputs, self.conditions, strict=True)
        rows = [{**state, **signals, **inputs, **truth} for state, signals, inputs, truth in steps]
        return [
            {name: int(value) for name, value in row.items() if (seen := shown_as(name)) == name or seen not in row}
            for row in rows
        ]

    @property
    def then(self) -> str:
        """Successor of the last step."""
        if self.back is None:
            return "anything: the property is broken, whatever comes"
        return f"step {self.back} again, for ever"

    def path(self) -> Witness:
        """The steps as a path, once round the loop, as plots show it; of a circuit with all that people read."""
        rows: Sequence[Mapping[str, Number]] = self.states if self.branches else self.rows
        states = [*rows, *([] if self.back is None else [rows[self.back]])]
        last = len(states) - 1
        return Witness(
            tuple(
                Node(
                    tuple(Value(name, Fraction(value)) for name, value in state.items()),
                    children=() if at == last else ((self.branches[at] if self.branches else "step", at + 1),),
                )
                for at, state in enumerate(states)
            )
        )

    def to_json(self) -> dict[str, Any]:
        """An object with `back` and `steps`; numbers are exact, floats are for reading."""
        steps: list[dict[str, Any]] = []
        for at, state in enumerate(self.states):
            step: dict[str, Any]
            if self.branches:
                values = {name: number_json(Fraction(value)) for name, value in state.items()}
                step = {"state": values, "branch": self.branches[at]}
            else:
                words = {name: int(value) for name, value in state.items()}
                step = {"state": words, "inputs": dict(self.inputs[at]), "signals": dict(self.signals[at])}
            steps.append(step | {"conditions": dict(self.conditions[at])})
        return {"back": self.back, "steps": steps, "widths": dict(self.widths)}

    @staticmethod
    def from_json(data: object) -> Run:
        """Read what `to_json` wrote. Raises `UsageError` that names the place where it is not of that form."""
        steps = _field(data, "steps", list, "lasso")
        back = _field(data, "back", int | None, "lasso")
        if not steps or not (back is None or 0 <= back < len(steps)):
            raise UsageError("lasso: expected steps, and as 'back' the number of one of them")
        if len({isinstance(step, dict) and "branch" in step for step in steps}) > 1:
            raise UsageError("lasso: either each step has a branch or none")
        states: list[Mapping[str, Number]] = []
        rest: list[tuple[dict[str, bool], str, dict[str, int], dict[str, int]]] = []
        for at, step in enumerate(steps):
            where = f"lasso, step {at}"
            conditions = _each(step, "conditions", bool, where)
            if "branch" in step:
                numbers = _field(step, "state", dict, where).items()
                states.append({name: read_number(_field(one, "exact", str, where), where) for name, one in numbers})
                rest.append((conditions, _field(step, "branch", str, where), {}, {}))
            else:
                states.append(_each(step, "state", int, where))
                rest.append((conditions, "", _each(step, "inputs", int, where), _each(step, "signals", int, where)))
        pairs = zip(states, rest, strict=True)
        names = {tuple(frozenset(row) for row in (state, one[0], one[2], one[3])) for state, one in pairs}
        if len(names) > 1:
            raise UsageError("lasso: each step has values of the same variables, inputs, signals and conditions")
        truth, branches, inputs, signals = (tuple(column) for column in zip(*rest, strict=True))
        widths = _each(data, "widths", int, "lasso")
        if "branch" in steps[0]:
            return Run(tuple(states), back, truth, branches, widths=widths)
        return Run(tuple(states), back, truth, (), inputs, signals, widths)


def _field(data: object, key: str, kind: Any, where: str) -> Any:
    value = data.get(key, _field) if isinstance(data, Mapping) else _field
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise UsageError(f"{where}: expected an object with {key!r}, as written by --json or --witness")
    return value


def _each(data: object, key: str, kind: type[_Read], where: str) -> dict[str, _Read]:
    found = _field(data, key, dict, where)
    return {name: _field(found, name, kind, f"{where}, {key}") for name in found}


def replayed(
    system: System, first: Mapping[str, Number], branches: Sequence[int], back: int | None, formula: Formula
) -> Run | None:
    """The run from a state by branches (`STAYS`: it stays where there is no successor), which goes on at `back`.

    back None: the steps break the formula whatever comes, and some branch is always open. Noise, of which states have
    values, stays as it is; no run stays in a state then, which may have a successor under other noise. None where the
    state is not initial, a branch is not open, the loop does not close, or the run has the property.
    """
    noisy, system = bool(system.disturbances), drawn(system, 1)
    begun = {name: Fraction(value) for name, value in first.items()}
    if misfit(system, begun) or not is_initial(system, begun) or (back is None and system.may_deadlock):
        return None
    told = leaves(formula)
    state, states, letters = begun, [], list[frozenset[Leaf]]()
    for index in branches:
        states.append(state)
        name = system.branches[index].name if index >= 0 else ""
        letters.append(frozenset(leaf for leaf in told if holds_in(leaf, state, name)))
        step = Step(system, state)
        if index < 0:
            if noisy or any(True for _ in step.successors()):
                return None
            continue
        taken = step.successor(index)
        if taken is None:
            return None
        state = dict(taken.state)
    if back is None:
        if not doomed(formula, letters):
            return None
    elif state != states[back] or holds(formula, Lasso(tuple(letters[:back]), tuple(letters[back:]))):
        return None
    texts = {leaf: to_text(leaf) for leaf in told}
    names = tuple(system.branches[index].name if index >= 0 else "" for index in branches)
    conditions = tuple({text: leaf in letter for leaf, text in texts.items()} for letter in letters)
    return Run(tuple(states), back, conditions, names)


def replayed_again(system: System, run: Run, formula: Formula, deadlock: Deadlock) -> Run | None:
    """The run of a stored result, replayed. None where it shows nothing, or is of another system.

    deadlock: whether a run may stay where there is no successor.
    """
    numbers = {"": STAYS, **{one.name: at for at, one in enumerate(system.branches)}}
    if system.smooth or len(run.branches) != len(run.states) or not set(run.branches) <= set(numbers):
        return None
    if set(run.states[0]) != set(system.variables) or ("" in run.branches and deadlock != "stutter"):
        return None
    first = {name: run.states[0][name] for name in system.variables}
    return replayed(system, first, [numbers[name] for name in run.branches], run.back, formula)
