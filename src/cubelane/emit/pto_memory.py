"""Ops between a core and global memory as PTO IR: loads, stores, single elements (spec/front.md 5.4)."""

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from cubelane.emit.pto_builder import Index
from cubelane.emit.pto_state import State, Tensor, extents_known, no_form, scalar_type
from cubelane.emit.pto_types import partition_view, tile_buf
from cubelane.ir import gm
from cubelane.ir.pto.attrs import AtomicTypeAttr
from cubelane.ir.surface import constant_of, python_value
from cubelane.ir.tile.movement import GatherRowOp, LoadOp, StoreOp
from cubelane.ir.types import DYNAMIC, TileType


def _partition(state: State, tensor: Tensor, offsets: Sequence[SSAValue], sizes: Sequence[Index]) -> SSAValue:
    """A window of a tensor."""
    places = state.values([state.offset(o) for o in offsets])
    return state.builder.emit(
        "partition_view",
        [state.view(tensor)],
        [partition_view(extents_known(sizes), tensor.kind.dtype)],
        clauses=[("offsets", places), ("sizes", state.values(sizes))],
        hint=f"{tensor.name}_pview",
    )[0]


def _padded(sizes: Sequence[Index], rank: int) -> list[Index]:
    """Sizes with leading ones up to a rank; leading ones too many go."""
    return [*([1] * (rank - len(sizes))), *sizes[max(len(sizes) - rank, 0) :]]


def load(state: State, op: LoadOp) -> None:
    """`pto.tload` of a window into a new tile."""
    tensor = state.tensor(op.source, op)
    kind = op.results[0].type
    assert isinstance(kind, TileType)
    if DYNAMIC in kind.valid:
        state.extents.state(op.results[0], _loaded_extents(state, op, tensor, kind))
    else:
        state.extents.define(op)
    sizes = _padded(state.extents[op.results[0]], len(tensor.dims))
    tile = state.allocate(op.results[0], op)
    state.builder.tile_op("tload", [_partition(state, tensor, list(op.offsets), sizes)], [tile])


def _loaded_extents(state: State, op: LoadOp, tensor: Tensor, kind: TileType) -> list[Index]:
    """What is stated, or what of the tensor lies in the window; clamped to the tensor where the load says so."""
    build, rank = state.builder, len(kind.shape)
    starts = [state.index(o) for o in op.offsets][-rank:]
    limits = tensor.dims[-rank:]
    stated = [state.index(v) for v in op.valid]
    if stated:
        extents = [build.least(v, box) for v, box in zip(stated, kind.shape, strict=True)]
    else:
        known = tensor.kind.data.valid[-rank:] or [DYNAMIC] * rank
        whole = [limit if v == DYNAMIC else v for v, limit in zip(known, limits, strict=True)]
        boxes = zip(whole, starts, kind.shape, strict=True)
        extents = [build.most(build.least(build.minus(v, at), box), 0) for v, at, box in boxes]
    if python_value(op.properties.get("clamp")):
        windows = zip(extents, limits, starts, strict=True)
        extents = [build.most(build.least(e, build.minus(limit, at)), 0) for e, limit, at in windows]
    return extents


def store(state: State, op: StoreOp) -> None:
    """`pto.tstore` of the valid part of a tile; the result names the tensor that is there already."""
    tensor = state.tensor(op.target, op)
    kind = op.tile.type
    assert isinstance(kind, TileType)
    extents = state.extents[op.tile]
    sizes = _padded(extents, len(tensor.dims))
    if op.shapes and kind.fully_valid:
        sizes = _padded([state.index(s) for s in op.shapes], len(tensor.dims))
    window = _partition(state, tensor, list(op.offsets), sizes)
    adds = bool(python_value(op.properties.get("atomic")))
    word = {"atomicType": AtomicTypeAttr.new((StringAttr("atomic_add"),))} if adds else {}
    state.builder.tile_op("tstore", [state.handles[op.tile]], [window], attributes={**word})


def gather_row(state: State, op: GatherRowOp) -> None:
    """A window of global memory loaded into a part of a tile."""
    tensor, result = state.tensor(op.source, op), op.results[0]
    kind = result.type
    assert isinstance(kind, TileType)
    whole = state.define(op)
    copy_over(state, op.target, result)
    sizes = [constant_of(s) for s in op.sizes]
    if None in sizes:
        raise no_form(op, "a gather of a run-time number of rows", instead="a constant number of rows")
    known = [s for s in sizes if s is not None]
    box = _padded(known, 2)
    part = kind.replaced(shape=tuple(known), valid=tuple(known), address=None)
    rows, columns = state.values(_padded([state.index(o) for o in op.offsets], 2))
    (target,) = state.builder.emit(
        "subview",
        [whole, rows, columns],
        [tile_buf(part, known)],
        clauses=[("sizes", box)],
        hint=f"{result.name_hint or 't'}_row",
    )
    window = _partition(state, tensor, list(op.source_offsets), _padded(known, len(tensor.dims)))
    state.builder.tile_op("tload", [window], [target])


def copy_over(state: State, source: SSAValue, result: SSAValue) -> None:
    """The cells of `source` in the buffer of `result`; nothing where that is the same buffer."""
    old, new = source.type, result.type
    assert isinstance(old, TileType) and isinstance(new, TileType)
    if old.address is None or old.address != new.address:
        state.builder.tile_op("tmov", [state.handles[source]], [state.handles[result]])


def read_element(state: State, op: gm.ReadOp) -> None:
    """`pto.load_scalar`."""
    tensor = state.tensor(op.source, op)
    at = state.place(tensor, list(op.position))
    (value,) = state.builder.emit(
        "load_scalar", [tensor.pointer, at], [scalar_type(op.results[0].type)], hint=op.results[0].name_hint
    )
    state.scalars[op.results[0]] = value


def write_element(state: State, op: gm.WriteOp) -> None:
    """`pto.store_scalar`."""
    tensor = state.tensor(op.target, op)
    at = state.place(tensor, list(op.position))
    state.builder.emit("store_scalar", [state.scalar(op.scalar), tensor.pointer, at])


def extent_of_axis(state: State, op: gm.DimOp) -> None:
    """The extent of a tensor: a number or an argument of the function."""
    axis: int = python_value(op.axis)
    extent = state.tensor(op.source, op).dims[axis]
    state.scalars[op.results[0]] = state.builder.value(extent)


def nothing(state: State, op: Operation) -> None:
    """What only names memory needs no statement."""
