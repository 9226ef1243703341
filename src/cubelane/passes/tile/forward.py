"""A rewrite in program order that carries types through control flow.

Visits every op once; the carries of loops and the results of `if`s, scopes and regions get the type of what arrives
there, and what arrives in another form is brought to it (spec/front.md 3.5, 3.8, and the [ref bug] notes there).
"""

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from cubelane.analysis.join_types import can_take, is_column, join_type
from cubelane.analysis.value_flow import Join, Slot, joins_of
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.narrowing import is_one
from cubelane.ir.surface import SurfaceOp
from cubelane.ir.tile.movement import MoveOp
from cubelane.ir.tile.shaping import ReshapeOp, SetValidShapeOp
from cubelane.ir.types import DYNAMIC, Layout, TileType
from cubelane.passes.tile.placement import Constants, at, build, insert, placed_like, retype

_ROUNDS = 8
"""A type at a join can change a few times only (space, valid extent per axis, layout) before it stands."""


class ForwardRewrite:
    """Base of the passes that change tiles: they override `visit`, and `prepare` if sources need work first."""

    def __init__(self, body: Block):
        self.constants = Constants(body)
        self._retyped = set[SSAValue]()

    def visit(self, op: Operation) -> None:
        """Rewrites one op without regions; its operands are final."""
        self.follow(op)

    def prepare(self, join: Join, slot: Slot) -> None:
        """Called before the value in a slot is compared with its join."""

    def enter_block(self, block: Block) -> None:
        """Called before the ops of a block are visited."""

    def leave_block(self, block: Block) -> None:
        """Called after the ops of a block were visited."""

    def run(self, block: Block) -> None:
        """Visits all ops of a block in order."""
        self.enter_block(block)
        op = block.first_op
        while op is not None:
            following = op.next_op
            if op.regions:
                self._compound(op)
            else:
                self.visit(op)
            op = following
        self.leave_block(block)

    def retype(self, value: SSAValue, type_: TileType) -> SSAValue:
        """Changes the type of a value; ops that use it are typed anew when they are visited."""
        type_ = placed_like(type_, value)
        if value.type == type_:
            return value
        new = retype(value, type_)
        self._retyped.discard(value)
        self._retyped.add(new)
        return new

    def note_retyped(self, value: SSAValue) -> None:
        """Marks a value that stands where one of another type stood."""
        self._retyped.add(value)

    def was_retyped(self, value: SSAValue) -> bool:
        """Whether the type of a value changed in this run."""
        return value in self._retyped

    def follow(self, op: Operation) -> None:
        """Types the result of an op anew if the type of an operand changed."""
        if self._retyped and any(operand in self._retyped for operand in op.operands):
            self.infer(op)

    def infer(self, op: Operation) -> None:
        """Gives the result of an op the type that its rule gives now."""
        if not is_one(op, SurfaceOp) or len(op.results) != 1 or not isinstance(op.results[0].type, TileType):
            return
        try:
            type_ = op.result_type(op.bound())
        except Diagnostic as problem:
            raise at(op, problem) from None
        assert isinstance(type_, TileType)
        self.retype(op.results[0], type_)

    def _compound(self, op: Operation) -> None:
        loops = is_one(op, (scf.ForOp, scf.WhileOp))
        if loops:
            for join in joins_of(op):
                if len(join.sources) > 1:
                    self._enter(join)
        for _ in range(_ROUNDS):
            for number, region in enumerate(op.regions):
                for block in region.blocks:
                    self.run(block)
                if is_one(op, scf.WhileOp) and number == 0:
                    for join in joins_of(op):
                        if len(join.sources) == 1:
                            self._enter(join)
            if not any([self._meet(join) for join in joins_of(op)]) or not loops:
                break
        for join in joins_of(op):
            wanted = join.targets[0].type
            if isinstance(wanted, TileType):
                for slot in join.sources:
                    self.bring(slot, wanted)

    def _enter(self, join: Join) -> None:
        self.prepare(join, join.sources[0])
        arriving = join.sources[0].value.type
        if isinstance(arriving, TileType) and arriving != join.targets[0].type:
            for target in join.targets:
                self.retype(target, arriving)

    def _meet(self, join: Join) -> bool:
        """Types a join by all that arrives; whether its type changed."""
        for slot in join.sources:
            self.prepare(join, slot)
        values = [slot.value for slot in join.sources]
        if not any(isinstance(value.type, TileType) for value in values):
            return False
        try:
            wanted = join_type(join.name, values)
        except Diagnostic as problem:
            raise at(join.owner, problem) from None
        if placed_like(wanted, join.targets[0]) == join.targets[0].type:
            return False
        for target in join.targets:
            self.retype(target, wanted)
        return True

    def bring(self, slot: Slot, wanted: TileType) -> None:
        """Brings the value in a slot to a type: makes it so at once, or reshapes, moves or re-marks it."""
        value = slot.value
        tile = value.type
        assert isinstance(tile, TileType)
        wanted = placed_like(wanted, value)
        if tile == wanted:
            return
        if can_take(value, wanted):
            self._make_so(slot, wanted)
            return
        name, plain = value.name_hint or "t", wanted.replaced(valid=tile.valid)
        if tile.memory is wanted.memory and is_column(tile) and tile.data.slayout is Layout.NONE_BOX:
            value = build(ReshapeOp, slot.op, f"{name}_col", {"tile": value, "shape": tile.shape}, plain)
        elif tile != plain:
            assert wanted.memory is not None
            suffix = "" if tile.memory is wanted.memory else f"_{wanted.memory.dsl}"
            arguments = {"tile": value, "target_memory": wanted.memory}
            value = build(MoveOp, slot.op, f"{name}{suffix}", arguments, plain)
        if value.type != wanted:
            rows, columns = (
                self.constants[v if v != DYNAMIC else b] for v, b in zip(tile.valid, tile.shape, strict=True)
            )
            arguments = {"tile": value, "rows": rows, "columns": columns}
            value = build(SetValidShapeOp, slot.op, name, arguments, wanted)
        slot.op.operands[slot.index] = value

    def _make_so(self, slot: Slot, wanted: TileType) -> None:
        value = slot.value
        if value.has_one_use():
            self.retype(value, wanted)
            return
        maker = value.owner
        assert isinstance(maker, Operation)
        copy = insert(maker.clone(), slot.op, value.name_hint)
        slot.op.operands[slot.index] = retype(copy.results[0], wanted)
