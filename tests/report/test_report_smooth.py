"""Pages of systems that are not piecewise linear: their equations, with functions, products and flows."""

from __future__ import annotations

from html import unescape

import pytest

from venmas import System, load_scenario, verify
from venmas.model import cos, exp, held, sin
from venmas.report import Checks, Source, html_page


def page_of(system: System, formula: str) -> str:
    return unescape(html_page(verify(system, formula, timeout=20), system, Source("r.json"), Checks()))


def test_functions_products_and_quotients() -> None:
    system = System("smooth")
    x, y = system.real("x", -4, 4), system.real("y", -4, 4)
    system.branch("turn", x=sin(x) * (y + 1), y=y / (2 + cos(x)))
    system.branch("never", x=exp(x), when=0 * x > 1)
    system.initial(x >= 0, x <= 1, y == 1)
    page = page_of(system, "AX (y < 2)")
    assert "satisfied" in page and "Networks are" not in page  # there is none
    assert "sin(x) * (y + 1)" in page and "y / (cos(x) + 2)" in page and "exp(x)" in page


def test_flows() -> None:
    system = System("flow")
    x, v = system.real("x", -4, 4), system.real("v", -4, 4)
    move = system.flow("0.25", {x: v, v: sin(x) - held(v + x)})
    system.branch("move", move.end)
    system.branch("mark", x=move.greatest(x), v=move.end[v], when=x > 3)
    system.initial(x >= 0, x <= 0.1, v == 0)
    page = page_of(system, "AX (x < 2)")
    assert "for 0.25 of time: x' = v, v' = " in page and "held(" in page
    assert "x at the end of e" in page and "the greatest x in e" in page


@pytest.mark.parametrize("name", ["pendulum", "cruise"])
def test_bundled_systems(name: str) -> None:
    system = load_scenario(name).system()
    assert "<h2" in page_of(system, "AX " + next(iter(system.propositions)))
