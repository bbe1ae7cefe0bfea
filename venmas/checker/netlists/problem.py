"""Proof obligations as gates: initiation and consecution of an invariant; a rank falls and does not rise.

Of a step from s to s' under a letter, along an edge from q to q' of a component:

    J_q(s),   the letter has the edge's label,   the letter after it that of some edge of the component that leaves q',
    both meet the constraints,   V_q(s) - [the edge is strict] < V_q'(s')

is met by none. A run that stays in the component takes one of the edges that leave q' next.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from venmas.checker.format.header import Claim
from venmas.checker.netlists.automata import breaking, components
from venmas.checker.netlists.gates import TRUE, Bits, Blaster
from venmas.checker.netlists.letters import greatest, lines_of, ordered, truth
from venmas.checker.netlists.netlist import Netlist, read, signed
from venmas.checker.netlists.refutation import Question
from venmas.checker.netlists.rules import Automaton, Invariant, Rank
from venmas.checker.netlists.simulation import Edge
from venmas.errors import InputError
from venmas.logic.formula import Formula
from venmas.logic.ltl_parser import parse_ltl
from venmas.logic.paths import leaves

MOST_GATES = 1_000_000
"""Most gates of one question."""


@dataclass(frozen=True)
class Over:
    """A netlist over registers of another one, by the numbers of their lines, which are the symbols of its states."""

    net: Netlist
    registers: Mapping[int, int]

    def __call__(self, gates: Blaster, values: Mapping[int, Bits]) -> list[Bits]:
        """Its outputs where the registers have these values."""
        known = {state: values[register] for state, register in self.registers.items()}
        return self.net.evaluate(gates, known, self.net.outputs)


@dataclass
class _Step:
    """One step: values of lines now and a step later, the leaves and registers first of all."""

    gates: Blaster
    now: dict[int, Bits]
    later: dict[int, Bits]
    assumed: list[int]


class Problem:
    """A claim and the automaton that its proof is about. Raises `InputError` where they do not fit."""

    def __init__(self, claim: Claim, netlist: str, automaton: Automaton) -> None:
        self.net = read(netlist, "the netlist")
        if self.net.fair:
            raise InputError("the netlist has `fair` lines, which would be assumptions that the claim does not name")
        self.initial = None if claim.initial is None else parse_ltl(claim.initial)
        self.states, self.marks = automaton.states, automaton.marks
        self.atoms, self.edges = breaking(automaton, claim.formula, claim.fair, parse_ltl)
        self._letters = lines_of(self.net, self.atoms)

    def over(self, text: str, what: str) -> Over:
        """Read a netlist over registers. Raises `InputError`."""
        net = read(text, what)
        registers = {}
        for symbol, numbers in net.names.items():
            if not (symbol.isascii() and symbol.isdigit() and len(symbol) < 18 and int(symbol) in self.net.states):
                raise InputError(f"{what}: {symbol[:40]!r} is no line of a register")
            for number in numbers:
                if number not in net.states or net.width(number) != self.net.width(int(symbol)):
                    raise InputError(f"{what}: line {number} is no register of the width of line {symbol}")
                registers[number] = int(symbol)
        if net.inputs or registers.keys() != set(net.states):
            raise InputError(f"{what}: it is about registers, each with the number of its line as its symbol")
        return Over(net, registers)

    def invariant(self, line: Invariant) -> Over:
        """Conditions in each state of the automaton. Raises `InputError`."""
        holds = self.over(line.holds, "the invariant")
        if len(holds.net.outputs) != self.states or any(holds.net.width(one) != 1 for one in holds.net.outputs):
            raise InputError("an invariant has an output of one bit for each state of the automaton")
        return holds

    def begins(self, holds: Over) -> Question:
        """An initial state (any, in a proof from every state) that the first state's invariant leaves out.

        What a condition of initial states reads of inputs is read of those of the first step.
        """
        net = self.net
        roots = [*holds.registers.values(), *net.constraints]
        given: list[Formula] = [] if self.initial is None else [self.initial]
        roots += lines_of(net, [atom for one in given for atom in leaves(one)])
        prescribed: set[int] = set()
        while self.initial is not None:
            more = {leaf for leaf in net.leaves(roots) if leaf in net.init} - prescribed
            if not more:
                break
            prescribed |= more
            roots += [net.init[state] for state in sorted(more)]
        gates = Blaster(MOST_GATES)
        known = {leaf: gates.leaf(net.width(leaf)) for leaf in net.leaves(roots)}
        values = _valued(net, gates, known, roots)
        same = [gates.word("eq", [known[s], signed(values, net.init[s])])[0] for s in sorted(prescribed)]
        guards = [*same, *(truth(gates, net, values, one) for one in given), *self._constraints(values)]
        return Question(gates, (*guards, -holds(gates, known)[0][0]), len(guards))

    def keeps(self, number: int, holds: Over) -> Question:
        """A step along an edge after which the invariant does not hold."""
        edge = self.edges[number]
        step = self._step(holds.registers.values())
        guards = [holds(step.gates, step.now)[edge.source][0], self._label(step.gates, step.now, edge), *step.assumed]
        return Question(step.gates, (*guards, -holds(step.gates, step.later)[edge.target][0]), len(guards))

    def rises(self, number: int, within: Sequence[int], rank: Rank, neurons: Over, holds: Over | None) -> Question:
        """A step along an edge with which a rank does not fall as it must, of a run that stays `within` these edges.

        Raises `InputError` for a rank of another shape.
        """
        edge, gates_of = self.edges[number], [self.edges[one] for one in within]
        used = [*neurons.registers.values(), *(holds.registers.values() if holds else ())]
        step = self._step(used)
        gates = step.gates
        touched = sorted({one.source for one in gates_of} | {one.target for one in gates_of})
        if len(rank.weights) != len(touched) or any(len(row) != len(neurons.net.outputs) for row in rank.weights):
            raise InputError("a rank has a weight of each neuron for each state of the automaton that its edges touch")
        here, there = (
            [
                (weight, word)
                for weight, word in zip(rank.weights[touched.index(q)], neurons(gates, values), strict=True)
            ]
            for q, values in ((edge.source, step.now), (edge.target, step.later))
        )
        left = [(w, word) for w, word in here if w > 0] + [(-w, word) for w, word in there if w < 0]
        right = [(w, word) for w, word in there if w > 0] + [(-w, word) for w, word in here if w < 0]
        if number in rank.strict:
            right.append((1, [TRUE]))
        if max(greatest(left), greatest(right)).bit_length() > rank.width:
            raise InputError(f"sums of this rank do not fit into {rank.width} bits")
        stays = [self._label(gates, step.later, one) for one in gates_of if one.source == edge.target]
        guards = [self._label(gates, step.now, edge), -gates.all_of([-one for one in stays]), *step.assumed]
        if holds is not None:
            guards.append(holds(gates, step.now)[edge.source][0])
        return Question(gates, (*guards, ordered(gates, left, right)[0]), len(guards))

    def components(self, edges: Iterable[int]) -> list[tuple[int, ...]]:
        """The strongly connected parts of some edges that meet every acceptance set, in order."""
        return components(self.states, self.marks, self.edges, edges)

    @cached_property
    def _ahead(self) -> list[int]:
        return [leaf for leaf in self.net.leaves([*self._letters, *self.net.constraints]) if leaf in self.net.states]

    def _step(self, registers: Iterable[int]) -> _Step:
        net, gates = self.net, Blaster(MOST_GATES)
        used = set(registers)
        following = sorted(used | set(self._ahead))
        letter = [*self._letters, *net.constraints]
        roots = [*letter, *(net.next[state] for state in following if state in net.next)]
        known = {leaf: gates.leaf(net.width(leaf)) for leaf in sorted(used | set(net.leaves(roots)))}
        now = _valued(net, gates, known, roots)
        after = {
            state: signed(now, net.next[state]) if state in net.next else gates.leaf(net.width(state))
            for state in following
        }
        after |= {leaf: gates.leaf(net.width(leaf)) for leaf in net.leaves(letter) if leaf not in after}
        later = _valued(net, gates, after, letter)
        return _Step(gates, now, later, [*self._constraints(now), *self._constraints(later)])

    def _constraints(self, values: Mapping[int, Bits]) -> list[int]:
        return [signed(values, one)[0] for one in self.net.constraints]

    def _label(self, gates: Blaster, values: Mapping[int, Bits], edge: Edge) -> int:
        cared = [at for at in range(len(self.atoms)) if edge.care >> at & 1]
        literals = [truth(gates, self.net, values, self.atoms[at]) for at in cared]
        return gates.all_of([one if edge.value >> at & 1 else -one for at, one in zip(cared, literals, strict=True)])


def _valued(net: Netlist, gates: Blaster, known: Mapping[int, Bits], roots: Sequence[int]) -> dict[int, Bits]:
    """The literals of lines by their numbers, signs taken off."""
    lines = [abs(root) for root in roots]
    return {**known, **dict(zip(lines, net.evaluate(gates, known, lines), strict=True))}
