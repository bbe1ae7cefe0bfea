"""Loops under noise: bounds on both sides of what was sampled, each shown; the status tells what is wrong."""

import pytest

from experiments.zoo import noisy


def test_both_sides_and_for_ever_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert noisy.main(["--only", "robot", "--workers", "1"]) == 0
    assert noisy.main(["--only", "rooms", "--workers", "1"]) == 0
    told = capsys.readouterr().out
    assert "| satisfied | satisfied |" in told and "| accepted |" in told
    assert "| violated | violated |" in told and "| replayed |" in told
    assert "2 asked, 2 as expected and shown, 0 wrong" in told
    assert "1 asked, 1 as expected and shown, 0 wrong" in told


def test_what_sampling_refutes_is_wrong(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    got = {"verdict": "satisfied", "seconds": "0", "by": "", "check": "accepted", "reason": ""}
    monkeypatch.setattr(noisy, "answered", lambda *_: got)
    assert noisy.main(["--only", "robot"]) == 1
    assert "| WRONG |" in capsys.readouterr().out


def test_cars_have_two_noises_and_loops_for_ever_some() -> None:
    assert all(len(noisy.LOOPS[name]().disturbances) == 2 for name in (*noisy.CARS, "robot"))
    assert all(noisy.LOOPS[name]().disturbances for name in noisy.EVER)
    assert len(noisy.EVER) == 5
