"""The text of a kernel: Python syntax tree, places in it, limits on what is read."""

import ast
import re
import warnings
from dataclasses import dataclass, field
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
    _file: StringAttr = field(init=False)

    def __post_init__(self) -> None:
        self._file = StringAttr(self.filename)

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
        place = self.place(node)
        return FileLineColLoc(self._file, IntAttr(place.line), IntAttr(place.column))


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


_LEAVES = frozenset((ast.Name, ast.Constant, ast.Load, ast.Store, ast.Pass))


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below a node; the frequent kinds without the detour over field names."""
    kind = type(node)
    if kind in _LEAVES:
        return []
    match node:
        case ast.Attribute():
            return [node.value]
        case ast.Call():
            return [node.func, *node.args, *(k.value for k in node.keywords)]
        case ast.List() | ast.Tuple():
            return list(node.elts)
        case ast.BinOp():
            return [node.left, node.right]
        case _:
            return list(ast.iter_child_nodes(node))


def check_depth(source: Source, tree: ast.AST) -> None:
    """Refuses a tree that nests deeper than MAX_DEPTH, without recursion."""
    level: list[ast.AST] = [tree]
    place: ast.AST = tree
    for _ in range(MAX_DEPTH + 4):
        following = [child for node in level for child in children(node)]
        if not following:
            return
        level = following
        place = next((node for node in level if hasattr(node, "lineno")), place)
    raise ParserSyntaxError(
        f"statements or expressions nest more than {MAX_DEPTH} deep here",
        source.place(place),
        instead="give parts of the expression names of their own",
    )
