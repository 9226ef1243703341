"""Index expressions of one lane, written out op by op and never folded (spec/passes.md 0.4, 3.4, trap 4)."""

from xdsl.dialects.arith import AddiOp, CmpiOp, ConstantOp, IntegerOverflowAttr, MaxSIOp, MinSIOp, MuliOp, SubiOp
from xdsl.dialects.builtin import IndexType, IntegerAttr, LocationAttr
from xdsl.dialects.scf import IfOp, YieldOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from cubelane.ir.surface import Bound, SurfaceOp
from cubelane.ir.types import TileType

INDEX = IndexType()
NO_OVERFLOW = IntegerOverflowAttr("none")
_WRAPPING = (AddiOp, SubiOp, MuliOp)


class LaneMath:
    """Puts ops in front of `anchor`, at its place in the user's text or at another one."""

    def __init__(self, lane: SSAValue, anchor: Operation, location: LocationAttr | None = None):
        self.lane, self.anchor = lane, anchor
        self.location = location or anchor.location

    def put(self, op: Operation) -> SSAValue:
        """Inserts an op and gives its result."""
        op.location = self.location
        block = self.anchor.parent
        assert block is not None
        block.insert_op_before(op, self.anchor)
        return op.results[0]

    def constant(self, number: int) -> SSAValue:
        """An index constant."""
        return self.put(ConstantOp.create(result_types=[INDEX], properties={"value": IntegerAttr(number, INDEX)}))

    def _binary(self, kind: type[Operation], left: SSAValue, right: SSAValue) -> SSAValue:
        properties: dict[str, Attribute] = {"overflowFlags": NO_OVERFLOW} if kind in _WRAPPING else {}
        return self.put(kind.create(operands=[left, right], result_types=[INDEX], properties=properties))

    def value(self, extent: int | SSAValue) -> SSAValue:
        """An extent as a value."""
        return self.constant(extent) if isinstance(extent, int) else extent

    def start(self, stride: int) -> SSAValue:
        """`lane * stride`: where the lane's part starts."""
        return self._binary(MuliOp, self.lane, self.constant(stride))

    def shifted(self, offset: SSAValue, stride: int) -> SSAValue:
        """`offset + lane * stride`."""
        return self._binary(AddiOp, offset, self.start(stride))

    def clamp(self, valid: int | SSAValue, stride: int) -> SSAValue:
        """`min(max(V, lane*S) - lane*S, S)`: what the lane holds of V cells; never wraps, whatever V's type (3.4)."""
        top = self._binary(MaxSIOp, self.value(valid), self.start(stride))
        rest = self._binary(SubiOp, top, self.start(stride))
        return self._binary(MinSIOp, rest, self.constant(stride))

    def tile(self, kind: type[SurfaceOp], arguments: dict[str, object], type_: TileType, name: str | None) -> SSAValue:
        """A tile op of a stated result type."""
        result = self.put(kind.from_call(Bound(arguments), type_))
        result.name_hint = name
        return result

    def guard(self, op: Operation, predicate: str, value: SSAValue, limit: int, otherwise: SSAValue) -> None:
        """Runs the anchored `op` only where `value` compares to `limit`; elsewhere its result is `otherwise`."""
        assert op is self.anchor
        condition = self.put(CmpiOp(value, self.constant(limit), predicate))
        result = op.results[0]
        uses = list(result.uses)
        skipped = YieldOp(otherwise)
        branch = IfOp(condition, [result.type], Region(Block()), Region(Block([skipped])))
        branch.results[0].name_hint = result.name_hint
        self.put(branch)
        for use in uses:
            use.operation.operands[use.index] = branch.results[0]
        op.detach()
        done = YieldOp(result)
        branch.true_region.block.add_ops([op, done])
        skipped.location = done.location = op.location
