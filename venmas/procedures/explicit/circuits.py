"""Explicit search: small circuits with every state and every input, both answers.

    transitions of the circuit: (state, letter) to state, from one simulation of all states under all inputs
    product with the automaton of the negated property, what is reached from initial states
    a strongly connected component that meets every acceptance set: a lasso. None: the property holds

The product is exact: no solver and no rounding. Lasso and emptiness as in Couvreur, *On-the-fly verification of linear
temporal logic*, FM 1999.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from venmas.budget import Budget, limited
from venmas.errors import VenmasError
from venmas.logic.automata.automaton import Automaton, strongly_connected
from venmas.model.circuit.nodes import Circuit, Node
from venmas.model.circuit.operators import Op, Words, words
from venmas.model.circuit.simulate import evaluate, first_states
from venmas.model.witness.circuit import Observed, Run
from venmas.procedures.netlist.idle_inputs import idle_inputs

MOST_BITS = 20
"""Most bits of registers and inputs that the formula depends on."""
_MOST_EDGES = 2_000_000
_MOST_ATOMS = 20
_LONGEST = 50_000
"""Steps of a lasso that is replayed and told; each takes some 0.1 ms."""
_MOST_MARKS = 60
_CHUNK, _MOST_WORDS = 1 << 16, 1 << 25
"""Rows that are simulated at once, and words that may be kept of them: 256 MB."""

_Array = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Enumerated:
    """No run from an initial state is accepted. states: pairs of a state and an automaton state that are reached."""

    states: int


def enumerated(
    observed: Observed, automaton: Automaton, budget: Budget, most: int = MOST_BITS
) -> Run | Enumerated | None:
    """A replayed run that the automaton accepts, or that there is none; None where the circuit is not small.

    observed: with the atoms of the automaton. most: bits of registers and of inputs that matter. Raises `BudgetError`,
    `SolverUnavailableError`, and `VenmasError` where a lasso does not replay.
    """
    circuit = observed.circuit
    if circuit.register_bits > most or len(automaton.atoms) > _MOST_ATOMS or automaton.marks > _MOST_MARKS:
        return None
    if circuit.register_bits + circuit.input_bits > most:
        if most < MOST_BITS or (small := _narrowed(observed, most, budget)) is None:
            return None
        circuit = small
    moves, firsts = _moves(circuit, observed.more, budget)
    product = _product(moves, firsts, automaton, budget)
    if product is None:
        return None
    with limited(budget):
        lasso = product.lasso(automaton.all_marks, budget)
    if lasso is None:
        return Enumerated(int(product.reached.sum()))
    begun, stem, loop = lasso
    if len(stem) + len(loop) > _LONGEST:
        return None
    taken = [(firsts, begun), *((moves, move) for move in product.move[[*stem, *loop]].tolist())]
    given = [_split(int(rows.inputs[at]), [circuit.width(node) for node in circuit.inputs]) for rows, at in taken]
    number = {node: at for at, node in enumerate(circuit.inputs)}
    inputs = [[row[number[n]] if n in number else 0 for n in observed.circuit.inputs] for row in given]
    state = _split(int(firsts.source[begun]), [circuit.width(node) for node in circuit.registers])
    run = observed.replay(state, inputs, 1 + len(stem))
    if run is None:
        raise VenmasError("a run of the product with the automaton does not break the formula: please report it")
    return run


def _narrowed(observed: Observed, most: int, budget: Budget) -> Circuit | None:
    """The circuit, idle inputs being constants, and no longer inputs; None where it has too many bits all the same."""
    circuit = observed.circuit
    firsts = [node for node in circuit.init if node is not None]
    roots = [*circuit.next, *firsts, *circuit.starts, *circuit.constraints, *observed.more]
    idle = idle_inputs(circuit, roots, budget)
    inputs = tuple(node for node in circuit.inputs if node not in idle)
    if circuit.register_bits + sum(map(circuit.width, inputs)) > most:
        return None
    zero = {node: Node(Op.CONST, circuit.width(node), (), (0,)) for node in idle}
    nodes = tuple(zero.get(at, node) for at, node in enumerate(circuit.nodes))
    return replace(circuit, nodes=nodes, inputs=inputs)


@dataclass(frozen=True)
class _Moves:
    """Transitions of the circuit: state, letter as bits, inputs that make it, next state."""

    source: _Array
    letter: _Array
    inputs: _Array
    target: _Array

    @classmethod
    def of(cls, parts: list[tuple[_Array, ...]]) -> _Moves:
        return cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _moves(circuit: Circuit, letters: Sequence[int], budget: Budget) -> tuple[_Moves, _Moves]:
    """All of them, and those of initial states."""
    registers: list[int] = [circuit.width(node) for node in circuit.registers]
    widths = [*registers, *(circuit.width(node) for node in circuit.inputs)]
    rows, inner = 1 << sum(widths), circuit.input_bits
    every: list[tuple[_Array, ...]] = []
    initial: list[tuple[_Array, ...]] = []
    kept = sum(1 + node.width // 32 for node in circuit.nodes)
    chunk = min(_CHUNK, 1 << max(0, (_MOST_WORDS // max(1, kept)).bit_length() - 1))
    for begin in range(0, rows, chunk):  # a power of two as well: the states of a chunk are whole, or parts of one
        budget()
        code = np.arange(begin, min(rows, begin + chunk), dtype=np.int64)
        columns = [words(column, width) for column, width in zip(_columns(code, widths), widths, strict=True)]
        known = dict(zip((*circuit.registers, *circuit.inputs), columns, strict=True))
        roots = [*letters, *circuit.next, *circuit.constraints, *circuit.starts]
        found = [np.asarray(column, dtype=np.int64) for column in evaluate(circuit, known, roots)]
        found = [np.broadcast_to(column, code.shape) for column in found]
        bits, rest = found[: len(letters)], found[len(letters) :]
        after, rest = rest[: len(registers)], rest[len(registers) :]
        allowed = np.ones(len(code), dtype=bool)
        for column in rest[: len(circuit.constraints)]:
            allowed &= column == 1
        start = allowed.copy()
        for column in rest[len(circuit.constraints) :]:
            start &= column == 1
        state, inputs = columns[: len(registers)], columns[len(registers) :]
        for was, prescribed in zip(state, first_states(circuit, state, inputs), strict=True):
            start &= np.asarray(was == prescribed, dtype=bool)
        source, given = code >> inner, code & ((1 << inner) - 1)
        letter = _joined(bits[::-1], [1] * len(bits), len(code))
        target = _joined(after, registers, len(code))
        key = (((source << len(bits)) | letter) << sum(registers)) | target
        for mask, out in ((allowed, every), (start, initial)):
            at = np.flatnonzero(mask)
            at = at[np.unique(key[at], return_index=True)[1]]
            out.append((source[at], letter[at], given[at], target[at]))
    return _Moves.of(every), _Moves.of(initial)


@dataclass(frozen=True)
class _Product:
    """Edges between pairs of a state and an automaton state, in the order of their sources; first: where each source's
    begin. parent: of each node the edge by which it is reached first, or -2 - the initial move, or -1."""

    source: _Array
    target: _Array
    marks: _Array
    move: _Array
    parent: _Array

    @property
    def reached(self) -> npt.NDArray[np.bool_]:
        """Nodes that are."""
        found: npt.NDArray[np.bool_] = self.parent != -1
        return found

    def lasso(self, wanted: int, budget: Budget) -> tuple[int, list[int], list[int]] | None:
        """An initial move, the edges of the stem after it, and those of the loop."""
        inside = np.flatnonzero(self.reached[self.source])
        source, target = self.source[inside], self.target[inside]
        nodes = np.flatnonzero(self.reached)
        number = np.full(len(self.parent), -1, dtype=np.int64)
        number[nodes] = np.arange(len(nodes))
        cuts = np.searchsorted(number[source], np.arange(1, len(nodes)))
        successors = [part.tolist() for part in np.split(number[target], cuts)] if len(nodes) else []
        home = np.zeros(len(nodes), dtype=np.int64)
        groups = strongly_connected(successors)
        for at, group in enumerate(groups):
            home[group] = at
        budget()
        here = home[number[source]]
        inner = np.flatnonzero(here == home[number[target]])
        marks, some = np.zeros(len(groups), dtype=np.int64), np.zeros(len(groups), dtype=bool)
        np.bitwise_or.at(marks, here[inner], self.marks[inside[inner]])
        some[here[inner]] = True
        good = np.flatnonzero(some & (marks == wanted))
        if not len(good):
            return None
        edges = inside[inner[here[inner] == good[0]]].tolist()
        return self._through(edges, wanted, budget)

    def _through(self, edges: list[int], wanted: int, budget: Budget) -> tuple[int, list[int], list[int]]:
        """A lasso into a component with these edges, around all acceptance sets."""
        leaving: dict[int, list[int]] = {}
        for edge in edges:
            leaving.setdefault(int(self.source[edge]), []).append(edge)

        def walk(begin: int, last: Callable[[int], bool]) -> list[int]:
            """The shortest way from a node that ends with such an edge."""
            came: dict[int, int] = {}
            queue = [begin]
            for node in queue:
                budget()
                for edge in leaving[node]:
                    end = int(self.target[edge])
                    if last(edge):
                        path = [edge]
                        while (node := int(self.source[path[-1]])) != begin:
                            path.append(came[node])
                        return path[::-1]
                    if end not in came and end != begin:
                        came[end] = edge
                        queue.append(end)
            raise AssertionError("a strongly connected component is connected")

        home = int(self.source[edges[0]])
        loop: list[int] = []
        place, met = home, 0
        while missing := wanted & ~met:
            sought = {edge for edge in edges if int(self.marks[edge]) & missing}
            loop += walk(place, sought.__contains__)
            place, met = int(self.target[loop[-1]]), 0
            for edge in loop:
                met |= int(self.marks[edge])
        if place != home or not loop:
            loop += walk(place, lambda edge: int(self.target[edge]) == home)
        stem: list[int] = []
        at = int(self.parent[home])
        while at >= 0:
            stem.append(at)
            at = int(self.parent[int(self.source[at])])
        return -2 - at, stem[::-1], loop


def _product(moves: _Moves, firsts: _Moves, automaton: Automaton, budget: Budget) -> _Product | None:
    """What is reached of the product; None where it is too large."""
    size = automaton.states
    nodes = (int(max(moves.source.max(initial=0), moves.target.max(initial=0))) + 1) * size
    if nodes > _MOST_EDGES:
        return None
    parts: list[tuple[_Array, ...]] = []
    count = 0
    empty = np.zeros(0, dtype=np.int64)
    for edge in automaton.edges:
        budget()
        at = np.flatnonzero((moves.letter & edge.label.care) == edge.label.value)
        count += len(at)
        if count > _MOST_EDGES:
            return None
        marks = np.full(len(at), edge.marks, dtype=np.int64)
        parts.append((moves.source[at] * size + edge.source, moves.target[at] * size + edge.target, marks, at))
    parent = np.full(nodes, -1, dtype=np.int64)
    source, target, marks, move = (np.concatenate(one) for one in zip(*parts, strict=True)) if parts else (empty,) * 4
    order = np.argsort(source, kind="stable")
    source, target, marks, move = source[order], target[order], marks[order], move[order]
    first = np.searchsorted(source, np.arange(nodes + 1))
    for edge in automaton.leaving[0]:  # the first move: values of registers may be those that its inputs say
        at = np.flatnonzero((firsts.letter & edge.label.care) == edge.label.value)
        parent[firsts.target[at] * size + edge.target] = -2 - at
    front = np.flatnonzero(parent != -1)
    while len(front):
        budget()
        lengths = first[front + 1] - first[front]
        begins = np.repeat(first[front] - np.cumsum(lengths) + lengths, lengths)
        edges = begins + np.arange(int(lengths.sum()))
        edges = edges[parent[target[edges]] == -1]
        front, kept = np.unique(target[edges], return_index=True)
        parent[front] = edges[kept]
    return _Product(source, target, marks, move, parent)


def _columns(code: _Array, widths: list[int]) -> list[_Array]:
    """The fields of words, the first of them in the highest bits."""
    found, left = [], sum(widths)
    for width in widths:
        left -= width
        found.append((code >> left) & ((1 << width) - 1))
    return found


def _split(code: int, widths: list[int]) -> list[int]:
    return [int(column[0]) for column in _columns(np.array([code], dtype=np.int64), widths)]


def _joined(columns: Sequence[Words], widths: list[int], size: int) -> _Array:
    """The words whose fields these are, the first of them in the highest bits."""
    word = np.zeros(size, dtype=np.int64)
    for column, width in zip(columns, widths, strict=True):
        word = (word << width) | np.asarray(column, dtype=np.int64)
    return word
