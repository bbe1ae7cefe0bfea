"""The code blocks of a page: `python page_blocks.py PAGE` runs them from top to bottom in the current folder.

The convention is that of docs/contributing.md. A process of its own for each page, as pages define names, fork pools,
and set limits.
"""

from __future__ import annotations

import configparser
import doctest
import io
import re
import shlex
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[2]
SHOWN = ("text", "json", "yaml")  # never run
SETUP = (
    "git clone ",
    "cd ",
    "python3 -m venv ",
    ". .venv/bin/activate",
    "pip install ",
    ".venv/bin/pip install ",
    *(f"make {target}" for target in ("demo", "test", "quick", "lint")),
)
OPTIONS = ("title", "hl_lines", "linenums")
TAGS = ("python", "pycon", "console", "sh", *SHOWN)


class BlockError(Exception):
    """A block that fails, or breaks the convention; its text says what to change."""


@dataclass(frozen=True)
class Block:
    """A code block: its words after the fence, its text, and the line (from 1) on which the text begins."""

    info: str
    text: str
    line: int

    @property
    def tag(self) -> str:
        """The language."""
        return self.info.split(maxsplit=1)[0] if self.info else ""

    @property
    def title(self) -> str | None:
        """The file that the text is written to. Raises `BlockError` for options that no page needs."""
        words = shlex.split(self.info)[1:]
        options = dict(word.partition("=")[::2] for word in words)
        if unknown := [name for name in options if name not in OPTIONS]:
            raise BlockError(f"unknown option {unknown[0]!r} of a block: use {', '.join(OPTIONS)}")
        title = options.get("title")
        if title is not None and (Path(title).is_absolute() or ".." in Path(title).parts):
            raise BlockError(f"title {title!r}: name a file in the page's own folder")
        return title


def blocks_of(text: str) -> list[Block]:
    """All code blocks of a page. Raises `BlockError` where one is indented, as its language cannot be told."""
    found = []
    for token in MarkdownIt("commonmark").parse(text):
        if token.map and token.type in ("fence", "code_block"):
            if token.type == "code_block":
                raise BlockError(
                    f"line {token.map[0] + 1}: an indented code block: put it between ``` fences with a tag"
                )
            found.append(Block(token.info.strip(), token.content, token.map[0] + 2))
    return found


@dataclass(frozen=True)
class Command:
    """A line `$ text` of a console block, the output that must follow, the exit status, and its line in the page."""

    text: str
    expected: tuple[str, ...]
    status: int
    line: int


def commands_of(block: Block) -> Iterator[Command]:
    """The commands of a console block."""
    lines = list(enumerate(block.text.splitlines(), block.line))
    if not lines or not lines[0][1].startswith("$ "):
        raise BlockError("a console block begins with a line `$ command`")
    while lines:
        start, first = lines.pop(0)
        text = first[2:]
        while text.endswith("\\") and lines:
            text = f"{text}\n{lines.pop(0)[1]}"
        expected, status = [], 0
        while lines and not lines[0][1].startswith("$ "):
            line = lines.pop(0)[1]
            if found := re.fullmatch(r"# exit (\d+)", line.strip()):
                status = int(found[1])
            else:
                expected.append(line)
        yield Command(text, tuple(expected), status, start)


def _squeeze(text: str) -> list[str]:
    """Lines without empty ones; runs of spaces are one."""
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def matches(expected: str, output: str) -> bool:
    """Whether the output is as expected: ``...`` alone stands for any lines, in a line for any characters."""
    pattern = ""
    for line in _squeeze(expected):
        parts = [re.escape(part) for part in line.split("...")]
        pattern += r"(?:.*\n)*?" if line == "..." else ".*?".join(parts) + r"\n"
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _squeeze(output))) is not None


def _run(command: Command) -> None:
    with tempfile.TemporaryFile("w+") as output:  # no pipe: a command may leave a server running behind it
        # waits for this command alone; what it leaves behind ends with the page
        done = subprocess.run(
            command.text, shell=True, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        output.seek(0)
        printed = output.read()
    if done.returncode != command.status:
        raise BlockError(f"`{command.text}` ended with {done.returncode}, not {command.status}; it printed:\n{printed}")
    if any(line.strip() for line in command.expected) and not matches("\n".join(command.expected), printed):
        wanted = "\n".join(command.expected)
        raise BlockError(f"`{command.text}` printed:\n{printed}\nThe page expects:\n{wanted}")


def _examples(block: Block, page: str, names: dict[str, object]) -> None:
    test = doctest.DocTestParser().get_doctest(block.text, names, page, page, block.line - 1)
    if not test.examples:
        raise BlockError("a pycon block has lines `>>> expression` and what they print")
    report = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    if runner.run(test, out=report.write, clear_globs=False).failed:
        raise BlockError(report.getvalue())
    names.update(test.globs)


def extras() -> set[str]:
    """Names that may stand in `.[...]`."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    return set(setup["options.extras_require"])


def check_setup(block: Block) -> None:
    """Commands that need the network are not run: only how to fetch and install is written so, with known extras."""
    for line in block.text.splitlines():
        if not line.startswith(SETUP):
            raise BlockError(
                f"{line!r}: a block `sh` is not run and may only install ({', '.join(SETUP)}); use console"
            )
    for names in re.findall(r"\[([\w,-]+)\]", block.text):
        if unknown := set(names.split(",")) - extras():
            raise BlockError(f"setup.cfg has no extra {', '.join(sorted(unknown))}")


def run(block: Block, page: str, names: dict[str, object]) -> None:
    """Run, write or check one block. Raises `BlockError`, or whatever its code raises."""
    if block.tag not in TAGS:
        raise BlockError(f"a block tagged {block.tag!r}: choose one of {', '.join(TAGS)}")
    if title := block.title:
        Path(title).parent.mkdir(parents=True, exist_ok=True)
        Path(title).write_text(block.text)
    elif block.tag == "python":
        # as many empty lines before as in the page, so that tracebacks name lines of the page
        exec(compile("\n" * (block.line - 1) + block.text, page, "exec"), names)
    elif block.tag == "pycon":
        _examples(block, page, names)
    elif block.tag == "console":
        for command in commands_of(block):
            try:
                _run(command)
            except BlockError as error:
                raise BlockError(f"line {command.line}: {error}") from error
    elif block.tag == "sh":
        check_setup(block)


def main(page: str) -> int:
    """Run a page; 1 when a block fails, which is named with page and line."""
    sys.path[0] = ""  # files that the page writes can be imported, those beside this one cannot
    module = ModuleType("__main__")
    sys.modules["__main__"] = module  # classes of the page are found where they say that they are
    try:
        blocks = blocks_of(Path(page).read_text())
    except BlockError as error:
        print(f"{page}, {error}", file=sys.stderr)
        return 1
    for block in blocks:
        try:
            run(block, page, vars(module))
        except (Exception, SystemExit) as error:
            if not isinstance(error, BlockError):
                traceback.print_exc()
            print(f"{page}, block at line {block.line}: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
