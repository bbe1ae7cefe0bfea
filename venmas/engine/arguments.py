"""Arguments of `verify` and `verify_all` from Python: each error says what to write instead."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from numbers import Integral
from os import PathLike

from venmas.errors import SolverUnavailableError, UsageError
from venmas.logic import Formula
from venmas.logic.printing import to_short_text
from venmas.model.expressions.refusals import shortened
from venmas.runtime.choices import DEADLOCKS, check_choice, check_choices
from venmas.runtime.files import why_not_writable
from venmas.solvers import get_solver, solver_order
from venmas.solvers.registry import AUTO


def formula_text(formula: object) -> str:
    """The text of a formula. Raises `UsageError` for what is neither text nor a formula."""
    if isinstance(formula, str):
        return formula
    if isinstance(formula, Formula):
        return to_short_text(formula)
    more = "; verify_all takes a list of them" if isinstance(formula, list | tuple) else ""
    raise UsageError(f"a formula is text such as 'AG^5 (x > 0)', or of venmas.parse; got {shortened(formula)}{more}")


def check_formulas(formulas: object) -> None:
    """Raise `UsageError` for what is no list of formulas."""
    if isinstance(formulas, str | Formula):
        raise UsageError("verify_all takes a list of formulas: write [formula], or call verify for a single one")
    if not isinstance(formulas, Iterable) or (hasattr(formulas, "ndim") and formulas.ndim != 1):
        raise UsageError(f"verify_all takes a list of formulas such as ['AG^5 (x > 0)'], got {shortened(formulas)}")


def check_words(trust: str, semantics: str, *others: str | None) -> None:
    """Raise `UsageError` for a choice that is no text, or unknown; others: mode, solver, invariant, cluster."""
    given = zip(_EXAMPLES, (trust, semantics, *others), strict=True)
    for name, word in given:
        if not isinstance(word, str | None):
            raise UsageError(f"{name} is text, as in {name}={_EXAMPLES[name]!r}, got {shortened(word)}")
    check_choices(trust=trust, semantics=semantics)


def check_files(certificate: object = None, journal: object = None, earlier: object = None) -> None:
    """Raise `UsageError` for what is no path, and where a certificate cannot be written: before any work."""
    for name, path in (("certificate", certificate), ("journal", journal), ("earlier", earlier)):
        if not isinstance(path, str | PathLike | None):
            raise UsageError(f"{name} is the path of a file, as in {name}='result.{name}', got {shortened(path)}")
    if certificate is not None and (problem := why_not_writable(str(certificate))):
        raise UsageError(f"cannot write the certificate {str(certificate)!r}: {problem}")


def check_linear(fair: object, deadlock: str, initial: object) -> None:
    """Raise `UsageError` for options of LTL that are none."""
    if isinstance(fair, str) or not isinstance(fair, Iterable) or not all(isinstance(one, str) for one in fair):
        raise UsageError(f"fair is a list of conditions, as in fair=['go == 1'], got {shortened(fair)}")
    if not isinstance(initial, str):
        raise UsageError(f"initial is text, a condition about registers, got {shortened(initial)}")
    check_choice("deadlock", deadlock, DEADLOCKS)


def check_workers(workers: object) -> None:
    """Raise `UsageError` for what is no number of processes."""
    whole = isinstance(workers, Integral) and not isinstance(workers, bool)
    if workers is None or (whole and 1 <= int(workers) <= 1 << 16):  # type: ignore[call-overload]
        return
    told = "workers is a number of processes from 1 to 65536, or None for all cores"
    raise UsageError(f"{told}; got {shortened(workers)}")


_EXAMPLES = {
    "trust": "auto",
    "semantics": "real",
    "mode": "adaptive",
    "solver": "auto",
    "invariant": "inside",
    "cluster": "local:2",
}


def usable_solvers(preference: str, needed: bool) -> Callable[[], tuple[str, ...]]:
    """The solvers that can be used, in order of preference, looked for once and when they are asked for.

    needed: raises `SolverUnavailableError` where there is none. Raises `UsageError` for an unknown name.
    """

    @cache
    def names() -> tuple[str, ...]:
        try:
            return tuple(s.name for s in solver_order(preference))
        except SolverUnavailableError:
            if needed:
                raise
            return ()

    if preference != AUTO:
        get_solver(preference)
    if needed:
        names()
    return names
