"""The experiments of the papers as their users run them, small: verdicts, files, reasons, exit status, identity."""

import csv
import dataclasses
from pathlib import Path
from typing import Any

import pytest

from experiments.archcomp_vcas.__main__ import TABLES as INSTANCES
from experiments.jaamas2022.__main__ import TABLES
from experiments.papers import cell as cell_module
from experiments.papers.cell import Cell, How, Keys
from experiments.papers.known import Expected, Known
from experiments.papers.main import Choice, main
from experiments.papers.run import Watch
from experiments.papers.table import rows_of
from tests.needs import needs

PAPER = ("jaamas2022", "", TABLES)
ARCH = ("archcomp_vcas", "", INSTANCES)


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_cells_of_the_full_tables() -> None:
    everything = Choice(quick=False, k=None, climb=None, modes=None)
    table1, table2 = (TABLES[n].cells(everything) for n in TABLES)
    assert len(table1) == len(set(table1)) == 2 * 10 * 3
    assert len(table2) == len(set(table2)) == 12 * 10 * 3
    (instances,) = (t.cells(everything) for t in INSTANCES.values())
    assert len(instances) == len(set(instances)) == 12 * 11 * 4
    for cells in (table1, table2, instances):
        assert {c.k for c in cells} >= {str(k) for k in range(1, 11)}


def test_published_networks_give_the_verdicts_of_the_paper(data_dir: Path, tmp_path: Path) -> None:
    needs("matplotlib")
    some = ["--k", "1", "3", "--climb", "-19.5", "-22.5", "--networks", str(data_dir), "--out", str(tmp_path)]
    assert main(*PAPER, [*some, "--quiet"]) == 0
    rows = _rows(tmp_path / "table1.csv") + _rows(tmp_path / "table2.csv")
    assert len(rows) == 2 * 2 * 3 + 2 * 2 * 3
    assert all(r["verdict"] == r["expected"] and r["published"] in ("", r["verdict"]) for r in rows)
    assert not any(r["difference"] for r in rows)
    found = {(r["row"], r["k"]): r["verdict"] for r in rows}
    assert found["φ_safe", "3"] == "satisfied" and found["φ_succ", "3"] == "violated"
    assert found["-22.5", "3"] == "violated" and found["-19.5", "3"] == "satisfied" == found["-22.5", "1"]
    assert {r["mode"] for r in rows} == {"mono", "comp-par", "comp-seq"}
    assert {p.name for p in tmp_path.iterdir()} == {"cells.db"} | {
        f"table{i}.{kind}" for i in (1, 2) for kind in ("csv", "md", "svg", "png")
    }
    markdown = (tmp_path / "table2.md").read_text()
    said = "Verdicts: 12. Told by the check: 12, of which 12 agree with it. Published: 9, of which 9 agree with that."
    assert said in markdown
    picture = (tmp_path / "table2.svg").read_text()
    assert all(f"<!-- {text} -->" in picture for text in ("mono", "comp-par", "-22.5", "violated"))


def test_bundled_networks_differ_from_the_paper_for_a_reason(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    some = ["table2", "--k", "2", "3", "--climb", "-22.5", "--modes", "adaptive", "mono", "--out", str(tmp_path)]
    assert main(*PAPER, [*some, "--quiet"]) == 0
    rows = _rows(tmp_path / "table2.csv")
    assert [r["verdict"] for r in rows] == ["satisfied"] * 4
    reason = "the bundled networks are not those of the paper, section 7.2.2 (violated): least distance 103.09 ft"
    assert [r["difference"].startswith(reason) for r in rows] == [r["k"] == "3" for r in rows]
    assert f"| -22.5 | 3 | satisfied | adaptive, mono | {reason}" in capsys.readouterr().out
    assert not list(tmp_path.glob("table1*"))


@pytest.mark.slow
def test_arch_instances(data_dir: Path, tmp_path: Path) -> None:
    some = ["--k", "1", "2", "3", "--climb", "-22.5", "-25.5", "--modes", "adaptive", "--networks", str(data_dir)]
    assert main(*ARCH, [*some, "--out", str(tmp_path), "--quiet"]) == 0
    rows = _rows(tmp_path / "instances.csv")
    assert len(rows) == 3 * 2 * 4
    assert all(r["verdict"] == r["expected"] for r in rows)
    whole = {r["row"]: r["verdict"] for r in rows if r["k"] == "1..3"}
    assert whole == {
        "middle -22.5": "satisfied",
        "worst -22.5": "violated",
        "all -22.5": "violated",
        **{f"{pilot} -25.5": "violated" for pilot in ("middle", "worst", "all")},
    }


def test_a_verdict_that_contradicts_the_check_ends_with_status_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(Expected, "known", lambda _self, _cell: Known("violated", "a false check"))
    some = ["table1", "--k", "1", "--modes", "adaptive", "--out", str(tmp_path), "--quiet"]
    assert main(*PAPER, some) == 1
    assert "MISTAKE" in capsys.readouterr().err
    assert "**" in (tmp_path / "table1.md").read_text().split("| φ_safe")[1]


def test_modes_that_contradict_each_other_are_a_mistake_where_the_check_cannot_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    how = How()
    cells = [c for c in TABLES["table1"].cells(Choice(False, (1, 2), None, ("mono", "exact"))) if "safe" in c.formula]
    monkeypatch.setattr(Expected, "known", lambda _self, _cell: Known("", "too close"))

    def told(*verdicts: str) -> list[bool]:
        answers = {c: {"result": {"verdict": v}} for c, v in zip(cells, verdicts, strict=True)}
        return [row.unexplained for row in rows_of(cells, answers, Expected(how), {})]

    assert [(c.k, c.mode) for c in cells] == [("1", "mono"), ("1", "exact"), ("2", "mono"), ("2", "exact")]
    assert told("satisfied", "violated", "violated", "violated") == [True, True, False, False]
    answers = {cells[0]: {"result": {"verdict": "satisfied"}}}
    assert not any(row.unexplained for row in rows_of(cells, answers, Expected(how), {}))


def test_a_time_limit_is_an_undecided_cell_that_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    some = ["table2", "--k", "9", "--climb", "-40", "--modes", "comp-seq", "--timeout", "0.2", "--out", str(tmp_path)]
    assert main(*PAPER, some) == 20
    (row,) = _rows(tmp_path / "table2.csv")
    assert row["verdict"] == "unknown" and row["difference"].startswith("undecided (time)")
    capsys.readouterr()
    assert main(*PAPER, some) == 20
    assert "1 of 1 cells are known from" in capsys.readouterr().err
    assert _rows(tmp_path / "table2.csv") == [row]


CELL = Cell("table2", "-19.5", "3", "mono", "vcas", (("climb0", "-19.5"), ("pilot", "all")), "safe3")


def test_a_cell_is_identified_by_all_that_matters(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def key(cell: Cell = CELL, **how: Any) -> str:
        return Keys(How(**how)).key(cell)

    for path in (data_dir / "vcas").glob("*.onnx"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    plain = key()
    assert plain == key() == key(dataclasses.replace(CELL, table="other", row="another name"))
    assert key(networks=data_dir) == key(networks=tmp_path) != plain  # content, not the name of a folder
    different = [
        key(dataclasses.replace(CELL, mode="comp-seq")),
        key(dataclasses.replace(CELL, formula="safe4")),
        key(dataclasses.replace(CELL, settings=(("climb0", "-19.6"), ("pilot", "all")))),
        key(dataclasses.replace(CELL, settings=(("climb0", "-19.5"), ("pilot", "worst")))),
        key(solver="scip"),
        key(trust="exact"),
        key(timeout=5.0),
        key(workers=1),
        key(networks=data_dir),
    ]
    monkeypatch.setattr(cell_module, "versions", lambda: {"venmas": "another"})
    different.append(key())
    monkeypatch.setattr(cell_module, "code_digest", lambda: "changed")
    different.append(key())
    assert len({plain, *different}) == 1 + len(different)


def test_remaining_time_is_that_of_cells_like_the_open_ones() -> None:
    cells = [dataclasses.replace(CELL, row=row, k=k, mode=m) for k in "12" for row in "ab" for m in ("mono", "exact")]
    watch = Watch(cells, wanted=False, timeout=100.0)
    assert watch.left() is None
    watch.found(cells[0], 2.0)
    watch.found(cells[1], 10.0)
    # each open cell as its mode took so far: 3 of mono, 3 of exact
    assert watch.left() == pytest.approx(3 * 2 + 3 * 10)
    watch.found(dataclasses.replace(CELL, row="a", k="2"), 4.0)
    # mono: k = 1 as before, k = 2 as measured
    assert watch.left() == pytest.approx(2 + 4 + 3 * 10)
    # the first of them is at work: as usual, then as long again, at most to the time limit
    assert watch.open[0].mode == "mono" and watch.open[0].k == "1"
    assert [watch.left(s) for s in (0.5, 5.0, 80.0)] == pytest.approx([34 + 1.5, 34 + 5.0, 34 + 20.0])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["table3"], "no table 'table3': choose of table1, table2"),
        (["--climb", "-23"], "not a climb rate of this table"),
        (["--timeout", "0"], "give a number of seconds above 0"),
        (["--timeout", "nan"], "give a number of seconds above 0"),
        (["--workers", "0"], "give 1 or more"),
        (["--networks", "nowhere"], "no folder 'nowhere'"),
        (["--networks", "."], "holds none of the files"),
        (["--store", "notes.txt"], "another kind of file"),
        (["--out", "notes.txt"], "cannot make the folder"),
        (["--modes", "gurobi"], "invalid choice"),
    ],
)
def test_bad_input_is_one_message(
    given: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("not a store, and not a folder\n" * 50)
    try:
        status = main(*PAPER, ["--quick", *given])
    except SystemExit as stop:  # argparse
        status = stop.code
    captured = capsys.readouterr()
    assert status == 2 and message in captured.err and "Traceback" not in captured.err
    assert captured.out == ""


@pytest.mark.slow
def test_figure6_is_mono_with_joined_successors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A program is solved where mono finds its answer by bounds; the table says by whom."""
    few = ["table1", "--k", "3", "--modes", "mono", "figure6", "--solver", "highs", "--quiet", "--out", str(tmp_path)]
    assert main(*PAPER, few) in (0, 1)
    rows = {(r["mode"], r["row"]): r for r in _rows(tmp_path / "table1.csv")}
    joined, apart = rows["figure6", "φ_safe"], rows["mono", "φ_safe"]
    assert joined["verdict"] == apart["verdict"] == "satisfied"
    assert joined["solver"].startswith("highs") and not apart["solver"]
    assert "| highs: " in capsys.readouterr().out
