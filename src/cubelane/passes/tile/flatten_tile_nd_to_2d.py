"""FlattenTileNdTo2D: a tile [d0, .., dk] of more than two axes becomes [d0 * .. * d(k-1), dk] (spec/front.md 3.6).

Batched products are written out first, with what is beside them (`unroll_batches`). Windows that are whole in all but
one of the folded axes stay windows; others are refused. A transpose gets its scratch tile here.
"""

from collections.abc import Sequence
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from cubelane.ir import gm
from cubelane.ir.diagnostic import Diagnostic, refuse
from cubelane.ir.kernel import functions_of, kind_of
from cubelane.ir.narrowing import is_one
from cubelane.ir.surface import Kind, SurfaceOp, constant_of
from cubelane.ir.tile.base import TileOp
from cubelane.ir.tile.making import CreateOp
from cubelane.ir.tile.movement import LoadOp, ReadOp, StoreOp, WriteOp
from cubelane.ir.tile.shaping import AssembleOp, ReshapeOp, SliceOp, TransposeOp
from cubelane.ir.traits import Split, Splits, trait_of
from cubelane.ir.types import DYNAMIC, TensorType, TileType
from cubelane.ir.walk import ops_in
from cubelane.passes.tile.forward import ForwardRewrite
from cubelane.passes.tile.placement import base_name, build, insert, replace
from cubelane.passes.tile.unroll_batches import unroll_batches


def flat(extents: Sequence[int]) -> tuple[int, int]:
    """Extents with all axes but the last folded into one."""
    rows = extents[:-1]
    return (DYNAMIC if DYNAMIC in rows else prod(rows)), extents[-1]


def flat_valid(tile: TileType) -> tuple[int, ...] | None:
    """The valid extent of the folded tile; None when the valid cells are no rectangle after folding."""
    if tile.fully_valid:
        return flat(tile.shape)
    folds = contiguous(tile.valid[:-1], tile.shape[:-1])
    return flat(tile.valid) if folds else None


def contiguous(window: Sequence[int], box: Sequence[int]) -> bool:
    """Whether a window of the axes of a box is one run of cells when the axes are folded into one."""
    first = next((i for i, extent in enumerate(window) if extent != 1), len(window))
    return all(w == b for w, b in zip(window[first + 1 :], box[first + 1 :], strict=True))


def flat_type(op: Operation, tile: TileType, name: str) -> TileType:
    """The two-dimensional form of a tile type."""
    valid = flat_valid(tile)
    if valid is None:
        raise refuse(
            op,
            f"the valid part {list(tile.valid)} of `{name}` {list(tile.shape)} is no rectangle of rows",
            "a tile of more than two axes is kept as rows, so only its first axis may be partly valid",
            instead="take one matrix at a time, in a loop over the leading axes",
            code="ragged-nd-tile",
        )
    return TileType.make(flat(tile.shape), tile.dtype, tile.memory, valid, pad=tile.data.pad)


def has_rank(value: SSAValue) -> bool:
    """Whether a value is a tile of more than two axes."""
    return isinstance(value.type, TileType) and len(value.type.shape) > 2


class Flattening(ForwardRewrite):
    """Flattens the tiles of one function."""

    def __init__(self, function: FuncOp):
        super().__init__(function.body.block)
        self._boxes: dict[Operation, tuple[int, ...]] = {}
        for op in ops_in(function):
            if is_one(op, (StoreOp, SliceOp, AssembleOp, ReadOp, WriteOp)) and has_rank(op.operands[0]):
                box = op.operands[0].type
                assert isinstance(box, TileType)
                self._boxes[op] = box.shape

    def visit(self, op: Operation) -> None:
        """Gives an op two-dimensional operands and results."""
        box = self._boxes.get(op)
        if is_one(op, LoadOp) and has_rank(op.result):
            self._load(op)
        elif box is not None and is_one(op, StoreOp):
            self._store(op, box)
        elif box is not None and is_one(op, SliceOp):
            self._slice(op, box)
        elif box is not None and is_one(op, AssembleOp):
            self._assemble(op, box)
        elif box is not None and is_one(op, (ReadOp, WriteOp)):
            self._cell(op, box)
        elif any(has_rank(result) for result in op.results):
            self._fold(op)
        else:
            self.follow(op)
        if is_one(op, TransposeOp) and op.tmp is None and op.parent is not None:
            self._add_scratch(op)

    def _fold(self, op: Operation) -> None:
        """An op whose result has more axes: the same op on the folded tile, if it works along the last axis."""
        result = op.results[0]
        tile, name = result.type, base_name(result)
        assert isinstance(tile, TileType)
        splits = trait_of(op, Splits)
        along_rows = splits is None or splits.behaviour not in (Split.REDUCES, Split.CONCATENATES, Split.TRANSPOSES)
        if not (along_rows or (splits is not None and splits.axis == -1)):
            spelled = op.SPELLING if is_one(op, SurfaceOp) else op.name
            raise refuse(
                op,
                f"`pl.{spelled}` works along an axis of `{name}` {list(tile.shape)} that is folded into its rows",
                "a tile of more than two axes is kept as a matrix: all axes but the last are its rows",
                instead="take one matrix at a time, in a loop over the leading axes",
                code="folded-axis",
            )
        wanted = flat_type(op, tile, name)
        if is_one(op, ReshapeOp) and op.tile.type == wanted:
            self.note_retyped(op.tile)
            replace(op, op.tile)
        elif is_one(op, TileOp) and any(p.kind is Kind.SHAPE for p in op.PARAMETERS):
            self.retype(result, wanted)
        else:
            self.infer(op)

    def _load(self, op: LoadOp) -> None:
        """Loads rows of the tensor seen as a matrix."""
        tile, source = op.result.type, op.source.type
        assert isinstance(tile, TileType) and isinstance(source, TensorType)
        name = base_name(op.result)
        view = build(gm.ReshapeOp, op, f"{name}__view2d", {"tile": op.source, "shape": flat(source.static_shape)})
        offsets = self._rows_at(op, list(op.offsets), tile.shape, source.static_shape)
        valid: list[SSAValue] = []
        wanted = flat_type(op, tile, name)
        if op.valid:
            rows = self._product(op, list(op.valid)[:-1])
            valid = [rows, op.valid[-1]]
        arguments = {"source": view, "offsets": offsets, "shapes": wanted.shape, "valid": valid}
        loaded = build(LoadOp, op, op.result.name_hint, {**arguments, "target_memory": tile.memory})
        self.note_retyped(loaded)
        replace(op, loaded)

    def _rows_at(
        self, op: Operation, offsets: list[SSAValue], window: Sequence[int], box: Sequence[int]
    ) -> list[SSAValue]:
        """Row and column of a window in the folded box; refuses a window that is no run of rows."""
        if DYNAMIC in box[1:-1] or not contiguous(window[:-1], box[:-1]):
            raise refuse(
                op,
                f"the window {list(window)} of {list(box)} is no run of rows when the leading axes are folded",
                instead="take one matrix at a time, in a loop over the leading axes",
                code="strided-nd-window",
            )
        row: SSAValue | None = None
        stride = 1
        constant = 0
        for offset, extent in zip(reversed(offsets[:-1]), reversed(box[:-1]), strict=True):
            known = constant_of(offset)
            if known is not None:
                constant += known * stride
            else:
                term = offset if stride == 1 else self._times(op, offset, stride)
                row = term if row is None else self._plus(op, term, row)
            stride *= extent
        if row is None:
            row = self.constants[constant]
        elif constant:
            row = self._plus(op, row, self.constants[constant])
        return [row, offsets[-1]]

    def _times(self, op: Operation, value: SSAValue, factor: int) -> SSAValue:
        return insert(arith.MuliOp(value, self.constants[factor]), op).results[0]

    def _plus(self, op: Operation, a: SSAValue, b: SSAValue) -> SSAValue:
        return insert(arith.AddiOp(a, b), op).results[0]

    def _product(self, op: Operation, extents: list[SSAValue]) -> SSAValue:
        known = [constant_of(e) for e in extents]
        factor = prod(k for k in known if k is not None)
        unknown = [e for e, k in zip(extents, known, strict=True) if k is None]
        if not unknown:
            return self.constants[factor]
        total = unknown[0]
        for extent in unknown[1:]:
            total = insert(arith.MuliOp(total, extent), op).results[0]
        return total if factor == 1 else self._times(op, total, factor)

    def _store(self, op: StoreOp, box: tuple[int, ...]) -> None:
        """The window of the tensor is stated, because the tile has fewer axes now."""
        if op.shapes:
            return
        arguments = {
            "tile": op.tile,
            "offsets": list(op.offsets),
            "target": op.target,
            "shapes": self.constants.all(list(box)),
            "atomic": op.bound()["atomic"],
        }
        replace(op, build(StoreOp, op, op.result.name_hint, arguments))

    def _slice(self, op: SliceOp, box: tuple[int, ...]) -> None:
        window = op.result.type
        assert isinstance(window, TileType)
        offsets = self._rows_at(op, list(op.offsets), window.shape, box)
        arguments = {"tile": op.tile, "shape": flat(window.shape), "offsets": offsets}
        cut = build(SliceOp, op, op.result.name_hint, arguments)
        self.note_retyped(cut)
        replace(op, cut)

    def _assemble(self, op: AssembleOp, box: tuple[int, ...]) -> None:
        source = op.source.type
        assert isinstance(source, TileType)
        shape = source.shape if len(source.shape) == len(box) else (1,) * (len(box) - 2) + source.shape
        offsets = self._rows_at(op, list(op.offsets), shape, box)
        arguments = {"target": op.target, "source": op.source, "offsets": offsets}
        pasted = build(AssembleOp, op, op.result.name_hint, arguments)
        self.note_retyped(pasted)
        replace(op, pasted)

    def _cell(self, op: ReadOp | WriteOp, box: tuple[int, ...]) -> None:
        position = self._rows_at(op, list(op.position), (1,) * len(box), box)
        arguments = {**op.bound().values, "position": position}
        new = build(type(op), op, op.result.name_hint, arguments)
        self.note_retyped(new)
        replace(op, new)

    def _add_scratch(self, op: TransposeOp) -> None:
        tile = op.tile.type
        assert isinstance(tile, TileType)
        arguments = {"shape": tile.shape, "dtype": tile.dtype, "target_memory": tile.memory}
        scratch = build(CreateOp, op, "transpose_tmp", arguments)
        arguments = {**op.bound().values, "tmp": scratch}
        try:
            replace(op, build(TransposeOp, op, op.result.name_hint, arguments))
        except Diagnostic as problem:
            raise problem from None


def needs_flattening(function: FuncOp) -> bool:
    """Whether a function has a tile of more than two axes, or a transpose without scratch."""
    for op in ops_in(function):
        if any(has_rank(result) for result in op.results) or (is_one(op, TransposeOp) and op.tmp is None):
            return True
    return False


class FlattenTileNdTo2D(ModulePass):
    """Two-dimensional tiles in InCore functions."""

    name = "flatten-tile-nd-to-2d"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_of(op):
            if kind_of(function).in_core:
                unroll_batches(function)
                if needs_flattening(function):
                    Flattening(function).run(function.body.block)
