"""An operator that expressions do not have is nowhere taken for another one, and its recipe names every place.

The toy operator squares. It has been declared as far as walks go (`children`), as whoever adds one does first; each
interpreter that is forgotten then refuses it, and no mode gives a verdict.
"""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import venmas
from venmas import System, verify
from venmas.bounds.exact import _Forms
from venmas.checker.exact.moves import Reading
from venmas.checker.inductive.constraints import Boxes
from venmas.checker.inductive.intervals import Intervals
from venmas.engine.modes import MODES
from venmas.engine.report import Verdict
from venmas.errors import ModelError
from venmas.model import argmax, maximum, where
from venmas.model.canonical.canonical import system_to_json
from venmas.model.evaluation.simulate import Exact
from venmas.model.expressions import expr as module
from venmas.model.expressions.domain import Domains, Ranges, is_integral
from venmas.model.expressions.expr import Expr
from venmas.model.expressions.simplify import Simplifier
from venmas.model.transform.cone import _Intervals
from venmas.model.transform.lowering import UnloweredError, lower
from venmas.procedures.explicit.states.undecided import StateRows
from venmas.procedures.explicit.states.vectorised import Columns
from venmas.procedures.milp.encoding.states.expressions import ExpressionEncoder
from venmas.procedures.polytopes.step import Partition

pytestmark = pytest.mark.quick

ROOT = Path(venmas.__file__).parent
PAGE = (ROOT.parent / "docs" / "recipes.md").read_text(encoding="utf-8")


@dataclass(frozen=True, eq=False)
class Square(Expr):
    """The operand times itself."""

    operand: Expr


@pytest.fixture
def walked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first step of the recipe is made, wherever parts of nodes are asked for; nothing else is."""
    plain = module.children
    for loaded in [m for name, m in sys.modules.items() if name.startswith("venmas.")]:
        if getattr(loaded, "children", None) is plain:
            monkeypatch.setattr(loaded, "children", lambda n: (n.operand,) if isinstance(n, Square) else plain(n))


def toy(place: str, integral: bool = False) -> System:
    """One step, in which a square stands somewhere."""
    system = System("toy")
    x = system.integer("x", -2, 2) if integral else system.real("x", -2, 2)
    square = Square(x)
    match place:
        case "update":
            system.branch("go", x=square)
        case "sum":
            system.branch("go", x=square - 1)
        case "guard":
            system.branch("go", x=2, when=square >= 1)
            system.branch("stay", x=0, when=square < 1)
        case "condition":
            system.branch("go", x=where(square >= 1, 0, x))
        case "maximum":
            system.branch("go", x=maximum(square, x))
        case "argmax":
            system.branch("go", x=argmax([square, x]))
        case "selector":
            system.branch("go", x=where(argmax([square, x]) == 1, 2, 0))
    system.initial(x >= 1)
    return system


PLACES = ("update", "sum", "guard", "condition", "maximum", "argmax", "selector")


@pytest.mark.parametrize("mode", [name for name, mode in MODES.items() if mode.kinds != ("linear",)])
@pytest.mark.parametrize("integral", [False, True], ids=["real", "integer"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.usefixtures("walked")
def test_no_mode_gives_a_verdict(place: str, integral: bool, mode: str) -> None:
    formula = "AX x <= 1" if "bounded" in MODES[mode].kinds else "AG[1,*] x <= 1"
    told = ""
    try:
        report = verify(toy(place, integral), formula, mode=mode, timeout=10)
        assert report.verdict is Verdict.UNKNOWN and report.decided_by == ""
        told = report.message
    except (TypeError, ModelError) as error:
        told = str(error)
    assert "Square" in told or "may not be one" in told or "no procedure takes this question" in told


def bare(kind: type, **fields: Any) -> Any:
    """An object without what its making takes."""
    made = object.__new__(kind)
    made.__dict__.update(fields)
    return made


NODE = Square(module.Variable("x", True))
NOTHING = SimpleNamespace(affine=lambda _: None, possible=lambda _: None)
INTERPRETERS: dict[str, Callable[[], object]] = {
    "model/evaluation/evaluation.py": lambda: Exact({"x": Fraction(1)}).value(NODE),
    "model/expressions/simplify.py": lambda: Simplifier({}).expr(NODE),
    "model/transform/lowering.py": lambda: lower({"x": NODE}, ["x"]),
    "model/canonical/writer.py": lambda: system_to_json(toy("update")),
    "bounds/exact.py": lambda: _Forms(NOTHING, True).of(NODE),  # type: ignore[arg-type]
    "procedures/milp/encoding/states/expressions.py": lambda: bare(ExpressionEncoder)._term(NOTHING, NODE),
    "procedures/explicit/states/undecided.py": lambda: bare(
        StateRows, _columns=SimpleNamespace(integral=lambda _: False)
    )._compute(NODE),
    "procedures/polytopes/step.py": lambda: next(bare(Partition)._value(SimpleNamespace(known={}), NODE)),
    "checker/exact/moves.py": lambda: Reading(toy("update"), ()).value(NODE),
}


@pytest.mark.parametrize("place", INTERPRETERS)
@pytest.mark.usefixtures("walked")
def test_every_interpreter_refuses_it(place: str) -> None:
    with pytest.raises((TypeError, UnloweredError, ModelError), match=r"[Ss]quare"):
        INTERPRETERS[place]()


@pytest.mark.usefixtures("walked")
def test_those_that_need_not_know_take_it_for_anything() -> None:
    assert Domains({"x": (Fraction(0), Fraction(1))}).values(NODE) is None
    assert Ranges({"x": (Fraction(0), Fraction(1))}).of(NODE) == (-np.inf, np.inf)
    assert not is_integral(NODE)
    assert not Columns(toy("selector", integral=True)).integral(NODE)
    assert _Intervals(toy("update"), {"x": (Fraction(0), Fraction(1))}).of(NODE) is None
    low, high = Intervals({"x": 0}, Boxes(np.ones((1, 1)), np.ones((1, 1)))).value(NODE)
    assert (low, high) == (-np.inf, np.inf)


def test_a_walk_does_not_pass_over_what_it_does_not_know() -> None:
    with pytest.raises(TypeError, match="Square"):
        module.children(NODE)
    for mode in MODES:
        formula = "AX x <= 1" if "bounded" in MODES[mode].kinds else "AG[1,*] x <= 1"
        with pytest.raises(TypeError, match="Square"):
            verify(toy("guard"), formula, mode=mode)


def places() -> set[str]:
    """The files that tell nodes of expressions apart."""
    tells = re.compile(r"(case .*|isinstance\(.*|_chosen\(.*|KNOWN = .*)\b(Maximum|Where|Switch|ArgMax|Sum)\b")
    found = {f.relative_to(ROOT).as_posix() for f in ROOT.rglob("*.py") if tells.search(f.read_text(encoding="utf-8"))}
    # the first reads systems of one scenario back, the second names layers of Keras
    return found - {"formats/gym/lake.py", "nn/keras_layers.py"}


def test_the_recipe_names_every_place_that_tells_nodes_apart() -> None:
    _, recipe = PAGE.split("## An operator of expressions")
    assert places() == set(re.findall(r"`([\w/]+\.py)`", recipe.split("## An ONNX operator")[0])) - {
        "tests/model/test_new_operator.py"
    }
    assert {place.partition(",")[0] for place in INTERPRETERS} <= places()
