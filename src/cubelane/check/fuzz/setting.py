"""What all checks of one generated kernel share."""

from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr

from cubelane.ir.kernel import TARGET

FILE = "kernel.py"
"""The file name that generated kernels have in their locations."""

Arrays = dict[str, Any]


def targeted(module: ModuleOp, target: str) -> ModuleOp:
    """The program, for a machine."""
    module.attributes[TARGET] = StringAttr(target)
    return module
