"""Persistent maps: putting an entry makes a new map that shares all but a path with the old.

Cells of a proof differ from the one they were cut from by a row. Copying what they have in common would make a proof of
n lines cost n squared, in time and in memory. (Hash array mapped tries: P. Bagwell, Ideal Hash Trees, 2001.)
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeAlias, TypeVar

V = TypeVar("V")

_BITS = 4
_WIDTH = 1 << _BITS
_END = 64
"""Bits of a hash; keys that agree in all of them stand in a chain."""


class _Leaf(Generic[V]):
    __slots__ = ("hash", "key", "others", "value")

    def __init__(self, hash_: int, key: Hashable, value: V, others: _Leaf[V] | None = None) -> None:
        self.hash, self.key, self.value, self.others = hash_, key, value, others

    def find(self, key: Hashable) -> V | None:
        leaf: _Leaf[V] | None = self
        while leaf is not None:
            if leaf.key == key:
                return leaf.value
            leaf = leaf.others
        return None


_Node: TypeAlias = "tuple[_Node[V], ...] | _Leaf[V] | None"
_EMPTY: tuple[None, ...] = (None,) * _WIDTH


class Map(Generic[V]):
    """A map from keys whose hashes nobody can choose: texts, bytes, small numbers, and tuples of them."""

    __slots__ = ("_root",)

    def __init__(self, root: _Node[V] = None) -> None:
        self._root = root

    def get(self, key: Hashable) -> V | None:
        """The value of a key, None where there is none."""
        node, bits = self._root, hash(key)
        while isinstance(node, tuple):
            node, bits = node[bits & _WIDTH - 1], bits >> _BITS
        return None if node is None else node.find(key)

    def put(self, key: Hashable, value: V) -> Map[V]:
        """The map with a value for a key, in place of the one it had."""
        return Map(_put(self._root, 0, _Leaf(hash(key), key, value)))

    def within(self, other: Map[V], known: dict[tuple[int, int], tuple[object, object]] | None = None) -> bool:
        """Has the other map every key of this one? known: pairs of parts that were found so, for other questions."""
        return _within(self._root, other._root, 0, {} if known is None else known)


def _put(node: _Node[V], shift: int, leaf: _Leaf[V]) -> _Node[V]:
    if node is None:
        return leaf
    if isinstance(node, _Leaf):
        if node.key == leaf.key and node.others is None:
            return leaf
        if shift >= _END:
            return _Leaf(leaf.hash, leaf.key, leaf.value, node)  # the first of a key counts
        node = _put(_EMPTY, shift, node)
    assert isinstance(node, tuple)
    slot = (leaf.hash >> shift) & _WIDTH - 1
    return (*node[:slot], _put(node[slot], shift + _BITS, leaf), *node[slot + 1 :])


def _within(small: _Node[V], big: _Node[V], shift: int, known: dict[tuple[int, int], tuple[object, object]]) -> bool:
    if small is None or small is big:
        return True
    if isinstance(small, _Leaf):
        while isinstance(big, tuple):
            big, shift = big[(small.hash >> shift) & _WIDTH - 1], shift + _BITS
        leaf: _Leaf[V] | None = small
        while leaf is not None and big is not None and big.find(leaf.key) is not None:
            leaf = leaf.others
        return leaf is None
    if not isinstance(big, tuple):
        return False  # more keys than the other has
    pair = id(small), id(big)
    if pair not in known:
        if not all(_within(a, b, shift + _BITS, known) for a, b in zip(small, big, strict=True)):
            return False
        known[pair] = small, big  # keeps them, so that no other part gets their identity
    return True
