"""The text of a kernel: Python syntax tree, places in it, limits on what is read."""

import ast
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from cubelane.ir.diagnostic import Location
from cubelane.language.errors import ParserSyntaxError

_LINE_END = re.compile(r"\r\n|\r|\n")
MAX_DEPTH = 100
"""How deep expressions and statements may nest."""


@dataclass
class Source:
    """A parsed text. `line_shift` leads from lines of the tree to lines of the file."""

    tree: ast.Module
    filename: str
    lines: list[str]
    line_shift: int = 0
    comments: list[Any] | None = None
    """What `language.comments` found, once it has looked."""

    def place(self, node: ast.AST) -> Location:
        """Where a node is: line and column count from 1, columns in characters."""
        line, offset = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
        if offset and 0 < line <= len(self.lines):
            text = self.lines[line - 1]
            if not text.isascii():
                offset = len(text.encode()[:offset].decode(errors="replace"))
        return Location(self.filename, line + self.line_shift, offset + 1)

    def attribute(self, node: ast.AST) -> FileLineColLoc:
        """The place of a node as an op carries it."""
        return _as_attribute(*self.place(node))


@lru_cache(maxsize=1 << 14)
def _as_attribute(file: str, line: int, column: int) -> FileLineColLoc:
    """A place as an attribute; those of the last kernels are kept, for who works on one reads it again and again."""
    return FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(column))


def read(text: str, filename: str = "<string>", line_shift: int = 0) -> Source:
    """The tree of a text; a ParserSyntaxError if it is no Python or nests too deeply."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text, filename)
    except SyntaxError as problem:
        place = Location(filename, (problem.lineno or 0) + line_shift, problem.offset or 1)
        raise ParserSyntaxError(f"this is no Python: {problem.msg}", place) from None
    except ValueError as problem:
        raise ParserSyntaxError(f"this is no Python: {problem}", Location(filename)) from None
    except (RecursionError, MemoryError):
        raise ParserSyntaxError("the text nests too deeply", Location(filename)) from None
    source = Source(tree, filename, _LINE_END.split(text), line_shift)
    check_depth(source, tree)
    return source


_LEAVES = frozenset({ast.Name, ast.Constant, ast.Load, ast.Store, ast.Pass, ast.alias})
"""Nodes with nothing below them that nests."""

_CHILDREN: dict[type[ast.AST], Callable[[Any], list[ast.AST]]] = {
    **dict.fromkeys(_LEAVES, lambda node: []),
    ast.Attribute: lambda node: [node.value],
    ast.Call: lambda node: [node.func, *node.args, *(k.value for k in node.keywords)],
    ast.List: lambda node: list(node.elts),
    ast.Tuple: lambda node: list(node.elts),
    ast.BinOp: lambda node: [node.left, node.right],
    ast.Subscript: lambda node: [node.value, node.slice],
    ast.Assign: lambda node: [*node.targets, node.value],
    ast.Expr: lambda node: [node.value],
    ast.arg: lambda node: [] if node.annotation is None else [node.annotation],
    ast.Import: lambda node: [],
    ast.ImportFrom: lambda node: [],
}
"""What lies right below a node, for the frequent kinds; without the detour over field names."""


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below a node."""
    read = _CHILDREN.get(node.__class__)
    return list(ast.iter_child_nodes(node)) if read is None else read(node)


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it, level by level; of the parts without a place only those that hold expressions."""
    level = [node]
    while level:
        yield from level
        level = [child for above in level if above.__class__ not in _LEAVES for child in children(above)]


def nested_statements(statements: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements and all that stand in their bodies; no expressions."""
    for statement in statements:
        yield statement
        if statement.__class__ in _CHILDREN:
            continue
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner: Sequence[Any] = getattr(statement, part, ())
            if part in ("handlers", "cases"):
                inner = [line for arm in inner for line in arm.body]
            yield from nested_statements(inner)


def check_depth(source: Source, tree: ast.AST) -> None:
    """Refuses a tree that nests deeper than MAX_DEPTH, without recursion."""
    level: list[ast.AST] = [tree]
    place: ast.AST = tree
    for _ in range(MAX_DEPTH + 4):
        following = [child for node in level if node.__class__ not in _LEAVES for child in children(node)]
        if not following:
            return
        level = following
        place = next((node for node in level if hasattr(node, "lineno")), place)
    raise ParserSyntaxError(
        f"statements or expressions nest more than {MAX_DEPTH} deep here",
        source.place(place),
        instead="give parts of the expression names of their own",
    )
