"""What a verdict rests on and assumes: of each kind of system what is declared, and nothing where it is not known."""

from __future__ import annotations

from pathlib import Path

import pytest

from venmas import verify
from venmas.engine.report import Report
from venmas.model.system.system import System
from venmas.report.assumptions import assumptions, trusted
from venmas.report.printed import as_text


def tank(noise: bool = False, flow: bool = False, guard: bool = False) -> System:
    system = System("tank")
    level = system.real("level", 0, 10)
    drift = system.disturbance("wind", -0.1, 0.25) if noise else 0
    after = system.flow("0.5", {level: -level}).end[level] if flow else level * 0.5
    system.branch("leak", {level: after + 0.2 + drift}, when=level >= 1 if guard else True)
    system.initial(level >= 4, level <= 6)
    return system


def told(system: System, formula: str = "AX level < 9", **asked: str) -> dict[str, str]:
    report = verify(system, formula, workers=1, **asked)
    return dict(assumptions(report, system))


def test_what_a_plain_system_assumes() -> None:
    found = told(tank())
    assert "exact rationals" in found["arithmetic"]
    assert found["networks"] == "None is applied."
    assert found["ranges"].startswith("level in 0 .. 10. A state outside is an error of the model")
    assert found["noise"] == "None is declared."
    assert found["choices"].startswith("One branch")
    assert "Steps after number 1 do not count." in found["time"]
    assert "deadlocks" not in found and "parameters" not in found
    assert "Runs go on for ever." in told(tank(), "AG level < 9")["time"]


def test_noise_deadlocks_and_flows_are_named() -> None:
    found = told(tank(noise=True, guard=True))
    assert found["noise"] == "wind in -0.1 .. 0.25: any value, chosen anew in each step."
    assert "wind" not in found["ranges"]
    assert "no guard holds" in found["deadlocks"]
    smooth = told(tank(flow=True))
    assert "enclosed" in smooth["arithmetic"]
    assert "after 0.5 units of time" in smooth["time"]


@pytest.mark.parametrize(("semantics", "word"), [("real", "real functions"), ("float32", "Single precision")])
def test_networks_by_their_semantics(semantics: str, word: str) -> None:
    from venmas import load_scenario

    system = load_scenario("vcas").system()
    assert word in told(system, "AX safe", semantics=semantics)["networks"]


def test_who_decided_and_whether_it_can_be_checked(tmp_path: Path) -> None:
    def by(formula: str, **asked: object) -> tuple[Report, dict[str, str]]:
        report = verify(tank(), formula, workers=1, **asked)
        return report, dict(trusted(report, tank()))

    report, found = by("AX level < 9")
    assert found["decided by"] == report.decided_by != ""
    assert found["basis"].startswith("Proved ")
    assert found["can be checked"].startswith("no: ")
    _, found = by("AX level < 9", certificate=tmp_path / "proof.gz")
    assert found["can be checked"].startswith(str(tmp_path / "proof.gz"))
    _, found = by("AX level < 1")
    assert found["basis"] == "The counterexample alone, replayed in exact numbers."
    assert "can be checked" not in found
    _, found = by("AX level < 9", mode="mono", timeout=1e-9)
    assert found == {"decided by": "nobody: no procedure found a proof or a counterexample"}


def test_a_system_that_is_not_known_assumes_nothing_that_is_told() -> None:
    assert assumptions(verify(tank(), "AX level < 9", workers=1), None) == []


def test_they_are_printed_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    from venmas.report.text import print_report

    report = verify(tank(noise=True), "AX level < 9", workers=1)
    print_report(Console(width=200), report, None, verbose=True)
    assert "Assumptions of the model:\narithmetic" in capsys.readouterr().out
    assert "Assumptions" not in as_text(report)
