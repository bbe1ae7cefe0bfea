"""``venmas ltl --scenario``: LTL of the runs of a system, and what is printed of it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from venmas.cli.apart import check_kept
from venmas.cli.design_options import Asked
from venmas.cli.limits import reading
from venmas.cli.main import SATISFIED, UNKNOWN, VIOLATED
from venmas.cli.options import load, read_settings
from venmas.cli.output import STDOUT, console, nothing_to_write, printable, store_json, store_text
from venmas.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from venmas.engine.ltl_systems import SystemLtlReport
    from venmas.ltl.systems.replay import SystemRun
    from venmas.model.system import System

_MOST_SHOWN = 40
"""Rows of a lasso that are printed; a file has them all."""
_STYLES = {"satisfied": "bold green", "violated": "bold red", "unknown": "bold yellow"}
log = logging.getLogger(__name__)


def ask_scenario(
    asked: Asked,
    text: str,
    fair: tuple[str, ...],
    timeout: float | None,
    written: Mapping[str, str | None],
    quiet: bool,
) -> int:
    """Decide and print; written: files by option. The exit status."""
    asked.check()
    json_path, witness_path, certificate = (written[name] for name in ("--json", "--witness", "--certificate"))
    if witness_path is not None and Path(witness_path).suffix != ".json":
        raise UsageError(f"--witness {witness_path!r}: the lasso of a scenario is written as .json")
    from venmas.engine.ltl_systems import verify_ltl_of_system

    with reading(timeout, *written.values()) as left:
        loaded = load(asked.scenario, read_settings(asked.settings), asked.networks)
    check_kept(written, loaded.files)
    report = verify_ltl_of_system(
        loaded.system,
        text,
        fair=fair,
        deadlock=asked.deadlock,
        certificate=certificate,
        about={"origin": vars(loaded.origin)},
        journal=written["--journal"],
        timeout=left(),
        scenario=loaded.name,
        parameters=loaded.parameters,
    )
    data = report.to_json()
    failed: list[object] = [store_json(json_path, data, "--json")]
    if report.unwritten:
        failed.append(f"--certificate: {report.unwritten}")
    if not report.satisfied:
        failed += nothing_to_write(certificate, "--certificate", "proof")
    if (page := written["--html"]) is not None:
        from venmas.report.ltl_systems import ltl_system_page

        failed.append(store_text(page, partial(ltl_system_page, report, loaded.system), "--html"))
    if report.lasso is None:
        failed += nothing_to_write(witness_path, "--witness", "lasso")
    elif witness_path is not None:
        failed.append(store_json(witness_path, data, "--witness"))
    if json_path != STDOUT:
        _print(console(), report, loaded.system, quiet)
    if problems := [str(error) for error in failed if error]:  # the verdict is known all the same
        raise UsageError("; ".join(problems))
    return {"satisfied": SATISFIED, "violated": VIOLATED}.get(report.verdict.value, UNKNOWN)


def _print(out: Console, report: SystemLtlReport, system: System, quiet: bool) -> None:
    out.print(report.verdict.value, style=_STYLES[report.verdict.value])
    if quiet:
        return
    automaton, work = report.work.automaton, report.work
    size = f"{automaton.states} states, {len(automaton.edges)} edges"
    looked = f"; {work.states} states are reached, {work.pairs} pairs of both" if report.ranks is None else ""
    _say(out, f"automaton of the negated property: {size}{looked}")
    if report.lasso is not None:
        _print_run(out, report.lasso, system)
    elif report.satisfied and not report.recalled:
        if report.ranks is None:
            _say(out, "no reachable run is accepted by the automaton: all pairs were looked at")
        else:
            where = "the declared box" if report.everywhere else "J, which no run leaves,"
            _say(out, f"no run from any state of {where} is accepted by the automaton, by a rank that falls:")
        for text in report.ranks or ():
            _say(out, text)
        if report.within is not None:
            _say(out, f"every run has shown it within {report.within} steps")
        if report.certificate is not None:
            _say(out, f"proof: {report.certificate.path}, {report.certificate.size} bytes, for `venmas check`")
    else:
        _say(out, f"{report.reason}: {report.message}")
    if report.recalled:
        _say(out, report.recalled)
    _say(out, f"{report.seconds:.2f} s")


def _print_run(out: Console, run: SystemRun, system: System) -> None:
    from venmas.report.runs import run_table

    shown = run_table(run, system, _MOST_SHOWN)
    table = Table()
    for name in shown.head:
        table.add_column(printable(name))
    for row in shown.rows:
        table.add_row(*row)
    out.print(table)
    _say(out, shown.note)


def _say(out: Console, text: str) -> None:
    out.print(printable(text), soft_wrap=True)
