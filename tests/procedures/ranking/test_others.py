"""Automata of spin and lbt accept the words that ours do; where these are installed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from itertools import islice

import pytest

from tests.logic.automata.ltl_cases import A, B, random_formulas, shapes
from tests.procedures.ranking.others import TooLongError, by_lbt, by_spin
from venmas.logic import Formula, subformulas
from venmas.logic.automata import Automaton, accepted, automaton_of
from venmas.logic.automata.rewrite import core
from venmas.logic.paths import X


@pytest.mark.parametrize(("tool", "other"), [("spin", by_spin), ("lbt", by_lbt)])
@pytest.mark.parametrize("count", [30, pytest.param(5000, marks=pytest.mark.slow)])
def test_others_accept_the_same_words(tool: str, other: Callable[[Formula], Automaton], count: int) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    late = 0
    drawn = random_formulas(31, 4 * count, largest=7)
    if tool == "spin":  # as Debian builds it, it has no X
        drawn = (f for f in drawn if not any(isinstance(node, X) for node in subformulas(core(f))))
    formulas = list(islice(drawn, count))
    assert len(formulas) == count
    for formula in formulas:
        try:
            theirs = other(core(formula))
        except TooLongError:
            late += 1
            continue
        ours = automaton_of(formula)
        for words in shapes((A, B), 4):
            assert accepted(ours, words) == accepted(theirs, words), str(formula)
    assert late <= count // 20
