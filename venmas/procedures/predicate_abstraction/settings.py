"""Options of abstraction and refinement, as data (`venmas.procedure.Option`), and a choice of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from venmas.errors import UsageError
from venmas.logic import Formula
from venmas.procedure import Option as AnyOption
from venmas.procedure import Settings
from venmas.procedures.predicate_abstraction.graph.applicability import TESTS

WORDS = ("guards", "none")
"""First predicates that have a name."""


def _first(value: Any) -> tuple[Any, ...]:
    """Words, and conditions. Raises `ValueError`."""
    parts = tuple(value.split("+") if isinstance(value, str) else value if isinstance(value, Sequence) else (None,))
    words = WORDS if isinstance(value, str) else ()
    if not parts or not all(part in words if words else isinstance(part, str | Formula) for part in parts):
        raise ValueError(
            "guards, none, a file with one condition a line (on the command line), these joined by +, or a list of "
            "such words and conditions (in Python)"
        )
    return parts


Option = partial(AnyOption, "predicates")
OPTIONS: tuple[AnyOption, ...] = (
    Option(
        "first",
        None,
        "guards",
        "the first predicates: guards, none, or the path of a list; + joins them; but for none, those of the unsafe "
        "condition are among them",
        _first,
    ),
    Option(
        "refine",
        ("shrink", "ws", "ce", "sens", "verix", "random"),
        "shrink",
        "where the policy picks another label in a state than in the witness, separate them. shrink: move the witness "
        "towards the state; ws: split at all inputs that differ; ce: exclude the state; sens: split at the most "
        "sensitive input; verix: at those that VERIX selects; random: at a random set of them",
    ),
    Option(
        "split",
        ("witness", "mid", "eps", "random"),
        "witness",
        "the place of a split. witness: at the witness; mid: in the middle; eps: where VERIX saw the choice change; "
        "random: anywhere",
    ),
    Option(
        "guards",
        ("violated", "all"),
        "violated",
        "where a guard blocks a path, add its violated atoms as predicates, or all of its atoms",
    ),
    Option(
        "cells",
        ("on", "off"),
        "on",
        "cell refinement: where the concrete path is in another abstract state than the abstract path before the "
        "policy deviates, tell the two apart first; off: only guards and the policy refine, as published",
    ),
    Option(
        "concretise",
        ("first", "random"),
        "first",
        "the concrete path that an abstract one is compared with: the first that is found, or one drawn at random",
    ),
    Option("search", ("hamming", "breadth"), "hamming", "the order of abstract states"),
    Option("slice", ("on", "off"), "on", "leave out variables that do not matter"),
    Option(
        "reuse",
        ("on", "off"),
        "on",
        "across refinements, keep what queries found: nothing within a refuted box is asked, witnesses are tried again",
    ),
    Option(
        "tests",
        TESTS,
        "none",
        "ask first whether the policy picks the label anywhere in the abstract state, or within the guard; relaxed: "
        "by one bound over the reals, which may leave it open",
    ),
    Option("entailed", ("off", "on"), "off", "split first at variables that have one value in all concrete paths"),
    Option("strengthen", ("off", "on"), "off", "conjoin sums of variables that no operator changes"),
    Option(
        "starts",
        ("whole", "split"),
        "whole",
        "after a violation stop (whole), or continue with the abstract starts without a known violation (split)",
    ),
    Option("seed", None, 0, "the seed of ties, witnesses and samples"),
)


@dataclass(frozen=True)
class Choices:
    """A value for each of `OPTIONS`. listed: predicates that the caller gives, as texts or formulas.

    Raises `UsageError`.
    """

    first: str = "guards"
    refine: str = "shrink"
    split: str = "witness"
    guards: str = "violated"
    cells: str = "on"
    concretise: str = "first"
    search: str = "hamming"
    slice: str = "on"
    reuse: str = "on"
    tests: str = "none"
    entailed: str = "off"
    strengthen: str = "off"
    starts: str = "whole"
    seed: int = 0
    listed: tuple[Any, ...] = field(default=())

    def __post_init__(self) -> None:
        if self.split == "eps" and self.refine != "verix":
            raise UsageError(
                "predicates.split eps is where VERIX saw the decision change: choose predicates.refine verix with it"
            )

    @staticmethod
    def of(settings: Settings) -> Choices:
        """From the values that were chosen."""
        found = {option.name: option.of(settings) for option in OPTIONS}
        first = found.pop("first")
        parts = (first,) if isinstance(first, str) else first
        listed = tuple(part for part in parts if part not in WORDS)
        words = [part for part in parts if part in WORDS]
        return Choices(**found, first="+".join([*words, *(["listed"] if listed else [])]), listed=listed)
