"""Every mode decides bundled scenarios as published, and replays what it says is violated."""

import pytest

from venmas import load_scenario, verify
from venmas.engine.modes import MODES
from venmas.engine.report import Verdict

pytestmark = pytest.mark.quick
BOUNDED = {"AX^2 (h > 100 | h < -100)": Verdict.SATISFIED, "AX (h > 131 | h < -131)": Verdict.VIOLATED}
FOR_EVER = {"AG safe": Verdict.SATISFIED, "AG cell[9] < 0.1": Verdict.VIOLATED}


@pytest.mark.parametrize("mode", [name for name, mode in MODES.items() if "bounded" in mode.kinds])
@pytest.mark.parametrize("formula", BOUNDED)
def test_two_seconds_of_the_aircraft(mode: str, formula: str) -> None:
    report = verify(load_scenario("vcas").system(), formula, mode=mode, workers=2)
    assert report.verdict is BOUNDED[formula]
    assert (report.witness is not None) == (report.verdict is Verdict.VIOLATED)


@pytest.mark.parametrize("mode", [name for name, mode in MODES.items() if "always" in mode.kinds])
@pytest.mark.parametrize("formula", FOR_EVER)
def test_the_frozen_lake_for_ever(mode: str, formula: str) -> None:
    report = verify(load_scenario("frozenlake").system(), formula, mode=mode)
    assert report.verdict is FOR_EVER[formula]
    assert (report.witness is not None) == (report.verdict is Verdict.VIOLATED)
