"""The facts of a page, section by section, as names with values and as tables."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from venmas.engine.report import Report, Verdict
from venmas.errors import FormulaError
from venmas.logic import Formula, fixpoints, parse_property
from venmas.logic.printing import to_short_text
from venmas.model.expressions.expr import Output
from venmas.model.show import group_name, initial_texts, kind_of, number, variable_groups
from venmas.model.system.system import System
from venmas.nn import Network
from venmas.report.figures import PROCEDURES, Facts, figures, procedure_rows
from venmas.report.tables import Table
from venmas.runtime.choices import SEMANTICS, TRUSTS

_MOST_TEXT = 2000
_MOST_ITEMS = 200


def property_facts(report: Report, system: System | None) -> Facts:
    """The formula as written and rewritten, and the propositions that it names."""
    asked = report.asked.formula if report.asked else ""
    found = [("formula", report.formula)]
    written = bool(asked.strip()) and " ".join(asked.split()) != report.formula
    if written:
        found.insert(0, ("as written", asked))
    if system is None:
        return found
    try:
        parsed = parse_property(report.formula, system.vocabulary).formula
        if written and not _reads_as(asked, parsed, system):
            found[0] = ("as written, which reads as another one now", asked)
        ahead = parsed.horizon
        found.append(("looks ahead", "for ever" if ahead is None else f"{ahead} step{'' if ahead == 1 else 's'}"))
        found.append(("negation normal form", to_short_text(fixpoints(parsed), _MOST_TEXT)))
        found.append(("what a counterexample has to show", to_short_text(fixpoints(parsed, negate=True), _MOST_TEXT)))
    except FormulaError as error:
        found.append(("not of this system", error.problem))
    return found


def _reads_as(text: str, formula: Formula, system: System) -> bool:
    """Is the text, or the property that it names, that formula?"""
    try:
        return parse_property(system.properties.get(text.strip(), text), system.vocabulary).formula == formula
    except FormulaError:
        return False


def proof_facts(report: Report) -> Facts:
    """How it was decided, and what that took."""
    found = figures(report)
    if not report.solvers:
        found.append(("solver", "none was needed"))
    found.append(("trust", f"{report.trust}: {TRUSTS[report.trust]}" if report.trust in TRUSTS else report.trust))
    found.append(("networks compute in", f"{report.semantics}: {SEMANTICS[report.semantics]}"))
    if report.asked and (report.asked.timeout or report.asked.memory):
        limits = [f"{report.asked.timeout:g} s"] if report.asked.timeout else []
        limits += [f"{report.asked.memory} MB"] if report.asked.memory else []
        found.append(("limits", ", ".join(limits)))
    if report.certificate is None and report.verdict is Verdict.SATISFIED:
        found.append(("certificate", "none was written; --certificate FILE writes one"))
    return found


def procedure_table(report: Report) -> Table | None:
    """The procedures of the mode: how long each had, and why it did not decide."""
    rows = procedure_rows(report)[:_MOST_ITEMS]
    return Table("Procedures", PROCEDURES, tuple(rows)) if rows else None


def machine_facts(report: Report) -> Facts:
    """When, and on what."""
    named = {"system": "operating system"}
    facts = [("started", report.started)] if report.started else []
    facts += [(named.get(name, name), text) for name, text in (report.machine or {}).items()]
    return facts + list((report.versions or {}).items())


@dataclass(frozen=True)
class SystemTables:
    """A system, without its equations."""

    parameters: Table | None
    variables: Table
    networks: Table | None
    initial: tuple[str, ...]
    propositions: tuple[tuple[str, str], ...]


def parameter_table(report: Report, defaults: Mapping[str, tuple[str, str, str]]) -> Table | None:
    """defaults: default, unit and meaning by name."""
    rows = []
    for name, value in report.parameters.items():
        default, unit, told = defaults.get(name, ("", "", ""))
        rows.append((name, value, unit, "" if value == default else default, told))
    return Table("Parameters", ("name", "value", "unit", "changed from", "meaning"), tuple(rows)) if rows else None


def system_tables(report: Report, system: System, defaults: Mapping[str, tuple[str, str, str]]) -> SystemTables:
    """What the system declares."""
    initial = initial_texts(system, _MOST_ITEMS)
    propositions = tuple((n, to_short_text(f, _MOST_TEXT)) for n, f in list(system.propositions.items())[:_MOST_ITEMS])
    return SystemTables(
        parameter_table(report, defaults),
        variable_table(system),
        network_table(report, system),
        tuple(initial),
        propositions,
    )


def variable_table(system: System) -> Table:
    """The variables, vectors of equal ones in one row."""
    groups = variable_groups(system)
    rows = tuple(
        (
            group_name(group),
            kind_of(system, group[0]),
            f"{number(group[0].lower)} .. {number(group[0].upper)}",
            group[0].unit,
            ", ".join(f"{value} {text}" for value, text in group[0].labels),
        )
        for group in groups[:_MOST_ITEMS]
    )
    left = len(groups) - len(rows)
    head = ("name", "kind", "range", "unit", "labels")
    return Table("Variables", head, rows, 1, f"{left} more are left out." if left else "")


def network_table(report: Report, system: System) -> Table | None:
    """Files, sizes and digests of the networks that the system applies."""
    files = {digest: name for name, digest in report.origin.digests.items()} if report.origin else {}
    found: dict[str, Network] = {}
    for _, node in system.nodes():
        if isinstance(node, Output):
            found.setdefault(node.application.network.digest, node.application.network)
    rows = sorted((files.get(d, n.name), _sizes(n), str(n.relu_count), n.dtype, d) for d, n in found.items())
    head = ("file", "layers", "ReLU nodes", "weights", "sha256 of the weights")
    return Table("Networks", head, tuple(rows)) if rows else None


def file_table(report: Report) -> Table | None:
    """The files that the system was made of."""
    rows = tuple(report.origin.files.items())[:_MOST_ITEMS] if report.origin else ()
    return Table("Files", ("file", "sha256"), rows) if rows else None


def _sizes(network: Network) -> str:
    """``3-20x5-9``: inputs, equal layers counted, outputs."""
    parts: list[list[int]] = []
    for size in network.sizes:
        if parts and parts[-1][0] == size:
            parts[-1][1] += 1
        else:
            parts.append([size, 1])
    return "-".join(f"{size}x{times}" if times > 1 else str(size) for size, times in parts)


def reproduce(report: Report, result: str, defaults: Mapping[str, tuple[str, str, str]]) -> list[tuple[str, str]]:
    """Commands with what they do; none where the system was made in Python."""
    if report.origin is None:
        return []
    options = ["--scenario", report.origin.scenario, *_options(report, defaults)]
    found = [("decide it again", shlex.join(["venmas", "verify", *options]))]
    again = ["--scenario", report.origin.scenario] if report.origin.scenario.endswith(".py") else []
    if report.origin.networks is not None:  # neither is taken from a stored file
        again += ["--networks", report.origin.networks]
    if report.verdict is Verdict.VIOLATED:
        found.append(("compute the counterexample anew", shlex.join(["venmas", "replay", result, *again])))
    if report.certificate is not None:
        told = list(_parameters(report, defaults)) if report.origin.scenario.endswith(".py") else []
        found.append(("check the certificate", shlex.join(["venmas", "check", report.certificate.path, *again, *told])))
    return found


def _parameters(report: Report, defaults: Mapping[str, tuple[str, str, str]]) -> Iterator[str]:
    for name, value in report.parameters.items():
        if value != defaults.get(name, ("",))[0]:
            yield from ("--set", f"{name}={value}")


def _options(report: Report, defaults: Mapping[str, tuple[str, str, str]]) -> Iterator[str]:
    yield from _parameters(report, defaults)
    if report.origin and report.origin.networks is not None:
        yield from ("--networks", report.origin.networks)
    yield from ("--formula", report.formula, "--mode", report.mode)
    if report.trust != "auto":
        yield from ("--trust", report.trust)
    if report.semantics != "real" or report.deployed is not None:
        yield from ("--semantics", "both" if report.deployed is not None else report.semantics)
    if report.certificate is not None:
        yield from ("--certificate", report.certificate.path)
    if report.asked:
        if report.asked.solver != "auto":
            yield from ("--solver", report.asked.solver)
        if report.asked.invariant:
            yield from ("--invariant", report.asked.invariant)
        for name, value in report.asked.options.items():
            yield from ("--set", f"{name}={value}")
        for name, value in report.asked.tune.items():
            yield from ("--tune", f"{name}={value}")
        if report.asked.timeout:
            yield from ("--timeout", f"{report.asked.timeout:g}")
        if report.asked.memory:
            yield from ("--memory", str(report.asked.memory))
    if report.workers > 1:
        yield from ("--workers", str(report.workers))
