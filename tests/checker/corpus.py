"""What certificates are made of in these tests: hand-written systems, random ones and the bundled scenarios."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from tests.checker.proofs import Certified, SearchTooLongError, proof_of
from tests.corpus.entries_more import CORPUS
from tests.corpus.finite import finite_case
from tests.corpus.pwl import pwl_case
from tests.corpus.spec import build
from venmas.engine.report import Verdict
from venmas.logic import Formula, parse
from venmas.model import System, load_scenario

BUNDLED = (
    ("vcas", {"climb0": "-19.5"}, "AX^4 (h > 100 | h < -100)"),
    ("vcas", {"climb0": "-22.5"}, "AX^2 (h > 100 | h < -100)"),
    ("vcas", {"climb0": "-28.5"}, "!EX^2 (h > 95 & h < 98)"),
    ("frozenlake", {}, "AG^4 safe"),
    ("frozenlake", {"start": "1,2,4"}, "EX^2 safe"),
    ("frozenlake", {"start": "1,5,8"}, "AX (cell[1] <= 1)"),
    ("double_integrator", {}, "within3"),
    ("double_integrator", {"x1": "1..3", "x2": "-0.5..0.5"}, "within2"),
)
"""Scenario, settings and a formula; most hold."""


def question(system: System, text: str) -> Formula:
    """A formula by its text or by the name of a property."""
    return parse(system.properties.get(text, text), system.vocabulary)


def questions() -> Iterator[tuple[str, System, Formula]]:
    """Name, system, formula: true and false ones."""
    for entry in CORPUS:
        if not entry.name.startswith("slow"):  # proofs of thousands of lines
            system = entry.system()
            yield entry.name, system, parse(entry.formula, system.vocabulary)
    for seed in range(80):
        for kind, case in (("finite", finite_case(seed)), ("pwl", pwl_case(seed))):
            yield f"{kind}-{seed}", build(case.spec), case.formula
    for name, settings, text in BUNDLED:
        system = load_scenario(name).system(**settings)
        yield f"{name} {text}", system, question(system, text)


@cache
def certificates() -> dict[str, Certified]:
    """Every question that the prover shows soon, with its proof."""
    found: dict[str, Certified] = {}
    for name, system, formula in questions():
        try:
            certified = proof_of(system, formula, steps=400)
        except SearchTooLongError:
            continue
        if certified is not None:
            found[name] = certified
    return found


def violated_entries() -> Iterator[tuple[str, System, Formula]]:
    """Hand-written questions whose answer is no."""
    for entry in CORPUS:
        if entry.verdict is Verdict.VIOLATED:
            system = entry.system()
            yield entry.name, system, parse(entry.formula, system.vocabulary)
