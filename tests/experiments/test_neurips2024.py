"""Tables and figures of neural model checking: published numbers as printed, ours beside them, kept."""

from __future__ import annotations

from math import inf
from pathlib import Path

import pytest

from experiments.hardware import neurips2024
from experiments.hardware.neurips2024_figures import FIGURES
from experiments.hardware.paper_tasks import tasks
from venmas.formats.designs import load_machine


@pytest.fixture(autouse=True)
def _data(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neurips2024, "data", lambda: data_dir / "any")


def rows(text: str) -> dict[str, list[str]]:
    lines = [[cell.strip() for cell in row.strip("|").split("|")] for row in text.splitlines() if row.startswith("|")]
    return {row[0]: row[1:] for row in lines}


def test_table_1_counts_what_table_3_says(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert neurips2024.main(["--table", "1", "--out", str(tmp_path)]) == 0
    found = rows(capsys.readouterr().out)
    assert found["NMC"] == ["15", "14", "17", "18", "30", "11", "0", "10", "32", "33", "180"]
    assert found["nuXmv"][-1] == "117"
    assert found["ABC"] == ["2", "3", "7", "3", "8", "2", "3", "10", "6", "13", "57"]
    assert found["X"][-1] == "156"


def test_shares_are_those_of_section_5(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    neurips2024.main(["--shares", "--out", str(tmp_path)])
    found = rows(capsys.readouterr().out)
    assert found["faster than the better of nuXmv and ABC"] == ["67.0", "67"]
    assert found["ten times"] == ["33.5", "34"]  # out of time counts as five hours
    assert found["trained"][0] == "93.3"


def test_ours_stand_beside_and_are_kept(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ["--table", "3", "--only", "P", "--first", "1", "--learners", "mined", "--out", str(tmp_path)]
    neurips2024.main([*options, "--designs", "own"])
    neurips2024.main(options)
    first = capsys.readouterr().out
    assert first.count("satisfied |") == 2
    monkeypatch.setattr(neurips2024, "solve", lambda *_: pytest.fail("a run that is kept is run again"))
    neurips2024.main(options)
    assert capsys.readouterr().out in first


def test_every_task_has_a_design_of_ours(data_dir: Path) -> None:
    every = tasks(data_dir / "ltl")
    assert len(every) == 194
    for task in every:
        assert task.asked in load_machine(task.design, **task.parameters).properties
    vga = [task for task in every if task.family == "VGA"]
    assert [task.best for task in vga[:2]] == [272.0, inf]


@pytest.mark.parametrize("figure", FIGURES)
def test_figures_are_drawn(figure: str, data_dir: Path, tmp_path: Path) -> None:
    some = [task for task in tasks(data_dir / "ltl") if task.index <= 2]
    FIGURES[figure](some, {"VenMAS": {some[0].key: 1.0, some[1].key: inf}}, tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").stat().st_size > 1000
