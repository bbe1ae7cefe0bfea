"""Tests of which a part runs by default, and the rest with `make test-slow` alone."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

import pytest


def some_slow(cases: Iterable[Any], kept: Container[int]) -> list[Any]:
    """Cases of a parametrized test: by default those at the places that are kept, and the others in slow suites."""
    every = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [pytest.param(*case, marks=() if at in kept else pytest.mark.slow) for at, case in enumerate(every)]
