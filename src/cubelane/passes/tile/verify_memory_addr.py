"""The property AllocatedMemoryAddr: no tile is spoiled before it is read, everything fits and is aligned (8.3)."""

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from cubelane.analysis.memory_contents import findings
from cubelane.ir.kernel import FunctionKind, functions_of, kind_of, target_name
from cubelane.targets import TARGETS


class VerifyMemoryAddr(ModulePass):
    """Raises the first finding about the addresses of a program."""

    name = "verify-memory-addr"
    required: ClassVar = frozenset[str]()
    produced: ClassVar = frozenset({"AllocatedMemoryAddr"})
    invalidated: ClassVar = frozenset[str]()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = TARGETS.get(target_name(op) or "")
        if target is None:
            return
        for function in functions_of(op):
            if kind_of(function) in (FunctionKind.AIC, FunctionKind.AIV) and not function.is_declaration:
                for finding in findings(function, target):
                    raise finding
