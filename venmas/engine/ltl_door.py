"""`verify_ltl`: linear temporal logic for systems and for designs of hardware, by one name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import signature
from pathlib import Path
from typing import Any, overload

from venmas.budget import Progress
from venmas.engine.arguments import check_files
from venmas.engine.certificates.trust import Trust
from venmas.engine.ltl import LtlReport, verify_ltl_of_design
from venmas.engine.ltl_systems import SystemLtlReport, verify_ltl_of_system
from venmas.errors import UsageError, did_you_mean
from venmas.logic.formula import Formula
from venmas.model.circuit.nodes import Circuit
from venmas.model.system.given import check_system
from venmas.model.system.system import System
from venmas.procedures.explicit.ltl import Deadlock


@overload
def verify_ltl(
    system: System,
    formula: Formula | str,
    *,
    fair: Iterable[str] = (),
    deadlock: Deadlock = "error",
    certificate: str | Path | None = None,
    journal: str | Path | None = None,
    timeout: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> SystemLtlReport: ...


@overload
def verify_ltl(
    system: Circuit,
    formula: Formula | str,
    *,
    init: str | None = None,
    fair: Iterable[str] = (),
    trust: Trust = "exact",
    certificate: str | Path | None = None,
    learner: str = "auto",
    initial: bool = True,
    journal: str | Path | None = None,
    anew: bool = False,
    timeout: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    design: str = "",
) -> LtlReport: ...


def verify_ltl(system: Any, formula: Formula | str, **options: Any) -> LtlReport | SystemLtlReport:
    """Decide whether every run of a system, or of a design, has a property of LTL for ever (L3 of docs/semantics.md).

    system: a `System` of integers and Booleans, or a design that `venmas.formats.hardware.read` gives. The options are
    those of `verify_ltl_of_system` and `verify_ltl_of_design`; `fair`, `certificate`, `journal`, `timeout` and
    `progress` are options of both. Raises `UsageError` for anything else, and the errors of these two.
    """
    if not isinstance(system, Circuit):
        check_system(system, "verify_ltl")
    about = "designs" if isinstance(system, Circuit) else "systems"
    decide: Callable[..., Any] = verify_ltl_of_design if isinstance(system, Circuit) else verify_ltl_of_system
    known = list(signature(decide).parameters)[2:]
    if odd := [name for name in options if name not in known]:
        raise UsageError(
            f"verify_ltl has no option {odd[0]!r} for {about}{did_you_mean(odd[0], known)}: leave it out; there are "
            f"{', '.join(known)}"
        )
    check_files(options.get("certificate"), options.get("journal"))
    report: LtlReport | SystemLtlReport = decide(system, formula, **options)
    return report
