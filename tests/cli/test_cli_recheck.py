"""`venmas recheck`: what a certificate proves of one policy, proved of another."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner, Result
from onnx import numpy_helper

from venmas.cli.main import main

ROOT = Path(__file__).parents[2]
FORMULA = "AG^5 (th >= -0.25 & th <= 0.25)"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a certificate, its result and archive, and networks whose weights are a little larger."""
    folder = tmp_path_factory.mktemp("recheck")
    asked = ("--scenario", "pendulum", "--formula", FORMULA, "--json", folder / "result.json")
    assert run(*asked, "--certificate", folder / "old.gz").exit_code == 0
    assert run("archive", folder / "result.json", "-o", folder / "old.zip").exit_code == 0
    for name, factor in (("new", 1.01), ("bad", -1.0)):
        model = onnx.load(ROOT / "networks" / "pendulum" / "controller.onnx")
        last = next(t for t in model.graph.initializer if t.name == "W3")
        last.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(last) * np.float32(factor), "W3"))
        (folder / name).mkdir()
        onnx.save(model, folder / name / "controller.onnx")
    return folder


@pytest.mark.parametrize("earlier", ["old.gz", "old.zip"])
def test_other_networks_are_proved_with_the_same_cuts(earlier: str, made: Path, tmp_path: Path) -> None:
    new, stored = tmp_path / "new.gz", tmp_path / "new.json"
    given = ("recheck", made / earlier, "--networks", made / "new", "--certificate", new, "--json", stored)
    done = run(*given)
    assert done.exit_code == 0, done.output
    result = json.loads(stored.read_text())
    assert (result["verdict"], result["decided_by"]) == ("satisfied", "transfer")
    assert run("check", new, "--networks", made / "new").exit_code == 0
    refused = run("check", made / "old.gz", "--networks", made / "new")
    assert refused.exit_code == 30
    assert "other networks than those given" in refused.output
    assert "venmas recheck" in refused.output
    assert run("archive", stored, "-o", tmp_path / "new.zip", "--networks", made / "new").exit_code == 0


def test_a_violation_has_a_witness(made: Path, tmp_path: Path) -> None:
    witness = tmp_path / "witness.json"
    done = run("recheck", made / "old.gz", "--networks", made / "bad", "--witness", witness, "--quiet")
    assert (done.exit_code, done.output.strip()) == (10, "violated")
    assert run("replay", witness, "--networks", made / "bad").exit_code == 10


def test_what_cannot_be_rechecked_is_refused(made: Path, tmp_path: Path) -> None:
    copied = tmp_path / "copy.gz"
    shutil.copy(made / "old.gz", copied)
    for arguments, told in (
        (("recheck", tmp_path / "none.gz"), "there is no file"),
        (("recheck", made / "result.json"), "no certificate"),
        (("recheck", copied, "--certificate", copied), "would take the place of the earlier proof"),
        (("recheck", copied, "--networks", tmp_path / "nowhere"), "nowhere"),
    ):
        done = run(*arguments)
        assert done.exit_code == 2, done.output
        assert told in done.output
