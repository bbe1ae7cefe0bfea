"""VNN-LIB 2.0 says what the same query says in 1.0; what VenMAS does not read of it is refused."""

from __future__ import annotations

import gzip
import sys
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner

from tests.needs import needs
from venmas.cli.main import main
from venmas.errors import FormulaError, UsageError
from venmas.formats.vnnlib.reader import parse_vnnlib, read_vnnlib

HEAD = "(vnnlib-version <2.0>)\n(declare-network f (declare-input X {0}) (declare-output Y {1}))\n"
SHAPES = ([2, 3], [1, 4])


def places(letter: str) -> list[tuple[str, str]]:
    """Every element by its names in 1.0 and 2.0."""
    rows, columns = SHAPES["XY".index(letter)]
    return [(f"{letter}_{i * columns + j}", f"{letter}[{i},{j}]") for i in range(rows) for j in range(columns)]


def number(rng: Random) -> tuple[str, str]:
    text = f"{rng.choice(('', '-'))}{rng.randrange(4)}.{rng.randrange(1000)}"
    return text, text


def term(rng: Random, depth: int) -> tuple[str, str]:
    if depth == 0 or rng.random() < 0.3:
        return rng.choice([*places("X"), *places("Y"), number(rng)])
    if rng.random() < 0.3:
        factor, other = number(rng), term(rng, depth - 1)
        return f"(* {factor[0]} {other[0]})", f"(* {factor[1]} {other[1]})"
    parts = [term(rng, depth - 1) for _ in range(rng.choice((2, 3)))]
    sign = rng.choice("+-")
    return f"({sign} {' '.join(p[0] for p in parts)})", f"({sign} {' '.join(p[1] for p in parts)})"


def condition(rng: Random, depth: int) -> tuple[str, str]:
    if depth == 0 or rng.random() < 0.3:
        sign = rng.choice(("<=", ">=", "<", ">", "==", "!="))
        (a, a2), (b, b2) = rng.choice([*places("X"), *places("Y")]), term(rng, 2)
        first = {"==": f"(= {a} {b})", "!=": f"(not (= {a} {b}))"}.get(sign, f"({sign} {a} {b})")
        return first, f"({sign} {a2} {b2})"
    parts = [condition(rng, depth - 1) for _ in range(2)]
    word = rng.choice(("and", "or"))
    return f"({word} {' '.join(p[0] for p in parts)})", f"({word} {' '.join(p[1] for p in parts)})"


def both(rng: Random) -> tuple[str, str]:
    """A query in 1.0 and in 2.0."""
    boxes = [(f"(and (<= {n} 2.0) (>= {n} -2.0))", f"(and (<= {m} 2.0) (>= {m} -2.0))") for n, m in places("X")]
    asserted = [*boxes, *(condition(rng, 2) for _ in range(2))]
    declared = "\n".join(f"(declare-const {n} Real)" for n, _ in (*places("X"), *places("Y")))
    first = declared + "".join(f"\n(assert {a})" for a, _ in asserted)
    return first, HEAD.format("float32 [2,3]", "float32 [1,4]") + "".join(f"\n(assert {a})" for _, a in asserted)


def test_random_queries_say_the_same_in_both_versions() -> None:
    needs("vnnlib")
    rng, held = Random(3), 0
    for _ in range(60):
        one, other = map(parse_vnnlib, both(rng))
        assert (one.inputs, one.outputs, one.assertion) == (other.inputs, other.outputs, other.assertion)
        for _ in range(10):
            point = {n: Fraction(rng.randrange(-20, 21), 10) for n, _ in (*places("X"), *places("Y"))}
            assert one.holds(point) == other.holds(point)
            held += one.holds(point)
    assert 50 < held < 550


def test_numbers_are_the_decimals_that_are_written() -> None:
    needs("vnnlib")
    text = (
        HEAD.format("real []", "real [1]")
        + "(assert (and (<= X 0.1000000000000000000001) (>= X 0.1)))(assert (< Y[0] X))"
    )
    (case,) = parse_vnnlib(text).cases
    assert case.boxes == (((Fraction(1, 10), Fraction("0.1000000000000000000001")),),)


REFUSED = {
    "an integer type": HEAD.format("int32 [1]", "float32 [1]"),
    "half precision": HEAD.format("float16 [1]", "float32 [1]"),
    "another version": HEAD.replace("2.0", "3.1").format("real [1]", "real [1]"),
    "too many elements": HEAD.format("real [100000,100000]", "real [1]") + "(assert (<= X[0,0] 1.0))",
    "a huge shape": HEAD.format("real [99999999999999999999999]", "real [1]") + "(assert (<= X[0] 1.0))",
    "an index outside": HEAD.format("real [2]", "real [1]") + "(assert (<= X[2] 1.0))",
    "no declaration": "(vnnlib-version <2.0>)",
    "nested too deeply": HEAD.format("real [1]", "real [1]") + "(assert " + "(and " * 100_000,
    "nothing is bounded": HEAD.format("real [1]", "real [1]") + "(assert (<= X[0] 1.0))",
    "a product of an input without bounds": HEAD.format("real [1]", "real [1]") + "(assert (<= (* X[0] Y[0]) 1.0))",
    "a hidden node without a name": "(vnnlib-version <2.0>)(declare-network f (declare-input X real [1]) "
    "(declare-hidden H real [1]) (declare-output Y real [1]))(assert (== X[0] 1.0))",
    "a hidden node of integers": "(vnnlib-version <2.0>)(declare-network f (declare-input X real [1]) "
    '(declare-hidden H int32 [1] "h") (declare-output Y real [1]))(assert (== X[0] 1.0))',
    "a name of ONNX": '(vnnlib-version <2.0>)(declare-network f (declare-input X real [1] "in") '
    "(declare-output Y real [1]))(assert (<= X[0] 1.0))",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_read_is_refused(name: str) -> None:
    text = REFUSED[name]
    if name in ("an integer type", "half precision"):
        text += "(assert (>= Y[0] 1.0))"
    with pytest.raises((UsageError, FormulaError), match=r"this\.vnnlib") as refused:
        parse_vnnlib(text, "this.vnnlib")
    assert len(str(refused.value)) < 2000


def test_the_remedy_is_named_where_the_package_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vnnlib", None)
    with pytest.raises(UsageError, match=r"pip install \"\.\[vnnlib\]\""):
        parse_vnnlib(HEAD.format("real [1]", "real [1]"))


def test_packed_files_are_read_up_to_their_limit(tmp_path: Path) -> None:
    from venmas.nn import relu_network
    from venmas.nn.runtime import onnx_model

    tent = relu_network([[[1.0], [1.0]], [[1.0, -2.0]]], [[0.0, -0.5], [0.0]], name="tent")
    (tmp_path / "tent.onnx.gz").write_bytes(gzip.compress(onnx_model(tent, "float32")))
    text = "(declare-const X_0 Real)(declare-const Y_0 Real)(assert (and (<= X_0 1) (>= X_0 0) (>= Y_0 {})))"
    for bound, status in (("0.45", 10), ("0.6", 0)):
        (tmp_path / "p.vnnlib.gz").write_bytes(gzip.compress(text.format(bound).encode()))
        done = CliRunner().invoke(main, ["vnnlib", str(tmp_path / "tent.onnx.gz"), str(tmp_path / "p.vnnlib.gz")])
        assert done.exit_code == status, done.output
    for data in (b"text", gzip.compress(b"x" * 100)[:-8], gzip.compress(bytes(33 << 20))):
        (tmp_path / "bad.vnnlib.gz").write_bytes(data)
        with pytest.raises(UsageError, match=r"bad\.vnnlib\.gz"):
            read_vnnlib(tmp_path / "bad.vnnlib.gz")
    done = CliRunner().invoke(main, ["vnnlib", str(tmp_path / "gone.onnx.gz"), str(tmp_path / "p.vnnlib.gz")])
    assert done.exit_code == 2 and "gone.onnx.gz" in done.stderr
