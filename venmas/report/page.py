"""The page: facts put into the template; nothing that a result file holds can leave its place in it."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import inf
from typing import TYPE_CHECKING

from venmas._version import __version__
from venmas.checker.format.lines import Checked
from venmas.engine.report import Report, Verdict
from venmas.errors import UsageError, install
from venmas.model.circuit.nodes import Circuit
from venmas.model.show import precise
from venmas.model.system.system import System
from venmas.model.witness.float_run import FloatRun
from venmas.model.witness.replay import Replay
from venmas.procedure import Subject
from venmas.procedures.predicate_abstraction.refinement.drawing import Drawn
from venmas.report.abstraction import Abstraction, abstraction_of, shown
from venmas.report.assumptions import assumptions, trusted
from venmas.report.equations import equations
from venmas.report.figures import Facts
from venmas.report.linear import shown as shown_linear
from venmas.report.partial import how_far, next_questions
from venmas.report.sections import (
    file_table,
    machine_facts,
    parameter_table,
    procedure_table,
    proof_facts,
    property_facts,
    reproduce,
    system_tables,
)
from venmas.report.tables import initial_table, margin_table, trace_tables
from venmas.report.words import REASONS, SIGNS, basis, meaning, remedies, where

if TYPE_CHECKING:
    from jinja2 import Environment

    from venmas.report.graph_picture import Picture

_MOST_TEXT = 8000


@dataclass(frozen=True)
class Checks:
    """What was found out anew for the page, rather than read from the result.

    replay: of the counterexample. certificate: what was checked; refused: in words, why that is no proof. same_system:
    whether the scenario describes the system of the result still (None: not known). other_networks: files that differ
    from those of the result. undescribed: why there is no system.
    """

    replay: Replay | None = None
    certificate: Checked | None = None
    refused: str = ""
    same_system: bool | None = None
    other_networks: tuple[str, ...] = ()
    undescribed: str = ""


@dataclass(frozen=True)
class Source:
    """The result file: its name, and the sha256 of its content where there is one."""

    name: str
    digest: str = ""


def doubt(checks: Checks) -> str:
    """Why the verdict of the file is not confirmed, or nothing."""
    if checks.replay is not None and not checks.replay.confirmed:
        return f"the counterexample in the file does not replay: {checks.replay.reason}"
    return checks.refused


def cautions(report: Report, checks: Checks) -> list[str]:
    """What makes the system of the page another one than that of the result, as far as is known."""
    found = []
    if checks.same_system is None and report.origin is not None and not checks.undescribed:
        found.append(
            "Take care: the file has no digest of the system, so that nothing tells whether the scenario still "
            "describes the one of the result."
        )
    if checks.same_system is False:
        found.append(
            "Take care: the scenario now describes another system than the one of the result; the section on the "
            "system shows what it describes now."
        )
    if checks.other_networks:
        found.append(f"Take care: the networks are not those of the result: {', '.join(checks.other_networks)} differ.")
    return found


def html_page(
    report: Report,
    subject: Subject | None,
    source: Source,
    checks: Checks,
    drawings: Sequence[Picture] = (),
    no_drawings: str = "",
    defaults: Mapping[str, tuple[str, str, str]] | None = None,
) -> str:
    """The page as HTML text that needs nothing else: no other file, no network, no JavaScript.

    subject: what the result is about, None where it can not be had (`Checks.undescribed` says why). drawings: pictures,
    or why there are none. defaults: default, unit and meaning of the parameters of the scenario by name. Raises
    `UsageError` without jinja2.
    """
    problem, system = doubt(checks), subject if isinstance(subject, System) else None
    verdict = Verdict.UNKNOWN if problem else report.verdict
    witness = None if problem else report.witness
    replay = checks.replay or report.replay
    trace, places = trace_tables(system, witness) if witness else ([], {})
    known = {} if defaults is None else defaults
    files = {digest: name for name, digest in report.origin.digests.items()} if report.origin else {}
    return rendered(
        "page.html",
        report=report,
        verdict=verdict.value,
        sign=SIGNS[verdict],
        meaning=meaning(verdict, report.kind),
        where=where(report),
        linear=None if problem else shown_linear(report, subject),
        basis="" if problem else " ".join(basis(report, system)),
        doubt=problem,
        reason=REASONS.get(report.reason, ""),
        how_far=how_far(report) if verdict is report.verdict is Verdict.UNKNOWN else [],
        remedies=[*next_questions(report), *remedies(report)] if verdict is report.verdict is Verdict.UNKNOWN else [],
        checked=_checked(report, checks),
        property_facts=property_facts(report, system),
        trace=trace,
        replayed=checks.replay is not None,
        initial=initial_table(system, witness) if witness else None,
        margins=margin_table(witness, places) if witness else None,
        replays=_replays(replay) if witness and replay else [],
        drawings=[(d.title, d.alt, _data_uri(d.svg)) for d in drawings],
        no_drawings=no_drawings,
        system=system,
        undescribed=checks.undescribed,
        tables=system_tables(report, system, known) if system else None,
        parameters=parameter_table(report, known),
        equations=equations(system, files) if system else None,
        trusted=[] if problem else trusted(report, system),
        assumptions=assumptions(report, subject),
        circuit=subject if isinstance(subject, Circuit) else None,
        proof_facts=proof_facts(report),
        procedures=procedure_table(report),
        abstraction=abstraction_of(report.invariant),
        files=file_table(report),
        machine_facts=machine_facts(report),
        commands=reproduce(report, source.name, known),
        source=source,
    )


def rendered(template: str, **facts: object) -> str:
    """A template of this folder with facts in it. Raises `UsageError` without jinja2."""
    return str(_environment().get_template(template).render(data_uri=_data_uri, version=__version__, **facts))


def abstract_page(scenario: str, asked: str, counts: Facts, predicates: Sequence[str], graph: Drawn) -> str:
    """The page of one abstract graph as HTML text that needs nothing else. asked: what makes states unsafe.

    Raises `UsageError` without jinja2.
    """
    picture, states, dot = shown(graph, "The abstract graph")
    return rendered(
        "abstract.html",
        scenario=scenario,
        asked=asked,
        counts=counts,
        predicates=predicates,
        abstraction=Abstraction(None, picture, states, dot, ""),
    )


def _checked(report: Report, checks: Checks) -> list[str]:
    """What the page does not merely repeat, and what it does."""
    found = []
    if report.verdict is Verdict.VIOLATED:
        if checks.replay is None:
            found.append("The counterexample is shown as the file has it: it was not computed anew for this page.")
        elif checks.replay.confirmed:
            found.append(
                f"The counterexample was computed anew for this page, {checks.replay.how}: it shows the violation."
            )
    if checks.certificate is not None:
        found.append(
            f"The certificate was checked for this page, line by line ({checks.certificate.lines}): it proves it."
        )
    elif report.verdict is Verdict.SATISFIED and not checks.refused:
        known = "its certificate was not checked" if report.certificate else "there is no certificate to check"
        found.append(
            f"The verdict is that of the result file; the proof was not done again, and {known} for this page."
        )
    if checks.same_system:
        found.append("The scenario still describes the system of the result (the digests are equal).")
    return found + cautions(report, checks)


def _replays(replay: Replay) -> Facts:
    margin = "" if replay.margin is None else f", margin {precise(replay.margin)}"
    found = [(replay.how, f"violated{margin}" if replay.confirmed else f"not violated: {replay.reason}")]
    return found + [(f"in {p}, by {run.runtime}", _float_run(run)) for p, run in (replay.floats or {}).items()]


def _float_run(run: FloatRun) -> str:
    said = "violated" if run.violated else "not violated"
    differ = (
        "states differ without limit" if run.difference == inf else f"states differ by at most {run.difference:.2g}"
    )
    return f"{said}, {differ}"


def _data_uri(svg: str) -> str:
    """The picture inside the page: as an image it can neither run scripts nor load anything."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode("utf-8", "replace")).decode()


@dataclass(frozen=True)
class _Cleaner:
    """Texts as they may stand on a page: no control characters, no change of direction, no endless lines."""

    most: int = field(default=_MOST_TEXT)

    def __call__(self, value: object) -> object:
        if value is None:
            return ""
        if type(value) is not str or value.startswith("data:image/svg+xml;base64,"):
            return value  # markup, which was escaped when it was made
        if len(value) <= self.most and value.isprintable():
            return value
        if len(value) > self.most:
            value = f"{value[: self.most]} ... ({len(value) - self.most} more characters)"
        return "".join(c if c == "\n" or c.isprintable() else repr(c)[1:-1] for c in value)


@cache
def _environment() -> Environment:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise UsageError(f"pages need jinja2: {install('report')}") from error
    return Environment(
        loader=PackageLoader("venmas.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_Cleaner(),
        trim_blocks=True,
        lstrip_blocks=True,
    )
