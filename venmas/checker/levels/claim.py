"""What a certificate about runs claims, as its header has it, and the meaning of its texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from venmas.checker.format.numbers import CheckError
from venmas.logic.formula import Formula
from venmas.logic.ltl_parser import parse_ltl
from venmas.logic.paths import Proposition
from venmas.model.system.system import System

FORMAT = "venmas-certificate-ltl-system-1"
FIELDS = frozenset({"fair", "deadlock", "within"})
"""What its header has besides that of other certificates about a system."""

_BRANCH = "branch "


@dataclass(frozen=True)
class Claim:
    """Every run of a system from an initial state that meets each of `fair` again and again has the formula (texts).

    stutter: runs stay for ever in a state without successor; else there is none. within: None, or steps after which
    every run has shown it: no word that goes on as a run began for so many steps, and one more letter, breaks it.
    """

    formula: str
    fair: tuple[str, ...]
    stutter: bool
    within: int | None


def read_claim(header: Mapping[str, Any]) -> Claim:
    """The claim of a header. Raises `CheckError`."""
    fair, deadlock, within = header["fair"], header["deadlock"], header["within"]
    if not isinstance(fair, list) or not all(isinstance(one, str) for one in fair):
        raise CheckError(0, "fair is a list of conditions, as texts")
    if deadlock not in ("error", "stutter"):
        raise CheckError(0, "the header does not say what runs do without a successor (error or stutter)")
    if within is not None and (type(within) is not int or within < 0):
        raise CheckError(0, "within is a number of steps, or null")
    if not header["inside"] or header["semantics"] != "real":
        raise CheckError(0, f"{FORMAT} is about runs that never leave the declared box, and networks of real numbers")
    return Claim(header["formula"], tuple(fair), deadlock == "stutter", within)


def read_formula(system: System, text: str) -> Formula:
    """A formula of LTL over a system, and the conditions ``"branch NAME"``. Raises `FormulaError`."""
    known = system.vocabulary
    branches = {_BRANCH + one.name: Proposition(_BRANCH + one.name) for one in system.branches}
    return parse_ltl(text, replace(known, propositions={**known.propositions, **branches}))


def branch_of(system: System, name: str) -> int | None:
    """The index of the branch that a condition is about; None for one about a state."""
    found = (i for i, one in enumerate(system.branches) if _BRANCH + one.name == name)
    return next(found, None)
