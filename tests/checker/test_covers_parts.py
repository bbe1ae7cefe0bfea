"""Certificates of covers in parts: variables whose inputs are noise within ranges that grids before them show."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from tests.checker.test_covers_check import FINE
from venmas import System
from venmas.checker.covers import check as module
from venmas.checker.covers.grid import Grid
from venmas.checker.covers.parts import Loop, Part, starts
from venmas.checker.file import KINDS
from venmas.checker.format.about import About
from venmas.checker.format.header import Claim
from venmas.checker.format.lines import Lines
from venmas.checker.format.numbers import CheckError
from venmas.checker.format.rule import End
from venmas.model.expressions.expr import Variable
from venmas.model.expressions.walk import walk
from venmas.model.system.parts import Branch

Row = tuple[str, ...]


def check(
    system: System, text: str, parts: list[tuple[Row, list[Row]]], kind: str = "always", inside: bool = True
) -> Any:
    """The result of a check. parts: names and rows of each."""
    lines: list[Any] = []
    for names, rows in parts:
        lines += [Part(names), Grid(tuple(rows), (), (), 1, 3000, **FINE)]
    rows = [line.to_json() for line in (*lines, End(len(lines) + 1))]
    claim = Claim(text, kind, "real", inside)  # type: ignore[arg-type]
    return KINDS["covers"].check(About(claim, system, {}), Lines(rows))


def chain(**ranges: tuple[float, float]) -> System:
    """A turn (x, y) with noise that drives z, which drives u; a mode c is the same for ever, a few values k too."""
    ends = {name: ranges.get(name, (-9, 9)) for name in "xyzu"}
    system = System("chain")
    x, y, z, u = (system.real(name, *ends[name]) for name in "xyzu")
    c, k = system.real("c", 0, 1), system.real("k", 0, 1)
    w = system.disturbance("w", "-0.01", "0.01")
    system.branch(
        "go", {x: 0.6 * (x - y) + w, y: 0.6 * (x + y), z: 0.5 * z + 0.25 * x * c, u: 0.5 * u + 0.25 * z + 0.1 * k}
    )
    system.initial(x >= 0.9, x <= 1, y >= 0, y <= 0.1, z >= 0, z <= 0.1, u == 0, c == 1, k >= 0.25, k <= 0.5)
    return system


FIRST = (("x", "y"), [("60", "0"), ("0", "60")])
SECOND = (("z",), [("60",)])
THIRD = (("u",), [("60",)])
"""z <= 0.5 z + 0.25 from 0.1 on: up to 0.55 where x <= 1.1; u up to 0.375 where z <= 0.55 and k <= 0.5."""


@pytest.mark.parametrize("alone", [False, True])
def test_parts_show_what_they_have_one_after_the_other(alone: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if alone:
        monkeypatch.setattr(module, "_FEW", 1 << 40)
    check(chain(), "AG (x <= 1.1 & y <= 1.1)", [FIRST, SECOND, THIRD])
    check(chain(z=(-9, 0.6), u=(-9, 0.4)), "AG x <= 1.1", [FIRST, SECOND, THIRD])
    check(chain(), "AG z <= 0.6", [FIRST, SECOND, THIRD])
    check(chain(), "AG[2,9] u <= 0.4", [FIRST, SECOND, THIRD], "bounded")
    check(chain(z=(-9, 0.2)), "AG x <= 1.1", [FIRST], inside=False)


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize(
    ("system", "text", "parts", "why"),
    [
        (chain(), "AG z <= 0.3", [FIRST, SECOND, THIRD], "a state after"),
        (chain(), "AG x <= 0.99", [FIRST, SECOND, THIRD], "a state after 0 steps"),
        (chain(z=(-9, 0.3)), "AG x <= 1.1", [FIRST, SECOND, THIRD], "z may leave its range"),
        (chain(u=(-9, 0.2)), "AG x <= 1.1", [FIRST, SECOND, THIRD], "u may leave its range"),
        (chain(), "AG x <= 1.1", [FIRST, SECOND], "whether u leave their ranges is not shown"),
        (chain(), "AG x <= 1.1", [FIRST, THIRD], "it reads z, of which no range is known"),
        (chain(), "AG x <= 1.1", [SECOND, FIRST, THIRD], "it reads x, of which no range"),
        (chain(), "AG x <= 1.1", [FIRST, FIRST], "it reads change of y"),
        (chain(), "AG x <= 1.1", [(("x",), [("60",)])], "it reads y"),
        (chain(), "AG x <= 1.1", [(("x", "x"), [("60", "0"), ("0", "60")])], "each once"),
        (chain(), "AG x <= 1.1", [((), [])], "some variables that change"),
        (chain(), "AG x <= 1.1", [(("x", "y", "v"), FIRST[1])], "some variables that change"),
        (chain(), "AG x <= 1.1", [(("x", "y", "c"), FIRST[1])], "some variables that change"),
        (chain(), "AG x <= 1.1", [(("w",), [("60",)])], "some variables that change"),
        (chain(), "AG x <= 1.1", [(("x", "y"), SECOND[1])], "expected 2 independent coordinates of x, y"),
        (chain(), "AG x + z <= 2", [FIRST, SECOND, THIRD], "no part has all variables that p reads"),
        (chain(), "AG k <= 0.5", [FIRST, SECOND, THIRD], "no part has all variables that p reads"),
    ],
)
def test_what_parts_do_not_show_is_refused(
    system: System, text: str, parts: Any, why: str, alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if alone:
        monkeypatch.setattr(module, "_FEW", 1 << 40)
    with pytest.raises(CheckError, match=why):
        check(system, text, parts)


def test_a_part_goes_with_a_grid() -> None:
    rows = [Part(("x", "y")).to_json(), End(2).to_json()]
    with pytest.raises(CheckError, match="expected"):
        KINDS["covers"].check(About(Claim("AG x <= 1.1", "always", "real", False), chain(), {}), Lines(rows))


def test_ranges_hold_all_steps_also_those_before_the_window() -> None:
    """x is large at first, and z follows: whoever looked at x in the window alone would take it for small."""
    system = System("late")
    x, z = system.real("x", -9, 9), system.real("z", -99, 99)
    system.branch("go", {x: x / 2, z: z / 2 + x})
    system.initial(x >= 7, x <= 8, z == 0)
    parts: list[tuple[Row, list[Row]]] = [(("x",), [("50",)]), (("z",), [("50",)])]
    check(system, "AX^4 AG[0,6] z <= 16.5", parts, "bounded")
    with pytest.raises(CheckError, match="a state after"):
        check(system, "AX^4 AG[0,6] z <= 4", parts, "bounded")


@pytest.mark.parametrize("alone", [False, True])
def test_ranges_hold_steps_within_a_stride(alone: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """x is 1, 4, 1, 4, ..: every second step alone is small."""
    if alone:
        monkeypatch.setattr(module, "_FEW", 1 << 40)
    system = System("between")
    x, z = system.real("x", -9, 9), system.real("z", -99, 99)
    system.branch("go", {x: 5 - x, z: z / 2 + x})
    system.initial(x >= 0.9, x <= 1, z == 0)
    lines = [
        *(Part(("x",)), Grid((("50",),), (), (), 2, 500, **FINE)),
        *(Part(("z",)), Grid((("50",),), (), (), 2, 500, **FINE)),
        End(5),
    ]

    def say(text: str) -> Any:
        claim = Claim(text, "bounded", "real", True)
        return KINDS["covers"].check(About(claim, system, {}), Lines([line.to_json() for line in lines]))

    say("AG[0,9] z <= 8.4")
    with pytest.raises(CheckError, match="a state after"):
        say("AG[0,9] z <= 5")


def test_guards_of_others_are_kept_and_read_their_ranges() -> None:
    """y grows in each step in which x is beyond 1, which it is for a while."""
    system = System("guarded")
    x, y = system.real("x", -9, 9), system.real("y", -9, 9)
    system.branch("far", {x: x / 2, y: y + 1}, when=x >= 1)
    system.branch("near", {x: x / 2, y: y / 2}, when=x <= 1)
    system.initial(x >= 3, x <= 4, y == 0)
    parts: list[tuple[Row, list[Row]]] = [(("x",), [("50",)]), (("y",), [("10",)])]
    check(system, "AG[0,3] y <= 3", parts, "bounded")
    with pytest.raises(CheckError, match="a state after 3 steps"):
        check(system, "AG[0,3] y <= 2", parts, "bounded")
    with pytest.raises(CheckError, match="it reads x"):
        check(system, "AG[0,3] y <= 3", parts[1:], "bounded")


def test_several_initial_sets_are_those_of_a_part() -> None:
    system = System("two")
    x, y = system.real("x", -9, 9), system.real("y", -9, 9)
    system.branch("go", {x: x / 2, y: y / 2 + x / 4})
    system.initial(x >= 1, x <= 2, y >= 0, y <= x / 2)
    system.initial(x >= -2, x <= -1, y == 1)
    assert starts(system)["x"] == (-2, 2)
    part = Loop(system).part(("x",), {}).system
    assert [*part.variables] == ["x", "change of x"] and len(part.regions) == len(system.regions)
    check(system, "AG x <= 2", [(("x",), [("20",)]), (("y",), [("20",)])])
    with pytest.raises(CheckError, match="a state after 0 steps"):
        check(system, "AG x >= -1.5", [(("x",), [("20",)]), (("y",), [("20",)])])


def test_integers_are_in_no_part_and_are_read_by_none() -> None:
    system = System("counts")
    x, y, n = system.real("x", -9, 9), system.real("y", -9, 9), system.integer("n", 0, 3)
    system.branch("go", {x: x / 2, y: y / 2 + n / 9, n: 3 - n})
    system.initial(x >= 0, x <= 1, y == 0, n == 0)
    part = (("x",), [("60",)])
    check(system, "AG x <= 1", [part], inside=False)
    with pytest.raises(CheckError, match="whether n, y leave"):
        check(system, "AG x <= 1", [part])
    with pytest.raises(CheckError, match="it reads n"):
        check(system, "AG x <= 1", [part, (("y",), [("60",)])])
    with pytest.raises(CheckError, match="the integer n changes"):
        check(system, "AG x <= 1", [part, (("n",), [("60",)])])


def test_empty_initial_sets_are_none_of_a_part() -> None:
    """The second one is empty by what is said of y alone."""
    system = System("empty")
    x, y, c = system.real("x", -9, 9), system.real("y", -9, 9), system.real("c", -9, 9)
    system.branch("go", {x: x / 2 + c / 8, y: y / 2 + x / 4})
    system.initial(x >= 0, x <= 1, y >= 0, y <= 1, c == 3)
    system.initial(x >= 0, x <= 1, c == 5, y >= 2, y <= 1)
    check(system, "AG x <= 1", [(("x",), [("60",)]), (("y",), [("60",)])])
    with pytest.raises(CheckError, match="expected 1 independent"):
        check(system, "AG x <= 2", [(("x",), [("60", "0"), ("0", "60")]), (("y",), [("60",)])])


def follower(**ranges: tuple[float, float]) -> System:
    """A value x that turns, y that follows x, z that follows y: each takes half of what is left."""
    system = System("follower")
    x, y, z, a = (system.real(name, *ranges.get(name, (-9, 9))) for name in "xyza")
    w = system.disturbance("w", "-0.1", "0.1")
    system.branch("halt", {a: 0.5 * a, x: 0.8 * x, y: 0.5 * x + 0.5 * y, z: 0.5 * y + 0.5 * z})
    system.branch("go", {a: 0.5 * a + w, x: 0.8 * x + a, y: y + 0.5 * (x - y), z: z + 0.5 * (y - z)})
    system.initial(*(c for v in (x, y, z, a) for c in (v >= -0.1, v <= 0.1)))
    return system


TURNS = (("x", "a"), [("40", "0"), ("0", "40")])
AGAIN = [(("x", "y"), [("40", "0"), ("0", "40")]), (("y", "z"), [("40", "0"), ("0", "40")])]


@pytest.mark.parametrize("alone", [False, True])
def test_parts_may_have_variables_of_parts_before_again(alone: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """|a| <= 0.2, |x| <= 1, and x changes by 0.4 at most: in one step it does not come from one end to the other, so
    that x - y, half as much as before and what x changes by, is 0.8 at most; of any x in each step it would be 1.5."""
    if alone:
        monkeypatch.setattr(module, "_FEW", 1 << 40)
    assert check(follower(), "AG x <= 1.5", [TURNS, *AGAIN]).boxes
    assert check(follower(), "AG (x - y <= 1.2 & y - x <= 1.2)", [TURNS, AGAIN[0]], inside=False).boxes
    with pytest.raises(CheckError, match="a state after"):
        check(follower(), "AG x - y <= 0.5", [TURNS, *AGAIN])  # as x comes from -1 to 1, it is 0.52
    with pytest.raises(CheckError, match="no part has all variables"):
        check(follower(), "AG x - z <= 3", [TURNS, *AGAIN])
    with pytest.raises(CheckError, match="it reads x, of which"):
        check(follower(), "AG y <= 3", [AGAIN[1], TURNS])
    with pytest.raises(CheckError, match="it reads change of a"):  # nothing reads it but x, in the same part
        check(follower(), "AG x <= 3", [TURNS, (("a", "y"), AGAIN[0][1])])
    with pytest.raises(CheckError, match="y may leave its range"):
        check(follower(y=(-9, 0.5)), "AG x <= 3", [TURNS, *AGAIN])


def test_what_a_step_changes_is_shown_of_all_branches() -> None:
    axes = Loop(follower()).part(("x", "a"), {})
    assert axes.names == ("x", "a") and axes.changes == ("change of x",) and axes.fixed["change of x"] == 0
    later = Loop(follower()).part(("x", "y"), {"x": (-2, 2), "change of x": (-1, 1)})  # type: ignore[dict-item]
    assert later.names == ("x", "y") and later.changes == ("change of y",)
    assert later.noise == {"w": (Fraction(-1, 10), Fraction(1, 10)), "change of x": (-1, 1)}
    assert all("a" not in branch_reads(branch) for branch in later.system.branches)


def branch_reads(branch: Branch) -> set[str]:
    """The variables that a branch reads."""
    return {node.name for node in walk([branch.guard, *(e for _, e in branch.updates)]) if isinstance(node, Variable)}


def test_a_variable_of_the_name_of_a_change_is_refused() -> None:
    system = follower()
    system.variables["change of x"] = replace(system.variables["z"], name="change of x")
    with pytest.raises(ValueError, match="change of x is a variable"):
        Loop(system).part(("x", "a"), {})
