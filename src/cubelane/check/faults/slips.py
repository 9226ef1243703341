"""Seeded faults: a final program with one thing wrong, to see that running it tells.

Each fault is one of the slips that a split can make: a crossing lost on one side, a lane that works at the other
lane's place, a tile that was not halved.
"""

from collections.abc import Iterator

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp
from xdsl.ir import Operation, SSAValue

from cubelane.check.faults.engine import Rule, SeededFault, apply_rules, drop, once
from cubelane.ir.tile.channel import FreeOp, PopOp, PushOp, SubblockIdxOp, transport_code
from cubelane.ir.tile.making import CreateOp
from cubelane.ir.tile.movement import LoadOp
from cubelane.ir.types import TileType


def _undefined_instead(op: Operation) -> None:
    """A pop that never happens: its result is a tile that nobody wrote."""
    result = op.results[0]
    block = op.parent
    assert block is not None
    made = CreateOp(result_types=[result.type])
    made.location = op.location
    block.insert_op_before(made, op)
    result.replace_all_uses_with(made.results[0])
    drop(op)


def _replace(op: Operation, constant: int) -> None:
    block = op.parent
    assert block is not None
    number = arith.ConstantOp(IntegerAttr(constant, IndexType()))
    number.location = op.location
    block.insert_op_before(number, op)
    op.results[0].replace_all_uses_with(number.result)
    drop(op)


def is_lane_term(op: Operation) -> bool:
    """A product of the lane index, as offsets and extents use it."""
    return isinstance(op, arith.MuliOp) and any(_is_lane(o) for o in op.operands)


def _is_lane(value: SSAValue) -> bool:
    return isinstance(value.owner, SubblockIdxOp)


def _depends_on_lane(value: SSAValue) -> bool:
    owner = value.owner
    return isinstance(owner, SubblockIdxOp) or (
        isinstance(owner, Operation)
        and owner.name.startswith("arith.")
        and any(_depends_on_lane(o) for o in owner.operands)
    )


def _is_halved_load(op: Operation) -> bool:
    return isinstance(op, LoadOp) and any(_depends_on_lane(o) for o in op.offsets)


def _widen(op: Operation) -> None:
    """A load that takes both halves: the axis whose offset depends on the lane doubles."""
    assert isinstance(op, LoadOp)
    type_ = op.result.type
    assert isinstance(type_, TileType)
    lead = len(op.offsets) - len(type_.shape)
    axis = next(a for a, o in enumerate(op.offsets) if _depends_on_lane(o)) - lead
    box = [2 * e if a == axis else e for a, e in enumerate(type_.shape)]
    made = LoadOp(
        operands=[op.source, op.offsets, []],
        properties={k: v for k, v in op.properties.items() if k != "operandSegmentSizes"},
        result_types=[type_.replaced(shape=tuple(box), valid=tuple(box))],
    )
    made.location = op.location
    block = op.parent
    assert block is not None
    block.insert_op_before(made, op)
    op.result.replace_all_uses_with(made.result)
    drop(op)


def _whole_code(op: Operation) -> None:
    """The code of a shared tile on one side only becomes that of a whole one."""
    op.properties["split"] = IntegerAttr(0, 64)


RULES = (
    Rule("channel", "push dropped", once(lambda op: isinstance(op, PushOp), drop)),
    Rule("channel", "pop dropped", once(lambda op: isinstance(op, PopOp), _undefined_instead)),
    Rule("channel", "free dropped", once(lambda op: isinstance(op, FreeOp), drop)),
    Rule("offset", "lane offset zero", once(is_lane_term, lambda op: _replace(op, 0))),
    Rule("extent", "load not halved", once(_is_halved_load, _widen)),
    Rule(
        "code", "code whole", once(lambda op: isinstance(op, PushOp | PopOp) and transport_code(op) != 0, _whole_code)
    ),
)
"""What a split can do wrong."""

KINDS = tuple(rule.name for rule in RULES)
"""The names of the rules."""


def seed_faults(module: ModuleOp, kinds: tuple[str, ...] | None = None) -> Iterator[SeededFault]:
    """Every single fault of the named kinds (all of them), each in a clone of the program."""
    return apply_rules(module, [rule for rule in RULES if kinds is None or rule.name in kinds])
