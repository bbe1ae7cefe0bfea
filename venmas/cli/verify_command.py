"""``venmas verify``: decide whether every initial state satisfies a formula."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from venmas.cli.main import SATISFIED, UNKNOWN, VIOLATED
from venmas.cli.options import Positive, load, read_formula_text, read_settings, scenario_options, verbose_option
from venmas.cli.output import STDOUT, check_writable, console, write_json
from venmas.errors import ModelError, UsageError

if TYPE_CHECKING:
    from venmas.checker.values import Semantics
    from venmas.encoding import ReluEncoding
    from venmas.engine.report import Report

log = logging.getLogger(__name__)

MODES = ("adaptive", "mono", "comp-seq", "comp-par", "exact")
TRUSTS = ("auto", "exact", "solver")
ENCODINGS = ("big-m", "indicator")
BOUNDS = ("symbolic", "interval")
SOLVERS = ("auto", "gurobi", "highs", "scip")


@click.command("verify")
@scenario_options
@click.option(
    "--formula",
    metavar="TEXT|@FILE|NAME",
    help="A formula, a file with one, or the name of a property of the scenario.",
)
@click.option(
    "--mode",
    type=click.Choice(MODES),
    help="A reach graph, refined where something is open; one program for the formula; many small ones in turn; the "
    "same on several cores; a search in exact rationals. The first and the last need no solver.  [default: adaptive; "
    "comp-par with --cluster]",
)
@click.option(
    "--trust",
    type=click.Choice(TRUSTS),
    default="auto",
    show_default=True,
    help="What `satisfied` needs where a solver decided: a proof in rationals, the solver's word, or a proof if it is "
    "found in a while.",
)
@click.option(
    "--semantics",
    type=click.Choice(("real", "float32")),
    default="real",
    show_default=True,
    help="Networks as real functions, or in single precision, whatever the order of operations.",
)
@click.option("--certificate", metavar="FILE", help="Write the proof there if satisfied, for `venmas check`.")
@click.option("--encoding", type=click.Choice(ENCODINGS), default="big-m", show_default=True, help="Of ReLU nodes.")
@click.option(
    "--bounds", type=click.Choice(BOUNDS), default="symbolic", show_default=True, help="How states are bounded."
)
@click.option(
    "--solver", type=click.Choice(SOLVERS), default="auto", show_default=True, help="`venmas solvers` lists them."
)
@click.option("--workers", type=click.IntRange(1, 4096), metavar="N", help="Processes or threads [default: all cores].")
@click.option(
    "--cluster",
    metavar="ADDRESS|local:N",
    help="Solve the programs of comp-par on the Dask cluster of this scheduler, or on a trial one of N workers.",
)
@click.option(
    "--timeout",
    type=Positive(),
    metavar="S",
    help="Stop after so many seconds; the verdict is then unknown. Where a proof is asked for, a third is kept for it.",
)
@click.option("--memory", type=click.IntRange(1), metavar="MB", help="Stop beyond so much memory of all processes.")
@click.option("--json", "json_path", metavar="FILE|-", help="Write the result as JSON; - is standard output.")
@click.option(
    "--witness", "witness_path", metavar="FILE", help="Write the result there if violated, for `venmas replay`."
)
@click.option(
    "--journal",
    metavar="FILE",
    help="Keep there what is found, and go on from it: subproblems of comp-seq and comp-par that a solver found "
    "infeasible; in the other modes the verdict only.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print the verdict only.")
@verbose_option
def command(
    scenario: str | None,
    settings: tuple[str, ...],
    networks: str | None,
    formula: str | None,
    mode: str | None,
    trust: str,
    semantics: Semantics,
    certificate: str | None,
    encoding: ReluEncoding,
    bounds: str,
    solver: str,
    workers: int | None,
    cluster: str | None,
    timeout: float | None,
    memory: int | None,
    json_path: str | None,
    witness_path: str | None,
    journal: str | None,
    quiet: bool,
) -> int:
    """Decide whether every initial state of a scenario satisfies a formula.

    Exit status: 0 satisfied, 10 violated, 20 unknown, 2 bad input or usage, 1 a fault of the program.
    """
    check_writable(json_path, "--json")
    check_writable(witness_path, "--witness")
    check_writable(certificate, "--certificate")
    _check_apart({"--json": json_path, "--witness": witness_path, "--certificate": certificate, "--journal": journal})

    from venmas.cli.progress import ProgressLine

    loaded = load(scenario, read_settings(settings), networks)
    text = read_formula_text(formula, loaded.system)
    _log_solvers(solver)

    from venmas.engine.verify import verify

    with ProgressLine(wanted=not quiet) as line:
        report = verify(
            loaded.system,
            text,
            mode=mode,
            solver=solver,
            workers=workers,
            cluster=cluster,
            timeout=timeout,
            memory=memory,
            encoding=encoding,
            bounds=bounds,
            parameters=loaded.parameters,
            progress=line.update,
            trust=trust,
            semantics=semantics,
            certificate=certificate,
            about={"origin": vars(loaded.origin)},
            journal=journal,
        )
    report.scenario = loaded.scenario.name
    report.origin = loaded.origin
    if json_path is not None or (witness_path is not None and report.witness is not None):
        from venmas.model.canonical import system_digest

        with suppress(ModelError):  # too large for a canonical form: then it has no digest
            report.system = system_digest(loaded.system)
    if json_path != "-":
        from venmas.cli.render import print_report, print_verdict

        if quiet:
            print_verdict(console(), report)
        else:
            print_report(console(), report, loaded.system)
    _store(report, json_path, witness_path, certificate)
    return {"satisfied": SATISFIED, "violated": VIOLATED}.get(report.verdict.value, UNKNOWN)


def _check_apart(files: Mapping[str, str | None]) -> None:
    """Each option has a file of its own, lest one takes the place of another at the end. Raises `UsageError`."""
    named: dict[str, str] = {}
    for option, path in files.items():
        if path is None or (path == STDOUT and option == "--json"):
            continue
        if path == STDOUT:
            raise UsageError(
                f"{option} takes a file; `--json -` writes the result, witness included, to standard output"
            )
        if (other := named.setdefault(os.path.realpath(path), option)) != option:
            more = "; the JSON result holds the witness already" if option == "--witness" else ": name two files"
            raise UsageError(f"{other} and {option} both name {path!r}{more}")


def _log_solvers(preference: str) -> None:
    """Say which solvers will be tried; raises what `solver_order` raises."""
    from venmas.solvers import SOLVERS as ALL
    from venmas.solvers import get_solver, solver_order

    chosen = solver_order(preference)
    if not log.isEnabledFor(logging.INFO):
        return  # a version is known when its solver is imported, which takes longer than many a verdict
    for solver in chosen:
        limit = solver.features.size_limit
        size = f" (programs of at most {limit.variables} variables: its licence)" if limit else ""
        log.info("solver %s %s will be used%s", solver.name, solver.version(), size)
    if preference == "auto":
        for name in ALL:
            if (problem := get_solver(name).available()) is not None:
                log.info("solver %s is passed over: %s", name, problem)


def _store(report: Report, json_path: str | None, witness_path: str | None, certificate: str | None) -> None:
    """Write the files that were asked for."""
    if json_path is not None:
        write_json(json_path, report.to_json(), "--json")
    if report.certificate is None and certificate is not None:
        log.warning("there is no proof to write: %s is left as it is", certificate)
    if witness_path is not None:
        if report.witness is not None:
            write_json(witness_path, report.to_json(), "--witness")
        else:
            log.warning("there is no witness to write: %s is left as it is", witness_path)
