"""Witnesses of systems that are not piecewise linear: enclosed runs, replayed from their exact initial state."""

from tests.needs import needs

needs("jsonschema")

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import jsonschema
import pytest
from jsonschema import Draft202012Validator

from venmas import System, verify
from venmas.engine.report import Verdict
from venmas.engine.stored import read_report
from venmas.errors import ModelError, UsageError
from venmas.logic import Formula, nnf
from venmas.model import Witness, apply_network, cos, explain, replay, satisfies, sin, sqrt, tanh
from venmas.model.disturbances import drawn
from venmas.model.witness.build import UndecidedError
from venmas.model.witness.enclosed import run
from venmas.model.witness.noise import folded
from venmas.nn import load_network
from venmas.question import read_formula

pytestmark = pytest.mark.quick

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "result.schema.json").read_text(encoding="utf-8"))


def negated(system: System, text: str) -> Formula:
    return nnf(read_formula(system, text), negate=True)


def swing(lower: float = -9) -> System:
    s = System("swing")
    x, y = s.real("x", lower, 9), s.real("y", -9, 9)
    u = s.agent(tanh(x - y), name="u")
    plant = s.flow("0.1", {x: y, y: -sin(x) + u / 2})
    s.branch("go", plant.end)
    s.branch("stop", {y: 0}, when=x * x <= 1)
    s.initial(x >= 0, x <= 1, y == 0)
    return s


START = {"x": Fraction(1, 2), "y": Fraction(0)}


def test_a_path() -> None:
    system = swing()
    target = negated(system, "AG^5 (y >= 0)")
    witness = explain(system, target, START)
    assert witness is not None and witness.bits == 64
    first, last = witness.nodes[0], witness.nodes[-1]
    assert all(v.radius == 0 for v in first.state)
    radii = [v.radius for v in last.state]
    assert all(0 < r < Fraction(1, 10**12) for r in radii)
    found = replay(system, target, witness)
    assert found.confirmed and found.margin is not None and found.margin > 0
    assert found.bits == 64 and found.how == "in enclosures of 64 bits"
    assert found.floats is not None
    for outcome in found.floats.values():
        assert outcome.violated and outcome.difference < 1e-6
    assert satisfies(system, target, START) and not satisfies(system, negated(system, "AX^5 (y < 9)"), START)


def test_what_is_not_shown_is_refuted() -> None:
    system = swing()
    assert explain(system, negated(system, "AG^3 (y <= 1)"), START) is None
    assert explain(system, negated(system, "EF^3 (y > 1)"), START) is not None  # all runs, a tree


def test_a_tree_of_all_branches() -> None:
    system = swing()
    target = negated(system, "EX EX (y > 1/2)")
    witness = explain(system, target, START)
    assert witness is not None and witness.path is None
    assert replay(system, target, witness).confirmed
    cut = Witness((replace(witness.nodes[0], children=witness.nodes[0].children[:1]), *witness.nodes[1:]), witness.bits)
    assert not replay(system, target, cut).confirmed


def test_files_keep_intervals() -> None:
    system = swing()
    target = negated(system, "AG^5 (y >= 0)")
    witness = explain(system, target, START)
    assert witness is not None
    data = json.loads(json.dumps(witness.to_json()))
    assert Witness.from_json(data) == witness and data["bits"] == 64
    checked = {**data, "replay": replay(system, target, witness).to_json()}
    jsonschema.validate(checked, {"$ref": "#/$defs/witness", "$defs": SCHEMA["$defs"]})
    data["steps"][1]["state"]["x"]["radius"]["exact"] = "-1"
    with pytest.raises(UsageError, match="radius is not negative"):
        Witness.from_json(data)


def changed(witness: Witness, number: int, name: str, **values: Fraction) -> Witness:
    node = witness.nodes[number]
    state = tuple(replace(v, **values) if v.name == name else v for v in node.state)
    return replace(witness, nodes=tuple(replace(n, state=state) if n is node else n for n in witness.nodes))


def test_forged_witnesses() -> None:
    system = swing()
    target = negated(system, "AX^3 (y >= 0)")
    witness = explain(system, target, START)
    assert witness is not None
    moved = changed(witness, 2, "x", exact=Fraction(1, 3))
    assert "in the witness and" in replay(system, target, moved).reason
    exact = changed(witness, 2, "x", radius=Fraction(0))
    assert not replay(system, target, exact).confirmed
    wide = changed(witness, 2, "x", radius=Fraction(1))  # tells less, and that is true
    assert replay(system, target, wide).confirmed
    start = changed(witness, 0, "x", exact=Fraction(2))
    assert "initial" in replay(system, target, start).reason
    start = changed(witness, 0, "x", radius=Fraction(1))
    assert "starts in one exact state" in replay(system, target, start).reason
    other = negated(system, "AG^5 (y >= -5)")
    assert "do not show" in replay(system, other, witness).reason
    named = Witness((replace(witness.nodes[0], children=(("fly", 1),)), *witness.nodes[1:]), 64)
    assert "no branch 'fly'" in replay(system, target, named).reason
    disabled = run(system, {"x": Fraction(1, 2), "y": Fraction(0)}, [[1]])
    assert disabled.branches == ("stop",)
    dead = Witness((replace(witness.nodes[0], children=(), deadlock=True),), 64)
    assert "no successor" in replay(system, target, dead).reason


def test_precision_grows_until_it_decides() -> None:
    """10^-60 apart: 64 and 128 bits do not tell."""
    s = System("near")
    x, y = s.real("x", -9, 9), s.real("y", -9, 9)
    s.branch("go", {y: sin(x) ** 2 + cos(x) ** 2})
    s.initial(x == 1, y == 0)
    target = negated(s, f"AX (y <= {1 - Fraction(1, 10**60)})")
    witness = explain(s, target, {"x": Fraction(1), "y": Fraction(0)})
    assert witness is not None and witness.bits == 256
    assert replay(s, target, witness).confirmed


def test_a_tie() -> None:
    s = System("tie")
    x, y = s.real("x", -9, 9), s.real("y", -9, 9)
    s.branch("go", {y: sin(x) ** 2 + cos(x) ** 2})
    s.initial(x == 1, y == 0)
    for text in ("AX (y < 1)", "AX (y <= 1)", "AX (y != 1)", "AX (y == 1)", "EX (y > 1)"):
        with pytest.raises(UndecidedError, match="tie: with 4096 bits"):
            explain(s, negated(s, text), {"x": Fraction(1), "y": Fraction(0)})
    # what is exact may be tied
    assert satisfies(s, negated(s, "AX (x < 1)"), {"x": Fraction(1), "y": Fraction(0)})
    assert not satisfies(s, negated(s, "AX (x <= 1)"), {"x": Fraction(1), "y": Fraction(0)})


def test_an_open_guard_is_neither_taken_nor_passed_over() -> None:
    s = System("open")
    x, y = s.real("x", -9, 9), s.real("y", -9, 9)
    one = sin(x) ** 2 + cos(x) ** 2
    s.branch("may", {y: 5}, when=one >= 1)
    s.branch("does", {y: 1})
    s.initial(x == 1, y == 0)
    start = {"x": Fraction(1), "y": Fraction(0)}
    assert explain(s, negated(s, "AX (y < 1)"), start) is not None  # by the other branch
    for text in ("AX (y < 5)", "EX (y > 1)"):  # y may become 5: all successors are not known
        with pytest.raises(UndecidedError, match="tie"):
            explain(s, negated(s, text), start)


def test_leaving_the_box_and_domains_are_errors_of_the_model() -> None:
    system = swing(lower=0)
    with pytest.raises(ModelError, match="leaves the declared box: x = -"):
        explain(system, negated(system, "AG^60 (y <= 8)"), START)
    s = System("root")
    x = s.real("x", -9, 9)
    s.branch("go", {x: sqrt(x - 1)})
    s.initial(x == 2)
    with pytest.raises(ModelError, match=r"new value of x: sqrt's operand is negative"):
        explain(s, negated(s, "AG^3 (x <= 5)"), {"x": Fraction(2)})


def test_noise_is_exact() -> None:
    s = System("noisy")
    x = s.real("x", -9, 9)
    w = s.disturbance("w", -1, 1)
    s.branch("go", s.flow("0.5", {x: sin(x) + w}).end)
    s.initial(x >= 0, x <= 1)
    ready = drawn(s, 2)
    point = {name: Fraction(0) for name in ready.variables} | {
        "x": Fraction(1, 2),
        "w": Fraction(1),
        "w@1": Fraction(1, 3),
    }
    target = negated(ready, "AX^2 (x <= 1)")
    witness = explain(ready, target, point)
    assert witness is not None and replay(ready, target, witness).confirmed
    shown = folded(witness)
    assert shown.bits == witness.bits and [n.point["w"] for n in shown.nodes[:2]] == [1, Fraction(1, 3)]


def test_runs_have_digits_that_are_right() -> None:
    system = swing()
    told = run(system, START, [[0]] * 12)
    for few, many in zip(told.nodes, run(system, START, [[0]] * 20).nodes, strict=False):
        for a, b in zip(few.state, many.state, strict=True):
            assert abs(a.exact - b.exact) <= a.radius + b.radius and a.radius < Fraction(1, 10**8)


def double_pendulum(folder: Path) -> System:
    """Inverted two-link pendulum of ARCH-COMP AINNCS, more robust controller, as ClosedLoopReachability.jl has it."""
    network = load_network(folder / "InvertedTwoLinkPendulum_controller_more_robust.polar")
    s = System("double pendulum")
    p, q, v, w = (s.real(n, -20, 20) for n in ("x1", "x2", "x3", "x4"))
    first, second = apply_network(network, (p, q, v, w))
    s.agent(first, name="u1")
    s.agent(second, name="u2")
    turn, half = cos(p - q), w**2 * sin(p - q) / 2
    push = 2 * sin(p) - half + 4 * first
    big = v**2 * sin(p - q) - turn * push + 2 * sin(q) + 8 * second
    below = turn**2 / 2 - 1
    s.branch("go", s.flow("0.02", {p: v, q: w, v: turn * big / (2 * below) + push, w: -big / below}).end)
    s.initial(*(c >= 1 for c in (p, q, v, w)), *(c <= "1.3" for c in (p, q, v, w)))
    return s


def test_the_published_violation_of_the_double_pendulum(data_dir: Path) -> None:
    """Its networks are rounded to five digits there, which moves the run by 1e-5 (smooth/README.md of the data)."""
    system = double_pendulum(data_dir / "smooth" / "networks")
    target = negated(system, "AG^20 (x3 >= -1.5)")
    witness = explain(system, target, {n: Fraction("1.15") for n in system.variables})
    assert witness is not None and len(witness.nodes) == 21
    assert abs(witness.nodes[-1].point["x3"] + Fraction("1.5360262")) < Fraction(1, 50_000)
    found = replay(system, target, witness)
    assert found.confirmed and found.floats is not None and found.floats["float64"].violated
    assert explain(system, negated(system, "AG^17 (x3 >= -1.5)"), witness.initial) is None


def test_a_violation_is_stored_and_read_again() -> None:
    """The whole way: found, told with intervals, written, and replayed from what was written."""
    system = swing()
    system.branches = system.branches[:1]
    report = verify(system, "AX^3 (y >= 0)", timeout=60)
    assert report.verdict is Verdict.VIOLATED and report.witness is not None and report.witness.bits
    stored = json.loads(json.dumps(report.to_json()))
    Draft202012Validator(SCHEMA).validate(stored)
    again = read_report(stored)
    assert again.to_json() == stored and again.witness == report.witness and again.replay == report.replay
