"""An emitted function made ready to run: compiled once, bound to the words of a core for every run."""

from collections.abc import Mapping
from types import FunctionType
from typing import Any

from cubelane.emit.numpy_program import EmittedFunction
from cubelane.sim.primitives import PURE


class Runnable:
    """The code of an emitted function."""

    def __init__(self, emitted: EmittedFunction, code: Any = None):
        """`code` is that of the text, perhaps with marks in it."""
        self.emitted = emitted
        self.code = code or compile(emitted.text, f"<{emitted.name}>", "exec")

    def bind(self, words: Mapping[str, Any]) -> FunctionType:
        """The function with the words of one core."""
        names = {**PURE, **words}
        exec(self.code, names)
        function = names.pop(self.emitted.name)  # it would refer to itself, and outlive its run
        assert isinstance(function, FunctionType)
        return function
