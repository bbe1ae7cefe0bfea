"""Test modules without their optional packages: a guard stands before each import that would break collection."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from configparser import ConfigParser
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.needs import BROUGHT_BY, extras, needs

pytestmark = pytest.mark.quick

ROOT = Path(__file__).parents[1]
HARNESS = {"pytest", "hypothesis", "packaging"}
"""What running tests takes, whichever: pytest needs packaging itself."""
SOURCES = [p for folder in ("tests", "experiments") for p in sorted((ROOT / folder).rglob("*.py"))]
TESTS = [p for p in SOURCES if p.name.startswith(("test_", "conftest"))]


def required() -> set[str]:
    """Packages that VenMAS installs always."""
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    return {Requirement(line).name for line in setup["options"]["install_requires"].split("\n") if line}


ALWAYS = set(sys.stdlib_module_names) | HARNESS | required()


def run_on_import(nodes: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run when a file is imported, in order."""
    for node in nodes:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            yield from run_on_import(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
            for part in ("body", "orelse", "finalbody"):
                yield from run_on_import(getattr(node, part, []))


def names(node: ast.stmt, path: Path) -> set[str]:
    """The modules that a statement imports, and those that its names may be."""
    if isinstance(node, ast.Import):
        return {name.name for name in node.names}
    if not isinstance(node, ast.ImportFrom):
        return set()
    home = node.module or ""
    if node.level:
        room = path.parents[node.level - 1].relative_to(ROOT).parts
        home = ".".join((*room, home)).rstrip(".")
    return {home, *(f"{home}.{name.name}" for name in node.names)}


@cache
def files(module: str, folder: Path) -> list[Path]:
    """The files of ours that importing a module runs; by its bare name, a file beside this one or in `sys.path`."""
    parts = module.split(".")
    tree = [ROOT.joinpath(*parts[: i + 1]) for i in range(len(parts))]
    found = [f for at in tree for f in (at.with_suffix(".py"), at / "__init__.py") if f.is_file()]
    if found or parts[0] in ALWAYS:
        return found
    named = [p for p in SOURCES if p.stem == parts[0]]
    return [p for p in named if p.parent == folder] or named


def guards(node: ast.stmt) -> set[str]:
    """The modules that `needs("this", "that")` names."""
    match node:
        case ast.Expr(ast.Call(ast.Name("needs"), args)):
            return {arg.value for arg in args if isinstance(arg, ast.Constant)}
    return set()


@cache
def steps(path: Path) -> list[tuple[set[str], set[str], list[Path]]]:
    """What each statement of a file guards, the packages of others that it imports, and the files of ours."""
    found = []
    for node in run_on_import(ast.parse(path.read_text(encoding="utf-8")).body):
        ours = {name: files(name, path.parent) for name in names(node, path)}
        others = {name.partition(".")[0] for name, there in ours.items() if not there} - ALWAYS
        others = {package for package in others if not (ROOT / package).is_dir()}
        found.append((guards(node), others, [file for there in ours.values() for file in there]))
    return [step for step in found if any(step)]


def unguarded(path: Path, seen: set[Path] | None = None) -> set[str]:
    """Optional packages without which a file cannot be imported, and before which no guard stands."""
    seen = seen or set()
    seen.add(path)
    guarded: set[str] = set()
    found: set[str] = set()
    for named, others, ours in steps(path):
        guarded |= named
        found |= others - guarded
        for file in ours:
            if file not in seen:
                found |= unguarded(file, seen) - guarded
    return found


@pytest.mark.parametrize("path", TESTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_of_tests_names_what_it_needs_before_it_imports(path: Path) -> None:
    assert unguarded(path) == set(), f'{path.relative_to(ROOT)}: write needs("..") of tests/needs.py before the imports'


def test_guards_count_from_where_they_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {
        "early": 'from tests.needs import needs\nneeds("torch", "scipy")\nimport torch.nn, json\nfrom helper import x',
        "late": 'import scipy\nneeds("scipy")',
        "through": 'needs("torch")\nimport helper',
        "inside": "def f():\n    import torch\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import scipy",
        "tried": "class A:\n    try:\n        import torch\n    finally:\n        import json",
        "helper": "from helper import early\nfrom scipy.linalg import norm",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.setitem(globals(), "SOURCES", list(tmp_path.iterdir()))
    found = {name: unguarded(tmp_path / f"{name}.py") for name in texts if name != "helper"}
    assert found == {"early": set(), "late": {"scipy"}, "through": {"scipy"}, "inside": set(), "tried": {"torch"}}


COLLECT = """
import sys, pytest
names = sys.argv[1].split(",")
sys.modules |= dict.fromkeys(names)  # None there: no module of this name
sys.exit(pytest.main(["--collect-only", "-qq", "-n", "0", "-p", "no:cacheprovider"]))
"""


@pytest.mark.slow
def test_without_extras_all_tests_are_collected() -> None:
    """Calls at the top of a file may import, too: that is seen where the packages are missing indeed."""
    names = {name.replace("-", "_") for name in extras()} | BROUGHT_BY.keys()
    names -= {"venmas", "markdown_it"} | HARNESS  # rich has the second
    missing = sorted(name for name in names if not name.startswith("pytest_"))
    command = [sys.executable, "-c", COLLECT, ",".join(missing)]
    plain = {name: value for name, value in os.environ.items() if name != "VENMAS_NEED_EXTRAS"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=plain)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


def test_what_is_missing_is_skipped_by_name_or_told(monkeypatch: pytest.MonkeyPatch) -> None:
    needs("hypothesis")
    monkeypatch.setattr("tests.needs.find_spec", lambda name: None)
    monkeypatch.delenv("VENMAS_NEED_EXTRAS", raising=False)
    with pytest.raises(pytest.skip.Exception, match=r'needs pysat: pip install -e "\.\[hardware\]"') as skipped:
        needs("pysat")
    assert skipped.value.allow_module_level
    monkeypatch.setenv("VENMAS_NEED_EXTRAS", "1")
    with pytest.raises(pytest.fail.Exception, match="needs keras"):
        needs("keras")
    with pytest.raises(KeyError):
        needs("no_extra_brings_this")
