"""The programs of the cores as PTO IR: one module per group, each core a function (spec/front.md 5).

The conversion goes op by op. What an op is called in PTO IR is its `PtoSpelling`; the ops that are not simply written
`ins(...) outs(...)` have a rule each. Everything that has no form is refused at its line, before anything is printed.
"""

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from cubelane.emit.pto_function import FunctionConversion
from cubelane.ir.kernel import FunctionKind, functions_of, kind_of, target_name
from cubelane.ir.pto.attrs import TARGET_ARCH
from cubelane.ir.pto.text import print_pto
from cubelane.ir.surface import python_value
from cubelane.ir.tile.channel import ImportPeerBufferOp


def pto_modules(module: ModuleOp) -> dict[str, ModuleOp]:
    """PTO IR for the functions that run on cores, by the name of their group or their own; after all passes.

    Raises a Diagnostic for an op that has no form there.
    """
    arch = target_name(module)
    attributes = {} if arch is None else {TARGET_ARCH: StringAttr(arch)}
    return {
        name: ModuleOp([FunctionConversion(f).convert() for f in members], attributes)
        for name, members in _groups(module).items()
    }


def pto_texts(module: ModuleOp) -> dict[str, str]:
    """The text of each of the modules, as the tile level writes it."""
    return {name: print_pto(converted, full=True) for name, converted in pto_modules(module).items()}


def _groups(module: ModuleOp) -> dict[str, list[FuncOp]]:
    """The functions that run on cores: those of one group together, those that share a ring too."""
    functions = {f.sym_name.data: f for f in functions_of(module) if not f.is_declaration}
    groups: dict[str, list[FuncOp]] = {}
    placed: set[str] = set()
    for name, function in functions.items():
        if kind_of(function) is FunctionKind.GROUP:
            called = [op.callee.string_value() for op in function.walk() if isinstance(op, func.CallOp)]
            members = [n for n in dict.fromkeys(called) if n in functions and kind_of(functions[n]).in_core]
            if members and not placed & set(members):
                groups[name] = [functions[n] for n in members]
                placed |= set(members)
    for name, function in functions.items():
        if kind_of(function).in_core and name not in placed:
            peers = [name, *(p for p in _peers(function) if p in functions and p not in placed)]
            groups[_stem(name) if len(peers) > 1 else name] = [functions[n] for n in sorted(set(peers))]
            placed |= set(peers)
    return groups


def _peers(function: FuncOp) -> list[str]:
    return [python_value(op.peer_func) for op in function.walk() if isinstance(op, ImportPeerBufferOp)]


def _stem(name: str) -> str:
    return name.removesuffix("_aic").removesuffix("_aiv")
