"""Explicit search: small circuits with every state and every input, both answers.

    transitions of the circuit: (state, letter) to state, from one simulation of all states under all inputs
    product with the automaton of the negated property: a lasso, or the property holds          (`product`)

The product is exact: no solver and no rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from venmas.answer import IncompleteError
from venmas.budget import Budget, ask, limited
from venmas.errors import VenmasError
from venmas.logic.automata.automaton import Automaton
from venmas.model.circuit.binding import bind
from venmas.model.circuit.nodes import Circuit, Node
from venmas.model.circuit.operators import Op, Words, words
from venmas.model.circuit.simulate import evaluate, first_states
from venmas.model.witness.circuit import Observed
from venmas.model.witness.lasso import Run
from venmas.procedures.explicit.product import Letters, Product
from venmas.procedures.explicit.states.integers import NotExplicitError
from venmas.procedures.netlist.idle_inputs import idle_inputs

SMALL = 12
"""Bits of registers and inputs up to which all runs are looked at before anything is learned."""
MOST_BITS = 20
"""Most bits of registers and inputs that the formula depends on."""
_MOST_EDGES = 2_000_000
_MOST_ATOMS = 20
_LONGEST = 50_000
"""Steps of a lasso that is replayed and told; each takes some 0.1 ms."""
_MOST_MARKS = 60
_CHUNK, _MOST_WORDS = 1 << 16, 1 << 25
"""Rows that are simulated at once, and words that may be kept of them: 256 MB."""

_IDLE = 20.0
"""Seconds for inputs that do not matter to a certificate."""

_Array = npt.NDArray[np.int64]


def enumerated(observed: Observed, automaton: Automaton, budget: Budget, most: int = MOST_BITS) -> Run | Product | None:
    """A replayed run that the automaton accepts, or the product, which has none; None where the circuit is not small.

    observed: with the atoms of the automaton. most: bits of registers and of inputs that matter. Raises `BudgetError`,
    `SolverUnavailableError`, and `VenmasError` where a lasso does not replay.
    """
    circuit = observed.circuit
    if circuit.register_bits > most or len(automaton.atoms) > _MOST_ATOMS or automaton.marks > _MOST_MARKS:
        return None
    if circuit.register_bits + circuit.input_bits > most:
        if most < MOST_BITS or (small := _narrowed(circuit, observed.more, most, budget)) is None:
            return None
        circuit = small
    moves, firsts = _moves(circuit, observed.more, budget)
    letters = _letters(moves, firsts)
    try:
        with limited(budget):
            product = Product(letters, automaton, _MOST_EDGES)
            lasso = product.lasso()
    except NotExplicitError:
        return None
    if lasso is None:
        return product
    if len(lasso.steps) > _LONGEST:
        return None
    every = len(moves.source)
    taken = [(moves, at) if at < every else (firsts, at - every) for at in lasso.steps]
    given = [_split(int(rows.inputs[at]), [circuit.width(node) for node in circuit.inputs]) for rows, at in taken]
    number = {node: at for at, node in enumerate(circuit.inputs)}
    inputs = [[row[number[n]] if n in number else 0 for n in observed.circuit.inputs] for row in given]
    rows, begun = taken[0]
    state = _split(int(rows.source[begun]), [circuit.width(node) for node in circuit.registers])
    run = observed.replay(state, inputs, lasso.back)
    if run is None:
        raise VenmasError("a run of the product with the automaton does not break the formula: please report it")
    return run


def product_of(circuit: Circuit, automaton: Automaton) -> tuple[Product, tuple[int, ...]]:
    """The product of the cone of the automaton's atoms with it, and the widths of the registers there.

    States are the words of the registers, the first in the highest bits. Runs begin in the initial states with any
    inputs, also where first values of registers are those of inputs. Raises `IncompleteError` where there are too many
    of them, or one is accepted, and `BudgetError`.
    """
    part, letters = bind(circuit, automaton.atoms)
    small: Circuit | None = part
    if part.register_bits + part.input_bits > MOST_BITS:
        small = _narrowed(part, letters, MOST_BITS, Budget(_IDLE))
    if small is None:
        raise IncompleteError("registers and inputs have too many bits for a certificate of all states")
    moves, firsts = _moves(small, letters, ask)
    count = 1 << small.register_bits
    steps = Letters(count, np.unique(firsts.source), moves.source, moves.target, moves.letter)
    try:
        product = Product(steps, automaton, _MOST_EDGES)
    except NotExplicitError:
        raise IncompleteError("the product of all states with the automaton is too large for a certificate") from None
    if product.lasso() is not None:
        raise IncompleteError("first values of registers are those of inputs, which a certificate does not tie")
    return product, tuple(small.width(node) for node in small.registers)


def _letters(moves: _Moves, firsts: _Moves) -> Letters:
    """All transitions, and those of initial states from a state before them: registers may begin as inputs say."""
    before = int(max(moves.source.max(initial=0), moves.target.max(initial=0))) + 1
    return Letters(
        before + 1,
        np.array([before]),
        np.concatenate([moves.source, np.full(len(firsts.source), before)]),
        np.concatenate([moves.target, firsts.target]),
        np.concatenate([moves.letter, firsts.letter]),
    )


def _narrowed(circuit: Circuit, letters: Sequence[int], most: int, budget: Budget) -> Circuit | None:
    """The circuit, idle inputs being constants, and no longer inputs; None where it has too many bits all the same."""
    firsts = [node for node in circuit.init if node is not None]
    roots = [*circuit.next, *firsts, *circuit.starts, *circuit.constraints, *letters]
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


def _moves(circuit: Circuit, letters: Sequence[int], budget: Callable[[], None]) -> tuple[_Moves, _Moves]:
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
