"""Sets of states that are reached in a step: not too many of them.

Where there is one branch, a set with open choices is followed as one by what these give in all, if there were too many
else. Where there are several branches, sets that are near each other become one.

A joined set has all states of those that it is made of, whatever they are: over as many symbols, the middle of each
coefficient, and as radius the greatest sum of what one of them is off in centre and coefficients and of its radius.
They are told apart as a k-d tree tells points apart: the group of greatest spread is halved, across the variable in
which it is widest as a part of all of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from venmas.checker.flowpipes.forms import Form, Forms, between
from venmas.checker.flowpipes.state import States
from venmas.model.system.disturbances import ahead
from venmas.model.system.parts import Branch

_PARTS = 1 << 40


def spread(first: States, steps: int, most: int) -> None:
    """Follow a set for some steps, with at most so many sets after each."""
    layer, branches = [first], first.system.branches
    if len(branches) == 1:
        _forked(first, branches[0], steps, most)
        return
    for _ in range(steps):
        taken = [(states, b) for states in layer for b in branches if states.truth(b.guard) is not False]
        found = [after for states, b in taken for after in states.after(b)]
        made = {id(states): states for states in found}
        for group in _near(found, most) if len(found) > most else ():
            made.update(dict.fromkeys(map(id, group), group[0] if len(group) == 1 else _joined(group)))
        for states, b in taken:
            states.take(b, list({id(s): s for s in (made[id(after)] for after in states.after(b))}.values()))
        layer = list({id(states): states for states in made.values()}.values())


def _forked(first: States, branch: Branch, steps: int, most: int) -> None:
    """The same along one branch: sets are never joined."""
    layer = [first]
    for _ in range(steps):
        left, after = most - len(layer), list[States]()
        for states in layer:
            if states.truth(branch.guard) is False:
                continue
            after += (found := states.follow(branch, 1 + max(left, 0)))
            left -= len(found) - 1
        layer = after


def _near(sets: Sequence[States], most: int) -> list[list[States]]:
    """So many groups, or fewer where that tells all of them apart."""
    names = list(sets[0].system.variables)
    ends = [[s.forms[n].range for s in sets] for n in names]
    whole = [max(high for _, high in pairs) - min(low for low, _ in pairs) + 1 for pairs in ends]

    def widest(group: Sequence[States]) -> tuple[int, int]:
        """The greatest spread of centres, and of which variable."""
        centres = [[s.forms[n].c for s in group] for n in names]
        return max(((max(c) - min(c)) * _PARTS // w, i) for i, (c, w) in enumerate(zip(centres, whole, strict=True)))

    groups = [(widest(sets), list(sets))]
    while len(groups) < most:
        groups.sort(key=lambda group: group[0])
        (size, index), group = groups[-1]
        if not size:
            break
        centres = [s.forms[names[index]].c for s in group]
        middle = (min(centres) + max(centres)) // 2  # below the greatest one
        halves = [[s for s, c in zip(group, centres, strict=True) if (c > middle) is above] for above in (False, True)]
        groups[-1:] = [(widest(half), half) for half in halves]
    return [group for _, group in groups]


def _joined(group: Sequence[States]) -> States:
    """One set with all states of several: the middle of every coefficient, and how far they are from it at most."""
    one, count = group[0], max(s.symbols for s in group)
    ring, forms = Forms(one.ring.bits, count), {}
    for name in one.system.variables:
        rows = [(s.forms[name].c, *s.forms[name].g, *(0,) * (count - len(s.forms[name].g))) for s in group]
        middle = [(min(column) + max(column)) // 2 for column in zip(*rows, strict=True)]
        off = [
            s.forms[name].e + sum(abs(a - b) for a, b in zip(row, middle, strict=True))
            for s, row in zip(group, rows, strict=True)
        ]
        ends = [s.forms[name].range for s in group]
        known = min(low for low, _ in ends), max(high for _, high in ends)
        form = Form(middle[0], tuple(middle[1:]), max(off), known)
        forms[name] = between(*known) if ahead(name) else ring.fresh(form)
    return one.having(forms, ring.symbols)
