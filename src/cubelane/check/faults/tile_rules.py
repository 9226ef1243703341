"""Rules for programs of tiles: the function that two lanes share, and the programs of the cores."""

from collections.abc import Callable, Iterable, Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.traits import IsTerminator, MemoryReadEffect, MemoryWriteEffect

from cubelane.check.faults import slips
from cubelane.check.faults.engine import Edit, Rule, Ways, drop, once
from cubelane.ir.surface import Kind, SurfaceOp, constant_of, python_value
from cubelane.ir.tile.channel import FreeOp, PopOp, PushOp, SubblockIdxOp
from cubelane.ir.traits import Split, Splits, trait_of
from cubelane.ir.types import DYNAMIC, TileType

Change = Callable[[Operation, int], None]


def numbered(count: Callable[[Operation], int], change: Change) -> Ways:
    """The ways of a rule that has one edit for each of several places of an op."""

    def ways(op: Operation) -> Iterable[Edit]:
        return [lambda victim, n=n: change(victim, n) for n in range(count(op))]

    return ways


def _insert(op: Operation, before: Operation) -> SSAValue:
    op.location = before.location
    assert before.parent is not None
    before.parent.insert_op_before(op, before)
    return op.results[0]


def _plus(op: Operation, position: int, number: int) -> None:
    """Operand number `position`, an index, becomes another one."""
    old = op.operands[position]
    known = constant_of(old)
    constant = _insert(arith.ConstantOp(IntegerAttr((known or 0) + number, IndexType())), op)
    op.operands[position] = constant if known is not None else _insert(arith.AddiOp(old, constant), op)


def positions_of(op: Operation, kind: Kind) -> list[int]:
    """Where among the operands of an op the values of its parameters of a kind are."""
    if not isinstance(op, SurfaceOp):
        return []
    wanted = [value for p in op.PARAMETERS if p.kind is kind for value in _values(op, p.name)]
    return [n for n, operand in enumerate(op.operands) if any(operand is w for w in wanted)] if wanted else []


def _values(op: IRDLOperation, name: str) -> Sequence[SSAValue]:
    held: SSAValue | Sequence[SSAValue] | None = getattr(op, name)
    return [held] if isinstance(held, SSAValue) else list(held or ())


def _index_rule(kind: str, name: str, parameter: Kind, number: int) -> Rule:
    """An index operand of a parameter kind that is off by `number`."""
    return Rule(
        kind,
        name,
        numbered(
            lambda op: len(positions_of(op, parameter)),
            lambda op, n: _plus(op, positions_of(op, parameter)[n], number),
        ),
    )


# --- types ----------------------------------------------------------------------------------------------------------


def _shortened(op: Operation, axis: int) -> None:
    """The result states one valid cell less on an axis than it has."""
    type_ = op.results[0].type
    assert isinstance(type_, TileType)
    valid = list(type_.valid)
    valid[axis] -= 1
    op.results[0]._type = type_.replaced(valid=tuple(valid))  # pyright: ignore[reportPrivateUsage]


def _extents(op: Operation) -> int:
    """Axes of a loaded tile whose stated extent can shrink."""
    splits = trait_of(op, Splits)
    if splits is None or splits.behaviour is not Split.LOADS:
        return 0
    type_ = op.results[0].type
    return (
        len(type_.shape) if isinstance(type_, TileType) and DYNAMIC not in type_.valid and min(type_.valid) > 1 else 0
    )


# --- properties -----------------------------------------------------------------------------------------------------


def _codes(op: Operation) -> int:
    """How many other transport codes a push, pop, shard or gather could have."""
    return 2 if isinstance(op, SurfaceOp) and python_value(op.properties.get("split")) in (0, 1, 2, 3, 4) else 0


def _other_code(op: Operation, n: int) -> None:
    old = int(python_value(op.properties["split"]) or 0)
    others = [code for code in (1, 2, 3, 4, 0) if code != old]
    op.properties["split"] = IntegerAttr(others[n], 64)


def _has_stride(op: Operation) -> bool:
    return isinstance(python_value(op.properties.get("lane_stride")), int)


def _longer_stride(op: Operation) -> None:
    op.properties["lane_stride"] = IntegerAttr(int(python_value(op.properties["lane_stride"]) or 0) + 1, 64)


def _swaps_axes(op: Operation) -> bool:
    splits = trait_of(op, Splits)
    return splits is not None and splits.behaviour is Split.REDUCES and splits.axis in (0, -1, 1)


def _other_axis(op: Operation) -> None:
    """A reduction over the other axis, by its sister op, under the same result type."""
    from_word, to_word = ("row_", "col_") if ".row_" in op.name else ("col_", "row_")
    block = op.parent
    assert block is not None and isinstance(op, SurfaceOp)
    sister = SISTERS[op.name.replace(from_word, to_word)]
    operands = [op.operands[0]] if to_word == "col_" else [op.operands[0], op.operands[0]]
    made = sister.create(operands=operands, result_types=[op.results[0].type])
    made.location = op.location
    block.insert_op_before(made, op)
    op.results[0].replace_all_uses_with(made.results[0])
    drop(op)


def _sisters() -> dict[str, type[Operation]]:
    from cubelane.ir.tile import Tile

    return {op.name: op for op in Tile.operations if op.name.startswith(("tile.row_", "tile.col_"))}


SISTERS = _sisters()


def _lane_products(op: Operation) -> bool:
    """A product of the lane index and a constant: where a lane begins."""
    return slips.is_lane_term(op) and any((constant_of(o) or 0) > 1 for o in op.operands)


def _stride_off(op: Operation) -> None:
    position = next(n for n, o in enumerate(op.operands) if constant_of(o) is not None)
    _plus(op, position, -1)


def _other_lane(op: Operation) -> None:
    """The lane takes itself for the other one."""
    block, old = op.parent, op.results[0]
    assert block is not None
    one = arith.ConstantOp(IntegerAttr(1, IndexType()))
    turned = arith.SubiOp(one, old)
    block.insert_ops_after([one, turned], op)
    one.location = turned.location = op.location
    old.replace_uses_with_if(turned.results[0], lambda use: use.operation is not turned)


# --- order ----------------------------------------------------------------------------------------------------------


def _next_effect(op: Operation) -> Operation | None:
    """The next transport or memory access of the block, if the op can move behind it."""
    later = op.next_op
    while later is not None and not later.has_trait(IsTerminator) and not later.regions:
        if any(o.owner is op for o in later.operands):
            return None
        if _ordered(later):
            return later
        later = later.next_op
    return None


def _ordered(op: Operation) -> bool:
    return isinstance(op, PushOp | PopOp | FreeOp) or op.has_trait(MemoryWriteEffect) or op.has_trait(MemoryReadEffect)


def _can_wait(op: Operation) -> bool:
    """Whether the order of an op and the next one matters: two transports, or a write and an access of its tensor."""
    later = _next_effect(op) if _ordered(op) and not op.regions else None
    if later is None:
        return False
    transports = isinstance(op, PushOp | PopOp | FreeOp) and type(op) is type(later)
    return transports and op.get_trait(IsTerminator) is None


def _later(op: Operation) -> None:
    later = _next_effect(op)
    block = op.parent
    assert later is not None and block is not None
    op.detach()
    block.insert_op_after(op, later)


def _users_late(op: Operation) -> bool:
    """Nothing between an op and the next one needs its results."""
    later = _next_effect(op)
    current = op.next_op
    while later is not None and current is not None and current is not later:
        if any(o.owner is op for o in current.operands):
            return False
        current = current.next_op
    return later is not None


def _free_early(op: Operation) -> bool:
    """A free behind a use of its tile."""
    return isinstance(op, FreeOp) and _last_use(op) is not None


def _last_use(op: Operation) -> Operation | None:
    """The op of the same block that uses the tile of a free last before it."""
    tile = op.operands[0]
    users = [use.operation for use in tile.uses if use.operation is not op and use.operation.parent is op.parent]
    return max(users, key=lambda o: o.parent.get_operation_index(o) if o.parent else -1) if users else None


def _free_first(op: Operation) -> None:
    last, block = _last_use(op), op.parent
    assert last is not None and block is not None
    op.detach()
    block.insert_op_before(op, last)


# --- channel, core, carry -------------------------------------------------------------------------------------------


def _missing(op: Operation) -> list[Edit]:
    return [edit for rule in slips.RULES if rule.kind == "channel" for edit in rule.ways(op)]


def _double(op: Operation) -> None:
    block = op.parent
    assert block is not None
    copy = op.clone()
    copy.location = op.location
    block.insert_op_after(copy, op)


def _is_transport(op: Operation) -> bool:
    return isinstance(op, PushOp | PopOp | FreeOp)


def _is_store(op: Operation) -> bool:
    return op.has_trait(MemoryWriteEffect) and isinstance(op, SurfaceOp) and not _is_transport(op) and bool(op.results)


def _lost(op: Operation) -> None:
    """A store that no core does: what it gives is the tensor before it."""
    assert isinstance(op, IRDLOperation)
    target = next(o for o in op.operands if o.type == op.results[0].type)
    op.results[0].replace_all_uses_with(target)
    drop(op)


def _same_type_operand(op: Operation) -> bool:
    return any(o.type == op.results[0].type for o in op.operands)


def _lane_guard(op: Operation) -> bool:
    """A branch on the lane index."""
    return (
        isinstance(op, scf.IfOp)
        and isinstance(op.cond.owner, arith.CmpiOp)
        and any(isinstance(o.owner, SubblockIdxOp) for o in op.cond.owner.operands)
    )


def _always(op: Operation) -> None:
    """Both lanes do what one of them has to."""
    assert isinstance(op, scf.IfOp)
    op.operands[0] = _insert(arith.ConstantOp(IntegerAttr(1, 1)), op)


def _tile_yields(op: Operation) -> list[int]:
    """Yielded values of a loop that are not simply what the loop was given."""
    loop = op.parent_op()
    if not isinstance(op, scf.YieldOp) or not isinstance(loop, scf.ForOp):
        return []
    carried = loop.body.block.args[1:]
    return [
        n for n, value in enumerate(op.operands) if value is not carried[n] and loop.results[n].first_use is not None
    ]


def _stale(op: Operation, n: int) -> None:
    """The next turn gets the value of this one again."""
    loop = op.parent_op()
    assert isinstance(loop, scf.ForOp)
    position = _tile_yields(op)[n]
    op.operands[position] = loop.body.block.args[1 + position]


def _pairs(op: Operation) -> list[tuple[int, int]]:
    """Two carries of one type that could be mistaken for each other."""
    loop = op.parent_op()
    if not isinstance(op, scf.YieldOp) or not isinstance(loop, scf.ForOp):
        return []
    values = list(op.operands)
    alike = [
        (a, b)
        for a in range(len(values))
        for b in range(a + 1, len(values))
        if values[a].type == values[b].type and values[a] is not values[b]
    ]
    return alike[:2]


def _crossed(op: Operation, n: int) -> None:
    a, b = _pairs(op)[n]
    op.operands[a], op.operands[b] = op.operands[b], op.operands[a]


# --- values ---------------------------------------------------------------------------------------------------------


def _swappable(op: Operation) -> bool:
    """Two different operands of one type, in an op where the order of them matters."""
    splits = trait_of(op, Splits)
    return (
        splits is not None
        and splits.behaviour is Split.ELEMENTWISE
        and op.name.endswith((".sub", ".div"))
        and op.operands[0].type == op.operands[1].type
        and op.operands[0] is not op.operands[1]
    )


def _swapped(op: Operation) -> None:
    op.operands[0], op.operands[1] = op.operands[1], op.operands[0]


def _float(op: Operation) -> bool:
    return isinstance(op, arith.ConstantOp) and isinstance(op.value, FloatAttr) and bool(list(op.result.uses))


def _other_float(op: Operation) -> None:
    assert isinstance(op, arith.ConstantOp) and isinstance(op.value, FloatAttr)
    op.value = FloatAttr(op.value.value.data * 1.5 + 1.0, op.value.type)


TILE_RULES = (
    _index_rule("offset", "offset one more", Kind.INDICES, 1),
    Rule("offset", "lane offset zero", next(r.ways for r in slips.RULES if r.name == "lane offset zero")),
    Rule("offset", "lanes exchanged", once(lambda op: isinstance(op, SubblockIdxOp), _other_lane)),
    Rule("axis", "other axis reduced", once(_swaps_axes, _other_axis)),
    _index_rule("extent", "extent one less", Kind.EXTENTS, -1),
    Rule("extent", "loaded extent one less", numbered(_extents, _shortened)),
    Rule("extent", "load not halved", next(r.ways for r in slips.RULES if r.name == "load not halved")),
    Rule("stride", "lane stride one less", once(_lane_products, _stride_off)),
    Rule("stride", "shard stride one more", once(_has_stride, _longer_stride)),
    Rule("code", "another code on one side", numbered(_codes, _other_code)),
    Rule("order", "transport behind the next", once(lambda op: _can_wait(op) and _users_late(op), _later)),
    Rule("order", "free before the last use", once(_free_early, _free_first)),
    Rule("channel", "transport missing", _missing),
    Rule("channel", "transport doubled", once(_is_transport, _double)),
    Rule("core", "store on no core", once(lambda op: _is_store(op) and _same_type_operand(op), _lost)),
    Rule("core", "work of one lane on both", once(_lane_guard, _always)),
    Rule("carry", "carry not handed on", numbered(lambda op: len(_tile_yields(op)), _stale)),
    Rule("carry", "two carries exchanged", numbered(lambda op: len(_pairs(op)), _crossed)),
    Rule("value", "operands exchanged", once(_swappable, _swapped)),
    Rule("value", "another number", once(_float, _other_float)),
)
"""What can go wrong in a program of tiles."""
