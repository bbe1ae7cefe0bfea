"""Tests of which a part runs by default, and the rest with `make test-slow` alone."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis.strategies import SearchStrategy


def some_slow(cases: Iterable[Any], kept: Container[int]) -> list[Any]:
    """Cases of a parametrized test: by default those at the places that are kept, and the others in slow suites."""
    every = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [pytest.param(*case, marks=() if at in kept else pytest.mark.slow) for at, case in enumerate(every)]


def some_examples(
    few: int, many: int, *strategies: SearchStrategy[Any], **options: Any
) -> Callable[[Callable[..., None]], Callable[[int], None]]:
    """Decorator of a test of random examples: by default of few, and of many in slow suites."""

    def decorated(check: Callable[..., None]) -> Callable[[int], None]:
        def test(examples: int) -> None:
            settings(max_examples=examples, deadline=None, **options)(given(*strategies)(check))()

        test.__name__, test.__doc__, test.__module__ = check.__name__, check.__doc__, check.__module__
        return pytest.mark.parametrize("examples", [few, pytest.param(many, marks=pytest.mark.slow)])(test)

    return decorated
