"""Matrix ops on tensors (spec/front.md 2.5)."""

from typing import ClassVar

from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
)

from cubelane.ir.gm.base import Dim, TensorOp, broadcast, tensor, tensor_traits, wrong
from cubelane.ir.surface import (
    Bound,
    Kind,
    Parameter,
    a_value,
    keyword,
)
from cubelane.ir.traits import (
    CostClass,
    OnCube,
    Split,
)
from cubelane.ir.types import DTYPES, TensorType, dtype_name, in_words, is_float, promote

PRODUCT_VALID = "(*{shape}[:-2], {lhs_valid}[-1 if {a_trans} else -2], {rhs_valid}[-2 if {b_trans} else -1])"
"""A product has the valid rows of its left operand and the valid columns of its right one."""


@irdl_op_definition
class MatmulOp(TensorOp):
    """The product of [M, K] and [K, N], or of their transposes; accumulates in FP32 (INT32 for integers)."""

    name = "gm.matmul"
    SPELLING: ClassVar[str] = "matmul"
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    a_trans = opt_prop_def()
    b_trans = opt_prop_def()
    c_matrix_nz = opt_prop_def()
    result = result_def(TensorType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        a_value("lhs"),
        a_value("rhs"),
        keyword("out_dtype", Kind.DTYPE, None),
        keyword("a_trans", Kind.BOOL, False),
        keyword("b_trans", Kind.BOOL, False),
        keyword("c_matrix_nz", Kind.BOOL, False),
    )
    traits = traits_def(
        *tensor_traits(
            Split.CUBE,
            "tensor_matmul({lhs}, {rhs}, {a_trans}, {b_trans}, {dtype})",
            OnCube,
            cost=CostClass.MATMUL,
            valid=PRODUCT_VALID,
        )
    )

    @classmethod
    def result_type(cls, call: Bound) -> TensorType:
        lhs, rhs = tensor(call, "lhs"), tensor(call, "rhs")
        return TensorType.make(product_shape(call, lhs, rhs), call.get("out_dtype", promote(lhs.dtype, rhs.dtype)))


def product_shape(call: Bound, lhs: TensorType, rhs: TensorType) -> tuple[Dim, ...]:
    """The shape of a product, operands transposed as the call says; refuses extents or types that do not fit."""
    if lhs.dtype != rhs.dtype:
        raise wrong(
            f"the operands of `matmul` hold {dtype_name(lhs.dtype)} and {dtype_name(rhs.dtype)}",
            instead="cast one of them to the element type of the other",
            code="wrong-dtype",
        )
    if len(lhs.shape) < 2 or len(rhs.shape) < 2:
        raise wrong("`matmul` needs operands of two axes", code="wrong-shape")
    a = (lhs.shape[-1], lhs.shape[-2]) if call.get("a_trans") else lhs.shape[-2:]
    b = (rhs.shape[-1], rhs.shape[-2]) if call.get("b_trans") else rhs.shape[-2:]
    if a[1] != b[0]:
        raise wrong(
            f"[{a[0]}, {a[1]}] times [{b[0]}, {b[1]}]: the inner extents {a[1]} and {b[0]} differ",
            instead="b_trans=True, if the right operand is stored transposed" if a[1] == b[1] else None,
            code="wrong-shape",
        )
    return (*broadcast(lhs.shape[:-2], rhs.shape[:-2]), a[0], b[1])


@irdl_op_definition
class MatmulAccOp(TensorOp):
    """Adds a product to an accumulator of FP32 (floats) or INT32 (integers)."""

    name = "gm.matmul_acc"
    SPELLING: ClassVar[str] = "matmul_acc"
    acc = operand_def(TensorType)
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    a_trans = opt_prop_def()
    b_trans = opt_prop_def()
    result = result_def(TensorType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        a_value("acc"),
        a_value("lhs"),
        a_value("rhs"),
        keyword("a_trans", Kind.BOOL, False),
        keyword("b_trans", Kind.BOOL, False),
    )
    traits = traits_def(
        *tensor_traits(
            Split.CUBE,
            "{acc} + tensor_matmul({lhs}, {rhs}, {a_trans}, {b_trans}, {dtype})",
            OnCube,
            cost=CostClass.MATMUL,
        )
    )

    @classmethod
    def result_type(cls, call: Bound) -> TensorType:
        acc, lhs, rhs = tensor(call, "acc"), tensor(call, "lhs"), tensor(call, "rhs")
        box = product_shape(call, lhs, rhs)
        wanted = DTYPES["FP32" if is_float(lhs.dtype) else "INT32"]
        if acc.shape != box or acc.dtype != wanted:
            raise wrong(
                f"the accumulator must be {list(box)} {dtype_name(wanted)}, it is {in_words(acc)}",
                code="wrong-shape",
            )
        return TensorType.make(box, wanted)
