"""Queries decided: against a search in rationals, at thresholds met with equality, on networks made to fool floats."""

import json
from collections.abc import Callable
from fractions import Fraction
from itertools import count, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.needs import needs
from venmas import load_network
from venmas.engine.certificates.goals import prove
from venmas.engine.query import decide as engine
from venmas.engine.query.decide import QueryReport, decide_query
from venmas.engine.query.replay import replay_query
from venmas.errors import UsageError
from venmas.formats.vnnlib.query import Box, Case, Query, meets
from venmas.formats.vnnlib.reader import parse_vnnlib, read_vnnlib
from venmas.logic import AX, Atom, Formula, Not, conjunction, disjunction, nnf
from venmas.logic.linear import Comparison, LinearExpr, Relation, format_number
from venmas.nn import Layer, Network, relu_network
from venmas.procedures.branch_and_bound import bisect as bisection
from venmas.procedures.branch_and_bound.query_box import query_system
from venmas.testing.networks import adversarial_networks, networks

TENT = relu_network([[[1.0], [1.0]], [[1.0, -2.0]]], [[0.0, -0.5], [0.0]], name="tent")
"""min(x, 1 - x) for x >= 0: its greatest value is 1/2, at 1/2 only."""


def text(inputs: int, outputs: int, box: Box, *assertions: str) -> str:
    names = [*(f"X_{i}" for i in range(inputs)), *(f"Y_{i}" for i in range(outputs))]
    lines = [f"(declare-const {name} Real)" for name in names]
    for i, (low, high) in enumerate(box):
        lines.append(f"(assert (<= {format_number(low)} X_{i} {format_number(high)}))")
    return "\n".join([*lines, *(f"(assert {a})" for a in assertions)])


def asked(network: Network, box: list[tuple[float, float]], *assertions: str) -> Query:
    exact = tuple((Fraction(str(a)), Fraction(str(b))) for a, b in box)
    return parse_vnnlib(text(network.input_size, network.output_size, exact, *assertions))


@st.composite
def queries(draw: st.DrawFn) -> tuple[Network, Box, Formula]:
    """Thresholds are values at points of the box, so that many constraints are met with equality only."""
    n, outputs = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    sizes = draw(st.sampled_from([(n, 4, outputs), (n, 3, 3, outputs)]))
    network = draw(st.one_of(networks(sizes), adversarial_networks(n, outputs)))
    tenths = st.integers(-20, 20).map(lambda k: Fraction(k, 10))
    box = tuple((a, a + abs(b)) for a, b in draw(st.lists(st.tuples(tenths, tenths), min_size=n, max_size=n)))

    def atom() -> Formula:
        terms = {f"Y_{j}": Fraction(draw(st.integers(-2, 2))) for j in range(outputs)}
        terms["X_0"] = Fraction(draw(st.integers(-1, 1)), 3)
        expr = LinearExpr.of(terms)
        x = [a + (b - a) * Fraction(draw(st.integers(0, 4)), 4) for a, b in box]
        named = {f"X_{i}": v for i, v in enumerate(x)}
        named |= {f"Y_{i}": v for i, v in enumerate(network.evaluate_exact(x))}
        value = expr.evaluate(named) + draw(
            st.sampled_from([Fraction(0), Fraction(0), Fraction(1, 10**9), Fraction(1)])
        )
        threshold = value if abs(value) < 10**90 else Fraction(0)
        relation = draw(st.sampled_from(list(Relation)))
        return Atom(Comparison(LinearExpr.of(terms, -threshold), relation))

    def tree(depth: int) -> Formula:
        join = draw(st.sampled_from([None, None, conjunction, disjunction])) if depth else None
        return atom() if join is None else join([tree(depth - 1) for _ in range(draw(st.integers(2, 3)))])

    return network, box, nnf(tree(2))


class TooLongError(Exception):
    pass


@pytest.fixture(scope="module")
def kernels() -> None:
    """Compiled before a time limit runs: the first time takes half a minute."""
    decide_query(TENT, asked(TENT, [(0, 1)], "(>= Y_0 0.5001)"), compiled=True)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(queries(), st.booleans())
@pytest.mark.usefixtures("kernels")
def test_agrees_with_the_search_in_rationals(query: tuple[Network, Box, Formula], compiled: bool) -> None:
    network, box, condition = query
    found = decide_query(
        network,
        Query(network.input_size, network.output_size, condition, (Case((box,), condition),)),
        timeout=10,
        compiled=compiled,
    )
    steps = count()

    def tick() -> None:
        if next(steps) > 2000:
            raise TooLongError

    try:
        proof = prove(query_system(network, (box,)), AX(Not(condition)), tick)
    except TooLongError:
        return
    assert found.verdict in ("sat", "unsat")
    assert (found.verdict == "unsat") == proof.complete
    if found.verdict == "sat":
        assert all(a <= x <= b for x, (a, b) in zip(found.inputs, box, strict=True))
        named = {f"X_{i}": v for i, v in enumerate(found.inputs)}
        named |= {f"Y_{i}": v for i, v in enumerate(network.evaluate_exact(found.inputs))}
        assert meets(condition, named)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("assertion", "verdict"),
    [
        ("(>= Y_0 0.5)", "sat"),
        ("(> Y_0 0.5)", "unsat"),
        ("(>= Y_0 0.50000000000000000001)", "unsat"),
        ("(= Y_0 0.5)", "sat"),
        ("(and (>= Y_0 (/ 1 3)) (<= X_0 (/ 1 3)))", "sat"),
        ("(and (>= Y_0 (/ 1 3)) (< X_0 (/ 1 3)))", "unsat"),
        ("(and (<= Y_0 X_0) (>= Y_0 X_0) (not (= X_0 Y_0)))", "unsat"),
        ("(or (< Y_0 0) (> Y_0 0.5) (= X_0 2))", "unsat"),
        ("(<= Y_0 Y_0)", "sat"),
        ("(< Y_0 Y_0)", "unsat"),
    ],
)
def test_thresholds_met_with_equality(compiled: bool, assertion: str, verdict: str) -> None:
    found = decide_query(TENT, asked(TENT, [(0, 1)], assertion), timeout=200, compiled=compiled)
    assert (found.verdict, found.reason) == (verdict, "")
    assert (found.basis != "") == (verdict == "unsat")


@pytest.mark.parametrize("compiled", [False, True])
def test_networks_made_to_fool_floats(compiled: bool, data_dir: Path) -> None:
    folder = data_dir / "soundness"
    for case in json.loads((folder / "index.json").read_text()):
        network = load_network(folder / f"{case['name']}.onnx")
        box = tuple((Fraction(a), Fraction(b)) for a, b in zip(case["lo"], case["hi"], strict=True))
        terms = " ".join(f"(* {format_number(Fraction(c))} Y_{j})" for j, c in enumerate(case["c"]))
        sign = ">" if case["strict"] else ">="
        unsafe = f"({sign} (+ {terms} {format_number(Fraction(case['d']))}) 0)"
        query = parse_vnnlib(text(network.input_size, network.output_size, box, unsafe))
        found = decide_query(network, query, timeout=200, compiled=compiled)
        assert found.verdict == {"violated": "sat", "satisfied": "unsat"}[case["truth"]], case["name"]


@pytest.mark.parametrize(
    ("net", "prop", "verdict"),
    [("1_1", 3, "unsat"), ("1_9", 7, "sat"), ("5_3", 2, "sat"), ("2_4", 1, "unsat"), ("1_2", 4, "unsat")],
)
def test_acas_xu(net: str, prop: int, verdict: str, data_dir: Path) -> None:
    path = data_dir / "acasxu" / "onnx" / f"ACASXU_run2a_{net}_batch_2000.onnx"
    network, query = load_network(path), read_vnnlib(data_dir / "acasxu" / "vnnlib" / f"prop_{prop}.vnnlib")
    found = decide_query(network, query, timeout=60, compiled=False)
    assert found.verdict == verdict
    if verdict == "sat":
        replay = replay_query([path], [network], query, found)
        assert replay.holds and replay.within
        needs("onnxruntime")
        assert replay.runtime.startswith("onnxruntime")
        assert replay.difference < 1e-6


def test_every_box_of_a_union_is_looked_at() -> None:
    base = asked(TENT, [(0, 1)], "(or (<= X_0 0.1) (and (>= X_0 0.4) (<= X_0 0.45)))", "(>= Y_0 0.42)")
    assert len(base.cases[0].boxes) == 2
    found = decide_query(TENT, base, timeout=20)
    assert found.verdict == "sat"
    assert Fraction(42, 100) <= found.inputs[0] <= Fraction(45, 100)
    none = asked(TENT, [(0, 1)], "(or (<= X_0 0.1) (and (>= X_0 0.4) (<= X_0 0.45)))", "(>= Y_0 0.46)")
    assert decide_query(TENT, none, timeout=20).verdict == "unsat"


def test_outputs_beyond_the_numbers_of_systems() -> None:
    network = relu_network([[[1e200]], [[1e200], [1.0]]], [[0.0], [0.0, 0.0]])
    found = decide_query(network, asked(network, [(0, 1)], "(>= X_0 1)", "(> Y_0 1)"), timeout=20)
    assert (found.verdict, found.inputs) == ("sat", (1,))
    assert found.outputs[0] > 10**399
    tied = Network((Layer([[1e200], [1.0]], [0.0, 0.0]),))
    found = decide_query(tied, asked(tied, [(1, 1)], "(> Y_1 1)"), timeout=20)
    assert (found.verdict, found.reason[:31]) == ("unknown", "inputs or outputs are too large")


def test_sizes_must_agree() -> None:
    with pytest.raises(UsageError, match="declares 1 inputs, network 'random' has 2"):
        decide_query(relu_network([[[1.0, 1.0]]], [[0.0]], name="random"), asked(TENT, [(0, 1)], "(>= Y_0 0)"))


def hard() -> tuple[Network, Query]:
    """Six inputs and random weights: more boxes than a second or two allow for."""
    random = np.random.default_rng(3)
    sizes = (6, 40, 40, 40, 1)
    weights = [random.normal(size=(b, a)) / np.sqrt(a) * 1.6 for a, b in pairwise(sizes)]
    network = relu_network(weights, [random.normal(size=b) * 0.1 for b in sizes[1:]])
    top = float(network.evaluate(random.uniform(-1, 1, (200_000, 6))).max())
    return network, asked(network, [(-1, 1)] * 6, f"(>= Y_0 {3 * top})")


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.usefixtures("kernels")
def test_a_comparison_that_holds_all_over_the_box_costs_no_boxes(compiled: bool) -> None:
    rng = np.random.default_rng(3)
    sizes = [2, 24, 24, 24, 1]
    weights = [rng.normal(0, (2 / m) ** 0.5, (n, m)).tolist() for m, n in pairwise(sizes)]
    network = relu_network(weights, [[0.1] * n for n in sizes[1:]])
    y = network.evaluate(rng.uniform(-1, 1, (10_000, 2))).max()
    boxes = []
    for more in ((), ("(> X_0 -1.001)",)):
        query = asked(network, [(-1, 1), (-1, 1)], f"(>= Y_0 {y + 0.2})", *more)
        report = decide_query(network, query, timeout=30, compiled=compiled)
        assert report.verdict == "unsat"
        boxes.append(report.boxes)
    assert boxes[0] > 10 and boxes[1] <= 1.2 * boxes[0]


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    network, query = hard()
    found = decide_query(network, query, timeout=0.2, compiled=False)
    assert found.verdict == "timeout"
    assert "0.2 s" in found.reason
    assert found.seconds < 5
    monkeypatch.setattr(bisection, "MAX_OPEN_BYTES", 1000)
    monkeypatch.setattr(engine._Run, "ask_solver", lambda self, case, why: pytest.fail(why))
    with pytest.raises(pytest.fail.Exception, match="boxes are open"):
        decide_query(network, query, timeout=30, compiled=False)


def test_an_interrupt_is_an_answer() -> None:
    network, query = hard()
    found = decide_query(network, query, progress=interrupted(), compiled=False)
    assert (found.verdict, found.reason) == ("unknown", "interrupted")


def interrupted() -> Callable[[QueryReport], None]:
    calls = count()

    def progress(report: QueryReport) -> None:
        if next(calls) > 160:  # past the points, among the boxes
            raise KeyboardInterrupt

    return progress


@pytest.mark.parametrize(("threshold", "verdict"), [(0.6, "unsat"), (0.45, "sat")])
def test_many_inputs_go_to_a_solver(threshold: float, verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "FEW_INPUTS", 0)
    monkeypatch.setattr(engine, "_FIRST_SECONDS", -1.0)
    found = decide_query(TENT, asked(TENT, [(0, 1)], f"(>= Y_0 {threshold})"), timeout=30)
    assert found.verdict == verdict
    assert "a mixed-integer program is asked" in found.notes[0]
