"""``python -m tests.logic.tables``: write the tables of parsers (`venmas.logic.lalr`) after a change of a grammar."""

from __future__ import annotations

from venmas.logic.grammar import NAMES
from venmas.logic.lalr import TABLES, tables


def main() -> None:
    for grammar, name in NAMES.items():
        (TABLES / f"{name}.json").write_text(tables(grammar), encoding="utf-8")


if __name__ == "__main__":
    main()
