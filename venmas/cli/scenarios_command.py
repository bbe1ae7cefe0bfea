"""``venmas scenarios``: what there is to verify, and everything a user may write about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from venmas.cli.jani_models import is_jani, without_policy
from venmas.cli.options import check_read, find_scenario, read_settings, verbose_option
from venmas.cli.table import Command, refuse

if TYPE_CHECKING:
    from rich.console import Console

    from venmas.errors import VenmasError
    from venmas.model import Scenario
    from venmas.model.system.system import Agent, System
    from venmas.model.system.variables import VariableDecl


@click.command("scenarios", cls=Command)
@click.argument("name", required=False, metavar="[NAME|FILE]")
@click.option("--set", "settings", metavar="NAME=VALUE", multiple=True, help="Set a parameter; repeatable.")
@click.option("--networks", metavar="DIR", help="Take the networks from this folder.")
@verbose_option
def command(name: str | None, settings: tuple[str, ...], networks: str | None) -> None:
    """List the scenarios; with a name, describe one.

    The description has the parameters with their defaults, and the variables, agents, branches, initial states,
    propositions and named properties.
    """
    from venmas.cli.output import console
    from venmas.errors import NetworkError, ScenarioError, VenmasError
    from venmas.formats.designs import design_names, load_design
    from venmas.model import NetworkFolder, load_scenario, scenario_names

    out = console()
    if name is None:
        refuse("scenario", "none is named", "name one")
        from venmas.report.text_tables import print_table

        rows = [[n, load_scenario(n).description.partition("\n")[0]] for n in scenario_names()]
        print_table(out, ["scenario", "what it is"], rows, wrap=True)
        designs = [[n, load_design(n).description.partition("\n")[0]] for n in design_names()]
        out.print()
        print_table(out, ["design", "what it is, for formulas of LTL"], designs, wrap=True)
        out.print("`venmas scenarios NAME` describes one; --scenario FILE.py loads one of your own.")
        return
    asked = read_settings(settings)
    if name in design_names():
        _design(out, load_design(name), asked)
        return
    given: Mapping[str, str] = asked
    model, closed = None, ""
    try:
        loaded, given = find_scenario(name, asked, networks)
        model = _model(loaded, given) if is_jani(name) else None
    except VenmasError as error:
        loaded, closed = _without_policy(name, asked, error), str(error)
        given = {key: value for key, value in asked.items() if not key.startswith("jani.")}
        try:
            model = _model(loaded, given)
        except VenmasError:
            raise error from None
    lacking = _lacking(loaded, given)
    if not lacking:
        loaded.values(given)
    for paragraph in (loaded.description or f"{loaded.name} (its file has no docstring)").split("\n\n"):
        prose = not any(line.startswith((" ", "-", "*")) for line in paragraph.splitlines())
        out.print((" ".join(paragraph.split()) if prose else paragraph) + "\n")
    out.print(f"File: {loaded.path}", soft_wrap=True)
    if (readme := loaded.path.with_name("README.md")).is_file() and loaded.path.stem == "scenario":
        out.print(f"About it: {readme}", soft_wrap=True)
    if closed:
        out.print(f"Its policy cannot be read: {closed}; what follows has every action free", soft_wrap=True)
    else:
        out.print(f"Networks: {networks or loaded.networks}", soft_wrap=True)
    _parameters(out, loaded)
    _lines(out, loaded.remarks)
    if unsure := getattr(loaded, "unsure", ""):
        out.print(f"No property is chosen, and initial states are those of the model: {unsure}", soft_wrap=True)
    if lacking:
        out.print(f"\nIts variables and properties are known once {', '.join(lacking)} have values: --set NAME=VALUE")
        return
    try:
        folder = NetworkFolder(networks or loaded.networks)
        system = model or loaded.system(folder, **given)
        check_read(folder, networks, name)
    except (NetworkError, ScenarioError) as error:
        if given or networks or not isinstance(error, NetworkError):
            raise
        out.print(f"\nIts variables and properties are known once its networks are there: {error}", soft_wrap=True)
        return
    _lines(out, tuple(f"Note: {note}" for note in loaded.notes))
    _system(out, system)


def _design(out: Console, design: Scenario, given: Mapping[str, str]) -> None:
    """A bundled design: what it is, its parameters, signals and properties."""
    from venmas.engine.subjects import load_circuit
    from venmas.model.circuit.properties import property_names

    out.print(design.description or design.name, soft_wrap=True)
    out.print(f"\nFile: {design.path}", soft_wrap=True)
    _parameters(out, design)
    circuit = load_circuit(design.name, given)
    out.print("\nSignals", style="bold")
    for name, node in circuit.names.items():
        out.print(f"  {name}: {circuit.width(node)} bits", soft_wrap=True)
    out.print("\nProperties (--formula NAME)", style="bold")
    for name in property_names(circuit):
        out.print(f"  {name}: {circuit.properties.get(name, 'a line of the netlist')}", soft_wrap=True)


def _lacking(scenario: Scenario, given: Mapping[str, object]) -> list[str]:
    """Parameters that have no value yet."""
    return [p.name for p in scenario.parameters if p.required and p.name not in given]


def _model(scenario: Scenario, given: Mapping[str, object]) -> System | None:
    """The system of a JANI model, None where constants have no values yet; without a property where none is chosen."""
    from venmas.formats.jani.load import JaniScenario

    if _lacking(scenario, given):
        return None
    if isinstance(scenario, JaniScenario) and scenario.unsure:
        return replace(scenario, unsure="").built(**given).system
    return scenario.system(None, **given)


def _without_policy(name: str, asked: Mapping[str, str], error: VenmasError) -> Scenario:
    """The JANI model with every action free, where that can be read; else what went wrong with it."""
    try:
        found = without_policy(name, asked) if is_jani(name) else None
    except type(error):
        found = None
    if found is None:
        raise error
    return found


def _lines(out: Console, lines: tuple[str, ...]) -> None:
    for line in ("", *lines) if lines else ():
        out.print(line, soft_wrap=True)


def _parameters(out: Console, scenario: Scenario) -> None:
    from venmas.formats.jani.settings import PREFIX, READING
    from venmas.report.text_tables import print_table

    if is_jani(str(scenario.path)):
        out.print("\nHow it is read (--set NAME=VALUE)", style="bold")
        table = [[PREFIX + p.name, p.default_text, p.help] for p in READING]
        print_table(out, ["name", "default", "meaning"], table, wrap=True)
    if not scenario.parameters:
        out.print("\nIt has no parameters.")
        return
    out.print("\nParameters (--set NAME=VALUE)", style="bold")
    rows = [
        [
            p.name,
            "to be given" if p.required else p.default_text,
            p.unit,
            p.help + (f" ({p.expected})" if p.choices else ""),
        ]
        for p in scenario.parameters
    ]
    print_table(out, ["name", "default", "unit", "meaning"], rows, wrap=True)


def _system(out: Console, system: System) -> None:
    from venmas.model.show import group_name, initial_texts, kind_of, number, title, variable_groups
    from venmas.report.text_tables import print_table

    out.print("\nVariables", style="bold")
    rows = [
        [
            group_name(group),
            kind_of(system, group[0]),
            f"{number(group[0].lower)} .. {number(group[0].upper)}",
            group[0].unit,
        ]
        for group in variable_groups(system)
    ]
    print_table(out, ["name", "kind", "range", "unit"], rows)
    labelled: dict[tuple[tuple[int, str], ...], list[str]] = {}
    owners: list[VariableDecl | Agent] = [*system.variables.values(), *system.agents]
    for owner in owners:
        labelled.setdefault(owner.labels, []).append(owner.name)
    meanings = [
        f"{', '.join(names)}: " + ", ".join(f"{value} {text}" for value, text in labels)
        for labels, names in labelled.items()
        if labels
    ]
    sections = {
        "Agents": [", ".join(title(a.name, a.unit) for a in system.agents) or "none"],
        "Branches": [", ".join(b.name for b in system.branches)],
        "Labels": meanings,
        "Initial states": initial_texts(system, 6),
        "Propositions": [f"{name}: {formula}" for name, formula in system.propositions.items()],
        "Properties (--formula NAME)": [f"{name}: {text}" for name, text in system.properties.items()],
    }
    for heading, lines in sections.items():
        if lines:
            out.print(f"\n{heading}", style="bold")
        for line in lines:
            out.print(f"  {line}", soft_wrap=True)
