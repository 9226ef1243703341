"""The MLIR parser with the quicker lexer; every op knows the place where it is written."""

import re
from bisect import bisect_right

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr
from xdsl.ir import Operation
from xdsl.parser import Parser, ParserState
from xdsl.utils.lexer import Input

from cubelane.ir.lexer import FrequentLexer


class PlacedParser(Parser):
    """A parser that gives every op the place where it is written, unless the text names another with `loc`."""

    def __init__(self, context: Context, text: str, file: str) -> None:
        super().__init__(context, "", file)  # a parser reads its first token at once; only our lexer may see the text
        self._parser_state = ParserState(FrequentLexer(Input(text, file)))
        self.text, self.file = text, StringAttr(file)
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def place(self, position: int) -> tuple[int, int]:
        """Line and column of a position, both counted from 1."""
        line = bisect_right(self._starts, position)
        return line, position - self._starts[line - 1] + 1

    def parse_operation(self) -> Operation:
        start = self.pos
        op = super().parse_operation()
        if not isinstance(op.location, FileLineColLoc):
            line, column = self.place(start)
            op.location = FileLineColLoc(self.file, IntAttr(line), IntAttr(column))
        return op
