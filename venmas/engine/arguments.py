"""What `verify` and `verify_all` are given from Python, checked at the door: each error says what to write instead."""

from __future__ import annotations

from collections.abc import Iterable

from venmas.choices import check_choices
from venmas.errors import UsageError
from venmas.files import why_not_writable
from venmas.logic import Formula
from venmas.model.refusals import shortened


def check_formula(formula: object) -> None:
    """Raise `UsageError` for what is neither text nor a formula."""
    if not isinstance(formula, str | Formula):
        raise UsageError(f"a formula is text such as 'AG^5 (x > 0)', got {shortened(formula)}")


def check_formulas(formulas: object) -> None:
    """Raise `UsageError` for what is no list of formulas."""
    if isinstance(formulas, str | Formula):
        raise UsageError("verify_all takes a list of formulas: write [formula], or call verify for a single one")
    if not isinstance(formulas, Iterable) or (hasattr(formulas, "ndim") and formulas.ndim != 1):
        raise UsageError(f"verify_all takes a list of formulas such as ['AG^5 (x > 0)'], got {shortened(formulas)}")


def check_words(trust: str, semantics: str, encoding: str, bounds: str, *others: str | None) -> None:
    """Raise `UsageError` for a choice that is no text, or unknown; others: mode, solver, invariant, cluster."""
    given = zip(_EXAMPLES, (trust, semantics, encoding, bounds, *others), strict=True)
    for name, word in given:
        if not isinstance(word, str | None):
            raise UsageError(f"{name} is text, as in {name}={_EXAMPLES[name]!r}, got {shortened(word)}")
    check_choices(trust=trust, semantics=semantics, encoding=encoding, bounds=bounds)


def check_certificate(path: object) -> None:
    """Raise `UsageError` where a certificate cannot be written."""
    if path is not None and (problem := why_not_writable(str(path))):
        raise UsageError(f"cannot write the certificate {str(path)!r}: {problem}")


_EXAMPLES = {
    "trust": "auto",
    "semantics": "real",
    "encoding": "big-m",
    "bounds": "symbolic",
    "mode": "adaptive",
    "solver": "auto",
    "invariant": "inside",
    "cluster": "local:2",
}
