"""Every recipe of docs/recipes.md is held by a check, and the check fails when a step of it is left out.

What is added to VenMAS itself is checked here: a solver, a procedure, a mode, a scenario. Other recipes have a test of
their own, which adds a toy (`OWN_TESTS`); plug-ins are added whole by tests/cli/test_plugins.py.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

import pytest

from venmas.engine.modes import MODES, Mode
from venmas.procedures.registry import PROCEDURES
from venmas.solvers import registry as solvers

pytestmark = pytest.mark.quick

ROOT = Path(__file__).parents[2]
OWN_TESTS = {
    "A solver": "tests/engine/test_recipes.py",
    "A procedure": "tests/engine/test_recipes.py",
    "An LTL procedure": "tests/procedures/explicit/test_ltl_systems.py",
    "A mode": "tests/engine/test_recipes.py",
    "An option of the command line": "tests/cli/test_cli_options.py",
    "An option of one procedure": "tests/cli/test_tune.py",
    "A scenario": "tests/engine/test_recipes.py",
    "A CTL operator": "tests/logic/test_new_ctl_operator.py",
    "An operator of LTL": "tests/logic/automata/test_translation.py",
    "An operator of expressions": "tests/model/test_new_operator.py",
    "An ONNX operator": "tests/nn/test_new_onnx_operator.py",
    "An activation": "tests/nn/test_activations.py",
    "A certificate rule": "tests/checker/test_new_rule.py",
    "A kind of proof": "tests/checker/test_new_kind.py",
    "A prover of `AG p` for ever": "tests/cli/test_new_prover.py",
    "A source of reach sets": "tests/engine/test_reach.py",
}
PROCEDURE = re.compile(
    r"def accepts\(self, question: ((Linear)?Question|Asked), run: Run\)|^[A-Z]+ = LinearProcedure\(", re.MULTILINE
)


@dataclass(frozen=True)
class House:
    """What the recipes speak of, each part as it is or with a step left out."""

    pages: Mapping[str, str]
    modes: Mapping[str, Mode]
    procedures: Mapping[str, str]
    solvers: Mapping[str, str]
    source: Mapping[str, str]
    """Of the modules below venmas/, by path."""
    bundled: Path
    """The folder that holds scenarios/ and networks/."""

    def cells(self, page: str) -> set[str]:
        """The names in the first column of the tables of a page."""
        rows = re.findall(r"^\| (.*?) \|", self.pages[page], re.MULTILINE)
        return {name.strip("`") for row in rows for name in row.split(", ")}


PAGES = (
    "docs/architecture.md",
    "docs/recipes.md",
    "docs/modes.md",
    "docs/verdicts.md",
    "docs/result.schema.json",
    "mkdocs.yml",
)
HOUSE = House(
    {page: (ROOT / page).read_text(encoding="utf-8") for page in PAGES},
    MODES,
    PROCEDURES,
    {name: place for name, (place, _) in solvers._OWN.items()},
    {f.relative_to(ROOT / "venmas").as_posix(): f.read_text(encoding="utf-8") for f in (ROOT / "venmas").rglob("*.py")},
    ROOT,
)


def module_path(place: str) -> str:
    """The file of "venmas.room.module:ATTRIBUTE"."""
    return place.partition(":")[0].removeprefix("venmas.").replace(".", "/") + ".py"


def a_solver(house: House) -> None:
    made = {path for path, text in house.source.items() if re.search(r"^class \w+\(BaseSolver\)", text, re.MULTILINE)}
    assert made and made == set(map(module_path, house.solvers.values()))
    for name in house.solvers:
        assert re.search(rf"\b{name}\b", house.pages["docs/modes.md"], re.IGNORECASE), name


def a_procedure(house: House) -> None:
    made = {path for path, text in house.source.items() if PROCEDURE.search(text)}
    assert made - {"procedure.py", "procedures/linear/procedure.py"} == set(map(module_path, house.procedures.values()))
    after = (mode.after("an earlier proof") for mode in house.modes.values())
    turns = set().union(*(mode.procedures for mode in (*house.modes.values(), *after)))
    assert turns == set(house.procedures)
    for name, place in house.procedures.items():
        path = module_path(place)
        made_there = getattr(import_module(place.partition(":")[0]), place.partition(":")[2])
        assert made_there.name == name and made_there.help.endswith(".")
        opening = house.source[path].split('"""')[1]
        assert any(line.startswith("    ") or ":=" in line for line in opening.splitlines()), f"{path}: no pseudo-code"
        assert f"`{path}`" in house.pages["docs/architecture.md"], path
        assert f"`{name}`" in house.pages["docs/verdicts.md"], name


def a_mode(house: House) -> None:
    schema = json.loads(house.pages["docs/result.schema.json"])
    assert schema["properties"]["mode"]["anyOf"][0]["enum"] == list(house.modes)
    assert set(house.modes) <= house.cells("docs/modes.md")
    for mode in house.modes.values():
        assert mode.help and not mode.help.endswith(".") and mode.kinds and mode.stages, mode.name


def a_scenario(house: House) -> None:
    listed = set(re.findall(r"scenarios/(\w+)\.md", house.pages["mkdocs.yml"]))
    folders = {path.parent.name for path in (house.bundled / "scenarios").glob("*/scenario.py")}
    assert folders == {path.parent.name for path in (house.bundled / "scenarios").glob("*/README.md")} == listed
    for folder in (house.bundled / "networks").iterdir():
        files = {path.name for path in folder.iterdir()} - {"MANIFEST.json", "README.md"}
        manifest = json.loads((folder / "MANIFEST.json").read_text(encoding="utf-8"))
        assert files and files == {entry["file"] for entry in manifest["files"]}, folder.name
        assert any(folder.name == name or folder.name.startswith(f"{name}_") for name in folders), folder.name


def bundled_without(path: str) -> Callable[[House, Path], House]:
    """The same with one file or folder less."""

    def edit(house: House, folder: Path) -> House:
        for part in ("scenarios", "networks"):
            shutil.copytree(house.bundled / part, folder / part)
        gone = folder / path
        shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
        return replace(house, bundled=folder)

    return edit


def page_without(page: str, text: str, new: str = "") -> Callable[[House, Path], House]:
    """The same, without a text on one of the pages."""

    def edit(house: House, _: Path) -> House:
        assert text in house.pages[page], (page, text)
        return replace(house, pages={**house.pages, page: house.pages[page].replace(text, new)})

    return edit


def without(field: str, name: str) -> Callable[[House, Path], House]:
    """The same with one entry less."""

    def edit(house: House, _: Path) -> House:
        kept = {k: v for k, v in getattr(house, field).items() if k != name}
        assert len(kept) < len(getattr(house, field))
        return replace(house, **{field: kept})  # type: ignore[arg-type]

    return edit


def plain_docstring(house: House, _: Path) -> House:
    path = "procedures/explicit/fixpoints.py"
    _, _, rest = house.source[path].split('"""', 2)
    return replace(house, source={**house.source, path: f'"""Closure."""{rest}'})


def unnamed_solver(house: House, _: Path) -> House:
    page = re.sub("scip", "", house.pages["docs/modes.md"], flags=re.IGNORECASE)
    return replace(house, pages={**house.pages, "docs/modes.md": page})


def no_turn(house: House, _: Path) -> House:
    invariant = house.modes["invariant"]
    stages = tuple(stage for stage in invariant.stages if all(turn.procedure != "k-induction" for turn in stage))
    return replace(house, modes={**house.modes, "invariant": replace(invariant, stages=stages)})


CHECKS = {"A solver": a_solver, "A procedure": a_procedure, "A mode": a_mode, "A scenario": a_scenario}
STEPS: dict[tuple[str, str], Callable[[House, Path], House]] = {
    ("A solver", "the registry"): without("solvers", "scip"),
    ("A solver", "the class"): without("source", "solvers/scip.py"),
    ("A solver", "the page of modes"): unnamed_solver,
    ("A procedure", "the registry"): without("procedures", "k-induction"),
    ("A procedure", "the file"): without("source", "procedures/kinduction/procedure.py"),
    ("A procedure", "its turn in a mode"): no_turn,
    ("A procedure", "its pseudo-code"): plain_docstring,
    ("A procedure", "the map"): page_without("docs/architecture.md", "`procedures/kinduction/procedure.py`"),
    ("A procedure", "the page of verdicts"): page_without("docs/verdicts.md", "`k-induction`"),
    ("A mode", "the entry"): without("modes", "exact"),
    ("A mode", "the schema"): page_without("docs/result.schema.json", '"exact", "invariant"', '"invariant"'),
    ("A mode", "the page of modes"): page_without("docs/modes.md", "| `exact`"),
    ("A scenario", "scenario.py"): bundled_without("scenarios/blocks/scenario.py"),
    ("A scenario", "README.md"): bundled_without("scenarios/blocks/README.md"),
    ("A scenario", "its networks"): bundled_without("networks/blocks/aware.onnx"),
    ("A scenario", "MANIFEST.json"): bundled_without("networks/blocks/MANIFEST.json"),
    ("A scenario", "the navigation"): page_without("mkdocs.yml", "          - Blocks: scenarios/blocks.md\n"),
}


@pytest.mark.parametrize("recipe", CHECKS)
def test_the_house_follows_its_recipes(recipe: str) -> None:
    CHECKS[recipe](HOUSE)


@pytest.mark.parametrize(("recipe", "step"), STEPS, ids=[": ".join(at) for at in STEPS])
def test_no_step_can_be_left_out(recipe: str, step: str, tmp_path: Path) -> None:
    changed = STEPS[recipe, step](HOUSE, tmp_path)
    with pytest.raises((AssertionError, OSError, KeyError)):
        CHECKS[recipe](changed)


def test_every_recipe_has_its_test() -> None:
    page = HOUSE.pages["docs/recipes.md"]
    assert re.findall(r"^## (An? .*)", page, re.MULTILINE) == list(OWN_TESTS)
    for title, test in OWN_TESTS.items():
        text = page.split(f"## {title}\n")[1].split("\n## ")[0]
        assert (ROOT / test).is_file() and f"Test:\n`{test}`" in text.replace("Test: ", "Test:\n"), title


def test_the_recipes_name_files_that_there_are() -> None:
    named = set(re.findall(r"`((?:\w+/)+\w+\.(?:py|json|md))`", HOUSE.pages["docs/recipes.md"]))
    templates = {"solvers/NAME.py", "scenarios/NAME/scenario.py"}
    there = {path for path in named - templates if (ROOT / path).is_file() or path in HOUSE.source}
    assert len(named) > 60 and named - templates == there
