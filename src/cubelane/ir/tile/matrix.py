"""Matrix ops: the cube core's work, full width always (spec/front.md 2.5)."""

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, result_def, traits_def
from xdsl.traits import OpTrait, Pure

from cubelane.ir.surface import Bound, Kind, Parameter, a_value
from cubelane.ir.tile.base import TileOp, broadcast_extents, need_rank, wrong
from cubelane.ir.traits import (
    Cost,
    CostClass,
    InPlace,
    Meaning,
    OnCube,
    PerMatrix,
    PtoSpelling,
    Spaces,
    Split,
    Splits,
)
from cubelane.ir.types import DTYPES, DYNAMIC, MemorySpace, TileType, dtype_name, in_words, is_float

ACC, LEFT, RIGHT, BIAS = MemorySpace.ACC, MemorySpace.LEFT, MemorySpace.RIGHT, MemorySpace.BIAS


def product_type(lhs: TileType, rhs: TileType) -> TileType:
    """[M, K] times [K, N]: an accumulator tile [M, N] of FP32 (floats) or INT32 (integers)."""
    need_rank(lhs, 2, "lhs")
    need_rank(rhs, 2, "rhs")
    if lhs.dtype != rhs.dtype:
        raise wrong(
            f"the operands of `matmul` hold {dtype_name(lhs.dtype)} and {dtype_name(rhs.dtype)}",
            instead="cast one of them to the element type of the other",
            code="wrong-dtype",
        )
    if lhs.shape[1] != rhs.shape[0]:
        raise wrong(
            f"[{lhs.shape[0]}, {lhs.shape[1]}] times [{rhs.shape[0]}, {rhs.shape[1]}]: the inner extents "
            f"{lhs.shape[1]} and {rhs.shape[0]} differ",
            code="wrong-shape",
        )
    if DYNAMIC not in (lhs.valid[1], rhs.valid[0]) and lhs.valid[1] > rhs.valid[0]:
        raise wrong(f"`lhs` has {lhs.valid[1]} valid columns, `rhs` only {rhs.valid[0]} valid rows", code="wrong-shape")
    dtype = DTYPES["FP32" if is_float(lhs.dtype) else "INT32"]
    return TileType.make((lhs.shape[0], rhs.shape[1]), dtype, ACC, (lhs.valid[0], rhs.valid[1]))


ONE_PRODUCT = "({lhs_valid}[0], {rhs_valid}[1])"
"""The valid extent of a product: the rows of the left operand, the columns of the right one."""


def accumulated_type(acc: TileType, product: TileType) -> TileType:
    """The accumulator after a product was added to it; refuses a product of another shape or element type."""
    if acc.shape != product.shape or acc.dtype != product.dtype:
        raise wrong(f"the accumulator is {in_words(acc)}, the product {in_words(product)}", code="wrong-shape")
    return TileType.make(acc.shape, acc.dtype, ACC, acc.valid)


def biased_type(product: TileType, bias: TileType) -> TileType:
    """A product with a bias row added; refuses a bias that is no row of its width and element type."""
    if bias.shape != (1, product.shape[1]) or bias.dtype != product.dtype:
        raise wrong(
            f"the bias must be [1, {product.shape[1]}] {dtype_name(product.dtype)}, not {in_words(bias)}",
            code="wrong-shape",
        )
    return product


def matrix_traits(
    meaning: str, pto: str | None, inputs: dict[str, tuple[MemorySpace, ...]], valid: str = ONE_PRODUCT
) -> list[OpTrait]:
    """The traits of a matrix op."""
    return [
        Pure(),
        OnCube,
        Splits(Split.CUBE),
        Meaning(meaning, valid),
        PtoSpelling(pto),
        Cost(CostClass.MATMUL),
        Spaces(ACC, inputs),
    ]


@irdl_op_definition
class MatmulOp(TileOp):
    """The product of a left tile [M, K] and a right tile [K, N]."""

    name = "tile.matmul"
    SPELLING: ClassVar[str] = "matmul"
    lhs = operand_def(TileType)
    rhs = operand_def(TileType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("lhs"), a_value("rhs"))
    traits = traits_def(*matrix_traits("matmul({lhs}, {rhs})", "pto.tmatmul", {"lhs": (LEFT,), "rhs": (RIGHT,)}))

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        return product_type(call.tile("lhs"), call.tile("rhs"))


@irdl_op_definition
class MatmulAccOp(TileOp):
    """Adds a product to an accumulator tile, in place; `init_cond` true overwrites instead."""

    name = "tile.matmul_acc"
    SPELLING: ClassVar[str] = "matmul_acc"
    acc = operand_def(TileType)
    lhs = operand_def(TileType)
    rhs = operand_def(TileType)
    init_cond = opt_operand_def()
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        a_value("acc"),
        a_value("lhs"),
        a_value("rhs"),
        Parameter("init_cond", Kind.SCALAR, None),
    )
    traits = traits_def(
        *matrix_traits(
            "accumulate({acc}, {lhs}, {rhs}, {init_cond})",
            "pto.tmatmul.acc",
            {"acc": (ACC,), "lhs": (LEFT,), "rhs": (RIGHT,)},
        ),
        InPlace("acc"),
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        return accumulated_type(call.tile("acc"), product_type(call.tile("lhs"), call.tile("rhs")))


@irdl_op_definition
class MatmulBiasOp(TileOp):
    """A product plus a bias row [1, N] of the accumulator's element type."""

    name = "tile.matmul_bias"
    SPELLING: ClassVar[str] = "matmul_bias"
    lhs = operand_def(TileType)
    rhs = operand_def(TileType)
    bias = operand_def(TileType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("lhs"), a_value("rhs"), a_value("bias"))
    traits = traits_def(
        *matrix_traits(
            "matmul({lhs}, {rhs}) + {bias}",
            "pto.tmatmul.bias",
            {"lhs": (LEFT,), "rhs": (RIGHT,), "bias": (BIAS,)},
        )
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        return biased_type(product_type(call.tile("lhs"), call.tile("rhs")), call.tile("bias"))


ROW_BOX = 16
"""Physical rows of the accumulator of a product with one row."""


def row_product_type(lhs: TileType, rhs: TileType) -> TileType:
    """[1, K] times [K, N]: one valid row of an accumulator tile of 16."""
    if lhs.shape[0] != 1:
        raise wrong(f"`gemv` takes a left operand of one row, not {list(lhs.shape)}", instead="pl.matmul")
    product = product_type(lhs, rhs)
    return TileType.make((ROW_BOX, product.shape[1]), product.dtype, ACC, (1, product.valid[1]))


@irdl_op_definition
class GemvOp(TileOp):
    """The product of a row [1, K] and a tile [K, N]; the accumulator has 16 rows, one of them valid."""

    name = "tile.gemv"
    SPELLING: ClassVar[str] = "gemv"
    lhs = operand_def(TileType)
    rhs = operand_def(TileType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("lhs"), a_value("rhs"))
    traits = traits_def(*matrix_traits("matmul({lhs}, {rhs})", "pto.tgemv", {"lhs": (LEFT,), "rhs": (RIGHT,)}))

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        return row_product_type(call.tile("lhs"), call.tile("rhs"))


@irdl_op_definition
class GemvAccOp(TileOp):
    """Adds the product of a row to an accumulator with one valid row, in place."""

    name = "tile.gemv_acc"
    SPELLING: ClassVar[str] = "gemv_acc"
    acc = operand_def(TileType)
    lhs = operand_def(TileType)
    rhs = operand_def(TileType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("acc"), a_value("lhs"), a_value("rhs"))
    traits = traits_def(
        *matrix_traits(
            "accumulate({acc}, {lhs}, {rhs}, None)",
            "pto.tgemv.acc",
            {"acc": (ACC,), "lhs": (LEFT,), "rhs": (RIGHT,)},
        ),
        InPlace("acc"),
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        return accumulated_type(call.tile("acc"), row_product_type(call.tile("lhs"), call.tile("rhs")))


@irdl_op_definition
class GemvBiasOp(TileOp):
    """The product of a row plus a bias row [1, N] of the accumulator's element type."""

    name = "tile.gemv_bias"
    SPELLING: ClassVar[str] = "gemv_bias"
    lhs = operand_def(TileType)
    rhs = operand_def(TileType)
    bias = operand_def(TileType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("lhs"), a_value("rhs"), a_value("bias"))
    traits = traits_def(
        *matrix_traits(
            "matmul({lhs}, {rhs}) + {bias}",
            "pto.tgemv.bias",
            {"lhs": (LEFT,), "rhs": (RIGHT,), "bias": (BIAS,)},
        )
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        return biased_type(row_product_type(call.tile("lhs"), call.tile("rhs")), call.tile("bias"))


def matrix_of(tile: TileType) -> TileType:
    """One matrix of a batch: the last two axes."""
    return tile if len(tile.shape) == 2 else tile.replaced(shape=tile.shape[-2:], valid=tile.valid[-2:])


def batch_type(lhs: TileType, rhs: TileType) -> TileType:
    """[.., M, K] times [.., K, N]: an accumulator [.., M, N]; the leading axes broadcast as in NumPy."""
    for name, tile in (("lhs", lhs), ("rhs", rhs)):
        if len(tile.shape) < 2:
            raise wrong(f"`{name}` must have two axes or more, it has the shape {list(tile.shape)}", code="wrong-shape")
        if tile.valid[:-2] != tile.shape[:-2]:
            raise wrong(
                f"all matrices of `{name}` {list(tile.shape)} must be valid, it is valid for {list(tile.valid)}",
                code="wrong-shape",
            )
    one = product_type(matrix_of(lhs), matrix_of(rhs))
    leading = broadcast_extents(lhs.shape[:-2], rhs.shape[:-2])
    return TileType.make((*leading, *one.shape), one.dtype, ACC, (*leading, *one.valid))


BATCH_VALID = "(*{shape}[:-2], {lhs_valid}[-2], {rhs_valid}[-1])"


@irdl_op_definition
class BatchMatmulOp(TileOp):
    """The products of two batches of matrices; the leading axes broadcast. One product each, written out."""

    name = "tile.batch_matmul"
    SPELLING: ClassVar[str] = "batch_matmul"
    lhs = operand_def(TileType)
    rhs = operand_def(TileType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("lhs"), a_value("rhs"))
    traits = traits_def(
        *matrix_traits("matmul({lhs}, {rhs})", None, {"lhs": (LEFT,), "rhs": (RIGHT,)}, BATCH_VALID),
        PerMatrix("tile.matmul"),
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        return batch_type(call.tile("lhs"), call.tile("rhs"))


@irdl_op_definition
class BatchMatmulAccOp(TileOp):
    """Adds the products of two batches to a batch of accumulators, in place; `init_cond` true overwrites instead."""

    name = "tile.batch_matmul_acc"
    SPELLING: ClassVar[str] = "batch_matmul_acc"
    acc = operand_def(TileType)
    lhs = operand_def(TileType)
    rhs = operand_def(TileType)
    init_cond = opt_operand_def()
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = MatmulAccOp.PARAMETERS
    traits = traits_def(
        *matrix_traits(
            "accumulate({acc}, {lhs}, {rhs}, {init_cond})",
            None,
            {"acc": (ACC,), "lhs": (LEFT,), "rhs": (RIGHT,)},
            "{acc_valid}",
        ),
        InPlace("acc"),
        PerMatrix("tile.matmul_acc"),
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        return accumulated_type(call.tile("acc"), batch_type(call.tile("lhs"), call.tile("rhs")))


MATRIX_OPS: tuple[type[TileOp], ...] = (
    MatmulOp,
    MatmulAccOp,
    MatmulBiasOp,
    GemvOp,
    GemvAccOp,
    GemvBiasOp,
    BatchMatmulOp,
    BatchMatmulAccOp,
)
