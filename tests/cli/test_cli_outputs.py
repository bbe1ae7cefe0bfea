"""What a command writes: readers that leave early, full disks, and files that must stay as they are."""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.needs import needs
from tests.slow import some_slow
from venmas import load_scenario, verify
from venmas.cli.main import main
from venmas.errors import UsageError
from venmas.nn import relu_network
from venmas.nn.runtime import onnx_model

FALLS = ["--scenario", "vcas", "--set", "climb0=-25.5", "--formula", "AX^3 safe"]
HOLDS = ["--scenario", "vcas", "--formula", "AX^5 safe"]
COUNTER = """
from venmas.model import System

def build(networks):
    networks.load("*.onnx")
    system = System("counter")
    x = system.integer("x", 0, 3)
    system.initial(x == 0)
    system.branch("stay", x=x)
    return system
"""
QUERY = "(declare-const X_0 Real)(declare-const Y_0 Real)(assert (<= 0 X_0 1))(assert (>= Y_0 0))"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a scenario, its network, a query, a formula, results and a certificate."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "counter.py").write_text(COUNTER)
    (folder / "net.onnx").write_bytes(onnx_model(relu_network([[[1.0]]], [[0.0]], name="one"), "float32"))
    (folder / "query.vnnlib").write_text(QUERY)
    (folder / "formula.txt").write_text("AX x > 0")
    for name, args in (("own", ["--scenario", "counter.py", "--formula", "AX x > 0"]), ("bundled", FALLS)):
        assert run(folder, *args, "--json", f"{name}.json").exit_code == 10
    assert run(folder, *HOLDS, "--certificate", "proof.gz", "--json", "satisfied.json").exit_code == 0
    return folder


def run(folder: Path, *args: str) -> Result:
    before = Path.cwd()
    os.chdir(folder)
    try:
        return CliRunner().invoke(main, list(args))
    finally:
        os.chdir(before)


CLOSED = {
    "verify": ([*FALLS, "--json", "{new}/a.json", "--witness", "{new}/b.json"], 10, ["a.json", "b.json"]),
    "verify to stdout": ([*FALLS, "--json", "-", "--witness", "{new}/b.json"], 10, ["b.json"]),
    "verify satisfied": ([*HOLDS, "--certificate", "{new}/c.gz", "--json", "{new}/a.json"], 0, ["a.json", "c.gz"]),
    "vnnlib": (["vnnlib", "net.onnx", "query.vnnlib", "--json", "{new}/a.json"], 10, ["a.json"]),
    "simulate": (["simulate", "--scenario", "vcas", "--json", "{new}/a.json"], 0, ["a.json"]),
    "plot": (["plot", "bundled.json", "-o", "{new}/a.svg"], 0, ["a.svg"]),
    "report": (["report", "bundled.json", "-o", "{new}/a.html"], 0, ["a.html"]),
    "export programs": (["export", "programs", *FALLS, "-o", "{new}/p"], 0, ["p"]),
    "export formula": (["export", "formula", *FALLS], 0, []),
    "replay": (["replay", "bundled.json"], 10, []),
    "check": (["check", "proof.gz"], 0, []),
    "scenarios": (["scenarios", "vcas"], 0, []),
    "solvers": (["solvers"], 0, []),
    "help": (["--help"], 0, []),
    "wrong": (["verify"], 2, []),
}


LONG = ("verify satisfied", "vnnlib", "plot", "report", "export programs", "replay")
"""Commands that end as others do, and take longer: in slow suites alone."""


@pytest.mark.parametrize("case", [pytest.param(c, marks=pytest.mark.slow) if c in LONG else c for c in CLOSED])
def test_a_reader_that_leaves_early_takes_nothing_away(case: str, made: Path, tmp_path: Path) -> None:
    """Neither files nor the exit status, as with `venmas ... 2>&1 | true`."""
    needs("jinja2", "matplotlib")
    args, status, files = CLOSED[case]
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "venmas", *(arg.replace("{new}", str(tmp_path)) for arg in args)]
    done = subprocess.run(command, cwd=made, stdout=writer, stderr=writer, timeout=60)
    os.close(writer)
    assert done.returncode == status
    assert sorted(p.name for p in tmp_path.iterdir()) == files
    for file in tmp_path.glob("*.json"):
        json.loads(file.read_text())


def test_a_pipe_by_its_name_may_be_closed(made: Path) -> None:
    command = f'{sys.executable} -m venmas {" ".join(FALLS[:4])} --formula "AX^3 safe" --json /dev/stdout | head -c 5'
    done = subprocess.run(
        ["bash", "-c", f"{command}; exit ${{PIPESTATUS[0]}}"], cwd=made, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (10, '{\n  "', "")


def test_a_full_standard_output_keeps_what_is_stored(made: Path, tmp_path: Path) -> None:
    for args in ([*FALLS, "--witness", str(tmp_path / "a.json")], ["scenarios"], ["--help"]):
        with open("/dev/full", "wb") as full:
            command = [sys.executable, "-m", "venmas", *args]
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
        assert done.returncode == 2
        assert done.stderr == "error: cannot write to standard output: No space left on device; send it elsewhere\n"
    assert json.loads((tmp_path / "a.json").read_text())["verdict"] == "violated"


@pytest.fixture
def full(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A full disk; by a link, as the device itself must survive whatever is tested."""
    link = tmp_path_factory.mktemp("full") / "full"
    link.symlink_to("/dev/full")
    return str(link)


@contextmanager
def no_file_above(size: int) -> Iterator[None]:
    """A disk that is full: no file may have more bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("mode", ["adaptive", "exact"])  # which write while and after they search
@pytest.mark.parametrize("size", [10, 2000])  # less than the first block, and than all of it
def test_a_certificate_on_a_full_disk_costs_no_verdict(mode: str, size: int, tmp_path: Path) -> None:
    (tmp_path / "p.gz").write_text("old")
    with no_file_above(size):
        done = run(tmp_path, *HOLDS, "--mode", mode, "--certificate", "p.gz", "--json", "-")
    assert done.exit_code == 2
    assert done.stderr == "error: --certificate: cannot write 'p.gz': File too large; the proof is not stored\n"
    result = json.loads(done.stdout)
    assert (result["verdict"], result["basis"], result["certificate"]) == ("satisfied", "exact", None)
    assert any("cannot write 'p.gz'" in note for note in result["notes"])
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("p.gz", "old")]


def test_no_file_that_cannot_be_written_costs_the_others(full: str, tmp_path: Path) -> None:
    done = run(tmp_path, *HOLDS, "--certificate", full, "--json", "a.json")
    assert (done.exit_code, done.stdout.partition("\n")[0]) == (2, "satisfied")
    assert done.stderr.startswith(f"error: --certificate: cannot write {full!r}: No space left on device")
    assert json.loads((tmp_path / "a.json").read_text())["verdict"] == "satisfied"
    done = run(tmp_path, *FALLS, "--json", full, "--witness", "b.json")
    assert (done.exit_code, done.stdout.partition("\n")[0]) == (2, "violated")
    assert done.stderr.startswith(f"error: --json: cannot write {full!r}: No space left on device")
    assert json.loads((tmp_path / "b.json").read_text())["verdict"] == "violated"
    done = run(tmp_path, "simulate", "--scenario", "vcas", "--json", full)
    assert (done.exit_code, "step" in done.stdout, "--json: cannot write" in done.stderr) == (2, True, True)


def test_an_answer_that_cannot_be_stored_is_told(made: Path, full: str) -> None:
    done = run(made, "vnnlib", "net.onnx", "query.vnnlib", "--json", full)
    assert (done.exit_code, done.stdout.partition("\n")[0]) == (2, "sat")
    assert f"error: --json: cannot write {full!r}" in done.stderr


def test_a_proof_without_its_file_is_a_proof(full: str, tmp_path: Path) -> None:
    system = load_scenario("vcas").system()
    report = verify(system, "AX^5 safe", certificate=full)
    assert report.satisfied and report.basis == "exact" and report.certificate is None
    assert report.unwritten is not None and "No space left" in report.unwritten.problem
    with pytest.raises(UsageError, match="there is no folder"):  # before any work
        verify(system, "AX^5 safe", certificate=tmp_path / "none" / "p.gz")


def test_certificates_replace_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "proof.gz.part").write_text("mine")
    (tmp_path / "real.gz").write_text("old")
    (tmp_path / "proof.gz").symlink_to("real.gz")
    os.mkfifo(tmp_path / "pipe")
    assert run(tmp_path, *HOLDS, "--certificate", "proof.gz").exit_code == 0
    assert (tmp_path / "proof.gz.part").read_text() == "mine"
    assert (tmp_path / "proof.gz").is_symlink()  # and what it leads to is the proof
    assert run(tmp_path, "check", "real.gz").stdout.startswith("proved")
    assert run(tmp_path, *FALLS, "--certificate", "proof.gz").exit_code == 2  # it would be taken for a proof of this
    assert run(tmp_path, "check", "real.gz").stdout.startswith("proved")  # is left as it was
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    assert run(tmp_path, *HOLDS, "--certificate", "pipe").exit_code == 0
    assert os.read(reader, 2) == b"\x1f\x8b"
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["pipe", "proof.gz", "proof.gz.part", "real.gz"]


OWN = ["--scenario", "counter.py", "--formula"]
KEPT = {
    "verify, scenario": ([*OWN, "AX x > 0", "--json", "{}"], "counter.py"),
    "verify, network": ([*OWN, "AX x > 0", "--witness", "{}"], "net.onnx"),
    "verify, formula": ([*OWN, "@formula.txt", "--certificate", "{}"], "formula.txt"),
    "verify, journal": ([*OWN, "AX x > 0", "--journal", "{}"], "counter.py"),
    "vnnlib, network": (["vnnlib", "net.onnx", "query.vnnlib", "--json", "{}"], "net.onnx"),
    "vnnlib, query": (["vnnlib", "net.onnx", "query.vnnlib", "--json", "{}"], "query.vnnlib"),
    "simulate, scenario": (["simulate", *OWN[:2], "--json", "{}"], "counter.py"),
    "simulate, network": (["simulate", *OWN[:2], "--json", "{}"], "net.onnx"),
    "report, result": (["report", "own.json", "-o", "{}"], "own.json"),
    "report, scenario": (["report", "own.json", *OWN[:2], "-o", "{}"], "counter.py"),
    "report, network": (["report", "own.json", *OWN[:2], "-o", "{}"], "net.onnx"),
    "report, certificate": (["report", "satisfied.json", "--check", "-o", "{}"], "proof.gz"),
    "plot, result": (["plot", "own.json", "-o", "{}"], "own.json"),
    "plot, scenario": (["plot", "own.json", *OWN[:2], "-o", "{}"], "counter.py"),
    "export formula, scenario": (["export", "formula", *OWN, "@formula.txt", "-o", "{}"], "counter.py"),
    "export formula, formula": (["export", "formula", *OWN, "@formula.txt", "-o", "{}"], "formula.txt"),
    "export witness, result": (["export", "witness", "own.json", *OWN[:2], "-o", "{}"], "own.json"),
    "export witness, network": (["export", "witness", "own.json", *OWN[:2], "-o", "{}"], "net.onnx"),
}


@pytest.mark.parametrize("link", ["", "soft", "hard"])
@pytest.mark.parametrize("case", KEPT)
def test_what_is_read_is_not_replaced(case: str, link: str, made: Path, tmp_path: Path) -> None:
    args, name = KEPT[case]
    path = tmp_path / "link.svg"
    if link == "hard":
        path.hardlink_to(made / name)
    elif link == "soft" or args[0] == "plot":  # which insists on the ending
        path.symlink_to(made / name)
    else:
        path = made / ".." / made.name / name
    before = {p.name: p.read_bytes() for p in made.iterdir() if p.is_file()}
    done = run(made, *args[:-1], str(path))
    assert done.exit_code == 2, done.output
    option = "--output" if args[-2] == "-o" and args[0] != "report" else args[-2]
    replaced = f"error: {option} {str(path)!r} would take the place of" in done.stderr
    other_kind = f"error: {option} {str(path)!r}: no such file is written; name one that ends in" in done.stderr
    assert (replaced and "name another file" in done.stderr) or other_kind
    assert {p.name: p.read_bytes() for p in made.iterdir() if p.is_file()} == before


ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0"}


@pytest.mark.parametrize(
    ("locale", "name"),
    some_slow([(ASCII, "zähler".encode()), (ASCII, b"z\xe4hler"), ({"LC_ALL": "C.UTF-8"}, b"z\xe4hler")], [1]),
)
def test_paths_are_bytes_whatever_the_locale(locale: dict[str, str], name: bytes, made: Path, tmp_path: Path) -> None:
    needs("jinja2", "matplotlib")
    (tmp_path / os.fsdecode(name)).mkdir()
    folder = os.fsencode(tmp_path) + b"/" + name + b"/" + name

    def venmas(*args: str | bytes) -> subprocess.CompletedProcess[bytes]:
        environment = {k: v for k, v in os.environ.items() if k not in ("LANG", "PYTHONIOENCODING")} | locale
        command = [sys.executable, "-m", "venmas", *args]
        return subprocess.run(command, env=environment, capture_output=True, timeout=60)

    with open(folder + b".py", "wb") as scenario, open(folder + b".onnx", "wb") as network:
        scenario.write(COUNTER.encode())
        network.write((made / "net.onnx").read_bytes())
    files = ["--json", folder + b".json", "--journal", folder + b".db"]
    asked = ["--scenario", folder + b".py", "--formula"]
    for done, status in (
        (venmas(*asked, "AX x > 0", *files), 10),
        (venmas(*asked, "AX x >= 0", "--certificate", folder + b".gz"), 0),
        (venmas("report", folder + b".json", "--scenario", folder + b".py", "-o", "-"), 0),
    ):
        assert (done.returncode, done.stderr) == (status, b"")
        assert b"hler" in done.stdout
