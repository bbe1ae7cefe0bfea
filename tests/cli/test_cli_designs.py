"""``venmas ltl`` on designs in SystemVerilog and on machines in Python."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from venmas.cli.main import main

DESIGN = """
module TIMER(input clk, input rst, output reg ring);
  reg [3:0] cnt;
  always @(posedge clk) begin
    ring <= cnt == 9 && unsaid !== 1;
    cnt <= rst || cnt >= 9 ? 0 : cnt + 1;
  end
endmodule
"""
MACHINE = '''"""A counter."""

from venmas.circuit.integers import ite
from venmas.circuit.machine import Machine
from venmas.model import Parameter

PARAMETERS = (Parameter("top", 9, "where it turns back"),)


def build(networks, top):
    m = Machine("mine")
    n = m.register("n", low=0, high=9)
    m.next(n=ite(n == top, 0, n + 1))
    m.property("top", f"G F n == {top}")
    return m
'''


def ask(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["ltl", *map(str, arguments)])


def test_a_design_and_its_warnings(tmp_path: Path) -> None:
    path = tmp_path / "timer.sv"
    path.write_text(DESIGN)
    found = ask("--design", path, "--top", "TIMER", "--property", "F G !rst -> G F cnt == 0")
    assert found.exit_code == 0
    assert found.stdout.startswith("satisfied\n")
    assert "timer.sv:5: Identifier `\\unsaid' is implicitly declared" in found.stderr
    assert ask("--design", path, "--property", "F G !rst -> G F ring").exit_code == 10


def test_a_machine_of_ones_own_and_a_bundled_one(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(MACHINE)
    assert ask("--machine", path, "--property", "top", "-q").stdout == "satisfied\n"
    found = ask("--machine", path, "--set", "top=12", "--property", "top")
    assert found.exit_code == 2
    assert "n may leave its range 0 .. 9 in a step from n = 9" in found.stderr
    assert ask("--machine", "lcd", "--property", "sends_always", "-q").exit_code == 10


def test_learners_by_name_and_their_networks(tmp_path: Path) -> None:
    path = tmp_path / "rank.onnx"
    found = ask("--machine", "delay", "--property", "rings", "--learner", "milp", "--network", path)
    assert found.exit_code == 0
    assert path.stat().st_size > 0
    refused = ask("--machine", "delay", "--property", "rings_always", "--network", path)
    assert refused.exit_code == 2
    assert "there is no rank to write" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "one design is wanted"),
        (["--machine", "lcd", "--btor2", "x.btor2"], "one design is wanted"),
        (["--machine", "lcd", "--top", "LCD"], "--top is about a --design"),
        (["--btor2", "x.btor2", "--set", "a=1"], "--set is about parameters of a --machine"),
        (["--machine", "lcd", "--set", "volume=1"], "has no parameter 'volume'"),
        (["--machine", "fridge"], "no design 'fridge'; bundled ones are blink"),
        (["--design", "none.sv"], "cannot read the design 'none.sv'"),
        (["--design", "none.sv", "--top", "a;b"], "no name of a module"),
    ],
)
def test_designs_that_are_not_there(arguments: list[str], message: str) -> None:
    found = ask(*arguments, "--property", "G F p")
    assert found.exit_code == 2
    assert message in found.stderr
    assert "Traceback" not in found.stderr
