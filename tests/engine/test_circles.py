"""Circles of imports: none at run time, imports inside functions counted; those for types stay within a room."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from venmas.logic.automata.automaton import strongly_connected

pytestmark = pytest.mark.quick

ROOT = Path(__file__).parents[2]
LAZY = 50
"""Most imports inside functions, but for `cli/`, whose commands load what they need."""
UP = {("venmas.answer", "venmas.checker.format.rule")}
"""The one import for types that looks up the layers: what the lines of a proof are."""
LAYERS = (
    ("cli", "testing"),
    ("report",),
    ("engine",),
    ("procedures",),
    ("procedure",),
    ("checker", "bounds", "formats"),
    ("answer", "question"),
    ("model",),
    ("solvers", "logic", "nn"),
    ("budget",),
    ("runtime",),
    ("errors",),
)
LAYER = {room: at for at, rooms in enumerate(LAYERS) for room in rooms}


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in sorted((ROOT / "venmas").rglob("*.py"))}


def imports(node: ast.AST, kind: str = "run") -> Iterator[tuple[str, str]]:
    """Modules of ours with how they are imported: when the module runs, inside a function (lazy), or for types."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING":
            yield from imports(ast.Module(child.body, []), "types")
            yield from imports(ast.Module(child.orelse, []), kind)
            continue
        if isinstance(child, ast.ImportFrom) and child.module:
            full = [f"{child.module}.{name.name}" for name in child.names]
            yield from ((found, kind) for found in {f if f in MODULES else child.module for f in full} & {*MODULES})
        elif isinstance(child, ast.Import):
            yield from ((name.name, kind) for name in child.names if name.name in MODULES)
        inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from imports(child, "lazy" if inside and kind == "run" else kind)


@cache
def edges() -> dict[str, tuple[tuple[str, str], ...]]:
    return {name: tuple(imports(ast.parse(path.read_text(encoding="utf-8")))) for name, path in MODULES.items()}


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else module


def circles(*kinds: str) -> list[set[str]]:
    """Modules that import each other, by these kinds of imports."""
    names = list(MODULES)
    place = {name: at for at, name in enumerate(names)}
    successors = [
        sorted({place[other] for other, kind in edges()[n] if kind in kinds and other != n} - {place[n]}) for n in names
    ]
    return [{names[at] for at in group} for group in strongly_connected(successors) if len(group) > 1]


def test_no_circle_when_modules_or_functions_run() -> None:
    assert circles("run", "lazy") == []


def test_circles_for_types_stay_within_a_room() -> None:
    found = circles("run", "lazy", "types")
    assert found  # the count would see one
    assert [sorted(group) for group in found if len(set(map(room, group))) > 1] == []


def test_imports_inside_functions_are_few() -> None:
    count = Counter(room(name) for name, found in edges().items() for _, kind in found if kind == "lazy")
    assert sum(number for name, number in count.items() if name != "cli") <= LAZY, count


def test_imports_for_types_look_up_in_one_place() -> None:
    found = {
        (name, other)
        for name, others in edges().items()
        for other, kind in others
        if kind == "types" and LAYER.get(room(other), 99) < LAYER.get(room(name), -1)
    }
    assert found == UP
