"""Certificates of LTL of systems: the automaton, the states that are reached, and their levels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from venmas._version import __version__
from venmas.checker.goals.rules import End
from venmas.checker.levels.claim import FORMAT, read_formula
from venmas.checker.levels.listing import Places
from venmas.checker.levels.ranked import ranks_json
from venmas.checker.netlists.automata import breaking
from venmas.checker.netlists.lines import to_json
from venmas.engine.certificates.file import Certificate, CertificateFile, Unwritten
from venmas.engine.certificates.netlist import stated
from venmas.errors import InputError
from venmas.logic.automata.automaton import Automaton
from venmas.logic.formula import Formula
from venmas.logic.printing import to_text
from venmas.model.canonical.canonical import networks_of, system_to_json
from venmas.model.system.system import System
from venmas.procedures.explicit.ltl import Deadlock, Satisfied
from venmas.procedures.ranking.systems.ranks import Ranked

_TOGETHER = 20_000
"""Numbers in a line."""


def certify_runs(
    system: System,
    formula: Formula,
    fair: Sequence[Formula],
    deadlock: Deadlock,
    answer: Satisfied,
    automaton: Automaton,
    path: str | Path,
    about: Mapping[str, object],
) -> Certificate | Unwritten:
    """Write the certificate that every run has a formula. about: for the header.

    Raises `InputError` where the formula cannot be written down, the checker's automata of it are too large, or the
    system has no canonical form.
    """
    rows = run_lines(system, formula, fair, deadlock, answer, automaton, about)
    head = next(rows)
    with CertificateFile(path) as file:
        file.add(head)
        for row in rows:
            file.add(row)
        return file.keep(ended=True)


def run_lines(
    system: System,
    formula: Formula,
    fair: Sequence[Formula],
    deadlock: Deadlock,
    answer: Satisfied,
    automaton: Automaton,
    about: Mapping[str, object],
    sound: bool = True,
) -> Iterator[dict[str, object]]:
    """All lines of the certificate. sound: raise `InputError` where the checker would not follow the automaton."""
    levels = answer.levels
    if levels is None and answer.ranked is None:
        raise InputError("a limit was met before the levels of its states were known")
    texts = [_text(system, one) for one in (formula, *fair)]
    line = stated(automaton)
    if sound:
        breaking(line, texts[0], texts[1:], lambda text: read_formula(system, text))
    yield {
        "format": FORMAT,
        "venmas": __version__,
        "formula": texts[0],
        "inside": True,
        "semantics": "real",
        "fair": texts[1:],
        "deadlock": deadlock,
        "within": answer.within,
        "system": system_to_json(system),
        "networks": sorted(networks_of(system)),
        **about,
    }
    yield to_json(line)
    if answer.ranked is not None:
        yield from _ranks(answer.ranked)
        return
    assert levels is not None
    ranges = np.array([[int(end) for end in ends] for ends in zip(*system.box.values(), strict=True)], np.int64)
    numbers = Places(ranges).of(levels.states.astype(np.int64))
    order = np.argsort(numbers, kind="stable")
    steps = np.diff(numbers[order], prepend=-1).tolist()
    table = levels.table[order].T.tolist()
    turn = max(1, _TOGETHER // (1 + automaton.states))
    for at in range(0, len(steps), turn):
        here = slice(at, at + turn)
        yield {"rule": "states", "steps": steps[here], "levels": [row[here] for row in table]}
    yield End(2 + -(-len(steps) // turn)).to_json()


def _ranks(found: Ranked) -> Iterator[dict[str, object]]:
    """All lines after the automaton."""
    yield ranks_json(found.ranks, found.invariant)
    count = 2
    for proof in found.proofs:
        for line in proof:
            yield dict(line)
        yield End(len(proof) + 1).to_json()
        count += len(proof) + 1
    yield End(count + 1).to_json()


def _text(system: System, formula: Formula) -> str:
    text = to_text(formula)
    if read_formula(system, text) is not formula:
        raise InputError(f"the formula does not read back from its text and has no certificate: {text[:200]}")
    return text
