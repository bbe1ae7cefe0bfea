"""Assertions of SystemVerilog: what they mean, in each instance of their module, and what is refused where."""

from __future__ import annotations

from tests.needs import needs

needs("bitwuzla", "pyosys", "pysat")

import random
from pathlib import Path

import pytest
from click.testing import CliRunner

from venmas import verify
from venmas.cli.main import main
from venmas.errors import CircuitError
from venmas.formats.sva.properties import meaning, stated
from venmas.formats.sva.source import taken_out
from venmas.formats.verilog import read_verilog
from venmas.logic.formula import And, Formula, Implies, Not, Or
from venmas.logic.lassos import Lasso, holds
from venmas.logic.ltl_parser import parse_ltl
from venmas.logic.paths import Proposition, R, U, X

DESIGN = """
// assert property (@(posedge clk) nothing) in a comment
module sub(input clk, input go, output reg [2:0] n);
  default clocking @(posedge clk); endclocking
  always @(posedge clk) if (go) n <= n + 1;
  counts: assert property (go && n == 3 |=> n == 4) else $error("no; way");
endmodule
module top #(parameter N = 5) (input clk, input rst, output logic [3:0] cnt, output busy);
  localparam LAST = N - 1;
  always_ff @(posedge clk) if (rst) cnt <= 0; else cnt <= cnt == LAST ? 0 : cnt + 1;
  assign busy = cnt != 0;
  sub u(.clk(clk), .go(busy));
  sub v(.clk(clk), .go(!busy));
  property rounds; @(posedge clk) disable iff (rst) cnt == LAST |=> cnt == 0; endproperty
  assert property (rounds);
  live: assert property (@(posedge clk) disable iff (rst)
     cnt < N |-> s_eventually cnt == LAST);
  wrong: assert property (@(posedge clk) cnt == LAST |=> cnt == 0);
  begins: initial assert property (@(posedge clk) cnt == 0);
endmodule
"""


def test_assertions_are_properties_of_the_design(tmp_path: Path) -> None:
    path = tmp_path / "design.sv"
    path.write_text(DESIGN.replace("== 0);\nendmodule", "== 1);\nendmodule").replace("begins: initial", "initial"))
    circuit = read_verilog(path, "top", settings={"N": "7"}).circuit
    assert circuit.properties["live"] == 'G ("cnt < N" & !rst -> F (rst | "cnt == LAST"))'
    verdicts = {name: verify(circuit, name, timeout=60).verdict.value for name in circuit.properties}
    assert verdicts == {
        "u.counts": "satisfied",
        "v.counts": "satisfied",
        "rounds": "satisfied",
        "live": "satisfied",
        "wrong": "satisfied",  # a reset makes the counter 0, too
        "assert4": "violated",  # at the first step only
    }
    assert not circuit.properties["assert4"].startswith("G")


def test_an_assertion_is_asked_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "design.sv"
    path.write_text(DESIGN.replace("begins: ", ""))
    found = CliRunner().invoke(main, ["verify", "--scenario", str(path), "--set", "N=6", "--formula", "v.counts"])
    assert found.exit_code == 0, found.output
    assert 'G ("v.go && n == 3" -> X "v.n == 4")' in found.output


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("a |-> s_eventually b", "G (a -> F b)"),
        ("a ##1 b |=> c", "G (a & X b -> X X c)"),
        ("a ##[1:2] b |-> c", "G ((a & X b -> X c) & (a & X X b -> X X c))"),
        ("a |-> ##[1:2] b", "G (a -> X b | X X b)"),
        ("a[*2] |-> b", "G (a & X a -> X b)"),
        ("a until b", "G (a W b)"),
        ("a s_until b", "G (a U b)"),
        ("a until_with b", "G (b R a)"),
        ("a s_until_with b", "G (b M a)"),
        ("not always a and b", "G !G (a & b)"),
        ("a implies s_eventually b and nexttime [2] c", "G (a -> F (b & X X c))"),
        ("if (a) b else (c iff a)", "G ((a -> b) & (!a -> (c <-> a)))"),
        ("strong(a ##1 b) or c", "G ((a & X b) | c)"),
        ("always (a |-> always s_eventually b)", "G G (a -> G F b)"),
    ],
)
def test_operators_are_those_of_ltl(text: str, formula: str) -> None:
    read, expected = stated(meaning(text).attempt, None, once=False), parse_ltl(formula)
    rng = random.Random(0)
    for _ in range(200):
        word = lasso(rng, "abc")
        assert holds(read, word) == holds(expected, word)


def lasso(rng: random.Random, names: str) -> Lasso:
    def letters(count: int) -> tuple[tuple[Proposition, ...], ...]:
        return tuple(tuple(Proposition(name) for name in names if rng.random() < 0.5) for _ in range(count))

    return Lasso(letters(rng.randint(0, 3)), letters(rng.randint(1, 3)))


def drawn(rng: random.Random, depth: int) -> Formula:
    if not depth:
        return Proposition(rng.choice("ab"))
    left, right = (drawn(rng, rng.randrange(depth)) for _ in range(2))
    kinds = (Not(left), X(left), And((left, right)), Or((left, right)), Implies(left, right), U(left, right))
    return rng.choice((*kinds, R(left, right)))


def open_at(formula: Formula, word: Lasso, at: int, end: int, good: bool) -> bool:
    """What a formula is at a step where all that is asked at `end` or later turns out as is `good` for the whole."""
    if at >= end:
        return good
    match formula:
        case Not(one):
            return not open_at(one, word, at, end, not good)
        case X(one):
            return open_at(one, word, at + 1, end, good)
        case And(parts):
            return all(open_at(one, word, at, end, good) for one in parts)
        case Or(parts):
            return any(open_at(one, word, at, end, good) for one in parts)
        case Implies(left, right):
            return not open_at(left, word, at, end, not good) or open_at(right, word, at, end, good)
        case U(left, right):
            here, on = open_at(right, word, at, end, good), open_at(left, word, at, end, good)
            return here or (on and open_at(formula, word, at + 1, end, good))
        case R(left, right):
            here, out = open_at(right, word, at, end, good), open_at(left, word, at, end, good)
            return here and (out or open_at(formula, word, at + 1, end, good))
    letters = (*word.stem, *word.loop * (end + 1))
    return formula in letters[at]


def test_a_disabled_attempt_has_not_failed_before() -> None:
    """Of random formulas, beside the definition: it holds, or the condition comes while it could still hold."""
    rng, c, seen = random.Random(1), Proposition("c"), set()
    for _ in range(600):
        formula, word = drawn(rng, 4), lasso(rng, "abc")
        length = len(word.stem) + len(word.loop)
        comes = [k for k in range(length + 6 * len(word.loop)) if open_at(c, word, k, k + 1, good=True)]
        expected = holds(formula, word) or any(open_at(formula, word, 0, k, good=True) for k in comes)
        assert holds(stated(formula, c, once=True), word) == expected
        seen.add((holds(formula, word), expected))
    assert len(seen) == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a: assert property (@(posedge clk)\n  x |-> $past(x));",
            r"line 3, column 9: `\$past` is not read: it looks b",
        ),
        ("assert property (x throughout y);", "line 2, column 20: `throughout` is not read"),
        ("assert property (x |-> ##[1:$] y);", r"line 2, column 24: `##\[1:\$\]` is not read"),
        ("assert property (x && (y |-> z));", "line 2, column 24: a property stands within a condition"),
        ("assert property (x |->);", "line 2, column 23: unexpected end"),
        (
            "assert property (@(posedge other) x);",
            "line 2, column 1: .* clock `posedge other`, and the design posedge clk",
        ),
        ("assert property (@(negedge clk) x);", "the clock `negedge clk`"),
        ("assume property (@(posedge clk) x);", "line 2, column 1: `assume property` is not read: state it"),
        ("property p(a); a; endproperty assert property (p(x));", "`property` with arguments is not read"),
        ("sequence s; x ##1 y; endsequence assert property (s |-> y);", "column 1: `sequence` is not read"),
        (
            "`ifdef NEVER\ndefault disable iff (y);\n`endif\nassert property (@(posedge clk) x);",
            "line 3, column 1: `default disable iff` between `ifdef and `endif is not read",
        ),
        (
            "`ifndef A\n`else\ndefault clocking @(posedge clk); endclocking\n`endif\nassert property (x);",
            "line 4, column 1: `default clocking` between `ifdef",
        ),
        (
            "`ifdef A\nproperty p; x; endproperty\n`endif\nassert property (p);",
            "line 3, column 1: `property` between `ifdef",
        ),
        (
            "property p; x; endproperty\nproperty p; y; endproperty\nassert property (p);",
            "line 3, column 1: a second `property p` in a module is not read",
        ),
        ("always @(posedge clk) assert property (x);", "column 23: `assert property` within a procedure is not read"),
        ("assert property (x[*0:2] |-> y);", "a sequence of no steps"),
        ("assert property (x ##[0:999] y ##[0:999] x);", "more than 1000 matches"),
    ],
)
def test_what_is_not_read_is_refused_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "design.sv"
    head = "module top(input clk, input x, input y, output reg z); always @(posedge clk) z <= x;"
    path.write_text(f"{head}\n{text}\nendmodule\n")
    with pytest.raises(CircuitError, match=message):
        read_verilog(path)


def test_lines_stay_where_they_are() -> None:
    text, found = taken_out(DESIGN, "design.sv")
    assert text.count("\n") == DESIGN.count("\n")
    assert len(found) == 5
    assert taken_out("module t; endmodule // assert property", "t.sv")[1] == []
