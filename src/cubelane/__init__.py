"""Cubelane: a compiler for mixed cube and vector kernels, which proves its result by execution.

import cubelane as cl
import cubelane.language as pl

compiled = cl.compile(kernel, target="a2a3")    # kernel: a @pl.program, a @pl.function, or the path of a file
compiled.judge().equal
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cubelane.check.compiled import CompiledKernel, compile_kernel
    from cubelane.ir.diagnostic import Diagnostic, Location

    compile = compile_kernel

__all__ = ["CompiledKernel", "Diagnostic", "Location", "compile"]

_HOMES = {
    "CompiledKernel": ("cubelane.check.compiled", "CompiledKernel"),
    "Diagnostic": ("cubelane.ir.diagnostic", "Diagnostic"),
    "Location": ("cubelane.ir.diagnostic", "Location"),
    "compile": ("cubelane.check.compiled", "compile_kernel"),
}


def __getattr__(name: str) -> Any:
    """Loads what is heavy when somebody asks for it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'cubelane' has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _HOMES[name]
    return getattr(import_module(module), attribute)
