"""Gradient learner: ranking networks trained until no sample is wrong, then made of integers and proved.

    samples: steps of each edge along random trajectories        loss: mean of max(0, V_q'(s') - V_q(s) + margin)
    until the loss is exactly 0:  AdamW, one state of the automaton at a time
    integers: the coarsest scale that is right on all samples, then what is not needed left out, and the rest rounded;
              or fixed-point numbers with arithmetic shifts
    each edge: is there a step on which the rank does not fall as it must? then it is a new sample, and on with training

Giacobbe, Kroening, Pal, Tautschnig, *Neural Model Checking*, NeurIPS 2024. PyTorch is imported here only.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import ModuleType

from venmas.budget import Budget
from venmas.errors import SolverUnavailableError, install
from venmas.logic.automata.automaton import Edge
from venmas.model.circuit.operators import words
from venmas.model.circuit.smt import Smt
from venmas.procedures.netlist.mining import Pool, control_registers
from venmas.procedures.netlist.step import Goal, step_of
from venmas.procedures.ranking.learn import Figures, Network
from venmas.procedures.ranking.obligations.obligations import Obligations
from venmas.procedures.ranking.obligations.queries import Queries
from venmas_learners.dense import Dense, pool_of
from venmas_learners.sampling import Samples, steps_of
from venmas_learners.shifts import Shifted, shifted_pool
from venmas_learners.simpler import simpler
from venmas_learners.training import ATTEMPTS, Architecture, Trainer
from venmas_learners.trajectories import trajectories

LEVEL = 4
"""What reports call networks of this learner, after the levels of mined neurons."""
_ATTEMPTS, _ROUNDS = len(ATTEMPTS), 60
_SCALES = range(1, 15)
DEFAULT = Architecture()


def rank(goal: Goal, budget: Budget, figures: Figures, seed: int = 0, kind: Architecture = DEFAULT) -> Network | None:
    """A trained network that falls on every strict edge and rises on none. Raises `BudgetError`.

    Raises `SolverUnavailableError` where PyTorch is not installed.
    """
    torch = _torch()
    step = step_of(goal.circuit, goal.letters)
    smt = Smt(step.builder)
    empty = Obligations(goal, step, pool_of(goal.circuit, {})[0])
    samples = trajectories(goal, step, {edge: empty.taken(edge) for edge in goal.edges}, seed)
    control = control_registers(goal.circuit)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # what is computed is too small for more: they would wait for each other
    try:
        for attempt in range(_ATTEMPTS):
            trainer = Trainer(torch, goal, kind, samples, seed + attempt)
            for _ in range(_ROUNDS):
                if not trainer.train(samples, budget):
                    break
                made = _integers(trainer, samples, goal, kind)
                if made is None:
                    trainer.margin *= 2  # too small a fall for integers of these scales
                    continue
                pool, weights = made
                figures.rounds += 1
                found = Queries(Obligations(goal, step, pool), smt, control).failures(weights, budget)
                if isinstance(found, str):
                    figures.levels.append(f"gradient: {found}")
                    break
                if not found:
                    return Network(weights, pool, LEVEL)
                figures.samples += len(found)
                for edge, values in found:
                    one = {node: words([value], step.builder.width(node)) for node, value in values.items()}
                    samples[edge].add(steps_of(step, one))
        figures.levels.append(f"gradient: no network in {_ATTEMPTS} attempts")
        return None
    finally:
        torch.set_num_threads(threads)
        figures.queries += smt.queries
        figures.smt_seconds += smt.seconds


VARIANTS = {
    "3-2": Architecture((3, 2)),
    "5-3": Architecture((5, 3)),
    "15-8": Architecture((15, 8)),
    "extl": Architecture(extra=True),
    "mono": Architecture(mono=True),
    "shifts": Architecture(shifts=True),
}
"""Learners ``gradient-NAME``: those of the paper's Table 4, and its quantisation."""
small, medium, large, extra, mono, shifts = (partial(rank, kind=kind) for kind in VARIANTS.values())


def _integers(
    trainer: Trainer, samples: Mapping[Edge, Samples], goal: Goal, kind: Architecture
) -> tuple[Pool, dict[int, tuple[int, ...]]] | None:
    """The networks in integers, on the coarsest scale on which they are right on the samples."""
    if kind.shifts:
        for places in _SCALES:
            cut = {state: trainer.shifted(state, places) for state in goal.states}
            if _right(cut, samples, goal):
                return shifted_pool(goal.circuit, cut)
        return None
    for places in _SCALES:
        ranks = {state: trainer.dense(state, places) for state in goal.states}
        if _right(ranks, samples, goal):
            widths = [goal.circuit.width(node) for node in goal.circuit.registers]
            return pool_of(goal.circuit, simpler(ranks, lambda tried: _right(tried, samples, goal), widths))
    return None


def _right(ranks: Mapping[int, Dense] | Mapping[int, Shifted], samples: Mapping[Edge, Samples], goal: Goal) -> bool:
    """Do integer ranks fall on all samples as they must, exactly?"""
    return all(
        (ranks[e.source].values(one.before) - int(e in goal.strict) >= ranks[e.target].values(one.after)).all()
        for e, one in samples.items()
    )


def _torch() -> ModuleType:
    try:
        import torch
    except ImportError as error:
        raise SolverUnavailableError(
            f"the gradient learner needs PyTorch, which is not installed: {install('train')}; or leave --learner out"
        ) from error
    module: ModuleType = torch
    return module
