"""`func.call` of kernels: an argument whose extent is known at run time fits a parameter whatever its extent is called.

`func.call` of xDSL wants equal types. A tensor type carries the names of its run-time extents (`M` in the callee may be
`rows` in the caller), and the caller names its results with its own names.
"""

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects import func
from xdsl.ir import Attribute, Dialect, Operation
from xdsl.ir.core import OpTraits
from xdsl.traits import SymbolTable, SymbolUserOpInterface
from xdsl.utils.exceptions import VerifyException

from cubelane.ir.types import TensorType, TileType


def fits(actual: Attribute, wanted: Attribute) -> bool:
    """Whether an argument can be passed: the same kind, shape and element type (a run-time extent fits any)."""
    if isinstance(actual, TensorType) and isinstance(wanted, TensorType):
        a, b = actual.shape, wanted.shape
        same = len(a) == len(b) and all(
            x == y or isinstance(x, str) or isinstance(y, str) for x, y in zip(a, b, strict=True)
        )
        return same and actual.dtype == wanted.dtype
    if isinstance(actual, TileType) and isinstance(wanted, TileType):
        return actual.shape == wanted.shape and actual.dtype == wanted.dtype
    return actual == wanted


class CallsFittingFunction(SymbolUserOpInterface):
    """The callee is a function of the module whose parameters and results fit."""

    def verify(self, op: Operation) -> None:
        assert isinstance(op, func.CallOp)
        callee = SymbolTable.lookup_symbol(op, op.callee)
        if not isinstance(callee, func.FuncOp):
            raise VerifyException(f"'{op.callee}' is no function of the module")
        inputs, outputs = callee.function_type.inputs.data, callee.function_type.outputs.data
        _check("argument", [value.type for value in op.arguments], inputs)
        _check("result", op.result_types, outputs)


def _check(what: str, given: Sequence[Attribute], wanted: Sequence[Attribute]) -> None:
    if len(given) != len(wanted):
        raise VerifyException(f"has {len(given)} {what}s, its callee {len(wanted)}")
    for number, (one, other) in enumerate(zip(given, wanted, strict=True)):
        if not fits(one, other):
            raise VerifyException(f"{what} {number} is {one}, its callee has {other}")


_TRAITS = OpTraits(lambda: (CallsFittingFunction(),))
_DEFINITION = replace(func.CallOp.get_irdl_definition(), traits=_TRAITS)


class KernelCallOp(func.CallOp):
    """A call between functions of a kernel: the `func.call` of xDSL with another notion of types that fit."""

    traits = _TRAITS

    def verify_(self) -> None:
        """The declaration of `func.call` with the trait of this class."""
        _DEFINITION.verify(self)


KernelFunc = Dialect("func", [func.FuncOp, KernelCallOp, func.ReturnOp], [])
"""`func` with calls that may name run-time extents differently."""
