"""Programs as text: header, symbols, functions from callee to caller."""

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute

from cubelane.ir import kernel
from cubelane.ir.extents import extent_symbols
from cubelane.ir.narrowing import is_one
from cubelane.ir.types import TensorType
from cubelane.ir.walk import ops_in
from cubelane.language.printing.functions import INDENT, FunctionText


def print_program(module: ModuleOp, *, concise: bool = False) -> str:
    """The text of a program; `parse` gives the program back.

    `concise` is for people: it leaves out the types of variables, and with them what only they state, such as layouts.
    """
    functions = kernel.functions_of(module)
    name = kernel.program_name(module)
    symbols = sorted({s for function in functions for s in _symbols(function)})
    lines = [f"# pypto.program: {name}", "import pypto.language as pl", ""]
    if symbols:
        lines += [*(f'{symbol} = pl.dynamic("{symbol}")' for symbol in symbols), ""]
    lines += ["@pl.program", f"class {name}:"]
    for function in _callees_first(functions):
        lines += [INDENT + line for line in FunctionText(function, frozenset(symbols), concise).text()]
    if not functions:
        lines.append(f"{INDENT}pass")
    return "\n".join(lines) + "\n"


def print_function(function: FuncOp, *, concise: bool = False) -> str:
    """The text of one function."""
    return "\n".join(FunctionText(function, frozenset(_symbols(function)), concise).text()) + "\n"


def _symbols(function: FuncOp) -> set[str]:
    def of(type_: Attribute) -> set[str]:
        shape = type_.shape if isinstance(type_, TensorType) else ()
        return {name for d in shape if isinstance(d, str) for name in extent_symbols(d)}

    found = {s for type_ in function.function_type.inputs for s in of(type_)}
    for op in ops_in(function):
        for result in op.results:
            found |= of(result.type)
    return found


def _callees_first(functions: list[FuncOp]) -> list[FuncOp]:
    """Depth-first over the functions sorted by name, so that every callee stands before its callers."""
    by_name = {f.sym_name.data: f for f in sorted(functions, key=lambda f: f.sym_name.data)}
    done: dict[str, FuncOp] = {}
    open_: set[str] = set()

    def visit(name: str) -> None:
        if name in done or name in open_:
            return
        open_.add(name)
        for op in ops_in(by_name[name]):
            if is_one(op, CallOp) and op.callee.root_reference.data in by_name:
                visit(op.callee.root_reference.data)
        done[name] = by_name[name]

    for name in by_name:
        visit(name)
    return list(done.values())
