"""Verdicts of reports about LTL."""

from __future__ import annotations

from typing import Any, NoReturn

from venmas.answer import Unknown
from venmas.engine.report import Verdict
from venmas.errors import UsageError
from venmas.procedures.netlist.answers import Proved, Violated


class Judged:
    """What a report says that has an answer; there are three verdicts, so it has no truth value."""

    answer: Proved | Violated[Any] | Unknown

    @property
    def verdict(self) -> Verdict:
        """Only a proof says satisfied, only a replayed lasso says violated."""
        match self.answer:
            case Proved():
                return Verdict.SATISFIED
            case Violated():
                return Verdict.VIOLATED
        return Verdict.UNKNOWN

    def __bool__(self) -> NoReturn:
        raise UsageError(
            "a report has no truth value, as there are three verdicts; write report.satisfied or report.violated"
        )

    @property
    def satisfied(self) -> bool:
        """True for a proof."""
        return self.verdict is Verdict.SATISFIED

    @property
    def violated(self) -> bool:
        """True for a replayed lasso."""
        return self.verdict is Verdict.VIOLATED

    @property
    def reason(self) -> str:
        """The category (`venmas.errors.Reason`) of an unknown."""
        return str(self.answer.reason) if isinstance(self.answer, Unknown) else ""

    @property
    def message(self) -> str:
        """Why it is unknown."""
        return self.answer.message if isinstance(self.answer, Unknown) else ""
