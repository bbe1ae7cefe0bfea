"""What a report says of where its system came from, which only the command line knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from venmas.cli.options import Loaded
from venmas.cli.subjects import Design

if TYPE_CHECKING:
    from venmas.engine.report import Report


def tell_origin(report: Report, loaded: Loaded | Design, tune: Mapping[str, str]) -> None:
    """Note in a report the scenario that it is about, and the options that no question knows."""
    report.scenario = loaded.name if isinstance(loaded, Design) else loaded.scenario.name
    report.origin = loaded.origin
    if report.asked is not None:
        report.asked = replace(report.asked, options={} if isinstance(loaded, Design) else loaded.reading, tune=tune)
