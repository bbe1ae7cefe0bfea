"""Results of each verdict and their pages, made by the commands as a user gives them."""

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from venmas.cli.main import main

FALLS = ("--scenario", "vcas", "--set", "climb0=-25.5", "--formula", "safe3")
QUESTIONS: dict[str, tuple[str, ...]] = {
    "satisfied": ("--scenario", "vcas", "--formula", "safe3"),
    "violated": FALLS,
    "tree": ("--scenario", "frozenlake", "--formula", "EX^2 (cell[9] > 0.9)"),
    "unknown": ("--scenario", "vcas", "--formula", "safe5", "--memory", "1", "--timeout", "60"),
}
EXIT = {"satisfied": 0, "violated": 10, "tree": 10, "unknown": 20}

EVIL = (
    "</title></style><script>window.pwned=1</script><img src=x onerror=window.pwned=1>"
    "\"'><svg onload=window.pwned=1>{{7*7}}{%x%}\u202e\x1b[2J\ud800</pre>&lt;"
)
"""What must stay text wherever it stands."""


def run(*args: str) -> Result:
    return CliRunner().invoke(main, args)


def decide(folder: Path, name: str, *more: str) -> Path:
    """The result file of a question."""
    path = folder / f"{name}.json"
    done = run("verify", *QUESTIONS[name], "--json", str(path), "-q", *more)
    assert done.exit_code == EXIT[name], done.output
    return path


def edit(path: Path, **changes: Any) -> dict[str, Any]:
    """Replace fields of a result file; the result."""
    stored = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps(stored))
    return stored


def page_of(path: Path, *args: str, status: int = 0) -> str:
    """The page of a result file."""
    target = path.with_suffix(".html")
    done = run("report", str(path), "-o", str(target), *args)
    assert done.exit_code == status, done.output
    return target.read_text(encoding="utf-8")


def evil_result(value: Any) -> Any:
    """The same with every text replaced, but for those that are read as numbers or as choices."""
    if isinstance(value, dict):
        kept = ("exact", "verdict", "basis", "semantics")
        return {EVIL + k if k in ("h", "climb") else k: v if k in kept else evil_result(v) for k, v in value.items()}
    if isinstance(value, list):
        return [evil_result(v) for v in value]
    return EVIL if isinstance(value, str) else value


class Seen(HTMLParser):
    """What a browser would make of a page: elements with attributes in order, and the text in them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._inside: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._inside and self._inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "style" not in self._inside:
            self.texts.append(data)

    @property
    def text(self) -> str:
        """Everything that can be read, spaces reduced."""
        return " ".join(" ".join(self.texts).split())

    def named(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of all elements of a name."""
        return [attributes for name, attributes in self.elements if name == tag]
