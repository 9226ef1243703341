"""Which tiles are batches of matrices beside a batched product: what one reads, and what is computed from it.

A batched product is written out, one product of matrices each (spec/front.md 3.6). A tile belongs to the batches if it
reaches a product, or a product reaches it, through ops that treat every matrix alike, and through control flow.
"""

from collections.abc import Iterator

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from cubelane.analysis.value_flow import joins_of
from cubelane.ir.narrowing import is_one
from cubelane.ir.surface import SurfaceOp, constant_of
from cubelane.ir.tile.movement import LoadOp, StoreOp
from cubelane.ir.tile.shaping import ReshapeOp, SliceOp, TransposeOp
from cubelane.ir.traits import PerMatrix, Split, Splits, has_trait, trait_of
from cubelane.ir.types import TensorType, TileType
from cubelane.ir.walk import ops_in

ALIKE = (Split.ELEMENTWISE, Split.MOVES, Split.PADS, Split.GENERATES, Split.BOUNDARY)
"""Behaviours of ops that treat every matrix of a batch alike, whatever their arguments."""


def is_batch(value: SSAValue) -> bool:
    """Whether a value is a tile of more than two axes."""
    return isinstance(value.type, TileType) and len(value.type.shape) > 2


def _whole_matrices(tile: TileType) -> bool:
    return tile.valid[:-2] == tile.shape[:-2]


def is_per_matrix(op: SurfaceOp) -> bool:
    """Whether an op does the same to every matrix of a batch, and nothing across them."""
    if has_trait(op, PerMatrix):
        return True
    if is_one(op, LoadOp):
        return _whole_matrices(op.result.type) and len(op.valid) in (0, len(op.result.type.shape))
    if is_one(op, StoreOp):
        return _stores_box(op)
    if is_one(op, SliceOp):
        return _picks_matrices(op)
    if is_one(op, ReshapeOp):
        return _same_matrices(op)
    splits = trait_of(op, Splits)
    if splits is None:
        return False
    if splits.behaviour is Split.TRANSPOSES:
        return not is_one(op, TransposeOp) or _turns_matrices(op)
    return splits.behaviour in ALIKE or (splits.behaviour is Split.REDUCES and splits.axis == -1)


def _stores_box(op: StoreOp) -> bool:
    tile, target = op.tile.type, op.target.type
    assert isinstance(tile, TileType) and isinstance(target, TensorType)
    stated = [constant_of(extent) for extent in op.shapes]
    aligned = [1] * (len(target.shape) - len(tile.shape)) + list(tile.shape)
    return _whole_matrices(tile) and stated in ([], aligned)


def _picks_matrices(op: SliceOp) -> bool:
    """Whether a window takes whole matrices at constant places."""
    source, window = op.tile.type, op.result.type
    assert isinstance(source, TileType) and isinstance(window, TileType)
    first = [constant_of(offset) for offset in op.offsets]
    whole = window.shape[-2:] == source.shape[-2:] and first[-2:] == [0, 0] and window.valid[-2:] == source.valid[-2:]
    return whole and None not in first and _whole_matrices(window)


def _same_matrices(op: ReshapeOp) -> bool:
    """Whether only the leading axes change; a matrix alone may lose them."""
    source, result = op.tile.type, op.result.type
    assert isinstance(source, TileType) and isinstance(result, TileType)
    return source.shape[-2:] == result.shape[-2:] and source.fully_valid


def _turns_matrices(op: TransposeOp) -> bool:
    assert isinstance(op.tile.type, TileType)
    rank, call = len(op.tile.type.shape), op.bound()
    return {call["axis0"] % rank, call["axis1"] % rank} == {rank - 2, rank - 1}


class Batches:
    """The tiles of a function that are written out, one tile per matrix."""

    def __init__(self, values: set[SSAValue]):
        self._values = values

    def __contains__(self, value: object) -> bool:
        return value in self._values

    @staticmethod
    def of(function: FuncOp) -> "Batches | None":
        """The batches of a function; None where it has no batched product."""
        ops = ops_in(function)
        products = [op for op in ops if has_trait(op, PerMatrix)]
        if not products:
            return None
        pending = [value for op in products for value in _tiles(op)]
        edges = _edges(ops)
        values = set(pending)
        while pending:
            for value in _beside(pending.pop(), edges):
                if value not in values:
                    values.add(value)
                    pending.append(value)
        return Batches(values)


def _tiles(op: Operation) -> Iterator[SSAValue]:
    return (value for value in (*op.operands, *op.results) if is_batch(value))


def _edges(ops: list[Operation]) -> dict[SSAValue, list[SSAValue]]:
    """For every tile that goes round a loop or out of a branch, the tiles that it meets there."""
    edges: dict[SSAValue, list[SSAValue]] = {}
    for op in ops:
        for join in joins_of(op):
            group = [value for value in (*join.targets, *(slot.value for slot in join.sources)) if is_batch(value)]
            for value in group:
                edges.setdefault(value, []).extend(group)
    return edges


def _beside(value: SSAValue, edges: dict[SSAValue, list[SSAValue]]) -> Iterator[SSAValue]:
    """The batches one step away from a batch."""
    yield from edges.get(value, ())
    near = [use.operation for use in value.uses]
    if isinstance(value.owner, Operation):
        near.append(value.owner)
    for op in near:
        if is_one(op, SurfaceOp) and is_per_matrix(op):
            yield from _tiles(op)
