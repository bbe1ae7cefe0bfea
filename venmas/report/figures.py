"""What a verification took, for terminal and page alike: who decided, with which figures, and why not others."""

from __future__ import annotations

from venmas.engine.modes import with_programs
from venmas.engine.report import Report
from venmas.logic import Linear
from venmas.model.show import number
from venmas.report.linear import facts
from venmas.solvers.programs import Programs

Facts = list[tuple[str, str]]
PROCEDURES = ("procedure", "seconds", "outcome", "counted")
"""Columns of `procedure_rows`."""


def figures(report: Report) -> Facts:
    """The mode, who decided and what it counted, and what all of it took: nothing that was not used."""
    rows = [("mode", report.mode)]
    if uses_programs(report):
        rows.append(("programs", f"{report.encoding} encoding, {report.bounds} bounds"))
    if report.solvers:
        rows.append(("solver", ", ".join(f"{n} {v}".strip() for n, v in report.solvers.items())))
    if report.decided_by:
        rows.append(("decided by", report.decided_by))
    rows += _counted(report)
    if report.kind == Linear.kind:
        rows += facts(report)
    if report.workers > 1:
        rows.append(("workers", str(report.workers)))
    phases = {name: round(value, 2) for name, value in vars(report.seconds).items() if name != "total"}
    parts = ", ".join(f"{name} {_seconds(value)}" for name, value in phases.items() if value)
    rows.append(("seconds", _seconds(report.seconds.total) + (f" ({parts})" if parts else "")))
    # rounded as results are stored, so that a page made from the file says the same
    rows.append(("peak memory", f"{round(report.peak_rss_mb, 1):.0f} MB"))
    if (stored := report.certificate) is not None:
        rows.append(("certificate", f"{stored.path}, {stored.lines} lines, {stored.size / 1000:.1f} kB"))
        if stored.sha256:
            rows.append(("sha256 of the certificate", stored.sha256))
    return rows


def procedure_rows(report: Report) -> list[tuple[str, str, str, str]]:
    """Each procedure of the mode: its name, the seconds that it had, why it did not decide, and what it counted."""
    return [
        (
            tried.name,
            _seconds(tried.seconds),
            tried.why or "decided",
            "; ".join(f"{n}: {t}" for n, t in tried.figures.items()),
        )
        for tried in report.procedures
    ]


def uses_programs(report: Report) -> bool:
    """Have encoding and bounds of programs had a part in it?"""
    return report.mode in with_programs() or report.subproblems.created + report.subproblems.discarded > 0


def _counted(report: Report) -> Facts:
    for tried in report.procedures:
        if tried.name == report.decided_by:
            return list(tried.figures.items())
    if report.procedures:
        return []
    # by an earlier version, or decided by an earlier run, whose journal has no more
    rows = report.graph.facts() if report.graph.nodes else []
    if report.subproblems.created + report.subproblems.discarded:
        rows += Programs(report.subproblems, report.largest_program, report.depth).facts()
    return rows


def _seconds(value: float) -> str:
    return number(round(value, 2))
