"""Registers with asynchronous resets: the netlist against a reading of the source as events, and the names of it."""

from __future__ import annotations

from tests.needs import needs

needs("bitwuzla", "pyosys", "pysat")

import operator
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from venmas import verify
from venmas.errors import CircuitError
from venmas.formats.verilog import read_verilog
from venmas.model.circuit.nodes import Circuit
from venmas.model.circuit.simulate import step, values

Words = dict[str, int]


class Design(NamedTuple):
    """A source; settled: what registers are once resets that are active have acted; ticked: after a tick of the clock;
    shown: its outputs."""

    text: str
    settled: Callable[[Words, Words], Words]
    ticked: Callable[[Words, Words], Words]
    shown: Callable[[Words, Words], Words]


PORTS = "input clk, input rst, input en, input [3:0] v"
DESIGNS = {
    "active low, enable": Design(
        f"""module top({PORTS}, output logic [7:0] n, output [7:0] m);
        always_ff @(posedge clk or negedge rst) if (!rst) n <= 8'd37; else if (en) n <= n * 3 + v;
        assign m = n + v; endmodule""",
        lambda s, i: s if i["rst"] else {"n": 37},
        lambda s, i: {"n": s["n"] * 3 + i["v"] & 255 if i["en"] else s["n"]},
        lambda s, i: {"n": s["n"], "m": s["n"] + i["v"] & 255},
    ),
    "active high, beside one without": Design(
        f"""module top({PORTS}, output logic [7:0] n, output logic [3:0] s);
        always_ff @(negedge clk or posedge rst) if (rst) n <= 0; else n <= n + v;
        always_ff @(negedge clk) if (en) s <= n[3:0] ^ v; endmodule""",
        lambda s, i: s | {"n": 0} if i["rst"] else s,
        lambda s, i: {"n": s["n"] + i["v"] & 255, "s": s["n"] & 15 ^ i["v"] if i["en"] else s["s"]},
        lambda s, i: s,
    ),
    "a reset that is released by registers": Design(
        f"""module top({PORTS}, output logic [7:0] n, output logic r2); logic r1;
        always_ff @(posedge clk or negedge rst) if (!rst) begin r1 <= 0; r2 <= 0; end else begin r1 <= 1; r2 <= r1; end
        always_ff @(posedge clk or negedge r2) if (!r2) n <= 3; else if (en) n <= n + v; endmodule""",
        lambda s, i: (lambda q: q if q["r2"] else q | {"n": 3})(s if i["rst"] else s | {"r1": 0, "r2": 0}),
        lambda s, i: {"r1": 1, "r2": s["r1"], "n": (s["n"] + i["v"] * i["en"] & 255) if s["r2"] else 3},
        lambda s, i: {"n": s["n"], "r2": s["r2"]},
    ),
    "parts of a word": Design(
        f"""module top({PORTS}, output logic [7:0] n);
        always_ff @(posedge clk or posedge rst) if (rst) n[3:0] <= 9; else n[3:0] <= n[7:4] + v;
        always_ff @(posedge clk) n[7:4] <= n[3:0]; endmodule""",
        lambda s, i: s | {"n[3:0]": 9} if i["rst"] else s,
        lambda s, i: {"n[3:0]": s["n[7:4]"] + i["v"] & 15, "n[7:4]": s["n[3:0]"]},
        lambda s, i: {"n": s["n[7:4]"] << 4 | s["n[3:0]"]},
    ),
    "instances": Design(
        f"""module cell_(input c, input r, input [3:0] d, output logic [3:0] q);
        always_ff @(posedge c or negedge r) if (!r) q <= 15; else q <= q - d; endmodule
        module top({PORTS}, output [3:0] a, output [3:0] b);
        cell_ one(clk, rst, v, a); cell_ two(clk, !rst & en, a, b); endmodule""",
        lambda s, i: {"a": s["a"] if i["rst"] else 15, "b": s["b"] if not i["rst"] and i["en"] else 15},
        lambda s, i: {"a": s["a"] - i["v"] & 15, "b": s["b"] - s["a"] & 15},
        lambda s, i: s,
    ),
    "set and reset": Design(
        f"""module top({PORTS}, output logic b);
        always_ff @(posedge clk or posedge rst or posedge en) if (rst) b <= 0; else if (en) b <= 1; else b <= !b ^ v[0];
        endmodule""",
        lambda s, i: {"b": 0} if i["rst"] else {"b": 1} if i["en"] else s,
        lambda s, i: {"b": 1 - s["b"] ^ i["v"] & 1},
        lambda s, i: s,
    ),
}


def read(folder: Path, text: str, *asked: str) -> Circuit:
    path = folder / "top.sv"
    path.write_text(text)
    return read_verilog(path, "top", asked=asked).circuit


@pytest.mark.parametrize("name", DESIGNS)
def test_resets_act_as_events_do(tmp_path: Path, name: str) -> None:
    design = DESIGNS[name]
    circuit = read(tmp_path, design.text)
    rng = np.random.default_rng(7)
    labels = [circuit.name(node) for node in circuit.registers]
    assert not any(label.startswith("#") for label in labels), labels
    for seldom in (0.5, 0.1, 0.9):
        first = [int(rng.integers(1 << circuit.width(node))) for node in circuit.registers]
        theirs = {label.removesuffix("@stored"): value for label, value in zip(labels, first, strict=True)}
        state = tuple(np.array([value]) for value in first)
        for _ in range(150):
            given = {"rst": int(rng.random() < seldom), "en": int(rng.random() < 0.6), "v": int(rng.integers(16))}
            inputs = [np.array([given.get(circuit.name(node), 0)]) for node in circuit.inputs]
            theirs = design.settled(theirs, given)  # whatever came before this step
            want = design.shown(theirs, given)
            found = values(circuit, state, inputs, [circuit.names[one] for one in want])
            assert [int(one[0]) for one in found] == list(want.values())
            theirs = design.settled(design.ticked(theirs, given), given)
            state = step(circuit, state, inputs)


def test_what_is_asked_is_kept_and_what_is_not_there_says_why(tmp_path: Path) -> None:
    text = """module sub(input c, input [3:0] d, output logic [3:0] q); always_ff @(posedge c) q <= d; endmodule
    module top #(parameter LIMIT = 5) (input clk, input rst, input [1:0] a, output logic [3:0] n);
    logic [3:0] dead, same, mem [0:3], unread [2:3]; wire tied = 1; wire [3:0] next = n + 1, uq;
    typedef struct packed {logic [3:0] hi; logic lo;} pair; pair p;
    always_ff @(posedge clk) begin n <= (n == LIMIT) ? 0 : next; mem[a] <= n; unread[a] <= n; end
    always_ff @(posedge clk or posedge rst) if (rst) dead <= 0; else dead <= n;
    always_ff @(posedge clk) begin same <= n; p <= {n, tied}; end
    sub u(clk, n, uq); genvar i; wire [3:0] w = mem[2];
    for (i = 0; i < 2; i++) begin : g logic [1:0] k; always_ff @(posedge clk) k <= k + i; end endmodule"""
    kept = ("dead", "same", "tied", "next", "uq", "u.q", "p", "p[4]", "g[0].k", "g[1].k[1]", "w", "mem[2]", "mem[0][3]")
    names = read(tmp_path, text, *kept).names
    assert {one.removesuffix("[4]").removesuffix("[1]").removesuffix("[3]") for one in kept} <= names.keys()
    for name in kept[:-2]:  # and each alone
        assert any(name.startswith(one) for one in read(tmp_path, text, name).names.keys() - {"n"}), name
    with_no_asking = read(tmp_path, text).names
    assert "dead" not in with_no_asking and "n" in with_no_asking
    for name, why in {
        "nn": "no signal 'nn'; it has .*dead",
        "clk": "clk is the clock",
        "u.c": "u.c is the clock",
        "LIMIT": "is a parameter",
        "p.hi": r"p is a word of 5 bits: ask of it or of its bits, p\[0\] to p\[4\]",
        "mem": r"its words are mem\[0\] to mem\[3\]",
        "mem[4]": "is no word of the memory mem",
        "unread[2]": "nothing that is kept reads the memory unread",
        "g[2].k": "no signal",
        "dead\nvenmas_top/same": "no signal",
    }.items():
        with pytest.raises(CircuitError, match=why):
            read(tmp_path, text, name)


@pytest.mark.parametrize("first", [None, 5])
def test_initial_conditions_are_about_what_is_seen(tmp_path: Path, first: int | None) -> None:
    """Verdicts of safety beside a search of all runs whose first step meets the condition."""
    begun = "" if first is None else f" = {first}"
    circuit = read(
        tmp_path,
        f"""module top(input clk, input rst, output logic [2:0] n);
        logic [2:0] q{begun}; assign n = q;
        always_ff @(posedge clk or posedge rst) if (rst) q <= 2; else q <= q == 6 ? 1 : q + 1; endmodule""",
        "q",
    )
    rng = np.random.default_rng(3)
    said = {"==": operator.eq, "!=": operator.ne, "<=": operator.le, ">": operator.gt}
    verdicts = set()
    for _ in range(40):
        (one, k), (two, m) = ((str(rng.choice(list(said))), int(rng.integers(8))) for _ in range(2))
        reached = {
            (held, rst)
            for held in (range(8) if first is None else [first])
            for rst in (0, 1)
            if said[one](2 if rst else held, k)
        }
        expected = True
        seen = set(reached)
        while reached:
            held, rst = reached.pop()
            shown = 2 if rst else held
            expected &= said[two](shown, m)
            after = 2 if rst else 1 if shown == 6 else (shown + 1) % 8
            fresh = {(after, 0), (after, 1)} - seen
            reached |= fresh
            seen |= fresh
        if seen:
            found = verify(circuit, f"G n {two} {m}", initial=f"q {one} {k}")
            assert (found.satisfied, found.violated) == (expected, not expected), (one, k, two, m)
            verdicts.add(expected)
    assert verdicts == {True, False}
