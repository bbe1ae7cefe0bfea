"""The map of docs/architecture.md, the registry of procedures and the modes say the same."""

from __future__ import annotations

import re
import tomllib
from configparser import ConfigParser
from importlib import import_module
from pathlib import Path

import pytest

from venmas.engine.modes import modes
from venmas.procedures.registry import PROCEDURES, get_procedure

pytestmark = pytest.mark.quick

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
SHARED = {"hybrid", "linear", "netlist", "inductive"}
"""Rooms of procedures that are no algorithms."""


@pytest.mark.parametrize("name", PROCEDURES)
def test_a_procedure_is_named_registered_and_used(name: str) -> None:
    procedure = get_procedure(name)
    assert procedure.name == name and procedure.help.endswith(".")
    main = import_module(PROCEDURES[name].partition(":")[0])
    assert main.__doc__ is not None and "    " in main.__doc__, "the main file of a procedure has its pseudo-code"
    portfolios = [*modes().values(), *(mode.after("an earlier proof") for mode in modes().values())]
    used = set().union(*(mode.procedures for mode in portfolios))
    assert name in used


def test_modes_name_procedures_that_there_are() -> None:
    for mode in modes().values():
        for stage in mode.stages:
            assert {turn.procedure for turn in stage} <= set(PROCEDURES), mode.name


def test_the_page_names_every_main_file_and_every_room() -> None:
    told = set(re.findall(r"`((?:[\w]+/)+[a-z_]+\.py)`", PAGE))
    main = [module.partition(":")[0].removeprefix("venmas.").replace(".", "/") for module in PROCEDURES.values()]
    assert {f"{name}.py" for name in main} <= told
    for path in told:
        assert (ROOT / "venmas" / path).is_file() or (ROOT / path).is_file(), path
    named = {name for row in re.findall(r"^\| ([\w, -]+) \| `", PAGE, re.MULTILINE) for name in row.split(", ")}
    assert set(PROCEDURES) == named
    rooms = {p.name for p in (ROOT / "venmas").iterdir() if (p / "__init__.py").is_file()}
    rows = "\n".join(line for line in PAGE.splitlines() if line.startswith("| `"))
    assert {room for room in rooms - {"bundled"} if f"`{room}/`" not in rows} == set()
    plain = {p.stem for p in (ROOT / "venmas").glob("[a-z]*.py")}
    assert {name for name in plain if f"`{name}`" not in rows} == set()


def test_layers_hold_every_room() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    held = {name.strip().removeprefix("venmas.") for layer in layers for name in layer.split("|")}
    rooms = {p.stem for p in (ROOT / "venmas").iterdir() if not p.name.startswith("_") and p.suffix in ("", ".py")}
    assert rooms - held == {"bundled"}


def test_every_algorithm_is_held_apart_from_the_others() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = (c for c in settings["tool"]["importlinter"]["contracts"] if c["type"] == "independence")
    rooms = {p.parent.name for p in (ROOT / "venmas" / "procedures").glob("*/__init__.py")}
    apart = {name.removeprefix("venmas.procedures.") for name in contract["modules"]}
    assert apart <= rooms and rooms - apart == SHARED


def test_a_wheel_holds_every_package() -> None:
    settings = ConfigParser()
    settings.read(ROOT / "setup.cfg", encoding="utf-8")
    listed = set(settings["options"]["packages"].split())
    folders = {p.parent for p in (ROOT / "venmas").rglob("__init__.py")}
    there = {".".join(folder.relative_to(ROOT).parts) for folder in folders}
    assert there <= listed and listed - there == {"venmas.bundled.scenarios", "venmas.bundled.networks"}
