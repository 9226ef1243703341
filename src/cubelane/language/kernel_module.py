"""What a decorated kernel is in Python: the module of its program, which can show itself."""

from collections.abc import Container
from html import escape
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from cubelane.ir import kernel
from cubelane.language.printing.programs import print_program


def check_prefix(prefix: str) -> None:
    """ValueError for a prefix that texts are not printed with."""
    if prefix != "pl":
        raise ValueError(f"programs are printed with the prefix `pl`, not `{prefix}`: import cubelane.language as pl")


class Shown:
    """What shows itself in a notebook: its text, and the same text as HTML."""

    def as_python(self, prefix: str = "pl", concise: bool = False) -> str:
        """The text in the language."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return f'<pre class="cubelane">{escape(self.as_python())}</pre>'

    def _repr_mimebundle_(self, include: Container[str] | None = None, exclude: Container[str] = ()) -> dict[str, str]:
        """The forms a notebook asks for."""
        forms = {"text/plain": self.as_python(), "text/html": self._repr_html_()}
        return {k: v for k, v in forms.items() if (include is None or k in include) and k not in (exclude or ())}


class Program(Shown, ModuleOp):
    """The module of a program, as the decorators and `parse` give it; an ordinary `builtin.module`."""

    @property
    def program_name(self) -> str:
        """The name of its class."""
        return kernel.program_name(self)

    @property
    def functions(self) -> dict[str, Any]:
        """Its functions by name."""
        return {f.sym_name.data: f for f in kernel.functions_of(self)}

    def as_python(self, prefix: str = "pl", concise: bool = False) -> str:
        """The text of the program in the language. ValueError for another prefix than `pl`."""
        check_prefix(prefix)
        return print_program(self, concise=concise)

    def __repr__(self) -> str:
        return f"<Program {self.program_name}: {', '.join(self.functions)}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What a notebook shows."""
        printer.text(self.as_python())
