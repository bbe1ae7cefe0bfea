"""`venmas plot` as a user calls it, and the pictures of users' own scenarios."""

import json
import logging
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.needs import needs
from tests.report.plot.scenarios import LAMPS, PICTURE, result
from venmas import load_scenario, verify
from venmas.cli import plot_command
from venmas.cli.main import main
from venmas.cli.output import PICTURES
from venmas.errors import ScenarioError
from venmas.report.plot import figures
from venmas.report.plot.figures import KINDS
from venmas.report.plot.style import FORMATS

STARTS = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF"}


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(main, [str(a) for a in args])


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stored") / "vcas.json"
    done = run("--scenario", "vcas", "--set", "climb0=-25.5", "--formula", "AX^3 safe", "-q", "--witness", path)
    assert done.exit_code == 10
    return path


@pytest.mark.parametrize("kind", STARTS)
def test_a_result_is_drawn(stored: Path, tmp_path: Path, kind: str) -> None:
    needs("matplotlib")
    out = tmp_path / f"trace.{kind}"
    done = run("plot", stored, "-o", out)
    assert done.exit_code == 0, done.stderr
    data = out.read_bytes()
    assert data.startswith(STARTS[kind])
    if kind == "svg":
        text = data.decode()
        for part in ("Counterexample to AX^3", "Vertical geometry", "climb (ft/s)", "h &gt; 100", "SCL2500", ">step<"):
            assert part in text


def test_parts_and_variables_can_be_chosen(stored: Path, tmp_path: Path) -> None:
    needs("matplotlib")
    out = tmp_path / "trace.svg"
    assert run("plot", stored, "-o", out, "--show", "states").exit_code == 0
    assert "Vertical geometry" not in out.read_text()
    assert run("plot", stored, "-o", out, "--variables", "h,advisory").exit_code == 0
    text = out.read_text()
    assert ">h (ft)<" in text and ">advisory<" in text and "climb" not in text
    done = run("plot", stored, "-o", out, "--variables", "hh")
    assert done.exit_code == 2 and "no 'hh'; it has adv, advisory, climb, h, tau" in done.stderr
    done = run("plot", stored, "-o", out, "--show", "tree")
    assert done.exit_code == 2 and "does not branch" in done.stderr


def test_a_bare_witness_and_a_simulated_run_are_drawn(stored: Path, tmp_path: Path) -> None:
    needs("matplotlib")
    bare, run_file, out = tmp_path / "bare.json", tmp_path / "run.json", tmp_path / "o.svg"
    bare.write_text(json.dumps(json.loads(stored.read_text())["witness"]))
    done = run("plot", bare, "-o", out)
    assert done.exit_code == 0 and "--scenario gives them" in done.stderr
    assert ">h<" in out.read_text()
    assert run("plot", bare, "-o", out, "--scenario", "vcas").exit_code == 0
    assert ">h (ft)<" in out.read_text() and "Vertical geometry" in out.read_text()
    assert run("simulate", "--scenario", "frozenlake", "--steps", "5", "--json", run_file).exit_code == 0
    done = run("plot", run_file, "-o", out)
    assert done.exit_code == 0 and "Path on the grid" in out.read_text()
    assert run("simulate", "--scenario", "vcas", "--runs", "3", "--json", run_file).exit_code == 0
    done = run("plot", run_file, "-o", out)
    assert done.exit_code == 2 and "without --runs" in done.stderr


def test_what_can_not_be_drawn_is_told_with_a_remedy(stored: Path, tmp_path: Path) -> None:
    out, data = tmp_path / "o.svg", json.loads(stored.read_text())
    satisfied, python, broken = (tmp_path / f"{n}.json" for n in ("satisfied", "python", "broken"))
    satisfied.write_text(json.dumps({**data, "verdict": "satisfied", "witness": None}))
    python.write_text(json.dumps({**data, "origin": None}))
    broken.write_text('{"witness": 3}')
    cases = [
        ([satisfied, "-o", out], "venmas simulate --scenario vcas --json run.json"),
        ([stored, "-o", tmp_path / "o.jpg"], "ends in .svg, .png, .pdf"),
        ([stored, "-o", tmp_path / "no" / "o.svg"], "create it first"),
        ([stored, "-o", tmp_path], "ends in .svg"),
        ([stored, "-o", out, "--scenario", "vcass"], "did you mean 'vcas'?"),
        ([stored, "-o", out, "--scenario", "nowhere.py"], "there is no scenario file"),
        ([tmp_path / "gone.json", "-o", out], "cannot read"),
        ([broken, "-o", out], "drawn without units"),
        ([python, "-o", out, "--set", "climb0=3"], "--set is about a scenario"),
        ([stored], "Missing option '-o'"),
    ]
    for arguments, told in cases:
        done = run("plot", *arguments)
        assert done.exit_code == 2, (arguments, done.output)
        assert told in done.stderr and "Traceback" not in done.stderr
        assert not out.exists()


def test_without_matplotlib_it_says_what_to_install(
    stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = run("plot", stored, "-o", tmp_path / "o.svg")
    assert done.exit_code == 2 and 'pip install ".[plot]"' in done.stderr


def test_only_drawing_imports_matplotlib() -> None:
    code = "import sys, venmas.report.plot, venmas.cli.plot_command; print('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
    assert (plot_command.KINDS, PICTURES) == (KINDS, FORMATS)


def lamps(tmp_path: Path, picture: str = PICTURE) -> tuple[Path, Path]:
    scenario, stored = tmp_path / "lamps.py", tmp_path / "lamps.json"
    scenario.write_text(LAMPS + picture)
    args = ("--scenario", scenario, "--set", "scale=5", "--formula", "AX^2 lamp[3] == 0", "-q", "--json", stored)
    assert run(*args).exit_code == 10
    return scenario, stored


def test_a_scenario_file_draws_its_own_picture_when_it_is_trusted(tmp_path: Path) -> None:
    needs("matplotlib")
    scenario, stored = lamps(tmp_path)
    out = tmp_path / "o.svg"
    done = run("plot", stored, "-o", out)
    assert done.exit_code == 0 and "which is code" in done.stderr
    assert "Where the lamp is" not in out.read_text() and ">lamp<" in out.read_text()
    done = run("plot", stored, "-o", out, "--scenario", scenario)
    assert done.exit_code == 0 and "which is code" not in done.stderr
    assert "Where the lamp is" in out.read_text() and "drawn at scale 5" in out.read_text()


def test_an_error_in_a_picture_names_its_line_and_costs_no_other_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs("matplotlib")
    scenario, stored = lamps(tmp_path, PICTURE.replace("figure.subplots()", "figure.subplot()"))
    line = (LAMPS + PICTURE).splitlines().index("    axes = figure.subplots()") + 1
    done = run("plot", stored, "-o", tmp_path / "o.svg", "--scenario", scenario)
    assert done.exit_code == 2 and f"lamps.py, line {line}: AttributeError" in done.stderr
    assert not (tmp_path / "o.svg").exists()
    system = load_scenario(scenario).system()
    told: list[str] = []
    monkeypatch.setattr(logging.getLogger("venmas.report.plot.figures"), "warning", lambda m, *a: told.append(m % a))
    assert [p.title for p in figures(json.loads(stored.read_text()), system)] == ["States over time"]
    assert len(told) == 1 and f"line {line}" in told[0]


@pytest.mark.parametrize(
    ("picture", "told"),
    [
        ("picture = 3\n", "must be a function"),
        ("def picture(figure):\n    pass\n", "must take figure and trace"),
        ("def picture(figure, trace, colour):\n    pass\n", "takes 'colour', which PARAMETERS does not declare"),
    ],
)
def test_a_picture_of_the_wrong_form_is_refused_when_the_scenario_is_loaded(
    tmp_path: Path, picture: str, told: str
) -> None:
    path = tmp_path / "lamps.py"
    path.write_text(LAMPS + picture)
    with pytest.raises(ScenarioError, match=told):
        load_scenario(path)


def test_a_system_with_a_picture_goes_to_workers_and_systems_of_scripts_may_have_one(tmp_path: Path) -> None:
    needs("matplotlib")
    scenario, _ = lamps(tmp_path)
    system = load_scenario(scenario).system()
    assert pickle.loads(pickle.dumps(system)).picture is None
    assert verify(system, "AX^2 lamp[3] == 0", mode="comp-par", workers=2).violated
    data, system = result("double_integrator", "AX x[1] < 2.6")
    system.picture = lambda figure, trace: figure.suptitle(f"{trace.steps} step") and None
    found = figures(data, system)
    assert (found[0].title, found[0].alt) == ("1 step", "Picture of double_integrator.")
