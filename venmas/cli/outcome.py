"""The outcome of a verification on the command line: what is printed and stored, and the exit status."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from venmas.cli.main import SATISFIED, UNKNOWN, VIOLATED
from venmas.cli.options import Loaded
from venmas.cli.origin import tell_origin
from venmas.cli.output import STDOUT, console, is_verbose, nothing_to_write, store_json, store_text
from venmas.cli.subjects import Design
from venmas.errors import ModelError, UsageError

if TYPE_CHECKING:
    from venmas.engine.report import Report


def tell(
    report: Report, loaded: Loaded | Design, tune: Mapping[str, str], written: Mapping[str, str | None], quiet: bool
) -> int:
    """Print a report and write its files; the exit status. written: paths of `--json`, `--witness`, `--certificate`.

    Raises `UsageError` at the end, where a file could not be written.
    """
    json_path, witness_path = written["--json"], written["--witness"]
    tell_origin(report, loaded, tune)
    if json_path is not None or (witness_path is not None and report.violated):
        from venmas.engine.journal import subject_digest

        with suppress(ModelError):  # too large for a canonical form: then it has no digest
            report.system = subject_digest(loaded.subject)
    problems = _store(report, json_path, witness_path, written["--certificate"])
    if json_path != STDOUT:
        from venmas.report.text import print_report, print_verdict

        if quiet:
            print_verdict(console(), report)
        else:
            print_report(console(), report, report.model, verbose=is_verbose())
    if problems:  # the verdict is known all the same
        raise UsageError("; ".join(problems))
    return {"satisfied": SATISFIED, "violated": VIOLATED}.get(report.verdict.value, UNKNOWN)


def _store(report: Report, json_path: str | None, witness_path: str | None, certificate: str | None) -> list[str]:
    """Write the files that were asked for, each whatever becomes of the others; what could not be written, and why."""
    data = report.to_json()
    failed = [store_json(json_path, data, "--json")]
    if report.lasso is not None and witness_path is not None and witness_path.endswith(".vcd"):
        from venmas.formats.vcd import to_vcd

        failed.append(store_text(witness_path, partial(to_vcd, report.lasso, report.scenario), "--witness"))
        witness_path = None
    elif report.violated:
        failed.append(store_json(witness_path, data, "--witness"))
        witness_path = None
    problems = nothing_to_write(witness_path, "--witness", "witness")
    if report.unwritten is not None:
        problems.append(f"--certificate: {report.unwritten}")
    elif report.certificate is None and report.satisfied and report.kind == "linear" and certificate is not None:
        told = [note for note in report.notes if note.startswith("not certified")]
        problems.append(f"--certificate: {(told or ['no proof was written'])[-1]}")
    elif report.certificate is None:
        problems += nothing_to_write(certificate, "--certificate", "proof")
    return [*problems, *(str(error) for error in failed if error)]
