"""Every module of the experiments that is run as one (`python -m experiments.NAME`) finds what it imports."""

from importlib import import_module
from pathlib import Path

import pytest

from tests.needs import needs
from tests.test_needs import unguarded

ROOT = Path(__file__).parents[2]
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in sorted((ROOT / "experiments").rglob("*.py"))
    if "training" not in path.parts  # scripts, run in their own folder
]


@pytest.mark.parametrize("name", MODULES)
def test_it_is_imported(name: str) -> None:
    needs(*sorted(unguarded(ROOT.joinpath(*name.split(".")).with_suffix(".py"))))
    import_module(name)
