"""How integers of a kernel change from one trip of its loops to another: the premise of the induction over trips.

The *shift* of a value is value(t + period) - value(t), which must be the same number for every trip t. It is known for
constants, loop counters, sums, multiples, and quotients and remainders whose divisor divides the shift. A condition may
compare such a value with a constant; once the value has passed the constant, the condition never changes again.
"""

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from cubelane.ir.pto.op import PtoOp
from cubelane.ir.pto.types import PtrType, element_bits

QUERIES = ("get_block_idx", "get_block_num", "get_subblock_idx", "get_subblock_num")


class NotRegular(Exception):
    """A value that need not change alike in every trip."""


class Shifts:
    """The shifts of a module's values over `period` trips of its outer loops."""

    def __init__(self, period: int, settled: int):
        self.period, self.settled = period, settled
        """From trip `settled` on every condition must stay as it is."""
        self._known: dict[SSAValue, int] = {}

    def check(self, module: ModuleOp) -> None:
        """All operands of PTO ops, conditions and bounds are regular."""
        for op in module.walk():
            if isinstance(op, scf.WhileOp) or (isinstance(op, scf.ForOp) and op.iter_args):
                raise NotRegular(f"{op.name} with values of its own")
            if isinstance(op, PtoOp):
                for operand in op.operands:
                    if isinstance(operand.type, IntegerType | IndexType | PtrType):
                        self.of(operand)
            elif isinstance(op, scf.ForOp):
                if any(self.of(bound) for bound in (op.lb, op.ub, op.step)):
                    raise NotRegular("a bound that moves with the trips")
            elif isinstance(op, scf.IfOp):
                self._settles(op.cond)

    def of(self, value: SSAValue) -> int:
        """The shift of a value."""
        if value not in self._known:
            self._known[value] = self._shift(value)
        return self._known[value]

    def _shift(self, value: SSAValue) -> int:
        owner = value.owner
        if isinstance(owner, Block):
            loop = owner.parent_op()
            outer = isinstance(loop, scf.ForOp) and isinstance(loop.parent_op(), FuncOp)
            return self.period * _constant(loop.step) if outer and isinstance(loop, scf.ForOp) else 0
        if isinstance(owner, arith.ConstantOp) or (isinstance(owner, PtoOp) and owner.decl.name in QUERIES):
            return 0
        if isinstance(owner, arith.AddiOp):
            return self.of(owner.lhs) + self.of(owner.rhs)
        if isinstance(owner, arith.SubiOp):
            return self.of(owner.lhs) - self.of(owner.rhs)
        if isinstance(owner, arith.MuliOp):
            shifts = self.of(owner.lhs), self.of(owner.rhs)
            return (
                0
                if shifts == (0, 0)
                else shifts[0] * _constant(owner.rhs) + shifts[1] * (_constant(owner.lhs) if shifts[1] else 0)
            )
        if isinstance(owner, arith.FloorDivSIOp):
            shift, divisor = self.of(owner.lhs), _constant(owner.rhs)
            if divisor and shift % divisor == 0:
                return shift // divisor
        if isinstance(owner, arith.IndexCastOp) or (isinstance(owner, PtoOp) and owner.decl.name == "castptr"):
            return self.of(owner.operands[0])
        if isinstance(owner, PtoOp) and owner.decl.name == "addptr":
            kind = owner.operands[0].type
            bits = element_bits(kind.element) if isinstance(kind, PtrType) else None
            return self.of(owner.operands[0]) + self.of(owner.operands[1]) * (bits or 8) // 8
        raise NotRegular(f"{_name(owner)} does not change alike in every trip")

    def _settles(self, condition: SSAValue) -> None:
        """A comparison with a constant that is decided for good before trip `settled`."""
        compare = condition.owner
        if not isinstance(compare, arith.CmpiOp):
            raise NotRegular("a condition that is no comparison")
        shift, limit = self.of(compare.lhs), _constant(compare.rhs)
        counter = compare.lhs.owner
        if shift == 0:
            return
        loop = counter.parent_op() if isinstance(counter, Block) else None
        if not isinstance(loop, scf.ForOp):
            raise NotRegular("a condition on more than a loop counter")
        if limit >= _constant(loop.lb) + self.settled * _constant(loop.step):
            raise NotRegular("a condition that changes in a late trip")


def _constant(value: SSAValue) -> int:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    raise NotRegular("a factor, divisor or limit that is no constant")


def _name(owner: Operation | Block) -> str:
    return "an argument" if isinstance(owner, Block) else owner.name
