"""``venmas reach``: what it prints and writes, and how it ends."""

from tests.needs import needs

needs("jsonschema")

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.report.test_objects import Tags
from venmas import load_scenario, reach
from venmas.cli.main import main

SCHEMA = Draft202012Validator(json.loads((Path(__file__).parents[2] / "docs" / "reach.schema.json").read_text()))


def run(capsys, *words):
    with pytest.raises(SystemExit) as end:
        main(["reach", *words])
    told = capsys.readouterr()
    return end.value.code, told.out, told.err


def test_table_json_and_picture(capsys, tmp_path):
    files = [str(tmp_path / name) for name in ("r.json", "r.svg")]
    words = ("--scenario", "vcas", "--steps", "9", "--direction", "h + climb", "--json", files[0], "--plot", files[1])
    status, out, _ = run(capsys, *words)
    assert status == 0
    assert "h + climb" in out
    assert "rounded outward" in out
    stored = json.loads(Path(files[0]).read_text())
    SCHEMA.validate(stored)
    assert [layer["status"] for layer in stored["layers"]] == ["exact"] * 10
    for layer in stored["layers"]:
        for name, (low, high) in layer["seen"].items():
            assert layer["bounds"][name][0] <= low + 1e-9 <= high + 2e-9 <= layer["bounds"][name][1] + 3e-9
    picture = Path(files[1]).read_text()
    assert "<desc>Intervals over 10 steps" in picture
    assert "Plane of h and climb" in picture


@pytest.mark.parametrize("kind", ["png", "pdf"])
def test_other_pictures(capsys, tmp_path, kind):
    path = tmp_path / f"r.{kind}"
    run(capsys, "--scenario", "double_integrator", "--steps", "2", "--plot", str(path))
    assert path.read_bytes()[1:4] in (b"PNG", b"PDF")


def test_a_limit_that_is_over_leaves_the_initial_set(capsys, tmp_path, monkeypatch):
    path = tmp_path / "r.svg"
    monkeypatch.setattr("venmas.cli.reach_command.reading", lambda *_: nullcontext(lambda: 1e-6))  # all time is over
    status, out, _ = run(capsys, "--scenario", "vcas", "--steps", "3", "--plot", str(path))
    assert status == 20 and "Of the steps 1 to 3 nothing is known" in out and "Sources: none" in out
    assert "   0" in out and "-133 .. -129" in out
    assert "<desc>Intervals over 1 steps" in path.read_text()


def test_json_goes_to_standard_output_alone(capsys):
    status, out, _ = run(capsys, "--scenario", "frozenlake", "--steps", "2", "--json", "-")
    assert status == 0
    SCHEMA.validate(json.loads(out))


def test_sets_that_end_early_have_a_status_of_their_own(capsys, tmp_path):
    status, out, _ = run(capsys, "--scenario", "vcas", "--set", "tau0=3", "--steps", "5", "--runs", "50")
    assert status == 20
    assert "leaves the declared range of a variable in step 4" in out
    SCHEMA.validate(reach(load_scenario("vcas").system(tau0=3), 5, runs=50).to_json())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--steps", "2", "--direction", "hh"), "did you mean 'h'"),
        (("--steps", "2", "--plot", "x.gif"), "ends in .svg"),
        (("--steps", "2", "--plane", "h,tau"), "add --plot"),
        (("--steps", "2", "--plot", "x.svg", "--plane", "h"), "two directions"),
        (("--steps", "2", "--plot", "x.svg", "--plane", "h,clim"), "did you mean 'climb'"),
        (("--steps", "-1"), "--steps"),
        (("--steps", "100000"), "number of steps from 0 to 10000"),
        (("--steps", "10000", "--runs", "1000000"), "fewer runs"),
        ((), "--steps"),
    ],
)
def test_bad_input_is_told(capsys, tmp_path, monkeypatch, words, told):
    monkeypatch.chdir(tmp_path)
    status, _, err = run(capsys, "--scenario", "vcas", *words)
    assert status == 2
    assert told in err
    assert not list(tmp_path.iterdir())


SLOW = '''
"""A loop that no source makes tight soon."""
from venmas.model import System, apply_network, clip
from venmas.nn import relu_network
import numpy as np

PARAMETERS = ()


def build(networks):
    rng = np.random.default_rng([2, 4, 2, 16])
    a = rng.normal(size=(4, 4))
    a = (a * 0.95 / max(abs(np.linalg.eigvals(a)))).round(3)
    weights = [rng.normal(0, (2 / m) ** 0.5, (k, m)) for m, k in ((4, 16), (16, 16), (16, 2))]
    net = relu_network(weights, [rng.normal(0, 0.1, k) for k in (16, 16, 2)], name="controller")
    b, centre = rng.normal(0, 0.3, (4, 2)).round(3), rng.normal(0, 0.5, 4).round(2)
    s = System("slow")
    x = s.reals("x", 4, -1000, 1000)
    u = [clip(v, -1, 1) for v in apply_network(net, list(x))]
    s.branch("step", {x[i]: sum((x[j] * a[i, j] for j in range(4)), u[0] * b[i, 0] + u[1] * b[i, 1]) for i in range(4)})
    s.initial(*(c for v, m in zip(x, centre) for c in (v >= m - 0.125, v <= m + 0.125)))
    return s
'''


def test_ctrl_c_prints_what_is_known(tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    words = [sys.executable, "-m", "venmas", "reach", "--scenario", "slow.py", "--steps", "60", "--json", "r.json"]
    started = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(6)
    os.kill(started.pid, signal.SIGINT)
    out, err = started.communicate(timeout=60)
    assert started.returncode == 20, err
    assert "Stopped (interrupted)" in out
    stored = json.loads((tmp_path / "r.json").read_text())
    SCHEMA.validate(stored)
    assert stored["reason"] == "interrupted"


def test_notebooks_show_table_and_picture():
    found = reach(load_scenario("double_integrator").system(), 3, ["x[1] + x[2]"])
    tags = Tags()
    tags.feed(found._repr_html_())
    assert {"table", "img"} <= tags.seen
    assert not tags.open
    assert repr(found) == "<ReachSets of 'double_integrator': 4 of 4 steps, last exact>"
    assert str(found).startswith("Reach sets of double_integrator")
