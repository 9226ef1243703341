"""Ops on tiles as PTO IR: one rule for all that are written `ins(...) outs(...)`, and one for each that is not."""

from xdsl.dialects import scf
from xdsl.dialects.builtin import BoolAttr, StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from cubelane.analysis.tile_layout import matrix_shape
from cubelane.analysis.tile_lifetimes import is_view, is_window, viewed
from cubelane.emit.pto_builder import Index
from cubelane.emit.pto_memory import copy_over
from cubelane.emit.pto_state import State, no_form, scalar_type
from cubelane.emit.pto_types import tile_buf
from cubelane.ir.pto.attrs import CmpAttr, RoundModeAttr
from cubelane.ir.pto.table import op_classes
from cubelane.ir.surface import OPERAND_KINDS, SurfaceOp, as_property, python_value
from cubelane.ir.tile.channel import FreeOp
from cubelane.ir.tile.making import FullOp
from cubelane.ir.tile.masks import COMPARISONS
from cubelane.ir.tile.matrix import MatmulAccOp
from cubelane.ir.tile.movement import ReadOp, WriteOp
from cubelane.ir.tile.shaping import AssembleOp, ExtractOp, SetValidShapeOp, SliceOp
from cubelane.ir.traits import PtoSpelling
from cubelane.ir.types import DYNAMIC, Layout, TileType

COMPARISON_WORDS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


def fact(attribute: str, value: object) -> Attribute:
    """A property of an op as an attribute of PTO IR."""
    if attribute == "rmode":
        return RoundModeAttr.new((StringAttr(str(value).upper()),))
    if attribute == "cmpMode":
        assert isinstance(value, int)
        return CmpAttr.new((StringAttr(COMPARISON_WORDS[COMPARISONS[value]]),))
    return BoolAttr.from_bool(value) if isinstance(value, bool) else as_property(value)


def facts_of(op: SurfaceOp, spelling: PtoSpelling) -> dict[str, Attribute]:
    """The attributes that carry the properties of an op."""
    given = [(attribute, python_value(op.properties.get(name))) for name, attribute in spelling.facts]
    return {attribute: fact(attribute, value) for attribute, value in given if value is not None}


def ins_of(op: SurfaceOp, spelling: PtoSpelling) -> list[SSAValue]:
    """The operands in the `ins` clause."""
    names = spelling.ins
    if names is None:
        names = tuple(p.name for p in op.PARAMETERS if p.kind in OPERAND_KINDS)
    values = [getattr(op, name) for name in names]
    return [value for value in values if isinstance(value, SSAValue)]


def computes(state: State, op: SurfaceOp) -> None:
    """`pto.NAME ins(operands) outs(result)`, for every op that has a spelling and no rule of its own."""
    spelling = op.get_trait(PtoSpelling)
    if spelling is None or spelling.name is None or spelling.name not in op_classes():
        note = "the machine has no such instruction; the simulator runs it"
        raise no_form(op, f"`{op.SPELLING}`", note, instead="fill a tensor before the kernel, and load it here")
    if len(op.results) != 1 or not isinstance(op.results[0].type, TileType):
        raise no_form(op, f"`{op.SPELLING}`")
    ins = [state.handles[v] if isinstance(v.type, TileType) else state.scalar(v) for v in ins_of(op, spelling)]
    state.builder.tile_op(spelling.name, ins, [state.define(op)], attributes=facts_of(op, spelling))


def only_allocates(state: State, op: SurfaceOp) -> None:
    """A tile of undefined cells is a handle and nothing more."""
    state.define(op)


def full(state: State, op: FullOp) -> None:
    """`pto.texpands` of a constant."""
    kind = op.results[0].type
    assert isinstance(kind, TileType)
    number = state.builder.constant(python_value(op.value), scalar_type(kind.dtype))
    state.builder.tile_op("texpands", [number], [state.define(op)])


def accumulates(state: State, op: MatmulAccOp) -> None:
    """`pto.tmatmul.acc` in place; with a run-time condition the plain product on the way that starts afresh."""
    state.extents.define(op)
    state.bind(op.results[0], op.acc, op)
    acc, result = state.handles[op.acc], state.handles[op.results[0]]
    factors = [state.handles[op.lhs], state.handles[op.rhs]]
    if op.init_cond is None:
        state.builder.tile_op("tmatmul.acc", [acc, *factors], [result])
        return
    condition = state.scalar(op.init_cond)
    fresh, added = Block(), Block()
    around = state.builder.block
    for arm, name, ins in ((fresh, "tmatmul", factors), (added, "tmatmul.acc", [acc, *factors])):
        state.builder.block = arm
        state.builder.tile_op(name, ins, [result])
        state.builder.add(scf.YieldOp())
    state.builder.block = around
    state.builder.add(scf.IfOp(condition, [], Region(fresh), Region(added)))


def window(state: State, op: SliceOp) -> None:
    """`pto.subview`: no cell moves."""
    kind = op.results[0].type
    assert isinstance(kind, TileType)
    extents = state.extents.define(op)
    offsets = state.values([state.index(o) for o in op.offsets])
    clauses: list[tuple[str, list[SSAValue | int]]] = [("sizes", list(kind.shape))]
    if any(e != box for e, box in zip(extents, kind.shape, strict=True)):
        clauses.append(("valid", [*state.values(extents)]))
    (state.handles[op.results[0]],) = state.builder.emit(
        "subview",
        [state.handles[op.tile], *offsets],
        [tile_buf(kind, [e if isinstance(e, int) else DYNAMIC for e in extents])],
        clauses=clauses,
        hint=op.results[0].name_hint,
    )


def extract(state: State, op: ExtractOp) -> None:
    """`pto.textract`: a window moves into another memory."""
    place = [state.builder.value(state.index(i)) for i in (op.row, op.column)]
    state.builder.tile_op("textract", [state.handles[op.tile], *place], [state.define(op)])


def assemble(state: State, op: AssembleOp) -> None:
    """The target, if it is not in place already, then the source into a window of it."""
    result, kind = op.results[0], op.source.type
    assert isinstance(kind, TileType)
    whole = state.define(op)
    copy_over(state, op.target, result)
    extents = state.extents[op.source]
    offsets = state.values([state.index(o) for o in op.offsets])
    (part,) = state.builder.emit(
        "subview",
        [whole, *offsets],
        [tile_buf(_part_of(result, kind), [e if isinstance(e, int) else DYNAMIC for e in extents])],
        clauses=[("sizes", list(kind.shape)), ("valid", state.values(extents))],
        hint=f"{result.name_hint or 't'}_part",
    )
    state.builder.tile_op("tmov", [state.handles[op.source]], [part])


def _part_of(whole: SSAValue, part: TileType) -> TileType:
    """A window of a tile has the layout of the tile."""
    kind = whole.type
    assert isinstance(kind, TileType)
    return kind.replaced(shape=part.shape, valid=part.valid, address=None)


def shows(state: State, op: SurfaceOp) -> None:
    """A reshape, a transposed view or a bit cast: another handle for the same bytes."""
    state.extents.define(op)
    state.show(op.results[0], viewed(op), op)


def sets_extents(state: State, op: SetValidShapeOp) -> None:
    """`pto.set_validshape` on the handle where nobody else uses it, else another handle for the same bytes."""
    extents = state.extents.define(op)
    source, result = op.tile, op.results[0]
    kind = result.type
    assert isinstance(kind, TileType)
    handle = state.handles[source]
    readers = [use.operation for use in source.uses if not isinstance(use.operation, FreeOp)]
    here = isinstance(source.owner, Operation) and source.owner.parent is op.parent
    if readers == [op] and here and handle not in state.shared and handle.type == tile_buf(kind):
        state.set_extents(handle, extents)
        state.handles[result] = handle
    else:
        state.show(result, source, op)


def _flat_place(state: State, value: SSAValue, position: list[Index]) -> tuple[SSAValue, SSAValue]:
    """The whole tile that a cell lies in, and the distance of the cell from its start."""
    owner = value.owner
    while not isinstance(owner, Block) and is_view(owner) and is_window(owner):
        assert isinstance(owner, SliceOp)
        position = [state.builder.plus(p, state.index(o)) for p, o in zip(position, owner.offsets, strict=True)]
        value = viewed(owner)
        owner = value.owner
    kind = value.type
    assert isinstance(kind, TileType)
    rows, columns = matrix_shape(kind)
    row, column = position if len(position) == 2 else (0, position[0])
    outer, inner, step = (row, column, columns) if kind.data.blayout is Layout.ROW_MAJOR else (column, row, rows)
    at = state.builder.plus(state.builder.times(outer, step), inner)
    return state.handles[value], state.builder.value(at)


def reads_cell(state: State, op: ReadOp) -> None:
    """`pto.tgetval`."""
    tile, at = _flat_place(state, op.tile, [state.index(p) for p in op.position])
    result = op.results[0]
    (state.scalars[result],) = state.builder.tile_op(
        "tgetval", [tile, at], results=[scalar_type(result.type)], hint=result.name_hint
    )


def writes_cell(state: State, op: WriteOp) -> None:
    """`pto.tsetval` in the buffer of the tile, or in a copy."""
    state.define(op)
    copy_over(state, op.tile, op.results[0])
    tile, at = _flat_place(state, op.results[0], [state.index(p) for p in op.position])
    state.builder.tile_op("tsetval", [at, state.scalar(op.scalar)], [tile])
