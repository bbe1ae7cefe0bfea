"""BTOR2 operators on single words, written from SMT-LIB's definitions with Python integers only: the oracle."""

from __future__ import annotations


def signed(value: int, width: int) -> int:
    return value - (1 << width) if value >> (width - 1) else value


def rotated(x: int, by: int, width: int) -> int:
    """x rotated to the left, bit by bit."""
    bits = f"{x:0{width}b}"
    by %= width
    return int(bits[by:] + bits[:by], 2)


def reference(operator: str, args: list[int], widths: list[int], numbers: list[int]) -> int:
    a, w = args[0], widths[0]
    b = args[1] if len(args) > 1 else 0
    full = (1 << w) - 1
    below = {
        "not": lambda: full - a,
        "inc": lambda: (a + 1) % (1 << w),
        "dec": lambda: (a - 1) % (1 << w),
        "neg": lambda: -a % (1 << w),
        "redor": lambda: int(a != 0),
        "redand": lambda: int(a == full),
        "redxor": lambda: bin(a).count("1") % 2,
        "and": lambda: a & b,
        "nand": lambda: full - (a & b),
        "or": lambda: a | b,
        "nor": lambda: full - (a | b),
        "xor": lambda: a ^ b,
        "xnor": lambda: full - (a ^ b),
        "add": lambda: (a + b) % (1 << w),
        "sub": lambda: (a - b) % (1 << w),
        "mul": lambda: (a * b) % (1 << w),
        "udiv": lambda: a // b if b else full,
        "urem": lambda: a % b if b else a,
        "sll": lambda: a * 2**b % (1 << w) if b < w else 0,
        "srl": lambda: a // 2**b if b < w else 0,
        "sra": lambda: signed(a, w) // 2 ** min(b, w) % (1 << w),
        "rol": lambda: rotated(a, b, w),
        "ror": lambda: rotated(a, w - b % w, w),
        "eq": lambda: int(a == b),
        "neq": lambda: int(a != b),
        "ult": lambda: int(a < b),
        "ulte": lambda: int(a <= b),
        "ugt": lambda: int(a > b),
        "ugte": lambda: int(a >= b),
        "slt": lambda: int(signed(a, w) < signed(b, w)),
        "slte": lambda: int(signed(a, w) <= signed(b, w)),
        "sgt": lambda: int(signed(a, w) > signed(b, w)),
        "sgte": lambda: int(signed(a, w) >= signed(b, w)),
        "implies": lambda: int(not a or b),
        "iff": lambda: int(a == b),
        "concat": lambda: int(f"{a:0{w}b}{b:0{widths[1]}b}", 2),
        "ite": lambda: b if a else args[2],
        "slice": lambda: int(f"{a:0{w}b}"[::-1][numbers[1] : numbers[0] + 1][::-1], 2),
        "uext": lambda: a,
        "sext": lambda: signed(a, w) % (1 << (w + numbers[0])),
    }
    return int(below[operator]())
