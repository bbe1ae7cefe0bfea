"""Verifier for neural agents in non-deterministic environments, against CTL and LTL.

``from venmas import System, verify`` is where scripts begin; names are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from venmas._version import __version__
from venmas.runtime.platform import require_posix

if TYPE_CHECKING:
    from venmas.engine.deployed import verify_both
    from venmas.engine.plural import verify_all
    from venmas.engine.reach.reach import reach
    from venmas.engine.reach.sets import ReachSets
    from venmas.engine.report import Report, Verdict
    from venmas.engine.results import Results
    from venmas.engine.subjects import load_circuit
    from venmas.engine.verify import verify
    from venmas.formats.jani.load import load_jani
    from venmas.logic import parse
    from venmas.model import System, load_scenario
    from venmas.nn import Network, load_network, load_recurrent
    from venmas.procedures.predicate_abstraction.graph.graph import abstract

_HOMES = {
    "Network": "venmas.nn",
    "ReachSets": "venmas.engine.reach.sets",
    "Report": "venmas.engine.report",
    "Results": "venmas.engine.results",
    "System": "venmas.model",
    "Verdict": "venmas.engine.report",
    "abstract": "venmas.procedures.predicate_abstraction.graph.graph",
    "load_circuit": "venmas.engine.subjects",
    "load_jani": "venmas.formats.jani.load",
    "load_network": "venmas.nn",
    "load_recurrent": "venmas.nn",
    "load_scenario": "venmas.model",
    "parse": "venmas.logic",
    "reach": "venmas.engine.reach.reach",
    "verify": "venmas.engine.verify",
    "verify_all": "venmas.engine.plural",
    "verify_both": "venmas.engine.deployed",
}

__all__ = [
    "Network",
    "ReachSets",
    "Report",
    "Results",
    "System",
    "Verdict",
    "__version__",
    "abstract",
    "load_circuit",
    "load_jani",
    "load_network",
    "load_recurrent",
    "load_scenario",
    "parse",
    "reach",
    "verify",
    "verify_all",
    "verify_both",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        require_posix()
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
