"""Cells: grids, and searches on them alone, against fixpoints over all states of finite twins."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

from tests.checker.test_forever_rules import STATES, Graph, evaluate
from tests.corpus.random_parts import formula, linear_atom, quarters
from tests.procedures.forever import loops
from venmas import System, Verdict, verify
from venmas.answer import Unknown
from venmas.checker.file import check_certificate
from venmas.checker.forever.sequents import INIT, Sequent, normal
from venmas.checker.levels.labels import ahead
from venmas.errors import Reason
from venmas.logic import Not, parse, parse_property
from venmas.logic.printing import to_text
from venmas.model import where
from venmas.procedures.covers.procedure import CoverSearch
from venmas.procedures.forever.cells.grid import Cell, Grid, Side, marks
from venmas.procedures.forever.cells.sides import dual
from venmas.procedures.forever.claims.asking import Asking
from venmas.procedures.forever.procedure import ForeverSession

HALF = Fraction(1, 2)


@pytest.fixture
def cells_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_satisfied", "_violated", "_lasso"):
        monkeypatch.setattr(ForeverSession, name, lambda *_: Unknown(Reason.OPEN, ""))
    monkeypatch.setattr(CoverSearch, "accepts", lambda *_: "it is left out")


def test_sides_have_each_value_once() -> None:
    rng = Random(5)
    system = System("line")
    x = system.real("x", -4, 4)
    system.branch("go", x=where(x > 1, x - 1, x + 1))
    system.initial(x >= -1, x < 2)
    for _ in range(40):
        atoms = [f"x {rng.choice(('<', '<=', '>', '>=', '=='))} {Fraction(rng.randint(-8, 8), 2)}" for _ in range(4)]
        known = marks(system, [parse(" & ".join(atoms), system.vocabulary)])
        (sides,) = Grid(system, ["x"], {"x": (-3.0, 2.5)}, known).sides
        inside = [Fraction(k, 8) for k in range(-24, 21)]
        assert all(sum(side.holds(value) for side in sides) == 1 for value in inside), (atoms, sides)
        for atom in atoms:  # it holds in all of a side or nowhere
            expr = parse(atom, system.vocabulary).comparison  # type: ignore[union-attr]
            for side in sides:
                assert len({expr.holds({"x": value}) for value in inside if side.holds(value)}) <= 1, (atom, side)


def test_halves_have_each_state_once() -> None:
    cell = Cell((3,), (Side(Fraction(0), Fraction(1), (False, True)), Side(Fraction(-1), Fraction(5), (True, False))))
    halves = cell.halves([Fraction(1), Fraction(1)])
    assert halves is not None
    for value in (Fraction(k, 2) for k in range(-4, 12)):
        assert cell.sides[1].holds(value) == sum(half.sides[1].holds(value) for half in halves)
    assert Cell((), (Side(HALF, HALF),)).halves([Fraction(1)]) is None


@pytest.mark.parametrize(
    ("make", "text", "verdict"),
    [
        (loops.thermostat, "AG AF low", Verdict.SATISFIED),
        (loops.thermostat, "EG EF low", Verdict.SATISFIED),
        (loops.thermostat, "AG AF high", Verdict.VIOLATED),
        (loops.tank, "AG (full -> AF empty)", Verdict.SATISFIED),
        (lambda: loops.thermostat(HALF), "EG EF low", Verdict.SATISFIED),
        (lambda: loops.thermostat(HALF), "AF AG low", Verdict.VIOLATED),
        pytest.param(loops.relay, "AG upright", Verdict.SATISFIED, marks=pytest.mark.slow),
    ],
)
@pytest.mark.usefixtures("cells_alone")
def test_cells_alone_decide(make, text: str, verdict: Verdict, tmp_path: Path) -> None:
    report = verify(make(), text, timeout=60, certificate=tmp_path / "c.gz")
    assert report.verdict is verdict and report.decided_by == "forever", (report.verdict, report.message)
    if report.satisfied:
        check_certificate(tmp_path / "c.gz", make())


def test_the_other_side_of_a_part_is_found() -> None:
    """Cells are cut where neither a part nor its negation has a level: both have to be known by the same formulas."""
    vocabulary = loops.thermostat().vocabulary
    for shape in NESTINGS:
        text = shape.replace("p", "(t <= 18 & t < 17)").replace("q", "(t > 16 & t >= 15 & t <= 20)")
        asked = parse_property(text, vocabulary).formula
        one, other = (Sequent.of(INIT, side).formula for side in (asked, Not(asked)))
        assert {normal(dual(part)) for part in ahead(one)} == set(ahead(other)), text


def test_claims_are_read_as_from_their_text() -> None:
    rng, system = Random(3), loops.tank()
    asking = Asking(system, lambda *_: Unknown(Reason.OPEN, ""), "real")
    names = tuple(system.variables)
    for _ in range(300):
        made = formula(rng, lambda r: linear_atom(r, names, quarters), rng.choice((0, 1, 2, 3)), rng.randint(1, 7))
        core = Sequent.of(INIT, made).formula
        for one in (made, core):
            assert asking.read(one) is parse(to_text(one), system.vocabulary), to_text(one)


NESTINGS = (
    *("AG EF q", "AG AF q", "AF AG p", "EF AG p", "EG EF q", "AF EG p", "EF EG p", "EG AF q", "AG (q -> AF p)"),
    *("AG A(p U q)", "A(p U AG q)", "E(p U AF q)", "AG (p -> EX EF q)", "EF (q & AX AF p)", "AG EF AG p"),
)


def twin(rng: Random) -> tuple[System, Graph]:
    """A system with a real variable that takes whole values alone, and the graph of these."""
    system = System("twin")
    x = system.real("x", 0, STATES - 1)
    tables = [[rng.randrange(STATES) for _ in range(STATES)] for _ in range(2)]
    for number, table in enumerate(tables):
        value = Fraction(table[-1]) + 0 * x
        for at in range(STATES - 2, -1, -1):
            value = where(x <= at + HALF, table[at], value)
        system.branch(f"b{number}", x=value)
    system.initial(x == 0)
    return system, [sorted({table[s] for table in tables}) for s in range(STATES)]


@pytest.mark.parametrize("count", [27, pytest.param(80, marks=pytest.mark.slow)])
@pytest.mark.usefixtures("cells_alone")
def test_random_twins_contradict_no_verdict(count: int, tmp_path: Path) -> None:
    rng, seen = Random(11), Counter[Verdict]()
    for _ in range(count):
        system, graph = twin(rng)
        p, q = ([s for s in range(STATES) if rng.random() < 0.6] or [1] for _ in range(2))

        def text(name: str, states: list[int]) -> str:
            return " | ".join(f"({name} >= {s - 0.25} & {name} <= {s + 0.25})" for s in states)

        shape = rng.choice(NESTINGS)
        formula = shape.replace("p", f"({text('x', p)})").replace("q", f"({text('x', q)})")
        plain = shape.replace("p", f"({text('s', p)})").replace("q", f"({text('s', q)})")
        numbers = System("numbers")
        numbers.integer("s", 0, STATES - 1)
        core = Sequent.of(INIT, parse_property(plain, numbers.vocabulary).formula).formula
        report = verify(system, formula, timeout=10, certificate=tmp_path / "c.gz")
        seen[report.verdict] += 1
        if report.verdict is not Verdict.UNKNOWN:
            assert report.satisfied == (0 in evaluate(core, graph)), (shape, p, q, graph)
        if report.satisfied:
            check_certificate(tmp_path / "c.gz", system)
    assert min(seen[Verdict.SATISFIED], seen[Verdict.VIOLATED]) > count // 4 and seen[Verdict.UNKNOWN] < 4, seen
