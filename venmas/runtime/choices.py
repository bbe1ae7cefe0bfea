"""Enumerated values of options, reports and files, each with a line for people.

Modes, procedures and solvers, to which other packages can add, have registries of their own (`venmas.engine.modes`,
`venmas.procedures.registry`, `venmas.solvers.registry`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

from venmas.errors import UsageError

Semantics: TypeAlias = Literal["real", "float32"]
Activation: TypeAlias = Literal["relu", "linear", "tanh", "sigmoid"]
ReluEncoding: TypeAlias = Literal["big-m", "indicator"]

TRUSTS: Mapping[str, str] = {
    "auto": "a proof in rationals if one is found soon, else the solver's word",
    "exact": "a proof, else the verdict is unknown",
    "two": "the answers of two SMT solvers, about netlists",
    "solver": "the solver's word, no proof is sought",
}
"""What *satisfied* needs where a solver decided."""

DEADLOCKS: Mapping[str, str] = {
    "error": "nothing is satisfied where one is reached",
    "stutter": "runs stay there for ever",
}
"""LTL of states without a successor."""

LEARNERS: Mapping[str, str] = {
    "auto": "mined",
    "mined": "neurons read off the netlist",
    "milp": "hyperplanes by HiGHS (plug-in)",
    "gradient": "trained by PyTorch (plug-in)",
}
"""How ranking networks are found; other packages can add more (`venmas.procedures.ranking.learners`)."""

SEMANTICS: Mapping[str, str] = {
    "real": "the functions of their weights",
    "float32": "single precision, in any order of operations",
}
"""What networks compute."""

ENCODINGS: Mapping[str, str] = {
    "big-m": "constraints with constants from the bounds of the input",
    "indicator": "indicator constraints, or big-m for solvers without them",
}
"""How a program expresses a ReLU."""

BOUNDS: Mapping[str, str] = {
    "symbolic": "affine forms in the initial state, through the layers of networks",
    "interval": "intervals alone",
}
"""How ranges of values are computed before a program is built (`venmas.bounds.methods` computes them)."""

ACTIVATIONS: tuple[Activation, ...] = get_args(Activation)
"""What a layer may apply to its sums."""


def described(choices: Mapping[str, str]) -> str:
    """``name: what it is; name: what it is``."""
    return "; ".join(f"{name}: {text}" for name, text in choices.items())


def check_choice(what: str, given: str, choices: Mapping[str, str]) -> None:
    """Raises `UsageError` for a word that is none of the choices."""
    if given not in choices:
        raise UsageError(f"unknown {what} {given!r}: choose one of {', '.join(choices)}")


def check_choices(*, trust: str, semantics: str) -> None:
    """The same of what `verify` chooses from."""
    check_choice("trust", trust, TRUSTS)
    check_choice("semantics", semantics, SEMANTICS)
