"""Options of single procedures: `--tune` and `tune=`, what they take, and the refusal of those that nothing reads."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result

from venmas import System, verify
from venmas.cli.main import main
from venmas.engine.modes import MODES, modes
from venmas.engine.tuning import check_read, options
from venmas.errors import UsageError
from venmas.procedures.milp.settings import OPTIONS as OF_PROGRAMS
from venmas.procedures.predicate_abstraction.settings import OPTIONS as OF_ABSTRACTION
from venmas.procedures.registry import PROCEDURES, get_procedure

READERS = {
    "adaptive": {"milp"},
    "mono": {"milp"},
    "comp-seq": {"milp"},
    "comp-par": {"milp"},
    "exact": set(),
    "invariant": {"milp", "predicates"},  # k-induction asks bounded questions
    "abstraction": {"predicates"},
}


def counter() -> System:
    system = System("counter")
    x = system.integer("x", 0, 3)
    system.initial(x == 0)
    system.branch("up", x=x)
    return system


def run(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def test_options_are_those_that_procedures_declare() -> None:
    declared = {o.key: o for name in PROCEDURES for o in getattr(get_procedure(name), "options", ())}
    assert options() == declared
    assert {o.key for o in (*OF_PROGRAMS, *OF_ABSTRACTION)} <= set(declared)
    for option in declared.values():
        assert option.values is None or option.default in option.values
        assert option.help and len(option.help) < 400


@pytest.mark.parametrize("mode", READERS)
def test_a_mode_reads_the_options_of_its_procedures_and_refuses_the_others(mode: str) -> None:
    for key, option in options().items():
        given = {key: option.default}
        if option.group in READERS[mode]:
            check_read(given, [MODES[mode]], inductive=False)
        else:
            with pytest.raises(UsageError, match=f"{key} is about .*mode {mode} has none of it: leave it out"):
                check_read(given, [MODES[mode]], inductive=False)


def test_no_predicates_beside_a_set_that_is_to_be_proved() -> None:
    with pytest.raises(UsageError, match=r"predicates.slice is about .*--invariant has none of it"):
        verify(counter(), "AG x == 0", invariant="x == 0", tune={"predicates.slice": "off"})
    assert verify(counter(), "AG x == 0", invariant="x == 0", tune={"milp.bounds": "interval"}).satisfied


@pytest.mark.parametrize(
    ("tune", "message"),
    [
        ({"milp.encodings": "big-m"}, "no procedure has an option 'milp.encodings'"),
        ({"encoding": "big-m"}, "there are predicates.first, .*milp.encoding, milp.bounds"),
        ({7: "big-m"}, "no procedure has an option 7"),
        ({"milp.encoding": "bigm"}, "milp.encoding: expected big-m, indicator; got 'bigm'"),
        ({"milp.isolated": False}, "milp.isolated: expected on, off; got False"),
        ({"predicates.seed": -1}, "predicates.seed: expected a whole number from 0 on; got -1"),
        ({"predicates.seed": "x"}, "predicates.seed: expected a whole number from 0 on; got 'x'"),
        ({"predicates.seed": True}, "predicates.seed: expected a whole number from 0 on; got True"),
        ({"predicates.first": "x <= 1"}, "predicates.first: expected guards, none, a file"),
        ({"predicates.first": 3}, "predicates.first: expected guards, none, a file"),
        ("milp.encoding", "tune is a dictionary"),
    ],
)
def test_what_is_no_option_or_value_is_refused(tune: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        verify(counter(), "AG x == 0", tune=tune)  # type: ignore[arg-type]


def test_lists_of_predicates_are_taken_in_python() -> None:
    report = verify(counter(), "AG x == 0", mode="abstraction", tune={"predicates.first": ["none", "x >= 1"]})
    assert report.satisfied and report.asked is not None
    assert report.asked.tune == {"predicates.first": "none+x >= 1"}


def test_the_command_line_takes_and_refuses_the_same(tmp_path) -> None:  # type: ignore[no-untyped-def]
    scenario = tmp_path / "counter.py"
    scenario.write_text(
        "from venmas.model import System\n"
        "def build(networks):\n"
        "    system = System('counter')\n"
        "    x = system.integer('x', 0, 3)\n"
        "    system.initial(x == 0)\n"
        "    system.branch('up', x=x)\n"
        "    return system\n"
    )
    given = ("verify", "--scenario", str(scenario), "--formula")
    done = run(*given, "AG x == 0", "--json", "-", "--tune", "predicates.refine=ws", "--tune", "milp.bounds=interval")
    assert done.exit_code == 0
    told = json.loads(done.stdout)
    assert told["asked"]["tune"] == {"predicates.refine": "ws", "milp.bounds": "interval"}
    for words, message in [
        (("AX x == 0", "--tune", "predicates.refine=ws"), "mode adaptive has none of it"),
        (("AX x == 0", "--formula", "AX x == 1", "--tune", "predicates.refine=ws"), "mode adaptive has none of it"),
        (("AG x == 0", "--tune", "predicates.refine=best"), "predicates.refine: expected shrink"),
        (("AG x == 0", "--tune", "refine=ws"), "no procedure has an option 'refine'"),
        (("AG x == 0", "--tune", "predicates.refine"), "--tune 'predicates.refine': expected NAME=VALUE"),
        (("AG x == 0", "--tune", "predicates.first=missing"), "list of predicates: cannot read 'missing'"),
    ]:
        refused = run(*given, *words)
        assert refused.exit_code == 2 and message in refused.stderr, refused.output
    refused = run(
        "export", "programs", *given[1:], "AX x == 0", "-o", str(tmp_path / "o"), "--tune", "milp.isolated=on"
    )
    assert refused.exit_code == 2 and "they have no milp.isolated" in refused.stderr


def test_help_lists_every_option_with_its_values() -> None:
    shown = run("help", "tune").stdout
    for key, option in options().items():
        assert f"{key}=" in shown and f"[default: {option.default}]" in shown
        assert all(value in shown for value in option.values or ())


def test_all_modes_are_told_what_they_read() -> None:
    assert set(READERS) <= set(modes())
