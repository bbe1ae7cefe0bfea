"""Several questions about one system, or about several: asked in turn, so that each finds what the others prepared.

Facts of a system, its space and the boxes that were swept are kept between questions (`System.once`,
`procedures.hybrid.view`). No question takes the answers of others with it: what is wrong with one is its row's
`message`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from venmas.engine.arguments import check_formulas, formula_text
from venmas.engine.bound_search import BoundSearch, Sought
from venmas.engine.report import Report, Verdict
from venmas.engine.results import FAULT, REFUSED, Result, Results
from venmas.engine.verify import verify
from venmas.errors import InputError, Reason, UsageError
from venmas.logic import MAX_DEPTH, Formula
from venmas.logic.open_bound import at_bound, course, first_bound
from venmas.model.system.given import check_subject
from venmas.model.system.system import System
from venmas.procedure import Subject

Ask = Callable[[str | Formula], Report]
"""Verifies one formula of the system that is meant."""


def verify_all(
    subject: Subject,
    formulas: Iterable[str | Formula],
    *,
    least: int | None = None,
    most: int | None = None,
    told: Callable[[Result], None] | None = None,
    **options: Any,
) -> Results:
    """The results of several formulas over one system or circuit, in their order.

    formulas: as `verify` takes them. options: those of `verify`, for each formula: a timeout is that of one of them.
    told: called with each result as soon as it is known.

    least, most: formulas are texts with an open bound k, such as ``AG^k safe``, and the result is a number of steps up
    to the one that is given: the least k at which the formula holds, or the greatest such that it holds at every
    bound up to k (`venmas.engine.bound_search`). The verdict is then satisfied if such a k was found.

    A formula that cannot be asked gives a result with the reason ``refused``, a fault of the program one with
    ``fault``; neither ends the others. After Ctrl-C the remaining ones have the reason ``interrupted``. Raises
    `UsageError` for options that fit no formula, `ModelError` where the system is not well formed.
    """
    check_subject(subject, "verify_all")
    check_formulas(formulas)
    for name in ("certificate", "journal"):
        if options.get(name) is not None:
            raise UsageError(f"a {name} is about one formula: call verify with {name}= for it")
    search = sought(least, most)
    if isinstance(subject, System):
        subject.validate()
        subject.check_nesting()

    def ask(formula: str | Formula) -> Report:
        return verify(subject, formula, **options)

    asked = list(formulas)
    rows = [Result(formula_text(formula).strip(), sought=search[0] if search else "") for formula in asked]
    for row, formula in zip(rows, asked, strict=True):
        answer(row, formula, subject, ask, search)
        if told is not None:
            told(row)
        if row.reason == Reason.INTERRUPTED:
            break
    return Results(rows)


def sought(least: int | None, most: int | None) -> tuple[Sought, int] | None:
    """The search that is asked for. Raises `UsageError` for two of them, and for a number that is no bound."""
    if least is not None and most is not None:
        raise UsageError("least and most are two questions: ask one of them")
    given: tuple[Sought, int | None] = ("most", most) if least is None else ("least", least)
    if given[1] is None:
        return None
    if not isinstance(given[1], int) or not 1 <= given[1] <= MAX_DEPTH:
        raise UsageError(f"{given[0]} is the greatest bound to ask for, from 1 to {MAX_DEPTH}; got {given[1]!r}")
    return given[0], given[1]


def answer(
    row: Result, formula: str | Formula, subject: Subject, ask: Ask, search: tuple[Sought, int] | None = None
) -> None:
    """Ask one question, and fill its row, whatever happens."""
    begun = time.perf_counter()
    try:
        if search is None:
            _tell(row, ask(formula))
        else:
            _search(row, formula, subject, ask, *search)
    except KeyboardInterrupt:
        row.reason, row.message = Reason.INTERRUPTED.value, "interrupted before a verdict was reached"
    except InputError as error:
        row.reason, row.message = REFUSED, str(error)
    except MemoryError:
        row.reason, row.message = Reason.MEMORY.value, "there is not enough memory for this question"
    except Exception as error:
        row.reason, row.message = FAULT, f"{type(error).__name__}: {error}"
    row.seconds = time.perf_counter() - begun


def _tell(row: Result, report: Report) -> None:
    row.report, row.verdict, row.reason, row.message = report, report.verdict, report.reason, report.message


def _search(row: Result, formula: str | Formula, system: Subject, ask: Ask, sought: Sought, most: int) -> None:
    if not isinstance(system, System):
        raise UsageError("a search over bounds is for systems, whose formulas of CTL have bounds")
    if isinstance(formula, Formula):
        raise UsageError("a search over bounds takes texts, such as 'AG^k safe'")
    text = system.properties.get(formula, formula)
    low = first_bound(text, most, system.vocabulary)
    refused: dict[int, str] = {}

    def verdict(k: int) -> Verdict:
        try:
            report = row.searched[k] = ask(at_bound(text, k))
        except InputError as error:  # such as runs that leave the box, with more steps
            refused[k] = str(error)
            return Verdict.UNKNOWN
        if report.reason == Reason.INTERRUPTED:
            raise KeyboardInterrupt
        return report.verdict

    search = BoundSearch(sought, low, most, course(text, low, system.vocabulary) if low < most else "", verdict)
    try:
        search.run()
    finally:
        row.message = search.told()
    row.bound = search.bound
    first = search.since + 1
    row.report = row.searched.get(first if first in row.searched else search.since)
    if search.exact:
        row.verdict, row.reason = (Verdict.VIOLATED, "") if row.bound is None else (Verdict.SATISFIED, "")
        return
    told = row.searched.get(first)
    row.reason = told.reason if told is not None and told.reason else REFUSED if first in refused else Reason.OPEN.value
    why = refused.get(first) or (told.message if told is not None else "")
    row.message += f": {why}" if why else ""
