"""The table of options: every option of every command is in it, and what a path does not read is refused by name."""

import json
from importlib.util import find_spec

import click
import pytest
from click.testing import CliRunner

from venmas.cli.main import COMMANDS, main
from venmas.cli.table import PARTS, TABLE, Command, long_name

SYSTEM = """
from venmas.model import System
def build(networks):
    system = System("counter")
    x = system.integer("x", 0, 3)
    system.initial(x == 0)
    system.branch("up", x=x)
    return system
"""
NETLIST = """1 sort bitvec 1
2 zero 1
3 state 1 x
4 init 1 3 2
5 next 1 3 3
6 bad 3
"""


KIND = {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": 5}
JANI = {
    "jani-version": 1,
    "name": "m",
    "type": "lts",
    "variables": [{"name": "x", "type": KIND, "initial-value": 0}],
    "automata": [{"name": "a", "locations": [{"name": "l"}], "initial-locations": ["l"], "edges": []}],
    "system": {"elements": [{"automaton": "a"}]},
}


def commands():
    for name in COMMANDS:
        command = main.get_command(click.Context(main), name)
        inner = command.commands.values() if isinstance(command, click.Group) else [command]
        yield from inner


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("options")
    (made / "counter.py").write_text(SYSTEM)
    (made / "net.btor2").write_text(NETLIST)
    (made / "m.jani").write_text(json.dumps(JANI))
    (made / "nets").mkdir()
    result = {"verdict": "unknown", "formula": "AX (x > 5)", "witness": None, "scenario": "counter"}
    result["origin"] = {"scenario": str(made / "counter.py"), "networks": None, "digests": {}}
    (made / "r.json").write_text(json.dumps(result))
    words = ["verify", "--formula", "AX(x==0)", "-q", "--scenario", str(made / "counter.py")]
    done = CliRunner().invoke(main, [*words, "--certificate", str(made / "proof.gz")])
    assert done.exit_code == 0, done.output
    words = [
        "verify",
        "--formula",
        "bad0",
        "--scenario",
        str(made / "net.btor2"),
        "--certificate",
        str(made / "ltl.gz"),
    ]
    assert CliRunner().invoke(main, words).exit_code == 0
    return made


def run(folder, words):
    return CliRunner().invoke(main, [word.replace("{d}", str(folder)) for word in words])


def test_every_option_of_every_command_is_in_the_table():
    found = {c.name: {long_name(p) for p in c.params if isinstance(p, click.Option)} for c in commands()}
    assert {name: set(rows) for name, rows in TABLE.items()} == found
    assert {part for rows in TABLE.values() for needs in rows.values() for part in needs} == set(PARTS)
    assert all(isinstance(command, Command) for command in commands())


VALUES = {
    "--trust": "solver",
    "--deadlock": "error",
    "--set": "a=1",
    "--solver": "auto",
    "--btor2": "{d}/net.btor2",
    "--scenario": "{d}/counter.py",
    "--networks": "{d}/nets",
}
VERIFY = ["verify", "--scenario", "{d}/counter.py", "--formula"]
PATHS = {
    "adaptive": ([*VERIFY, "AX (x == 0)"], {"ltl", "netlist"}),
    "exact": ([*VERIFY, "AX (x == 0)", "--mode", "exact"], {"programs", "workers"}),
    "mono": ([*VERIFY, "AX (x == 0)", "--mode", "mono"], {"workers"}),
    "abstraction": ([*VERIFY, "AG x == 0", "--mode", "abstraction"], {"programs", "workers"}),
    "invariant": ([*VERIFY, "AG x == 0", "--invariant", "x == 0"], set()),
    "several": ([*VERIFY, "AX (x == 0)", "--formula", "AX (x == 1)"], {"one formula"}),
    "several exact": ([*VERIFY, "AX (x == 0)", "--least", "2", "--mode", "exact"], {"one formula", "programs"}),
    "ltl scenario": ([*VERIFY, "G x == 0"], {"netlist", "programs", "workers"}),
    "netlist": (["verify", "--formula", "G !x", "--scenario", "{d}/net.btor2"], {"programs", "workers"}),
    "report": (["report", "{d}/r.json"], {"check", "scenario"}),
    "plot": (["plot", "{d}/r.json", "-o", "{d}/p.svg", "--show", "tree"], {"states", "scenario"}),
    "reach": (["reach", "--scenario", "{d}/counter.py", "--steps", "1", "--runs", "0"], {"runs", "picture"}),
    "scenarios": (["scenarios"], {"scenario"}),
    "check": (["check", "{d}/proof.gz"], {"netlist"}),
    "check netlist": (["check", "{d}/ltl.gz"], {"scenario"}),
    "simulate": (["simulate", "--scenario", "{d}/counter.py"], set()),
    "abstract": (["abstract", "--scenario", "{d}/counter.py"], set()),
    "export": (
        ["export", "programs", "--scenario", "{d}/counter.py", "--formula", "AX x == 0", "-o", "{d}/o"],
        set(),
    ),
}


def unread():
    by_name = {command.name: command for command in commands()}
    for path, (words, lacking) in PATHS.items():
        name = words[1] if words[0] == "export" else words[0]
        given = {word.split("=")[0] for word in words}
        for parameter in by_name[name].params:
            option = long_name(parameter)
            if option not in given and lacking & set(TABLE[name].get(option, ())):
                yield pytest.param(words, parameter, id=f"{path} {option}")


@pytest.mark.parametrize(("words", "parameter"), list(unread()))
def test_an_option_that_the_path_does_not_read_is_refused_by_name(folder, words, parameter):
    option = long_name(parameter)
    value = VALUES.get(option, "1" if option != "--json" else "{d}/out.json")
    found = run(folder, [*words, option, *([] if parameter.is_flag else [value])])
    assert found.exit_code == 2, found.output
    assert option in found.output
    assert any(part in found.output for part in (" about ", "several questions")), found.output


READ = {
    "adaptive": [
        *VERIFY,
        "AX (x == 0)",
        "--tune",
        "milp.encoding=big-m",
        "--workers",
        "1",
        "--solver",
        "auto",
        "--trust",
        "auto",
    ],
    "invariant": [*VERIFY, "AG x == 0", "--tune", "predicates.slice=on", "--tune", "milp.bounds=interval"],
    "several": [*VERIFY, "AX (x == 0)", "--formula", "AG x == 0", "--workers", "1"],
    "netlist": [
        *["verify", "--formula", "bad0", "--scenario", "{d}/net.btor2", "--tune", "ranking.from=initial"],
        *["--initial", "!x", "--trust", "two" if find_spec("z3") else "exact"],
    ],
    "scenario": ["verify", "--formula", "G x == 0", "--scenario", "{d}/counter.py", "--deadlock", "stutter"],
    "reach": ["reach", "--scenario", "{d}/counter.py", "--steps", "1", "--seed", "3"],
}


@pytest.mark.parametrize("path", READ)
def test_options_that_are_read_are_taken(folder, path):
    found = run(folder, READ[path])
    assert found.exit_code == 0, found.output


REPEATED = [
    (["verify", "--scenario", "vcas", "--scenario", "blocks", "--formula", "AX true"], "--scenario"),
    (["--scenario", "vcas", "--formula", "AX true", "--mode", "mono", "--mode", "exact"], "--mode"),
    (["verify", "--scenario", "vcas", "--formula", "AX true", "--timeout", "5", "--timeout=500"], "--timeout"),
    (["verify", "--scenario", "a.btor2", "--formula", "G a", "--initial", "a", "--initial", "b"], "--initial"),
    (["abstract", "--scenario", "a.jani", "--formula", "a", "--formula", "b"], "--formula"),
    (["reach", "--scenario", "vcas", "--steps", "1", "--steps", "2"], "--steps"),
    (["vnnlib", "n.onnx", "p.vnnlib", "--timeout", "1", "--timeout", "2"], "--timeout"),
    (["export", "formula", "--scenario", "vcas", "--formula", "a", "--formula", "b"], "--formula"),
    (["report", "r.json", "-o", "a", "--output", "b"], "--output"),
    (["check", "c.gz", "--json", "a", "--json", "b"], "--json"),
]


@pytest.mark.parametrize(("words", "option"), REPEATED)
def test_an_option_of_one_value_that_is_repeated_is_refused(words, option):
    found = CliRunner().invoke(main, words)
    assert found.exit_code == 2
    assert f"{option} is given twice" in found.output


KINDS = [
    (["report", "{d}/r.json", "-o", "{d}/x.pdf"], ".html"),
    ([*VERIFY, "AX (x == 0)", "--json", "{d}/x.csv"], ".json"),
    ([*VERIFY, "AX (x == 0)", "--certificate", "{d}/x.zip"], ".gz"),
    ([*VERIFY, "AX (x == 0)", "--formula", "AX (x == 1)", "--csv", "{d}/x.json"], ".csv"),
    (["export", "ranks", "--formula", "bad0", "--scenario", "{d}/net.btor2", "-o", "{d}/x.json"], ".onnx"),
    (["abstract", "--scenario", "{d}/counter.py", "--dot", "{d}/x.png"], ".dot"),
    (["export", "formula", "--scenario", "{d}/counter.py", "--formula", "AX x == 0", "-o", "{d}/x.svg"], ".dot"),
    (["archive", "{d}/r.json", "-o", "{d}/x.json"], ".zip"),
    ([*VERIFY, "AX (x == 0)", "--witness", "{d}/x.vcd"], ".json"),
]


@pytest.mark.parametrize(("words", "ending"), KINDS)
def test_a_name_that_ends_as_another_kind_of_file_is_refused(folder, words, ending):
    found = run(folder, words)
    assert found.exit_code == 2
    assert f"name one that ends in {ending}" in found.output
    assert not list(folder.glob("x.*"))


OLD = {
    "witness": [*VERIFY, "AX (x == 0)", "--witness", "{d}/old.json"],
    "certificate": [*VERIFY, "AX (x == 1)", "--certificate", "{d}/old.json"],
    "lasso": ["verify", "--formula", "bad0", "--scenario", "{d}/net.btor2", "--witness", "{d}/old.json"],
    "lasso of a scenario": [
        "verify",
        "--formula",
        "G x == 0",
        "--scenario",
        "{d}/counter.py",
        "--witness",
        "{d}/old.json",
    ],
    "ranks": ["verify", "--formula", "G x == 1", "--scenario", "{d}/counter.py", "--certificate", "{d}/old.json"],
    "proof": ["verify", "--formula", "F x", "--scenario", "{d}/net.btor2", "--certificate", "{d}/old.json"],
}


@pytest.mark.parametrize("name", OLD)
def test_a_file_of_another_run_is_not_passed_over(folder, name):
    """The verdict is known; the file would be taken for what it says."""
    old = folder / "old.json"
    old.write_text("{}")
    found = run(folder, OLD[name])
    assert found.exit_code == 2, found.output
    assert f"{old}' is of another run: remove it" in found.output
    assert old.read_text() == "{}"
    old.unlink()
    assert run(folder, OLD[name]).exit_code in (0, 10)
    assert not old.exists()


def test_a_certificate_that_is_not_written_is_an_error(folder, tmp_path, monkeypatch):
    """A limit was met before the levels of all states were known, say."""
    monkeypatch.setattr("venmas.procedures.explicit.linear._levels", lambda *_: None)
    words = [*VERIFY, "G x == 0", "--quiet"]
    assert run(folder, words).exit_code == 0
    found = run(folder, [*words, "--certificate", str(tmp_path / "proof.gz")])
    assert found.exit_code == 2
    assert found.output.startswith("satisfied")
    assert "--certificate: not certified: a limit was met before the levels" in found.output
    assert not (tmp_path / "proof.gz").exists()


def test_networks_that_no_network_is_read_from_are_refused(folder):
    found = run(folder, [*VERIFY, "AX (x == 0)", "--networks", "{d}/nets"])
    assert found.exit_code == 2
    assert "reads no network" in found.output
    found = run(folder, ["scenarios", "{d}/counter.py", "--networks", "{d}/nets"])
    assert found.exit_code == 2
    assert "reads no network" in found.output


@pytest.mark.parametrize("start", ["x", "x & !x", "false"])
def test_a_design_without_an_initial_state_is_refused(folder, start):
    words = ["verify", "--formula", "bad0", "--scenario", "{d}/net.btor2", "--initial"]
    found = run(folder, [*words, start])
    assert found.exit_code == 2
    assert f"no initial state of the design meets {start}" in found.output
    assert run(folder, [*words, "!x"]).exit_code == 0


@pytest.mark.parametrize("given", [["masking=true"], ["policy=none", "masking=true"], ["policy=none", "inputs=x"]])
def test_what_is_about_a_policy_is_refused_without_one(folder, given):
    words = [word for entry in given for word in ("--set", f"jani.{entry}")]
    found = run(folder, ["verify", "--scenario", "{d}/m.jani", "--formula", "AX (x == 0)", *words])
    assert found.exit_code == 2
    assert "masking is about" in found.output or "name it with --set jani.policy=NET" in found.output
