"""The facts of a page, section by section, as names with values and as tables."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from venmas.engine.report import Report, Verdict
from venmas.errors import FormulaError
from venmas.logic import Formula, nnf, parse
from venmas.logic.printing import to_short_text
from venmas.model.expr import Output
from venmas.model.show import group_name, kind_of, number, region_text, variable_groups
from venmas.model.system import System
from venmas.nn import Network
from venmas.report.tables import Table

Facts = list[tuple[str, str]]
_MOST_TEXT = 2000
_MOST_ITEMS = 200
_TRUST = {
    "auto": "auto: where a solver decided, a proof in exact numbers is looked for, too",
    "exact": "exact: nothing but a proof in exact numbers counts",
    "solver": "solver: the word of a solver counts",
}
_SOLVING = ("mono", "comp-seq", "comp-par")


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
        parsed = parse(report.formula, system.vocabulary)
        if written and not _reads_as(asked, parsed, system):
            found[0] = ("as written, which reads as another one now", asked)
        found.append(("looks ahead", f"{parsed.depth} step{'' if parsed.depth == 1 else 's'}"))
        found.append(("negation normal form", to_short_text(nnf(parsed), _MOST_TEXT)))
        found.append(("what a counterexample has to show", to_short_text(nnf(parsed, negate=True), _MOST_TEXT)))
    except FormulaError as error:
        found.append(("not of this system", error.problem))
    return found


def _reads_as(text: str, formula: Formula, system: System) -> bool:
    """Is the text, or the property that it names, that formula?"""
    try:
        return parse(system.properties.get(text.strip(), text), system.vocabulary) == formula
    except FormulaError:
        return False


def proof_facts(report: Report) -> Facts:
    """How it was decided, and what that took."""
    counts, largest, graph, seconds = report.subproblems, report.largest_program, report.graph, report.seconds
    solving = report.mode in _SOLVING
    found: list[tuple[str, str]] = [
        ("mode", report.mode + (f", {report.encoding} encoding, {report.bounds} bounds" if solving else "")),
        ("solver", ", ".join(f"{n} {v}".strip() for n, v in report.solvers.items()) or "none was needed"),
        ("trust", _TRUST.get(report.trust, report.trust)),
        (
            "networks compute in",
            "float32, any order of operations" if report.semantics == "float32" else "real numbers",
        ),
    ]
    if report.workers > 1:
        found.append(("workers", str(report.workers)))
    if report.asked and (report.asked.timeout or report.asked.memory):
        limits = [f"{report.asked.timeout:g} s"] if report.asked.timeout else []
        limits += [f"{report.asked.memory} MB"] if report.asked.memory else []
        found.append(("limits", ", ".join(limits)))
    if graph.passes:
        text = f"{_count(graph.nodes, 'node')} and {_count(graph.pieces, 'piece')} in {_count(graph.passes, 'pass')}"
        found.append(("reach graph", text))
    if counts.created or counts.discarded:
        skipped = f"{counts.skipped} known from a journal, " if counts.skipped else ""
        found.append(
            (
                "subproblems",
                f"{counts.created} created, {counts.discarded} discarded by bounds, {counts.solved} solved, "
                f"{skipped}{counts.cancelled} cancelled; depth {report.depth}",
            )
        )
    if largest.variables:  # none was made where a journal knew them all
        sizes = f"{_count(largest.variables, 'variable')} ({largest.binaries} binary), "
        found.append(("largest program", sizes + _count(largest.constraints, "constraint")))
    phases = {n: getattr(seconds, n) for n in ("encode", "solve", "prove", "replay")}
    spent = ", ".join(f"{n} {v:.3g} s" for n, v in phases.items() if v)
    found.append(("time", f"{seconds.total:.3g} s" + (f" ({spent})" if spent else "")))
    found.append(("peak memory", f"{report.peak_rss_mb:.0f} MB"))
    if (stored := report.certificate) is not None:
        found.append(("certificate", f"{stored.path}, {stored.lines} lines, {stored.size / 1000:.1f} kB"))
    elif report.verdict is Verdict.SATISFIED:
        found.append(("certificate", "none was written; --certificate FILE writes one"))
    return found


def machine_facts(report: Report) -> Facts:
    """When, and on what."""
    named = {"system": "operating system"}
    found = [("started", report.started)] if report.started else []
    found += [(named.get(name, name), text) for name, text in (report.machine or {}).items()]
    return found + list((report.versions or {}).items())


def _count(value: int, what: str) -> str:
    plural = what + ("es" if what.endswith("s") else "s")
    return f"{value} {what if value == 1 else plural}"


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
    groups = variable_groups(system)
    rows = tuple(
        (
            group_name(group),
            kind_of(group[0]),
            f"{number(group[0].lower)} .. {number(group[0].upper)}",
            group[0].unit,
            ", ".join(f"{value} {text}" for value, text in group[0].labels),
        )
        for group in groups[:_MOST_ITEMS]
    )
    left = len(groups) - len(rows)
    variables = Table(
        "Variables", ("name", "kind", "range", "unit", "labels"), rows, 1, f"{left} more are left out." if left else ""
    )
    initial = [region_text(system, region) for region in system.regions[:_MOST_ITEMS]]
    if len(system.regions) > len(initial):
        initial.append(f"and {len(system.regions) - len(initial)} more sets")
    propositions = tuple((n, to_short_text(f, _MOST_TEXT)) for n, f in list(system.propositions.items())[:_MOST_ITEMS])
    return SystemTables(
        parameter_table(report, defaults), variables, network_table(report, system), tuple(initial), propositions
    )


def network_table(report: Report, system: System) -> Table | None:
    """Files, sizes and digests of the networks that the system applies."""
    files = {digest: name for name, digest in report.origin.digests.items()} if report.origin else {}
    found: dict[str, Network] = {}
    for _, node in system.nodes():
        if isinstance(node, Output):
            found.setdefault(node.application.network.digest, node.application.network)
    rows = sorted((files.get(d, n.name), _sizes(n), str(_units(n)), n.dtype, d) for d, n in found.items())
    head = ("file", "layers", "ReLU nodes", "weights", "sha256 of the weights")
    return Table("Networks", head, tuple(rows)) if rows else None


def _sizes(network: Network) -> str:
    """``3-20x5-9``: inputs, equal layers counted, outputs."""
    parts: list[list[int]] = []
    for size in network.sizes:
        if parts and parts[-1][0] == size:
            parts[-1][1] += 1
        else:
            parts.append([size, 1])
    return "-".join(f"{size}x{times}" if times > 1 else str(size) for size, times in parts)


def _units(network: Network) -> int:
    return sum(layer.out_size for layer in network.layers if layer.activation == "relu")


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
    if report.mode in _SOLVING:
        yield from ("--encoding", report.encoding, "--bounds", report.bounds)
    if report.trust != "auto":
        yield from ("--trust", report.trust)
    if report.semantics != "real":
        yield from ("--semantics", report.semantics)
    if report.certificate is not None:
        yield from ("--certificate", report.certificate.path)
    if report.asked:
        if report.asked.solver != "auto":
            yield from ("--solver", report.asked.solver)
        if report.asked.timeout:
            yield from ("--timeout", f"{report.asked.timeout:g}")
        if report.asked.memory:
            yield from ("--memory", str(report.asked.memory))
    if report.workers > 1:
        yield from ("--workers", str(report.workers))
