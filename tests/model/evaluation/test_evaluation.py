"""The one reading of the expression graph: what a domain does not have it refuses, and a node is read once."""

from collections import Counter
from fractions import Fraction

import pytest

from venmas import System
from venmas.model import apply_network, argmax, maximum, sin, switch, where
from venmas.model.evaluation.evaluation import Evaluation, every, some
from venmas.model.evaluation.simulate import Exact
from venmas.model.expressions.expr import Expr
from venmas.nn import relu_network


class Sizes(Evaluation[int, bool, None]):
    """A domain that has variables and sums: how many variables an expression is made of."""

    def __init__(self) -> None:
        super().__init__()
        self.read = Counter[str]()

    def _variable(self, name: str) -> int:
        self.read[name] += 1
        return 1

    def _linear(self, terms, constant) -> int:
        return sum(size for _, size in terms)


def parts() -> tuple[Expr, Expr, dict[str, Expr]]:
    system = System("s")
    x, n = system.real("x", -1, 1), system.integer("n", 0, 1)
    (output,) = apply_network(relu_network([[[1.0]]], [[0.0]]), [x])
    others = {"networks": output, "maximum": maximum(x, n), "argmax": argmax([x, n]), "switch": switch(n, {0: x, 1: n})}
    return x, n, {**others, "where": where(x > 0, x, n), "Apply": sin(x)}


def test_a_domain_refuses_what_it_does_not_have() -> None:
    x, n, others = parts()
    at = Sizes()
    assert at.value(2 * x + n) == 2
    for name, expr in others.items():
        with pytest.raises(TypeError, match=name):
            at.value(expr + 1)
    with pytest.raises(TypeError, match="comparisons"):
        at.truth(x > 0)


def test_a_node_is_read_once() -> None:
    x, n, _ = parts()
    at = Sizes()
    for expr in (x + n, x - n, x + n / 2):
        at.value(expr)
    assert at.read == {"x": 1, "n": 1}


def test_only_what_is_asked_for_is_read() -> None:
    x, n, others = parts()
    at = Exact({"x": Fraction(1)})  # no n, which is an error where it is asked for
    assert at.value(where(x > 0, x, n)) == 1
    assert at.truth((x > 0) | (n > 0)) and not at.truth((x < 0) & (n > 0))
    with pytest.raises(KeyError):
        at.value(others["maximum"])


def test_truths_where_none_is_open() -> None:
    assert every([True, True]) and every([True, None]) is None and every([None, False]) is False and every([])
    assert some([False, True]) and some([False, None]) is None and some([None, True]) and some([]) is False
