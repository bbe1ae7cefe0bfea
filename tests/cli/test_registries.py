"""What is declared once is what every face shows: command line, schema, pages of the documentation, experiments."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_args

import click
import pytest
from click.testing import CliRunner

from venmas.bounds.methods import METHODS
from venmas.cli import export_command, verify_command
from venmas.cli.main import main
from venmas.engine.modes import MODES, modes, of_bounded, with_programs
from venmas.engine.report import Verdict
from venmas.engine.tuning import options
from venmas.errors import Reason
from venmas.procedures.milp.procedure import strategy_of
from venmas.procedures.registry import PROCEDURES, get_procedure
from venmas.runtime.choices import ACTIVATIONS, BOUNDS, ENCODINGS, SEMANTICS, TRUSTS, ReluEncoding, Semantics
from venmas.solvers import SOLVERS, get_solver, solver_names

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs" / "result.schema.json").read_text())


def option(command: click.Command, name: str) -> tuple[str, ...]:
    """The choices of an option."""
    kind = next(p for p in command.params if name in p.opts).type
    assert isinstance(kind, click.Choice)
    return tuple(kind.choices)


def test_options_are_the_registries() -> None:
    verify = verify_command.command
    assert option(verify, "--mode") == tuple(modes()) == tuple(MODES)  # nothing is plugged in here
    assert option(verify, "--trust") == tuple(TRUSTS)
    assert option(verify, "--semantics") == (*SEMANTICS, "both") == (*get_args(Semantics), "both")
    assert option(verify, "--solver") == ("auto", *solver_names()) == ("auto", *SOLVERS)
    programs = export_command.command.commands["programs"]
    assert option(programs, "--mode") == with_programs() == tuple(n for n in MODES if strategy_of(n))
    assert options()["milp.encoding"].values == tuple(ENCODINGS) == get_args(ReluEncoding)
    assert options()["milp.bounds"].values == tuple(BOUNDS) == tuple(METHODS)


def test_the_help_of_a_mode_is_its_own() -> None:
    told = " ".join(CliRunner().invoke(main, ["verify", "--help"]).stdout.split())
    for mode in MODES.values():
        assert f"{mode.name}: {mode.help}" in told.replace("comp- ", "comp-")


def test_the_schema_has_what_the_registries_have() -> None:
    def enum(name: str) -> list[str]:
        found: list[str] = SCHEMA["properties"][name]["enum"]
        return found

    assert SCHEMA["properties"]["mode"]["anyOf"][0]["enum"] == list(MODES)
    assert enum("trust") == list(TRUSTS)
    assert enum("semantics") == list(SEMANTICS)
    assert enum("encoding") == list(ENCODINGS)
    assert enum("bounds") == list(BOUNDS)
    assert enum("reason") == ["", *Reason]
    assert enum("verdict") == list(Verdict)


def test_objects_have_the_names_under_which_they_are_registered() -> None:
    assert [get_procedure(name).name for name in PROCEDURES] == list(PROCEDURES)
    assert [get_solver(name).name for name in SOLVERS] == list(SOLVERS)
    assert set().union(*(mode.after("earlier.gz").procedures for mode in MODES.values())) == set(PROCEDURES)


def first_cells(page: str) -> set[str]:
    """Names in the first column of the tables of a page."""
    text = (ROOT / "docs" / page).read_text()
    return {name for row in re.findall(r"^\| (`.*?) \|", text, re.MULTILINE) for name in re.findall(r"`([^`]+)`", row)}


def test_pages_list_what_there_is() -> None:
    assert first_cells("modes.md") >= set(MODES)
    text = (ROOT / "docs" / "modes.md").read_text()
    assert f"milp.encoding={'|'.join(ENCODINGS)}" in text and f"milp.bounds={'|'.join(BOUNDS)}" in text
    for name in SOLVERS:
        assert re.search(name, text, re.IGNORECASE), name
    for trust in set(TRUSTS) - {"auto"}:
        assert f"--trust {trust}" in (ROOT / "docs" / "verdicts.md").read_text()
    assert first_cells("verdicts.md") >= set(Reason)
    assert "`budget`" not in (ROOT / "docs" / "verdicts.md").read_text()
    for name in PROCEDURES:
        assert f"`{name}`" in (ROOT / "docs" / "verdicts.md").read_text(), name
    semantics = (ROOT / "docs" / "own-network.md").read_text()
    assert all(re.search(name, semantics, re.IGNORECASE) for name in ACTIVATIONS)


def test_experiments_have_the_modes_of_the_registry() -> None:
    from experiments.papers import figure
    from experiments.papers import main as papers
    from experiments.papers.cell import FIGURE6
    from experiments.published import __main__ as published
    from tests.soundness import cases, cost

    experiments: Any
    for experiments in (papers.MODES, published.MODES, figure.STYLES):
        assert set(experiments) - {FIGURE6} == set(of_bounded())
    for experiments in (cases.MODES, cost.MODES):
        assert experiments == with_programs()
    assert tuple(ENCODINGS) == cases.ENCODINGS and set(cases.SOLVERS) == set(SOLVERS)


@pytest.mark.parametrize("given", [{"trust": "x"}, {"semantics": "x"}, {"mode": "x"}])
def test_other_words_are_refused(given: dict[str, Any]) -> None:
    from venmas import System, verify
    from venmas.errors import UsageError

    with pytest.raises(UsageError, match=f"unknown {next(iter(given))} 'x': choose one of"):
        verify(System("s"), "AX true", **given)
