"""What can be chosen about abstraction and refinement: a table of options, and a choice of each."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from venmas.errors import UsageError, did_you_mean


@dataclass(frozen=True)
class Option:
    """A name, the values that it takes (the first is the default; None: any text or number), and what it does."""

    name: str
    values: tuple[str, ...] | None
    default: Any
    help: str


TESTS = (
    "none", "selection", "applicability", "both", "relaxed-selection", "relaxed-applicability", "relaxed-both",
)  # fmt: skip
"""What is asked before the transitions of a label, exactly or by the continuous relaxation."""

OPTIONS: tuple[Option, ...] = (
    Option(
        "predicates",
        None,
        "guards",
        "the first predicates, guards, none, or the path of a list; + joins them; but for none, those of the unsafe "
        "condition are among them",
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

    predicates: str = "guards"
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
        for option in OPTIONS:
            value = getattr(self, option.name)
            if option.values is not None and value not in option.values:
                raise UsageError(f"{option.name}: expected {', '.join(option.values)}, got {value!r}")
        if not isinstance(self.seed, int) or self.seed < 0:
            raise UsageError(f"seed: expected a whole number from 0 on, got {self.seed!r}")
        if self.split == "eps" and self.refine != "verix":
            raise UsageError("split eps is where VERIX saw the decision change: choose refine verix with it")
        for part in self.predicates.split("+"):
            if part not in ("guards", "none", "listed"):
                raise UsageError(f"predicates: expected guards, none, listed, or these joined by +, got {part!r}")

    @staticmethod
    def of(**given: Any) -> Choices:
        """From keywords; others than those of the table are refused."""
        known = {f.name for f in fields(Choices)}
        if unknown := set(given) - known:
            name = sorted(unknown)[0]
            hint = did_you_mean(name, known)
            raise UsageError(f"no option {name!r} of abstraction: there are {', '.join(sorted(known))}{hint}")
        return Choices(**given)
