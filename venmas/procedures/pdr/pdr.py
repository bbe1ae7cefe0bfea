"""Property directed reachability: clauses over register bits that keep runs away from states of the automaton.

Bradley, *SAT-based model checking without unrolling*, VMCAI 2011, with the frames of Eén, Mishchenko, Brayton, FMCAD
2011, over the product of a circuit and an automaton. What it finds is proved again by `inductive`, clause by clause;
nothing rests on this search.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from venmas.budget import Budget
from venmas.checker.netlists.gates import Gates
from venmas.logic.automata.automaton import Automaton
from venmas.model.circuit.nodes import Circuit
from venmas.model.circuit.operators import Op
from venmas.procedures.netlist.clauses import Clause, Clauses, Invariant, Literal
from venmas.procedures.netlist.proofs import sat_solver
from venmas.procedures.netlist.step import step_of
from venmas.procedures.pdr.inductive import first_of

Cube = tuple[int, ...]
"""A conjunction of bits: number of the bit, from 1, negative where it is 0."""


def unreachable(
    circuit: Circuit,
    letters: Sequence[int],
    automaton: Automaton,
    states: Iterable[int],
    known: Invariant,
    budget: Budget,
    frames: int,
) -> Clauses | None:
    """Clauses by which, together with those that are known, no run comes to these automaton states.

    known: an inductive invariant; it says from where runs begin. frames: how many at most. None where runs come there,
    or nothing was found. Raises `BudgetError`.
    """
    with _Search(circuit, letters, automaton, known) as search:
        return search.run([search.at(state) for state in states], frames, budget)


class _Search:
    """The frames. Bits are those of the registers, then those of the automaton state."""

    def __init__(self, circuit: Circuit, letters: Sequence[int], automaton: Automaton, known: Invariant) -> None:
        self._circuit, self._automaton, self._step = circuit, automaton, step_of(circuit, letters)
        step, b = self._step, self._step.builder
        width = max(1, (automaton.states - 1).bit_length())
        self._width = width
        place, choice = b.register(width), b.input(max(1, (len(automaton.edges) - 1).bit_length()))
        following, taken = b.const(0, width), b.const(0, 1)
        for number, edge in enumerate(automaton.edges):
            chosen = b.apply(Op.EQ, [choice, b.const(number, b.width(choice))])
            here = b.apply(Op.EQ, [place, b.const(edge.source, width)])
            following = b.apply(Op.ITE, [chosen, b.const(edge.target, width), following])
            taken = b.any_of([taken, b.all_of([chosen, here, step.taken(edge)])])
        registers = [step.before[node] for node in circuit.registers]
        holds = [
            b.any_of([b.not_(b.apply(Op.EQ, [place, b.const(state, width)])), known.node(b, state, registers)])
            for state in known.clauses
        ]
        begins = b.all_of([b.zero(place), *(first_of(circuit, step) if known.initial else [])])
        gates = Gates(b)
        self._now = [bit for node in (*registers, place) for bit in gates.write(node)]
        after = [step.after[node] for node in circuit.registers]
        self._next = [bit for node in (*after, following) for bit in gates.write(node)]
        self._inputs = [bit for node in b.inputs for bit in gates.write(node)]
        # the letter a step later belongs to the step after, but its constraints do not cut runs short here
        possible = gates.write(b.all_of([taken, *step.here]))[0]
        (begun,) = gates.write(begins)
        assumed = [gates.write(node)[0] for node in holds]
        clauses = list(map(list, gates.clauses))
        self._possible = possible
        self._lift = sat_solver(clauses)
        self._solver = sat_solver([*clauses, [possible], *([bit] for bit in assumed)])
        self._start = sat_solver([*clauses, [begun], *([bit] for bit in assumed)])
        self._top = gates.variables
        self._acts = [self._fresh()]
        self._solver.add_clause([-self._acts[0], begun])
        self._frames: list[list[Cube]] = [[]]

    def __enter__(self) -> _Search:
        return self

    def __exit__(self, *_: object) -> None:
        for solver in (self._lift, self._solver, self._start):
            solver.delete()

    def at(self, state: int) -> Cube:
        """All states of the product with this automaton state."""
        first = len(self._now) - self._width
        return tuple((first + bit + 1) * (1 if state >> bit & 1 else -1) for bit in range(self._width))

    def run(self, targets: Sequence[Cube], frames: int, budget: Budget) -> Clauses | None:
        """Clauses that keep runs away from the cubes; None where there are none, or more frames are needed."""
        if any(self._begins(target) for target in targets):
            return None
        self._grow()
        while len(self._frames) <= frames:
            top = len(self._frames) - 1
            for target in targets:
                if not self._blocked(target, top, budget):
                    return None
            self._grow()
            for level in range(1, top + 1):
                for cube in list(self._frames[level]):
                    if self._relative(cube, level, budget, itself=False) is not None:
                        self._frames[level].remove(cube)
                        self._add(cube, level + 1)
                if not self._frames[level]:
                    return self._clauses([cube for frame in self._frames[level:] for cube in frame])
        return None

    def _fresh(self) -> int:
        self._top += 1
        return self._top

    def _grow(self) -> None:
        self._frames.append([])
        self._acts.append(self._fresh())

    def _bits(self, cube: Cube, of: Sequence[int]) -> list[int]:
        return [of[abs(bit) - 1] * (1 if bit > 0 else -1) for bit in cube]

    def _begins(self, cube: Cube) -> bool:
        return bool(self._start.solve(assumptions=self._bits(cube, self._now)))

    def _add(self, cube: Cube, level: int) -> None:
        self._frames[level].append(cube)
        self._solver.add_clause([-self._acts[level], *(-bit for bit in self._bits(cube, self._now))])

    def _blocked(self, target: Cube, top: int, budget: Budget) -> bool:
        """Keep the cube out of the frame; False where a run comes to it."""
        open_: list[tuple[Cube, int]] = [(target, top)]
        while open_:
            budget()
            cube, level = min(open_, key=lambda one: one[1])
            if level == 0:
                return False
            if self._known(cube, level):
                open_.remove((cube, level))
                continue
            core = self._relative(cube, level - 1, budget)
            if core is None:
                before = self._before(cube)
                if self._begins(before):
                    return False
                open_.append((before, level - 1))
                continue
            core = self._smaller(core, level - 1, budget)
            while level < len(self._frames) - 1 and self._relative(core, level, budget) is not None:
                level += 1
            self._add(core, level)
            open_.remove(min(open_, key=lambda one: one[1]))
        return True

    def _known(self, cube: Cube, level: int) -> bool:
        bits = set(cube)
        return any(bits.issuperset(other) for frame in self._frames[level:] for other in frame)

    def _relative(self, cube: Cube, level: int, budget: Budget, itself: bool = True) -> Cube | None:
        """A part of the cube, with no initial state, that no step from the frame comes to; None where one does."""
        budget()
        there = self._bits(cube, self._next)
        acts = self._acts[level:]
        if itself:
            once = self._fresh()
            self._solver.add_clause([-once, *(-bit for bit in self._bits(cube, self._now))])
            acts = [*acts, once]
        found = self._solver.solve(assumptions=[*acts, *there])
        if found:
            values = self._solver.get_model()
            self._model = [values[abs(bit) - 1] * (1 if bit > 0 else -1) > 0 for bit in (*self._now, *self._inputs)]
            core = None
        else:
            used = set(self._solver.get_core() or ())
            core = tuple(bit for bit, literal in zip(cube, there, strict=True) if literal in used)
        if itself:
            self._solver.add_clause([-once])
        if core is None or not self._begins(core):
            return core
        for bit in cube:  # the cube as a whole has no initial state: put back what tells them apart
            if bit not in core:
                core = tuple(other for other in cube if other in core or other == bit)
                if not self._begins(core):
                    return core
        return cube

    def _smaller(self, cube: Cube, level: int, budget: Budget) -> Cube:
        """Leave out what is not needed, bit by bit."""
        for bit in cube:
            if bit not in cube:
                continue
            shorter = tuple(other for other in cube if other != bit)
            if self._begins(shorter):
                continue
            core = self._relative(shorter, level, budget)
            if core is not None:
                cube = core
        return cube

    def _before(self, cube: Cube) -> Cube:
        """The states around that of the last model from which its inputs lead into the cube, whatever else they are."""
        size = len(self._now)
        state = tuple((at + 1) * (1 if value else -1) for at, value in enumerate(self._model[:size]))
        inputs = [bit if value else -bit for bit, value in zip(self._inputs, self._model[size:], strict=True)]
        once = self._fresh()
        self._lift.add_clause([-once, -self._possible, *(-bit for bit in self._bits(cube, self._next))])
        now = self._bits(state, self._now)
        if self._lift.solve(assumptions=[once, *inputs, *now]):
            raise AssertionError("a model of the step does not make it")
        used = set(self._lift.get_core() or ())
        self._lift.add_clause([-once])
        return tuple(bit for bit, literal in zip(state, now, strict=True) if literal in used)

    def _clauses(self, cubes: Sequence[Cube]) -> Clauses:
        """Clauses of each automaton state: its bits are known there."""
        sizes = [self._circuit.width(node) for node in self._circuit.registers]
        home = [(register, bit) for register, size in enumerate(sizes) for bit in range(size)]
        found: dict[int, dict[Clause, None]] = {state: {} for state in range(self._automaton.states)}
        for cube in cubes:
            for state in found:
                place = set(self.at(state))
                rest = [bit for bit in cube if bit not in place]
                if all(abs(bit) <= len(home) for bit in rest):
                    found[state][tuple(_bit(*home[abs(bit) - 1], bit < 0) for bit in rest)] = None
        return {state: ((),) if () in clauses else tuple(clauses) for state, clauses in found.items() if clauses}


def _bit(register: int, bit: int, value: bool) -> Literal:
    return Literal(register, bit, bit, int(value), int(value))
