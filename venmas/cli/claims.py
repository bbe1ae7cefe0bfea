"""Results beside certificates: is what a result says the claim of its certificate, and of which subject?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from venmas.errors import FormulaError, InputError, RefusedError

if TYPE_CHECKING:
    from venmas.checker.format.header import Claim
    from venmas.logic import Formula, Property
    from venmas.procedure import Subject


def claimed(claim: Claim, subject: Subject) -> tuple[Formula, ...]:
    """The formula of a claim, and its conditions of fairness. Raises `FormulaError`."""
    from venmas.checker.levels.claim import read_formula
    from venmas.logic import parse_property
    from venmas.logic.ltl_parser import parse_ltl
    from venmas.model.system.system import System

    if claim.kind != "linear":
        assert isinstance(subject, System)
        return (parse_property(claim.formula, subject.vocabulary).formula,)
    texts = (claim.formula, *claim.fair)
    return tuple(read_formula(subject, t) if isinstance(subject, System) else parse_ltl(t) for t in texts)


def asked_of(result: Mapping[str, Any], subject: Subject) -> tuple[Subject, Property]:
    """The property that a stored result is about, and the subject as `read_asked` has it. Raises `InputError`."""
    from venmas.formats.asked import read_asked

    options = result.get("asked")
    given: Mapping[str, Any] = options if isinstance(options, dict) else {}
    fair = given.get("fair", [])
    if not isinstance(fair, list) or not all(isinstance(one, str) for one in fair):
        raise FormulaError("the conditions of fairness of the result are no texts")
    deadlock = "stutter" if given.get("deadlock") == "stutter" else "error"
    initial = given.get("initial")
    text = initial if isinstance(initial, str) else ""
    return read_asked(subject, str(result.get("formula")), fair, deadlock, text)  # type: ignore[arg-type]


def told(result: Mapping[str, Any], subject: Subject) -> tuple[tuple[Formula, ...], str]:
    """The same as `claimed` of what a stored result says, and what runs do without a successor. Raises `InputError`."""
    from venmas.logic import Linear
    from venmas.model.system.system import System
    from venmas.question import posed

    found, asked = asked_of(result, subject)
    if isinstance(asked, Linear):
        return (asked.formula, *asked.fair), asked.deadlock
    assert isinstance(found, System)
    return (posed(found, asked).formula,), "error"


def agree(result: Mapping[str, Any], claim: Claim, subject: Subject, certificate: str) -> None:
    """The result of an archive claims what its certificate does. Raises `RefusedError`.

    certificate: its sha256.
    """
    if result.get("verdict") != "satisfied":
        raise RefusedError("the archive's result does not say satisfied, which is what its certificate would prove")
    try:
        said, deadlock = told(result, subject)
        proved = claimed(claim, subject)
    except InputError as error:
        raise RefusedError(f"the archive's result is about a formula that is none of this system: {error}") from error
    written = result.get("certificate")
    about = {
        "formula": (said[0], proved[0]),
        "fairness": (said[1:], proved[1:]),
        "deadlock": (deadlock, claim.deadlock),
        "semantics": (result.get("semantics"), claim.semantics),
        "certificate": (written.get("sha256") if isinstance(written, dict) else None, certificate),
    }
    if different := [key for key, (one, other) in about.items() if one != other]:
        raise RefusedError(f"the archive's result and its certificate differ: {', '.join(different)}")
