"""The truth of a formula in all states that are reached, as a proof and the lines of its certificate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from venmas.answer import IncompleteError
from venmas.checker.format.rule import Rule
from venmas.checker.levels.labels import ahead
from venmas.logic import TRUE, fixpoints
from venmas.model.system.system import System
from venmas.procedures.explicit.evaluate import explore as explore
from venmas.procedures.explicit.graph.graph import StateGraph
from venmas.procedures.explicit.graph.labels import NEVER, Labels
from venmas.procedures.explicit.levels import listed
from venmas.procedures.explicit.states.integers import NotExplicitError
from venmas.question import Question

_FEW = 2_000_000
"""States times parts of a bounded formula that look ahead, up to which a proof lists them."""


@dataclass(frozen=True)
class LabelsProof:
    """graph: of the states that are reached, of the system itself or an exact slice of it, and all its transitions."""

    graph: StateGraph
    kind: ClassVar[str] = "labels"

    def lines(self, question: Question, tick: Callable[[], None]) -> Iterator[Rule]:
        """All states, each with the levels of the parts that look ahead. Raises `IncompleteError`.

        Those of the whole system are found anew where a slice of it was enough: the checker slices nothing.
        """
        system, core = question.system, fixpoints(question.asked.formula)
        if question.semantics != "real":
            raise IncompleteError("levels of states are about networks as real functions")
        if system.quantities:
            raise IncompleteError("levels of states are about systems without quantities")
        try:
            graph = self.graph if self.graph.system is system else _closed(system, tick)
            labels = Labels(graph, core, tick)
        except NotExplicitError:
            raise IncompleteError("the whole system has too many states to list them") from None
        table = [
            labels.ranks[part] if part in labels.ranks else np.where(labels.truth[part], 0, NEVER)
            for part in ahead(core)
        ]
        yield from listed(
            system, graph.states(0, graph.count), np.array(table, np.int32).reshape(-1, graph.count), tick
        )


def bounded_proof(question: Question, tick: Callable[[], None]) -> LabelsProof | None:
    """A proof of a bounded property that was decided by fewer steps: all states that are ever reached, if they are few
    and in the declared box."""
    if question.system.initial_condition is not TRUE:
        return None
    try:
        graph = _closed(question.system, tick, _FEW // max(1, len(ahead(fixpoints(question.asked.formula)))))
    except (NotExplicitError, IncompleteError):
        return None
    return LabelsProof(graph)


def _closed(system: System, tick: Callable[[], None], limit: int | None = None) -> StateGraph:
    graph = StateGraph(system, tick, True) if limit is None else StateGraph(system, tick, True, limit)
    while graph.expand():
        pass
    if graph.left is not None:
        raise IncompleteError("a run of the whole system leaves its declared box")
    return graph
