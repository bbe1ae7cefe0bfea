"""Certificates of LTL of systems: what is proved is accepted, lies are not, and bad files are told apart."""

from __future__ import annotations

from tests.needs import needs

needs("jsonschema")

import copy
import gzip
import json
from pathlib import Path
from random import Random

import numpy as np
import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator, ValidationError

from experiments.certificates.runs import Lines, accepts, lies, proved
from tests.checker.proofs import about, claiming
from tests.slow import some_slow
from tests.soundness.ltl_systems import read
from venmas import Report, System, load_scenario, verify
from venmas.checker.file import check_certificate, check_claim, opened
from venmas.checker.format.numbers import CheckError
from venmas.checker.levels import points as points_module
from venmas.checker.levels.check import CheckedRuns
from venmas.checker.levels.claim import read_formula
from venmas.checker.levels.listing import Places
from venmas.checker.levels.points import Points
from venmas.cli.main import main
from venmas.errors import InputError
from venmas.model import argmax, where
from venmas.model.canonical.canonical import system_to_json
from venmas.model.evaluation.regions import is_initial
from venmas.model.evaluation.simulate import Step
from venmas.model.expressions.functions import apply_network
from venmas.nn.network import Layer, Network

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = Draft202012Validator(json.loads((ROOT / "docs" / "certificate.schema.json").read_text()))


def counter(top: int = 9, *, stays: bool = True) -> System:
    system = System("counter")
    n, odd = system.integer("n", 0, top), system.boolean("odd")
    system.initial(n == 0, odd == 0)
    system.branch("up", n=where(n >= top, 0, n + 1), odd=1 - odd)
    if stays:
        system.branch("stay", n=n)
    return system


def lines_of(system: System, text: str, *fair: str, deadlock: str = "error") -> Lines:
    formula, *given = (read(system, one) for one in (text, *fair))
    found = proved(system, formula, given, deadlock)  # type: ignore[arg-type]
    assert found is not None
    for line in found:
        SCHEMA.validate(line)
    return found


def states_of(report: Report) -> int:
    """That all states which are reached are."""
    return next(int(tried.figures["states"]) for tried in report.procedures if tried.name == "explicit-ltl")


def refusal(lines: Lines, system: System) -> str:
    with pytest.raises(CheckError) as error:
        check_claim(*opened(lines), system)
    return str(error.value)


@pytest.mark.parametrize("first", some_slow(range(20_000, 20_060, 20), [0]))
def test_lies_about_random_systems(first: int) -> None:
    """`python -m experiments.certificates.runs` makes many more."""
    rng, found = Random(first), []
    for seed in range(first, first + 20):
        found += list(lies(seed, rng, 4))
    assert not [problem for _, _, problem in found if problem]
    assert any(kind == "forged" for kind, _, _ in found) and any(kind != "forged" for kind, _, _ in found)
    assert sum(taken for _, taken, _ in found) < len(found) / 2


def test_what_is_claimed_of_runs() -> None:
    """Fairness, marks, steps: each is accepted as it is, and not with less."""
    system = counter()
    lines = lines_of(system, "G F n == 9 & G F odd", '"branch up"')
    assert accepts(lines, system) and lines[1]["marks"] >= 1
    assert "accepts every run" in refusal([claiming(lines[0], fair=['! "branch up"']), *lines[1:]], system)
    assert "none of the formula" in refusal([claiming(lines[0], fair=None), *lines[1:]], system)
    quick = counter(stays=False)
    lines = lines_of(quick, "F n == 7")
    assert lines[0]["claim"]["within"] == 7 and accepts(lines, quick)
    assert "more than the steps claimed" in refusal([claiming(lines[0], within=6), *lines[1:]], quick)
    lines = lines_of(quick, "G F n == 7")
    assert "must not rise" in refusal(
        [claiming(lines[0], within=40), *lines[1:]], quick
    )  # levels fall on some steps only


def test_each_level_matters() -> None:
    """Of one proof every single change of a level, but those that are as good, is refused."""
    system = counter(4, stays=False)
    lines = lines_of(system, "F n == 3")
    levels, taken = lines[2]["levels"], 0
    for row in range(len(levels)):
        for at, level in enumerate(levels[row]):
            for other in {-1, 0, 1, 2, 3, 4} - {level}:
                changed = copy.deepcopy(lines)
                changed[2]["levels"][row][at] = other
                taken += accepts(changed, system)
                # a pair that no run meets may have any level that leads down; levels of the others are tight
                assert level < 0 or not accepts(changed, system)
    assert taken > 0


def test_states_are_all_there() -> None:
    """An initial state, or one that is stepped to, is missing; or one has no successor."""
    system = counter(4, stays=False)
    lines = lines_of(system, "G n <= 4")
    for at in range(len(lines[2]["steps"])):
        changed = copy.deepcopy(lines)
        gone = changed[2]["steps"].pop(at)
        if at < len(changed[2]["steps"]):
            changed[2]["steps"][at] += gone
        for row in changed[2]["levels"]:
            row.pop(at)
        assert ("is initial" if at == 0 else "not listed") in refusal(changed, system)
    ending = System("ending")
    n = ending.integer("n", 0, 3)
    ending.initial(n == 0)
    ending.branch("up", when=n <= 2, n=n + 1)
    lines = lines_of(ending, "F n == 3", deadlock="stutter")
    assert accepts(lines, ending)
    assert "has no successor" in refusal([claiming(lines[0], deadlock=None), *lines[1:]], ending)


def test_agents_and_blocks(tmp_path: Path) -> None:
    """FrozenLake where a pattern of winds comes again and again, and Blocksworld."""
    ice, path = load_scenario("frozenlake").system(), tmp_path / "proof.gz"
    winds = ["ahead", "slip left", "ahead", "ahead", "ahead", "slip left", "ahead", "ahead"]
    pattern = f'"branch {winds[-1]}"'
    for wind in winds[-2::-1]:
        pattern = f'"branch {wind}" & X ({pattern})'
    report = verify(ice, "F goal", fair=[pattern], certificate=path)
    assert report.satisfied and report.certificate is not None and report.proof is not None
    done = check_certificate(path, ice)
    assert isinstance(done, CheckedRuns) and done.states == states_of(report) and done.pairs == report.proof["states"]
    blocks = load_scenario("blocks").system(policy="ignoring", bound=2)
    report = verify(blocks, "G !unsafe_safe", deadlock="stutter", certificate=path)
    done = check_certificate(path, blocks)
    assert isinstance(done, CheckedRuns) and done.states == states_of(report) > 1000
    with pytest.raises(CheckError, match="another system"):
        check_certificate(path, ice)


def test_the_claim_must_fit_the_checkers_automata(tmp_path: Path) -> None:
    """Where the checker could not follow, nothing is written, and that is said."""
    system = counter()
    pattern = '"branch up"'
    for _ in range(9):
        pattern = f'"branch up" & X ({pattern})'
    report = verify(system, "G F n == 9 & G F odd & F n == 1", fair=[pattern], certificate=tmp_path / "p")
    assert report.satisfied and "not certified" in report.notes[-1] and not (tmp_path / "p").exists()


def test_steps_are_those_of_the_simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    """Networks, ties, fractions and guards: every step of every state, and all initial states."""
    asked: list[object] = []
    monkeypatch.setattr(points_module, "Step", lambda *about: asked.append(about) or Step(*about))
    weights = np.array([[1.0, -2.0], [-1.0, 2.0], [0.5, 0.25]])
    network = Network([Layer(weights, np.array([0.0, 0.0, -0.125]), "relu"), Layer(np.eye(3), np.zeros(3))])
    system = System("steps")
    x, y = system.integer("x", -3, 4), system.integer("y", -2, 5)
    near = Network([Layer(np.array([[0.1, 0.2], [0.3, 0.0]]), np.zeros(2))])  # 0.1 + 0.2 is not 0.3
    choice, tie = argmax(apply_network(network, [x, y])), argmax(apply_network(near, [x, y]))
    system.initial(x + y <= 1, x - 2 * y >= -3)
    system.branch("move", when=x + y <= 4, x=where(choice == 0, -x, where(choice == 1, x, 0)), y=y)
    system.branch("third", when=2 * x - y >= 1, y=where(x >= 3, y, tie))
    points = Points(system)
    states = np.array([[a, b] for a in range(-3, 4) for b in range(-2, 6)], np.int64)
    found = {}
    for b, rows, news in points.steps(states):
        found.update({(b, int(row)): tuple(new) for row, new in zip(rows, news.tolist(), strict=True)})
    for row, state in enumerate(states):
        step = Step(system, points.named(state))
        for b in range(2):
            taken = step.successor(b)
            assert found.get((b, row)) == (None if taken is None else tuple(int(v) for v in taken.state.values()))
    assert 0 < len(asked) < len(states) / 2
    whole = [(a, b) for a in range(-3, 5) for b in range(-2, 6)]
    wanted = {one for one in whole if is_initial(system, points.named(np.array(one)))}
    assert {tuple(one) for block in points.initial() for one in block.tolist()} == wanted


def test_places_beyond_64_bits() -> None:
    system = System("wide")
    names = [system.integer(f"v{i}", -(2**40), 2**40) for i in range(3)]
    n = system.integer("n", 0, 2)
    system.initial(*(v == 2**40 for v in names), n == 0)
    system.branch("up", n=where(n >= 2, 0, n + 1), v0=-names[0])
    lines = lines_of(system, "G F n == 1")
    assert accepts(lines, system) and max(lines[2]["steps"]) > 2**64
    places = Places(Points(system).ranges)
    states = np.array([[2**40, -(2**40), 7, 2], [-(2**40), 0, 1, 0]], np.int64)
    assert (places.states(places.of(states)) == states).all()


def test_the_checkers_reading_of_formulas() -> None:
    system = counter()
    for text in ('G F "branch up" & odd', "n >= 3 U !odd", 'F (n == 2 & X "branch stay")'):
        assert read_formula(system, text) is read(system, text)


@pytest.mark.parametrize(
    ("line", "entries"),
    [
        (0, {"fair": "n == 0"}),
        (0, {"deadlock": "never"}),
        (0, {"within": -1}),
        (0, {"within": True}),
        (0, {"inside": False}),
        (0, {"semantics": "float32"}),
        (0, {"formula": "F ("}),
        (0, {"formula": "A G n == 0"}),
        (1, {"states": 0}),
        (1, {"atoms": ["m"]}),
        (1, {"marks": 100, "edges": [[0, 0, 0, 0, 2**99]]}),
        (1, {"marks": -1}),
        (2, {"steps": [], "levels": [[], []]}),
        (1, {"edges": [[0, 1, 2, 0, 0]]}),
        (2, {"steps": [0]}),
        (2, {"steps": [1, 2**80]}),
        (2, {"steps": "1"}),
        (2, {"levels": []}),
        (2, {"levels": [[0], [0, 1]]}),
        (2, {"levels": [[-2], [0]]}),
        (2, {"levels": [[2**31], [0]], "steps": [1]}),
        (2, {"rule": "state"}),
        (2, {"more": 1}),
        (3, {"lines": 4}),
        (3, {"lines": True}),
    ],
)
def test_broken_certificates(line: int, entries: dict[str, object]) -> None:
    system = counter(stays=False)
    lines = lines_of(system, "G F n == 7")
    lines[line] = {**lines[line], **entries} if line else claiming(lines[0], **entries)
    assert not accepts(lines, system)
    for cut in (lines[:2], lines[:-1], [*lines, lines[-1]]):
        assert not accepts(cut, system)


def test_the_schema_refuses_other_entries() -> None:
    for line in lines_of(counter(), "G F n == 9", '"branch up"'):
        with pytest.raises(ValidationError):
            SCHEMA.validate({**line, "more": 1})


def test_what_has_no_certificate(tmp_path: Path) -> None:
    real = System("real")
    x = real.real("x", 0, 1)
    real.initial(x == 0)
    real.branch("stay", x=x)
    with pytest.raises(InputError, match="systems of integers"):
        Points(real)
    report = verify(counter(), "G F n == 9", certificate=tmp_path / "p.gz")
    assert report.violated and report.certificate is None and not (tmp_path / "p.gz").exists()
    full = Path("/dev/full")  # every write to it fails
    if full.exists():
        report = verify(counter(), "G n <= 9", certificate=full)
        assert report.satisfied and report.certificate is None and "not stored" in str(report.unwritten)


def test_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "proof.gz"

    def run(*arguments: str) -> tuple[int, str, str]:
        found = CliRunner().invoke(main, list(arguments))
        assert "Traceback" not in found.stderr
        return found.exit_code, found.stdout, found.stderr

    about = ["verify", "--scenario", "frozenlake", "--certificate", str(path)]
    status, out, _ = run(*about, "--formula", "G safe", "--fair", '"branch ahead"')
    assert status == 0 and "proof.gz, 4 lines" in out
    status, out, _ = run("check", str(path))
    assert status == 0 and out.startswith("proved") and "again and again" in out and "7 states" in out
    lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    for line in lines:
        SCHEMA.validate(line)
    lines[2]["steps"][0] += 1
    path.write_bytes(gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode()))
    status, _, err = run("check", str(path))
    assert status == 30 and "refused at line" in err
    assert "no proof to write" in run(*about, "--formula", "F goal")[2]
    assert "no certificate about one" in run("check", str(path), "--btor2", str(ROOT / "README.md"))[2]


def far(top: int = 10**9, *, stays: bool = False) -> System:
    """A counter of too many states to be listed, that begins again."""
    system = System("far")
    n = system.integer("n", 0, top)
    system.initial(n == 0)
    system.branch("up", n=where(n >= top, 0, n + 1))
    if stays:
        system.branch("stay", n=n)
    return system


def plane(size: int = 10**6) -> System:
    system = System("plane")
    x, y = system.integer("x", 0, size), system.integer("y", 0, size)
    system.initial(x == 0, y == 0)
    system.branch("right", when=x < size, x=x + 1)
    system.branch("down", when=y < size, y=y + 1)
    system.branch("rest", when=x + y >= 2 * size, x=x)
    return system


def test_ranks_where_states_are_too_many(tmp_path: Path) -> None:
    """V = -n + .. [n >= 7] and V = -x - y: each proof is of any state, small, and bounds all steps where it can."""
    path = tmp_path / "proof.gz"
    questions: list[tuple[System, str, tuple[str, ...], int | None]] = [
        (far(), "G F n == 7", (), None),
        (far(stays=True), "G F n == 7", ('"branch up"',), None),
        (plane(), "F (x == 1000000 & y == 1000000)", (), 2_000_001),
        (plane(), "G F x == 1000000 & G F y == 1000000", (), None),
    ]
    for system, text, fair, within in questions:
        report = verify(system, text, fair=fair, certificate=path)
        assert report.satisfied and report.proof is not None and report.proof["by"] == "ranks"
        assert report.proof["within"] == within and report.certificate is not None
        done = check_certificate(path, system)
        assert isinstance(done, CheckedRuns) and done.questions >= 3 and done.within == within
        lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
        for line in lines:
            SCHEMA.validate(line)
        assert accepts(lines, system)
        if within is not None:
            assert "bounds runs by" in refusal([claiming(lines[0], within=within - 1), *lines[1:]], system)
    assert report.proof is not None and report.proof["texts"] == ["V1 = - x - y", "V2 = - x - y"]


def test_lies_about_ranks() -> None:
    """Each weight, constant of a predicate, edge and proof of a rank matters; a false claim is never accepted."""
    system, taken = far(stays=True), 0
    report_lines = lines_of(system, "G F n == 7", '"branch up"')
    rank = report_lines[2]
    assert rank["rule"] == "linear-rank"
    for kind in ("weights", "predicates"):
        for row in range(len(rank[kind])):
            for at in range(0, len(rank[kind][row]), 1 + (kind == "weights")):
                for change in (-1, -2 * rank[kind][row][at]):
                    lines = copy.deepcopy(report_lines)
                    lines[2][kind][row][at] += change
                    taken += change != 0 and accepts(lines, system)
    assert taken < 10  # constants that all steps share, say
    for claim in ({"fair": ['"branch stay"']}, {"formula": "G F n == 8"}, {"formula": "F G n == 7"}, {"within": 9}):
        assert not accepts([claiming(report_lines[0], **claim), *report_lines[1:]], system)
    for entries in ({"strict": []}, {"edges": []}, {"edges": [0, 0]}, {"weights": [[0]]}, {"predicates": [[1]]}):
        lines = copy.deepcopy(report_lines)
        lines[2].update(entries)
        assert not accepts(lines, system)
    for ranks in ([], [rank, rank], [{"rule": "linear-rank"}], [{**rank, "more": 1}], [{**rank, "rule": "rank"}]):
        lines = [*report_lines[:2], *ranks, *report_lines[3:]]
        lines[-1] = {"rule": "end", "lines": len(lines) - 1}
        assert not accepts(lines, system)
    for at in range(3, len(report_lines), 9):
        assert not accepts([*report_lines[:at], *report_lines[at + 1 :]], system)


def together(first: int = 0, size: int = 10**9) -> System:
    """Two counters that go up and start again together; apart they would leave the box."""
    system = System("together")
    x, y = system.integer("x", 0, size), system.integer("y", 0, size)
    system.initial(x == 0, y == first)
    system.branch("up", x=where(y >= size, 0, x + 1), y=where(y >= size, 0, y + 1))
    system.branch("stay", when=x <= y, x=x)
    return system


@pytest.mark.slow
def test_ranks_under_an_invariant(tmp_path: Path) -> None:
    """Of runs from initial states alone: elsewhere x leaves the box. The set is checked as inductive sets are."""
    path, system = tmp_path / "proof.gz", together()
    report = verify(system, "G F x == 7", fair=['"branch up"'], certificate=path)
    assert report.satisfied and report.proof is not None and report.certificate is not None
    assert report.proof["from"] == "J" and report.proof["texts"][0].startswith("J = ")
    done = check_certificate(path, system)
    assert isinstance(done, CheckedRuns) and done.questions >= 3
    lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    for line in lines:
        SCHEMA.validate(line)
    assert accepts(lines, system)
    for first in (5, 10**9):
        other = together(first)
        assert not accepts([about(lines[0], system=system_to_json(other)), *lines[1:]], other)
    told = lines[2]
    assert told["rule"] == "set" and not accepts([*lines[:2], *lines[3:]], system)
    for kind in ("predicates", "words"):
        for at in range(len(told[kind])):
            for change in (told[kind][:at] + told[kind][at + 1 :], [*told[kind], told[kind][at]], [], 7):
                assert not accepts([*lines[:2], {**told, kind: change}, *lines[3:]], system)
    for word in ("", "1" * 99, "0" * len(told["predicates"]), "-" * len(told["predicates"])):
        assert not accepts([*lines[:2], {**told, "words": [word]}, *lines[3:]], system)
    assert not verify(together(5), "G F x == 7", fair=['"branch up"'], timeout=2).satisfied


def test_false_claims_have_no_rank() -> None:
    """A rank that is right for one system is not for another that differs in one step."""
    good, bad = plane(), plane()
    bad.branch("back", when=bad["x"] >= 7, x=bad["x"] - 1)
    lines = lines_of(good, "F (x == 1000000 & y == 1000000)")
    other = [about(lines[0], system=system_to_json(bad)), *lines[1:]]
    assert accepts(lines, good) and not accepts(other, bad)
    ending = System("ending")
    n = ending.integer("n", 0, 10**9)
    ending.initial(n == 0)
    ending.branch("up", when=n <= 10**9 - 1, n=n + 1)
    lines = lines_of(ending, "F n == 1000000000", deadlock="stutter")
    assert accepts(lines, ending) and not accepts([claiming(lines[0], deadlock=None), *lines[1:]], ending)
    assert verify(ending, "G F n == 7", deadlock="stutter", timeout=1).verdict == "unknown"
