"""An emitted function made ready to run: compiled once, bound to the words of a core for every run."""

from collections.abc import Mapping
from types import CodeType, FunctionType
from typing import Any

from cubelane.emit.numpy_program import EmittedFunction
from cubelane.sim.primitives import PURE


class Runnable:
    """The code of an emitted function."""

    def __init__(self, emitted: EmittedFunction, code: CodeType | None = None):
        """`code` is that of the text, perhaps with marks in it."""
        self.emitted = emitted
        module: CodeType = code or compile(emitted.text, f"<{emitted.name}>", "exec")
        self.code = next(c for c in module.co_consts if isinstance(c, CodeType) and c.co_name == emitted.name)

    def bind(self, words: Mapping[str, Any]) -> FunctionType:
        """The function with the words of one core."""
        return FunctionType(self.code, {**PURE, **words})
