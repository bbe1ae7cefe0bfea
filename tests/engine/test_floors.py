"""How deep the rooms of the procedures are, in floors of imports, how long files, and how branched the entry is."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from statistics import median

import pytest

from venmas.search.registry import PROCEDURES

pytestmark = pytest.mark.quick

ROOT = Path(__file__).parents[2]
SHARED = ("venmas.search.space", "venmas.search.states")
"""Rooms of `search/` beside the procedures."""
PROCEDURE_ROOMS = sorted({home.partition(":")[0].rpartition(".")[0] for home in PROCEDURES.values()})
FLOORS, ROOMS = 3, {"venmas.abstraction": 4}
"""Modules on top of each other in a room, and rooms on top of each other in a package, where not three."""


def rooms_of(package: str) -> list[str]:
    """A package and the packages in it."""
    folder = ROOT / package.replace(".", "/")
    return sorted(".".join(p.parent.relative_to(ROOT).parts) for p in folder.rglob("__init__.py"))


def imported(path: Path) -> set[str]:
    """Names that a module imports when it runs, wherever that stands in it; what types alone need is left out."""
    found: set[str] = set()
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            waiting += node.orelse
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        waiting += ast.iter_child_nodes(node)
    return found


def longest(uses: dict[str, set[str]]) -> list[str]:
    """The longest chain of a relation without circles."""

    @cache
    def below(name: str) -> tuple[str, ...]:
        return (name, *max((below(other) for other in uses[name]), key=len, default=()))

    return list(max(map(below, uses), key=len, default=()))


def floors(package: str) -> list[str]:
    """The longest chain of imports between modules that stand in one room, the main file first."""
    folder = ROOT / package.replace(".", "/")
    here = {f"{package}.{p.stem}": imported(p) for p in folder.glob("*.py") if p.stem != "__init__"}
    return longest({name: (uses & here.keys()) - {name} for name, uses in here.items()})


def room_floors(package: str) -> list[str]:
    """The longest chain of imports between a package and the rooms in it."""
    rooms = rooms_of(package)
    uses: dict[str, set[str]] = {room: set() for room in rooms}
    for room in rooms:
        for path in (ROOT / room.replace(".", "/")).glob("*.py"):
            homes = {other for name in imported(path) for other in rooms if name.startswith(f"{other}.")}
            own = {
                max((h for h in homes if name.startswith(f"{h}.")), key=len, default=room) for name in imported(path)
            }
            uses[room] |= own - {room}
    return longest(uses)


@pytest.mark.parametrize("package", [*PROCEDURE_ROOMS, *SHARED, "venmas.search.inductive"])
def test_a_room_has_at_most_three_floors(package: str) -> None:
    for room in rooms_of(package):
        assert len(floors(room)) <= FLOORS, f"{room}: {' > '.join(floors(room))}"
    assert len(room_floors(package)) <= ROOMS.get(package, 3), " > ".join(room_floors(package))


def test_files_are_short() -> None:
    lines = {path: path.read_text(encoding="utf-8").count("\n") for path in (ROOT / "venmas").rglob("*.py")}
    assert {str(path): count for path, count in lines.items() if count > 400} == {}
    assert median(lines.values()) <= 150


def test_floors_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    room = tmp_path / "p"
    room.mkdir()
    texts = {
        "a": "from p.b import x",
        "b": "def f():\n    from p import c",
        "c": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p import a\nelse:\n    import p.d",
        "d": "",
    }
    for name, text in texts.items():
        (room / f"{name}.py").write_text(text, encoding="utf-8")
    assert floors("p") == ["p.a", "p.b", "p.c", "p.d"]


def branches_of(function: ast.AST) -> int:
    """Cyclomatic complexity (McCabe 1976) as mccabe and ruff count it: a path more for each statement that branches."""
    one = (ast.If, ast.For, ast.While, ast.ExceptHandler, ast.comprehension, ast.match_case)
    return 1 + sum(isinstance(node, one) for node in ast.walk(function))


def test_verify_reads_straight_on() -> None:
    """Ruff holds 25 everywhere (C90 in pyproject.toml); the entry has to be plainer."""
    tree = ast.parse((ROOT / "venmas/engine/verify.py").read_text(encoding="utf-8"))
    found = {node.name: branches_of(node) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert found["verify"] > 1
    assert {name: count for name, count in found.items() if count > 10} == {}
