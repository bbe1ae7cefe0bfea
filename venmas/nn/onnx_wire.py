"""Checks of the bytes of an ONNX file before they are parsed.

The parser of protocol buffers makes an object of a hundred bytes and more from a message of two, so that a file of 64
MB could claim gigabytes. Here the fields are counted, over the schema of ONNX, without making anything.
"""

from __future__ import annotations

from typing import Any

from venmas.errors import NetworkError

MAX_FIELDS = 300_000
"""Most fields of a file: a network of the largest size that is read has about a hundred thousand."""

MAX_PACKED = 1 << 23
"""Most bytes of whole numbers that are stored without tags: each becomes eight bytes."""

_VARINT, _FIXED64, _BYTES, _GROUP, _END_GROUP, _FIXED32 = range(6)


def check_fields(data: bytes, descriptor: Any) -> None:
    """Raise `NetworkError` where a serialised message of the type `descriptor` has too many fields.

    What is not well formed is left to the parser, which says so.
    """
    left, packed = MAX_FIELDS, MAX_PACKED
    kinds: dict[str, dict[int, tuple[Any, bool]]] = {}
    stack = [(0, len(data), descriptor)]
    while stack:
        at, end, kind = stack.pop()
        fields = kinds.get(kind.full_name)
        if fields is None:
            fields = kinds[kind.full_name] = {
                f.number: (f.message_type, f.cpp_type not in (f.CPPTYPE_FLOAT, f.CPPTYPE_DOUBLE, f.CPPTYPE_STRING))
                for f in kind.fields
            }
        while at < end:
            left -= 1
            tag, at = _varint(data, at, end)
            wire = tag & 7
            if wire == _VARINT:
                _, at = _varint(data, at, end)
            elif wire == _FIXED64:
                at += 8
            elif wire == _FIXED32:
                at += 4
            elif wire == _BYTES:
                size, at = _varint(data, at, end)
                message, whole = fields.get(tag >> 3, (None, False))
                if message is not None:
                    stack.append((at, min(end, at + size), message))
                elif whole:
                    packed -= size
                at += size
            elif wire not in (_GROUP, _END_GROUP):  # what groups hold is counted as if it stood beside them
                break
            if left < 0 or packed < 0:
                raise NetworkError(
                    f"the file has more than {MAX_FIELDS} fields or {MAX_PACKED} whole numbers: too large for the "
                    "networks VenMAS verifies"
                )


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while at < end:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128 or shift > 63:
            break
        shift += 7
    return value, at
