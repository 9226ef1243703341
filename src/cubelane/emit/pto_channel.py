"""Rings and where a program runs, as PTO IR (spec/front.md 5.3, 5.5)."""

from xdsl.dialects import arith
from xdsl.dialects.builtin import BoolAttr, IndexType, IntegerAttr, StringAttr, SymbolRefAttr, i32, i64
from xdsl.ir import Attribute, SSAValue

from cubelane.analysis.address_plan import home_space
from cubelane.emit.pto_builder import Index
from cubelane.emit.pto_state import State, no_form
from cubelane.emit.pto_types import SPACES, tile_buf
from cubelane.ir.kernel import DUAL_DISPATCH, flag
from cubelane.ir.pto.attrs import AddressSpaceAttr, PipeAttr
from cubelane.ir.pto.decl import Form
from cubelane.ir.pto.pipe_text import PIPE
from cubelane.ir.pto.table import pto_class
from cubelane.ir.surface import SurfaceOp, python_value
from cubelane.ir.tile.barriers import BarrierOp
from cubelane.ir.tile.channel import (
    FreeOp,
    ImportPeerBufferOp,
    InitializePipeOp,
    PopOp,
    PushOp,
    ReserveBufferOp,
    transport_code,
)
from cubelane.ir.traits import PtoSpelling
from cubelane.ir.types import MemorySpace, TileType

ODD = (3, 4)
"""Transport codes of lanes of unequal extents; the other codes move whole boxes."""
BOTH_WAYS = 3


def _name(op: SurfaceOp) -> str:
    spelling = op.get_trait(PtoSpelling)
    assert spelling is not None and spelling.name is not None
    return spelling.name


def _numbers(op: SurfaceOp, *names: str) -> dict[str, Attribute]:
    """Properties of an op that are whole numbers, as attributes; those that are absent stay so."""
    given = {name: python_value(op.properties.get(name)) for name in names}
    return {name: IntegerAttr(value, i64) for name, value in given.items() if value is not None}


def push(state: State, op: PushOp) -> None:
    """A push moves what is valid; where the consumer counts on the whole box, it is declared valid for the while."""
    handle, kind = state.handles[op.tile], op.tile.type
    assert isinstance(kind, TileType)
    extents = state.extents.rows_and_columns(op.tile)
    wide = _widened(state, op, kind, extents)
    own = handle
    if wide != extents:
        own = handle if handle.type == tile_buf(kind) else _loose(state, op, handle, kind)
        state.set_extents(own, wide)
    state.builder.call(_name(op), [own], attributes=_numbers(op, "id", "split"))
    if wide != extents and own is handle:
        state.set_extents(handle, extents)


def _loose(state: State, op: PushOp, handle: SSAValue, kind: TileType) -> SSAValue:
    """A handle whose extents may change, for a tile whose handle states them in its type."""
    if isinstance(handle.owner, pto_class("subview")):
        what = f"a push of a partly valid window, `{op.tile.name_hint or 'a tile'}`,"
        raise no_form(op, what, instead="move the window into a tile of its own first")
    return state.reshaped(handle, kind, None, op.tile.name_hint)


def _widened(state: State, op: PushOp, kind: TileType, extents: tuple[Index, Index]) -> tuple[Index, Index]:
    box = (kind.shape[0], kind.shape[-1])
    if 0 in extents:
        return extents
    if transport_code(op) or (op.TO_LANES and kind.memory is MemorySpace.ACC):
        return box
    return (extents[0], box[1]) if flag(state.function, DUAL_DISPATCH) else extents


def pop(state: State, op: PopOp) -> None:
    """A pop states its extents where they are not the box; a constant part of a whole box is cut out afterwards."""
    result = op.results[0]
    kind = result.type
    assert isinstance(kind, TileType)
    state.extents.state(result, _popped_extents(state, op, kind))
    extents = state.extents.rows_and_columns(result)
    box = (kind.shape[0], kind.shape[-1])
    known = [e for e in extents if isinstance(e, int)]
    even = transport_code(op) not in ODD
    whole = op.TO_LANES and even and len(known) == 2 and extents != box and 0 not in extents
    stated = box if whole else extents
    name = f"{result.name_hint or 't'}_transport" if whole else result.name_hint
    operands = state.values(stated) if whole or extents != box else []
    (handle,) = state.builder.call(
        _name(op), operands, [tile_buf(kind)], attributes=_numbers(op, "id", "split"), hint=name
    )
    state.handles[result] = state.reshaped(handle, kind, known, result.name_hint) if whole else handle


def _popped_extents(state: State, op: PopOp, kind: TileType) -> list[Index]:
    given = iter([state.index(v) for v in op.valid])
    return [v if v >= 0 else next(given) for v in kind.valid]


def free(state: State, op: FreeOp) -> None:
    """The slot that was popped first is given back."""
    state.builder.call(_name(op), attributes=_numbers(op, "id", "split"))


def reserve(state: State, op: ReserveBufferOp) -> None:
    """Bytes for the slots of a ring in the memory of the core that reads it."""
    base = python_value(op.base)
    attributes: dict[str, Attribute] = {
        "name": StringAttr(python_value(op.buffer_name)),
        "size": IntegerAttr(python_value(op.size), i64),
        "location": AddressSpaceAttr.new((StringAttr(SPACES[home_space(state.function)].tile_word),)),
        "auto": BoolAttr.from_bool(base < 0),
    }
    if base >= 0:
        attributes["base"] = IntegerAttr(base, i64)
    (state.scalars[op.results[0]],) = state.builder.call(
        _name(op), results=[i32], attributes=attributes, hint=op.results[0].name_hint
    )


def imports(state: State, op: ImportPeerBufferOp) -> None:
    """Where the peer reserved the slots of a ring."""
    attributes: dict[str, Attribute] = {
        "name": StringAttr(python_value(op.buffer_name)),
        "peer_func": SymbolRefAttr(python_value(op.peer_func)),
    }
    (state.scalars[op.results[0]],) = state.builder.call(
        _name(op), results=[i32], attributes=attributes, hint=op.results[0].name_hint
    )


def initialize(state: State, op: InitializePipeOp) -> None:
    """Opens the rings of a core; where they travel through global memory the workspace is named too."""
    keyed: list[tuple[str, SSAValue]] = []
    if state.workspace is not None:
        keyed.append(("gm_slot_buffer", _workspace(state, op)))
    keyed.append(("c2v_consumer_buf", state.scalar(op.c2v_buffer)))
    keyed.append(("v2c_consumer_buf", state.scalar(op.v2c_buffer)))
    facts = _numbers(op, "id", "dir_mask", "slot_size", "slot_num", "local_slot_num")
    state.builder.call(_name(op), keyed=keyed, attributes=facts)


def _workspace(state: State, op: InitializePipeOp) -> SSAValue:
    """The part of the workspace of a pipe: pipes lie one behind the other, by number and direction (front.md 4.4)."""
    assert state.workspace is not None
    pipes = [inner for inner in state.function.walk() if isinstance(inner, InitializePipeOp)]
    at = sum(_workspace_bytes(other) for other in pipes if _pipe_order(other) < _pipe_order(op))
    if not at:
        return state.workspace
    elements = state.builder.constant(at // 4)
    return state.builder.emit("addptr", [state.workspace, elements], [state.workspace.type])[0]


def _pipe_order(op: InitializePipeOp) -> tuple[int, int]:
    return python_value(op.properties.get("id")) or 0, python_value(op.dir_mask)


def _workspace_bytes(op: InitializePipeOp) -> int:
    both = python_value(op.dir_mask) == BOTH_WAYS
    slots = python_value(op.properties.get("slot_num")) or (4 if both else 8)
    return (2 if both else 1) * slots * python_value(op.slot_size)


def barrier(state: State, op: BarrierOp) -> None:
    """Waits for a pipe of the core, or for everything it does with global memory."""
    of_pipe = pto_class(_name(op).removeprefix("pto.")).decl.form is Form.PIPE
    pipe: dict[str, Attribute] = {PIPE: PipeAttr.new((StringAttr(op.PIPE),))} if of_pipe else {}
    state.builder.emit(_name(op), properties=pipe)


def where(state: State, op: SurfaceOp) -> None:
    """The lane, or the number of the core group: a hidden argument of the function."""
    argument = state.hidden.get(op.SPELLING)
    if argument is None:
        raise no_form(op, f"`{op.SPELLING}`")
    cast = arith.IndexCastOp(argument, IndexType())
    state.builder.add(cast, op.results[0].name_hint)
    state.scalars[op.results[0]] = cast.results[0]


HIDDEN = {
    "get_block_idx": ("__pypto_spmd_block_idx", "__pypto_spmd_block_num"),
    "get_block_num": ("__pypto_spmd_block_idx", "__pypto_spmd_block_num"),
    "get_subblock_idx": ("__pypto_spmd_subblock_idx",),
}
"""The hidden arguments that a function with an op gets, in this order."""
HIDDEN_OF = {
    "get_block_idx": "__pypto_spmd_block_idx",
    "get_block_num": "__pypto_spmd_block_num",
    "get_subblock_idx": "__pypto_spmd_subblock_idx",
}
"""The hidden argument that an op reads."""
HIDDEN_TYPE = i32
