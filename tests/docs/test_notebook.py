"""The example notebook runs from top to bottom, and its outputs are what notebooks show."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from venmas.budget import Progress
from venmas.cli import progress
from venmas.cli.progress import NotebookLine, ProgressLine, line_here

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "notebook.ipynb"
CELLS = [c for c in json.loads(NOTEBOOK.read_text())["cells"] if c["cell_type"] == "code"]


def test_the_cells_run_as_code_and_what_they_store_is_replayed(tmp_path):
    (tmp_path / "cells.py").write_text("\n".join("".join(cell["source"]) for cell in CELLS))
    done = subprocess.run([sys.executable, "cells.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for command in (["replay", "violated.json"], ["plot", "violated.json", "-o", "v.svg"], ["report", "violated.json"]):
        told = subprocess.run(
            [sys.executable, "-m", "venmas", *command], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert told.returncode in (0, 10), (command, told.stderr)
    assert (tmp_path / "v.svg").read_text().startswith("<svg")


def test_the_notebook_runs_in_a_kernel(tmp_path):
    pytest.importorskip("ipykernel", reason="needs ipykernel, of the extra test; the cells ran as code")
    client = pytest.importorskip("nbclient", reason="needs nbclient, of the extra test; the cells ran as code")
    nbformat = pytest.importorskip("nbformat", reason="needs nbformat, of the extra test; the cells ran as code")
    book = nbformat.read(NOTEBOOK, as_version=4)
    client.NotebookClient(book, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [cell.outputs for cell in book.cells if cell.cell_type == "code"]
    shown = ["".join(o.get("data", {}).get("text/html", "") for o in found) for found in outputs]
    assert "VerticalCAS" in shown[0]
    assert "satisfied" in shown[1]
    assert "violated" in shown[2]
    assert "data:image/svg+xml" in shown[2]
    assert "Reach sets of vcas" in shown[4]
    assert "data:image/svg+xml" in shown[4]
    assert not [o for found in outputs for o in found if o.output_type == "error"]


class Shown:
    """A handle as IPython gives it: what was shown, one after the other."""

    def __init__(self):
        self.texts = []

    def display(self, shown, raw, display_id):
        assert raw
        assert display_id
        self.texts.append(shown["text/plain"])
        return self

    def update(self, shown, raw):
        assert raw
        self.texts.append(shown["text/plain"])


def test_a_line_in_a_notebook_is_written_anew_and_left_empty(monkeypatch):
    shown = Shown()
    monkeypatch.setattr(progress, "import_module", lambda name: shown)
    with NotebookLine() as line:
        line.update(Progress(3, 1, 0, 0, 2, 1.0))
        line.update(Progress(5, 1, 0, 0, 2, 2.0))
    assert [text[:16] for text in shown.texts] == ["0:01  3 created,", "0:02  5 created,", ""]


def test_elsewhere_the_line_is_that_of_the_terminal():
    assert isinstance(line_here(), ProgressLine)
