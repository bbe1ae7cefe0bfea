"""Parsers of grammars, by tables that are stored beside them.

To make them takes Lark 20 ms in each process, as long as many a question takes. They are stored with what they were
made of: the grammar, and the version of Lark, whose form of them it is. Where either differs they are made as ever.
`python -m tests.logic.tables` writes them, after a change of a grammar.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import lark
from lark import Lark, Token

TABLES = Path(__file__).parent / "tables"


def parser(name: str | None, grammar: str, callbacks: dict[str, Callable[[Token], Token]]) -> Lark:
    """The LALR parser of a grammar. name: of its tables, if they are stored. callbacks: of tokens, by terminal."""
    if name is not None:
        stored = read((TABLES / f"{name}.json").read_text(encoding="utf-8"))
        if stored["of"] == [lark.__version__, grammar]:
            loaded: Lark = Lark._load_from_dict(  # type: ignore[no-untyped-call]
                stored["data"], stored["memo"], lexer_callbacks=callbacks
            )
            return loaded
    return _made(grammar, callbacks)


def tables(grammar: str) -> str:
    """The tables of a grammar, as they are stored."""
    file = BytesIO()
    _made(grammar, {}).save(file)
    saved = {"of": [lark.__version__, grammar], **pickle.loads(file.getvalue())}
    return json.dumps(saved, separators=(",", ":")) + "\n"


def read(text: str) -> dict[str, Any]:
    """Stored tables, as Lark takes them."""
    stored: dict[str, Any] = json.loads(text, object_pairs_hook=_numbered)
    return stored


def _made(grammar: str, callbacks: dict[str, Callable[[Token], Token]]) -> Lark:
    return Lark(grammar, parser="lalr", lexer="contextual", maybe_placeholders=False, lexer_callbacks=callbacks)


def _numbered(pairs: list[tuple[str, Any]]) -> dict[Any, Any]:
    """States, tokens and rules have numbers, which JSON has as text."""
    return {int(key) if key.isdecimal() else key: value for key, value in pairs}
