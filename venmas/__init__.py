"""Verifier for neural agents in non-deterministic environments, against CTL, with bounds or for ever.

``from venmas import System, verify`` is where scripts begin; names are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from venmas._posix import require_posix
from venmas._version import __version__

if TYPE_CHECKING:
    from venmas.abstraction.graph.graph import abstract
    from venmas.engine.ltl import LtlReport
    from venmas.engine.ltl_door import verify_ltl
    from venmas.engine.ltl_systems import SystemLtlReport
    from venmas.engine.plural import verify_all
    from venmas.engine.reach import reach
    from venmas.engine.reach_sets import ReachSets
    from venmas.engine.report import Report, Verdict
    from venmas.engine.results import Results
    from venmas.engine.verify import verify
    from venmas.formats.jani.load import load_jani
    from venmas.logic import parse
    from venmas.model import System, load_scenario
    from venmas.nn import Network, load_network

_HOMES = {
    "LtlReport": "venmas.engine.ltl",
    "Network": "venmas.nn",
    "ReachSets": "venmas.engine.reach_sets",
    "Report": "venmas.engine.report",
    "Results": "venmas.engine.results",
    "System": "venmas.model",
    "SystemLtlReport": "venmas.engine.ltl_systems",
    "Verdict": "venmas.engine.report",
    "abstract": "venmas.abstraction.graph.graph",
    "load_jani": "venmas.formats.jani.load",
    "load_network": "venmas.nn",
    "load_scenario": "venmas.model",
    "parse": "venmas.logic",
    "reach": "venmas.engine.reach",
    "verify": "venmas.engine.verify",
    "verify_all": "venmas.engine.plural",
    "verify_ltl": "venmas.engine.ltl_door",
}

__all__ = [
    "LtlReport",
    "Network",
    "ReachSets",
    "Report",
    "Results",
    "System",
    "SystemLtlReport",
    "Verdict",
    "__version__",
    "abstract",
    "load_jani",
    "load_network",
    "load_scenario",
    "parse",
    "reach",
    "verify",
    "verify_all",
    "verify_ltl",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        require_posix()
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
