"""Archives: packed from a result, checked anywhere, and refused when anything in them is not what it says."""

from __future__ import annotations

from tests.needs import needs

needs("jsonschema")

import configparser
import gzip
import hashlib
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from venmas.cli.main import main
from venmas.formats.archive import CERTIFICATE, MANIFEST, MAX_MEMBERS, RESULT

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs" / "check.schema.json").read_text())
LOOP = '''"""A tank, whose valve a network sets."""
from venmas.model import System, apply_network, argmax, where

def build(networks):
    tank = System("tank")
    level = tank.real("level", 0, 10)
    open_ = tank.agent(argmax(apply_network(networks.load("valve*.onnx"), (level,))), name="valve")
    tank.branch("drain", level=where(open_ == 1, level / 2, level))
    tank.initial(level >= 1, level <= 2)
    tank.proposition("low", level <= 4)
    return tank
'''


def run(*arguments: object):
    return CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a result, its certificate and its archive: of a bundled scenario, and of a file (tank)."""
    from venmas.nn import relu_network
    from venmas.nn.runtime import onnx_model

    folder = tmp_path_factory.mktemp("archives")
    asked = [
        "--scenario",
        "vcas",
        "--formula",
        "AX^2 safe",
        "--certificate",
        folder / "c.gz",
        "--json",
        folder / "r.json",
    ]
    assert run(*asked, "-q").exit_code == 0
    assert run("archive", folder / "r.json").exit_code == 0
    (folder / "tank.py").write_text(LOOP)
    nets = folder / "nets"
    nets.mkdir()
    valve = relu_network([[[1.0]], [[1.0], [0.5]]], [[0.0], [0.0, 1.0]], name="valve")
    (nets / "valve_1.onnx").write_bytes(onnx_model(valve, "float32"))
    told = ["--scenario", folder / "tank.py", "--networks", nets]
    asked = [*told, "--formula", "AX^3 low", "--certificate", folder / "t.gz", "--json", folder / "t.json"]
    assert run(*asked, "-q").exit_code == 0
    done = run("archive", folder / "t.json", *told, "-o", folder / "tank.zip")
    assert done.exit_code == 0, done.output
    return folder


def test_an_archive_is_checked_where_nothing_else_is(made: Path, tmp_path: Path) -> None:
    shutil.copy(made / "r.zip", tmp_path / "a.zip")
    done = run("check", tmp_path / "a.zip", "--json", tmp_path / "c.json")
    assert done.exit_code == 0 and done.stdout.startswith("proved\n"), done.output
    found = json.loads((tmp_path / "c.json").read_text())
    jsonschema.validate(found, SCHEMA)
    stored = json.loads((made / "r.json").read_text())
    assert found["certificate"]["sha256"] == stored["certificate"]["sha256"]
    assert found["certificate"]["sha256"] == hashlib.sha256((made / "c.gz").read_bytes()).hexdigest()
    assert found["archive"]["sha256"] == hashlib.sha256((tmp_path / "a.zip").read_bytes()).hexdigest()
    assert found["archive"]["versions"] == stored["versions"]
    assert found["subject"]["files"] == stored["origin"]["files"]
    for name, digest in found["subject"]["files"].items():
        place = ROOT / ("scenarios" if name.startswith("scenario/") else "networks") / "vcas" / name.partition("/")[2]
        assert digest == hashlib.sha256(place.read_bytes()).hexdigest(), name


def test_a_scenario_file_is_code_and_given_by_whoever_checks(made: Path, tmp_path: Path) -> None:
    """The networks are those of the archive; those that were packed are no longer there."""
    shutil.copy(made / "tank.zip", tmp_path / "a.zip")
    refused = run("check", tmp_path / "a.zip")
    assert refused.exit_code == 2 and "which is code" in refused.stderr
    shutil.copy(made / "tank.py", tmp_path / "mine.py")
    done = run("check", tmp_path / "a.zip", "--scenario", tmp_path / "mine.py")
    assert done.exit_code == 0 and "with the networks of the archive" in done.stdout and "valve_1.onnx" in done.stdout
    (tmp_path / "mine.py").write_text(LOOP.replace("level / 2", "level / 3"))
    done = run("check", tmp_path / "a.zip", "--scenario", tmp_path / "mine.py")
    assert done.exit_code == 30 and "system" in done.stderr


def test_headers_name_no_folder(made: Path) -> None:
    for proof in ("c.gz", "t.gz"):
        head = json.loads(gzip.decompress((made / proof).read_bytes()).splitlines()[0])
        assert str(made) not in json.dumps(head) and head["origin"]["files"]
        assert not any(os.sep in str(head["origin"][key]) for key in ("scenario", "networks"))


def test_refused_missing_and_unknown_differ(made: Path, tmp_path: Path) -> None:
    data = gzip.decompress((made / "c.gz").read_bytes()).splitlines()
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"\n".join(data[:-1])))
    done = run("check", tmp_path / "cut.gz", "--json", tmp_path / "c.json")
    assert done.exit_code == 30 and done.stderr.startswith("error: certificate refused at line ")
    found = json.loads((tmp_path / "c.json").read_text())
    jsonschema.validate(found, SCHEMA)
    assert found["answer"] == "refused" and found["line"] == len(data) - 1 and found["message"] in done.stderr
    whole = (made / "c.gz").read_bytes()
    for size in (len(whole) - 20, 60, 12, 0):  # not copied whole
        (tmp_path / "short.gz").write_bytes(whole[:size])
        done = run("check", tmp_path / "short.gz")
        assert done.exit_code == 2 and "Error" not in done.stderr and "write one with" in done.stderr, done.output
    assert run("check", tmp_path / "missing.gz", "--json", tmp_path / "no.json").exit_code == 2
    assert not (tmp_path / "no.json").exists()
    (tmp_path / "text.gz").write_text("text")
    assert run("check", tmp_path / "text.gz").exit_code == 2
    done = run("check", made / "c.gz", "--timeout", "0.01", "--json", tmp_path / "late.json")
    assert done.exit_code == 20
    found = json.loads((tmp_path / "late.json").read_text())
    jsonschema.validate(found, SCHEMA)
    assert (found["answer"], found["reason"]) == ("unknown", "time")


def test_what_is_packed_is_one_system(made: Path, tmp_path: Path) -> None:
    """Not another certificate, no other parameters, no counterexample."""
    for name in ("r.json", "c.gz", "t.gz"):
        shutil.copy(made / name, tmp_path / name)
    done = run("archive", tmp_path / "r.json", "--certificate", tmp_path / "t.gz")
    assert done.exit_code == 2 and "its sha256 differs" in done.stderr
    done = run("archive", tmp_path / "r.json", "--set", "climb0=-20")
    assert done.exit_code == 2 and "another system" in done.stderr
    done = run("archive", tmp_path / "r.json", "-o", tmp_path / "c.gz")
    assert done.exit_code == 2 and "would take the place" in done.stderr
    assert run(
        "--scenario", "vcas", "--set", "climb0=-25.5", "--formula", "AX^3 safe", "-q", "--json", tmp_path / "v.json"
    )
    done = run("archive", tmp_path / "v.json")
    assert done.exit_code == 2 and "venmas replay" in done.stderr
    assert run("archive", tmp_path / "gone.json").exit_code == 2
    assert not list(tmp_path.glob("*.zip"))


def members(archive: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(archive) as file:
        return {name: file.read(name) for name in file.namelist()}


def packed(path: Path, content: dict[str, bytes], honest: bool = True, kind: int = zipfile.ZIP_STORED) -> Path:
    """A zip file. honest: with a manifest that fits the content."""
    if honest:
        listed = [
            {"name": n, "size": len(d), "sha256": hashlib.sha256(d).hexdigest()}
            for n, d in content.items()
            if n != MANIFEST
        ]
        content = {
            **content,
            MANIFEST: json.dumps({"format": "venmas-archive-1", "venmas": "", "files": listed}).encode(),
        }
    with zipfile.ZipFile(path, "w", kind) as file:
        for name, data in content.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_STORED if name == CERTIFICATE else kind
            file.writestr(info, data)
    return path


def changed(content: dict[str, bytes], **fields: object) -> dict[str, bytes]:
    result = json.loads(content[RESULT])
    return {**content, RESULT: json.dumps({**result, **fields}).encode()}


HOSTILE: dict[str, Callable[[dict[str, bytes]], dict[str, bytes]]] = {
    "climbs out": lambda c: {**c, "../escaped": b"x"},
    "climbs out below": lambda c: {**c, "networks/../../escaped": b"x"},
    "absolute": lambda c: {**c, "/tmp/venmas-escaped": b"x"},
    "backslash": lambda c: {**c, "networks\\..\\escaped": b"x"},
    "hidden": lambda c: {**c, "networks/.hidden": b"x"},
    "a folder": lambda c: {**c, "networks/sub/": b""},
    "another name": lambda c: {**c, "run.sh": b"x"},
    "code of Python": lambda c: {**c, "sitecustomize.py": b"x"},
    "file and folder": lambda c: {**c, "networks/1.onnx/2.onnx": b"x"},
    "same name but for case": lambda c: {**c, "networks/A.onnx": b"x", "networks/a.onnx": b"x"},
    "no result": lambda c: {n: d for n, d in c.items() if n != RESULT},
    "no certificate": lambda c: {n: d for n, d in c.items() if n != CERTIFICATE},
    "too many": lambda c: {**c, **{f"networks/{i}": b"" for i in range(MAX_MEMBERS)}},
    "another result": lambda c: {**c, RESULT: b"[]"},
    "deep result": lambda c: {**c, RESULT: b"[" * 100_000},
    "violated": lambda c: changed(c, verdict="violated"),
    "another formula": lambda c: changed(c, formula="AX^9 safe"),
    "no formula": lambda c: changed(c, formula=[]),
    "a file as formula": lambda c: changed(c, formula="@/etc/hostname"),
    "another semantics": lambda c: changed(c, semantics="float32"),
    "another system": lambda c: changed(c, system="0" * 64),
    "another hash": lambda c: changed(c, certificate={"path": "c", "lines": 1, "size": 1, "sha256": "0" * 64}),
    "hash of no text": lambda c: changed(c, certificate=7),
    "damaged proof": lambda c: {**c, CERTIFICATE: c[CERTIFICATE][:-20]},
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_archives_are_refused(name: str, made: Path, tmp_path: Path) -> None:
    archive = packed(tmp_path / "a.zip", HOSTILE[name](members(made / "r.zip")))
    before = sorted(tmp_path.parent.rglob("*escaped*"))
    done = run("check", archive)
    assert done.exit_code == 30 and done.stderr.startswith("error: "), (done.output, done.exception)
    assert "Traceback" not in done.output and sorted(tmp_path.parent.rglob("*escaped*")) == before
    assert not Path("/tmp/venmas-escaped").exists()


def test_honest_repacking_is_accepted(made: Path, tmp_path: Path) -> None:
    """What is refused above is refused for what was changed."""
    for kind in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        assert run("check", packed(tmp_path / "a.zip", members(made / "r.zip"), kind=kind), "-q").exit_code == 0


DISHONEST: dict[str, Callable[[dict[str, bytes]], dict[str, bytes]]] = {
    "another network": lambda c: {**c, "networks/1.onnx": c["networks/2.onnx"]},
    "one too many": lambda c: {**c, "networks/x": b""},
    "one too few": lambda c: {n: d for n, d in c.items() if n != "networks/1.onnx"},
    "no manifest": lambda c: {n: d for n, d in c.items() if n != MANIFEST},
    "list as manifest": lambda c: {**c, MANIFEST: b"[]"},
    "deep manifest": lambda c: {**c, MANIFEST: b"[" * 100_000},
    "long number": lambda c: {**c, MANIFEST: b'{"format": ' + b"9" * 100_000 + b"}"},
    "more fields": lambda c: {**c, MANIFEST: c[MANIFEST].replace(b"{", b'{"run": "x", ', 1)},
    "floats as sizes": lambda c: {**c, MANIFEST: c[MANIFEST].replace(b'"size": ', b'"size": 1e', 1)},
    "huge manifest": lambda c: {**c, MANIFEST: c[MANIFEST] + b" " * (1 << 20)},
}


@pytest.mark.parametrize("name", DISHONEST)
def test_manifests_that_do_not_fit_are_refused(name: str, made: Path, tmp_path: Path) -> None:
    archive = packed(tmp_path / "a.zip", DISHONEST[name](members(made / "r.zip")), honest=False)
    done = run("check", archive)
    assert done.exit_code == 30 and done.stderr.startswith("error: "), (done.output, done.exception)


def test_bombs_and_damaged_archives_are_refused_soon(made: Path, tmp_path: Path) -> None:
    whole = (made / "r.zip").read_bytes()
    bomb = tmp_path / "bomb.zip"
    zeros = {f"networks/{i}": bytes(60 << 20) for i in range(3)}
    packed(bomb, {**members(made / "r.zip"), **zeros}, kind=zipfile.ZIP_DEFLATED)
    assert bomb.stat().st_size < 1 << 20
    data = bytearray(bomb.read_bytes())
    for at in range(len(data) - 46):  # the directory claims that each unpacks to 400 MB
        if data[at : at + 4] == b"PK\x01\x02" and struct.unpack_from("<L", data, at + 24)[0] == 60 << 20:
            struct.pack_into("<L", data, at + 24, 400 << 20)
    cases = {
        "sizes": bytes(data),
        "cut": whole[: len(whole) // 2],
        "start alone": whole[:4],
        "flipped": whole[:600] + bytes([whole[600] ^ 255]) + whole[601:],
        "comment": whole + b"x",
        "no end": whole[:-22],
        "many": whole[:-12] + struct.pack("<H", 65535) + whole[-10:],
    }
    for name, content in cases.items():
        (tmp_path / "a.zip").write_bytes(content)
        done = run("check", tmp_path / "a.zip")
        assert done.exit_code == 30 and "archive" in done.stderr, (name, done.output, done.exception)
        assert not re.search(r"[A-Z][a-z]+Error|BadZipFile", done.stderr), done.stderr


def test_an_archive_made_twice_is_the_same(made: Path, tmp_path: Path) -> None:
    assert run("archive", made / "r.json", "-o", tmp_path / "again.zip").exit_code == 0
    assert (tmp_path / "again.zip").read_bytes() == (made / "r.zip").read_bytes()


CHECKER_ALONE = """
import sys

class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {NOT_THERE}:
            raise ModuleNotFoundError(f"no module {name}", name=name)

sys.meta_path.insert(0, Refusing())
sys.argv = ["venmas", "check", sys.argv[1]]
from venmas.cli.main import main
try:
    main()
finally:
    for room in ("engine", "procedures", "bounds", "solvers"):
        assert f"venmas.{room}" not in sys.modules, room
"""


def test_the_checker_runs_without_solvers(made: Path) -> None:
    """What requirements-check.txt leaves out is not imported, nor is the search."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    needed = setup["options"]["install_requires"].split()
    lines = (ROOT / "requirements-check.txt").read_text().splitlines()
    kept = [line for line in lines if line and not line.startswith("#")]
    assert set(kept) < set(needed)
    left_out = {line.partition(">")[0] for line in set(needed) - set(kept)}
    assert left_out == {"highspy", "h5py", "numba"}
    for archive in ("c.gz", "r.zip"):
        code = CHECKER_ALONE.replace("{NOT_THERE}", repr(left_out))
        done = subprocess.run([sys.executable, "-c", code, made / archive], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("proved\n"), done.stderr


def test_the_page_of_an_archive(made: Path, tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes((made / "r.zip").read_bytes())
    done = run("report", tmp_path / "a.zip", "--check")
    assert done.exit_code == 0 and done.stdout == f"{tmp_path / 'a.html'}: satisfied\n", done.output
    page = (tmp_path / "a.html").read_text()
    assert "a.zip" in page and "proved" in page.lower()
    for more in (["archive", "-o", tmp_path / "b.zip"], ["replay"], ["plot", "-o", tmp_path / "x.svg"]):
        done = run(more[0], tmp_path / "a.zip", *more[1:])
        assert done.exit_code == 2 and "is an archive" in done.stderr, done.output
    (tmp_path / "a.zip").write_bytes((made / "r.zip").read_bytes()[:900])
    done = run("report", tmp_path / "a.zip")
    assert done.exit_code == 30 and "cut off" in done.stderr


def test_other_networks_are_not_called_a_damaged_archive(made: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for name, data in members(made / "r.zip").items():
        if name.startswith("networks/"):
            (other / name.removeprefix("networks/")).write_bytes(data)
    files = sorted(other.iterdir())
    first = files[0].read_bytes()
    files[0].write_bytes(files[1].read_bytes())
    files[1].write_bytes(first)
    done = run("check", made / "r.zip", "--networks", other)
    assert done.exit_code == 30 and "the one that --networks name" in done.stderr, done.output
    assert "result and its certificate" not in done.stderr
