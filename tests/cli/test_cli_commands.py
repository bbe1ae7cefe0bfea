"""Help, listings, simulation and replay, as a user sees them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from venmas.cli.main import COMMANDS, main

SCENARIO = '''
"""A counter that stops at three."""
from venmas.model import Parameter, System, apply_network

PARAMETERS = (Parameter("start", 0, "first value", "m"),)

def build(networks, start):
    system = System("counter")
    x = system.integer("x", 0, 9, unit="m", labels={7: "SEVEN"})
    light = system.booleans("light", 3)
    system.agent(x + 1, name="next", unit="m")
    system.initial(x == start, light[0] == 1, light[1] == 0, light[2] == 0)
    system.branch("up", {x: x + 1, light: light}, when=x < 8)
    system.branch("stay", {}, when=x < 6)
    system.specify("low", "AX^2 x < 7")
    return system
'''


def run(*args: str) -> Result:
    return CliRunner().invoke(main, args)


@pytest.fixture
def counter(tmp_path: Path) -> str:
    path = tmp_path / "counter.py"
    path.write_text(SCENARIO)
    return str(path)


def test_help_names_commands_options_and_exit_statuses() -> None:
    told = run("--help").stdout
    assert all(name in told for name in COMMANDS)
    assert "0 satisfied, 10 violated, 20 unknown" in " ".join(told.split())
    told = run("verify", "--help").stdout
    for option in ("scenario", "set", "networks", "formula", "mode", "tune"):
        assert f"--{option}" in told
    for option in ("--timeout", "--memory", "--json", "--witness", "--quiet", "-v"):
        assert option in told


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"Usage: venmas {command}")


def test_version_and_no_arguments() -> None:
    assert re.fullmatch(r"venmas \d+\.\d+\.\d+\S*\n", run("--version").stdout)
    assert run().exit_code == 2  # a script that lost its arguments must not read "satisfied"


def test_help_imports_no_verifier() -> None:
    code = (
        "import sys\nfrom venmas.cli.main import main\n"
        "try: main(['verify', '--help'])\nexcept SystemExit: pass\n"
        "print([m for m in ('numpy', 'lark', 'onnx', 'highspy', 'rich', 'h5py') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_scenarios_lists_the_bundled_ones() -> None:
    told = run("scenarios").stdout
    for name in ("vcas", "frozenlake", "double_integrator"):
        assert name in told
    assert "VerticalCAS" in told


def test_a_scenario_is_described(counter: str) -> None:
    told = run("scenarios", "vcas").stdout
    for part in ("climb0", "-19.5", "ft/s", "a1, a2, a3", "3 DND", "safe: h > 100 | h < -100", "safe5: AX^5 safe"):
        assert part in told
    assert "cell[1..9]" in run("scenarios", "frozenlake").stdout
    told = run("scenarios", counter, "--set", "start=2").stdout
    for part in ("A counter that stops", "start", "first value", "x (m) = 2", "light = 1", "up, stay", "low: AX^2"):
        assert part in told


def test_a_scenario_without_its_networks_is_described_as_far_as_possible(tmp_path: Path) -> None:
    path = tmp_path / "lonely.py"
    path.write_text(SCENARIO.replace("    light =", "    networks.load('agent.onnx')\n    light ="))
    result = run("scenarios", str(path))
    assert result.exit_code == 0
    assert "first value" in result.stdout
    assert "agent.onnx" in result.stdout


def test_solvers_are_listed() -> None:
    told = run("solvers").stdout
    assert re.search(r"highs +\d+\.\d+\.\d+ +yes", told)
    assert "gurobi" in told and "scip" in told


def test_simulate_shows_units_labels_and_groups(counter: str) -> None:
    told = run("simulate", "--scenario", counter, "--set", "start=6", "--steps", "5").stdout
    rows = [line.split() for line in told.splitlines()]
    assert rows[0] == ["step", "x", "(m)", "light", "next", "(m)", "branch"]
    assert rows[2:5] == [
        ["0", "6", "1", "7", "up"],
        ["1", "SEVEN", "1", "8", "up"],
        ["2", "8", "1", "9", "(no", "successor)"],
    ]
    assert "\x1b" not in told


def test_simulate_follows_branches_and_seeds(counter: str) -> None:
    chosen = run("simulate", "--scenario", counter, "--branches", "up,stay,up", "--json", "-")
    steps = json.loads(chosen.stdout)["trace"]
    assert [s["branch"] for s in steps] == ["up", "stay", "up", None]
    assert [s["state"]["x"]["exact"] for s in steps] == ["0", "1", "1", "2"]
    always = json.loads(run("simulate", "--scenario", counter, "--branch", "stay", "--json", "-").stdout)
    assert len(always["trace"]) == 11
    twice = [run("simulate", "--scenario", "vcas", "--seed", "7").stdout for _ in range(2)]
    assert twice[0] == twice[1] != run("simulate", "--scenario", "vcas", "--seed", "8").stdout
    disabled = run("simulate", "--scenario", counter, "--set", "start=6", "--branch", "stay")
    assert disabled.exit_code == 2
    assert "'stay' is not enabled" in disabled.stderr and "up" in disabled.stderr


def test_simulate_many_runs_sums_up() -> None:
    data = json.loads(run("simulate", "--scenario", "vcas", "--runs", "20", "--steps", "3", "--json", "-").stdout)
    assert [row["step"] for row in data["summary"]] == [0, 1, 2, 3]
    low, high = data["summary"][0]["range"]["h"]
    assert -133 <= low < high <= -129
    assert data["summary"][3]["range"]["tau"] == [22, 22]
    told = run("simulate", "--scenario", "vcas", "--runs", "20", "--steps", "3").stdout
    assert "COC" in told and " .. " in told
    fixed = json.loads(run("simulate", "--scenario", "vcas", "--initial", "h=-130.5", "--json", "-").stdout)
    assert fixed["trace"][0]["state"]["h"] == {"exact": "-261/2", "float": -130.5}


def test_a_wide_state_is_split_into_tables_that_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "wide.py"
    path.write_text(
        "from venmas.model import System\ndef build(networks):\n    s = System('wide')\n"
        "    x = s.reals('position', 20, 0, 1)\n    s.initial(*(v == 0 for v in x))\n"
        "    s.branch('b', {})\n    return s\n"
    )
    monkeypatch.setenv("COLUMNS", "80")
    told = run("simulate", "--scenario", str(path), "--steps", "1").stdout
    assert max(map(len, told.splitlines())) <= 80
    assert all(f"position[{i}]" in told for i in range(1, 21))
    assert "…" not in told


def test_a_violation_by_noise_is_replayed_where_the_formula_looks_less_far_than_it_says(tmp_path: Path) -> None:
    scenario, stored = tmp_path / "noisy.py", tmp_path / "r.json"
    scenario.write_text(
        "from venmas import System\n"
        "def build(networks):\n"
        "    s = System('noisy')\n"
        "    x, w = s.real('x', -9, 9), s.disturbance('w', -1, 1)\n"
        "    s.branch('go', x=w)\n"
        "    s.initial(x == 0)\n"
        "    return s\n"
    )
    for text in ("AX x < 1 & AX AX AX true", "AX (x < 1 & AX (true | AX x < 5))", "AX^2 x < 1"):
        run = CliRunner().invoke(main, ["--scenario", str(scenario), "--formula", text, "--json", str(stored)])
        assert run.exit_code == 10, run.output
        again = CliRunner().invoke(main, ["replay", str(stored), "--scenario", str(scenario)])
        assert again.exit_code == 10, again.output


def test_a_violation_by_a_quantity_is_replayed_where_it_is_measured(tmp_path: Path) -> None:
    scenario, stored = tmp_path / "sized.py", tmp_path / "r.json"
    scenario.write_text(
        "from venmas import System\n"
        "from venmas.model import maximum\n"
        "def build(networks):\n"
        "    s = System('sized')\n"
        "    x = s.real('x', -9, 9)\n"
        "    s.quantity('size', maximum(x, -x), 0, 9)\n"
        "    s.branch('shrink', x=x / 2)\n"
        "    s.initial(x >= 8)\n"
        "    return s\n"
    )
    for text in ("size <= 7", "AG size <= 7"):
        run = CliRunner().invoke(main, ["--scenario", str(scenario), "--formula", text, "--json", str(stored)])
        assert run.exit_code == 10, run.output
        again = CliRunner().invoke(main, ["replay", str(stored), "--scenario", str(scenario)])
        assert again.exit_code == 10, again.output
