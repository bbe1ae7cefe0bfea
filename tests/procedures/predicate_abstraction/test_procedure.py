"""The procedure in the engine: verdicts with what shows them, slices, refusals, options, the command."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tests.procedures.predicate_abstraction.random_systems import is_inductive
from venmas import System, abstract, verify
from venmas.checker.file import check_certificate
from venmas.cli.main import main
from venmas.errors import ModelError, UsageError
from venmas.logic import parse
from venmas.model.expressions.functions import absolute, apply_network, argmax, clip, where
from venmas.nn import relu_network
from venmas.procedures.predicate_abstraction.cegar import Cegar
from venmas.procedures.predicate_abstraction.graph.explore import Explored
from venmas.procedures.predicate_abstraction.procedure import Session
from venmas.procedures.predicate_abstraction.settings import Choices
from venmas.procedures.predicate_abstraction.states.task import Task, _Reader, reading, task_of

SCENARIO = '''"""A cart that a policy moves."""
import numpy as np
from venmas import System
from venmas.model.expressions.functions import apply_network, argmax
from venmas.nn import relu_network


def build(networks):
    s = System("cart")
    x, cost = s.integer("x", 0, 40), s.integer("cost", 0, 30)
    network = relu_network([np.array([[1.0], [-1.0]])], [np.array([-5.5, 5.5])], name="p")
    action = s.agent(argmax(apply_network(network, [x])), labels={0: "down", 1: "up"})
    s.branch("down", x=x - 1, when=(action == 0) & (x >= 1))
    s.branch("up", x=x + 1, cost=cost + 1, when=(action == 1) & (cost <= 29))
    s.initial(x <= 3, cost == 0)
    s.specify("never", "AG x <= 10")
    return s
'''


def cart(limit: float = 5.5, costs: int = 30) -> System:
    """Up below the limit, down above it; going up costs, and stops where all is spent."""
    s = System("cart")
    x, cost = s.integer("x", 0, 40), s.integer("cost", 0, costs)
    network = relu_network([np.array([[1.0], [-1.0]])], [np.array([-limit, limit])], name="p")
    action = s.agent(argmax(apply_network(network, [x])), labels={0: "down", 1: "up"})
    s.branch("down", x=x - 1, when=(action == 0) & (x >= 1))
    s.branch("up", x=x + 1, cost=cost + 1, when=(action == 1) & (cost <= costs - 1))
    s.initial(x <= 3, cost == 0)
    return s


@pytest.mark.parametrize("given", [{}, {"slice": "off"}, {"first": "none", "refine": "verix", "split": "eps"}])
def test_what_the_policy_never_does(given: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "proof.gz"
    report = verify(cart(), "AG x <= 6", mode="abstraction", certificate=path, tune=predicates(given))
    assert report.satisfied and report.basis == "exact" and report.invariant is not None
    assert report.invariant["words"] >= 1
    assert check_certificate(path, cart()).lines > 0


@pytest.mark.parametrize("given", [{}, {"slice": "off"}, {"first": "none", "refine": "ce"}])
def test_what_it_does(given: dict[str, str]) -> None:
    report = verify(cart(), "AG x <= 5", mode="abstraction", tune=predicates(given))
    assert report.violated and report.witness is not None
    assert report.witness.branches is not None and set(report.witness.branches) == {"up"}


def test_a_variable_that_was_sliced_off_is_taken_back() -> None:
    """Without the cost, which two steps use up, x comes to 6."""
    report = verify(cart(costs=2), "AG x <= 5", mode="abstraction")
    assert report.satisfied and report.invariant is not None
    assert not [p for p in report.procedures if "slice" in p.figures]


def test_deadlocks_are_looked_for_besides() -> None:
    spent = verify(cart(costs=2), "AG x <= 5", mode="abstraction")
    assert spent.satisfied and any("a deadlock is reachable" in note and "cost = 2)" in note for note in spent.notes)
    s = System("rest")
    x = s.integer("x", 0, 9)
    s.branch("stay", when=x <= 4)
    s.initial(x == 0)
    assert verify(s, "AG x <= 4", mode="abstraction").notes == []


def test_a_slice_that_does_not_do_may_belong_to_a_system_of_another_form() -> None:
    s = System("sliced")
    x, n = s.integer("x", 0, 9), s.integer("n", 0, 3)
    s.branch("up", {x: x + 1, n: argmax([n, 1])}, when=(n >= 2) & (x <= 8))  # n, which is no sum, blocks it
    s.branch("stay")
    s.initial(x == 0, n == 0)
    report = verify(s, "AG x <= 3", mode="abstraction")
    assert report.verdict == "unknown" and "is none of the whole system: " in report.message
    assert verify(s, "AG x <= 3").satisfied


def test_leaving_the_box_is_an_error_of_the_model() -> None:
    s = System("out")
    x = s.integer("x", 0, 9)
    s.branch("up", x=x + 1)
    s.initial(x == 0)
    with pytest.raises(ModelError, match="x"):
        verify(s, "AG x >= 0", mode="abstraction")


def test_cases_of_updates_are_operators() -> None:
    s = System("fold")
    x, y = s.integer("x", -9, 9), s.integer("y", 0, 9)
    s.branch("turn", x=where(x >= y, y - 3, x + 1), y=where((x >= 5) | (y >= 5), 2, y), when=(x >= -5))
    s.initial(x == 0, y <= 4)
    assert verify(s, "AG (x >= -3 & x <= 4)", mode="abstraction").satisfied
    assert verify(s, "AG x <= 3", mode="abstraction").violated


def test_what_is_not_of_the_form_is_refused_with_the_reason() -> None:
    s = System("real")
    x = s.real("x", 0, 1)
    s.branch("stay", x=x)
    s.initial(x == 0)
    report = verify(s, "AG x <= 1", mode="abstraction")
    assert report.verdict.value == "unknown"
    assert "variable 'x' is real" in report.procedures[0].why


def predicates(given: dict[str, str]) -> dict[str, object]:
    return {f"predicates.{name}": value for name, value in given.items()}


def test_options_are_those_of_the_table() -> None:
    with pytest.raises(UsageError, match=r"no procedure has an option 'predicates.refined'.*are predicates.first"):
        verify(cart(), "AG x <= 6", tune={"predicates.refined": "ws"})
    with pytest.raises(UsageError, match=r"predicates.refine: expected shrink"):
        verify(cart(), "AG x <= 6", tune={"predicates.refine": "best"})
    with pytest.raises(UsageError, match=r"choose predicates.refine verix"):
        verify(cart(), "AG x <= 6", tune={"predicates.split": "eps"})
    with pytest.raises(UsageError, match="mode adaptive has none of it"):
        verify(cart(), "AG^2 x <= 6", tune={"predicates.refine": "ws"})


def test_given_predicates_make_the_graph() -> None:
    graph = abstract(cart(), ["x >= 4", "x >= 6", "x + cost >= 20"], "x >= 7")
    found = graph.to_json()
    assert (found["predicates"], found["starts"]) == (3, 1)
    assert found["unsafe"] == 2  # x >= 6, whatever the sum: nothing was refined
    assert graph.text(0) == "x in 0..3, not cost + x >= 20"


def test_the_command(tmp_path: Path) -> None:
    scenario, predicates = tmp_path / "cart.py", tmp_path / "list.txt"
    scenario.write_text(SCENARIO)
    predicates.write_text("# two thresholds\nx >= 4\nx >= 7\n")
    given = ["--scenario", str(scenario), "--formula", "never"]
    dot, found = tmp_path / "graph.dot", tmp_path / "graph.json"
    told = CliRunner().invoke(
        main, ["abstract", *given, "--predicates", str(predicates), "--dot", str(dot), "--json", str(found)]
    )
    assert told.exit_code == 0, told.output
    assert json.loads(found.read_text())["states"] == 2
    assert dot.read_text().startswith("digraph abstraction {")
    told = CliRunner().invoke(
        main,
        [
            *given,
            "--mode",
            "abstraction",
            "--tune",
            f"predicates.first=none+{predicates}",
            "--tune",
            "predicates.seed=3",
        ],
    )
    assert told.exit_code == 0 and "satisfied" in told.output
    told = CliRunner().invoke(main, ["abstract", *given, "--predicates", str(tmp_path / "missing")])
    assert told.exit_code == 2 and "cannot read" in told.output


def test_the_safe_part_of_a_graph_is_inductive() -> None:
    """From x >= 4 on the cart goes on to 6; below it stands still, where all of its budget is spent."""
    s = System("two starts")
    x, y = s.integer("x", 0, 9), s.integer("y", 0, 1)
    s.branch("go", x=x + 1, when=(y == 1) & (x <= 8))
    s.branch("rest", when=y == 0)
    s.initial(x <= 2)
    graph = abstract(s, ["y >= 1", "x >= 3", "x >= 7"], "x >= 7")
    assert (graph.starts, graph.safe_starts) == (2, 1)
    part = graph.safe_part().formula(s)
    report = verify(s.starting(part), "AG x <= 6", mode="abstraction")
    assert report.satisfied


def test_sums_that_nothing_changes_strengthen() -> None:
    """Loads that are only moved: they are never all above 3 where there are 9 in all."""
    s = System("loads")
    load = [s.integer(f"l{i}", 0, 9) for i in range(3)]
    for i in range(3):
        for j in range(3):
            if i != j:
                s.branch(
                    f"move{i}{j}", {load[i]: load[i] - 1, load[j]: load[j] + 1}, when=(load[i] >= 1) & (load[j] <= 8)
                )
    s.initial(load[0] == 9, load[1] == 0, load[2] == 0)
    bad = parse("l0 >= 4 & l1 >= 4 & l2 >= 4", s.vocabulary)
    loop = Cegar(task_of(s), bad, Choices(strengthen="on"))
    found = loop.iterate()
    assert isinstance(found, Explored)
    assert is_inductive(s, bad, loop.invariant(found))
    report = verify(s, "AG !(l0 >= 4 & l1 >= 4 & l2 >= 4)", mode="abstraction", tune={"predicates.strengthen": "on"})
    assert report.satisfied and report.invariant is not None and report.invariant["iterations"] == 1


def folded(maxima: int) -> System:
    """Eight states, and a branch whose updates are the same sum however its many maxima turn out."""
    s = System("folded")
    x = s.integer("x", 0, 7)
    same = sum((absolute(x - k) - absolute(x - k) for k in range(maxima)), x)
    s.branch("up", x=clip(same + 1, 0, 7))
    s.initial(x == 0)
    return s


def test_branches_are_not_read_where_a_few_states_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[object] = []
    monkeypatch.setattr(_Reader, "operators", lambda *given: read.append(given) or iter(()))
    report = verify(folded(2), "AG x <= 7")
    assert report.satisfied and report.decided_by == "fixpoints" and not read


def test_branches_are_read_a_bit_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others have their turns while it reads, and nothing is read twice."""
    monkeypatch.setattr("venmas.procedures.predicate_abstraction.procedure._READ", 0.0)
    begun, whole, turns = [], reading, []

    def counted(system: System) -> Generator[None, None, Task]:
        begun.append(system)
        return whole(system)

    monkeypatch.setattr("venmas.procedures.predicate_abstraction.procedure.reading", counted)
    monkeypatch.setattr(Session, "_read", lambda s, b, read=Session._read: turns.append(b) or read(s, b))
    report = verify(cart(), "AG x <= 6", mode="abstraction")
    assert report.satisfied and len(begun) == 1 and len(turns) >= 2


def test_a_limit_that_is_met_while_branches_are_read_is_its_own() -> None:
    report = verify(folded(6), "AG x <= 7", mode="abstraction", timeout=0.4)
    (tried,) = report.procedures
    assert report.reason == "time" and tried.seconds > 0.01 and "not tried" not in tried.why
