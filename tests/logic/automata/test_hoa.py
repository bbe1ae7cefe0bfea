"""Automata as text and back, and what is refused."""

from __future__ import annotations

import pytest

from tests.logic.automata.hoa_reader import read_hoa
from tests.logic.automata.ltl_cases import A, B, random_formulas, shapes
from venmas.errors import AutomatonError
from venmas.logic import Vocabulary
from venmas.logic.automata import accepted, automaton_of, refuting, to_dot, to_hoa
from venmas.logic.lassos import satisfying
from venmas.logic.ltl_parser import parse_ltl

HEAD = 'HOA: v1\nStart: 0\nAP: 2 "a" "b"\n'
BODY = "--BODY--\nState: 0\n[0] 0 {0}\n--END--\n"
BUCHI = "Acceptance: 1 Inf(0)\n"


def test_what_is_written_reads_back() -> None:
    for formula in random_formulas(21, 150, largest=10):
        automaton = automaton_of(formula)
        assert read_hoa(to_hoa(automaton, str(formula))) == automaton
    odd = refuting(parse_ltl('F G !rst -> G F (state == 2) & G F "odd \\ name"'))
    assert read_hoa(to_hoa(odd)) == odd
    drawn = to_dot(odd, 'say "so"')
    assert drawn.count("->") == len(odd.edges) + 1 and 'label="say \\"so\\""' in drawn


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("/* marks */" + HEAD + BUCHI + "--BODY-- State: 0 [0] 1 [!0] 0 State: 1 {0} [t] 0 --END--", "GF a"),
        (HEAD + BUCHI + "--BODY-- State: [!0] 0 0 State: 1 [t] 1 {0} --END--", "false"),
        (HEAD.replace("Start: 0", "Start: 1") + "Acceptance: 0 t --BODY-- State: 1 [0&!1|!0&1] 0 State: 0 [t] 0"
         "--END--", "!(a <-> b)"),
        ("HOA: v1 Start: 0 Start: 1 name: \"x\" AP: 2 \"a\" \"b\" Alias: @x !(0|1) Alias: @y @x acc-name: Buchi "
         + BUCHI + "--BODY-- State: 0 \"first\" [@y] 2 State: 1 [0 & 1] 2 State: 2 [t] 2 {0} --END--", "a <-> b"),
        (HEAD + "Acceptance: 3 (Inf(0) & (Inf(2)))\n--BODY-- State: 0 [0] 0 {0 1} [1] 0 {2} [!0&!1] 0 --END--",
         "GF a & GF b"),
        ('HOA: v1 Start: 0 AP: 1 "!a | b" Acceptance: 0 t --BODY-- State: 0 [0] 0 --END--', "G (a -> b)"),
    ],
)  # fmt: skip
def test_texts_mean_their_languages(text: str, meant: str) -> None:
    automaton, formula = read_hoa(text), parse_ltl(meant)
    for words in shapes((A, B), 4):
        assert accepted(automaton, words) == satisfying(formula, words)


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("", 1, "ends too early"),
        ("never { }", 1, "unexpected `never`"),
        (HEAD.replace("v1", "v2") + BUCHI + BODY, 1, "HOA v2 is not known"),
        (HEAD + BODY, 6, "header Acceptance:, which is missing"),
        (HEAD + BODY.replace("{0}", ""), 1, "Acceptance: is missing"),
        ("HOA: v1\n" + BUCHI + "--BODY-- --END--", 1, "Start: is missing"),
        (HEAD + "Acceptance: 1 Fin(0)\n" + BODY, 4, "only \\(generalised\\) Büchi"),
        (HEAD + "Acceptance: 1 Inf(!0)\n" + BODY, 4, "only \\(generalised\\) Büchi"),
        (HEAD + "Acceptance: 2 Inf(0) | Inf(1)\n" + BODY, 4, "only \\(generalised\\) Büchi"),
        (HEAD + "Acceptance: 0 f\n" + BODY, 4, "only \\(generalised\\) Büchi"),
        (HEAD + "Acceptance: 1 Inf(1)\n" + BODY, 4, "there is no acceptance set 1"),
        (HEAD + BUCHI + BODY.replace("{0}", "{1}"), 7, "there is no acceptance set 1"),
        (HEAD + BUCHI + BODY.replace("[0]", ""), 7, "implicit labels"),
        (HEAD + BUCHI + BODY.replace("[0]", "[2]"), 7, "there is no proposition 2"),
        (HEAD + BUCHI + BODY.replace("[0]", "[@x]"), 7, "@x is not declared"),
        (HEAD + BUCHI + BODY.replace("[0]", "[a]"), 7, "a label is made of"),
        (HEAD + BUCHI + BODY.replace("0 {0}", "0&0"), 7, "alternating"),
        (HEAD + "States: 1\n" + BUCHI + BODY.replace("0 {0}", "1"), 8, "there is no state 1"),
        (HEAD.replace("Start: 0", "Start: 0&1") + BUCHI + BODY, 2, "alternating"),
        (HEAD + "AP: 0\n" + BUCHI + BODY, 4, "AP: is given twice"),
        (HEAD.replace("AP: 2", "AP: 3") + BUCHI + BODY, 3, "AP: 3 is followed by 2 names"),
        (HEAD.replace('"a"', '"X a"') + BUCHI + BODY, 3, "speaks of other steps than one"),
        (HEAD.replace('"a"', '"a &"') + BUCHI + BODY, 3, "neither a name nor a condition"),
        (HEAD + "Universe: 1\n" + BUCHI + BODY, 4, "header Universe: is not known"),
        (HEAD + "States: 99999999999\n" + BUCHI + BODY, 4, "is too large"),
        (HEAD + BUCHI + BODY + HEAD, 9, "unexpected `HOA:`"),
        (HEAD + BUCHI + BODY.replace("State: 0", "State: 0 State: 0"), 6, "State: 0 is given twice"),
    ],
)  # fmt: skip
def test_what_is_no_such_automaton_is_refused(text: str, line: int, told: str) -> None:
    with pytest.raises(AutomatonError, match=told) as error:
        read_hoa(text)
    assert error.value.line == line


def test_propositions_are_those_of_the_system() -> None:
    known = Vocabulary(("a", "b"), frozenset({"a", "b"}))
    assert read_hoa(HEAD + BUCHI + BODY, known).atoms == (A, B)
    with pytest.raises(AutomatonError, match="unknown name 'b'"):
        read_hoa(HEAD + BUCHI + BODY, Vocabulary(("a",), frozenset({"a"})))
