"""What several questions come to: rows in the order of the questions, and the forms in which others read them."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload
from xml.etree import ElementTree

from venmas.engine.report import Report, Verdict, versions
from venmas.errors import Reason

REFUSED, FAULT = "refused", "fault"
"""Why there is no report: what was given is wrong, or the program is; beside `Reason` in `Result.reason`."""


@dataclass
class Result:
    """The answer to one of several questions.

    `formula` is as it was given, `swept` the values of the parameters that a sweep set. `reason` is empty unless the
    verdict is unknown; beside those of a report it is ``refused`` (the question cannot be asked; `message` says why)
    or ``fault`` (of the program). `bound` is the k of a search, `searched` the report at each bound that was asked;
    `report` is the one that decided.
    """

    formula: str
    verdict: Verdict = Verdict.UNKNOWN
    reason: str = Reason.INTERRUPTED.value
    message: str = "not asked"
    seconds: float = 0.0
    report: Report | None = None
    swept: Mapping[str, str] = field(default_factory=dict)
    sought: str = ""
    bound: int | None = None
    searched: dict[int, Report] = field(default_factory=dict)

    @property
    def record(self) -> dict[str, Any]:
        """The row as plain values, under the same names in every row of a table."""
        report = self.report
        return {
            **self.swept,
            "formula": self.formula,
            **({self.sought: self.bound} if self.sought else {}),
            "verdict": self.verdict.value,
            "reason": self.reason,
            "basis": report.basis if report is not None and not self.sought else "",
            "decided_by": report.decided_by if report is not None else "",
            "seconds": round(self.seconds, 6),
            "message": self.message,
        }

    @property
    def provenance(self) -> dict[str, str]:
        """What a line of CSV says besides: model, its parameters, and the version; they name no value of the record."""
        report = self.report
        parameters = report.parameters if report is not None else {}
        return {
            "model": report.scenario if report is not None else "",
            "parameters": "; ".join(f"{name}={value}" for name, value in parameters.items()),
            "venmas_version": dict(versions())["venmas"],
            "seed": "fixed",  # every draw of every search begins from one, so that a run can be repeated
        }

    def to_json(self) -> dict[str, Any]:
        """An object of `docs/results.schema.json`."""
        return {
            "formula": self.formula,
            "swept": dict(self.swept),
            "verdict": self.verdict.value,
            "reason": self.reason,
            "message": self.message,
            "seconds": round(self.seconds, 6),
            "search": {
                "sought": self.sought,
                "bound": self.bound,
                "reports": {str(k): report.to_json() for k, report in sorted(self.searched.items())},
            }
            if self.sought
            else None,
            "report": None if self.report is None else self.report.to_json(),
        }


class Results(Sequence[Result]):
    """Results in the order of the questions; ``pandas.DataFrame(results.records())`` is a table of them."""

    def __init__(self, rows: Sequence[Result]) -> None:
        self._rows = list(rows)

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> list[Result]: ...
    def __getitem__(self, index: int | slice) -> Result | list[Result]:
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"<Results: {', '.join(f'{count} {name}' for name, count in self.counts.items() if count) or 'none'}>"

    @property
    def counts(self) -> dict[str, int]:
        """How many rows have each verdict; those that are refused, or ended in a fault, are not among the unknown."""
        said = [row.reason if row.reason in (REFUSED, FAULT) else row.verdict.value for row in self]
        return {name: said.count(name) for name in (*Verdict, REFUSED, FAULT)}

    def records(self) -> list[dict[str, Any]]:
        """A dictionary a row, with the same keys in each: swept parameters, formula, bound, verdict, reason, basis,
        procedure, seconds, message."""
        return [row.record for row in self]

    def to_json(self) -> dict[str, Any]:
        """The object of `docs/results.schema.json`."""
        return {"counts": self.counts, "results": [row.to_json() for row in self], "versions": dict(versions())}

    def to_csv(self) -> str:
        """A line a row under a line of names (RFC 4180): the records, and what each is about."""
        out = io.StringIO()
        records = [{**row.record, **(row.provenance | row.record)} for row in self]
        writer = csv.DictWriter(out, list(records[0]) if records else [])
        writer.writeheader()
        writer.writerows(records)
        return out.getvalue()

    def to_latex(self) -> str:
        """A ``tabular`` as papers show it: swept parameters, formula, bound, verdict, seconds; no package needed."""
        records = [{k: v for k, v in row.items() if k not in _UNPRINTED} for row in self.records()]
        names = list(records[0]) if records else []
        lines = [_latex_row(names), *(_latex_row([_shown(v) for v in record.values()]) for record in records)]
        body = "\n".join([r"\hline", *lines[:1], r"\hline", *lines[1:], r"\hline"])
        return f"\\begin{{tabular}}{{{'l' * len(names)}}}\n{body}\n\\end{{tabular}}\n"

    def to_junit(self) -> str:
        """JUnit XML: a case a row. Violated is a failure; unknown, refused and fault are errors, as no test passed;
        what was not asked any more is skipped."""
        suite = ElementTree.Element("testsuite", name="venmas", tests=str(len(self)))
        for row in self:
            name = ", ".join([row.formula, *(f"{k}={v}" for k, v in row.swept.items())])
            given = {"classname": _xml(row.report.scenario if row.report is not None else "venmas"), "name": _xml(name)}
            case = ElementTree.SubElement(suite, "testcase", given, time=f"{row.seconds:.3f}")
            if (tag := _junit_tag(row)) is not None:
                kind = row.reason or row.verdict.value
                ElementTree.SubElement(case, tag, message=_xml(row.message or row.verdict.value), type=kind)
        tags = [case[0].tag if len(case) else "" for case in suite]
        for tag, count in {"failure": "failures", "error": "errors", "skipped": "skipped"}.items():
            suite.set(count, str(tags.count(tag)))
        suite.set("time", f"{sum(row.seconds for row in self):.3f}")
        ElementTree.indent(suite)
        return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suite, "unicode") + "\n"


_UNPRINTED = ("reason", "basis", "decided_by", "message")
_LATEX = {
    "\\": r"\textbackslash{}",
    "^": r"\^{}",
    "~": r"\~{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
}


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join("".join(_LATEX.get(c, c if c.isprintable() else " ") for c in cell) for cell in cells) + r" \\"


def _shown(value: object) -> str:
    if value is None:
        return "--"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _junit_tag(row: Result) -> str | None:
    if row.verdict is Verdict.UNKNOWN:
        return "skipped" if row.reason == Reason.INTERRUPTED and row.report is None else "error"
    return "failure" if row.verdict is Verdict.VIOLATED else None


def _xml(text: str) -> str:
    """The text without characters that XML has not."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)
