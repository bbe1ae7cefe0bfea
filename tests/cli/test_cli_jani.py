"""JANI models on the command line."""

import json
import sys
from html import unescape
from inspect import signature
from pathlib import Path

import pytest
from click.testing import CliRunner

from venmas.cli.main import main
from venmas.formats.jani.load import load_jani
from venmas.formats.jani.settings import READING

sys.path.append(str(Path(__file__).parents[1] / "formats"))
from jani_models import automaton, bounded, edge, model, op, put

from tests.needs import needs


def run(*args):
    return CliRunner().invoke(main, [str(a) for a in args])


def jani(**parameters):
    return tuple(word for name, value in parameters.items() for word in ("--set", f"jani.{name}={value}"))


NET = jani(inputs="hot-water", outputs="heat")


@pytest.fixture
def files(tmp_path):
    step = edge(("hot-water", op("+", "hot-water", 1)), guard=op("<", "hot-water", "most"), action="heat")
    data = model(
        [bounded("hot-water", 0, 9)],
        [automaton("a", [step])],
        ("heat",),
        [(["heat"], "heat")],
        constants=[{"name": "most", "type": "int"}],
    )
    goal = {"op": "objective", "goal": {"op": "state-condition", "exp": op("=", "hot-water", 2)}}
    unsafe = {"op": "state-condition", "exp": op("≥", "hot-water", 3)}
    asked = {"name": "too hot", "expression": {"op": "PA", "reach": unsafe, "objective": goal}}
    other = {"name": "other", "expression": {"op": "filter"}}
    return put(tmp_path, data), put(tmp_path, {"properties": [asked, other]}, "p.jani")


def test_verify_replay_and_what_a_stored_result_may_not_open(files, tmp_path):
    given = ("--scenario", files[0], "--set", f"jani.property={files[1]}")
    formula = ("--formula", "AG^5 !unsafe_too_hot")
    assert run(*given, *formula, "--set", "most=2", "--quiet").stdout == "satisfied\n"
    done = run(*given, *formula, "--set", "most=4", "--witness", tmp_path / "w.json")
    assert done.exit_code == 10 and "hot-water" in done.stdout
    assert run(*given, *formula, "--set", "most=4", "--set", "jani.goal_terminal=true", "--quiet").exit_code == 0
    alone = run("replay", tmp_path / "w.json")
    assert alone.exit_code == 2 and "give it with --scenario" in alone.stderr
    assert run("replay", tmp_path / "w.json", *given).exit_code == 10
    stored = json.loads((tmp_path / "w.json").read_text())
    assert stored["parameters"] == {"most": "4"}
    stored["parameters"]["jani.policy"] = "theirs.jani2nnet"
    (tmp_path / "w.json").write_text(json.dumps(stored))
    opened = run("replay", tmp_path / "w.json", *given)
    assert opened.exit_code == 2 and "says how a model is read (jani.policy): give that with --set" in opened.stderr


def test_the_formula_is_that_of_the_property(files):
    done = run("--scenario", files[0], "--set", f"jani.property={files[1]}", "--set", "most=4")
    assert "no formula is given" not in done.stderr and "AG" in done.stderr + done.stdout


def test_scenarios_tell_what_is_to_be_given_and_what_is_not_read(files):
    told = run("scenarios", files[0], "--set", f"jani.property={files[1]}").stdout
    assert "most" in told and "to be given" in told
    assert "Property 1, too hot: chosen" in told and "Property 2, other: not read: its operator is 'filter'" in told
    assert "known once most have values" in told or "known once most" in told
    told = run("scenarios", files[0], "--set", f"jani.property={files[1]}", "--set", "most=4").stdout
    assert "heat#0" in told and "unsafe_too_hot: hot_water >= 3" in told and "AG !unsafe_too_hot" in told
    assert "Note: no policy acts: every action is free to happen" in told


def test_scenarios_list_what_says_how_a_model_is_read(files):
    told = run("scenarios", files[0]).stdout
    assert "How it is read" in told
    for parameter in READING:
        assert f"jani.{parameter.name}" in told
    assert {p.name for p in READING} | {"path", "constants"} == set(signature(load_jani).parameters)
    assert "How it is read" not in run("scenarios", "vcas").stdout


def test_scenarios_tell_of_a_model_whose_policy_is_not_there(files):
    stored = json.loads(Path(files[1]).read_text())
    stored["properties"][0]["expression"]["file"] = "heater.jani2nnet"
    asked = put(Path(files[1]).parent, stored, "q.jani")
    given = ("scenarios", files[0], "--set", f"jani.property={asked}")
    done = run(*given, "--set", "most=4")
    assert done.exit_code == 0 and "hot_water" in done.stdout and "Property 1, too hot: chosen" in done.stdout
    assert "Its policy cannot be read" in done.stdout and "heater.jani2nnet" in done.stdout
    free = jani(with_initial="true", policy="none")
    for more in (jani(policy="other.jani2nnet"), (*free, "--set", "most=cold")):
        assert run(*given, *more).exit_code == 2
    assert run("--scenario", files[0], "--set", f"jani.property={asked}", "--set", "most=4").exit_code == 2


def test_simulate_takes_a_model(files):
    done = run("simulate", "--scenario", files[0], "--set", "most=4", "--steps", "3")
    assert done.exit_code == 0 and "heat#0" in done.stdout and "hot-water" in done.stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ("--scenario", "vcas", "--set", "jani.property=p.jani", "--formula", "AX true"),
            "'vcas' has no parameter 'jani.property'",
        ),
        (("--networks", "."), "--networks is not about JANI models: name the policy with --set jani.policy=FILE"),
        (("--set", "jani.inputs=x"), "name it with --set jani.policy=NET"),
        (("--set", "jani.policy=n.nnet"), "with --set jani.inputs=A,B and --set jani.outputs=C,D"),
        (
            (*NET, "--set", "jani.policy=n.onnx", "--set", "most=4"),
            "there is no network n.onnx: put the file there, or name another interface or network with "
            "--set jani.policy=FILE",
        ),
        ((*NET, "--set", "jani.policy=n.pth"), "is a pickle"),
        (("--set", "jani.property_name=3"), "there is no single property '3'"),
        ((), "needs a value of 'most', a whole number: --set most=VALUE"),
        (("--set", "most=x"), "expected a whole number, got 'x'"),
        (("--set", "least=1"), "has no parameter 'least'"),
        (("--set", "jani.leave_range=wrap"), "jani.leave_range: expected one of error, block, got 'wrap'"),
        (("--set", "jani.masking=maybe"), "jani.masking: expected true or false, got 'maybe'"),
        (("--set", "jani.policy="), "jani.policy: expected text, got ''"),
        (("--set", "jani.range=block"), "no JANI model has a parameter 'jani.range'"),
        (("--set", "jani.range=block"), "there are jani.property, jani.property_name, jani.policy"),
    ],
)
def test_mistakes_have_a_message(files, args, message):
    given = args if "--scenario" in args else ("--scenario", files[0], *args, "--formula", "AX true")
    done = run(*given)
    assert done.exit_code == 2 and message in " ".join(done.stderr.split())


def test_a_result_and_its_page_tell_which_options_were_given(files, tmp_path):
    needs("jinja2", "matplotlib")
    given = (
        "--scenario",
        files[0],
        "--set",
        f"jani.property={files[1]}",
        "--set",
        "jani.policy=none",
        "--set",
        "jani.goal_terminal=true",
    )
    chosen = (
        "--mode",
        "abstraction",
        "--tune",
        "predicates.first=none",
        "--tune",
        "predicates.refine=ws",
        "--tune",
        "predicates.seed=3",
    )
    stored, page = tmp_path / "r.json", tmp_path / "r.html"
    assert run(*given, *chosen, "--set", "most=2", "--json", stored, "--quiet").exit_code == 0
    options = json.loads(stored.read_text())["asked"]["options"]
    told = {"jani.property": str(files[1]), "jani.policy": "none", "jani.goal_terminal": "true"}
    assert options == told
    tune = json.loads(stored.read_text())["asked"]["tune"]
    assert tune == {"predicates.first": "none", "predicates.refine": "ws", "predicates.seed": "3"}
    run("report", stored, "-o", page, *given[:4], "--set", "jani.policy=none", "--set", "jani.goal_terminal=true")
    command = next(line for line in unescape(page.read_text()).splitlines() if "venmas verify --scenario" in line)
    for name, value in options.items():
        assert f"--set {name}={value}" in command
    for name, value in tune.items():
        assert f"--tune {name}={value}" in command


def test_a_model_with_several_properties_is_described(tmp_path):
    unsafe = {"op": "PA", "reach": {"op": "state-condition", "exp": op("≥", "x", 3)}}
    data = model([bounded("x", 0, 5)], [automaton("a", [edge(("x", "x"))])])
    data["properties"] = [{"name": name, "expression": unsafe} for name in ("p", "q")]
    done = run("scenarios", put(tmp_path, data))
    assert done.exit_code == 0 and "Property 2, q: read" in done.stdout and "jani.property_name" in done.stdout
    assert "x = 0" in done.stdout  # the initial states
    chosen = run("scenarios", put(tmp_path, data), "--set", "jani.property_name=q")
    assert chosen.exit_code == 0 and "No property is chosen" not in chosen.stdout and "unsafe_q" in chosen.stdout


def test_files_of_the_other_kind_are_named(files):
    done = run("--scenario", files[1], "--set", f"jani.property={files[0]}")
    assert done.exit_code == 2 and "this is a property file, and a model is needed" in done.stderr
    done = run("--scenario", files[0], "--set", f"jani.property={files[0]}")
    assert done.exit_code == 2 and "this is a model, and a property file is needed" in done.stderr
