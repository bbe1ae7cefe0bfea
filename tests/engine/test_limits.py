"""A time limit is kept, whatever a run is in the middle of: reading, bounds, programs, regions or rationals."""

import gc
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from threading import Event

import pytest
from costly_systems import KINDS, costly

from tests.clock import now
from tests.in_process import in_process
from tests.slow import some_slow
from venmas import System, verify
from venmas.budget import Budget, BudgetError, ask, asking, limited
from venmas.engine.modes import of_bounded
from venmas.engine.report import Verdict
from venmas.model import clip
from venmas.runtime.choices import TRUSTS
from venmas.runtime.memory import seldom_collected

OVERRUN = 1.0
"""Seconds that a run may take beyond its limit."""

QUICK = range(0, 5 * len(KINDS), 2)
"""Half of all pairs of a kind and a mode."""


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """Compiled code is loaded, and programs are solved, once before anything is timed."""
    system = System("warm")
    x = system.real("x", -1, 1)
    system.branch("b", x=clip(x / 2, -1, 1))
    system.initial(x >= 0)
    for mode in of_bounded():
        assert verify(system, "AX x < 0.6", mode=mode, workers=2).satisfied


def overrun(number: int, limit: float, folder) -> None:
    """Run a case in one of the modes, with a certificate or without, and compare the clocks."""
    names = list(of_bounded())
    system, formula = costly(number)
    turn = number // len(KINDS)
    trusts = [one for one in TRUSTS if one != "two"]  # of netlists alone
    mode, trust = names[turn % len(names)], trusts[(turn // len(names) + number) % len(trusts)]
    semantics = "float32" if number % 7 == 0 else "real"
    certificate = folder / "proof.gz" if number % 3 == 0 else None
    options = {"trust": trust, "semantics": semantics, "certificate": certificate, "workers": 2}
    begun, started = now(), time.monotonic()
    report = verify(system, formula, mode=mode, timeout=limit, **options)
    seconds = now() - begun
    what = f"case {number} ({KINDS[number % len(KINDS)].__name__}, {mode}, {options}): {seconds:.2f} s of {limit}"
    assert seconds <= limit + OVERRUN, what
    assert time.monotonic() - started <= limit + 3 * OVERRUN, what
    assert report.seconds.total <= time.monotonic() - started
    if report.verdict is Verdict.UNKNOWN:
        assert report.reason in ("time", "tolerance", "failure", "open"), (what, report.message)
        assert report.witness is None and report.basis == "" and report.certificate is None
        assert certificate is None or not certificate.exists()
    elif report.violated:
        assert report.replay.confirmed


@pytest.mark.parametrize("number", some_slow(QUICK, range(0, len(QUICK), 3)))
def test_a_limit_is_kept(number, tmp_path) -> None:
    overrun(number, 0.3, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "limit"), list(product(range(100, 300), (0.5,))) + [(n, 2.0) for n in range(300, 340)]
)
def test_limits_are_kept(number, limit, tmp_path) -> None:
    overrun(number, limit, tmp_path)


def test_the_limit_is_that_of_the_innermost_block() -> None:
    outer, inner, without, future = Budget(-1), Budget(-1), Budget(), Budget(1000)
    ask()
    with limited(outer):
        for able in (future, without):
            with limited(able):
                assert list(asking("ab")) == ["a", "b"]
        with limited(inner), pytest.raises(BudgetError) as found:
            next(asking("ab"))
        assert found.value.budget is inner
        with pytest.raises(BudgetError) as found:
            ask()
        assert found.value.budget is outer
    ask()


def test_threads_have_limits_of_their_own() -> None:
    with limited(Budget(-1)), ThreadPoolExecutor(1) as pool:
        pool.submit(ask).result()


def test_nothing_that_was_interrupted_is_remembered() -> None:
    """A run that ended early leaves nothing behind by which the next one of the same system would be misled."""
    for number in (0, 2, 5, 13):
        system, formula = costly(number)
        for limit in (0.02, 0.1):
            report = verify(system, formula, timeout=limit)
            assert report.verdict is not Verdict.SATISFIED or report.basis
    system = System("clear")
    x, y = system.real("x", -8, 8), system.real("y", -8, 8)
    system.branch("a", {x: clip(x - y / 2, -8, 8), y: clip(y + x / 4, -8, 8)})
    system.branch("b", {x: clip(y / 2, -8, 8)}, when=x + y > 0)
    system.initial(x >= -1, x <= 1, y >= -1, y <= 1)
    formula = "AG^4 (x <= 3 & x + y < 4)"
    expected = verify(system, formula).verdict
    assert expected is not Verdict.UNKNOWN
    for mode in of_bounded():
        for limit in (0.001, 0.003, 0.01, 0.03, 0.1):
            report = verify(system, formula, mode=mode, timeout=limit, tune=in_process(mode))
            assert report.verdict in (Verdict.UNKNOWN, expected), (mode, limit)
        assert verify(system, formula, mode=mode).verdict is expected


def test_reading_the_formula_counts() -> None:
    system, formula = costly(next(n for n in range(99) if KINDS[n % len(KINDS)].__name__ == "flat_text"))
    report = verify(system, formula, timeout=0.05)
    assert (report.verdict, report.reason) == (Verdict.UNKNOWN, "time")
    assert report.formula == formula == report.asked.formula
    assert report.to_json()["reason"] == "time"


def test_garbage_is_collected_as_before_afterwards() -> None:
    before, within = gc.get_threshold(), []

    @seldom_collected
    def fails() -> None:
        within.append(gc.get_threshold())
        raise ValueError("once")

    with pytest.raises(ValueError, match="once"):
        fails()
    assert gc.get_threshold() == before
    assert all(a >= b for a, b in zip(within[0], before, strict=True))
    assert within[0] != before


def test_garbage_is_collected_as_before_after_the_last_of_two_threads() -> None:
    """The first to begin ends first; the other one had read what the first had set."""
    before, began, ends = gc.get_threshold(), (Event(), Event()), (Event(), Event())

    @seldom_collected
    def work(number: int) -> tuple[int, int, int]:
        began[number].set()
        assert ends[number].wait(10)
        return gc.get_threshold()

    with ThreadPoolExecutor(2) as pool:
        going = []
        for number in range(2):
            going.append(pool.submit(work, number))
            assert began[number].wait(10)
        ends[0].set()
        going[0].result()
        ends[1].set()
        assert going[1].result() != before
    assert gc.get_threshold() == before
