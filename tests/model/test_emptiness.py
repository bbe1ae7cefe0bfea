"""Initial sets without a point are refused, whatever makes them empty; others are not."""

import gzip
import json
from itertools import product
from time import perf_counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from venmas import System, verify
from venmas.budget import Budget, limited
from venmas.checker.file import check_claim, read_certificate
from venmas.checker.goals.check import CheckError
from venmas.errors import ModelError
from venmas.logic import TRUE
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.model.canonical.canonical import system_from_json, system_to_json
from venmas.model.expressions.expr import disjunction
from venmas.model.system.emptiness import has_point

WIDE = 10**6


def space(*parts):
    """Reals x, y, z and integers k, m, n, with an initial set for each part, which makes conditions of them."""
    system = System("space")
    reals = [system.real(name, -WIDE, WIDE) for name in "xyz"]
    integers = [system.integer(name, -WIDE, WIDE) for name in "kmn"]
    for part in parts:
        system.initial(*part(*reals, *integers))
    system.branch("stay", x=reals[0])
    return system


EMPTY = {
    "strict": lambda x, y, z, k, m, n: (x + y >= 1, x + y < 1),
    "both strict": lambda x, y, z, k, m, n: (x + y > 1, x + y < 1),
    "strict three": lambda x, y, z, k, m, n: (x + y >= 1, y + z >= 1, x + 2 * y + z < 2),
    "no strict one": lambda x, y, z, k, m, n: (x - y >= 1, y - z >= 1, z - x >= -1.5),
    "equality and strict": lambda x, y, z, k, m, n: (x + y == 2, y - z == 1, x + z > 1),
    "equalities": lambda x, y, z, k, m, n: (x + y == 2, y - z == 1, x + z == 1.25),
    "unequal": lambda x, y, z, k, m, n: (x + y >= 2, x + y <= 2, x + y != 2),
    "parity": lambda x, y, z, k, m, n: (2 * k == 2 * m + 1,),
    "parity of two": lambda x, y, z, k, m, n: (k + m == 2 * n + 1, k == m),
    "between integers": lambda x, y, z, k, m, n: (3 * k - 3 * m >= 1, 3 * k - 3 * m <= 2),
    "strict integers": lambda x, y, z, k, m, n: (k > m, k < m + 1),
    "mixed": lambda x, y, z, k, m, n: (k + x == 0.5, x > 0, x < 0.5),
    "mixed strict": lambda x, y, z, k, m, n: (x + k > m, x + k < m + 1, x == 3),
    "gcd": lambda x, y, z, k, m, n: (6 * k + 10 * m + 15 * n == 1, k == 2 * m, n == 2 * m),
}
POINTS = {
    "closed": lambda x, y, z, k, m, n: (x + y >= 1, x + y <= 1),
    "three": lambda x, y, z, k, m, n: (x + y >= 1, y + z >= 1, x + 2 * y + z <= 2),
    "open": lambda x, y, z, k, m, n: (x - y > 1, x - y < 1.0001, y == 2 * z),
    "unequal": lambda x, y, z, k, m, n: (x + y >= 2, x + y <= 2, x != 1),
    "gcd": lambda x, y, z, k, m, n: (6 * k + 10 * m + 15 * n == 1,),
    "mixed": lambda x, y, z, k, m, n: (k + x == 0.5, x > 0, x < 1),
    "thin": lambda x, y, z, k, m, n: (7 * k - 5 * m >= 1, 7 * k - 5 * m <= 1, k > 3),
}


@pytest.mark.parametrize("name", EMPTY)
def test_empty_sets_are_refused(name):
    begun = perf_counter()
    with pytest.raises(ModelError, match=r"no initial states.*change its bounds"):
        verify(space(EMPTY[name]), "AX (x > 5)")
    with pytest.raises(ModelError, match="no initial states"):
        verify(space(EMPTY[name], EMPTY["strict"]), "AX (x > 5)")
    assert perf_counter() - begun < 5


@pytest.mark.parametrize("name", POINTS)
def test_sets_with_a_point_are_taken(name):
    space(POINTS[name]).validate()


@pytest.mark.parametrize("name", EMPTY)
def test_an_empty_part_of_several_is_none(name):
    """Nothing is said of an empty part; the verdict is that of the others."""
    system = System("parts")
    x, y, z = (system.real(letter, -4, 4) for letter in "xyz")
    k, m, n = (system.integer(letter, -4, 4) for letter in "kmn")
    system.initial(*EMPTY[name](x, y, z, k, m, n))
    system.initial(*(v == 1 for v in (x, y, z, k, m, n)))
    system.branch("stay", x=x)
    assert verify(system, "AX (x == 1)", timeout=60).satisfied
    assert verify(system, "AX (x > 1)", timeout=60).violated


def test_cases_of_a_condition_are_asked_for_a_point():
    system = System("cases")
    x, y = system.real("x", 0, 1), system.real("y", 0, 1)
    n = system.integer("n", 0, 2200)
    system.branch("stay", x=x)
    system.start(x + y >= 1, x + y < 1, disjunction(n == 2 * i for i in range(1100)))
    assert system.initial_condition is not TRUE
    with pytest.raises(ModelError, match="no initial states"):
        system.validate()


def test_a_certificate_of_an_empty_set_is_refused(tmp_path):
    """The checker believes nobody that there is an initial state."""
    system = System("sum")
    x, y = system.real("x", 0, 1), system.real("y", 0, 1)
    system.branch("stay", x=x)
    system.initial(x + y >= 1, x + y <= 1)
    file = tmp_path / "proof.gz"
    assert verify(system, "AX (x <= 1)", certificate=str(file)).satisfied
    (low, high) = system.initial_set.regions[0]
    system.initial_set.regions[0] = (low, Comparison(high.expr, Relation.LT))  # behind the back of every check
    lines = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
    lines[0]["subject"]["system"] = system_to_json(system)
    file.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    header, rest = read_certificate(file)
    with pytest.raises(CheckError, match="no initial states"):
        check_claim(header, rest, system)
    with pytest.raises(ModelError, match="no initial states"):
        system_from_json(lines[0]["subject"]["system"], [])


def test_equalities_are_solved_one_after_the_other():
    """Two that are reduced in turn never end: each one's substitutions undo the remainders of the other."""
    system = System("few")
    for name in "kmn":
        system.integer(name, -2, 3)
    numbers = (((3, -2, -3), 1, Relation.EQ), ((-3, -2, 3), 1, Relation.EQ), ((-2, 1, 3), -2, Relation.GE))
    region = tuple(Comparison(LinearExpr.of(dict(zip("kmn", f, strict=True)), c), r) for f, c, r in numbers)
    with limited(Budget(seconds=5.0)):
        assert has_point(system.variables, region) is False  # the sum of the equalities is 2 - 4 m == 0


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_integers_agree_with_enumeration(data):
    """Over few integers, a point is found exactly where trying all of them finds one."""
    system = System("few")
    for name in "kmn":
        system.integer(name, -2, 3)
    numbers, parts = st.integers(-3, 3), st.sampled_from(list(Relation))
    region = tuple(
        Comparison(
            LinearExpr.of(dict(zip("kmn", data.draw(st.tuples(*[numbers] * 3)), strict=True)), constant), relation
        )
        for constant, relation in data.draw(
            st.lists(st.tuples(st.sampled_from([-2, -1, 0, 1, 3, 0.5]), parts), max_size=5)
        )
    )
    exists = any(
        all(row.holds(dict(zip("kmn", p, strict=True))) for row in region) for p in product(range(-2, 4), repeat=3)
    )
    assert has_point(system.variables, region) is exists
