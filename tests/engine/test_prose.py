"""Names and docstrings use the field's nouns: words that say nothing are counted, and the counts may only fall."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import venmas

pytestmark = pytest.mark.quick

ROOT = Path(venmas.__file__).parent
QUESTION = re.compile(r"(What|Which|Where|How|When)\b")
VAGUE = {"found", "asked", "told", "able", "met", "wanted"}
"""No names of variables: say what was found."""
MOST = {"module": 37, "docstring": 214, "variable": 708}
"""Lower these where you mend some; none is raised."""
CLEAN = ("nn", "runtime")
"""Rooms that have none."""


def problems(text: str) -> Iterator[tuple[str, int, str]]:
    """Kind, line and text of what is counted: docstrings that begin with a question word, variables by vague names."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = (ast.get_docstring(node) or "").partition("\n")[0]
            if QUESTION.match(first):
                yield "module" if isinstance(node, ast.Module) else "docstring", getattr(node, "lineno", 1), first
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in VAGUE:
            yield "variable", node.lineno, node.id


def test_vague_words_are_getting_fewer() -> None:
    counts: Counter[str] = Counter()
    places: dict[str, list[str]] = {kind: [] for kind in MOST}
    for path in sorted(ROOT.rglob("*.py")):
        for kind, line, text in problems(path.read_text(encoding="utf-8")):
            counts[kind] += 1
            places[kind].append(f"{path.relative_to(ROOT)}:{line}: {text}")
    for kind, most in MOST.items():
        assert counts[kind] <= most, f"{counts[kind]} of {kind}, at most {most}:\n" + "\n".join(places[kind])


def test_rooms_without_them_stay_so() -> None:
    for room in CLEAN:
        for path in sorted((ROOT / room).rglob("*.py")):
            assert list(problems(path.read_text(encoding="utf-8"))) == [], path


def test_they_are_seen() -> None:
    text = '"""What it is."""\n\ndef f():\n    """Where it is."""\n    found = 1\n    return found\n'
    assert sorted(kind for kind, _, _ in problems(text)) == ["docstring", "module", "variable"]
    assert list(problems('"""Whatever: bounds."""\n\ndef f(found):\n    """Cuts."""\n    return found\n')) == []
