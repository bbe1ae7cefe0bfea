"""Designs in SystemVerilog: what comes back of them, what is refused, and names that look like commands."""

from __future__ import annotations

from tests.needs import needs

needs("bitwuzla", "pyosys", "pysat")

from pathlib import Path

import numpy as np
import pytest

from venmas import verify
from venmas.errors import CircuitError, SolverUnavailableError
from venmas.formats import verilog
from venmas.formats.verilog import read_verilog
from venmas.model.circuit.simulate import first_states, step, values

TIMER = """
module TIMER(input clk, input rst, output reg ring, output odd);
  reg [3:0] cnt = 0;
  assign odd = unsaid ^ cnt[0];
  always @(posedge clk or posedge rst) begin
    if (rst) begin cnt <= 0; ring <= 0; end
    else if (cnt == 9) begin cnt <= 0; ring <= 1; end
    else begin cnt <= cnt + 1; ring <= 0; end
  end
endmodule
"""


def written(folder: Path, text: str, name: str = "design.sv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_design_runs_as_it_is_written(tmp_path: Path) -> None:
    design = read_verilog(written(tmp_path, TIMER, "timer.sv"), "TIMER")
    circuit = design.circuit
    rst = circuit.inputs.index(circuit.names["rst"])
    inputs = [np.zeros(1, dtype=np.int64) for _ in circuit.inputs]
    state = first_states(circuit, [np.full(1, 1, dtype=np.int64) for _ in circuit.registers], inputs)
    counted = []
    for at in range(25):
        inputs[rst] = np.array([int(at == 12)])
        counted.append(int(values(circuit, state, inputs, [circuit.names["cnt"]])[0][0]))
        state = step(circuit, state, inputs)
    assert counted[:11] == [*range(10), 0]
    assert counted[13:24] == [*range(10), 0]
    assert len(design.warnings) == 1
    assert "timer.sv:4: Identifier `\\unsaid'" in design.warnings[0]


def test_a_design_is_decided(tmp_path: Path) -> None:
    circuit = read_verilog(written(tmp_path, TIMER)).circuit
    assert verify(circuit, "F G !rst -> G F ring", timeout=20).satisfied
    assert verify(circuit, "G F ring", timeout=20).violated
    # what nothing drives may have any value, at every step
    assert verify(circuit, "G F odd", timeout=20).violated


def test_odd_names_are_names(tmp_path: Path) -> None:
    path = written(tmp_path, TIMER, 'a; write_verilog pwned.v; "b$(touch pwned) \\ c.sv')
    assert read_verilog(path).circuit.register_bits == 5
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    with pytest.raises(CircuitError, match="no name of a module"):
        read_verilog(path, "TIMER; write_verilog pwned.v")


def test_included_files_lie_beside_the_design(tmp_path: Path) -> None:
    written(tmp_path, "`define WIDTH 7", "widths.svh")
    path = written(tmp_path, '`include "widths.svh"\n' + TIMER.replace("3:0", "`WIDTH - 1:0"))
    assert read_verilog(path).circuit.register_bits == 8


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("module T(input a; endmodule", "design.sv:1: ERROR: syntax error"),
        ("module T(input a, output b); other o(a, b); endmodule", "other"),
        (
            "module T(input a, input b, output reg x, output reg y);"
            " always @(posedge a) x <= !x; always @(posedge b) y <= x; endmodule",
            "several clocks .the rising edge of a, the rising edge of b",
        ),
        (
            "module T(input a, output reg x, output reg y);"
            " always @(posedge a) x <= !y; always @(negedge a) y <= x; endmodule",
            "several clocks .the falling edge of a, the rising edge of a",
        ),
        ("module T(input a, input b, output reg x); always @(*) if (a) x = b; endmodule", "a latch is inferred"),
        ("module T(input c, output a, output b); assign a = !b; assign b = !a & c; endmodule", "cannot translate it"),
        ("", "cannot translate it"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(CircuitError, match=message):
        read_verilog(written(tmp_path, text), "T")


def test_a_huge_memory_ends_soon(tmp_path: Path) -> None:
    text = "module T(input clk, input [31:0] a, output reg x); reg m [0:900000000];"
    text += " always @(posedge clk) begin m[a] <= !x; x <= m[a + 1]; end endmodule"
    with pytest.raises(CircuitError, match="cannot translate it"):
        read_verilog(written(tmp_path, text), seconds=20)


def test_no_file_and_no_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CircuitError, match=r"cannot read the design .*No such file"):
        read_verilog(tmp_path / "none.sv")
    monkeypatch.setattr(verilog, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(verilog.sys, "executable", str(tmp_path / "python"))
    with pytest.raises(SolverUnavailableError, match=r"Yosys, which is not installed: .*hardware.*\.btor2 file"):
        read_verilog(written(tmp_path, TIMER))
