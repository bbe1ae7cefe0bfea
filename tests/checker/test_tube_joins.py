"""Certificates by flowpipes of systems with several branches: joined sets hold all runs, and say nothing else."""

from __future__ import annotations

from tests.needs import needs

needs("jsonschema")

import gzip
import json
from fractions import Fraction
from pathlib import Path
from random import Random

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from tests.checker.proofs import claiming
from venmas import System, verify
from venmas.checker.exact.initial import initial_box
from venmas.checker.file import check_certificate
from venmas.checker.flowpipes.join import spread
from venmas.checker.flowpipes.state import States
from venmas.checker.flowpipes.target import states_of
from venmas.checker.format.numbers import CheckError
from venmas.model import cos, sin, switch, tanh, where
from venmas.model.evaluation.cuts import Fineness
from venmas.model.evaluation.simulate import step_batch

SCHEMA = Draft202012Validator(json.loads((Path(__file__).parents[2] / "docs/certificate.schema.json").read_text()))


def walk() -> System:
    """Three branches, one with a guard, a mode, and a choice."""
    system = System("walk")
    x, y, mode = system.real("x", -9, 9), system.real("y", -9, 9), system.integer("mode", 0, 1)
    system.branch("left", {x: x / 2 + sin(y) / 4, y: y / 2, mode: 0})
    system.branch("right", {x: x / 2 - cos(x) / 4, y: y / 2 + x / 4 + where(y > 0.3, 0.1, 0)})
    system.branch("turn", {y: tanh(y) * switch(mode, {0: 1, 1: -1}), mode: 1 - mode}, when=(x > 0.1) & (y <= 0.46))
    system.initial(x >= 0, x <= Fraction(1, 5), y >= Fraction(9, 10), y <= 1, mode == 0)
    return system


@pytest.mark.parametrize("most", [1, 3, 10])
def test_joined_sets_hold_all_runs(most: int) -> None:
    system, rng, steps = walk(), Random(most), 5
    box = initial_box(system, system.regions[0])
    assert box is not None
    first = states_of(system, box, 60, Fineness(4, 1, 1, 20, most))
    spread(first, steps, most)
    layers: list[list[States]] = [[first]]
    for _ in range(steps):
        after = [a for s in layers[-1] for b in system.branches if s.truth(b.guard) is not False for a in s.after(b)]
        layers.append(list({id(a): a for a in after}.values()))
    assert all(len(layer) <= most for layer in layers) and len(layers[steps]) == most
    for _ in range(150):
        ends = zip(system.variables, box, strict=True)
        state = {n: float(low) + rng.random() * float(high - low) for n, (low, high) in ends}
        sets = [first]
        for _ in range(steps):
            index = rng.randrange(3 if state["x"] > 0.1 and state["y"] <= 0.46 else 2)
            new, _ = step_batch(system, {n: np.array([v]) for n, v in state.items()}, np.array([index]))
            state = {n: float(v[0]) for n, v in new.items()}
            # along the branches that were taken, not in any set
            sets = [a for s in sets for a in s.after(system.branches[index])]
            sets = [s for s in sets if all(_in(s, n, v) for n, v in state.items())]
            assert sets


def _in(states: States, name: str, value: float) -> bool:
    low, high = states.forms[name].range
    return low / 2**60 - 1e-12 <= value <= high / 2**60 + 1e-12


def test_long_horizons_have_certificates(tmp_path: Path) -> None:
    path, system = tmp_path / "proof.gz", walk()
    report = verify(system, "AG^9 (x < 0.5 & x > -0.75 & y < 1.5)", timeout=60, certificate=path)
    assert report.satisfied and not report.notes
    assert check_certificate(path, system).leaves >= 1
    lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    tubes = [line for line in lines if line.get("rule") == "tube"]
    assert all(line["sets"] >= 16 for line in tubes)
    for line in lines:
        SCHEMA.validate(line)
    for wrong in (0, -1, 5000, True, "16", None):
        changed = [{**line, "sets": wrong} if line.get("rule") == "tube" else line for line in lines]
        path.write_bytes(gzip.compress("\n".join(map(json.dumps, changed)).encode()))
        with pytest.raises(CheckError, match="sets"):
            check_certificate(path, system)


def test_a_false_claim_has_no_certificate_however_sets_are_joined(tmp_path: Path) -> None:
    """What `left` does to the highest start is asked of every number of sets."""
    path, system = tmp_path / "proof.gz", walk()
    assert verify(system, "AX^2 (x < 0.4)", timeout=30, certificate=path).satisfied
    lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    for bound in ("0.26", "0.265", "0.27", "0.4"):  # by left twice, up to 0.2706..
        for sets in (1, 2, 4, 1000):
            changed = [{**line, "sets": sets} if line.get("rule") == "tube" else line for line in lines]
            changed[0] = claiming(changed[0], formula=f"AX^2 (x < {bound})")
            path.write_bytes(gzip.compress("\n".join(map(json.dumps, changed)).encode()))
            try:
                check_certificate(path, system)
            except CheckError:
                assert bound != "0.4" or sets < 1000
            else:
                assert bound == "0.4"
