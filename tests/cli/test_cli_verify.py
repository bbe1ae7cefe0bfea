"""Whole runs in processes of their own: exit statuses, results against the published schema, replay (design 5)."""

from tests.needs import needs
from tests.slow import some_slow

needs("jsonschema")

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from venmas.engine.report import Verdict
from venmas.errors import Reason

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs" / "result.schema.json").read_text())
FALLS = ["--scenario", "vcas", "--set", "climb0=-25.5", "--formula", "AX^3 (h > 100 | h < -100)"]


def venmas(*args: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "venmas", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=folder)


def checked(text: str) -> dict[str, Any]:
    """The result, after it was validated."""
    result = json.loads(text)
    Draft202012Validator(SCHEMA).validate(result)
    return dict(result)


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert set(SCHEMA["properties"]["reason"]["enum"]) == {"", *Reason}
    assert set(SCHEMA["properties"]["verdict"]["enum"]) == set(Verdict)


def test_satisfied_by_default_command(tmp_path: Path) -> None:
    done = venmas("--scenario", "vcas", "--formula", "AX^5 (h > 100 | h < -100)", "--mode", "comp-par", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("satisfied\nAX^5 (h > 100 | h < -100)\n")
    for part in ("subproblems", "seconds", "peak memory", "climb0=-19.5"):
        assert part in done.stdout
    assert "\x1b" not in done.stdout + done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize("mode", some_slow(["mono", "comp-seq", "comp-par"], [2]))
def test_violated_is_shown_stored_and_replayed(mode: str, tmp_path: Path) -> None:
    stored = tmp_path / "w.json"
    done = venmas(*FALLS, "--mode", mode, "--witness", str(stored))
    assert done.returncode == 10, done.stderr
    assert done.stdout.startswith("violated\n")
    for part in ("h (ft)", "COC", "branch", "margin", "float32"):
        assert part in done.stdout
    result = checked(stored.read_text())
    assert result["mode"] == mode
    assert len(result["witness"]["steps"]) == 4
    assert abs(result["witness"]["steps"][3]["state"]["h"]["float"]) <= 100
    again = venmas("replay", str(stored), folder=tmp_path)
    assert again.returncode == 10, again.stdout + again.stderr
    assert again.stdout.startswith("violated\n")
    assert "margin" in again.stdout
    assert {run["runtime"] for run in (result["witness"]["replay"][p] for p in ("float64", "float32"))} == {"numpy"}
    for precision in ("float64", "float32"):
        assert f"Replayed in {precision} (numpy): violated" in done.stdout
        assert f"Replayed in {precision} (onnxruntime): violated" in again.stdout


def test_json_on_stdout_is_alone_there() -> None:
    done = venmas("--scenario", "frozenlake", "--formula", "EX^2 (cell[9] > 0.9)", "--json", "-", "-v")
    assert done.returncode == 10
    result = checked(done.stdout)
    assert result["witness"]["tree"] is not None and result["witness"]["steps"] is None
    assert set(result["origin"]["digests"]) == {"agent.onnx"}
    assert "info: solver" in done.stderr


def test_a_tree_is_shown_with_cells_not_bits() -> None:
    done = venmas("--scenario", "frozenlake", "--formula", "EX^2 (cell[9] > 0.9)")
    assert "├─ ahead" in done.stdout
    assert "cell[5]" not in done.stdout


def test_satisfied_by_solver_and_by_bounds_fit_the_schema() -> None:
    bounds = checked(venmas("--scenario", "frozenlake", "--formula", "safe3", "--json", "-").stdout)
    assert (bounds["verdict"], bounds["basis"]) == ("satisfied", "bounds")
    args = [
        "--scenario",
        "double_integrator",
        "--formula",
        "within1",
        "--mode",
        "mono",
        "--tune",
        "milp.bounds=interval",
    ]
    assert checked(venmas(*args, "--json", "-").stdout)["verdict"] == "satisfied"


def test_unknown_has_its_reason() -> None:
    done = venmas("--scenario", "vcas", "--formula", "safe5", "--memory", "1", "--json", "-")
    result = checked(done.stdout)
    assert (done.returncode, result["verdict"], result["reason"]) == (20, "unknown", "memory")


def test_quiet_prints_one_line() -> None:
    assert venmas("--scenario", "frozenlake", "--formula", "safe2", "--quiet").stdout == "satisfied\n"
    done = venmas(*FALLS, "-q")
    assert (done.returncode, done.stdout, done.stderr) == (10, "violated\n", "")


def test_a_formula_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "f.ctl").write_text("AX^1\n  safe\n")
    assert venmas("--scenario", "vcas", "--formula", f"@{tmp_path}/f.ctl", "-q").stdout == "satisfied\n"


def test_replay_notices_other_systems_and_tampering(tmp_path: Path) -> None:
    stored = tmp_path / "w.json"
    assert venmas(*FALLS, "--json", str(stored)).returncode == 10
    other = venmas("replay", str(stored), "--set", "climb0=-22.5")
    assert other.returncode == 20
    assert "unknown: the witness does not replay: the initial state is not in the initial set" in other.stdout
    result = json.loads(stored.read_text())
    result["witness"]["steps"][1]["state"]["h"]["exact"] = "-100"
    stored.write_text(json.dumps(result))
    told = venmas("replay", str(stored), "-q")
    assert told.returncode == 20
    assert "does not replay: state 0 of the witness, after branch" in told.stdout


@pytest.mark.slow
def test_replay_with_the_published_weights_says_so(tmp_path: Path, data_dir: Path) -> None:
    stored, published = tmp_path / "w.json", str(data_dir / "vcas")
    args = ["--scenario", "vcas", "--set", "climb0=-22.5", "--networks", published, "--formula", "safe3"]
    done = venmas(*args, "--witness", str(stored))
    assert done.returncode == 10
    last = checked(stored.read_text())["witness"]["steps"][3]["state"]["h"]["float"]
    assert 97.725 <= abs(last) <= 100  # the exact minimum that the paper gives
    refused = venmas("replay", str(stored), "-q", folder=tmp_path)
    assert refused.returncode == 2 and "--networks says which to open" in refused.stderr
    assert venmas("replay", str(stored), "-q", "--networks", published, folder=tmp_path).returncode == 10
    result = json.loads(stored.read_text())
    result["origin"]["networks"] = None
    stored.write_text(json.dumps(result))
    other = venmas("replay", str(stored))
    assert "1.onnx" in other.stdout + other.stderr
    assert "other networks" in other.stderr


def test_a_reader_that_leaves_is_no_fault() -> None:
    command = f"{sys.executable} -m venmas --scenario frozenlake --formula 'EX^2 (cell[9] > 0.9)' | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60)
    assert done.stdout == "violated\n"
    assert done.stderr == ""


def test_results_go_through_links_and_devices(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to("real.json")
    args = ["--scenario", "frozenlake", "--formula", "safe2", "-q", "--json"]
    assert venmas(*args, str(tmp_path / "link.json")).returncode == 0
    assert (tmp_path / "link.json").is_symlink()
    assert checked((tmp_path / "real.json").read_text())["verdict"] == "satisfied"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.json", "real.json"]
    text, _, verdict = venmas(*args, "/dev/stdout").stdout.rstrip().rpartition("\n")  # stored, then printed
    assert verdict == checked(text)["verdict"] == "satisfied"


def test_no_witness_leaves_the_file_alone(tmp_path: Path) -> None:
    stored = tmp_path / "w.json"
    stored.write_text("old")
    done = venmas("--scenario", "frozenlake", "--formula", "safe2", "--witness", str(stored))
    assert done.returncode == 2 and done.stdout.startswith("satisfied")
    assert "is of another run: remove it, or name a new file" in done.stderr
    assert stored.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["w.json"]
