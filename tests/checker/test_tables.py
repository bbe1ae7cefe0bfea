"""Tables: written from graphs and accepted, by the plain rules too; changes to them are refused, or still true."""

from __future__ import annotations

from tests.needs import needs

needs("jsonschema")

import gzip
import json
from collections import Counter
from functools import cache
from pathlib import Path
from random import Random

import jsonschema
import pytest

from tests.checker.mutants import another_claim
from tests.checker.proofs import Certified, checked, refusal
from tests.checker.tables import KINDS, another_table, copy, false_row, opened, table_certificates
from tests.checker.test_graph_mutations import _contradicted
from tests.slow import some_slow
from venmas import verify
from venmas.checker.file import check_certificate
from venmas.checker.goals.check import CheckError
from venmas.model import System, apply_network, load_scenario, where
from venmas.nn import relu_network
from venmas.procedures.bound_propagation.procedure import BOUND_PROPAGATION

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/certificate.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
STORED = Path(__file__).with_name("stored") / "tables.gz"


def test_tables_are_accepted_and_fit_the_schema_and_the_plain_rules():
    found, rules, tables = table_certificates(), Counter[str](), 0
    for name, certified in found.items():
        assert refusal(certified) is None, name
        for line in certified.lines:
            VALIDATOR.validate(line)
            rules[line["rule"]] += 1
        for number, table in opened(certified) if name != "vcas: AX^5 safe" else ():  # it takes long
            assert table.accepted(), (name, number)
            tables += 1
    assert len(found) >= 20 and tables >= 50
    assert rules.keys() >= {"frame", "table", "listed", "lemma", "region", "split", "end"}  # some need lemmas besides
    assert {c.inside for c in found.values()} == {False, True}
    lines = [line for c in found.values() for line in c.lines if line["rule"] == "table"]
    assert any(covers for line in lines for _, _, covers in line["ahead"])
    assert any(len(level) > 1 and any(level) for line in lines for level in line["splits"])
    assert any(len(choices) > 1 for line in lines for _, choices in line["kinds"])
    assert any(bits & (bits - 1) for line in lines for _, choices in line["kinds"] for _, bits in choices)


def test_lemmas_stand_beside_tables_which_name_them():
    lines = table_certificates()["AX^2 y <= 2"].lines
    lemmas = {n for n, line in enumerate(lines, 1) if line["rule"] == "lemma"}
    tables = [line for line in lines if line["rule"] == "table"]
    assert lemmas and any(lemmas & set(line["to"]) and any(a[2] for a in line["ahead"]) for line in tables)
    assert any(line["rule"] == "listed" for line in lines)


def test_the_default_mode_writes_tables(tmp_path, monkeypatch):
    monkeypatch.setattr(type(BOUND_PROPAGATION), "accepts", lambda *_: "not now")
    system, path = load_scenario("vcas").system(climb0="-22.5"), tmp_path / "c.gz"
    report = verify(system, "AX^5 safe", certificate=path)
    assert report.certificate is not None and report.basis == "exact"
    rules = Counter(json.loads(line).get("rule") for line in gzip.decompress(path.read_bytes()).splitlines())
    assert rules == {None: 1, "frame": 6, "table": 6, "region": 1, "listed": 1, "end": 1}
    assert check_certificate(path, system).lines == report.certificate.lines - 1


def test_a_stored_table_is_accepted():
    """Its lines are those of the version that had tables first."""
    system = load_scenario("vcas").system(climb0="-22.5")
    assert check_certificate(STORED, system).lines == len(gzip.decompress(STORED.read_bytes()).splitlines()) - 1
    with pytest.raises(CheckError, match="another system"):
        check_certificate(STORED, load_scenario("vcas").system(climb0="-19.5"))


# -- refused, by what is wrong -----------------------------------------------------------------------------------------


@pytest.fixture
def halved() -> Certified:
    """From [0, 4] no step leads beyond 3: a table of the next state, and one of this with two cells."""
    from venmas.logic import parse

    system = System("halved")
    m, x = system.integer("m", 0, 1), system.real("x", 0, 4)
    system.branch("half", x=x / 2, m=where(x >= 2, 1 - m, m))
    system.initial(m == 0)
    common = {"rule": "table", "frame": 0}
    after = {
        "formulas": [1], "integers": [[0], [1]], "where": [0, 1], "says": [1, 1], "low": [[0, 0]], "side": [[12, 12]],
        "splits": [[0, 0]], "kinds": [], "kind": [0, 0], "to": [], "ahead": [],
    }  # fmt: skip
    now = {
        "formulas": [0], "integers": [[0]], "where": [0], "says": [1], "low": [[0]], "side": [[16]],
        "splits": [[1], [0, 0]], "kinds": [[0, [[0, 3]]], [0, [[0, 2]]]], "kind": [1, 2], "to": [2],
        "ahead": [[1, [[[0], [1]], [[1]]], []]],
    }  # fmt: skip
    lines = (
        {"rule": "frame", "matrix": [["1/4"]]},
        common | after,
        common | now,
        {"rule": "region", "index": 0},
        {"rule": "listed", "table": 3, "row": 0},
        {"rule": "end", "lines": 6},
    )
    certified = Certified(system, parse("AX x <= 3", system.vocabulary), False, lines)
    for line in lines:
        VALIDATOR.validate(line)
    assert refusal(certified) is None
    return certified


def _with(certified: Certified, number: int, **entries: object) -> Certified:
    lines = [copy(line) for line in certified.lines]
    lines[number - 1] = lines[number - 1] | entries
    return certified.but(lines=tuple(lines))


WRONG = [
    (2, {"side": [[12, 13]]}, "row 1 says"),  # x up to 3.25
    (2, {"side": [[12, -1]]}, "empty"),
    (2, {"low": [[2**50, 0]]}, "too large"),
    (2, {"low": [[2**50 + 1, 0]]}, "table: expected a list of whole numbers from -2\\^50 to 2\\^50 as low"),
    (2, {"low": [[0.0, 0]]}, "table: expected a list of whole numbers from -2\\^50 to 2\\^50 as low"),
    (2, {"low": [[True, 0]]}, "table: expected a list of whole numbers from -2\\^50 to 2\\^50 as low"),
    (2, {"low": [[0]]}, "no table"),
    (2, {"says": [1, 2]}, "no table"),
    (2, {"says": [1, 0]}, "row 0 says"),  # of the next line: its target says nothing
    (2, {"where": [0, 2]}, "no table"),
    (2, {"formulas": [2]}, "expected a whole number"),
    (2, {"formulas": [0]}, "row 0 says"),  # nothing is looked ahead to
    (2, {"integers": [[0], [1, 1]]}, "no table"),
    (2, {"splits": [[0]]}, "splits do not fit"),
    (2, {"splits": [[0, 2]]}, "no table"),
    (2, {"splits": [[0, 1], [0]]}, "splits do not fit"),
    (2, {"splits": [[0, 1]]}, "splits do not fit"),
    (2, {"kind": [0]}, "splits do not fit"),
    (2, {"kind": [0, 1]}, "no table"),
    (3, {"kinds": [[0, [[0, 2]]], [0, [[0, 2]]]]}, "outcome"),  # x < 2 is possible in the lower cell
    (3, {"kinds": [[0, []], [0, [[0, 2]]]]}, "not settled"),
    (3, {"kinds": [[0, [[0, 3], [0, 3]]], [0, [[0, 2]]]]}, "no table"),
    (3, {"kinds": [[0, [[1, 3]]], [0, [[0, 2]]]]}, "expected a whole number"),
    (3, {"kinds": [[0, [[0, 0]]], [0, [[0, 2]]]]}, "table: expected a whole number from 1 to 2\\^62 - 1 as kinds"),
    (3, {"kinds": [[1, [[0, 3]]], [0, [[0, 2]]]]}, "expected a whole number"),
    (3, {"kind": [1, 0]}, "2 moves of 1 cells|1 moves of 0 cells"),
    (3, {"kind": [1, 1]}, "moves of 2 cells"),
    (3, {"ahead": []}, "row 0 says"),
    (3, {"ahead": [[1, [[[0], [-1]], [[1]]], []]]}, "row 0 says"),
    (3, {"ahead": [[1, [[[0], [0]], [[1]]], []]]}, "row 0 says"),  # its integers are others
    (3, {"ahead": [[1, [[[0], [2]], [[1]]], []]]}, "does not exist"),
    (3, {"ahead": [[1, [[[0], [-2]], [[1]]], []]]}, "does not exist"),
    (3, {"ahead": [[1, [[[0]], [[1]]], []]]}, "moves of 1 cells"),
    (3, {"ahead": [[1, [[[0], [1]]], []]]}, "a formula is looked ahead for twice, or not for all kinds"),
    (3, {"ahead": [[1, [[[0], [1]], [[1]]], []]] * 2}, "a formula is looked ahead for twice, or not for all kinds"),
    (3, {"ahead": [[0, [[[0], [1]], [[1]]], []]]}, "row 0 says"),
    (3, {"to": []}, "row 0 says"),
    (3, {"to": [3]}, "no table"),
    (3, {"to": [1]}, "no table"),
    (3, {"frame": 1}, "expected a whole number"),
    (3, {"more": 1}, "table: expected the entries frame, formulas, integers"),
    (5, {"row": 1}, "expected a whole number"),
    (5, {"table": 1}, "line 1 is no table or lemma that was proved before"),
    (5, {"table": 2}, "does not hold the state, or says less"),
]  # fmt: skip


@pytest.mark.parametrize(("number", "entries", "told"), WRONG)
def test_what_does_not_follow_is_refused(halved, number, entries, told):
    with pytest.raises(CheckError, match=told):
        checked(_with(halved, number, **entries))


def test_a_cover_of_several_rows(halved):
    """The image [0, 8] of the lower cell lies in two rows together."""
    rows = {"where": [0, 0, 1], "says": [1, 1, 1], "low": [[0, 3, 0]], "side": [[3, 9, 12]], "splits": [[0, 0, 0]]}
    apart = _with(halved, 2, **rows, kind=[0, 0, 0])
    ahead = [1, [[[-2], [2]], [[2]]], [[0, 1]]]
    assert refusal(_with(apart, 3, ahead=[ahead])) is None
    for covers in ([[0]], [[1]], [[0, 2]], [[]], [[0, 7]]):
        assert refusal(_with(apart, 3, ahead=[[1, ahead[1], covers]])) is not None


def test_the_box_is_not_left_unless_the_claim_says_so(halved):
    system = System("halved")
    m, x = system.integer("m", 0, 1), system.real("x", 1, 4)
    system.branch("half", x=x / 2, m=where(x >= 2, 1 - m, m))
    system.initial(m == 0)
    with pytest.raises(CheckError, match="may leave its range"):
        checked(halved.but(system=system))


def test_tables_are_not_about_float32(halved):
    with pytest.raises(CheckError, match="over the reals"):
        checked(halved.but(semantics="float32"))


# -- single changes ----------------------------------------------------------------------------------------------------


@cache
def _short() -> list[Certified]:
    return [c for c in table_certificates().values() if len(str(c.lines)) < 30_000]


def _run(count: int, seed: int) -> Counter[tuple[str, str]]:
    rng, found = Random(seed), Counter[tuple[str, str]]()
    for kind in KINDS * count:
        mutant = None
        while mutant is None:
            mutant = another_table(rng, rng.choice(_short()), kind)
        problem = refusal(mutant)
        if problem is None:
            assert all(table.accepted() for _, table in opened(mutant)), (kind, mutant)
            assert false_row(mutant, rng) is None, (kind, mutant)
        found[kind, "accepted" if problem is None else "refused"] += 1
    return found


@pytest.mark.parametrize("seed", some_slow(range(4), [1]))
def test_single_changes_to_tables(seed):
    found = _run(10, seed)
    shown = "\n".join(f"{n:4} {kind:9} {answer}" for (kind, answer), n in sorted(found.items()))
    print(shown)
    for kind in ("dropped", "target", "outcome", "to", "where", "row", "says"):
        assert found[kind, "refused"] > found[kind, "accepted"], shown


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
def test_many_single_changes_to_tables(seed):
    _run(30, seed)


def test_no_change_to_the_tables_of_a_claim_near_by_proves_a_false_one():
    rng, false, kinds = Random(7), [], Counter[str]()
    for base in _short():
        for _ in range(14):
            changed = another_claim(rng, base)
            if changed is not None and _contradicted(changed[1]):
                kinds[changed[0]] += 1
                false.append(changed[1])
    assert len(false) >= 30 and kinds["threshold"] and kinds["update"], kinds
    for claim in false:
        assert refusal(claim) is not None
        for _ in range(3):
            mutant = claim
            for _ in range(rng.randint(1, 3)):
                mutant = another_table(rng, mutant, rng.choice(KINDS)) or mutant
            assert refusal(mutant) is not None


def test_what_an_obligation_decides_that_the_graph_did_not_follow_is_left_to_rationals(tmp_path):
    """The last step of the graph refutes by what holds there already, not by its successors, which it does not have."""
    system = System("last")
    m = system.integer("m", -1, 2)
    system.proposition("low", apply_network(relu_network([[[2.0]], [[-1.0]]], [[-1.0], [1.0]]), [m])[0] >= 1)
    system.branch("a", m=where(m >= 1, -1, 2))
    system.branch("b", m=where(m > 0, 1, 0))
    system.initial(m == 0)
    text = "(!(!(m == -2) & EF[0,4] m <= 0.5) <-> m < 1) -> (AG[0,3] m < 0 & EX low)"
    report = verify(system, text, certificate=tmp_path / "proof.gz", timeout=60)
    assert report.satisfied and report.certificate is not None
    check_certificate(tmp_path / "proof.gz", system)
