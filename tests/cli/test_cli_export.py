"""`venmas export` as its users run it, and the graphs as another parser reads them."""

from tests.needs import needs

needs("pydot")

import json
import re
from fractions import Fraction
from pathlib import Path

import pydot
import pytest
from click.testing import CliRunner, Result

from venmas.cli.dot import formula_dot, witness_dot
from venmas.cli.main import main
from venmas.logic import AX, And, nnf, parse
from venmas.model import System, explain
from venmas.model.show import quoted

VCAS = ["--scenario", "vcas", "--set", "h_min=-140", "--set", "h_max=-90"]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["export", *arguments])


def unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], text)


def graph(text: str) -> tuple[dict[str, str], list[tuple[str, str, str]]]:
    """Labels by node and arrows with their labels; the backslash escapes of labels undone."""
    (found,) = pydot.graph_from_dot_data(text)

    def label(item: pydot.Common) -> str:
        given = item.get_label()
        return "" if given is None else unescaped(given[1:-1])

    nodes = {n.get_name(): label(n) for n in found.get_nodes() if n.get_name() != "node"}
    return nodes, [(e.get_source(), e.get_destination(), label(e)) for e in found.get_edges()]


def test_programs_of_a_bundled_scenario(tmp_path: Path) -> None:
    done = run("programs", *VCAS, "--formula", "AX safe", "-o", str(tmp_path / "out"))
    assert done.exit_code == 0, done.output
    assert "3 programs and manifest.json in" in done.stdout and "bounds discarded 0 cases" in done.stdout
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["parameters"]["h_min"] == "-140" and manifest["origin"]["scenario"] == "vcas"
    assert [entry["path"] for entry in manifest["programs"]] == [["a1"], ["a2"], ["a3"]]
    assert manifest["programs"][1]["files"] == {"lp": "program-000001.lp", "mps": "program-000001.mps"}
    again = run("programs", *VCAS, "--formula", "AX safe", "-o", str(tmp_path / "out"))
    assert again.exit_code == 2 and "is not empty: name a new one" in again.stderr


def test_a_limit_is_told(tmp_path: Path) -> None:
    done = run(
        "programs", *VCAS, "--formula", "AX safe", "--limit", "2", "--format", "mps", "-o", str(tmp_path / "out")
    )
    assert done.exit_code == 0 and "There are more programs: --limit 2 ended the export." in done.stdout
    assert sorted(p.suffix for p in (tmp_path / "out").iterdir()) == [".json", ".mps", ".mps"]


def test_no_program_is_told(tmp_path: Path) -> None:
    done = run("programs", "--scenario", "vcas", "--formula", "AX safe", "-o", str(tmp_path / "out"))
    assert done.exit_code == 0 and "Bounds alone refute every way to violate the formula" in done.stdout


def test_formula_of_a_scenario(tmp_path: Path) -> None:
    arguments = ["formula", "--scenario", "vcas", "--formula", "A(safe U^3 h > 200) -> AG^2 !(climb < 0)"]
    nodes, arrows = graph(run(*arguments).stdout)
    assert nodes["n0"] == "implies" and sorted(nodes.values()) == sorted(
        ["implies", "AU[0,3]", "or", "h > 100", "h < -100", "h > 200", "AG[1,2]", "not", "climb < 0"]
    )
    assert len(arrows) == 8 and {label for _, _, label in arrows} == {"", "left", "right"}
    assert run(*arguments, "-o", str(tmp_path / "f.dot")).exit_code == 0
    assert graph((tmp_path / "f.dot").read_text()) == (nodes, arrows)
    negated, _ = graph(run(*arguments, "--negated").stdout)
    assert set(negated.values()) <= {"and", "or", "AX", "EX", "h > 100", "h < -100", "h > 200", "h <= 200",
                                     "climb < 0", "true", "false"}  # fmt: skip


def test_shared_subformulas_are_drawn_once() -> None:
    system = twins()
    core = nnf(parse("AG^30 (x < 3)", system.vocabulary))
    nodes, arrows = graph(formula_dot(core))
    assert len(nodes) < 100 and isinstance(core, AX | And)
    assert all(source in nodes and target in nodes for source, target, _ in arrows)


def twins() -> System:
    system = System('a "quoted" \\ name')
    x = system.real("x", -9, 9, unit="m")
    system.agent(2 * x, name="push", unit="N")
    system.branch('up "fast"', x=x + 1)
    system.branch("down\\n", x=x - 1, when=x > 0)
    system.initial(x == 0)
    return system


def test_a_tree_of_runs_with_names_that_need_care() -> None:
    """`EX AX (x > 1)` fails: after every first step there is a second one to 1 or below."""
    system = twins()
    core = nnf(parse("EX AX (x > 1)", system.vocabulary), negate=True)
    witness = explain(system, core, {"x": Fraction(0)})
    assert witness is not None
    text = witness_dot(system, witness)
    nodes, arrows = graph(text)
    assert len(nodes) == len(witness.nodes) and nodes["s0"].startswith("x (m) = 0")
    drawn = {(int(a[1:]), int(b[1:]), label) for a, b, label in arrows}
    for i, node in enumerate(witness.nodes):
        for branch, child in node.children:
            (label,) = [text for a, b, text in drawn if (a, b) == (i, child)]
            assert label == f"push (N) = {2 * node.point['x']}\n{branch}"
    assert any("x <= 1, by" in label for label in nodes.values())


def test_a_state_without_successor_says_so() -> None:
    system = System("end")
    x = system.integer("x", 0, 3)
    system.branch("go", x=x + 1, when=x < 1)
    system.initial(x == 0)
    witness = explain(system, nnf(parse("EX EX true", system.vocabulary), negate=True), {"x": Fraction(0)})
    assert witness is not None and any(
        "no successor" in label for label in graph(witness_dot(system, witness))[0].values()
    )


@pytest.mark.parametrize("text", ['"', "\\", '\\"', "a\\n", "ü → \x00\x1b[31m", "<b>", "{|}"])
def test_quoted_text_ends_where_it_should(text: str) -> None:
    nodes, _ = graph(f"digraph {{ n0 [label={quoted(text, 'end')}]; }}")
    assert nodes == {"n0": "".join(c if c.isprintable() else " " for c in text) + "\nend"}


def test_witness_of_a_stored_result(tmp_path: Path) -> None:
    stored = tmp_path / "w.json"
    arguments = ["--scenario", "frozenlake", "--formula", "succ2", "-q", "--witness", str(stored)]
    assert CliRunner().invoke(main, ["verify", *arguments]).exit_code == 10
    done = run("witness", str(stored), "-o", str(tmp_path / "w.dot"))
    assert done.exit_code == 0, done.output
    nodes, arrows = graph((tmp_path / "w.dot").read_text())
    assert nodes["s0"] == "cell = 1" and arrows[0][2].startswith("direction = right\n")
    changed = json.loads(stored.read_text())
    changed["formula"] = "AX true"
    stored.write_text(json.dumps(changed))
    refused = run("witness", str(stored))
    assert refused.exit_code == 2 and "the witness does not replay" in refused.stderr
    assert run("witness", str(tmp_path / "none.json")).exit_code == 2


def test_bad_usage(tmp_path: Path) -> None:
    for arguments, message in (
        (["programs", *VCAS, "--formula", "AX safe"], "Missing option '-o'"),
        (["programs", *VCAS, "--formula", "AX saef", "-o", str(tmp_path / "o")], "saef"),
        (["programs", *VCAS, "-o", str(tmp_path / "o")], "no formula is given"),
        (["formula", "--scenario", "vcas", "--formula", "AX safe", "-o", str(tmp_path)], "it is a folder"),
        (["pictures"], "No such command 'pictures'"),
    ):
        done = run(*arguments)
        assert done.exit_code == 2 and message in done.stderr, done.stderr
    assert not list(tmp_path.iterdir())
