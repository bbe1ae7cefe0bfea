"""What is drawn: the runs of a witness laid out by step, and the comparisons of its formula."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from venmas.errors import FormulaError, ModelError, UsageError, did_you_mean
from venmas.logic import Atom, Formula, Vocabulary, parse, subformulas
from venmas.logic.either import parse_either
from venmas.logic.linear import Comparison, format_number
from venmas.logic.ltl_parser import parse_ltl
from venmas.model.system.letters import letters_of
from venmas.model.system.system import System
from venmas.model.system.variables import VariableDecl
from venmas.model.witness.lasso import Run
from venmas.model.witness.tree import Node, Value, Witness

Array: TypeAlias = npt.NDArray[np.float64]

MAX_VISITS = 200_000
"""States that a picture may show, counted once for every step at which a run is there."""

_HOW = "expected what `venmas verify --json`, `--witness` or `venmas simulate --json` writes"


@dataclass(frozen=True)
class Visit:
    """A state of the witness at a step; runs that share the state at that step share the visit."""

    step: int
    index: int
    node: Node


@dataclass(frozen=True)
class Trace:
    """The runs of a witness, ready to be drawn.

    `visits` are in the order of steps, the initial state first; an edge ``(i, branch, j)`` says that `branch` leads
    from visit i to visit j. `system` is None where only the file is known: then there are no units and no ranges.
    """

    title: str
    witness: Witness
    formula: Formula | None
    system: System | None
    visits: tuple[Visit, ...]
    edges: tuple[tuple[int, str, int], ...]

    @property
    def steps(self) -> int:
        """Steps of the longest run."""
        return self.visits[-1].step

    @property
    def is_path(self) -> bool:
        """True where no run branches."""
        return self.witness.path is not None

    @cached_property
    def variables(self) -> tuple[VariableDecl, ...]:
        """The declared variables; those of a witness without its system are real, their ranges what it shows."""
        if self.system is not None:
            return tuple(self.system.variables.values())
        found = []
        for position, value in enumerate(self.witness.nodes[0].state):
            seen = [node.state[position] for node in self.witness.nodes]
            labels = {int(v.exact): v.label for v in seen if v.label and v.exact.denominator == 1}
            ends = min(v.exact for v in seen), max(v.exact for v in seen)
            # Groups of Booleans are the only variables with an index that are always 0 or 1.
            boolean = "[" in value.name and all(v.exact in (0, 1) for v in seen)
            found.append(
                VariableDecl(value.name, *ends, bool(labels) or boolean, boolean, labels=tuple(sorted(labels.items())))
            )
        return tuple(found)

    @cached_property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Those of the formula, each once; of a witness without formula, those that help to show the violation."""
        if self.formula is not None:
            atoms = [node.comparison for node in subformulas(self.formula) if isinstance(node, Atom)]
        else:
            atoms = [c for node in self.witness.nodes for c in self.shown(node)]
        return tuple(dict.fromkeys(atoms))

    def shown(self, node: Node) -> Iterator[Comparison]:
        """The comparisons that help to show the violation in a state, as far as they can be read."""
        for measure in node.atoms:
            if measure.atom not in self._read:
                self._read[measure.atom] = _comparison(measure.atom, self._vocabulary)
            if (found := self._read[measure.atom]) is not None:
                yield found

    @cached_property
    def _read(self) -> dict[str, Comparison | None]:
        return {}

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        return self.system.vocabulary if self.system is not None else vocabulary_of(self.witness)

    def values(self, name: str) -> Array:
        """The value of a variable at every visit, shape (V,); ``"step"`` gives the steps."""
        if name == "step":
            return np.array([float(v.step) for v in self.visits])
        if name not in self._columns:
            hint = did_you_mean(name, self._columns)
            raise ModelError(f"the trace has no variable {name!r}; it has {_few(self._columns)}{hint}")
        return self._columns[name]

    @cached_property
    def _columns(self) -> dict[str, Array]:
        known: dict[int, list[float]] = {}  # the visits of a state are rows that cost once
        for visit in self.visits:
            if visit.index not in known:
                known[visit.index] = [as_float(v.exact) for v in visit.node.state]
        table = np.array([known[visit.index] for visit in self.visits])
        return {v.name: table[:, i] for i, v in enumerate(self.visits[0].node.state)}

    def lines(self, x: str | Array, y: str | Array) -> tuple[Array, Array]:
        """Coordinates of a line for every edge, ``axes.plot(*trace.lines("step", "h"))``: of variables, or of values
        by visit. Lines are set apart by nan, as matplotlib reads it.
        """
        across, up = (self.values(v) if isinstance(v, str) else v for v in (x, y))
        ends = np.array([(i, j) for i, _, j in self.edges], dtype=np.intp).reshape(-1, 2)
        gap = np.full((len(ends), 1), np.nan)
        return np.hstack([across[ends], gap]).ravel(), np.hstack([up[ends], gap]).ravel()

    @cached_property
    def evidence(self) -> list[int]:
        """The visits in which a comparison helps to show the violation."""
        return [i for i, visit in enumerate(self.visits) if visit.node.atoms]

    def thresholds(self, *names: str) -> list[tuple[float, str]]:
        """The numbers that the formula compares one of these variables with, and how the comparison is written."""
        return [
            (as_float(-c.expr.constant / c.expr.terms[0][1]), comparison_text(c))
            for c in self.comparisons
            if len(c.expr.terms) == 1 and c.expr.terms[0][0] in names
        ]

    def sample(self, count: int = 200, seed: int = 0) -> dict[str, Array]:
        """Runs of the system for as many steps, initial state and branches at random: (steps + 1, runs) by variable.

        In floats; a run that ends earlier, or leaves its ranges, goes on as nan. Raises `UsageError` without a system.
        """
        from venmas.report.plot.sampling import sample

        if self.system is None:
            raise UsageError("runs can be sampled where the system is known: give --scenario")
        return sample(self.system, self.steps, count, seed)


def as_float(value: Fraction) -> float:
    """The nearest float. Raises `UsageError` where there is none."""
    try:
        return float(value)
    except OverflowError:
        raise UsageError("the witness has a number beyond 1e308: that is too large for a picture") from None


def comparison_text(comparison: Comparison) -> str:
    """``x < 3``, whatever way round it is stored, and short."""
    if len(comparison.expr.terms) != 1:
        return cut(str(comparison))
    name, coefficient = comparison.expr.terms[0]
    value = -comparison.expr.constant / coefficient
    relation = comparison.relation if coefficient > 0 else comparison.relation.mirrored
    exact = format_number(value)
    text = exact.replace("-", "\u2212") if len(exact) <= 12 else number_text(value)
    return f"{name} {relation.value} {text}"


def number_text(value: Fraction | float) -> str:
    """Six significant digits, with a true minus sign; whole numbers in full."""
    whole = -1e12 < value < 1e12 and value == int(value)
    return (str(int(value)) if whole else f"{float(value):.6g}").replace("-", "\u2212")


def value_text(value: Value, unit: str = "") -> str:
    """The label where there is one, else the number with its unit."""
    return value.label or f"{number_text(value.exact)} {unit}".rstrip()


def cut(text: str) -> str:
    """At most 48 characters."""
    return text if len(text) <= 48 else f"{text[:47]}\u2026"


def read_trace(result: Mapping[str, Any], system: System | None = None) -> Trace | None:
    """The trace in a result of verify, in a bare witness or in a run of simulate; None where there is no witness.

    Raises `UsageError` for an object that is none of these, and for a system that is not the one of the witness.
    """
    formula = None
    if result.get("lasso") is not None:
        witness, title = Run.from_json(result["lasso"]).path(), f"Run that breaks {result.get('formula', '')}"
    elif "witness" in result:
        if result["witness"] is None:
            return None
        witness, title = Witness.from_json(result["witness"]), f"Counterexample to {result.get('formula', '')}"
    elif "tree" in result and "initial" in result:
        witness, title = Witness.from_json(result), "Witness"
    elif isinstance(result.get("trace"), list) and result["trace"]:
        steps = result["trace"]
        start = steps[0].get("state") if isinstance(steps[0], dict) else None
        witness, title = Witness.from_json({"initial": start, "steps": steps, "tree": None}), "A run"
    else:
        raise UsageError(f"there is nothing to draw: {_HOW}")
    _check(witness, system)
    text = result.get("formula")
    if isinstance(text, str):
        with suppress(FormulaError):  # it may name what only its system knows
            vocabulary = system.vocabulary if system is not None else vocabulary_of(witness)
            read = parse_either(
                text, vocabulary, lambda given: parse_ltl(given, letters_of(system) if system else None)
            )
            formula = read if isinstance(read, Formula) else read.formula
    return _laid_out(title, witness, formula, system)


def _check(witness: Witness, system: System | None) -> None:
    names = [v.name for v in witness.nodes[0].state]
    for node in witness.nodes:
        if [v.name for v in node.state] != names:
            raise UsageError("the states of the witness are not all over the same variables; write it anew")
    if not names:
        raise UsageError("the states of the witness have no variables; write it anew")
    if system is not None and names != list(system.variables):
        raise UsageError(
            f"the witness is over the variables {_few(names)}, system {system.name!r} over {_few(system.variables)}: "
            "give the scenario and the parameters of the witness (--scenario, --set)"
        )


def _few(names: Iterable[str]) -> str:
    given = list(names)
    return ", ".join(given[:8]) + (f", ... ({len(given)})" if len(given) > 8 else "")


def _laid_out(title: str, witness: Witness, formula: Formula | None, system: System | None) -> Trace:
    visits, edges, layer = [Visit(0, 0, witness.nodes[0])], [], {0: 0}
    while layer:
        following: dict[int, int] = {}
        for index, place in layer.items():
            for branch, child in witness.nodes[index].children:
                if child not in following:
                    following[child] = len(visits)
                    visits.append(Visit(visits[place].step + 1, child, witness.nodes[child]))
                edges.append((place, branch, following[child]))
        if len(visits) > MAX_VISITS:
            raise UsageError(f"the witness has more than {MAX_VISITS} states: that is too many for a picture")
        layer = following
    return Trace(title, witness, formula, system, tuple(visits), tuple(edges))


def vocabulary_of(witness: Witness) -> Vocabulary:
    """What a formula may name where only the witness is known: its variables and their labels."""
    names = tuple(v.name for v in witness.nodes[0].state)
    labels = {v.label: v.exact for node in witness.nodes for v in node.state if v.label}
    return Vocabulary(names, constants={k: v for k, v in labels.items() if k not in names and '"' not in k})


def _comparison(text: str, vocabulary: Vocabulary) -> Comparison | None:
    with suppress(FormulaError):
        atom = parse(text, vocabulary)
        return atom.comparison if isinstance(atom, Atom) else None
    return None
