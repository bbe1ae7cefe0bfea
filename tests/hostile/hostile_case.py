"""What a hostile case is, and the small scenarios that the cases use."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

CANARY = "canary"
"""A file that every payload would create, in the folder of its case."""

LOOP = """
from venmas.model import System
def build(networks):
    s = System("loop")
    x = s.real("x", -10, 10)
    s.initial((x >= -1) & (x <= 1))
    s.branch("half", x=x / 2)
    s.branch("stay")
    return s
"""

AGENT = """
from venmas.model import System, apply_network
def build(networks):
    network = networks.load("agent.*")
    s = System("agent")
    x = s.reals("x", network.input_size, -1000, 1000)
    s.initial(*[(v >= 0) & (v <= 1) for v in x])
    u = s.agent(apply_network(network, x)[0])
    s.branch("go", {x[0]: x[0] / 2 + u / 1000})
    return s
"""

HEAD = "from fractions import Fraction\nfrom venmas.model import *\n"
BUILD = """
def build(networks):
    s = System("s")
    x = s.real("x", -100, 100)
    s.initial(x >= -1, x <= 1)
"""
END = "\n    return s\n"

QUICK = ["--mode", "comp-seq", "--timeout", "6"]


@dataclass(frozen=True)
class Case:
    """A command line (``{d}`` is the folder), what it needs there, how it must end and what must be said.

    `prints`: whether the verdict is on stdout although the status is 2, as where only storing it fails.
    """

    args: list[str]
    make: Callable[[Path], object] | None
    told: tuple[str, ...]
    status: tuple[int, ...] = (2,)
    prints: bool = False


def network(name: str, content: bytes | str | Callable[[Path], object], *told: str, status: int = 2) -> Case:
    """A network file of this name; `content` is what it holds, or makes it."""

    def make(folder: Path) -> None:
        (folder / "agent.py").write_text(AGENT)
        (folder / "nets").mkdir()
        put(folder / "nets" / name, content)

    args = ["--scenario", "{d}/agent.py", "--networks", "{d}/nets", "--formula", "AX^1 x[1] <= 2", *QUICK]
    return Case(args, make, told, (status,))


def formula(text: str | bytes | Callable[[Path], object], *told: str, status: int | tuple[int, ...] = 2) -> Case:
    """A formula file over the scenario LOOP."""

    def make(folder: Path) -> None:
        (folder / "loop.py").write_text(LOOP)
        put(folder / "formula", text)

    args = ["--scenario", "{d}/loop.py", "--formula", "@{d}/formula", "-q", *QUICK]
    return Case(args, make, told, (status,) if isinstance(status, int) else status)


def scenario(
    code: str | bytes | Callable[[Path], object],
    *told: str,
    status: int | tuple[int, ...] = 2,
    asked: str = "AX^1 x <= 200",
) -> Case:
    """A scenario file; code that begins with four spaces goes into a build() with one variable x."""
    if isinstance(code, str):
        code = HEAD + (BUILD + code + END if code.startswith("    ") else code)

    def make(folder: Path) -> None:
        put(folder / "s.py", code)

    args = ["--scenario", "{d}/s.py", "--formula", asked, "-q", *QUICK]
    return Case(args, make, told, (status,) if isinstance(status, int) else status)


def put(path: Path, content: object) -> None:
    """Make a file of text or bytes, or by what makes it or gives them: megabytes are made where they are needed."""
    if callable(content):
        content = content(path)
    if isinstance(content, str):
        path.write_text(content, encoding="utf-8", errors="surrogatepass")
    elif isinstance(content, bytes):
        path.write_bytes(content)


def sparse(size: int, head: bytes = b"") -> Callable[[Path], None]:
    """A file that claims a size and takes no room."""

    def make(path: Path) -> None:
        with path.open("wb") as file:
            file.write(head)
            file.truncate(size)

    return make
