"""Exported programs: all of them, readable by another solver, and their points mean what the manifest says."""

import json
from fractions import Fraction

import highspy
import numpy as np
import pytest

from tests.corpus.entries_more import CORPUS
from tests.in_process import IN_PROCESS
from venmas.engine.export import Exported, export_programs
from venmas.engine.report import Verdict
from venmas.engine.verify import verify
from venmas.errors import FormulaError, ModelError, UsageError
from venmas.logic import nnf
from venmas.model import System, apply_network, argmax, explain, load_scenario, switch
from venmas.model.canonical.canonical import system_digest
from venmas.nn.network import relu_network
from venmas.question import read_formula

NETWORK = relu_network(
    [[[1.0, -0.5], [-1.0, 0.25], [0.5, 1.0]], [[1.0, -1.0, 0.5], [-0.5, 1.0, 0.25], [0.3, 0.2, -1.0]]],
    [[0.1, 0.2, -0.3], [0.0, 0.1, 0.2]],
)


def walk():
    """A plane, three moves by a network, and a wind that is there or not."""
    system = System("walk \\ plane\n")
    x, y = system.real("x", -20, 20), system.real("y", -20, 20)
    move = system.agent(argmax(apply_network(NETWORK, (x / 2, y / 2))), name="move")
    step = switch(move, {0: 1, 1: -1, 2: 0})
    for name, wind in (("calm", 0), ('wind "N"\n', 0.75)):
        system.branch(name, x=x + step, y=y + wind - step / 2)
    system.initial(x >= -1, x <= 1, y >= -1, y <= 1)
    return system


def solved(path):
    """The point of HiGHS by column name, or None where it finds the program infeasible."""
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("mip_feasibility_tolerance", 1e-9)
    solver.setOptionValue("small_matrix_value", 1e-12)
    assert solver.readModel(str(path)) != highspy.HighsStatus.kError
    solver.run()
    status = solver.modelStatusToString(solver.getModelStatus())
    assert status in ("Optimal", "Infeasible")
    values = solver.getSolution().col_value
    return dict(zip(solver.getLp().col_names_, values, strict=True)) if status == "Optimal" else None


def value(term, point):
    return term["constant"] + sum(c * point[x] for x, c in term["columns"].items())


def branches_of(entry, point):
    """The branches of one run, as the manifest and a point of the program tell."""
    if entry["path"] is not None:
        return entry["path"]
    ways = {0: ()}
    for choice in entry["choices"]:
        if choice["node"] in ways:
            best = max(choice["options"], key=lambda option: value(option["literal"], point))
            ways[best["leads_to"]] = (*ways[choice["node"]], best["branch"])
    return max(ways.values(), key=len)


FORMULAS = [  # a comparison, and the same asked for a little less, as points are exact up to a tolerance only
    ("AX^2 (x < {})", 2.5, -1e-5, Verdict.VIOLATED),
    ("AX^2 (y < {})", 2.8, -1e-5, Verdict.VIOLATED),
    ("AG^2 (x + y < {})", 2.25, -1e-5, Verdict.VIOLATED),
    ("EX AX (x > {})", -2.5, 1e-5, Verdict.VIOLATED),
    ("AX^2 (x + y > {})", -3.2, 1e-5, Verdict.SATISFIED),
    ("EX AX (x + y < {})", 3.9, -1e-5, Verdict.SATISFIED),
]


@pytest.mark.parametrize(("mode", "kind"), [("mono", "lp"), ("comp-seq", "mps")])
@pytest.mark.parametrize(("text", "limit", "less", "expected"), FORMULAS, ids=[f[0] for f in FORMULAS])
def test_points_are_violations_and_no_point_is_a_proof(text, limit, less, expected, mode, kind, tmp_path):
    system, formula = walk(), text.format(limit)
    assert verify(system, formula, mode="exact").verdict is expected
    found = export_programs(system, formula, tmp_path / "out", mode=mode)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert found.stopped == manifest["stopped"] == "" and found.programs == len(manifest["programs"])
    assert found.programs > 0 or (found.discarded > 0 and expected is Verdict.SATISFIED)
    assert (manifest["mode"], manifest["system"]["sha256"]) == (mode, system_digest(system))
    core = nnf(read_formula(system, text.format(limit + less)), negate=True)
    shown = 0
    for entry in manifest["programs"]:
        point = solved(tmp_path / "out" / entry["files"][kind])
        if point is None:
            continue
        assert len(point) == entry["variables"]
        start = {name: Fraction(value(t, point)).limit_denominator(10**9) for name, t in entry["initial"].items()}
        branches = branches_of(entry, point)
        witness = explain(system, core, start, hints=branches)
        if witness is None:
            continue  # a tie, which programs let pass (design S3)
        if witness.branches is not None:
            assert witness.branches[: len(branches)] == tuple(branches[: len(witness.branches)])
        shown += 1
    assert (shown > 0) is (expected is Verdict.VIOLATED)


@pytest.mark.parametrize("mode", ["mono", "comp-seq"])
def test_the_corpus_by_its_files(mode, tmp_path):
    """Every fifth entry: where no program has a point, the formula holds."""
    decided = 0
    for number, entry in enumerate(CORPUS[::5]):
        system = entry.system()
        found = export_programs(system, entry.formula, tmp_path / str(number), mode=mode, formats=("mps",))
        files = [found.folder / e["files"]["mps"] for e in found.entries]
        feasible = any(solved(file) is not None for file in files)
        assert feasible or entry.verdict is Verdict.SATISFIED, entry
        decided += not feasible
    assert decided > 5


def test_limit_and_manifest(tmp_path):
    told = []
    found = export_programs(
        walk(),
        "AG^3 (x + y < 2)",
        tmp_path / "a" / "b",
        limit=2,
        formats=("lp",),
        progress=lambda f: told.append(f.programs),
        about={"parameters": {"p": "1"}},
    )
    assert (found.programs, found.stopped, told) == (2, "limit", [1, 2])
    folder = tmp_path / "a" / "b"
    assert sorted(f.name for f in folder.iterdir()) == ["manifest.json", "program-000000.lp", "program-000001.lp"]
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["stopped"] == "limit" and manifest["parameters"] == {"p": "1"}
    assert [e["files"] for e in manifest["programs"]] == [{"lp": f"program-00000{i}.lp"} for i in (0, 1)]
    assert manifest["networks"] == [{"name": NETWORK.name, "sha256": NETWORK.digest}]
    for line in (folder / "program-000000.lp").read_text().splitlines()[:3]:
        assert line.startswith("\\ ")  # names of strangers end no comment
    exactly = export_programs(walk(), "AG^3 (x + y < 2)", tmp_path / "all")
    again = export_programs(walk(), "AG^3 (x + y < 2)", tmp_path / "again", limit=exactly.programs, mode="comp-par")
    assert again.stopped == "" and again.programs == exactly.programs
    for entry in exactly.entries:
        name = entry["files"]["mps"]
        assert (tmp_path / "all" / name).read_bytes() == (tmp_path / "again" / name).read_bytes().replace(
            b"mode comp-par", b"mode comp-seq"
        )


def test_an_interrupt_leaves_a_manifest_of_what_is_there(tmp_path):
    def stop(found: Exported) -> None:
        if found.programs == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export_programs(walk(), "AG^3 (x + y < 2)", tmp_path, progress=stop)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["stopped"] == "interrupted" and len(manifest["programs"]) == 2
    assert all((tmp_path / name).is_file() for e in manifest["programs"] for name in e["files"].values())


def test_indicators_are_written_as_such(tmp_path):
    found = export_programs(walk(), "AX (x < 1.2)", tmp_path, tune={"milp.encoding": "indicator"})
    assert sum(e["indicators"] for e in found.entries) > 0
    assert "->" in (tmp_path / "program-000000.lp").read_text()
    assert "INDICATORS" in (tmp_path / "program-000000.mps").read_text()


def test_what_bounds_decide_makes_no_program(tmp_path):
    found = export_programs(load_scenario("vcas").system(), "AX safe", tmp_path)
    assert (found.programs, found.stopped) == (0, "") and found.discarded > 0


def test_runs_that_may_leave_their_box_are_named(tmp_path):
    """Nothing refutes that x > 10 is reached, which is no run: programs are about runs inside the box."""
    for factor, names in ((Fraction(1, 2), ()), (3, ("x",))):
        system = System("tank")
        x = system.real("x", 0, 10)
        system.branch("fill", x=x * factor)
        system.initial(x >= 0, x <= 4)
        found = export_programs(system, "AX x <= 10", tmp_path / str(len(names)))
        manifest = json.loads((tmp_path / str(len(names)) / "manifest.json").read_text())
        assert found.may_leave_box == tuple(manifest["may_leave_box"]) == names
    with pytest.raises(ModelError, match="leaves the declared box"):
        verify(system, "AX x <= 10", mode="comp-seq", tune=IN_PROCESS)


def test_what_can_not_be_exported(tmp_path):
    with pytest.raises(UsageError, match=r"mode 'adaptive' makes no programs: choose one of mono, comp-seq, comp-par"):
        export_programs(walk(), "AX (x < 1)", tmp_path, mode="adaptive")
    with pytest.raises(UsageError, match="unknown format 'nl': choose among lp, mps"):
        export_programs(walk(), "AX (x < 1)", tmp_path, formats=("nl",))
    with pytest.raises(FormulaError):
        export_programs(walk(), "AX (z < 1)", tmp_path / "none")
    assert not (tmp_path / "none").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="is not empty: name a new one"):
        export_programs(walk(), "AX (x < 1)", tmp_path)
    with pytest.raises(UsageError, match="cannot make the folder"):
        export_programs(walk(), "AX (x < 1)", tmp_path / "file" / "below")


def test_numbers_of_the_walk_are_no_special_ones():
    """The programs above have something to decide: all three moves happen in the initial set."""
    grid = np.stack(np.meshgrid(*[np.linspace(-0.5, 0.5, 21)] * 2), -1).reshape(-1, 2)
    assert set(NETWORK.evaluate(grid).argmax(1).tolist()) >= {0, 1}
