"""Proof transfer: what an earlier proof says is taken over where it holds, mended where not, and never believed."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.slow import some_slow
from venmas import verify
from venmas.checker.file import check_certificate
from venmas.checker.forever import check as forever
from venmas.checker.format.numbers import CheckError
from venmas.engine.report import Report
from venmas.errors import UsageError
from venmas.model import System, apply_network, clip, sin
from venmas.nn import relu_network

RNG = np.random.default_rng(37)
FIRST = RNG.normal(0, 1, (8, 2)), RNG.normal(0, 0.3, 8)


def weights(shift: float = 0.0, push: float = 1.0) -> list[tuple[np.ndarray, np.ndarray]]:
    """Layers whose output is about -push (x + v), wrongly by 0.05, and shifted weights."""
    noise = np.random.default_rng(5)
    around = FIRST[0] + shift * noise.normal(0, 1, (8, 2)), FIRST[1] + shift * noise.normal(0, 1, 8)
    units = [[1, 1], [-1, -1]], [0, 0]
    first = np.vstack([units[0], around[0]]), np.concatenate([units[1], around[1]])
    return [first, (np.array([[-push, push, *[0.005] * 8]]), np.zeros(1))]


def loop(layers: list[tuple[np.ndarray, np.ndarray]], smooth: bool = False, noise: float = 0.0) -> System:
    """A mass that a network pulls to 0."""
    system = System("mass")
    x, v = system.real("x", -20, 20), system.real("v", -20, 20)
    wind = system.disturbance("wind", -Fraction(noise), Fraction(noise)) if noise else 0
    u = system.agent(clip(apply_network(relu_network(*map(list, zip(*layers, strict=True))), (x, v))[0], -1, 1))
    system.branch("step", x=x + v / 5, v=v + u / 2 - (sin(x) / 20 if smooth else 0) + wind)
    system.initial(x >= 1, x <= 1.5, v >= -0.1, v <= 0.1)
    system.proposition("near", (x >= -0.6) & (x <= 0.6))
    return system


def asked(system: System, formula: str, path: Path, earlier: Path | None = None) -> Report:
    path.unlink(missing_ok=True)
    return verify(system, formula, timeout=30, workers=1, certificate=path, earlier=earlier)


def rows(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path) as file:
        return [json.loads(line) for line in file]


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A derivation about the first policy."""
    path = tmp_path_factory.mktemp("transfer") / "settled.gz"
    assert asked(loop(weights()), "AF AG near", path).satisfied
    return path


def test_a_derivation_is_taken_over(settled: Path, tmp_path: Path) -> None:
    new, other = tmp_path / "new.gz", loop(weights(0.01))
    report = asked(other, "AF AG near", new, settled)
    assert report.satisfied
    assert report.decided_by == "transfer"
    check_certificate(new, other)


def test_claims_that_hold_are_checked_once(settled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[str] = []

    def counted(whole: Callable[..., object], name: str) -> Callable[..., object]:
        return lambda *args: checked.append(name) or whole(*args)

    for name in ("check", "check_trees"):
        monkeypatch.setattr(forever, name, counted(getattr(forever, name), name))
    assert asked(loop(weights()), "AF AG near", tmp_path / "new.gz", settled).decided_by == "transfer"
    assert len(checked) == sum(line.get("rule") == "bounded" for line in rows(settled)) > 0


@pytest.mark.parametrize(
    ("formula", "smooth", "noise", "kind"),
    [
        ("AG^12 x <= 1.7", False, 0.0, "flowpipes"),
        ("AG^6 (x <= 1.7 & v <= 0.5)", True, 0.01, "flowpipes"),
        ("AX (x <= 1.6 | AX x <= 1.7)", False, 0.0, "goals"),
        ("AG x <= 2", False, 0.0, "covers"),
        pytest.param("F G near", True, 0.0, "forever-ltl", marks=pytest.mark.slow),
    ],
)
def test_a_proof_is_taken_over(formula: str, smooth: bool, noise: float, kind: str, tmp_path: Path) -> None:
    old, new = tmp_path / "old.gz", tmp_path / "new.gz"
    assert asked(loop(weights(), smooth, noise), formula, old).satisfied
    other = loop(weights(0.01), smooth, noise)
    assert rows(old)[0]["proof"] == kind
    with pytest.raises(CheckError, match=r"other networks|another system"):
        check_certificate(old, other)
    report = asked(other, formula, new, old)
    assert report.satisfied
    assert str(report.decided_by).startswith("transfer")
    check_certificate(new, other)
    assert report.proof is None or report.kind == "linear"


def test_what_fails_is_proved_anew(settled: Path, tmp_path: Path) -> None:
    """The first claim of a derivation, whose proof is spoilt."""
    old, new = tmp_path / "old.gz", tmp_path / "new.gz"
    lines = rows(settled)
    claims = [i for i, line in enumerate(lines) if line["rule" if i else "proof"] == "bounded"]
    assert claims
    first = claims[0] + 1  # a line of its proof
    lines[first] = {"rule": "enclosures", "bits": 1}
    with gzip.open(old, "wt") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    other = loop(weights(0.01))
    report = asked(other, "AF AG near", new, old)
    transfer = next(tried for tried in report.procedures if tried.name == "transfer")
    assert report.satisfied
    assert "0 proved anew" not in str(transfer.figures)
    check_certificate(new, other)


def test_a_violation_is_found_all_the_same(tmp_path: Path) -> None:
    old, new = tmp_path / "old.gz", tmp_path / "new.gz"
    assert asked(loop(weights()), "AG^12 x >= -0.7", old).satisfied
    for push, verdict in ((-1.0, "violated"), (1.2, "satisfied")):
        bad = loop(weights(push=push))
        report = asked(bad, "AG^12 x >= -0.7" if push > 0 else "AG^12 x <= 1.7", new, old)
        assert report.verdict.value == verdict
        assert report.violated is (report.witness is not None)


@pytest.mark.parametrize("limits", some_slow([["1.7"], ["1.55", "1.7"]], [0]), ids="+".join)
def test_verdicts_are_those_without(limits: list[str], tmp_path: Path) -> None:
    """Of policies of many kinds and thresholds, whose earlier proofs are about the first."""
    old, new = tmp_path / "old.gz", tmp_path / "new.gz"
    verdicts = set()
    for limit in limits:
        assert asked(loop(weights()), f"AG^8 x <= {limit}", old).satisfied
        for shift, push in ((0.3, 1.0), (0.0, 0.4), (0.0, 0.1), (0.5, -0.05)):
            other = loop(weights(shift, push))
            with_, without = asked(other, f"AG^8 x <= {limit}", new, old), verify(other, f"AG^8 x <= {limit}")
            assert with_.verdict is without.verdict
            verdicts.add(with_.verdict.value)
            if with_.satisfied:
                check_certificate(new, other)
    assert verdicts == {"satisfied", "violated"}


def test_nothing_of_a_file_is_believed(tmp_path: Path) -> None:
    """Lines that lie, of a property that does not hold."""
    old, new = tmp_path / "old.gz", tmp_path / "new.gz"
    assert asked(loop(weights()), "AG^12 x <= 1.7", old).satisfied
    lines = rows(old)
    lines[0]["claim"]["formula"] = "AG^12 x <= 1"
    with gzip.open(old, "wt") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    assert asked(loop(weights()), "AG^12 x <= 1", new, old).violated
    assert not new.exists()


def test_what_is_no_proof_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "none.gz"
    with pytest.raises(UsageError, match="there is no file"):
        verify(loop(weights()), "AG^2 x <= 2", earlier=path)
    path.write_text("text")
    with pytest.raises(UsageError, match="no certificate"):
        verify(loop(weights()), "AG^2 x <= 2", earlier=path)
    with pytest.raises(UsageError, match="path of a file"):
        verify(loop(weights()), "AG^2 x <= 2", earlier=3)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="leave the cluster out"):
        verify(loop(weights()), "AG^2 x <= 2", earlier=path, cluster="local:1")


def test_other_kinds_are_left_alone(settled: Path) -> None:
    report = verify(loop(weights()), "AG^3 x <= 2", earlier=settled)
    transfer = next(tried for tried in report.procedures if tried.name == "transfer")
    assert report.satisfied
    assert "not about bounded properties" in transfer.why
