"""``venmas map`` and ``venmas monitor``: what they print and write, and how they end."""

from tests.clock import waited
from tests.needs import needs

needs("jsonschema")

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from venmas.cli.main import main
from venmas.engine.map.tree import digest_of

SCHEMA = Draft202012Validator(json.loads((Path(__file__).parents[2] / "docs" / "map.schema.json").read_text()))
CHECKED = Draft202012Validator(json.loads((Path(__file__).parents[2] / "docs" / "check.schema.json").read_text()))
GRID = '''
"""Right or down, whatever the environment likes."""
from venmas.model import Parameter, System

PARAMETERS = (Parameter("most", 13, "greatest sum"),)


def build(networks, most):
    s = System("grid")
    x, y = s.integer("x", 0, 9), s.integer("y", 0, 9)
    s.branch("right", x=x + 1, when=x < 9)
    s.branch("down", y=y - 1, when=y > 0)
    s.branch("stay", when=(x == 9) & (y == 0))
    s.initial(x >= 1, x <= 8, y >= 2, y <= 9)
    s.proposition("low", x + y <= most)
    s.specify("safe", "AG^5 low")
    return s
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "grid.py").write_text(GRID)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys, *words):
    with pytest.raises(SystemExit) as end:
        main(list(words))
    shown = capsys.readouterr()
    return end.value.code, shown.out, shown.err


MAP = ("map", "--scenario", "grid.py", "-f", "safe", "-o", "m.json")
PENDULUM = ("--scenario", "pendulum", "--set", "th=-0.4..0.4", "--set", "thdot=-1..1", "-f", "upright10")


def test_table_file_and_picture(capsys, folder):
    status, out, _ = run(capsys, *MAP, "--plot", "m.svg")
    assert status == 0
    for row in (r"proved +46\.87 % +12 ", r"violated +53\.12 % +9 ", r"open +0\.00 % +0 "):
        assert re.search(row, out), out
    form = json.loads(Path("m.json").read_text())
    SCHEMA.validate(form)
    assert {row["status"] for row in form["cells"] if "status" in row} == {"proved", "violated"}
    picture = Path("m.svg").read_text()
    assert "<desc>Boxes of x and y; of the whole volume 46.87 % proved, 53.12 % violated" in picture


def test_a_finished_map_is_resumed_without_a_question(capsys, folder):
    run(capsys, *MAP)
    before = json.loads(Path("m.json").read_text())
    status, _, err = run(capsys, *MAP)
    assert status == 2 and "add --resume" in err
    status, _, _ = run(capsys, *MAP, "--resume")
    after = json.loads(Path("m.json").read_text())
    assert status == 0 and after["questions"] == before["questions"] and after["cells"] == before["cells"]


def test_resume_begins_where_there_is_no_file(capsys, folder):
    assert run(capsys, *MAP, "--resume")[0] == 0
    assert Path("m.json").exists()


def test_a_map_of_another_system_stays_as_it_is(capsys, folder):
    run(capsys, *MAP)
    before = Path("m.json").read_bytes()
    status, _, err = run(capsys, *MAP, "--resume", "--set", "most=12")
    assert status == 2 and "other parameters" in err
    Path("m.json").write_bytes(before.replace(b'"proved"', b'"violated"', 1))
    status, _, err = run(capsys, *MAP, "--resume")
    assert status == 2 and "edited or damaged" in err
    status, _, err = run(capsys, "monitor", "m.json", "-o", "m.c")
    assert status == 2 and "edited or damaged" in err and not Path("m.c").exists()


@pytest.mark.parametrize("ending", ["c", "py"])
def test_monitor_of_a_map(capsys, folder, ending):
    run(capsys, *MAP)
    status, out, _ = run(capsys, "monitor", "m.json", "-o", f"m.{ending}", "--name", "low_enough")
    assert status == 0 and "low_enough(x, y)" in out
    text = Path(f"m.{ending}").read_text()
    assert "formula: AG^5 (x + y <= 13)" in text
    if ending == "py":
        space = {}
        exec(text, space)
        assert [space["low_enough"](*state) for state in ((1, 2), (8, 9), (0, 2))] == [0, 1, 2]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("map", "--scenario", "grid.py", "-f", "safe", "--resume"), "name it with --output"),
        (("map", "--scenario", "grid.py", "-f", "safe", "--plane", "x,y"), "add --plot"),
        (("map", "--scenario", "grid.py", "-f", "safe", "--plot", "m.gif"), "ends in .svg"),
        (("map", "--scenario", "grid.py", "-f", "safe", "--plot", "m.svg", "--plane", "x"), "two variables"),
        (("map", "--scenario", "grid.py", "-f", "safe", "--plot", "m.svg", "--plane", "x,yy"), "did you mean 'y'"),
        (("map", "--scenario", "grid.py", "-f", "safe", "-o", "m.csv"), "ends in .json"),
        (("map", "--scenario", "grid.py", "-f", "safe", "-o", "grid.py"), "would take the place"),
        (("map", "--scenario", "grid.py", "-f", "safe", "-o", "-"), "takes a file"),
        (("map", "--scenario", "grid.py"), "no formula is given"),
        (("map", "--scenario", "grid.py", "-f", "G F low"), "of LTL"),
        (("map", "--scenario", "grid.py", "-f", "safe", "--min-width", "0"), "--min-width"),
        (("map", "--scenario", "frozenlake", "-f", "AX true", "--plot", "m.svg"), "leave --plot out"),
        (("monitor", "grid.py", "-o", "m.c"), "is no map"),
        (("monitor", "none.json", "-o", "m.c"), "none.json"),
        (("monitor", "grid.py", "-o", "m.java"), "ends in .c or .py"),
        (("monitor", "grid.py"), "--output"),
    ],
)
def test_bad_input_is_refused(capsys, folder, words, message):
    status, _, err = run(capsys, *words)
    assert status == 2 and message in err
    assert [path.name for path in folder.iterdir()] == ["grid.py"]


def test_names_of_a_stranger_do_not_steer_the_terminal(capsys, folder):
    run(capsys, *MAP)
    form = json.loads(Path("m.json").read_text())
    form["axes"][0]["name"] = "\x1b[2Jx\ud800"
    form["scenario"] = form["formula"] = "\x1b[2J"
    Path("m.json").write_text(json.dumps({**form, "digest": digest_of(form)}))
    status, out, _ = run(capsys, "monitor", "m.json", "-o", "m.c")
    assert status == 0 and "\x1b" not in out and "\x1b" not in Path("m.c").read_text()
    status, out, err = run(capsys, *MAP, "--resume")
    assert status == 2 and "\x1b" not in out + err


def test_a_file_that_cannot_be_written_loses_no_table(capsys, folder, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("venmas.cli.output.NewFile", full)
    status, out, err = run(capsys, *MAP)
    assert status == 2 and "46.87 %" in out and "No space left" in err


@pytest.mark.parametrize("workers", [pytest.param("1", marks=pytest.mark.slow), "2"])
def test_ctrl_c_keeps_the_map(folder, workers):
    words = [sys.executable, "-m", "venmas", "map", *PENDULUM, "-o", "m.json", "--timeout", "100"]
    words += ["--workers", workers]
    started = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    begun = time.monotonic()
    while time.monotonic() < begun + 9 + waited(started.pid):
        time.sleep(0.1)  # what it waits for a processor on a busy machine is none of its 9 s
    os.kill(started.pid, signal.SIGINT)
    out, err = started.communicate(timeout=60)
    assert started.returncode == 20, err
    assert "Stopped (interrupted)" in out
    form = json.loads((folder / "m.json").read_text())
    SCHEMA.validate(form)
    assert form["reason"] == "interrupted" and len(form["cells"]) > 10


def test_a_certified_map_is_checked(capsys, folder):
    assert run(capsys, *MAP, "--certify", "-q")[0] == 0
    assert SCHEMA.is_valid(json.loads(Path("m.json").read_text()))
    status, out, _ = run(capsys, "check", "m.json", "--scenario", "grid.py", "--json", "c.json", "-q")
    assert (status, out) == (0, "proved: satisfied in 46.87 %, violated in 53.12 % of the volume of initial states\n")
    form = json.loads(Path("c.json").read_text())
    CHECKED.validate(form)
    assert form["claim"]["shares"] == {"proved": "15/32", "violated": "17/32"}
    status, out, err = run(capsys, "check", "m.json")
    assert status == 2 and "which is code: if you trust it, give it with --scenario" in err
    status, out, err = run(capsys, "check", "m.json", "--scenario", "grid.py", "--set", "most=12")
    assert status == 30 and "another formula" in err
    status, _, err = run(capsys, "check", "m.json", "--scenario", "grid.py", "--btor2", "n.btor2")
    assert status == 2 and "--btor2" in err


def test_a_map_with_boxes_that_are_not_certified(capsys, folder):
    assert run(capsys, *MAP, "-q")[0] == 0
    status, out, _ = run(capsys, "check", "m.json", "--scenario", "grid.py", "--json", "c.json")
    form = json.loads(Path("c.json").read_text())
    CHECKED.validate(form)
    assert status == 20 and form["reason"] == "open" and "no box has a certificate" in out
    status, out, _ = run(capsys, *MAP, "--resume", "--certify", "-q")
    assert status == 0 and "decided boxes have no certificate; a new map asks" in out


def test_a_map_of_open_boxes_is_not_proved(capsys, folder):
    assert run(capsys, *MAP, "--certify", "-q")[0] == 0
    form = json.loads(Path("m.json").read_text())
    box = [[axis["low"], axis["high"]] for axis in form["axes"]]
    form["cells"] = [{"status": "open", "box": box, "seconds": 0}]
    Path("m.json").write_text(json.dumps({**form, "digest": digest_of(form)}))
    status, out, _ = run(capsys, "check", "m.json", "--scenario", "grid.py")
    assert status == 20 and out.startswith("no box has a certificate") and "satisfied in 0.00 %" in out


def test_maps_keep_their_certificates_apart(capsys, folder):
    assert run(capsys, *MAP, "--certify", "-q")[0] == 0
    more = ("map", "--scenario", "grid.py", "-f", "AG^2 low", "--resume", "--certify", "-q")
    assert run(capsys, *more, "-o", "m.map")[0] == 0
    Path("m.json").rename("other.json")
    status, _, err = run(capsys, *more, "-o", "m.json")
    assert status == 2 and "holds files" in err
    Path("other.json").rename("m.json")
    assert run(capsys, "check", "m.json", "--scenario", "grid.py")[0] == 0
    assert run(capsys, "check", "m.map", "--scenario", "grid.py")[0] == 0


def test_certificates_need_a_place(capsys, folder):
    status, _, err = run(capsys, "map", "--scenario", "grid.py", "-f", "safe", "--certify")
    assert status == 2 and "--output" in err
    (folder / "m.json.proofs").mkdir()
    (folder / "m.json.proofs" / "0.gz").write_bytes(b"")
    status, _, err = run(capsys, *MAP, "--certify")
    assert status == 2 and "holds files" in err
