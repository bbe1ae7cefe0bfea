"""LTL for ever of systems of integers: random ones against their lassos, neural agents, refusals, the command line."""

from __future__ import annotations

from tests.needs import needs

needs("jsonschema")

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from tests.slow import some_slow
from tests.soundness.ltl_systems import compare, read
from venmas import Report, System, load_scenario, verify
from venmas.cli.main import main
from venmas.engine.journal import Journal
from venmas.engine.linear import LinearVerification
from venmas.errors import FormulaError, ModelError, UsageError
from venmas.model import where
from venmas.model.witness.lasso import replayed
from venmas.procedures.explicit import product

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = Draft202012Validator(json.loads((ROOT / "docs" / "result.schema.json").read_text()))


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


def ask(system: System, text: str, **options: object) -> Report:
    report = verify(system, text, **options)  # type: ignore[arg-type]
    SCHEMA.validate(report.to_json())
    return report


def within(system: System, text: str, **options: object) -> int | None:
    report = ask(system, text, **options)
    assert report.satisfied and report.proof is not None
    found: int | None = report.proof["within"]
    return found


@pytest.mark.parametrize("first", some_slow(range(10_000, 10_150, 25), [0, 1]))
def test_random_systems(first: int) -> None:
    """`python -m tests.soundness ltl-systems` asks many more."""
    wrong = [verdict for verdict in map(compare, range(first, first + 25)) if verdict.startswith("wrong")]
    assert not wrong


def test_a_report_has_no_truth_value() -> None:
    """Three verdicts: that of a circuit refuses `if report`, and so does that of a system."""
    report = verify(counter(stays=False), "G F n == 3")
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
    assert within(system, "F n == 7") == 7
    assert within(system, "F (n == 2 & X n == 3)") in (2, 3)
    assert within(system, "G F n == 7") is None
    assert within(system, "F n == 0") == 0


def test_states_without_a_successor() -> None:
    system = climbing()
    report = ask(system, "F n == 9")
    assert (report.verdict, report.reason) == ("unknown", "open") and "n = 9" in report.message
    assert within(system, "F n == 9", deadlock="stutter") == 9
    found = ask(system, "G F n == 8", deadlock="stutter").lasso
    assert found is not None and found.branches[found.back :] == ("",) and found.states[-1] == {"n": 9}
    assert ask(system, 'F G ! "branch up"', deadlock="stutter").satisfied
    with pytest.raises(UsageError, match="error, stutter"):
        ask(system, "F n == 9", deadlock="stay")


def test_neural_agents() -> None:
    """FrozenLake and Blocksworld with their bundled policies."""
    ice = load_scenario("frozenlake").system(ROOT / "networks" / "frozenlake_image", map="8x8")
    assert ask(ice, "G safe").satisfied
    lost = ask(ice, "F goal")
    assert lost.violated and dict(lost.procedures[1].figures)["states"] == "22"
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
    assert replayed(system, start, [1], 0, formula) is not None
    assert replayed(system, start, [0], 0, formula) is None  # does not close
    assert replayed(system, start, [0] * 10, 0, formula) is None  # meets 9 again and again
    assert replayed(system, {"n": start["n"] + 1}, [1], 0, formula) is None  # not initial
    assert replayed(system, start, [-1], 0, formula) is None  # it has successors


def test_limits_are_unknowns(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask(counter(), "G F n == 9", timeout=1e-9).reason == "time"
    monkeypatch.setattr(product, "MAX_EDGES", 3)
    report = ask(counter(), "G F n == 9")
    assert (report.verdict, report.reason) == ("unknown", "open")
    assert "too many" in next(tried.why for tried in report.procedures if tried.name == "explicit-ltl")


def test_what_is_refused() -> None:
    out = System("out")
    n = out.integer("n", 0, 3)
    out.initial(n == 0)
    out.branch("up", n=n + 1)
    with pytest.raises(ModelError, match="leaves the declared box"):
        ask(out, "G n == 0")
    with pytest.raises(FormulaError, match="branch left"):
        ask(counter(), '"branch left"')
    with pytest.raises(FormulaError):
        verify(counter(), read(counter(), "F m == 0"))


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
        found = CliRunner().invoke(main, ["verify", "--scenario", str(path), *map(str, arguments)])
        assert "Traceback" not in found.stderr
        return found.exit_code, found.stdout, found.stderr

    status, out, _ = run("--formula", "G F n == 9", "--witness", tmp_path / "run.json")
    assert status == 10 and "step 8 again, for ever; replayed" in out
    SCHEMA.validate(json.loads((tmp_path / "run.json").read_text()))
    assert run("--formula", "G F n == 9", "--fair", '"branch up"', "-q")[:2] == (0, "satisfied\n")
    assert run("--formula", "G n <= 9", "--json", "-")[0] == 0
    assert "leave it out" in run("--formula", "G n <= 9", "--initial", "n == 0")[2]
    assert ".json" in run("--formula", "G n <= 9", "--witness", tmp_path / "run.vcd")[2]
    assert run("--formula", "G m <= 9")[0] == 2
    assert ".py" in run("--formula", "G n <= 9", "--certificate", path)[2]  # the scenario is not written over


@pytest.fixture
def decided(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What was not recalled from a journal."""
    found: list[object] = []
    decide = LinearVerification.decide
    monkeypatch.setattr(LinearVerification, "decide", lambda *about: found.append(about) or decide(*about))
    return found


def test_a_verdict_in_the_journal_is_told_again(tmp_path: Path, decided: list[object]) -> None:
    journal, system = tmp_path / "journal.db", counter()
    questions = [("G F n == 9", ()), ("G F n == 9", ('"branch up"',)), ("F n == 0", ())]
    first = [ask(system, text, fair=fair, journal=journal) for text, fair in questions]
    assert len(decided) == 3
    again = [ask(system, text, fair=fair, journal=journal) for text, fair in questions]
    assert len(decided) == 3 and [one.verdict for one in again] == ["violated", "satisfied", "satisfied"]
    for one, other in zip(first, again, strict=True):
        assert (one.lasso, one.basis) == (other.lasso, other.basis)
        assert not one.notes and "an earlier run" in other.notes[-1]
    assert ask(system, "F n == 0", journal=journal, certificate=tmp_path / "p").certificate and len(decided) == 4
    assert ask(system, "F n == 0", journal=journal, deadlock="stutter").satisfied and len(decided) == 5
    assert ask(counter(stays=False), "G F n == 9", journal=journal).satisfied and len(decided) == 6
    assert ask(system, "G F n == 9", timeout=1e-9, journal=tmp_path / "other.db").reason == "time"
    assert ask(system, "G F n == 9", journal=tmp_path / "other.db").violated  # unknowns are not kept


def test_changed_entries_of_a_journal_are_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, decided: list[object], caplog: pytest.LogCaptureFixture
) -> None:
    """The run is simulated again: another start, branch, end or property makes it none."""
    journal, system = tmp_path / "journal.db", counter()
    found = ask(system, "G F n == 9", journal=journal).lasso
    assert found is not None and len(found.states) > 1
    plain = Journal.get

    def start(stored: Any) -> None:
        stored["lasso"]["steps"][0]["state"]["n"]["exact"] = "1"

    def no_number(stored: Any) -> None:
        stored["lasso"]["steps"][0]["state"]["n"]["exact"] = "one"

    def end(stored: Any) -> None:
        stored["lasso"]["back"] = 0

    def branch(stored: Any) -> None:
        stored["lasso"]["steps"][0]["branch"] = "down"

    def stays(stored: Any) -> None:
        stored["lasso"]["steps"][0]["branch"] = ""

    def none(stored: Any) -> None:
        stored["lasso"] = None

    def verdict(stored: Any) -> None:
        stored["verdict"] = "maybe"

    for number, change in enumerate((start, no_number, end, branch, stays, none, verdict), 2):

        def changed(self: Journal, key: str, change: Callable[[Any], None] = change) -> object:
            stored = copy.deepcopy(plain(self, key))
            change(stored)
            return stored

        monkeypatch.setattr(Journal, "get", changed)
        assert ask(system, "G F n == 9", journal=journal).lasso == found
        assert len(decided) == number, change
    assert "sought anew" in caplog.text
