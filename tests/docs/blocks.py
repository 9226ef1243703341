"""The code blocks of a document, and a way to run them one after the other as a reader would."""

import contextlib
import doctest
import importlib.util
import io
import json
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from cubelane import language
from cubelane.check.compiled import compile_program
from cubelane.cli.main import COMMANDS, run_command
from cubelane.ir.diagnostic import Diagnostic
from cubelane.report.terminal import render

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w*)[ \t]*(.*)$")
SETUP = re.compile(r"^<!-- setup$")
TITLE = re.compile(r'title="([^"]*)"')
REFUSED = re.compile(r"^(?:(\S+\.py), )?refused(?:: ([\w-]+))?$")
COMMAND = re.compile(r"^(?:\$ )?((?:cubelane|make|python -m|pip install) .*)$")
PLACEHOLDER = re.compile(r"\b(FILE|PASS|DIR|KERNEL|SCRIPT|ADDRESS|HTML|SECONDS)\b|://host\b")

LONG = ("demo", "fuzz")
"""Commands that take minutes: their options are looked up, and tests of their own run them."""


@dataclass(frozen=True)
class Block:
    """One block: where it starts, its language (`indented` for one without a fence), its title, its lines."""

    line: int
    language: str
    title: str
    text: str


def blocks_of(text: str) -> Iterator[Block]:
    """All blocks of a document, hidden `<!-- setup ... -->` comments as Python among them."""
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        start = at
        if fence := FENCE.match(lines[at]):
            end = next(i for i in range(at + 1, len(lines)) if lines[i].rstrip() == "```")
            title = TITLE.search(fence[2])
            yield Block(start + 1, fence[1] or "text", title[1] if title else "", "\n".join(lines[at + 1 : end]))
            at = end + 1
        elif SETUP.match(lines[at]):
            end = next(i for i in range(at + 1, len(lines)) if lines[i].rstrip() == "-->")
            yield Block(start + 1, "python", "", "\n".join(lines[at + 1 : end]))
            at = end + 1
        elif lines[at].startswith("    ") and lines[at].strip() and (at == 0 or not lines[at - 1].strip()):
            while at < len(lines) and (lines[at].startswith("    ") or not lines[at].strip()):
                at += 1
            body = [line[4:] for line in lines[start:at]]
            yield Block(start + 1, "indented", "", "\n".join(body).rstrip())
        else:
            at += 1


@dataclass
class Reader:
    """Runs the blocks of one page in a folder of its own. Raises AssertionError with the line of the block."""

    page: Path
    folder: Path
    namespace: dict[str, Any] = field(default_factory=lambda: {"ROOT": ROOT})
    refusal: Diagnostic | None = None
    ran: int = 0

    def read(self) -> None:
        """Runs all blocks."""
        (self.folder / "examples").symlink_to(ROOT / "examples")
        with contextlib.chdir(self.folder):
            for block in blocks_of(self.page.read_text(encoding="utf-8")):
                try:
                    self.run(block)
                except Exception as problem:
                    place = f"{self.page.name}:{block.line}"
                    raise AssertionError(f"{place}: {type(problem).__name__}: {problem}") from problem

    def run(self, block: Block) -> None:
        """Runs a block by its language."""
        match block.language:
            case "python":
                self.python(block)
            case "console" | "sh" | "bash":
                self.console(block)
            case "indented":
                for command in commands_of(block.text):
                    self.command(command, "")
            case "text":
                self.text(block)
            case "mermaid":
                assert block.text.split()[0] in ("flowchart", "sequenceDiagram", "graph", "stateDiagram-v2")
            case "json":
                json.loads(block.text)
            case _:
                raise AssertionError(f"nothing runs blocks of `{block.language}`")

    def python(self, block: Block) -> None:
        """A file of its title, a kernel that must be refused or right, or statements that run."""
        if refused := REFUSED.match(block.title):
            self.refusal = refusal_of(block.text, refused[1] or "kernel.py")
            assert refused[2] in (None, self.refusal.code), self.refusal.code
            return
        name = block.title if block.title.endswith(".py") else f"block_{block.line}.py"
        path = self.folder / name
        path.write_text(block.text + "\n", encoding="utf-8")
        if "@pl.program" in block.text:
            self.ran += 1
            for target in ("a2a3", "a5"):
                assert compile_program(language.parse(block.text, name), target).judge().equal, target
        self.execute(path)

    def execute(self, path: Path) -> None:
        """Runs a file as a module that sees the names of the blocks before it (decorators read its source)."""
        module = ModuleType(f"document_{path.stem}")
        vars(module).update({**self.namespace, "__name__": module.__name__, "__file__": str(path)})
        sys.modules[module.__name__] = module
        try:
            exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), vars(module))
        finally:
            del sys.modules[module.__name__]
        self.namespace.update(vars(module))

    def text(self, block: Block) -> None:
        """What was printed: the refusal of the kernel before it, or part of the last output."""
        if self.refusal is not None:
            same(block.text, render(self.refusal))
            self.refusal = None

    def console(self, block: Block) -> None:
        """Commands behind `$`, each with the output that follows it; `...` stands for what is left out."""
        for part in re.split(r"^\$ ", block.text, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            self.command(command, output.strip("\n"))

    def command(self, line: str, output: str) -> None:
        """Runs a command of ours and compares its output; looks up what other commands name."""
        line, _, remark = line.partition("  #")
        words = shlex.split(line.strip())
        if words[0] == "cubelane" and not PLACEHOLDER.search(line) and words[1] not in LONG:
            assert words[1] in COMMANDS, line
            code, printed = run_here(words[1:])
            assert code == (1 if "exits 1" in remark else 0), f"{line}: exit code {code}\n{printed}"
            if output:
                same(output, printed)
            self.ran += 1
        elif words[0] == "cubelane":
            options_exist(words)
        elif words[0] == "make":
            assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.M), line
        elif words[:2] == ["python", "-m"]:
            assert importlib.util.find_spec(words[2]) is not None, line
        elif words[:2] == ["pip", "install"]:
            for extra in re.findall(r"cubelane\[(\w+)\]", line):
                assert f"\n{extra} = [" in (ROOT / "pyproject.toml").read_text(), line


def commands_of(text: str) -> Iterator[str]:
    """The commands of an indented block, without prompts."""
    for line in text.splitlines():
        if found := COMMAND.match(line):
            yield found[1]


def run_here(words: list[str]) -> tuple[int, str]:
    """Runs a command in this process; its exit code and all it printed."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            code = run_command(words[0], words[1:])
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 0
    return code, out.getvalue()


def options_exist(words: list[str]) -> None:
    """A command line with placeholders names a command and options that exist."""
    assert words[1] in COMMANDS, words
    code, shown = run_here([words[1], "--help"])
    assert code == 0
    for word in words[2:]:
        if word.startswith("-"):
            assert re.search(rf"(?<![\w-]){re.escape(word.partition('=')[0])}(?![\w-])", shown), f"{words[1]}: {word}"


def refusal_of(text: str, name: str = "kernel.py") -> Diagnostic:
    """The diagnostic that a kernel is refused with; the kernel is written to a file."""
    Path(name).write_text(text + "\n", encoding="utf-8")
    try:
        compile_program(language.parse(text + "\n", name))
    except Diagnostic as problem:
        return problem
    raise AssertionError("this kernel is not refused")


def same(expected: str, printed: str) -> None:
    """Compares output; a line of dots stands for any lines, spaces at the ends of lines do not count."""
    want, got = ("\n".join(line.rstrip() for line in text.strip().splitlines()) + "\n" for text in (expected, printed))
    if not doctest.OutputChecker().check_output(want, got, doctest.ELLIPSIS):
        raise AssertionError(f"printed:\n{got}\nthe document says:\n{want}")
