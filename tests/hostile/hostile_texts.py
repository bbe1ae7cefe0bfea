"""Formulas, parameters and scenario files that are too deep, too long, too large or nonsense."""

import os
from pathlib import Path

from hostile_case import LOOP, QUICK, Case, formula, put, scenario, sparse

DEEP = 10_000
MB = 1_000_000
DECIDED = (0, 10)
LARGE = (0, 10, 20)


def nested(before: str, after: str = "", depth: int = DEEP) -> str:
    return before * depth + "(x <= 2)" + after * depth


def alternating(depth: int) -> str:
    text = "x <= 2"
    for _ in range(depth):
        text = f"(x<2 & {text} | x>1)"
    return text


def arguments(*args: str, told: tuple[str, ...], status: int = 2) -> Case:
    return Case([*args], lambda folder: put(folder / "loop.py", LOOP), told, (status,))


VCAS = ["--scenario", "vcas", "--formula", "AX^1 safe", *QUICK]
ICE = ["--scenario", "frozenlake", "--formula", "safe1", *QUICK]

CASES: dict[str, Case] = {
    # formulas: depth 10,000 of every operator
    "deep !": formula(nested("!"), "satisfied", status=0),
    "deep AX": formula(nested("AX "), status=LARGE),
    "deep EX": formula(nested("EX "), status=LARGE),
    "deep AX^1": formula(nested("AX^1 "), status=LARGE),
    "deep AG": formula(nested("AG[0,1] "), "use smaller bounds"),
    "deep AF": formula(nested("AF^1 "), status=(2, 20)),
    "deep EG": formula(nested("EG^1 "), status=(2, 20)),
    "deep EF": formula(nested("EF[0,2] "), "use smaller bounds"),
    "deep ->": formula(nested("x>5 -> "), "satisfied", status=0),
    "deep <->": formula(nested("x<2<->(", ")"), "split it into several formulas"),
    "deep &": formula(nested("x<2 & (", ")"), status=DECIDED),
    "deep |": formula(nested("x<2 | (", ")"), status=DECIDED),
    "deep & and |": formula(alternating(DEEP // 2), "split it into several formulas"),
    "deep parentheses": formula(nested("(", ")"), status=0),
    "deep minus": formula("-" * DEEP + "x <= 2", status=0),
    "deep A(U), left": formula("A(" * 9000 + "x<2" + "U^1 x<2)" * 9000, "formula"),
    "deep E(U), right": formula("E(x<2 U^1 " * 9000 + "x<2" + ")" * 9000, "use smaller bounds"),
    "nested U with long bounds": formula("A(x<2 U^90 " * 900 + "x<2" + ")" * 900, "use smaller bounds"),
    # formulas: length 1 MB
    **{
        f"1 MB of {part.strip()}": formula(part * (MB // len(part)) + "x<2", "characters")
        for part in ("!", "AX ", "AG^2 ", "x<2 & ", "x<2 | ", "x<2 -> ", "x<2 <-> ", "(", "A(x<2 U^2 ", "x + ", "9")
    },
    "sum of 50,000": formula("x+" * 50_000 + "x<2", status=DECIDED),
    # formulas: numbers
    "10**9 steps": formula("AX^1000000000 x<2", "100000 steps"),
    "10**5000 steps": formula("AG^" + "9" * 5000 + " x<2", "100000 steps"),
    "90,000 steps": formula("AX^90000 x<2", status=LARGE),
    "1e999999": formula("x <= 1e999999", "bits"),
    "1e999": formula("x <= 1e999", "beyond 1e100"),
    "1e-999": formula("x <= -1e-999", "violated", status=10),
    "1/0": formula("x <= 1/0", "division by zero"),
    "nan": formula("x <= nan", "unknown name 'nan'"),
    "inf": formula("x <= inf", "unknown name 'inf'"),
    # formulas: files
    "formula of 10 MB": formula(" " * 10 * MB, "larger than 1 MB"),
    "formula of 4 GB": formula(sparse(4 << 30), "larger than 1 MB"),
    "formula binary": formula(bytes(range(256)), "no UTF-8 text"),
    "formula of null bytes": formula(b"x <= \0 2", "unexpected character"),
    "formula look-alike letter": formula("х <= 2", "unexpected character"),  # a Cyrillic letter
    "formula look-alike sign": formula("x ≤ −2", "unexpected character"),
    "formula invisible": formula("x \u200b<= 2", "unexpected character"),
    "formula right to left": formula("\u202ex <= 2", "unexpected character"),
    "formula name of 100 KB": formula("y" * 100_000 + " <= 2", "unknown name"),
    "formula is a folder": formula(Path.mkdir, "directory"),
    "formula is a fifo": formula(os.mkfifo, "is empty"),
    "formula is a device": formula(lambda p: p.symlink_to("/dev/zero"), "larger than 1 MB"),
    "formula links to itself": formula(lambda p: p.symlink_to(p), "cannot read"),
    # parameters
    "parameter 1e999999999": arguments(*VCAS, "--set", "climb0=1e999999999", told=("expected a number",)),
    "parameter 1e99": arguments(*VCAS, "--set", "climb0=1e99", told=("outside the declared range",)),
    "parameter inf": arguments(*VCAS, "--set", "climb0=inf", told=("expected a number",)),
    "parameter nan": arguments(*VCAS, "--set", "climb0=nan..1", told=("expected a number",)),
    "parameter 1/0": arguments(*VCAS, "--set", "h_min=1/0", told=("expected a number",)),
    "parameter of 10 MB": arguments(
        *VCAS, "--set", "climb0=" + "9" * 10 * MB, told=("expected a number", "characters")
    ),
    "parameter text of 10 MB": arguments(*VCAS, "--set", "pilot=" + "x" * 10 * MB, told=("characters",)),
    "parameter list of 1,000,000": arguments(*ICE, "--set", "holes=" + "1," * MB, told=("fewer than 10000",)),
    "parameter size": arguments(*ICE, "--set", "size=" + "9" * 300, told=("expected 2 to 128",)),
    "parameters, 20,000 of them": arguments(
        *VCAS, *[part for i in range(20_000) for part in ("--set", f"p{i}=1")], told=("no parameter 'p0'",)
    ),
    "parameter steers the terminal": arguments(*VCAS, "--set", "climb0=\x1b[2J\ud800", told=("\\x1b[2J",)),
    "initial value 1e999999999": arguments(
        "simulate", "--scenario", "vcas", "--initial", "h=1e999999999", told=("finite number",)
    ),
    "scenario name of 1 MB": arguments("--scenario", "y" * MB, "--formula", "x", told=("no path of a file",)),
    "networks with a long name": arguments(*VCAS, "--networks", "y" * 3900, told=("no folder",)),
    "networks is a device": arguments(*VCAS, "--networks", "/dev/zero", told=("none of the files",)),
    "command of 1 MB": arguments("y" * MB, told=("no command", "characters")),
    "workers of 5000 digits": arguments(*VCAS, "--workers", "9" * 5000, told=("--workers",)),
    "memory of 1 MB": arguments(*VCAS, "--memory", "1", "-q", told=("unknown (memory)",), status=20),
    # scenario files
    "scenario not UTF-8": scenario(b'x = "\xe9"\n', "s.py, line 1"),
    "scenario without build": scenario("x = 1\n", "no function build"),
    "scenario builds nonsense": scenario("def build(networks): return '\\ud800'\n", "must return a System"),
    "scenario ends the program": scenario("import os, sys\nsys.exit(0)\n", "SystemExit"),
    "scenario raises what is no Exception": scenario("raise GeneratorExit('\\x1b[2J')\n", "GeneratorExit"),
    "scenario message of 10 MB": scenario("raise ValueError('x' * 10_000_000)\n", "characters"),
    "scenario recurses": scenario("def f(): f()\nf()\n", "RecursionError"),
    "scenario nested 100,000 deep": scenario("x = " + "-" * 200_000 + "1\n", "nested too deeply"),
    "scenario sum of 100,000": scenario("x = " + "1+" * 100_000 + "1\n", "nested too deeply"),
    "scenario of 3 GB": scenario(sparse(3 << 30), "larger than 16 MB"),
    "scenario is a folder": scenario(Path.mkdir, "no scenario file"),
    "scenario is a fifo": scenario(os.mkfifo, "no scenario file"),
    "scenario is a device": scenario(lambda p: p.symlink_to("/dev/zero"), "no scenario file"),
    # systems
    "x + relu(x), 100,000 times": scenario(
        "    y = x\n    for i in range(100000): y = y + relu(y)\n    s.branch('a', x=y)", "more than 1000"
    ),
    "relu, 20,000 deep": scenario(
        "    y = x\n    for i in range(20000): y = relu(y - 1)\n    s.branch('a', x=y)", "nested more than 200"
    ),
    "relu, 99 deep": scenario(
        "    y = x\n    for i in range(99): y = relu(y + 1) - 1\n    s.branch('a', x=y)",
        status=10,
        asked="AX^2 x <= 1/2",
    ),
    "where, 5,000 deep": scenario(
        "    y = x\n    for i in range(5000): y = where(y > i, y - 1, y + 1)\n    s.branch('a', x=y)",
        "nested more than",
    ),
    "conditions, 5,000 deep": scenario(
        "    c = x <= 5\n    for i in range(5000): c = (c & (x <= i)) | (x <= -i)\n    s.branch('a', when=c)",
        "nested more than 200",
    ),
    "proposition, 5,000 deep": scenario(
        "    c = x <= 5\n    for i in range(5000): c = (c & (x <= i)) | (x <= -i)\n    s.proposition('p', c)",
        "nested more than 200",
    ),
    "100,000 branches": scenario("    for i in range(100000): s.branch(f'a{i}', x=x / 2 + i)", "more than 1000"),
    "1,000 branches": scenario("    for i in range(1000): s.branch(f'a{i}', x=x / 2 + i / 10000)", status=LARGE),
    "100,000 variables": scenario("    s.reals('v', 100000, 0, 1)\n    s.branch('a')", "more than 16384"),
    "maximum of 20,000": scenario(
        "    s.branch('a', x=maximum(*[x + i for i in range(20000)]))", "operands of a maximum"
    ),
    "initial set of 2**30 parts": scenario(
        "    v = s.reals('v', 30, 0, 1)\n    s.initial(*[(a <= 1/4) | (a >= 3/4) for a in v])\n    s.branch('a')",
        "cases multiply",
    ),
    "guard of 2**30 parts": scenario(
        "    v = s.reals('v', 30, 0, 1)\n    c = x <= 5\n    for a in v: c = c & ((a <= 1/4) | (a >= 3/4))\n"
        "    s.branch('a', when=c)",
        status=LARGE,
    ),
    "range up to 1e400": scenario("    n = s.real('n', 0, '1e400')\n    s.branch('a')", "beyond 1e100"),
    "range up to 1e999999999": scenario("    n = s.real('n', 0, '1e999999999')\n    s.branch('a')", "finite number"),
    "range without end": scenario("    n = s.real('n', 0, float('inf'))\n    s.branch('a')", "finite number, got inf"),
    "integers up to 10**30": scenario("    n = s.integer('n', 0, 10**30)\n    s.branch('a', x=x / 2)", status=0),
    "factor 10**400": scenario("    s.branch('a', x=relu(x * 10**400))", "beyond 1e100"),
    "factor 1e99, thrice": scenario(
        "    s.branch('a', x=relu(relu(x * 10**99) * 10**99) * 10**99)", "leaves the declared box"
    ),
    "factors that cancel": scenario(
        "    s.branch('a', x=relu(relu(x * 10**99) * 10**99) / 10**99 / 10**99)", status=LARGE
    ),
    "labels, 100,000 of them": scenario(
        "    n = s.integer('n', 0, 10**6, labels={i: f'L{i}' for i in range(100000)})\n    s.branch('a')", status=0
    ),
    "parameter of no kind": scenario(
        "PARAMETERS = (Parameter('a', object(), ''),)\ndef build(networks, a): pass\n", "expected a number"
    ),
}
