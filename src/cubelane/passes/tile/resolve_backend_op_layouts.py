"""ResolveBackendOpLayouts: ops that only run on row-major tiles get row-major operands (spec/front.md 3.9).

A column [N, 1] is laid out by columns, so such an op works on the same cells as a row [1, N]: all operands are seen
as rows and the result as a column again. Where that is impossible the operand is moved to row-major form. Unlike the
reference, all operands of an op are treated alike, so their shapes agree.
"""

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from cubelane.analysis.join_types import is_column
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.kernel import functions_of, kind_of
from cubelane.ir.narrowing import is_one
from cubelane.ir.surface import SurfaceOp
from cubelane.ir.tile.movement import MoveOp
from cubelane.ir.tile.shaping import ReshapeOp
from cubelane.ir.traits import NeedsRowMajor, has_trait
from cubelane.ir.types import Layout, TileType
from cubelane.ir.walk import ops_in
from cubelane.passes.tile.placement import at, base_name, build, place, placed_like, retype

ROW, NONE = Layout.ROW_MAJOR, Layout.NONE_BOX


def tiles_of(op: Operation) -> list[tuple[int, TileType]]:
    """The tile operands of an op with their positions."""
    return [(i, value.type) for i, value in enumerate(op.operands) if isinstance(value.type, TileType)]


def violates(op: Operation) -> bool:
    """Whether an op that needs row-major tiles has or gives another one."""
    tiles = [tile for _, tile in tiles_of(op)]
    tiles += [result.type for result in op.results if isinstance(result.type, TileType)]
    return any(tile.data.blayout is not ROW for tile in tiles)


def works_on_columns(op: Operation) -> bool:
    """Whether all tiles of an op are columns of one height, so that rows can stand for them."""
    tiles = [tile for _, tile in tiles_of(op)]
    tiles += [result.type for result in op.results if isinstance(result.type, TileType)]
    return all(is_column(tile) and tile.shape == tiles[0].shape for tile in tiles)


@dataclass
class Repair:
    """Repairs the ops of one function; numbers the values it makes."""

    count: int = 0
    rows: dict[tuple[SSAValue, Operation], SSAValue] = field(default_factory=dict[tuple[SSAValue, Operation], SSAValue])

    def fresh(self, base: str, role: str) -> str:
        """`<base>__<role>_tmp_v<n>`."""
        name = f"{base}__{role}_tmp_v{self.count}"
        self.count += 1
        return name

    def repair(self, op: SurfaceOp) -> None:
        """Brings the operands of an op into row-major form and its result back into its own."""
        base = base_name(op.results[0]) if op.results else "t"
        original = op.results[0].type if op.results else None
        columns = works_on_columns(op)
        for index, tile in tiles_of(op):
            if columns or tile.data.blayout is not ROW:
                op.operands[index] = self._row_major(op, index, tile, base, columns)
        if isinstance(original, TileType):
            self._restore(op, original, base)

    def _row_major(self, op: SurfaceOp, index: int, tile: TileType, base: str, columns: bool) -> SSAValue:
        value = op.operands[index]
        name = self.fresh(base, f"rm_a{index}")
        if columns:
            return build(ReshapeOp, op, name, {"tile": value, "shape": (1, tile.shape[0])})
        arguments = {"tile": value, "target_memory": tile.memory, "blayout": ROW, "slayout": NONE}
        return build(MoveOp, op, name, arguments)

    def _restore(self, op: SurfaceOp, original: TileType, base: str) -> None:
        try:
            type_ = op.result_type(op.bound())
        except Diagnostic as problem:
            raise at(op, problem) from None
        assert isinstance(type_, TileType)
        name, type_ = op.results[0].name_hint, placed_like(type_, op.results[0])
        if type_ == original:
            return
        following = op.next_op
        assert following is not None
        made = retype(op.results[0], type_)
        if type_.shape != original.shape:
            arguments = {"tile": made, "shape": original.shape}
            back = build(ReshapeOp, following, name, arguments, original)
        elif type_.valid != original.valid or type_.dtype != original.dtype:
            return
        else:
            d = original.data
            arguments = {"tile": made, "target_memory": d.memory, "blayout": d.blayout, "slayout": d.slayout}
            back = build(MoveOp, following, name, arguments, original)
        if original.address is not None:  # the author placed what reads as his tile
            made, back = place(made, None), place(back, original.address)
        assert isinstance(back.owner, Operation)
        back.owner.location = op.location
        made.name_hint = self.fresh(base, "row_major")
        made.replace_uses_with_if(back, lambda use: use.operation is not back.owner)


def resolve(function: FuncOp) -> None:
    """Repairs every op of a function that violates the layout it needs."""
    repair = Repair()
    for op in [op for op in ops_in(function) if has_trait(op, NeedsRowMajor)]:
        if is_one(op, SurfaceOp) and violates(op):
            repair.repair(op)


class ResolveBackendOpLayouts(ModulePass):
    """Row-major operands for the ops that need them, in InCore functions."""

    name = "resolve-backend-op-layouts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_of(op):
            if kind_of(function).in_core:
                resolve(function)
