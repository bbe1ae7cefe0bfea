"""Tables on the terminal and in a file, figures beside them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from experiments.papers.figure import save
from experiments.policies.cells import line, table


class Output:
    """What a command says: printed at once, and kept for ``NAME.md`` of the folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self._said: list[str] = []

    def head(self, *columns: str) -> None:
        self.say(table(*columns))

    def row(self, *values: object) -> None:
        self.say(line(*values))

    def say(self, text: str) -> None:
        print(text, flush=True)
        self._said.append(text)

    def end(self, **figures: Callable[[], Any]) -> None:
        """Write the table, and each figure as ``NAME_figure.svg`` and ``.png``."""
        path = self.folder / f"{self.name}.md"
        path.write_text("\n".join([*self._said, ""]), encoding="utf-8")
        written = [path]
        for name, draw in figures.items():
            try:
                written += save(draw(), self.folder / f"{self.name}_{name}")
            except ImportError:
                print('no figure: matplotlib is not installed (pip install -e ".[plot]")')
                break
        print(f"written: {', '.join(map(str, written))}")
