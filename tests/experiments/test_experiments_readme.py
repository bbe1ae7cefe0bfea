"""The table of experiments/README.md: every folder has its row, every command and page that it names is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.quick

FOLDER = Path(__file__).parents[2] / "experiments"
ROWS = [
    [cell.strip() for cell in line.strip("| \n").split(" | ")]
    for line in (FOLDER / "README.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| `")
]


def test_every_folder_has_a_row_and_no_file_stands_alone() -> None:
    named = {name.partition("/")[0] for row in ROWS for name in re.findall(r"`(\w+/\S*)`", row[0])}
    assert named == {path.name for path in FOLDER.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert [path.name for path in FOLDER.iterdir() if path.is_file()] == ["README.md"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_what_a_row_names_is_there(row: list[str]) -> None:
    assert len(row) == 5
    command = row[2].strip("`").split()
    if command[:2] == ["python", "-m"]:
        place = FOLDER.parent.joinpath(*command[2].split("."))
        assert place.with_suffix(".py").is_file() or (place / "__main__.py").is_file()
    else:
        assert (FOLDER.parent / command[-1]).exists()
    (page,) = re.findall(r"\]\(([^)#]+)", row[4])
    assert (FOLDER / page).is_file()
