"""A second opinion: z3 or cvc5, asked of the gates of an obligation what another solver said of its words."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from venmas.checker.netlists.gates import TRUE
from venmas.checker.netlists.refutation import Question
from venmas.errors import SolverUnavailableError, install
from venmas.procedures.linear.netlist import Opinion


def second_solver() -> tuple[str, Opinion]:
    """Name and version of the one that is installed, and how to ask it. Raises `SolverUnavailableError`."""
    for name, ask in (("z3", _z3), ("cvc5", _cvc5)):
        if find_spec(name) is not None:
            api: Any = import_module(name)
            version = api.get_version_string() if name == "z3" else api.__version__
            return f"{name} {version}", lambda question, budget, api=api, ask=ask: ask(api, question, budget.left)
    raise SolverUnavailableError(
        f"--trust two needs z3 or cvc5 beside Bitwuzla, and neither is installed: {install('two')}, or take --trust "
        "exact, which needs no second solver"
    )


def script(question: Question) -> str:
    """The question in SMT-LIB: leaves are declared, gates defined, conditions asserted."""

    def literal(number: int) -> str:
        name = "true" if abs(number) == TRUE else f"v{abs(number)}"
        return name if number > 0 else f"(not {name})"

    leaves, used = question.cone()
    text = [f"(declare-const v{leaf} Bool)" for leaf in leaves]
    for out, joint, a, b in used:
        text.append(f"(define-fun v{out} () Bool ({'and' if joint else 'xor'} {literal(a)} {literal(b)}))")
    return "\n".join([*text, *(f"(assert {literal(one)})" for one in question.conditions), ""])


def _z3(api: Any, question: Question, seconds: float | None) -> bool:
    solver = api.Solver()
    if seconds is not None:
        solver.set("timeout", max(1, int(1000 * seconds)))
    solver.from_string(script(question))
    return bool(solver.check() == api.unsat)


def _cvc5(api: Any, question: Question, seconds: float | None) -> bool:
    solver = api.Solver()
    if seconds is not None:
        solver.setOption("tlimit-per", str(max(1, int(1000 * seconds))))
    parser = api.InputParser(solver)
    parser.setStringInput(api.InputLanguage.SMT_LIB_2_6, f"(set-logic QF_UF)\n{script(question)}", "obligation")
    symbols = parser.getSymbolManager()
    while not (command := parser.nextCommand()).isNull():
        command.invoke(solver, symbols)
    return bool(solver.checkSat().isUnsat())
