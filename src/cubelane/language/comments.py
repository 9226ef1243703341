"""Comments of a kernel: found in its text, handed to the statement that follows them (spec/front.md 1.5).

They ride on the op of that statement (`ir.kernel.COMMENTS`), print as `#` lines before it and never count in a
comparison.
"""

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Iterator
from typing import NamedTuple

from cubelane.ir.diagnostic import Location
from cubelane.language.flow import COMPOUND
from cubelane.language.source import Source

_STRING = re.compile(
    r"""
    (?: \"\"\" (?: \\. | [^\\] )*? \"\"\" | \'\'\' (?: \\. | [^\\] )*? \'\'\'
    | \" (?: \\. | [^\"\\] )* \" | \' (?: \\. | [^\'\\] )* \'
    | \# (?P<comment> [^\n]* ) )
    """,
    re.DOTALL | re.VERBOSE,
)
"""The next string or comment of a text that is Python."""
_FORMATTED = re.compile(r"""\b(?:[fF][rR]?|[rR][fF])['"]""")
"""The start of a formatted string, which can hold strings of its own."""


class CommentDropped(UserWarning):
    """A comment that no statement of its block follows."""


class Comment(NamedTuple):
    """One comment: line (from 1) and column (from 0) in the source, text, whether it has its line for itself."""

    line: int
    column: int
    text: str
    alone: bool


class Comments:
    """The comments inside one function, given out in the order of its statements."""

    def __init__(self, source: Source, node: ast.FunctionDef):
        self.source = source
        self._column = node.body[0].col_offset
        self._left = [c for c in comments_of(source) if c.line >= node.lineno]
        self._end = node.body[-1].end_lineno or node.lineno

    def before(self, node: ast.stmt) -> list[str]:
        """The comments of a statement: those above it since the last one, and those on its own lines."""
        if not self._left or self._left[0].line > _last_line(node):
            return []
        limit, column = _last_line(node), node.col_offset
        found: list[str] = []
        while self._left and self._left[0].line <= limit:
            comment = self._left.pop(0)
            if comment.alone and comment.column > column and comment.line < node.lineno:
                self._drop(comment)
            else:
                found.append(comment.text)
        return found

    def finish(self) -> None:
        """Warns about the comments behind the last statement."""
        for comment in self._left:
            between = self.source.lines[self._end : comment.line - 1]
            outside = any(line.strip() and not line.lstrip().startswith("#") for line in between)
            if comment.line > self._end and (outside or comment.column < self._column or not comment.alone):
                return
            self._drop(comment)

    def _drop(self, comment: Comment) -> None:
        place = Location(self.source.filename, comment.line + self.source.line_shift, comment.column + 1)
        warnings.warn(f"{place}: a comment at the end of a block is dropped", CommentDropped, stacklevel=2)


def _last_line(node: ast.stmt) -> int:
    """The last line of a statement, or of its header if it holds statements."""
    end = node.end_lineno or node.lineno
    if not isinstance(node, COMPOUND):
        return end
    match node:
        case ast.With():
            header = [item.context_expr.end_lineno for item in node.items]
        case ast.For():
            header = [node.iter.end_lineno]
        case _:
            header = [node.test.end_lineno]
    return max(node.lineno, min(end, node.body[0].lineno - 1, *(line or end for line in header)))


def comments_of(source: Source) -> list[Comment]:
    """All comments of a text, in order."""
    if source.comments is None:
        source.comments = list(_found(source))
    return source.comments


def _found(source: Source) -> Iterator[Comment]:
    if not any("#" in line for line in source.lines):
        return
    text = "\n".join(source.lines)
    if _FORMATTED.search(text):
        yield from _tokenized(text)
        return
    number, start = 1, 0
    for match in _STRING.finditer(text):
        if match["comment"] is not None:
            number += text.count("\n", start, match.start())
            start = match.start()
            line = source.lines[number - 1]
            yield _comment(number, start - text.rfind("\n", 0, start) - 1, line)


def _tokenized(text: str) -> Iterator[Comment]:
    lines = text.split("\n")
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield _comment(token.start[0], token.start[1], lines[token.start[0] - 1])
    except (tokenize.TokenError, SyntaxError):
        return


def _comment(number: int, column: int, line: str) -> Comment:
    text = line[column:].lstrip("#").strip()
    return Comment(number, column, text, not line[:column].strip())
