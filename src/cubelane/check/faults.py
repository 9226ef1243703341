"""Seeded faults: a final program with one thing wrong, to see that running it tells.

Each fault is one of the slips that a split can make: a crossing lost on one side, a lane that works at the other
lane's place, a tile that was not halved.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp
from xdsl.ir import Operation, SSAValue

from cubelane.ir.diagnostic import Location
from cubelane.ir.tile.channel import FreeOp, PopOp, PushOp, SubblockIdxOp, transport_code
from cubelane.ir.tile.making import CreateOp
from cubelane.ir.tile.movement import LoadOp
from cubelane.ir.types import TileType


@dataclass(frozen=True)
class SeededFault:
    """A program with one fault: its kind, the function and place it is in, the broken program."""

    kind: str
    function: str
    location: Location
    module: ModuleOp

    def __str__(self) -> str:
        return f"{self.kind} in {self.function} ({self.location})"


def seed_faults(module: ModuleOp, kinds: tuple[str, ...] | None = None) -> Iterator[SeededFault]:
    """Every single fault of the known kinds, each in a clone of the program. The program itself is left alone."""
    for number, op in enumerate(module.walk()):
        for kind, (applies, break_it) in KINDS.items():
            if (kinds is not None and kind not in kinds) or not applies(op):
                continue
            clone = module.clone()
            victim = next(o for n, o in enumerate(clone.walk()) if n == number)
            function = _function_name(victim)
            location = Location.of(victim)
            break_it(victim)
            yield SeededFault(kind, function, location, clone)


def _function_name(op: Operation) -> str:
    current: Operation | None = op
    while current is not None and current.name != "func.func":
        current = current.parent_op()
    return "" if current is None else str(current.properties["sym_name"]).strip('"')


def _drop(op: Operation) -> None:
    op.detach()
    op.erase()


def _undefined_instead(op: Operation) -> None:
    """A pop that never happens: its result is a tile that nobody wrote."""
    result = op.results[0]
    block = op.parent
    assert block is not None
    made = CreateOp(result_types=[result.type])
    made.location = op.location
    block.insert_op_before(made, op)
    result.replace_all_uses_with(made.results[0])
    _drop(op)


def _replace(op: Operation, constant: int) -> None:
    block = op.parent
    assert block is not None
    number = arith.ConstantOp(IntegerAttr(constant, IndexType()))
    number.location = op.location
    block.insert_op_before(number, op)
    op.results[0].replace_all_uses_with(number.result)
    _drop(op)


def _is_lane_term(op: Operation) -> bool:
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
    _drop(op)


def _whole_code(op: Operation) -> None:
    """The code of a shared tile on one side only becomes that of a whole one."""
    op.properties["split"] = IntegerAttr(0, 64)


KINDS: dict[str, tuple[Callable[[Operation], bool], Callable[[Operation], None]]] = {
    "push dropped": (lambda op: isinstance(op, PushOp), _drop),
    "pop dropped": (lambda op: isinstance(op, PopOp), _undefined_instead),
    "free dropped": (lambda op: isinstance(op, FreeOp), _drop),
    "lane offset zero": (_is_lane_term, lambda op: _replace(op, 0)),
    "load not halved": (_is_halved_load, _widen),
    "code whole": (lambda op: isinstance(op, PushOp | PopOp) and transport_code(op) != 0, _whole_code),
}
"""What can be broken: which ops it applies to, and how."""
