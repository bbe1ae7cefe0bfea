"""Queries about nodes, asked of the SMT solver Bitwuzla: is there a value of the leaves that makes conditions true?

The only place that imports it. A model that comes back is evaluated by `simulate`, so that nothing rests on how nodes
were written as terms; that there is none rests on the solver alone (`--trust solver`).
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from venmas.budget import ask
from venmas.errors import Reason, SolverUnavailableError, VenmasError, install
from venmas.model.circuit.builder import Builder
from venmas.model.circuit.nodes import needed
from venmas.model.circuit.operators import Op, words
from venmas.model.circuit.simulate import evaluate

_KINDS = {
    Op.NOT: "BV_NOT",
    Op.AND: "BV_AND",
    Op.OR: "BV_OR",
    Op.XOR: "BV_XOR",
    Op.ADD: "BV_ADD",
    Op.SUB: "BV_SUB",
    Op.MUL: "BV_MUL",
    Op.UDIV: "BV_UDIV",
    Op.UREM: "BV_UREM",
    Op.SLL: "BV_SHL",
    Op.SRL: "BV_SHR",
    Op.SRA: "BV_ASHR",
    Op.EQ: "BV_COMP",
    Op.CONCAT: "BV_CONCAT",
    Op.SLICE: "BV_EXTRACT",
    Op.UEXT: "BV_ZERO_EXTEND",
    Op.SEXT: "BV_SIGN_EXTEND",
    Op.REDXOR: "BV_REDXOR",
}
_CONDITIONS = {Op.ULT: "BV_ULT", Op.SLT: "BV_SLT"}


@dataclass(frozen=True)
class Sat:
    """There is one: the values of the leaves (inputs and registers) that the conditions depend on."""

    values: dict[int, int]


@dataclass(frozen=True)
class Unsat:
    """The solver says that there is none."""


@dataclass(frozen=True)
class Undecided:
    """The solver did not say."""

    reason: Reason


class Smt:
    """A solver for the nodes of one builder, which may grow between queries.

    Raises `SolverUnavailableError` where Bitwuzla is not installed.
    """

    def __init__(self, builder: Builder) -> None:
        self._api = _bitwuzla()
        self._builder, self._terms = builder, self._api.TermManager()
        self._known: dict[int, Any] = {}
        self._one = self._terms.mk_bv_value(self._terms.mk_bv_sort(1), 1)
        self.seconds = 0.0
        self.queries = 0

    @property
    def version(self) -> str:
        """Name and version of the solver."""
        return f"Bitwuzla {self._api.version()}"

    def check(self, conditions: Sequence[int], seconds: float | None = None) -> Sat | Unsat | Undecided:
        """Can all these one-bit nodes be 1 at once? Raises `VenmasError` where a model does not fit the nodes."""
        if seconds is not None and seconds <= 0:
            return Undecided(Reason.TIME)
        began = time.monotonic()
        asserted = [self._terms.mk_term(self._api.Kind.EQUAL, [self._term(node), self._one]) for node in conditions]
        made = time.monotonic() - began
        options = self._api.Options()
        options.set(self._api.Option.PRODUCE_MODELS, True)
        if seconds is not None:
            # the solver rewrites all terms before it looks at the clock, which takes longer than to make them
            if (left := seconds - made) <= made:
                return Undecided(Reason.TIME)
            options.set(self._api.Option.TIME_LIMIT_PER, max(1, int(left * 1000)))
        solver = self._api.Bitwuzla(self._terms, options)
        for formula in asserted:
            solver.assert_formula(formula)
        with _interruptible() as stopped:
            solver.configure_terminator(stopped)
            result = solver.check_sat()
        self.queries += 1
        self.seconds += time.monotonic() - began
        if result == self._api.Result.UNSAT:
            return Unsat()
        if result != self._api.Result.SAT:
            return Undecided(Reason.TIME if seconds is not None else Reason.FAILURE)
        nodes = self._builder.nodes
        leaves = [n for n in needed(self._builder, conditions) if nodes[n].op in (Op.INPUT, Op.REGISTER)]
        values = {leaf: int(solver.get_value(self._term(leaf)).value(10)) for leaf in leaves}
        point = {leaf: words([value], nodes[leaf].width) for leaf, value in values.items()}
        if not all(found.all() for found in evaluate(self._builder, point, conditions)):
            raise VenmasError(f"a model of {self.version} does not meet the query: please report it")
        return Sat(values)

    def _term(self, root: int) -> Any:
        for index in needed(self._builder, [root], self._known):
            ask()
            self._known[index] = self._made(index)
        return self._known[root]

    def _made(self, index: int) -> Any:
        node, terms, kind = self._builder.nodes[index], self._terms, self._api.Kind
        args = [self._known[arg] for arg in node.args]
        match node.op:
            case Op.CONST:
                return terms.mk_bv_value(terms.mk_bv_sort(node.width), node.params[0])
            case Op.INPUT | Op.REGISTER:
                return terms.mk_const(terms.mk_bv_sort(node.width), f"{node.op}{node.params[0]}")
            case Op.ITE:
                return terms.mk_term(kind.ITE, [terms.mk_term(kind.EQUAL, [args[0], self._one]), *args[1:]])
            case Op.ULT | Op.SLT:
                zero = terms.mk_bv_value(terms.mk_bv_sort(1), 0)
                return terms.mk_term(
                    kind.ITE, [terms.mk_term(getattr(kind, _CONDITIONS[node.op]), args), self._one, zero]
                )
            case _:
                return terms.mk_term(getattr(kind, _KINDS[node.op]), args, list(node.params))


@contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
    """Whether a signal came, for a solver to ask now and then; its handler is called at the end of the block.

    What a handler raises within a call from the solver would be lost.
    """
    met: list[int] = []
    handlers = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            if callable(handler := signal.getsignal(number)):
                handlers[int(number)] = handler
                signal.signal(number, lambda number, _: met.append(number))
    try:
        yield lambda: bool(met)
    finally:
        for which, handler in handlers.items():
            signal.signal(which, handler)
        for which in met:
            handlers[which](which, None)


def solver_name() -> str:
    """Name and version of the solver. Raises `SolverUnavailableError` where it is not installed."""
    return f"Bitwuzla {_bitwuzla().version()}"


def _bitwuzla() -> ModuleType:
    try:
        import bitwuzla
    except ImportError as error:
        raise SolverUnavailableError(
            f"questions about circuits need the SMT solver Bitwuzla, which is not installed: {install('hardware')}"
        ) from error
    module: ModuleType = bitwuzla
    return module
