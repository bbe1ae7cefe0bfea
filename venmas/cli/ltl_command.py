"""``venmas ltl``: linear temporal logic of circuits, over unbounded time."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import click

from venmas.cli.apart import check_apart, check_kept
from venmas.cli.design_options import Asked, design_options
from venmas.cli.limits import reading
from venmas.cli.ltl_options import output_options, proof_options, question_options, start_options
from venmas.cli.main import SATISFIED, UNKNOWN, VIOLATED
from venmas.cli.output import STDOUT, check_writable, console, nothing_to_write, store_json, store_text
from venmas.cli.table import Command, refuse
from venmas.errors import CircuitError, UsageError

if TYPE_CHECKING:
    from venmas.circuit.nodes import Circuit
    from venmas.engine.ltl import LtlReport
    from venmas.ltl.trust import Trust

log = logging.getLogger(__name__)


@click.command("ltl", cls=Command)
@design_options
@start_options
@question_options
@proof_options
@output_options
def command(
    asked: Asked,
    init: str | None,
    begin: str,
    text: str | None,
    justice: int | None,
    bad: int | None,
    fair: tuple[str, ...],
    automaton_only: bool,
    trust: Trust,
    certificate: str | None,
    learner: str,
    network: str | None,
    timeout: float | None,
    json_path: str | None,
    witness_path: str | None,
    page_path: str | None,
    journal: str | None,
    show: bool,
    quiet: bool,
) -> int:
    """Decide whether every run of a design or scenario satisfies a property in LTL.

    Satisfied: by a ranking function for each accepting component of the automaton of the negated property, by an
    invariant that keeps runs away from it, or by a search of all states. Violated: by a lasso, a run into a loop, that
    was replayed. Exit status: 0 satisfied, 10 violated, 20 unknown.
    """
    _one_question(text, justice, bad)
    if automaton_only:
        if text is None:
            raise UsageError("--automaton-only shows the automaton of a formula: give it with --property")
        refuse("verdict", "--automaton-only decides nothing")
        return _print_automaton(text, fair)
    written = {"--json": json_path, "--witness": witness_path, "--html": page_path, "--certificate": certificate}
    written |= {"--network": network, "--journal": journal}
    for option, target in written.items():
        check_writable(target, option)
    check_apart(written)
    if witness_path is not None and Path(witness_path).suffix not in (".vcd", ".json"):
        raise UsageError(f"--witness {witness_path!r}: a name that ends in .vcd (a waveform) or .json is expected")

    from venmas.budget import Budget
    from venmas.cli.ltl_render import describe, print_report
    from venmas.cli.progress import ProgressLine
    from venmas.engine.ltl import verify_ltl_of_design

    if asked.scenario is not None:
        from venmas.cli.ltl_scenario import ask_scenario

        return ask_scenario(asked, str(text), fair, timeout, written, quiet)
    begun = perf_counter()
    check_kept(written, [("the design", asked.path)])
    with reading(timeout, *written.values()) as left:
        asked_names = [*filter(None, (text, init)), *fair]
        path, circuit, properties = asked.read(Budget(timeout), trust != "solver", asked_names)
        chosen = None if text is None else properties.get(text, text)
        circuit, formula, assumed = _question(circuit, chosen, justice, bad)
    if asked.machine is not None and certificate is not None:
        log.warning("the certificate is about the netlist, whose constraints are the proved ranges of the machine")
    with ProgressLine(wanted=not quiet, tell=describe) as line:
        report = verify_ltl_of_design(
            circuit,
            formula,
            init=init,
            initial=begin == "initial",
            fair=[*fair, *assumed],
            trust=trust,
            certificate=certificate,
            learner=learner,
            journal=journal,
            anew=network is not None,
            timeout=left(),
            progress=line.update,
            design=path,
            frontend=perf_counter() - begun,
        )
    problems = _store(report, json_path, witness_path, page_path, network, certificate)
    if json_path != STDOUT:
        print_report(console(), report, quiet=quiet, show=show)
    if problems:  # the verdict is known all the same
        raise UsageError("; ".join(problems))
    return {"satisfied": SATISFIED, "violated": VIOLATED}.get(report.verdict.value, UNKNOWN)


def _one_question(text: str | None, justice: int | None, bad: int | None) -> None:
    given = {"--property": text, "--justice": justice, "--bad": bad}
    asked = [option for option, value in given.items() if value is not None]
    if not asked:
        raise UsageError(
            "no question is given: write a formula with --property 'F G !rst -> G F done', or ask a line of the "
            "netlist with --justice N or --bad N (the first is 0)"
        )
    if len(asked) > 1:
        raise UsageError(f"{' and '.join(asked)} are several questions: ask one at a time")


def _question(
    circuit: Circuit, text: str | None, justice: int | None, bad: int | None
) -> tuple[Circuit, str, tuple[str, ...]]:
    """The circuit, the formula, and the conditions of fairness that come with the question."""
    from venmas.ltl.asked import bad_asked, justice_asked

    if justice is not None:
        return justice_asked(circuit, justice)
    if bad is not None:
        return (*bad_asked(circuit, bad), ())
    return circuit, str(text), ()


def _print_automaton(text: str, fair: tuple[str, ...]) -> int:
    from venmas.logic.ltl_parser import parse_ltl
    from venmas.ltl.hoa import to_dot, to_hoa
    from venmas.ltl.translate import refuting

    automaton = refuting(parse_ltl(text), map(parse_ltl, fair))
    name = f"not ({text})"
    console().print(to_hoa(automaton, name), end="", soft_wrap=True)
    console().print(to_dot(automaton, name), end="", soft_wrap=True)
    return SATISFIED


def _store(
    report: LtlReport,
    json_path: str | None,
    witness_path: str | None,
    page_path: str | None,
    network: str | None,
    certificate: str | None,
) -> list[str]:
    """Write the files that were asked for, each whatever becomes of the others; what could not be written, and why."""
    data = report.to_json()
    failed = [store_json(json_path, data, "--json")]
    problems: list[str] = []
    if report.stored is None:
        if report.satisfied and certificate is not None:
            problems.append(f"--certificate: {report.note or 'none was written'}")
        else:
            problems += nothing_to_write(certificate, "--certificate", "proof")
    if report.lasso is None:
        problems += nothing_to_write(witness_path, "--witness", "lasso")
    elif witness_path is not None and witness_path.endswith(".json"):
        failed.append(store_json(witness_path, data, "--witness"))
    elif witness_path is not None:
        from venmas.ltl.waveform import to_vcd

        failed.append(store_text(witness_path, partial(to_vcd, report.lasso, report.design), "--witness"))
    if page_path is not None:
        from venmas.report.ltl import ltl_page

        failed.append(store_text(page_path, partial(ltl_page, report), "--html"))
    if network is not None:
        failed.append(_write_network(network, report))
    return [*problems, *(str(error) for error in failed if error)]


def _write_network(path: str, report: LtlReport) -> UsageError | None:
    from venmas.ltl.ranking.relu import write_onnx

    if not report.ranked:
        return UsageError("--network: there is no rank to write, as no ranking function was needed or found")
    try:
        write_onnx([one.network for one in report.ranked], path)
    except (CircuitError, OSError) as error:
        return UsageError(f"--network: cannot write {path!r}: {getattr(error, 'strerror', None) or error}")
    return None
