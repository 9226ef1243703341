"""Cubelane: a compiler for mixed cube and vector kernels, which proves its result by execution.

import cubelane as cl
import cubelane.language as pl

compiled = cl.compile(kernel, target="a2a3")    # kernel: a @pl.program, a @pl.function, or the path of a file
compiled.judge().equal
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cubelane.language.runner import install_runner

if TYPE_CHECKING:
    from cubelane.check.compile_once import compile_kernel
    from cubelane.check.compiled import CompiledKernel
    from cubelane.ir.diagnostic import Diagnostic, Location

    compile = compile_kernel

__all__ = ["CompiledKernel", "Diagnostic", "Location", "compile"]

_HOMES = {
    "CompiledKernel": ("cubelane.check.compiled", "CompiledKernel"),
    "Diagnostic": ("cubelane.ir.diagnostic", "Diagnostic"),
    "Location": ("cubelane.ir.diagnostic", "Location"),
    "compile": ("cubelane.check.compile_once", "compile_kernel"),
}


def _run_kernel(kernel: Any, action: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Runs a `@pl.jit` kernel; the compiler is loaded when the first one runs."""
    return import_module("cubelane.check.jit").run(kernel, action, arguments, keywords)


install_runner(_run_kernel)


def __getattr__(name: str) -> Any:
    """Loads what is heavy when somebody asks for it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'cubelane' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    return getattr(import_module(module), attribute)
