"""Stored tables of the parsers are those that Lark makes of the grammars, but for the numbers of states."""

from __future__ import annotations

from typing import Any

import lark
import pytest

from venmas.logic import lalr
from venmas.logic.grammar import NAMES

pytestmark = pytest.mark.quick


def plain(tables: dict[str, Any]) -> object:
    """States in the order in which a walk finds them, rules and terminals in place of their numbers."""
    memo, parsing = tables["memo"], tables["data"]["parser"]
    table = parsing["parser"]
    found, rows = [table["start_states"]["start"]], []
    for state in found:
        row: dict[str, Any] = {}
        actions = {table["tokens"][token]: action for token, action in table["states"][state].items()}
        for token, (reduces, to) in sorted(actions.items()):
            if not reduces and to not in found:
                found.append(to)
            row[token] = memo[to["@"]] if reduces else found.index(to)
        rows.append(row)
    assert len(rows) == len(table["states"])
    terminals = sorted((memo[t["@"]] for t in parsing["lexer_conf"]["terminals"]), key=lambda t: t["name"])
    for terminal in terminals:  # without an end, it is as wide as this release of Python says
        terminal["pattern"] = {**terminal["pattern"], "_width": terminal["pattern"].get("_width", [0])[0]}
    rules = [memo[rule["@"]] for rule in tables["data"]["rules"]]
    ends = [found.index(state) for state in table["end_states"].values()]
    return rows, ends, terminals, rules, parsing["lexer_conf"]["ignore"], tables["data"]["options"], tables["of"]


@pytest.mark.parametrize("grammar", NAMES, ids=NAMES.values())
def test_stored_tables_are_those_of_the_grammar(grammar: str) -> None:
    stored = lalr.read((lalr.TABLES / f"{NAMES[grammar]}.json").read_text(encoding="utf-8"))
    if stored["of"][0] != lark.__version__:
        pytest.skip(f"the tables are of Lark {stored['of'][0]}")
    made = lalr.read(lalr.tables(grammar))
    assert plain(stored) == plain(made), "python -m tests.logic.tables writes them"


def test_the_parser_is_made_where_the_tables_are_of_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    text, (grammar, name) = "AX^5 (h > 100 | !(h < -100))", next(iter(NAMES.items()))
    loaded = lalr.parser(name, grammar, {})
    changed = lalr.parser(name, grammar + "\nOTHER: /other/\n", {})
    assert loaded.source_path == "<deserialized>" != changed.source_path
    monkeypatch.setattr(lark, "__version__", "0")
    made = lalr.parser(name, grammar, {})
    assert made.source_path != loaded.source_path
    assert made.parse(text) == loaded.parse(text) == changed.parse(text)
