"""Conditions of a formula as gates over a netlist: names, bits of words, comparisons of whole numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from math import lcm

from venmas.checker.netlists.gates import TRUE, Bits, Blaster
from venmas.checker.netlists.netlist import Netlist, signed
from venmas.errors import InputError
from venmas.logic.formula import And, Atom, Bottom, Formula, Not, Or, Top
from venmas.logic.linear import Comparison, Relation
from venmas.logic.paths import Leaf, Proposition

_BIT = re.compile(r"(.+)\[(\d{1,9})\]")


def lines_of(net: Netlist, atoms: Iterable[Leaf]) -> list[int]:
    """The lines whose values the atoms are about. Raises `InputError` for names that are not there."""
    names = [one for atom in atoms for one in _names(atom)]
    return list(dict.fromkeys(line for name in names for line in net.names[_word(net, name)[0]]))


def truth(gates: Blaster, net: Netlist, values: Mapping[int, Bits], formula: Formula) -> int:
    """The literal of a formula without temporal operators, where the lines of its names have these values."""
    match formula:
        case Top() | Bottom():
            return TRUE if isinstance(formula, Top) else -TRUE
        case Not(operand):
            return -truth(gates, net, values, operand)
        case And(operands):
            return gates.all_of([truth(gates, net, values, one) for one in operands])
        case Or(operands):
            return -gates.all_of([-truth(gates, net, values, one) for one in operands])
        case Proposition(name):
            word = _signal(net, values, name)
            if len(word) != 1:
                raise InputError(f"{name} has {len(word)} bits and is no condition")
            return word[0]
        case Atom(comparison):
            return _comparison(gates, net, values, comparison)
        case _:
            raise InputError(f"{formula} is no condition about one state")


def _names(atom: Leaf) -> Sequence[str]:
    return [atom.name] if isinstance(atom, Proposition) else [name for name, _ in atom.comparison.expr.terms]


def _word(net: Netlist, name: str) -> tuple[str, int | None]:
    if name in net.names:
        return name, None
    match = _BIT.fullmatch(name)
    if match is None or match[1] not in net.names:
        raise InputError(f"the netlist has no signal {name[:60]!r}")
    return match[1], int(match[2])


def _signal(net: Netlist, values: Mapping[int, Bits], name: str) -> Bits:
    word, bit = _word(net, name)
    numbers = [signed(values, line) for line in net.names[word]]
    if any(one != numbers[0] for one in numbers):
        raise InputError(f"the netlist gives the name {word[:60]!r} to several words")
    if bit is None:
        return numbers[0]
    if bit >= len(numbers[0]):
        raise InputError(f"{name[:60]}: there are {len(numbers[0])} bits")
    return [numbers[0][bit]]


def _comparison(gates: Blaster, net: Netlist, values: Mapping[int, Bits], comparison: Comparison) -> int:
    """Sums of either side, in so many bits that nothing wraps around."""
    expr = comparison.expr
    scale = lcm(expr.constant.denominator, *(value.denominator for _, value in expr.terms))
    terms = [(int(weight * scale), _signal(net, values, name)) for name, weight in expr.terms]
    terms.append((int(expr.constant * scale), [TRUE]))
    less, equal = ordered(gates, [(w, t) for w, t in terms if w > 0], [(-w, t) for w, t in terms if w < 0])
    match comparison.relation:
        case Relation.LT | Relation.GE:
            return less if comparison.relation is Relation.LT else -less
        case Relation.EQ | Relation.NE:
            return equal if comparison.relation is Relation.EQ else -equal
        case Relation.LE | Relation.GT:
            above = gates.both(-less, -equal)
            return -above if comparison.relation is Relation.LE else above


Terms = Sequence[tuple[int, Bits]]
"""Weights, not negative, and words."""


def ordered(gates: Blaster, left: Terms, right: Terms) -> tuple[int, int]:
    """The literals of left < right and of left == right, weighted sums of unsigned words."""
    width = max(1, greatest(left).bit_length(), greatest(right).bit_length())
    sides = [weighted(gates, side, width) for side in (left, right)]
    return gates.word("ult", sides)[0], gates.word("eq", sides)[0]


def greatest(terms: Terms) -> int:
    """The greatest value that a sum may have."""
    return sum(weight * ((1 << len(word)) - 1) for weight, word in terms)


def weighted(gates: Blaster, terms: Terms, width: int) -> Bits:
    """A sum, modulo 2^width."""
    total = gates.constant(0, width)
    for weight, word in terms:
        if len(word) == 1:
            one = [word[0] if weight >> at & 1 else -TRUE for at in range(width)]
        else:
            one = (word + [-TRUE] * width)[:width]
            one = one if weight == 1 else gates.word("mul", [one, gates.constant(weight, width)])
        total = gates.word("add", [total, one])
    return total
