"""``venmas report``: a stored result as one page of HTML."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from venmas.cli.apart import check_kept
from venmas.cli.limits import limit_options, limits
from venmas.cli.main import SATISFIED, UNKNOWN
from venmas.cli.options import Loaded, scenario_options, verbose_option
from venmas.cli.output import STDOUT, check_writable, console, read_input, write_file
from venmas.cli.subjects import Design
from venmas.cli.table import Command, refuse
from venmas.errors import FormulaError, InputError, LimitError, ModelError, UsageError

if TYPE_CHECKING:
    from venmas.engine.report import Report
    from venmas.report import Checks
    from venmas.report.graph_picture import Picture

log = logging.getLogger(__name__)

_MAX_BYTES = 64 << 20


@click.command("report", cls=Command)
@click.argument("path", metavar="RESULT.json|ARCHIVE")
@click.option("-o", "--output", metavar="FILE|-", help="Write the page there [default: RESULT.html beside the result].")
@click.option("--check", is_flag=True, help="Check the certificate of the result, and say so on the page.")
@click.option(
    "--certificate", metavar="FILE", help="The certificate for --check, where it does not lie beside the result."
)
@scenario_options
@limit_options("checking the certificate")
@verbose_option
def command(
    path: str,
    output: str | None,
    check: bool,
    certificate: str | None,
    scenario: str | None,
    settings: tuple[str, ...],
    networks: str | None,
    timeout: float,
    memory: int,
) -> int:
    """Write a result of verify (--json FILE) as one page of HTML.

    An archive (`venmas archive`) holds its result, and the certificate and networks that the page is then about.

    The page needs no other file, no network and no JavaScript. A counterexample is computed anew for it. The scenario
    and its parameters are those of the file unless options say otherwise; a scenario file is code, so it is read only
    when it is given with --scenario, and the page says less without it. Other networks are read only with --networks.

    Exit status: 0 when the page is written, 20 when it is, but the verdict of the file is not confirmed, 2 for a file
    that is no result.
    """
    target = output if output is not None else str(Path(path).with_suffix(".html"))
    if not check:
        refuse("check", "that is not asked", "add --check")
    check_kept({"-o": target}, [("the result", path)])
    check_writable(target, "-o", "--html")

    from venmas.cli.packed import packed
    from venmas.cli.stored import certificate_beside
    from venmas.engine.stored import read_report
    from venmas.report import Source, cautions, doubt, html_page

    with packed(path) as found, console(stderr=True).status("reading the scenario") as status:
        stored, report = found.result, read_report(found.result)
        networks, certificate = found.networks_for(scenario, networks), certificate or found.certificate
        loaded, changed, undescribed = _loaded(path, report, stored, scenario, settings, networks)
        check_kept({"-o": target}, [] if loaded is None else loaded.files)
        status.update("computing the counterexample anew" if report.violated else "writing the page")
        report, checks = _checks(report, stored, loaded, changed, undescribed)
        if check:
            status.update("checking the certificate")
            file = certificate_beside(path, report) if certificate is None else Path(certificate)
            check_kept({"-o": target}, [("the certificate", file)])
            try:
                with limits(timeout, memory) as ask:
                    checks = _certificate(file, stored, checks, loaded, ask)
            except LimitError as stop:
                checks = replace(checks, refused=f"the certificate was not checked to its end: {stop}")
        problem = doubt(checks)
        status.update("drawing pictures")
        drawn = report.violated or report.partial
        drawings, missing = ([], "") if problem or not drawn else _drawings(stored, report, loaded)
        defaults = (
            {p.name: (p.default_text, p.unit, p.help) for p in loaded.scenario.parameters}
            if isinstance(loaded, Loaded)
            else {}
        )
        system = None if loaded is None else loaded.subject
        source = Source(Path(path).name, _digest(path))
        page = html_page(report, system, source, checks, drawings, missing, defaults)
    for text in filter(None, (undescribed, missing, *cautions(report, checks))):
        log.warning("%s", text)
    if problem:
        log.warning("the page says unknown: the file says %s, but %s", report.verdict, problem)
    write_file(target, page.encode("utf-8", "replace"), "-o")
    if target != STDOUT:
        console().print(f"{target}: {'unknown' if problem else report.verdict}", soft_wrap=True)
    return UNKNOWN if problem else SATISFIED


def _digest(path: str) -> str:
    """The sha256 of the file; nothing for a pipe, which can be read once."""
    if not Path(path).is_file():
        return ""
    return hashlib.sha256(read_input(path, _MAX_BYTES)).hexdigest()


def _loaded(
    path: str,
    report: Report,
    stored: Mapping[str, Any],
    scenario: str | None,
    settings: tuple[str, ...],
    networks: str | None,
) -> tuple[Loaded | Design | None, list[str], str]:
    """The scenario, the networks that differ from those of the result, and why there is no scenario."""
    from venmas.cli.stored import load_stored, named_elsewhere

    if scenario is None and (problem := named_elsewhere(stored.get("origin"), networks)):
        refuse("scenario", "none is named", "give it with --scenario")
        return None, [], f"The system is not described: the result {problem}."
    loaded, changed = load_stored(path, stored, scenario, settings, networks)
    return loaded, changed, ""


def _checks(
    report: Report, stored: Mapping[str, Any], loaded: Loaded | Design | None, changed: list[str], undescribed: str
) -> tuple[Report, Checks]:
    """What can be found out about a result; its witness gets the labels of the system and its true comparisons."""
    from venmas.cli.replay_command import relabelled, replay_run, replay_stored
    from venmas.engine.journal import subject_digest
    from venmas.model import Replay
    from venmas.report import Checks

    if loaded is None:
        return report, Checks(undescribed=undescribed)
    same = None
    if report.system:
        with suppress(ModelError):  # too large for a canonical form
            same = subject_digest(loaded.subject) == report.system
    replayed = None
    if report.lasso is not None:
        run = replay_run(stored, loaded.subject)
        replayed = Replay(run is not None, "" if run else "it shows no violation of this system")
        report = replace(report, lasso=run or report.lasso)
    elif report.witness is not None and isinstance(loaded, Loaded):
        replayed = replay_stored(loaded, stored, report.witness)
        if replayed.confirmed:
            report = replace(report, witness=relabelled(loaded.system, report.witness))
    return report, Checks(replayed, same_system=same, other_networks=tuple(changed))


def _certificate(
    file: Path, stored: Mapping[str, Any], checks: Checks, loaded: Loaded | Design | None, ask: Callable[[], None]
) -> Checks:
    """Check the certificate of the result: that it proves what the result claims, of the system that the page shows."""
    from venmas.checker.file import check_claim, read_certificate
    from venmas.checker.format.numbers import CheckError
    from venmas.cli.claims import differences
    from venmas.model.system.system import System

    if loaded is None:
        raise UsageError(f"--check: {checks.undescribed}")
    try:
        header, lines = read_certificate(file, lambda n: ask() if n < 200 or n % 200 == 0 else None)
        subject = loaded.subject
        try:
            different = differences(stored, header, subject)
        except FormulaError as error:
            raise CheckError(0, f"it is about another system: its formula is {header.claim.formula[:200]}") from error
        if different:
            text = header.claim.formula[:200]
            raise CheckError(
                0, f"it is about the formula {text}, and differs from the result in: {', '.join(different)}"
            )
        done = check_claim(header, lines, subject if isinstance(subject, System) else None)
        return replace(checks, certificate=done)
    except CheckError as error:
        return replace(checks, refused=f"the check says: {error}")


def _drawings(
    stored: Mapping[str, Any], report: Report, loaded: Loaded | Design | None
) -> tuple[Sequence[Picture], str]:
    """The pictures of a result, or why there are none."""
    from venmas.report.plot import figures
    from venmas.report.plot.partial import pictures

    try:
        system = loaded.system if isinstance(loaded, Loaded) else None
        return [*figures(stored, system), *pictures(replace(report, model=system))], ""
    except InputError as error:
        return (), f"There are no pictures: {error}"
