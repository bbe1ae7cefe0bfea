"""``venmas verify``: decide whether every initial state satisfies a formula."""

from __future__ import annotations

import logging
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

import click

from venmas.cli.apart import check_apart, check_kept
from venmas.cli.choices import (
    BOTH,
    SEMANTICS_HELP,
    TRUST_HELP,
    Named,
    Told,
    cluster_modes,
    mode_help,
    mode_names,
    solver_choices,
)
from venmas.cli.limits import reading
from venmas.cli.main import UNKNOWN
from venmas.cli.options import (
    Positive,
    formula_file,
    read_formula_text,
    read_settings,
    read_text,
    scenario_options,
    verbose_option,
)
from venmas.cli.outcome import tell
from venmas.cli.output import STDOUT, check_writable, console, store_json
from venmas.cli.plural_options import plural_options, take_plural
from venmas.cli.subjects import Design, load_asked
from venmas.cli.table import Command, refuse, refuse_for_mode
from venmas.cli.tuning import checked, read_tune_files, tune_option
from venmas.errors import LimitError, UsageError
from venmas.runtime.choices import DEADLOCKS, SEMANTICS, TRUSTS, described

if TYPE_CHECKING:
    from collections.abc import Callable

    from venmas.engine.report import Report
    from venmas.logic import Deadlock
    from venmas.nn.network import Semantics

log = logging.getLogger(__name__)


@click.command("verify", cls=Command)
@scenario_options
@click.option(
    "--formula",
    "formulas",
    metavar="TEXT|@FILE|NAME",
    multiple=True,
    help="A formula, a file with one, or the name of a property of the scenario; repeatable.",
)
@plural_options
@click.option("--mode", cls=Told, type=Named(mode_names), tell=mode_help)
@click.option("--trust", type=click.Choice(tuple(TRUSTS)), default="auto", show_default=True, help=TRUST_HELP)
@click.option(
    "--semantics", type=click.Choice((*SEMANTICS, BOTH)), default="real", show_default=True, help=SEMANTICS_HELP
)
@click.option(
    "--invariant",
    metavar="TEXT|NAME",
    default="",
    help="Prove AG p, without a bound, by this set of states: a proposition, or a formula about one state.",
)
@click.option(
    "--fair",
    metavar="CONDITION",
    multiple=True,
    help="Consider only runs on which this holds infinitely often (LTL); repeatable.",
)
@click.option(
    "--deadlock",
    type=click.Choice(tuple(DEADLOCKS)),
    default="error",
    show_default=True,
    help=f"State of a system without successor, for LTL. {described(DEADLOCKS)}.",
)
@click.option(
    "--initial", metavar="CONDITION", default="", help="What holds of registers in initial states, too (designs)."
)
@click.option("--certificate", metavar="FILE", help="Write the proof there if satisfied, for `venmas check`.")
@click.option(
    "--solver",
    type=Named(solver_choices),
    default="auto",
    show_default=True,
    help="The MILP solver; `venmas solvers` lists them.",
)
@click.option("--workers", type=click.IntRange(1, 4096), metavar="N", help="Processes or threads [default: all cores].")
@click.option(
    "--cluster",
    metavar="ADDRESS|local:N",
    cls=Told,
    tell=lambda: (
        "Work on the Dask cluster of this scheduler, or on a trial one of N workers here: on parts of the initial set, "
        f"or on programs. For modes {cluster_modes()}."
    ),
)
@click.option(
    "--timeout",
    type=Positive(),
    metavar="S",
    help="Stop after so many seconds, reading included; the verdict is then unknown. Where a proof is asked for, a "
    "third is kept for it.",
)
@click.option(
    "--memory", type=click.IntRange(1), metavar="MB", help="Stop when all processes together take more memory."
)
@click.option("--json", "json_path", metavar="FILE|-", help="Write the result as JSON; - is standard output.")
@click.option(
    "--witness", "witness_path", metavar="FILE", help="Write the result there if violated, for `venmas replay`."
)
@click.option(
    "--journal",
    metavar="FILE",
    cls=Told,
    tell=lambda: (
        "Keep results in this file, and continue from them: subproblems of comp-seq and comp-par that a solver found "
        "infeasible, parts of the initial set that a cluster refuted, and in every mode the verdict."
    ),
)
@tune_option
@click.option("-q", "--quiet", is_flag=True, help="Print the verdict only.")
@verbose_option
def command(
    scenario: str | None,
    settings: tuple[str, ...],
    networks: str | None,
    formulas: tuple[str, ...],
    mode: str | None,
    trust: str,
    semantics: Semantics | Literal["both"],
    invariant: str,
    fair: tuple[str, ...],
    deadlock: Deadlock,
    initial: str,
    certificate: str | None,
    solver: str,
    workers: int | None,
    cluster: str | None,
    timeout: float | None,
    memory: int | None,
    json_path: str | None,
    witness_path: str | None,
    journal: str | None,
    tune: tuple[str, ...],
    quiet: bool,
    **several: Any,
) -> int:
    """Decide whether a scenario or design satisfies a formula of CTL or LTL.

    CTL is about initial states (AX EX AG EG AF EF, A(p U q)), LTL about runs for ever (X F G U R W M).

    Exit status: 0 satisfied, 10 violated, 20 unknown, 2 bad input or usage, 1 a fault of the program. Of several
    formulas: the first of 10, 1, 2, 20 that one of them has, else 0.
    """
    plural = take_plural(several, formulas)
    tuned = checked(read_settings(tune, "--tune"))
    written = {"--json": json_path, "--witness": witness_path, "--certificate": certificate}
    for option, path in written.items():
        check_writable(path, option)
    written["--journal"] = journal
    check_apart(written)
    options: dict[str, Any] = {
        "mode": mode,
        "solver": solver,
        "workers": workers,
        "cluster": cluster,
        "timeout": timeout,
        "memory": memory,
        "trust": trust,
        "semantics": semantics,
        "invariant": invariant,
        "fair": fair,
        "deadlock": deadlock,
        "initial": initial,
    }
    if plural is not None:
        if semantics == BOTH:
            raise UsageError("--semantics both is for one formula: leave it out, or ask them one by one")
        from venmas.cli.plural import verify_several

        _log_solvers(solver)
        if plural.batch is not None:
            from venmas.cli.batch import verify_batch

            given = {"--scenario": scenario, "--set": settings, "--networks": networks, "--formula": formulas}
            return verify_batch(plural, given, written, {**options, "journal": journal}, tuned, quiet)
        return verify_several(plural, scenario, read_settings(settings), networks, written, options, tuned, quiet)

    from venmas.cli.progress import ProgressLine
    from venmas.formats.asked import read_asked

    formula, begun = formulas[0] if formulas else None, perf_counter()
    try:
        with reading(timeout) as left:
            text = read_text(formula) if formula else ""
            loaded = load_asked(scenario, read_settings(settings), networks, [text], options)
            text = text if text.strip() else read_formula_text(formula or loaded.formula, loaded.subject)
            _, asked = read_asked(loaded.subject, text)
    except LimitError as stop:
        return _unread(stop, str(scenario), formula, dict(read_settings(settings)), options, json_path, quiet)
    check_kept(written, [*loaded.files, *formula_file(formula)])
    if not isinstance(loaded, Design):
        refuse("netlist", f"{scenario} is a system")
    refuse_for_mode(mode, [asked.kind], cluster is not None, bool(invariant), tuned)
    if witness_path is not None and witness_path.endswith(".vcd") and not isinstance(loaded, Design):
        raise UsageError(f"--witness {witness_path!r}: waveforms are of designs: name one that ends in .json")
    _log_solvers(solver)

    from venmas.engine.verify import verify

    decide: Callable[..., Report] = verify
    if semantics == BOTH:
        from venmas.engine.deployed import verify_both as decide

        del options["semantics"]
    before = perf_counter() - begun
    with ProgressLine(wanted=not quiet) as line:
        report = decide(
            loaded.subject,
            text,
            parameters=loaded.parameters,
            progress=line.update,
            certificate=certificate,
            journal=journal,
            **{**options, "timeout": left()},
            tune=tuned if isinstance(loaded, Design) else read_tune_files(tuned, loaded),
        )
    report.seconds.total += before
    if report.asked is not None:
        report.asked = replace(report.asked, timeout=timeout)
    return tell(report, loaded, tuned, written, quiet)


def _unread(
    stop: LimitError,
    scenario: str,
    formula: str | None,
    parameters: dict[str, str],
    options: dict[str, Any],
    json_path: str | None,
    quiet: bool,
) -> int:
    """Tell that a limit was met before there was a system to ask about; the exit status."""
    from venmas.engine.modes import DEFAULT
    from venmas.engine.report import Asked, Report, Verdict
    from venmas.report.text import print_report, print_verdict

    names = ("solver", "timeout", "memory", "invariant")
    report = Report(
        Verdict.UNKNOWN,
        formula or "",
        scenario,
        options["mode"] or DEFAULT,
        reason=stop.reason,
        message=str(stop),
        trust=options["trust"],
        semantics="float32" if options["semantics"] == "float32" else "real",
        parameters=parameters,
        asked=Asked(formula or "", *(options[name] for name in names)),
    )
    report.seconds.total = options["timeout"]
    failed = store_json(json_path, report.to_json(), "--json")
    if json_path != STDOUT:
        if quiet:
            print_verdict(console(), report)
        else:
            print_report(console(), report, None)
    if failed:
        raise failed
    return UNKNOWN


def _log_solvers(preference: str) -> None:
    """Say which solvers procedures can use, if they ask for one; raises what `solver_order` raises."""
    from venmas.solvers import AUTO, get_solver, solver_names, solver_order

    if preference == AUTO and not log.isEnabledFor(logging.INFO):
        return  # to know that a solver is there it is imported, which takes longer than many a verdict
    chosen = solver_order(preference)
    if not log.isEnabledFor(logging.INFO):
        return
    for solver in chosen:
        limit = solver.features.size_limit
        size = f" (programs of at most {limit.variables} variables: its licence)" if limit else ""
        log.info("solver %s %s can be used%s", solver.name, solver.version(), size)
    if preference == AUTO:
        for name in solver_names():
            if (problem := get_solver(name).available()) is not None:
                log.info("solver %s is passed over: %s", name, problem)
