"""The inductive set as the header of a certificate has it."""

from __future__ import annotations

from venmas.checker.exact.cell import fraction
from venmas.checker.format.numbers import CheckError, read_form, read_texts, write_number
from venmas.model.invariant import Invariant

MAX_PREDICATES = 10_000
MAX_WORDS = 100_000
MAX_LITERALS = 20_000_000
"""Most characters of all words together, and most words times variables."""
MAX_NUMBERS = 1_000_000
"""Most characters of the numbers of all predicates together."""


def write_invariant(invariant: Invariant) -> dict[str, object]:
    """The field of the header."""
    predicates = [[write_number(c) for c in row] for row in invariant.predicates]
    return {"predicates": predicates, "states": list(invariant.words)}


def read_invariant(data: object, variables: int) -> Invariant:
    """The set, over so many variables. Raises `CheckError`."""
    if not isinstance(data, dict) or data.keys() != {"predicates", "states"}:
        raise CheckError(0, "the inductive set is no object of the fields predicates and states")
    rows, words = data["predicates"], data["states"]
    if not isinstance(rows, list) or not isinstance(words, list):
        raise CheckError(0, "predicates and states of an inductive set are lists")
    if (
        len(rows) > MAX_PREDICATES
        or len(words) > MAX_WORDS
        or max(len(rows), variables) * max(len(words), 1) > MAX_LITERALS
    ):
        raise CheckError(
            0,
            f"an inductive set has at most {MAX_PREDICATES} predicates, {MAX_WORDS} words, and {MAX_LITERALS} literals "
            "(and words times variables)",
        )
    texts = [read_texts(0, row, variables + 1) for row in rows]
    if sum(len(text) for row in texts for text in row) > MAX_NUMBERS:
        raise CheckError(0, f"the numbers of the predicates have more than {MAX_NUMBERS} characters")
    forms = [tuple(fraction(c) for c in read_form(0, row)) for row in texts]
    for word in words:
        if not isinstance(word, str) or len(word) != len(rows) or not set(word) <= set("01-"):
            raise CheckError(0, f"a word has one of 0, 1 and - for each predicate, got {str(word)[:40]!r}")
    return Invariant(tuple(forms), tuple(words))
