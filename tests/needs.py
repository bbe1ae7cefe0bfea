"""Optional packages: what is missing is skipped by name, with the extra that brings it, and never breaks collection."""

import os
from configparser import ConfigParser
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
BROUGHT_BY = {
    "flint": "python-flint",
    "keras": "tensorflow",
    "markdown_it": "markdown-it-py",
    "nbformat": "nbclient",
    "pysat": "python-sat",
    "sb3_contrib": "sb3-contrib",
    "stable_baselines3": "stable-baselines3",
    "yaml": "mkdocs",
    "z3": "z3-solver",
}
"""The distribution of setup.cfg that brings a module, where it has another name."""


@cache
def extras() -> dict[str, str]:
    """The first extra of setup.cfg that lists a distribution."""
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    found: dict[str, str] = {}
    for extra, lines in setup["options.extras_require"].items():
        for line in lines.strip().splitlines():
            if not line.startswith("#"):
                found.setdefault(Requirement(line).name, extra)
    return found


BESIDE = {"venmas_learners": "pip install ./experiments/learners"}
"""Packages of this repository that are plug-ins of VenMAS."""


def needs(*modules: str) -> None:
    """Skip this test, or the rest of the file where that stands at its top, unless these modules can be imported.

    Where everything is said to be there ($VENMAS_NEED_EXTRAS, as in .ci/run), a missing one is an error.
    """
    for module in modules:
        remedy = BESIDE.get(module) or f'pip install -e ".[{extras()[BROUGHT_BY.get(module, module)]}]"'
        if find_spec(module) is None:
            told = f"needs {module}: {remedy}"
            if os.environ.get("VENMAS_NEED_EXTRAS"):
                pytest.fail(told, pytrace=False)
            pytest.skip(told, allow_module_level=True)
