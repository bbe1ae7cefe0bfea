"""``venmas ltl`` on designs in SystemVerilog and on machines in Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.needs import needs
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

from venmas.model.circuit.integers import ite
from venmas.model.circuit.machine import Machine
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
    needs("bitwuzla", "pysat")
    path = tmp_path / "timer.sv"
    path.write_text(DESIGN)
    found = ask("--design", path, "--top", "TIMER", "--property", "F G !rst -> G F cnt == 0")
    assert found.exit_code == 0
    assert found.stdout.startswith("satisfied\n")
    assert "timer.sv:5: Identifier `\\unsaid' is implicitly declared" in found.stderr
    assert ask("--design", path, "--property", "F G !rst -> G F ring").exit_code == 10


def test_a_machine_of_ones_own_and_a_bundled_one(tmp_path: Path) -> None:
    needs("bitwuzla", "pysat")
    path = tmp_path / "mine.py"
    path.write_text(MACHINE)
    assert ask("--machine", path, "--property", "top", "-q").stdout == "satisfied\n"
    found = ask("--machine", path, "--set", "top=12", "--property", "top")
    assert found.exit_code == 2
    assert "n may leave its range 0 .. 9 in a step from n = 9" in found.stderr
    assert ask("--machine", "lcd", "--property", "sends_always", "-q").exit_code == 10


def test_learners_by_name_and_their_networks(tmp_path: Path) -> None:
    needs("bitwuzla", "pysat", "venmas_learners")
    path = tmp_path / "rank.onnx"
    found = ask("--machine", "delay", "--property", "rings", "--learner", "milp", "--network", path)
    assert found.exit_code == 0
    assert path.stat().st_size > 0
    refused = ask("--machine", "delay", "--property", "rings_always", "--network", path)
    assert refused.exit_code == 2
    assert "there is no rank to write" in refused.stderr


COUNTER = """
module counter #(parameter LIMIT = 250) (input clk, input rst_n, output logic top);
  logic [7:0] n, twice;  // nothing reads twice
  always_ff @(posedge clk or negedge rst_n) if (!rst_n) n <= 0; else n <= n == LIMIT ? 0 : n + 1;
  always_ff @(posedge clk) twice <= n << 1;
  assign top = n == LIMIT;
endmodule
"""


@pytest.fixture
def counter(tmp_path: Path) -> Path:
    path = tmp_path / "counter.sv"
    path.write_text(COUNTER)
    return path


def test_registers_behind_asynchronous_resets_have_their_names(counter: Path, tmp_path: Path) -> None:
    """Of initial states, in the table, in JSON, in the waveform and on the page."""
    files = [tmp_path / name for name in ("run.vcd", "run.json", "run.html")]
    options = ["--witness", files[0], "--json", files[1], "--html", files[2]]
    found = ask("--design", counter, "--property", "G n < 202", "--init", "n == 200", *options)
    assert found.exit_code == 10, found.output
    heads, *rows = [
        [cell.strip() for cell in line.split(line[0])[1:-1]]
        for line in found.stdout.splitlines()
        if line[:1] in "┃│" and line
    ]
    assert heads == ["step", "n", "rst_n", "n < 202"]
    assert [row[1:] for row in rows[:3]] == [["200", "1", "1"], ["201", "1", "1"], ["202", "1", "0"]]
    lasso = json.loads(files[1].read_text())["lasso"]
    assert [one["n"] for one in lasso["signals"][:3]] == [200, 201, 202] and lasso["widths"]["n"] == 8
    assert "$scope module signals $end\n$var wire 8" in files[0].read_text() and "unnamed" not in files[0].read_text()
    assert '<th role="columnheader" scope="col" class="number">n</th>' in files[2].read_text()
    # what holds at first is what is seen: no reset acts there
    assert ask("--design", counter, "--property", "n == 200 & rst_n", "--init", "n == 200", "-q").exit_code == 0
    assert ask("--design", counter, "--property", "rst_n", "--init", "n == 0", "-q").exit_code == 10


def test_what_a_formula_reads_has_a_column(counter: Path) -> None:
    found = ask("--design", counter, "--property", "F G rst_n -> F G !top & twice[1]", "--set", "LIMIT=3")
    assert found.exit_code == 10, found.output
    heads = next(line for line in found.stdout.splitlines() if line.startswith("┃")).split("┃")
    assert {"n", "rst_n", "top", "twice", "twice[1]"} <= {head.strip() for head in heads}


def test_parameters_of_a_design(counter: Path, tmp_path: Path) -> None:
    proof = tmp_path / "proof.gz"
    ask_nine = ["--design", counter, "--property", "G n <= 9", "--init", "n == 0"]
    assert ask(*ask_nine, "-q").exit_code == 10
    assert ask(*ask_nine, "--set", "LIMIT=9", "--certificate", proof, "-q").exit_code == 0
    assert CliRunner().invoke(main, ["check", str(proof)]).stdout.startswith("proved\n")
    assert ask(*ask_nine, "--top", "counter", "--set", "LIMIT=8'h9", "-q").exit_code == 0
    for setting, message in {
        "LIMT=9": "the module counter has no parameter 'LIMT'; its parameters are LIMIT",
        "LIMIT=9; write_verilog x": "a whole number is expected",
        "LIMIT": "expected NAME=VALUE",
    }.items():
        found = ask(*ask_nine, "--set", setting)
        assert found.exit_code == 2 and message in found.stderr, found.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "one design is wanted"),
        (["--machine", "lcd", "--btor2", "x.btor2"], "one design is wanted"),
        (["--machine", "lcd", "--top", "LCD"], "--top is about a --design"),
        (["--btor2", "x.btor2", "--set", "a=1"], "--set is about parameters"),
        (["--machine", "lcd", "--set", "volume=1"], "has no parameter 'volume'"),
        (["--machine", "fridge"], "no design 'fridge'; bundled ones are blink"),
        (["--design", "none.sv"], "cannot read the design 'none.sv'"),
        (["--design", "none.sv", "--top", "a;b"], "no name of a module"),
    ],
)
def test_designs_that_are_not_there(arguments: list[str], message: str) -> None:
    needs("pyosys")
    found = ask(*arguments, "--property", "G F p")
    assert found.exit_code == 2
    assert message in found.stderr
    assert "Traceback" not in found.stderr
