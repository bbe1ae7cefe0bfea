"""Intersection of a set of states with a condition: each symbol is kept to its range there.

Where ``c + sum g_i s_i + r >= 0``, whose values are up to u, ``sign(g_i) s_i >= 1 - u / |g_i|``, as all others do their
most at best. So with ``p_i = min(1, u / (2 |g_i|))`` it is ``sign(g_i) (1 - p_i) + p_i t_i`` for a new symbol t_i, as
in the rescaling of Scott et al., *Constrained zonotopes*, Automatica 69, 2016.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from venmas.bounds.affine.forms import Form
from venmas.bounds.affine.step import Values
from venmas.bounds.rounding import FEW, TINY, gamma
from venmas.logic.linear import Relation
from venmas.model.evaluation.cuts import Fineness
from venmas.model.expressions.conditions import All, Compare, Condition

_SIDES = {Relation.GT: (1,), Relation.GE: (1,), Relation.LT: (-1,), Relation.LE: (-1,), Relation.EQ: (1, -1)}


def where(values: Values, condition: Condition, fine: Fineness) -> dict[str, Form]:
    """The variables in the states where a condition holds, and in some others. values: in all of the states."""
    state = dict(values.state)
    parts = [condition]
    while parts:
        match parts.pop():
            case All(more):
                parts += more
            case Compare(expr, relation):
                for side in _SIDES.get(relation, ()):
                    form = Values(values.ring, state, fine, single=values.single).value(expr)
                    state = not_negative(state, Form(side * form.z, form.e))
            case _:
                pass
    return state


def not_negative(state: Mapping[str, Form], guard: Form) -> dict[str, Form]:
    """The forms where another one over the same symbols is not negative."""
    g = guard.z[:, 1:]
    part = guard.ends[1][:, None] / (2 * np.abs(g)) * (1 + FEW)
    part = np.where((part >= 0) & (part < 1), part, 1.0)
    if not (part < 1).any():
        return dict(state)
    shift = np.sign(g) * (1 - part)
    made: dict[str, Form] = {}
    for name, form in state.items():
        k = min(form.z.shape[1] - 1, g.shape[1])
        h, z = form.z[:, 1 : 1 + k], form.z.copy()
        z[:, 1 : 1 + k] = h * part[:, :k]
        z[:, 0] += (h * shift[:, :k]).sum(1)
        moved = ((part[:, :k] < 1) & (h != 0)).any(1)
        rounding = np.where(moved, 2 * gamma(k + 4) * form.mass + TINY, 0.0)
        made[name] = Form(z, form.e + rounding, known=form.known)
    return made
