"""Noise of many steps in tubes: an input of each step, held, proved and refuted, with certificates."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from venmas import verify
from venmas.answer import Violated
from venmas.bounds.affine.tube import Tube
from venmas.budget import Budget
from venmas.checker.file import check_certificate
from venmas.checker.format.numbers import CheckError
from venmas.model import System, clip
from venmas.model.evaluation.cuts import Fineness
from venmas.procedure import Run
from venmas.procedures.flowpipes.plan import Failed
from venmas.procedures.flowpipes.procedure import FLOWPIPES, FlowpipeSearch
from venmas.procedures.flowpipes.refine import Part, Refining
from venmas.procedures.flowpipes.tree import Tree
from venmas.question import Question, drawn_for, read_property

Q = Fraction


def gap() -> System:
    """A distance that a clipped control keeps, under two noises."""
    system = System("gap")
    d, v = system.real("d", -50, 50), system.real("v", -50, 50)
    push, error = system.disturbance("push", -Q(1, 10), Q(1, 10)), system.disturbance("error", -Q(1, 20), Q(1, 20))
    control = clip(-(d + error) / 2 - v, -4, 4)
    system.branch("go", {d: d + v / 4, v: v + (control + push) / 4})
    system.initial(d >= -Q(1, 2), d <= Q(1, 2), v >= -Q(1, 4), v <= Q(1, 4))
    return system


def extreme(steps: int) -> float:
    """The greatest distance, exactly: the loop is linear while the control is not clipped, noise at its ends."""
    a = np.array([[1, 0.25], [-0.125, 0.75]])
    pushes = [np.array([0, 0.025]), np.array([0, -0.125 * 0.05])]
    row, most, noise = np.array([1.0, 0.0]), 0.0, 0.0
    for _ in range(steps):
        noise += sum(abs(row @ b) for b in pushes)
        row = row @ a
        most = max(most, noise + abs(row[0]) / 2 + abs(row[1]) / 4)
    return most


@pytest.mark.parametrize("steps", [30, 100, 200])
def test_both_sides_of_the_exact_threshold(steps: int, tmp_path: Path) -> None:
    """Some 1e-6 above the greatest distance there is a certificate, below it a run."""
    at = Q(round(extreme(steps) * 10**6), 10**6)
    proof = tmp_path / "proof"
    report = verify(gap(), f"AG^{steps} (d < {at + Q(1, 10**5)})", timeout=60, certificate=proof)
    assert report.satisfied and report.basis == "exact", str(report)
    assert check_certificate(proof, gap()).leaves >= 1
    other = System("gap")
    with pytest.raises(CheckError):
        check_certificate(proof, other)


def test_violations_are_looked_for_before_whether_runs_stay_in_their_box() -> None:
    """Half of what is reached is met by sampled noise, at the first look, where a proof is asked for as well."""
    system = gap()
    system.initial(system.nodes_by_name["d"] == 0)
    asked = read_property(system, f"AG^100 (d < {Q(round(extreme(100) * 500), 1000)})")
    question = Question(drawn_for(system, asked), asked, certified=True)
    assert isinstance(FLOWPIPES.start(question, Run()).advance(Budget(60)), Violated)


def test_noise_of_later_steps_has_no_symbols_and_is_held() -> None:
    """Of a hundred steps: no more forms than variables, and all sampled runs inside."""
    system = gap()
    asked = read_property(system, "AG^100 d < 9")
    question = Question(drawn_for(system, asked), asked)
    search: FlowpipeSearch = FLOWPIPES
    assert search.accepts(question, Run()) is None
    box = {name: (decl.lower, decl.upper) for name, decl in question.system.variables.items()}
    noise = {"push": Q(1, 10), "error": Q(1, 20)}
    box |= {n: (-noise[n.partition("@")[0]], noise[n.partition("@")[0]]) for n in box if n.partition("@")[0] in noise}
    box |= {"d": (-Q(1, 2), Q(1, 2)), "v": (-Q(1, 4), Q(1, 4))}
    tube = Tube(question.system, [box], Fineness(4, 1, 1, 20))
    assert set(tube.state) == {"d", "v", "push", "error"}
    rng = np.random.default_rng(1)
    d, v = rng.uniform(-0.5, 0.5, 500), rng.uniform(-0.25, 0.25, 500)
    for _ in range(100):
        push, error = (rng.choice([-1.0, 1.0], 500) * float(noise[n]) for n in ("push", "error"))
        d, v = d + v / 4, v + (np.clip(-(d + error) / 2 - v, -4, 4) + push) / 4
        tube.advance()
        (low, high), (least, most) = tube.ends()["d"], tube.ends()["v"]
        assert (low[0] <= d).all() and (d <= high[0]).all() and (least[0] <= v).all() and (v <= most[0]).all()
    assert tube.ring.symbols < 300


def test_states_are_cut_before_noise() -> None:
    """Though the noise of one step moves what is open more; noise alone is cut all the same."""
    fine = Fineness(4, 1, 1, 20)
    box = {name: (Q(0), Q(1)) for name in ("x", "w", "w@1")}
    refining = Refining([fine], lambda *_: True)

    def cut(x: float) -> object:
        moves = np.array([x, 0.3, 0.6])
        return refining.after(Part(Tree(box), 0, box), Failed(2, ["x", "w", "w@1"], 1.0, moves, 0.0, False, False))

    assert (cut(0.1), cut(0.0)) == ("x", "w@1")
