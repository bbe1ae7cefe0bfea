"""Certificates of ``AG p`` for ever in two phases: two bounded proofs, from the initial states and from a set, joined.

The first shows that runs from an initial state are in the set after `into` steps, the second that runs from the set are
in it again after `again` steps, and both that p holds on the way. By induction every state of every run lies on such a
way: runs are in the set at the steps into, into + again, into + 2 again and so on, as far as they are so long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from venmas.checker.goals.check import Checked, CheckError, Line, check
from venmas.logic import Formula, Vocabulary, parse
from venmas.logic.formula import is_temporal
from venmas.model.invariant import Phases
from venmas.model.system.system import System
from venmas.nn.network import Semantics

_FIELDS = {"set", "into", "again", "inside"}


def write_phases(phases: Phases, inside: tuple[bool, bool]) -> dict[str, object]:
    """The field of the header. inside: whether the claim of each part says besides that runs stay in the box."""
    return {"set": str(phases.reached), "into": phases.into, "again": phases.again, "inside": list(inside)}


def read_phases(data: object, vocabulary: Vocabulary) -> tuple[Phases, tuple[bool, bool]]:
    """What `write_phases` wrote. Raises `CheckError`, and `FormulaError` for a set that is none."""
    if not isinstance(data, dict) or data.keys() != _FIELDS or not isinstance(data["set"], str):
        raise CheckError(0, f"the phases are no object of the fields {', '.join(sorted(_FIELDS))}, set being a formula")
    steps, inside = (data["into"], data["again"]), data["inside"]
    if any(type(s) is not int for s in steps) or steps[0] < 0 or steps[1] < 1:
        raise CheckError(0, "into is a whole number from 0, and again is one from 1")
    if not isinstance(inside, list) or len(inside) != 2 or any(type(i) is not bool for i in inside):
        raise CheckError(0, "the phases do not say what each proof claims of the box: true or false, twice")
    reached = parse(data["set"], vocabulary)
    if is_temporal(reached):
        raise CheckError(0, "the set is a formula about one state")
    return Phases(reached, *steps), (inside[0], inside[1])


def check_phases(
    system: System,
    holds: Formula,
    phases: Phases,
    inside: tuple[bool, bool],
    lines: Iterator[tuple[int, Line]],
    tick: Callable[[int], None],
    semantics: Semantics = "real",
) -> Checked:
    """Check the two proofs, one after the other, the lines of the second numbered from 1 again. Raises `CheckError`.

    Accepted, they show that every state of every run of the valid `system` satisfies `holds`, a formula about one
    state, and that no run leaves the declared box.
    """
    done, before = Checked(), 0
    for (part, formula), box in zip(phases.parts(system, holds), inside, strict=True):

        def ticked(number: int, at: int = before) -> None:
            tick(at + number)

        try:
            found = check(part, formula, box, part_of(lines, before), ticked, semantics)
        except CheckError as error:
            raise CheckError(before + error.line, error.problem) from error
        before += found.lines
        done = Checked(before, done.refuted + found.refuted, done.shared + found.shared, done.leaves + found.leaves)
    if next(lines, None) is not None:
        raise CheckError(before + 1, "there is more after the end of the second proof")
    return done


def part_of(lines: Iterator[tuple[int, Line]], before: int) -> Iterator[tuple[int, Line]]:
    """The lines of one proof, up to its end, numbered from 1."""
    for number, line in lines:
        yield number - before, line
        if line.get("rule") == "end":
            return
