"""What scripts know as `pypto.ir`: the program as an object, and its text."""

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from cubelane.ir.narrowing import is_one
from cubelane.language.kernel_module import Program
from cubelane.language.printing.programs import print_function, print_program


def python_print(node: ModuleOp | FuncOp, prefix: str = "pl", concise: bool = False) -> str:
    """The text of a program or of a function in the language."""
    return print_program(node) if is_one(node, ModuleOp) else print_function(node)


__all__ = ["Program", "python_print"]
