"""Netlists that are too deep, too long, too wide, circular or nonsense, and formulas and automata of them."""

from collections.abc import Callable
from pathlib import Path

from hostile_case import Case, put, sparse

COUNTER = """1 sort bitvec 1
2 sort bitvec 8
3 state 2 n
4 one 2
5 add 2 3 4
6 next 2 3 5
7 constd 2 9
8 eq 1 3 7
9 output 8 nine
"""
LIMIT = ["--timeout", "5", "-q"]
ANY = (0, 10, 20)


def netlist(
    text: str | bytes | Callable[[Path], object],
    *told: str,
    status: int | tuple[int, ...] = 2,
    asked: str = "G F nine",
    more: tuple[str, ...] = (),
) -> Case:
    args = ["verify", "--scenario", "{d}/x.btor2", "--formula", asked, *LIMIT, *more]
    return Case(
        args, lambda folder: put(folder / "x.btor2", text), told, (status,) if isinstance(status, int) else status
    )


def chain(count: int, step: str, width: int = 8, first: int = 10) -> str:
    """A register whose update is a chain of operators; ``{a}`` is the last one."""
    lines = ["1 sort bitvec 1", f"2 sort bitvec {width}", "3 state 2 n", "4 state 2 m", "5 next 2 4 3"]
    last = 4
    for number in range(first, first + count):
        lines.append(f"{number} {step.format(a=last)}")
        last = number
    end = first + count
    lines += [f"{end} next 2 3 {last}", f"{end + 1} constd 2 1", f"{end + 2} eq 1 3 {end + 1}"]
    return "\n".join([*lines, f"{end + 3} output {end + 2} nine", ""])


def kept(count: int) -> str:
    """A register whose update reads a chain of operators again, from its last to its first."""
    lines = ["1 sort bitvec 1", "2 sort bitvec 8", "3 state 2 n", "4 state 2 m", "5 next 2 4 3"]
    lines += [f"{10 + at} add 2 {9 + at if at else 4} 3" for at in range(count)]
    end = 10 + 2 * count
    lines += [f"{10 + count + at} xor 2 {9 + count + at} {9 + count - at}" for at in range(count)]
    lines += [f"{end} next 2 3 {end - 1}", f"{end + 1} constd 2 1", f"{end + 2} eq 1 3 {end + 1}"]
    return "\n".join([*lines, f"{end + 3} output {end + 2} nine", ""])


def registers(count: int) -> str:
    """Bits that each take the value of the one before."""
    lines = ["1 sort bitvec 1"]
    lines += [f"{10 + at} state 1 r{at}" for at in range(count)]
    lines += [f"{10 + count + at} next 1 {10 + at} {10 + (at - 1) % count}" for at in range(count)]
    return "\n".join([*lines, f"{10 + 2 * count} output 10 nine", ""])


CASES: dict[str, Case] = {
    "netlist, depth 100,000, add": netlist(lambda _: chain(100_000, "add 2 {a} 3"), status=ANY),
    "netlist, depth 50,000 twice": netlist(lambda _: kept(50_000), status=ANY),
    "netlist, depth 100,000, mul": netlist(lambda _: chain(100_000, "mul 2 {a} 3", 64), status=ANY),
    "netlist, depth 100,000, not": netlist(lambda _: chain(100_000, "not 2 {a}"), status=ANY),
    "netlist, depth 20,000, urem": netlist(chain(20_000, "urem 2 {a} 3", 32), status=ANY),
    "netlist, depth 3,000 of 60,000 bits": netlist(chain(3_000, "add 2 {a} 3", 60_000), "a word of 60000 bits"),
    "netlist, product of 60,000 bits": netlist(chain(2, "mul 2 {a} 3", 60_000), "up to 8192 are decided"),
    "netlist, 30,000 registers": netlist(registers(30_000), status=ANY),
    "netlist, 50 MB": netlist(sparse(50_000_000, COUNTER.encode()), "larger than 32 MB"),
    "netlist, 30 MB of one line": netlist(lambda _: "1 sort bitvec " + "9" * 30_000_000, "a width"),
    "netlist, product of 8,000 bits": netlist(chain(2, "mul 2 {a} 3", 8_000), status=ANY),
    "netlist, 3 million lines": netlist(lambda _: "\n" * 3_000_000 + COUNTER, "more than 400000 lines"),
    "netlist, 390,000 nodes": netlist(lambda _: chain(390_000, "not 2 {a}"), status=ANY),
    "netlist, zeros": netlist(sparse(20_000_000), "where the number of a line is wanted"),
    "netlist, width 10^9": netlist("1 sort bitvec 1000000000\n", "line 1: a width of 1000000000 bits; 1 to 65536"),
    "netlist, width 10^5000": netlist(f"1 sort bitvec 1{'0' * 5000}\n", "where a width is wanted"),
    "netlist, extended by 10^9": netlist(COUNTER + "10 uext 2 3 1000000000\n", "words of at most 65536 bits"),
    "netlist, extended again and again": netlist(
        "1 sort bitvec 60000\n2 state 1 a\n3 sort bitvec 120000\n4 concat 3 2 2\n", "a width of 120000 bits"
    ),
    "netlist, cyclic": netlist("1 sort bitvec 1\n2 and 1 3 3\n3 not 1 2\n", "line 2: node 3 is not known here"),
    "netlist, first values in a circle": netlist(
        "1 sort bitvec 1\n2 state 1 a\n3 state 1 b\n4 init 1 2 3\n5 init 1 3 2\n6 next 1 2 2\n7 next 1 3 3\n",
        "initial values of registers read each other in a circle",
    ),
    "netlist, constant of 10,000 digits": netlist(COUNTER + f"10 constd 2 {'7' * 10_000}\n", "number of base 10"),
    "netlist, constant of 10^6 bits": netlist(COUNTER + f"10 const 2 {'1' * 1_000_000}\n", "does not have 8 bits"),
    "netlist, justice of 10^9": netlist(COUNTER + "10 justice 1000000000 8\n", "arguments, where 1000000001"),
    "netlist, bytes": netlist(b"\xff\xfe" * 1000, "it is not UTF-8"),
    "netlist, names that steer a terminal": netlist(
        COUNTER + "10 output 8 \x1b[2J\x07\n", "no signal 'nn'", asked="G F nn"
    ),
    "netlist, names that steer a terminal, shown": Case(
        ["verify", "--scenario", "{d}/x.btor2", "--formula", "G F nine", "--initial", "n == 200", "--verbose"],
        lambda folder: put(folder / "x.btor2", COUNTER.replace("state 2 n", "state 2 n\n30 state 2 m\x1b[2J")),
        ("line number 4 after 30",),
    ),
    "netlist, a folder": Case(["verify", "--scenario", "{d}", "--formula", "a"], None, ("there is no scenario file",)),
    "netlist, huge formula": netlist(COUNTER, asked="(nine & " * 8000 + "nine" + ")" * 8000, status=(2, *ANY)),
    "netlist, exponential formula": netlist(
        COUNTER, asked=" & ".join(f"G F n == {i}" for i in range(40)), status=(0, 2, 20)
    ),
    "netlist, huge numbers in the formula": netlist(COUNTER, asked=f"G n < {'9' * 4000}", status=(0, 2)),
    "netlist, sum of 5,000": netlist(COUNTER, asked=f"G F {' + '.join(['n'] * 5000)} == 9", status=ANY),
    "netlist, bit 10^8": netlist(COUNTER, "the bits n[0] to n[7]", asked="G F n[99999999]"),
}
