"""A benchmark that is ended goes on where it was."""

from pathlib import Path

import pytest

from experiments.benchmarks.ask import Question, Row
from experiments.benchmarks.bench import Bench


def unasked():
    raise AssertionError("a cell that is kept is asked again")


def test_kept_cells_are_not_asked_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rows"
    before = Bench("some", resume=file)
    before.section("loops")
    before.add(Row("loops", "AX free", "adaptive", "satisfied", "satisfied", "bounds", seconds=[1.0, 2.0, 3.0]))
    before.add(Row("loops", "AX free", "marabou", "satisfied", "unknown", "time", problem="unknown"))
    with file.open("a") as end:
        end.write('{"section": "loops", "what": "AX^2')  # it was ended in the middle of a line
    after = Bench("some", resume=file)
    after.section("loops")
    row = after.ask(Question("AX free", unasked, "satisfied"))
    assert row is not None and (row.verdict, row.median) == ("satisfied", 2.0)
    assert after.recall("AX free", "marabou") is not None
    assert after.recall("AX free", "marabou") is None
    assert after.recall("AX^2 free", "adaptive") is None
    assert [r.mode for r in after.rows] == ["adaptive", "marabou"]
    after.add(Row("loops", "AX^2 free", "adaptive", "", "violated"))
    assert len(file.read_text().splitlines()) == 3
    assert len(Bench("some", resume=file).kept) == 3
    assert "AX free" in capsys.readouterr().out
