"""LTL of designs in SystemVerilog and of machines in Python, on the command line."""

from __future__ import annotations

import json
import re
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


def test_a_machine_is_built_once(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(MACHINE.replace("    return m\n", '    print("MADE")\n    return m\n'))
    result = ask("--scenario", path, "--formula", "top")
    assert "satisfied" in result.output and result.output.count("MADE") == 1


def ask(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["verify", *map(str, arguments)])


def test_a_design_and_its_warnings(tmp_path: Path) -> None:
    needs("bitwuzla", "pysat")
    path = tmp_path / "timer.sv"
    path.write_text(DESIGN)
    found = ask("--scenario", path, "--set", "design.top=TIMER", "--formula", "F G !rst -> G F cnt == 0")
    assert found.exit_code == 0
    assert found.stdout.startswith("satisfied\n")
    assert "timer.sv:5: Identifier `\\unsaid' is implicitly declared" in found.stderr
    assert ask("--scenario", path, "--formula", "F G !rst -> G F ring").exit_code == 10


def test_a_machine_of_ones_own_and_a_bundled_one(tmp_path: Path) -> None:
    needs("bitwuzla", "pysat")
    path = tmp_path / "mine.py"
    path.write_text(MACHINE)
    assert ask("--scenario", path, "--formula", "top", "-q").stdout == "satisfied\n"
    found = ask("--scenario", path, "--set", "top=12", "--formula", "top")
    assert found.exit_code == 2
    assert "n may leave its range 0 .. 9 in a step from n = 9" in found.stderr
    assert ask("--scenario", "lcd", "--formula", "sends_always", "-q").exit_code == 10


def test_learners_by_name_and_their_networks(tmp_path: Path) -> None:
    needs("bitwuzla", "pysat", "venmas_learners")
    path = tmp_path / "rank.onnx"
    found = ask("--scenario", "delay", "--formula", "rings", "--tune", "ranking.learner=milp")
    assert found.exit_code == 0
    written = CliRunner().invoke(
        main, ["export", "ranks", "--scenario", "delay", "--formula", "rings", "-o", str(path)]
    )
    assert written.exit_code == 0 and path.stat().st_size > 0
    asked = ["export", "ranks", "--scenario", "delay", "--formula", "rings_always", "-o", str(path)]
    refused = CliRunner().invoke(main, asked)
    assert refused.exit_code == 2
    assert "there is none to write" in refused.stderr


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
    options = ["--witness", files[0], "--json", files[1]]
    found = ask("--scenario", counter, "--formula", "G n < 202", "--initial", "n == 200", *options)
    assert found.exit_code == 10, found.output
    CliRunner().invoke(main, ["report", str(files[1]), "--scenario", str(counter), "-o", str(files[2])])
    lines = found.stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("step"))
    assert re.split(r"\s{2,}", lines[at].strip()) == ["step", "n", "rst_n", "n < 202"]
    rows = [line.split() for line in lines[at + 2 : at + 5]]
    assert [row[-3:] for row in rows] == [["200", "1", "1"], ["201", "1", "1"], ["202", "1", "0"]]
    lasso = json.loads(files[1].read_text())["lasso"]
    assert [one["signals"]["n"] for one in lasso["steps"][:3]] == [200, 201, 202] and lasso["widths"]["n"] == 8
    assert "$scope module signals $end\n$var wire 8" in files[0].read_text() and "unnamed" not in files[0].read_text()
    assert '<th role="columnheader" scope="col" class="number">n</th>' in files[2].read_text()
    # what holds at first is what is seen: no reset acts there
    assert ask("--scenario", counter, "--formula", "n == 200 & rst_n", "--initial", "n == 200", "-q").exit_code == 0
    assert ask("--scenario", counter, "--formula", "rst_n", "--initial", "n == 0", "-q").exit_code == 10


@pytest.mark.parametrize(
    "formula",
    [
        "G (rst_n -> !top & twice[1])",
        pytest.param("F G rst_n -> F G !top & twice[1]", marks=pytest.mark.slow),
    ],
)
def test_what_a_formula_reads_has_a_column(counter: Path, formula: str) -> None:
    found = ask("--scenario", counter, "--formula", formula, "--set", "LIMIT=3")
    assert found.exit_code == 10, found.output
    heads = next(line for line in found.stdout.splitlines() if line.startswith("step")).split()
    assert {"n", "rst_n", "top", "twice", "twice[1]"} <= set(heads)


def test_parameters_of_a_design(counter: Path, tmp_path: Path) -> None:
    proof = tmp_path / "proof.gz"
    ask_nine = ["--scenario", counter, "--formula", "G n <= 9", "--initial", "n == 0"]
    assert ask(*ask_nine, "-q").exit_code == 10
    assert ask(*ask_nine, "--set", "LIMIT=9", "--certificate", proof, "-q").exit_code == 0
    assert CliRunner().invoke(main, ["check", str(proof)]).stdout.startswith("proved\n")
    assert ask(*ask_nine, "--set", "design.top=counter", "--set", "LIMIT=8'h9", "-q").exit_code == 0
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
        ([], "no scenario is given"),
        (["--scenario", "x.btor2", "--set", "a=1"], "which has no parameters"),
        (["--scenario", "lcd", "--set", "design.top=LCD"], "has no parameter 'design.top'"),
        (["--scenario", "lcd", "--set", "volume=1"], "has no parameter 'volume'"),
        (["--scenario", "fridge"], "'fridge'"),
        (["--scenario", "none.sv"], "cannot read the design 'none.sv'"),
        (["--scenario", "none.sv", "--set", "design.top=a;b"], "no name of a module"),
    ],
)
def test_designs_that_are_not_there(arguments: list[str], message: str) -> None:
    needs("pyosys")
    found = ask(*arguments, "--formula", "G F p")
    assert found.exit_code == 2
    assert message in found.stderr
    assert "Traceback" not in found.stderr


def test_signals_of_formulas_in_files_and_conditions_are_kept(tmp_path: Path) -> None:
    """Yosys drops what nothing needs: every way to ask keeps the signals that are asked of."""
    needs("bitwuzla", "pysat")
    (tmp_path / "timer.sv").write_text(
        DESIGN.replace("output reg ring);", "output reg ring);\n  wire late = cnt > 12;")
    )
    (tmp_path / "one.ltl").write_text("F G !rst -> G F !late\n")
    (tmp_path / "two.ltl").write_text("F G !rst -> G F !late\nG F (late | !late)\n")
    named = ["--scenario", tmp_path / "timer.sv", "--quiet"]
    assert ask(*named, "--formula", f"@{tmp_path / 'one.ltl'}").stdout == "satisfied\n"
    assert ask(*named, "--formulas", tmp_path / "two.ltl").stdout == "satisfied\nsatisfied\n"
    assert ask(*named, "--formula", "G F cnt < 9", "--fair", "!late").stdout in ("satisfied\n", "violated\n")
    for more in (["--fair", "!late"], ["--initial", "!late"]):
        several = ask(*named, "--formula", "F cnt < 9", "--formula", "F cnt < 10", *more)
        assert several.stdout == "satisfied\nsatisfied\n", several.output
    table = tmp_path / "batch.csv"
    table.write_text(f"scenario,formula\n{tmp_path / 'timer.sv'},@{tmp_path / 'one.ltl'}\n")
    assert ask("--batch", table, "--quiet").stdout == "satisfied\n"
