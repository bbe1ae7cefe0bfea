"""The tables and the plot of neural model checking, on a small part of its tasks; a second run keeps to the first."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.hardware import neural_model_checking
from experiments.hardware.neural_model_plot import cactus, published_times


def test_tables_are_made_once_and_plotted(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--only", "gray", "--out", str(tmp_path), "--plot", str(tmp_path / "plot.svg")]
    monkeypatch.setattr(neural_model_checking, "data", lambda: data_dir / "any")
    assert neural_model_checking.main(options) == 0
    first = capsys.readouterr().out
    monkeypatch.setattr(neural_model_checking, "solve", lambda *_: pytest.fail("a task that is kept is solved again"))
    assert neural_model_checking.main(options) == 0
    assert capsys.readouterr().out == first
    assert "gray_b 1 | satisfied" in first
    picture = (tmp_path / "plot.svg").read_text()
    assert picture.lstrip().startswith("<?xml")


def test_published_times_are_those_of_the_tables(data_dir: Path) -> None:
    """Delay 1 to 3 as printed; what was out of time is not counted."""
    times = published_times(data_dir / "ltl", "24", [("delay_a", 1), ("delay_a", 2)])
    assert times["NMC 2024"] == [44.0, 51.0]
    assert times["ABC"] == [398.0, 1759.0]
    assert times["Y"] == []


def test_plots_need_no_solved_task(tmp_path: Path) -> None:
    cactus({"one": [], "two": [1.0, 0.5]}, 3, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 1000
