"""What scripts know as `pypto.ir`: the program as an object, and its text."""

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from cubelane.ir.narrowing import is_one
from cubelane.language.kernel_module import Program, check_prefix
from cubelane.language.printing.programs import print_function, print_program


def python_print(node: ModuleOp | FuncOp, prefix: str = "pl", concise: bool = False) -> str:
    """The text of a program or of a function in the language. ValueError for another prefix than `pl`."""
    check_prefix(prefix)
    return print_program(node, concise=concise) if is_one(node, ModuleOp) else print_function(node, concise=concise)


__all__ = ["Program", "python_print"]
