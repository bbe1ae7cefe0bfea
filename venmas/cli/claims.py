"""Results beside certificates: is what a result says the claim of its certificate, and of which subject?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from venmas.errors import FormulaError, InputError, RefusedError

if TYPE_CHECKING:
    from venmas.checker.format.header import Claim, Header
    from venmas.logic import Formula, Property
    from venmas.model.circuit.nodes import Circuit
    from venmas.procedure import Subject


def asked_of(result: Mapping[str, Any], subject: Subject) -> tuple[Subject, Property]:
    """The property that a stored result is about, and the subject as `read_asked` has it. Raises `InputError`."""
    from venmas.formats.asked import read_asked

    given = result.get("asked") or {}
    if not isinstance(given, dict):
        raise FormulaError("what the result says of how it was asked is no object of options")
    fair = given.get("fair", [])
    if not isinstance(fair, list) or not all(isinstance(one, str) for one in fair):
        raise FormulaError("the conditions of fairness of the result are no texts")
    deadlock, initial = given.get("deadlock", "error"), given.get("initial") or ""
    if deadlock not in ("error", "stutter") or not isinstance(initial, str):
        raise FormulaError("what the result says of deadlocks or of initial states is no option of verify")
    return read_asked(subject, str(result.get("formula")), fair, deadlock, initial)


def _claimed(claim: Claim, subject: Subject) -> tuple[Formula, ...]:
    """The formula of a claim, and its conditions of fairness. Raises `FormulaError`."""
    from venmas.checker.levels.claim import read_formula
    from venmas.logic import parse_property
    from venmas.logic.ltl_parser import parse_ltl
    from venmas.model.system.system import System

    texts = (claim.formula, *claim.fair)
    if not isinstance(subject, System):
        return tuple(map(parse_ltl, texts))
    if claim.kind == "linear":
        return tuple(read_formula(subject, text) for text in texts)
    return (parse_property(claim.formula, subject.vocabulary).formula,)


def differences(result: Mapping[str, Any], header: Header, subject: Subject) -> list[str]:
    """The points in which a stored result about a subject says something else than its certificate claims.

    Raises `FormulaError` where the certificate is about another subject, `InputError` where the result is.
    """
    from venmas.logic import Linear
    from venmas.model.circuit.nodes import Circuit
    from venmas.model.system.system import System
    from venmas.question import posed

    found, asked = asked_of(result, subject)
    claim = header.claim
    if isinstance(found, Circuit) is (header.netlist is None):
        return ["system or design"]
    if isinstance(asked, Linear) is not (claim.kind == "linear"):
        return ["logic"]
    if not isinstance(asked, Linear):
        assert isinstance(found, System)
        asked = Linear(posed(found, asked).formula)
    formula, *fair = _claimed(claim, subject)
    about = {
        "formula": (asked.formula, formula),
        "fairness": (asked.fair, tuple(fair)),
        "deadlock": (asked.deadlock, claim.deadlock),
        "semantics": (result.get("semantics"), claim.semantics),
    }
    if header.proof in ("levels", "ranks"):
        proof = result.get("proof")
        about["steps"] = (proof.get("within") if isinstance(proof, dict) else None, claim.within)
    different = [key for key, (one, other) in about.items() if one != other]
    if isinstance(found, Circuit):
        same = isinstance(subject, Circuit) and subject.source == header.netlist
        different += _of_netlist(found, header, same)
    return different


def _of_netlist(circuit: Circuit, header: Header, same: bool) -> Iterator[str]:
    """What of a netlist and its initial states differs: the circuit as it was asked about, and as it was certified.

    same: the netlist is known to be that of the certificate.
    """
    from venmas.procedures.linear.claim import netlist_of

    netlist, condition = netlist_of(circuit)
    if not same and netlist != header.netlist:
        yield "netlist"
    if header.claim.initial in (None, "true", condition):  # of every state, or every initial one: that is more
        return
    named = [circuit.names.get(name) for name in str(header.claim.initial).split(" & ")]
    if not set(named) <= set(circuit.starts):
        yield "initial states"


def agree(result: Mapping[str, Any], header: Header, subject: Subject, certificate: str) -> None:
    """The result of an archive claims what its certificate does. Raises `RefusedError`.

    subject: the system, or the netlist of the certificate. certificate: its sha256.
    """
    if result.get("verdict") != "satisfied":
        raise RefusedError("the archive's result does not say satisfied, which is what its certificate would prove")
    try:
        different = differences(result, header, subject)
    except InputError as error:
        raise RefusedError(f"the archive's result is about a formula that is none of this system: {error}") from error
    written = result.get("certificate")
    if (written.get("sha256") if isinstance(written, dict) else None) != certificate:
        different.append("certificate")
    if different:
        raise RefusedError(f"the archive's result and its certificate differ: {', '.join(different)}")
