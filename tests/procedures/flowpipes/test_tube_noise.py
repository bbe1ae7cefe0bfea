"""What noise can bring about in smooth systems: constants for it in each box, and all of it in witnesses."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.corpus.smooth_noise import check
from tests.needs import needs
from venmas import verify
from venmas.checker.file import check_certificate
from venmas.checker.format.numbers import CheckError
from venmas.cli.main import main
from venmas.engine.report import Verdict
from venmas.errors import FormulaError, ModelError, UsageError
from venmas.model import System, Witness, clip, cos, replay, sin, tanh
from venmas.question import Question, chosen_for, read_property

WIND = Fraction(1, 20)
GUST = """
from venmas.model import System, cos, sin

def build(networks):
    system = System("gust")
    heading, across = system.real("heading", -4, 4), system.real("across", -50, 50)
    wind = system.disturbance("wind", -0.05, 0.05)
    system.branch("fly", system.flow(0.2, {heading: -heading, across: 2 * sin(heading) + wind * cos(heading)}).end)
    system.initial(heading >= 0.3, heading <= 0.35, across == 0)
    return system
"""


def gust() -> System:
    system = System("gust")
    heading, across = system.real("heading", -4, 4), system.real("across", -50, 50)
    wind = system.disturbance("wind", -WIND, WIND)
    plant = system.flow(Fraction(1, 5), {heading: -heading, across: 2 * sin(heading) + wind * cos(heading)})
    system.branch("fly", plant.end)
    system.initial(heading >= Fraction(3, 10), heading <= Fraction(7, 20), across == 0)
    return system


@pytest.mark.parametrize(
    "text", ["EX^10 (across > 0.6)", "EG^10 across < 0.6", "EF^10 (across > 0.6 & EX across < 0.7)"]
)
def test_noise_that_brings_something_about_is_found_and_certified(text: str, tmp_path: Path) -> None:
    proof, system = tmp_path / "proof", gust()
    report = verify(system, text, timeout=30, certificate=proof)
    assert report.verdict is Verdict.SATISFIED and report.basis == "exact"
    assert check_certificate(proof, system).leaves >= 2
    header, *lines = _lines(proof)
    choices = [line["values"] for line in lines if line["rule"] == "choose"]
    assert choices and all(len(values) == len(header["claim"]["chosen"]) for values in choices)


def test_a_violation_is_shown_under_all_noise() -> None:
    system = gust()
    report = verify(system, "EF^10 across > 0.63", timeout=30)
    assert report.verdict is Verdict.VIOLATED and report.witness is not None
    for node in report.witness.nodes[:-1]:
        (wind,) = (value for value in node.state if value.name == "wind")
        assert wind.exact - wind.radius <= -WIND and wind.exact + wind.radius >= WIND
    told = str(report)
    assert "From here no noise brings it about" in told and "0 +- 0.05" in told


def test_such_a_witness_is_none_of_one_run() -> None:
    """Nor is it one where it tells of less noise than there is."""
    asked = read_property(gust(), "EF^2 across > 0.3")
    system, noise = chosen_for(gust(), asked)
    target = Question(system, asked, chosen=noise).target
    question = verify(gust(), "EF^2 across > 0.3", timeout=10)
    assert question.witness is not None
    from venmas.model.witness.noise import unfolded

    witness = unfolded(gust(), question.witness, target.depth)
    assert replay(system, target, witness, noise=noise).confirmed
    assert not replay(system, target, witness).confirmed
    data = json.loads(json.dumps(witness.to_json()))
    for value in data["steps"][1]["state"].values():
        value["radius"] = "0"
    with pytest.raises((UsageError, AssertionError)):
        assert replay(system, target, Witness.from_json(data), noise=noise).confirmed


def test_stored_violations_replay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario, stored = tmp_path / "gust.py", tmp_path / "found.json"
    scenario.write_text(GUST)
    args = ["--scenario", str(scenario), "--formula", "EF^5 across > 0.5", "--json", str(stored), "--quiet"]
    with pytest.raises(SystemExit) as end:
        main(args)
    assert end.value.code == 10
    with pytest.raises(SystemExit) as end:
        main(["replay", str(stored), "--scenario", str(scenario)])
    assert end.value.code == 10
    assert "From here no noise brings it about" in capsys.readouterr().out


def _lines(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path) as file:
        return [json.loads(line) for line in file]


def _spoilt(path: Path, spoil: Callable[[list[dict[str, Any]]], None]) -> Path:
    lines = _lines(path)
    spoil(lines)
    lines[-1]["lines"] = len(lines) - 1
    with gzip.open(path.with_suffix(".spoilt"), "wt") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    return path.with_suffix(".spoilt")


def _outside(lines: list[dict[str, Any]]) -> None:
    lines[2]["values"][0] = "1/19"


def _of_all(lines: list[dict[str, Any]]) -> None:
    del lines[0]["claim"]["chosen"]


def _of_any(lines: list[dict[str, Any]]) -> None:
    lines[0]["claim"]["formula"] = "AX (AX (AX (across > 0.25)))"
    del lines[0]["claim"]["chosen"]


def _boxed_by_choice(lines: list[dict[str, Any]]) -> None:
    lines.insert(-2, lines[2])


def _fewer(lines: list[dict[str, Any]]) -> None:
    lines[2]["values"].pop()


def _unboxed(lines: list[dict[str, Any]]) -> None:
    del lines[-2]


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (_outside, "outside of its range"),
        (_of_all, "may be chosen for such a formula is: wind"),
        (_of_any, "none|not shown free|about all noise"),
        (_boxed_by_choice, "about all noise"),
        (_fewer, "expected 3 values"),
        (_unboxed, "expected cut or choose or tube"),
    ],
)
def test_certificates_that_say_more_are_refused(
    spoil: Callable[[list[dict[str, Any]]], None], told: str, tmp_path: Path
) -> None:
    proof, system = tmp_path / "proof", gust()
    assert verify(system, "EX^3 across > 0.25", timeout=30, certificate=proof).certificate is not None
    check_certificate(proof, system)
    with pytest.raises(CheckError, match=told):
        check_certificate(_spoilt(proof, spoil), system)


def test_other_noise_may_leave_the_box() -> None:
    """That some noise brings it about is no answer where other noise leads out of the declared ranges."""
    system = System("narrow")
    x = system.real("x", -2, 2)
    w = system.disturbance("w", -1, 1)
    system.branch("go", {x: tanh(x) + 2 * w})
    system.initial(x >= 0, x <= Fraction(1, 2))
    with pytest.raises(ModelError, match="leaves the declared box"):
        verify(system, "EX x > 0", timeout=10)


def test_noise_decides_which_branches_there_are() -> None:
    """Where no branch is enabled, noise brings nothing about."""
    system = System("gate")
    x = system.real("x", -9, 9)
    w = system.disturbance("w", -1, 1)
    system.branch("open", {x: sin(x) + w}, when=w > Fraction(1, 2))
    system.initial(x >= 0, x <= 1)
    assert verify(system, "EX^2 x > 0.9", timeout=10).satisfied
    report = verify(system, "EX x < 0.2", timeout=10)  # all noise at once leaves the guard open
    assert report.verdict is Verdict.UNKNOWN and "nor shown that there is none" in report.message
    system = System("shut")
    x = system.real("x", -9, 9)
    w = system.disturbance("w", -1, 1)
    system.branch("open", {x: sin(x) + w}, when=w + x > 5)
    system.initial(x >= 0, x <= 1)
    assert verify(system, "EX x < 99", timeout=10).violated


def test_what_is_refused() -> None:
    needs("distributed")
    system = gust()
    with pytest.raises(FormulaError, match="noise"):
        verify(system, "EX AX across > 0.3")
    with pytest.raises(UsageError, match="one machine"):
        verify(system, "EX across > 0.3", cluster="local:1")


@pytest.mark.parametrize(
    ("formula", "verdict"),
    [
        ("EX x > 0", "satisfied"),
        ("EX x > 1.2", "violated"),
        ("EF^3 x > 1.7", "satisfied"),
        ("EF^3 x > 2", "violated"),
        ("EG^5 x > 0.9", "satisfied"),
    ],
)
def test_noise_brings_something_about_in_piecewise_linear_systems(formula: str, verdict: str, tmp_path: Path) -> None:
    system = System("linear")
    x = system.real("x", -9, 9)
    system.branch("go", {x: clip(x / 2 + system.disturbance("w", -1, 1), -8, 8)})
    system.initial(x >= 0, x <= 1)
    report = verify(system, formula, timeout=20, certificate=tmp_path / "proof")
    assert report.verdict == verdict
    if verdict == "satisfied":
        check_certificate(tmp_path / "proof", system)
    for mode in ("mono", "exact", "comp-seq"):  # which speak of all noise
        assert verify(system, formula, timeout=5, mode=mode).verdict == "unknown"


def test_random_piecewise_linear_systems_contradict_no_verdict(tmp_path: Path) -> None:
    found = [check(seed, 3, tmp_path, piecewise=True) for seed in range(6000, 6025)]
    assert [wrong for _, wrong in found if wrong] == []
    assert {"satisfied", "violated"} <= {verdict for verdict, _ in found}


def test_random_systems_contradict_no_verdict(tmp_path: Path) -> None:
    found = [check(seed, 5, tmp_path) for seed in range(5000, 5030)]
    assert [wrong for _, wrong in found if wrong] == []
    assert {"satisfied", "violated"} <= {verdict for verdict, _ in found}
