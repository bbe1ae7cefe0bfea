"""LTL for ever of systems of integers: random ones against their lassos, neural agents, refusals, the command line."""

from __future__ import annotations

from tests.needs import needs

needs("jsonschema")

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator
from venmas.engine.ltl_journal import LtlJournal
from venmas.engine.ltl_systems import SystemLtlReport, verify_ltl_of_system
from venmas.procedures.explicit.ltl import condition, decide, read

from tests.soundness.ltl_systems import compare
from venmas import System, load_scenario
from venmas.budget import Budget
from venmas.cli.main import main
from venmas.engine import ltl_systems
from venmas.errors import FormulaError, ModelError, UsageError
from venmas.model import where
from venmas.model.witness.lasso import replayed
from venmas.procedures.explicit import product

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = Draft202012Validator(json.loads((ROOT / "docs" / "ltl-system-result.schema.json").read_text()))


def counter(*, stays: bool = True) -> System:
    system = System("counter")
    n = system.integer("n", 0, 9)
    system.initial(n == 0)
    system.branch("up", n=where(n >= 9, 0, n + 1))
    if stays:
        system.branch("stay", n=n)
    return system


def climbing() -> System:
    """It ends at 9, where it has no successor."""
    system = System("climbing")
    n = system.integer("n", 0, 9)
    system.initial(n == 0)
    system.branch("up", when=n <= 8, n=n + 1)
    return system


def ask(system: System, text: str, **options: object) -> SystemLtlReport:
    report = verify_ltl_of_system(system, text, **options)  # type: ignore[arg-type]
    SCHEMA.validate(report.to_json())
    return report


@pytest.mark.parametrize("first", range(10_000, 10_150, 25))
def test_random_systems(first: int) -> None:
    """`python -m tests.soundness ltl-systems` asks many more."""
    wrong = [verdict for verdict in map(compare, range(first, first + 25)) if verdict.startswith("wrong")]
    assert not wrong


def test_a_report_has_no_truth_value() -> None:
    """Three verdicts: that of a circuit refuses `if report`, and so does that of a system."""
    report = verify_ltl_of_system(counter(stays=False), "G F n == 3")
    assert report.satisfied
    with pytest.raises(UsageError, match="no truth value"):
        bool(report)


def test_fairness_of_a_branch() -> None:
    system = counter()
    assert ask(system, "G F n == 9").violated
    assert ask(system, "G F n == 9", fair=['"branch up"']).satisfied
    assert ask(system, "F G n == 0", fair=['"branch up"', '"branch stay"']).violated
    assert ask(system, 'F "branch stay"').violated and ask(system, 'F ("branch stay" | "branch up")').satisfied


def test_the_steps_within_which_runs_show_it() -> None:
    system = counter(stays=False)
    assert ask(system, "F n == 7").within == 7
    assert ask(system, "F (n == 2 & X n == 3)").within in (2, 3)
    assert ask(system, "G F n == 7").within is None
    assert ask(system, "n == 0").within == 0


def test_states_without_a_successor() -> None:
    system = climbing()
    report = ask(system, "F n == 9")
    assert (report.verdict, report.reason) == ("unknown", "open") and "n = 9" in report.message
    assert ask(system, "F n == 9", deadlock="stutter").within == 9
    found = ask(system, "G F n == 8", deadlock="stutter").lasso
    assert found is not None and found.branches[found.back :] == ("",) and found.states[-1] == {"n": 9}
    assert ask(system, 'F G ! "branch up"', deadlock="stutter").satisfied
    with pytest.raises(UsageError, match="error or stutter"):
        ask(system, "F n == 9", deadlock="stay")


def test_neural_agents() -> None:
    """FrozenLake and Blocksworld with their bundled policies."""
    ice = load_scenario("frozenlake").system(ROOT / "networks" / "frozenlake_image", map="8x8")
    assert ask(ice, "G safe").satisfied
    lost = ask(ice, "F goal")
    assert lost.violated and lost.work.states == 22
    assert ask(ice, "G (goal -> G goal)").satisfied
    assert ask(ice, "F G goal", fair=["goal"]).satisfied
    small = load_scenario("frozenlake").system()
    assert ask(small, "F goal").violated and ask(small, "F goal", fair=['"branch ahead"']).violated
    assert ask(small, "G F (goal | !goal)").satisfied


def test_a_lasso_is_only_told_when_it_replays() -> None:
    """A run that is no run, does not close, or has the property, is none."""
    system = counter()
    formula = read(system, "G F n == 9")
    start = {"n": system.box["n"][0]}
    assert replayed(system, start, [1], 0, formula, condition) is not None
    assert replayed(system, start, [0], 0, formula, condition) is None  # does not close
    assert replayed(system, start, [0] * 10, 0, formula, condition) is None  # meets 9 again and again
    assert replayed(system, {"n": start["n"] + 1}, [1], 0, formula, condition) is None  # not initial
    assert replayed(system, start, [-1], 0, formula, condition) is None  # it has successors


def test_limits_are_unknowns(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask(counter(), "G F n == 9", timeout=1e-9).reason == "time"
    monkeypatch.setattr(product, "MAX_EDGES", 3)
    report = ask(counter(), "G F n == 9")
    assert (report.verdict, report.reason) == ("unknown", "open") and "too many" in report.message


def test_what_is_refused() -> None:
    real = System("real")
    x = real.real("x", 0, 1)
    real.initial(x == 0)
    real.branch("stay", x=x)
    with pytest.raises(UsageError, match=r"variable x is real: ask bounded CTL"):
        ask(real, "G x == 0")
    out = System("out")
    n = out.integer("n", 0, 3)
    out.initial(n == 0)
    out.branch("up", n=n + 1)
    with pytest.raises(ModelError, match="leaves the declared box"):
        ask(out, "G n == 0")
    with pytest.raises(FormulaError, match="branch left"):
        ask(counter(), '"branch left"')
    with pytest.raises(FormulaError):
        decide(counter(), read(counter(), "m == 0"), Budget(1))


FILE = '''"""A counter."""

from venmas.model import System, where


def build(networks):
    system = System("counter")
    n = system.integer("n", 0, 9)
    system.initial(n == 0)
    system.branch("up", n=where(n >= 9, 0, n + 1))
    system.branch("stay", n=n)
    return system
'''


def test_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "counter.py"
    path.write_text(FILE)

    def run(*arguments: object) -> tuple[int, str, str]:
        found = CliRunner().invoke(main, ["ltl", "--scenario", str(path), *map(str, arguments)])
        assert "Traceback" not in found.stderr
        return found.exit_code, found.stdout, found.stderr

    status, out, _ = run("--property", "G F n == 9", "--witness", tmp_path / "run.json")
    assert status == 10 and "step 8 again, for ever; replayed" in out
    SCHEMA.validate(json.loads((tmp_path / "run.json").read_text()))
    assert run("--property", "G F n == 9", "--fair", '"branch up"', "-q")[:2] == (0, "satisfied\n")
    assert run("--property", "G n <= 9", "--json", "-")[0] == 0
    assert "leave it out" in run("--property", "G n <= 9", "--init", "n == 0")[2]
    assert "no question is given" in run("--fair", "n == 0")[2]
    assert ".json" in run("--property", "G n <= 9", "--witness", tmp_path / "run.vcd")[2]
    assert run("--property", "G m <= 9")[0] == 2
    assert ".py" in run("--property", "G n <= 9", "--certificate", path)[2]  # the scenario is not written over


def test_a_verdict_in_the_journal_is_told_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal, system = tmp_path / "journal.db", counter()
    questions = [("G F n == 9", ()), ("G F n == 9", ('"branch up"',)), ("F n == 0", ())]
    first = [ask(system, text, fair=fair, journal=journal) for text, fair in questions]
    decided: list[object] = []
    monkeypatch.setattr(ltl_systems, "decide", lambda *about: decided.append(about) or decide(*about))
    again = [ask(system, text, fair=fair, journal=journal) for text, fair in questions]
    assert not decided and [one.verdict for one in again] == ["violated", "satisfied", "satisfied"]
    for one, other in zip(first, again, strict=True):
        assert (one.within, one.lasso, one.work) == (other.within, other.lasso, other.work)
        assert not one.recalled and "an earlier run" in other.recalled and other.to_json()["notes"] == [other.recalled]
    assert ask(system, "F n == 0", journal=journal, certificate=tmp_path / "p").certificate and len(decided) == 1
    assert ask(system, "F n == 0", journal=journal, deadlock="stutter").satisfied and len(decided) == 2
    assert ask(counter(stays=False), "G F n == 9", journal=journal).satisfied and len(decided) == 3
    assert ask(system, "G F n == 9", timeout=1e-9, journal=tmp_path / "other.db").reason == "time"
    assert ask(system, "G F n == 9", journal=tmp_path / "other.db").violated  # unknowns are not kept


def test_an_odd_entry_of_a_journal_is_not_believed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    journal, system = tmp_path / "journal.db", counter()
    assert ask(system, "G F n == 9", journal=journal).violated
    with LtlJournal(journal, system, read(system, "G F n == 9"), [], "error") as kept:
        stored = kept._store.get(kept._key)
    for odd in ({"back": 99}, {"branches": ["up"]}, {"first": {}}, {"verdict": "maybe"}, {"first": {"n": "7"}}):
        with LtlJournal(journal, system, read(system, "G F n == 9"), [], "error") as kept:
            kept._store.put(kept._key, {**stored, **odd})
            assert kept.recall(False) is None
    assert "sought anew" in caplog.text


def test_the_page(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    about = ["ltl", "--scenario", "frozenlake", "--html", str(path), "-q", "--property"]
    assert CliRunner().invoke(main, [*about, "F goal", "--journal", str(tmp_path / "j")]).exit_code == 10
    page = path.read_text()
    assert "goes on for ever" in page and "(loop)" in page and "replayed in exact numbers" in page
    assert CliRunner().invoke(main, [*about, "G safe", "--certificate", str(tmp_path / "p.gz")]).exit_code == 0
    page = path.read_text()
    assert "7 pairs of a state" in page and "p.gz" in page
    result = ["ltl", "--scenario", "frozenlake", "--property", "F goal", "-q", "--json", str(tmp_path / "r.json")]
    assert CliRunner().invoke(main, result).exit_code == 10
    assert "--html FILE" in CliRunner().invoke(main, ["report", str(tmp_path / "r.json")]).stderr
